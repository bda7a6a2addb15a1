//! Static and scripted solids in the fluid: the faces they close, the volume they push, the impulse they take.

use crate::fluid::boundary::{Boundary, SolidCover, Wall};
use crate::geometry::{Pose, Shape, TriMesh};
use crate::grid::cut_cells::{BodyCut, CutCells, cut};
use crate::grid::{CellField, Grid, parallel::for_each_row};
use crate::solid::{Motion, Obstacle};
use glam::DVec3;

/// Distances are exact this many cells around a body, and only a lower bound further out.
const BAND: f64 = 6.0;

/// Edge of the triangles that stand for curved shapes, in cells: a sphere of 8 cells' radius is then
/// within 0.2 % of its area, and its volume is exact by construction.
const MAX_EDGE: f64 = 1.0;

/// The scripted solids of a scene at the current time.
pub struct Obstacles {
    bodies: Vec<Body>,
}

struct Body {
    name: String,
    motion: Motion,
    shape: Shape,
    /// Triangles in the body's frame.
    surface: TriMesh,
    volume: f64,
    pose: Pose,
    velocity: DVec3,
    angular_velocity: DVec3,
    cut: BodyCut,
}

/// A body and the impulse that pressure gave it over a step.
#[derive(Clone, Debug)]
pub struct BodyImpulse {
    /// Name in the scene.
    pub name: String,
    /// Whether it can move at all.
    pub is_static: bool,
    /// Where it is at the end of the step.
    pub pose: Pose,
    /// m/s.
    pub velocity: DVec3,
    /// rad/s.
    pub angular_velocity: DVec3,
    /// m³.
    pub volume: f64,
    /// N s.
    pub impulse: DVec3,
    /// About the body's position, N m s.
    pub torque_impulse: DVec3,
}

impl Body {
    /// Velocity of the material at a world point, m/s.
    fn velocity_at(&self, p: DVec3) -> DVec3 {
        self.velocity + self.angular_velocity.cross(p - self.pose.position)
    }

    fn place(&mut self, grid: &Grid, pose: Pose) {
        self.pose = pose;
        self.cut = cut(grid, &self.surface.transformed(&pose));
    }
}

impl Obstacles {
    /// The solids at t = 0, at rest until the first step.
    pub fn new(obstacles: &[Obstacle], grid: &Grid) -> Self {
        let bodies = obstacles.iter().map(|obstacle| {
            let pose = obstacle.motion.pose(0.0);
            let surface = obstacle.shape.surface(MAX_EDGE * grid.dx);
            Body {
                name: obstacle.name.clone(),
                motion: obstacle.motion.clone(),
                volume: surface.volume(),
                cut: cut(grid, &surface.transformed(&pose)),
                shape: obstacle.shape.clone(),
                surface,
                pose,
                velocity: DVec3::ZERO,
                angular_velocity: DVec3::ZERO,
            }
        });
        Self { bodies: bodies.collect() }
    }

    /// Move everything over the step from `time` to `time + dt`; whether anything is on the move.
    pub fn advance(&mut self, grid: &Grid, time: f64, dt: f64) -> bool {
        let mut moved = false;
        for body in self.bodies.iter_mut().filter(|body| !body.motion.is_static()) {
            (body.velocity, body.angular_velocity) = body.motion.velocity(time, dt);
            body.place(grid, body.motion.pose(time + dt));
            moved = true;
        }
        moved
    }

    /// Fastest point of any body around `time`, m/s, from its bounding radius.
    pub fn speed(&self, time: f64, dt: f64) -> f64 {
        let speed = |body: &Body| {
            let (v, omega) = body.motion.velocity(time, dt);
            v.length() + omega.length() * body.radius
        };
        self.bodies.iter().filter(|body| !body.motion.is_static()).map(speed).fold(0.0, f64::max)
    }

    /// Surfaces in world space with their names.
    pub fn surfaces(&self, time: f64) -> Vec<(String, TriMesh)> {
        let place = |body: &Body| (body.name.clone(), body.surface.transformed(&body.motion.pose(time)));
        self.bodies.iter().map(place).collect()
    }

    /// What the fluid sees of the bodies and of the domain's sides.
    pub fn boundary(&self, grid: &Grid, walls: [[Wall; 2]; 3]) -> Boundary {
        if self.bodies.is_empty() {
            return Boundary::new(grid, walls, None, |_| DVec3::ZERO);
        }
        let cells = CutCells::combine(grid, self.bodies.iter().map(|body| &body.cut));
        let mut flux = CellField::new(grid, 0.0);
        for body in &self.bodies {
            for polygon in &body.cut.polygons {
                flux.data[polygon.cell as usize] += polygon.area.dot(body.velocity_at(polygon.centroid)) / grid.dx.powi(2);
            }
        }
        let mut distance = CellField::new(grid, BAND);
        for_each_row(&mut distance.data, grid.dims, |j, k, row| {
            for (i, d) in row.iter_mut().enumerate() {
                let p = grid.cell_centre([i, j, k]);
                *d = self.bodies.iter().fold(BAND, |d, body| d.min(body.distance(p) / grid.dx));
            }
        });
        let cover = SolidCover { open: cells.open, volume: cells.volume, flux, distance };
        let nearest = |p: DVec3| {
            let by_distance = |a: &&Body, b: &&Body| a.distance(p).abs().total_cmp(&b.distance(p).abs());
            self.bodies.iter().min_by(by_distance).map_or(DVec3::ZERO, |body| body.velocity_at(p))
        };
        Boundary::new(grid, walls, Some(cover), nearest)
    }

    /// Impulse of the pressure on every body: −∫ Δt·pressure n dA over its polygons.
    ///
    /// `p` is the projection's Δt·pressure/(ρ dx), m/s.
    pub fn impulses(&self, grid: &Grid, rho: f64, p: &CellField) -> Vec<BodyImpulse> {
        let of_body = |body: &Body| {
            let (mut impulse, mut torque_impulse) = (DVec3::ZERO, DVec3::ZERO);
            for polygon in &body.cut.polygons {
                let push = -rho * grid.dx * p.data[polygon.cell as usize] * polygon.area;
                impulse += push;
                torque_impulse += (polygon.centroid - body.pose.position).cross(push);
            }
            BodyImpulse {
                name: body.name.clone(),
                is_static: body.motion.is_static(),
                pose: body.pose,
                velocity: body.velocity,
                angular_velocity: body.angular_velocity,
                volume: body.volume,
                impulse,
                torque_impulse,
            }
        };
        self.bodies.iter().map(of_body).collect()
    }
}
