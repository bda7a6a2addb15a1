//! Static and scripted solids in the fluid: the faces they close, the volume they push, the impulse they take.

use crate::fluid::Step;
use crate::fluid::boundary::{Boundary, Solids, Wall};
use crate::geometry::{Pose, RigidVelocity, SampledDistance, Shape, SignedDistance, TriMesh};
use crate::grid::cut_cells::{BodyCut, CutCells, cut};
use crate::grid::{CellField, Grid, parallel::for_each_row};
use crate::solid::{Motion, Obstacle};
use glam::DVec3;

/// Distances are exact up to this many cells from a surface, and cut off there.
const BAND: f64 = 8.0;

/// Longest edge of the triangles that stand for curved shapes, in cells. Their volume is exact by construction.
const MAX_EDGE: f64 = 1.0;

/// How near, in cells, particles come to a surface.
const GAP: f64 = 0.02;

/// Cells between samples of the distance that keeps particles out: fine enough for walls of a cell and a half.
const SKIN_SAMPLE: f64 = 0.5;

/// How far, in cells, these samples are exact.
const SKIN_BAND: f64 = 2.0;

/// Nearer than this, in cells, particles ask the mesh itself.
const SKIN_TRUST: f64 = 0.3;

/// Half the distance, in cells, over which the direction of a surface is measured.
const SLOPE: f64 = 0.05;

/// Shortest stride, in cells, when the way of a particle is searched for a surface: solids thinner than this may be
/// stepped over.
const STRIDE: f64 = 0.25;

/// How often a particle is turned away from one body in a step.
const MAX_TURNS: usize = 4;

/// The scripted solids of a scene at the current time.
pub struct Obstacles {
    bodies: Vec<Body>,
}

struct Body {
    name: String,
    motion: Motion,
    /// Triangles in the body's frame.
    surface: TriMesh,
    distance: Distance,
    /// Of a mesh in a liquid: distance within [`SKIN_BAND`], and the mesh itself, for particles near it.
    skin: Option<(SampledDistance, SignedDistance)>,
    /// Farthest vertex from the local origin, m.
    radius: f64,
    volume: f64,
    /// At the start of the step.
    previous: Pose,
    pose: Pose,
    velocity: RigidVelocity,
    cut: BodyCut,
}

/// How far the surface is: asked of the shape itself, or of samples where the same mesh is asked in every step.
enum Distance {
    Exact(SignedDistance),
    Sampled(SampledDistance),
}

/// A body and the impulse that pressure gave it over a step.
#[derive(Clone, Debug)]
pub struct BodyImpulse {
    /// Name in the scene.
    pub name: String,
    /// Whether it stays where it is.
    pub is_static: bool,
    /// Where it is at the end of the step.
    pub pose: Pose,
    /// How it moved there.
    pub velocity: RigidVelocity,
    /// m³.
    pub volume: f64,
    /// N s.
    pub impulse: DVec3,
    /// About the body's position, N m s.
    pub torque_impulse: DVec3,
}

impl Obstacles {
    /// The solids at t = 0, with the velocity of a first step of `first_dt` (s); `with_particles` if they will have to keep particles out.
    pub fn new(obstacles: &[Obstacle], grid: &Grid, first_dt: f64, with_particles: bool) -> Self {
        let bodies = obstacles.iter().map(|obstacle| {
            let pose = obstacle.motion.pose(0.0);
            let surface = obstacle.shape.surface(MAX_EDGE * grid.dx);
            Body {
                name: obstacle.name.clone(),
                motion: obstacle.motion.clone(),
                distance: match &obstacle.shape {
                    shape @ Shape::Mesh(_) if !obstacle.motion.is_static() => {
                        Distance::Sampled(SampledDistance::new(shape, grid.dx, BAND * grid.dx))
                    }
                    shape => Distance::Exact(SignedDistance::new(shape)),
                },
                skin: match &obstacle.shape {
                    shape @ Shape::Mesh(_) if with_particles => Some((
                        SampledDistance::new(shape, SKIN_SAMPLE * grid.dx, SKIN_BAND * grid.dx),
                        SignedDistance::new(shape),
                    )),
                    _ => None,
                },
                radius: surface.vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
                volume: surface.volume(),
                cut: cut(grid, &surface.posed(&pose)),
                surface,
                previous: pose,
                pose,
                velocity: obstacle.motion.velocity(0.0, first_dt),
            }
        });
        Self { bodies: bodies.collect() }
    }

