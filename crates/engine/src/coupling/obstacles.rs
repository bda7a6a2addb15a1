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

/// Cells between samples of the distance from a moving mesh: fine enough for walls of a cell and a half.
const SAMPLE: f64 = 0.5;

/// Longest edge of the triangles that stand for curved shapes, in cells. Their volume is exact by construction.
const MAX_EDGE: f64 = 1.0;

/// How near, in cells, particles come to a surface.
const GAP: f64 = 0.02;

/// Half the distance, in cells, over which the direction of a surface is measured.
const SLOPE: f64 = 0.05;

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
    /// The solids at t = 0, at rest until the first step.
    pub fn new(obstacles: &[Obstacle], grid: &Grid) -> Self {
        let bodies = obstacles.iter().map(|obstacle| {
            let pose = obstacle.motion.pose(0.0);
            let surface = obstacle.shape.surface(MAX_EDGE * grid.dx);
            Body {
                name: obstacle.name.clone(),
                motion: obstacle.motion.clone(),
                distance: match &obstacle.shape {
                    shape @ Shape::Mesh(_) if !obstacle.motion.is_static() => {
                        Distance::Sampled(SampledDistance::new(shape, SAMPLE * grid.dx, BAND * grid.dx))
                    }
                    shape => Distance::Exact(SignedDistance::new(shape)),
                },
                radius: surface.vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
                volume: surface.volume(),
                cut: cut(grid, &surface.posed(&pose)),
                surface,
                previous: pose,
                pose,
                velocity: RigidVelocity::REST,
            }
        });
        Self { bodies: bodies.collect() }
    }

    /// Move everything over the step from `time` to `time + dt`; whether anything is on the move.
    pub fn advance(&mut self, grid: &Grid, time: f64, dt: f64) -> bool {
        let mut moved = false;
        for body in self.bodies.iter_mut().filter(|body| !body.motion.is_static()) {
            body.velocity = body.motion.velocity(time, dt);
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
        self.local_distance(self.pose.invert(world))
    }

    fn local_distance(&self, local: DVec3) -> f64 {
        match &self.distance {
            Distance::Exact(distance) => distance.at(local),
            Distance::Sampled(distance) => distance.at(local),
        }
    }

    /// See [`Obstacles::keep_out`]. The path is followed in the body's own frame, where the body rests.
    fn keep_out(&self, dx: f64, from: DVec3, to: DVec3) -> DVec3 {
        let gap = GAP * dx;
        let (mut at, mut end) = (self.previous.invert(from), self.pose.invert(to));
        let distance = self.local_distance(end);
        // Farther from the surface than the way here: nothing was met.
        if distance > at.distance(end).max(gap) {
            return to;
        }
        for _ in 0..MAX_TURNS {
            match self.march(at, end, gap) {
                None => break,
                Some(hit) => {
                    // Slide on along the surface.
                    let normal = self.outwards(hit, dx);
                    let rest = end - hit;
                    at = hit + normal * (gap - self.local_distance(hit)).max(0.0);
                    end = at + rest - normal * rest.dot(normal).min(0.0);
                }
            }
        }
        for _ in 0..MAX_TURNS {
            let distance = self.local_distance(end);
            if distance >= 0.5 * gap {
                break;
            }
            end += self.outwards(end, dx) * (gap - distance);
        }
        if self.local_distance(end) < 0.0 {
            end = at;
        }
        self.pose.apply(end)
    }

    /// Where the straight way from a point outside comes within `gap` of the surface while approaching it, if it does.
    fn march(&self, from: DVec3, to: DVec3, gap: f64) -> Option<DVec3> {
        let length = from.distance(to);
        let direction = (to - from) / length.max(f64::MIN_POSITIVE);
        let (mut travelled, mut at, mut before) = (0.0, from, f64::INFINITY);
        while travelled < length {
            let distance = self.local_distance(at);
            if distance < gap && distance < before {
                // One that starts in the gap may leave it.
                let next = at + direction * gap;
                if travelled > 0.0 || self.local_distance(next) < distance {
                    return Some(at);
                }
            }
            before = distance;
            travelled += distance.max(gap);
            at = from + direction * travelled;
        }
        (self.local_distance(to) < 0.5 * gap).then_some(to)
    }

    /// The direction in which distance grows fastest.
    fn outwards(&self, at: DVec3, dx: f64) -> DVec3 {
        let h = SLOPE * dx;
        let slope = |unit: DVec3| self.local_distance(at + h * unit) - self.local_distance(at - h * unit);
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
