//! Regions that fluid comes from or goes to: where they are, and whether they can do anything there.

use crate::bodies::{Meshes, rotation, shape};
use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::{Rotation, ShapeEntry};
use crate::placement::{bounds, check_meets_domain};
use bathtub_engine::geometry::{Pose, Shape, SignedDistance, TriMesh};
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solid::elastic::Elastic;
use bathtub_engine::solid::{Obstacle, RigidBody};
use glam::DVec3;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most samples of a region along each axis: a quarter of a million in space, which even meshes answer within a second.
const MOST_SAMPLES: usize = 64;

/// A shape where it is, able to tell what lies inside.
pub struct Region {
    distance: SignedDistance,
    pose: Pose,
    /// Lowest and highest corner, m.
    pub bounds: [DVec3; 2],
}

impl Region {
    pub fn new(shape: &Shape, pose: &Pose) -> Self {
        Self { distance: SignedDistance::new(shape), pose: *pose, bounds: bounds(shape, pose) }
    }

    /// Where solids are at the start.
    pub fn of_solids(obstacles: &[Obstacle], bodies: &[RigidBody], elastic: &[Elastic]) -> Vec<Self> {
        let obstacles = obstacles.iter().map(|o| Self::new(&o.shape, &o.motion.pose(0.0)));
        let bodies = bodies.iter().map(|b| Self::new(&b.shape, &b.pose));
        let elastic = elastic.iter().map(|e| {
            let surface = TriMesh { vertices: e.start(), ..e.rest.surface() };
            Self::new(&Shape::Mesh(Arc::new(surface)), &Pose::IDENTITY)
        });
        obstacles.chain(bodies).chain(elastic).collect()
    }

    /// Where solids are for good.
    pub fn of_static(obstacles: &[Obstacle]) -> Vec<Self> {
        let still = obstacles.iter().filter(|o| o.motion.is_static());
        still.map(|o| Self::new(&o.shape, &o.motion.pose(0.0))).collect()
    }

    pub fn contains(&self, point: DVec3) -> bool {
        let [lo, hi] = self.bounds;
        point.cmpge(lo).all() && point.cmple(hi).all() && self.distance.at(self.pose.invert(point)) < 0.0
    }

    /// Whether what lies inside, at these samples, lies in other regions entirely; `None` if no sample lies inside.
    pub fn is_buried(&self, samples: &Samples, others: &[Region]) -> Option<bool> {
        let mut inside = samples.points().filter(|x| self.contains(*x)).peekable();
        inside.peek()?;
        Some(inside.all(|x| others.iter().any(|other| other.contains(x))))
    }

    /// Volume of the part inside the domain, m³; within a few per cent.
    pub fn volume(&self, grid: &Grid) -> f64 {
        let samples = Samples::new(grid, 4, self.bounds);
        samples.each * samples.points().filter(|x| self.contains(*x)).count() as f64
    }
}

/// Places evenly spread over the part of a box that lies in the domain.
pub struct Samples {
    coordinates: [Vec<f64>; 3],
    /// Volume that a sample stands for, m³.
    pub each: f64,
}

impl Samples {
    /// The centres of the parts of cells, `parts` along each axis that is not flat; where these are too many, some of them.
    pub fn new(grid: &Grid, parts: usize, [lo, hi]: [DVec3; 2]) -> Self {
        let mut each = 1.0;
        let coordinates = Axis::ALL.map(|axis| {
            let a = axis.index();
            let parts = if grid.is_flat(axis) { 1 } else { parts };
            let (width, most) = (grid.dx / parts as f64, (grid.dims[a] * parts) as f64);
            let index = |x: DVec3| ((x - grid.origin)[a] / width).clamp(0.0, most);
            let (first, last) = (index(lo).floor() as usize, index(hi).ceil() as usize);
            let count = last - first;
            let kept = count.min(MOST_SAMPLES);
            each *= width * count as f64 / kept.max(1) as f64;
            let place = |n: usize| grid.origin[a] + width * ((first + (n * count + count / 2) / kept) as f64 + 0.5);
            (0..kept).map(place).collect()
        });
        Self { coordinates, each }
    }

