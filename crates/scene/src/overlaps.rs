//! Elastic bodies that start inside other solids: contact pushes them apart, which is rarely what was meant.

use crate::placement::bounds;
use bathtub_engine::geometry::{Pose, Shape, SignedDistance};
use bathtub_engine::grid::Grid;
use bathtub_engine::solid::Obstacle;
use bathtub_engine::solid::elastic::Elastic;
use bathtub_engine::solid::rigid::RigidBody;
use glam::DVec3;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Overlaps less deep than this, in cells, are none: bodies may touch, and meshes are not exact.
const TOUCHING: f64 = 1e-3;

/// A solid as it is at the start.
struct Solid<'a> {
    name: &'a str,
    /// Points of its surface that nothing holds, m, and middles of its tetrahedra: in the same place, surfaces are nowhere deep in one another.
    points: Vec<DVec3>,
    span: [DVec3; 2],
    /// Whether parts of it are held: these may be inside anything.
    is_held: bool,
    distance: SignedDistance,
    pose: Pose,
}

impl<'a> Solid<'a> {
    fn rigid(name: &'a str, shape: &Shape, pose: Pose, grid: &Grid) -> Self {
        let points = shape.surface(grid.dx).vertices.iter().map(|v| pose.apply(*v)).collect();
        Self { name, points, span: bounds(shape, &pose), is_held: false, distance: SignedDistance::new(shape), pose }
    }

    fn elastic(body: &'a Elastic) -> Self {
        let mut surface = body.rest.surface();
        surface.vertices = body.start();
        let used: BTreeSet<u32> = surface.triangles.iter().flatten().copied().collect();
        let held: BTreeSet<usize> = body.holds.iter().flat_map(|hold| &hold.vertices).copied().collect();
        let free = used.iter().map(|&v| v as usize).filter(|v| !held.contains(v));
        let loose = body.rest.tetrahedra.iter().filter(|t| t.iter().all(|&v| !held.contains(&(v as usize))));
        let middle = |t: &[u32; 4]| t.iter().map(|&v| surface.vertices[v as usize]).sum::<DVec3>() / 4.0;
        let points = free.map(|v| surface.vertices[v]).chain(loose.map(middle)).collect();
        let (shape, pose) = (Shape::Mesh(Arc::new(surface)), Pose::IDENTITY);
        let (span, distance) = (bounds(&shape, &pose), SignedDistance::new(&shape));
        Self { name: &body.name, points, span, is_held: !held.is_empty(), distance, pose }
    }

    /// How deep the points of `other` are in this solid at most, m; none of them if parts of it are held, perhaps by `other`.
    fn depth(&self, other: &Self) -> f64 {
        if self.is_held {
            return 0.0;
        }
        let [low, high] = self.span;
        let near = other.points.iter().filter(|x| x.cmpge(low).all() && x.cmple(high).all());
        near.map(|x| -self.distance.at(self.pose.invert(*x))).fold(0.0, f64::max)
    }
}

/// A warning for each pair of solids, one of them elastic, that overlap at the start; what holds a body may be inside anything.
pub fn warnings(elastic: &[Elastic], bodies: &[RigidBody], obstacles: &[Obstacle], grid: &Grid) -> Vec<String> {
    if elastic.is_empty() {
        return Vec::new();
    }
    let soft: Vec<Solid> = elastic.iter().map(Solid::elastic).collect();
    let rigid = bodies.iter().map(|b| Solid::rigid(&b.name, &b.shape, b.pose, grid));
    let fixed = obstacles.iter().map(|o| Solid::rigid(&o.name, &o.shape, o.motion.pose(0.0), grid));
    let hard: Vec<Solid> = rigid.chain(fixed).collect();
    let mut warnings = Vec::new();
    for (n, body) in soft.iter().enumerate() {
        for other in soft[n + 1..].iter().chain(&hard) {
            let depth = body.depth(other).max(other.depth(body));
            if depth > TOUCHING * grid.dx {
                warnings.push(format!(
                    "\"{}\" and \"{}\" overlap by {depth:.3e} m at the start; contact will push them apart: move one of them",
                    body.name, other.name
                ));
            }
        }
    }
    warnings
}