    /// Move everything over the step from `time` to `time + dt`; whether anything is on the move.
    pub fn advance(&mut self, grid: &Grid, time: f64, dt: f64) -> bool {
        let mut moved = false;
        for body in self.bodies.iter_mut().filter(|body| !body.motion.is_static()) {
            // The velocity that will take it on from there: what the fluid has to follow in the next step.
            body.velocity = body.motion.velocity(time + dt, dt);
            body.previous = body.motion.pose(time);
            body.pose = body.motion.pose(time + dt);
            body.cut = cut(grid, &body.surface.posed(&body.pose));
            moved = true;
        }
        moved
    }

    /// Fastest point of any body over the step from `time` to `time + dt`, m/s (an upper bound).
    pub fn speed(&self, time: f64, dt: f64) -> f64 {
        let speed = |body: &Body| {
            let velocity = body.motion.velocity(time, dt);
            velocity.linear.length() + velocity.angular.length() * body.radius
        };
        self.bodies.iter().filter(|body| !body.motion.is_static()).map(speed).fold(0.0, f64::max)
    }

    /// The step from `time` to `time + dt` as the fluid sees it.
    pub fn step<'a>(&self, grid: &'a Grid, boundary: &'a Boundary, time: f64, dt: f64) -> Step<'a> {
        Step { grid, boundary, time, dt, solid_reach: self.speed(time, dt) * dt / grid.dx }
    }

    /// Where a particle that the flow takes from one point to another over the step ends, m: not inside any body, and
    /// not on its other side.
    pub fn keep_out(&self, grid: &Grid, from: DVec3, to: DVec3) -> DVec3 {
        let mut to = to;
        // What one body turns away may meet another.
        for _ in 0..self.bodies.len().min(3) {
            let before = to;
            for body in &self.bodies {
                to = body.keep_out(grid.dx, from, to);
            }
            if to == before {
                break;
            }
        }
        to
    }

    /// Surfaces in world space with their names.
    pub fn surfaces(&self, time: f64) -> Vec<(String, TriMesh)> {
        let place = |body: &Body| (body.name.clone(), body.surface.posed(&body.motion.pose(time)));
        self.bodies.iter().map(place).collect()
    }

    /// What the fluid sees of the bodies and of the domain's sides.
    pub fn boundary(&self, grid: &Grid, walls: [[Wall; 2]; 3]) -> Boundary {
        if self.bodies.is_empty() {
            return Boundary::new(grid, walls, None, |_| DVec3::ZERO);
        }
        let mut cells = CutCells::new(grid);
        let mut distance = CellField::new(grid, BAND);
        for body in &self.bodies {
            cells.add(&body.cut, |polygon| body.velocity.at(polygon.centroid));
            body.shorten(grid, &mut distance);
        }
        let nearest = |p: DVec3| {
            let by_distance = |a: &&Body, b: &&Body| a.distance_at(p).abs().total_cmp(&b.distance_at(p).abs());
            self.bodies.iter().min_by(by_distance).map_or(DVec3::ZERO, |body| body.velocity.at(p))
        };
        Boundary::new(grid, walls, Some(Solids { cells, distance }), nearest)
    }

    /// Impulse of the pressure on every body: −∫ Δt·pressure n dA over its polygons.
    ///
    /// `p` is the projection's Δt·pressure/(ρ dx), m/s.
    pub fn impulses(&self, grid: &Grid, rho: f64, p: &CellField) -> Vec<BodyImpulse> {
        let of_body = |body: &Body| {
            let (mut impulse, mut torque_impulse) = (DVec3::ZERO, DVec3::ZERO);
            for polygon in &body.cut.polygons {
                let push = -rho * grid.dx * p.data[polygon.cell] * polygon.area;
                impulse += push;
                torque_impulse += (polygon.centroid - body.pose.position).cross(push);
            }
            BodyImpulse {
                name: body.name.clone(),
                is_static: body.motion.is_static(),
                pose: body.pose,
                velocity: body.velocity,
                volume: body.volume,
                impulse,
                torque_impulse,
            }
        };
        self.bodies.iter().map(of_body).collect()
    }
}