    pub fn points(&self) -> impl Iterator<Item = DVec3> {
        let [xs, ys, zs] = &self.coordinates;
        zs.iter().flat_map(move |z| ys.iter().flat_map(move |y| xs.iter().map(move |x| DVec3::new(*x, *y, *z))))
    }
}

/// What places a region in the scene.
pub struct Place<'a> {
    /// Key of its entry.
    pub key: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its shape as typed.
    pub shape: &'a ShapeEntry,
    /// m.
    pub position: [f64; 3],
    /// How it is turned.
    pub rotation: Option<Rotation>,
}

impl Place<'_> {
    /// The region in the engine's terms; some of it must lie in the domain.
    pub fn resolve(&self, document: &Document, meshes: &Meshes, grid: &Grid) -> Result<(Shape, Pose), SceneError> {
        let shape = shape(document, self.key, self.shape, meshes)?;
        let rotation = rotation(document, self.key, self.rotation)?;
        let pose = Pose { position: DVec3::from(self.position), rotation };
        check_meets_domain(document, self.key, self.name, bounds(&shape, &pose), grid)?;
        Ok((shape, pose))
    }
}

/// The end of the time from `start` to `end`, s; for ever if it has none.
pub fn end_of(document: &Document, key: &str, start: f64, end: Option<f64>) -> Result<f64, SceneError> {
    let end = end.unwrap_or(f64::INFINITY);
    if end > start {
        return Ok(end);
    }
    let message = format!("{end:?} s is not after the start at {start:?} s");
    Err(document.error_at(ErrorKind::Scene, &format!("{key}.end"), message))
}

/// Refuse a name that occurs twice in one kind of entry.
pub fn check_unique<'a>(
    document: &Document,
    kind: &str,
    names: impl Iterator<Item = &'a Option<String>>,
) -> Result<(), SceneError> {
    let mut taken = BTreeSet::new();
    for (i, name) in names.flatten().enumerate() {
        if !taken.insert(name) {
            let message = format!("the name \"{name}\" is taken; every {kind} needs its own");
            return Err(document.error_at(ErrorKind::Scene, &format!("{kind}.{i}.name"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_cells_where_these_are_few() {
        let grid = Grid::new([4, 8, 1], 0.5, DVec3::ZERO);
        let samples = Samples::new(&grid, 1, [DVec3::new(0.6, -9.0, -9.0), DVec3::new(1.4, 0.5, 9.0)]);
        let points: Vec<DVec3> = samples.points().collect();
        assert_eq!(points, [DVec3::new(0.75, 0.25, 0.25), DVec3::new(1.25, 0.25, 0.25)]);
        assert_eq!(samples.each, 0.125);
    }

    #[test]
    fn volumes_are_measured_on_any_grid() {
        let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.3f64.powi(3);
        for n in [8, 1000, 1_000_000] {
            let grid = Grid::new([n; 3], 1.0 / n as f64, DVec3::ZERO);
            let pose = Pose { position: DVec3::splat(0.5), ..Pose::IDENTITY };
            let volume = Region::new(&Shape::Sphere { radius: 0.3 }, &pose).volume(&grid);
            assert!((volume / exact - 1.0).abs() < 0.02, "{n}: {volume} of {exact}");
        }
    }

    #[test]
    fn a_region_is_buried_or_not_there_at_all() {
        let grid = Grid::new([16; 3], 1.0 / 16.0, DVec3::ZERO);
        let ball = |radius: f64| {
            let pose = Pose { position: DVec3::splat(0.5), ..Pose::IDENTITY };
            Region::new(&Shape::Sphere { radius }, &pose)
        };
        let buried = |inner: f64, outer: f64| {
            let region = ball(inner);
            region.is_buried(&Samples::new(&grid, 2, region.bounds), &[ball(outer)])
        };
        assert_eq!([buried(0.2, 0.3), buried(0.3, 0.2), buried(0.01, 0.2)], [Some(true), Some(false), None]);
    }
}