impl Body {
    fn distance_at(&self, world: DVec3) -> f64 {
        let local = self.pose.invert(world);
        match &self.distance {
            Distance::Exact(distance) => distance.at(local),
            Distance::Sampled(distance) => distance.at(local),
        }
    }

    /// Distance as particles see it, from a point in the body's frame, m.
    fn skin_distance(&self, dx: f64, local: DVec3) -> f64 {
        match (&self.skin, &self.distance) {
            (Some((sampled, exact)), _) => {
                let near = sampled.at(local);
                if near.abs() > SKIN_TRUST * dx { near } else { exact.at(local) }
            }
            (None, Distance::Exact(distance)) => distance.at(local),
            (None, Distance::Sampled(distance)) => distance.at(local),
        }
    }

    /// See [`Obstacles::keep_out`]. The path is followed in the body's own frame, where the body rests.
    fn keep_out(&self, dx: f64, from: DVec3, to: DVec3) -> DVec3 {
        let gap = GAP * dx;
        let (mut at, mut end) = (self.previous.invert(from), self.pose.invert(to));
        // Free balls around both ends that touch each other: nothing is in between.
        let (way, clear) = (at.distance(end), self.skin_distance(dx, end));
        if clear > gap && (clear > way || clear + self.skin_distance(dx, at) > way) {
            return to;
        }
        for turn in 0.. {
            let Some(hit) = self.march(dx, at, end) else { break };
            // Slide on along the surface; in a corner, stay.
            let (normal, rest) = (self.outwards(hit, dx), end - hit);
            at = hit + normal * (gap - self.skin_distance(dx, hit)).max(0.0);
            end = at + rest - normal * rest.dot(normal).min(0.0);
            if turn == MAX_TURNS {
                end = at;
                break;
            }
        }
        // Only what was too near at the start can be so at the end.
        for _ in 0..MAX_TURNS {
            let distance = self.skin_distance(dx, end);
            if distance >= 0.5 * gap {
                break;
            }
            end += self.outwards(end, dx) * (gap - distance);
        }
        self.pose.apply(end)
    }

    /// Where the straight way from a point outside comes too near to the surface, if it does.
    fn march(&self, dx: f64, from: DVec3, to: DVec3) -> Option<DVec3> {
        let (gap, length) = (GAP * dx, from.distance(to));
        let at = |travelled: f64| from.lerp(to, travelled / length);
        let (mut travelled, mut distance) = (0.0, self.skin_distance(dx, from));
        while travelled < length {
            let next = (travelled + distance.max(STRIDE * dx)).min(length);
            let after = self.skin_distance(dx, at(next));
            if after < 0.5 * gap && after < distance {
                // The surface, if distance changes evenly in between.
                let share = ((distance - 0.5 * gap) / (distance - after)).clamp(0.0, 1.0);
                return Some(at(travelled + share * (next - travelled)));
            }
            (travelled, distance) = (next, after);
        }
        None
    }

    /// The direction in which distance grows fastest.
    fn outwards(&self, at: DVec3, dx: f64) -> DVec3 {
        let h = SLOPE * dx;
        let slope = |unit: DVec3| self.skin_distance(dx, at + h * unit) - self.skin_distance(dx, at - h * unit);
        DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z)).normalize_or(DVec3::Y)
    }

    /// Lower `field` (cells, up to [`BAND`]) to the distance from this body where that is nearer.
    fn shorten(&self, grid: &Grid, field: &mut CellField) {
        let reach = self.radius / grid.dx + BAND;
        let centre = (self.pose.position - grid.origin) / grid.dx - 0.5;
        let near = |i: usize, a: usize| (i as f64 - centre[a]).abs() <= reach;
        for_each_row(&mut field.data, grid.dims, |j, k, row| {
            if !near(j, 1) || !near(k, 2) {
                return;
            }
            let mut i = (centre.x - reach).max(0.0) as usize;
            while i < row.len() && (i as f64) <= centre.x + reach {
                let distance = self.distance_at(grid.cell_centre([i, j, k])) / grid.dx;
                row[i] = row[i].min(distance.max(-BAND));
                // Distance changes by at most one cell from one cell to the next.
                let skipped = (distance.abs() - BAND).max(0.0) as usize;
                let end = (i + 1 + skipped).min(row.len());
                row[i + 1..end].iter_mut().for_each(|d| *d = d.min(BAND.copysign(distance)));
                i = end;
            }
        });
    }
}
