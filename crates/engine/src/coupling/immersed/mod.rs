//! The solids in the fluid, static, scripted and free: the faces they close, the volume they push, the impulse they take.

mod deforming;
mod keep_out;

use super::contact::Side;
use crate::fluid::Step;
use crate::fluid::boundary::{BodyFace, Boundary, Solids, Wall};
use crate::fluid::water::Way;
use crate::geometry::{Nearest, Pose, RigidVelocity, SampledDistance, Shape, SignedDistance, TriMesh};
use crate::grid::cut_cells::{BodyCut, CutCells, CutPolygon, Flush, cut_laid, flush};
use crate::grid::voxels::{Voxels, voxelise};
use crate::grid::{Axis, CellField, Grid, parallel::for_each_row, unravel};
use crate::solid::elastic::ElasticBody;
use crate::solid::rigid::Interface;
use crate::solid::{Motion, Obstacle, RigidBody};
use deforming::Deforming;
use glam::DVec3;

/// Distances are exact up to this many cells from a surface, and cut off there.
const BAND: f64 = 8.0;

/// Longest edge of the triangles that stand for curved shapes, in cells. Their volume is exact by construction.
const MAX_EDGE: f64 = 1.0;

/// Solids this near to a side of the domain, in cells, touch it.
const AT_SIDE: f64 = 2e-3;

/// Cells between samples of the distance that keeps particles out: fine enough for walls of a cell and a half.
const SKIN_SAMPLE: f64 = 0.5;

/// How far, in cells, these samples are exact.
const SKIN_BAND: f64 = 2.0;

/// The solids of a scene at the current time.
pub struct Immersed {
    bodies: Vec<Body>,
    /// What they hide of one another.
    flush: Flush,
}

/// One of them.
pub(super) struct Body {
    name: String,
    pub(super) drive: Drive,
    /// Triangles in the body's frame.
    surface: TriMesh,
    distance: Distance,
    /// Of a mesh in a liquid: distance within [`SKIN_BAND`], and the mesh itself, for particles near it.
    skin: Option<(SampledDistance, SignedDistance)>,
    /// Farthest vertex from the local origin, m.
    radius: f64,
    volume: f64,
    /// Volume in the grid, m³: that of the slice, if the grid is flat.
    pub(super) displaced: f64,
    /// At the start of the step.
    previous: Pose,
    pose: Pose,
    velocity: RigidVelocity,
    /// False once it has left the domain.
    is_there: bool,
    /// A free ball in cut cells.
    pub(super) is_ball: bool,
    cut: BodyCut,
    /// The part of each polygon that another body hides, if any does.
    hidden: Option<Vec<f64>>,
    /// Of a body that meets the fluid at faces.
    pub(super) voxels: Option<Voxels>,
    /// Of a body that changes its shape.
    deforming: Option<Deforming>,
}

/// What moves a solid.
pub(super) enum Drive {
    /// A script, or nothing at all.
    Scripted(Motion),
    /// Forces: the free body of this number.
    Free(usize),
    /// Forces, which change its shape as well: the elastic body of this number.
    Elastic(usize),
}

/// Where a free body is and how it moves.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Of its own frame.
    pub pose: Pose,
    /// About its centre of mass.
    pub velocity: RigidVelocity,
    /// False if it has left the domain.
    pub is_there: bool,
}

/// How far the surface is: asked of the shape itself, or of samples where the same mesh is asked in every step.
enum Distance {
    Exact(SignedDistance),
    Sampled(SampledDistance),
    /// Of a body that changes its shape: what it knows of its surface.
    Band,
}

/// A surface near a point.
pub(super) struct Near {
    /// What is there.
    pub side: Side,
    /// How far it is, m; negative inside.
    pub distance: f64,
    /// From there to the point.
    pub normal: DVec3,
}

/// A body and the impulse that pressure gave it over a step.
#[derive(Clone, Debug)]
pub struct BodyImpulse {
    /// Name in the scene.
    pub name: String,
    /// `static`, `scripted`, `free` or `elastic`.
    pub kind: &'static str,
    /// Where it is at the end of the step.
    pub pose: Pose,
    /// How it moved there.
    pub velocity: RigidVelocity,
    /// m³.
    pub volume: f64,
    /// N s.
    pub impulse: DVec3,
    /// About the body's position, of a free one its centre of mass, N m s.
    pub torque_impulse: DVec3,
    /// Which part of both corrects the hydrostatic pressure of cells to that at the surface, of bodies that answer.
    pub lift: Option<[DVec3; 2]>,
    /// Of an elastic body: kinetic and elastic, J.
    pub energy: Option<[f64; 2]>,
}

impl Immersed {
    /// The solids at t = 0, scripted ones with the velocity of a first step of `first_dt` (s), free ones as `place` says;
    /// `with_particles` if they will have to keep particles out.
    pub fn new(
        (obstacles, free): (&[Obstacle], &[RigidBody]),
        place: impl Fn(usize) -> Place,
        elastic: &[(String, ElasticBody)],
        grid: &Grid,
        first_dt: f64,
        with_particles: bool,
    ) -> Self {
        let scripted = obstacles.iter().map(|obstacle| {
            let motion = &obstacle.motion;
            let place = Place { pose: motion.pose(0.0), velocity: motion.velocity(0.0, first_dt), is_there: true };
            (&obstacle.name, &obstacle.shape, Drive::Scripted(motion.clone()), place, Interface::CutCells)
        });
        let free = free
            .iter()
            .enumerate()
            .map(|(n, body)| (&body.name, &body.shape, Drive::Free(n), place(n), body.interface));
        let bodies = scripted.chain(free).map(|(name, shape, drive, place, interface)| {
            let surface = shape.surface(MAX_EDGE * grid.dx);
            let Place { pose, velocity, is_there } = place;
            let (cut, volume) = (cut_laid(grid, &surface.posed(&pose)), surface.volume());
            Body {
                name: name.clone(),
                distance: match shape {
                    Shape::Mesh(_) if !drive.is_static() => {
                        Distance::Sampled(SampledDistance::new(shape, grid.dx, BAND * grid.dx))
                    }
                    shape => Distance::Exact(SignedDistance::new(shape)),
                },
                skin: match shape {
                    Shape::Mesh(_) if with_particles => Some((
                        SampledDistance::new(shape, SKIN_SAMPLE * grid.dx, SKIN_BAND * grid.dx),
                        SignedDistance::new(shape),
                    )),
                    _ => None,
                },
                radius: surface.vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
                volume,
                displaced: if grid.has_flat_axis() { cut.volume(grid) } else { volume },
                cut,
                hidden: None,
                voxels: (interface == Interface::Faces).then(|| voxelise(grid, &surface.posed(&pose))),
                is_ball: matches!(
                    (shape, &drive, interface),
                    (Shape::Sphere { .. }, Drive::Free(_), Interface::CutCells)
                ),
                surface,
                previous: pose,
                pose,
                velocity,
                is_there,
                drive,
                deforming: None,
            }
        });
        let elastic = elastic.iter().enumerate().map(|(n, (name, body))| Body::elastic(n, name, body, grid));
        let mut immersed = Self { bodies: bodies.chain(elastic).collect(), flush: Flush::default() };
        immersed.hide(grid);
        immersed
    }

    /// Find what the bodies hide of one another.
    fn hide(&mut self, grid: &Grid) {
        let cuts: Vec<&BodyCut> = self.bodies.iter().map(|body| &body.cut).collect();
        self.flush = if cuts.len() > 1 { flush(grid, &cuts) } else { Flush::default() };
        for (n, body) in self.bodies.iter_mut().enumerate() {
            body.hidden = self.flush.hidden.remove(&n);
        }
    }

    /// Free and elastic bodies are there now and move so.
    pub fn place(&mut self, place: impl Fn(usize) -> Place, elastic: &[(String, ElasticBody)]) {
        for body in &mut self.bodies {
            match body.drive {
                Drive::Scripted(_) => {}
                Drive::Free(n) => {
                    let Place { pose, velocity, is_there } = place(n);
                    (body.pose, body.velocity, body.is_there) = (pose, velocity, is_there);
                }
                Drive::Elastic(n) => body.take_shape(&elastic[n].1),
            }
        }
    }

    /// Move everything over the step from `time` to `time + dt`, free bodies to where `place` says; whether anything is on
    /// the move.
    pub fn advance(
        &mut self,
        grid: &Grid,
        time: f64,
        dt: f64,
        place: impl Fn(usize) -> Place,
        elastic: &[(String, ElasticBody)],
    ) -> bool {
        let mut moved = false;
        for body in self.bodies.iter_mut().filter(|body| !body.drive.is_static()) {
            body.is_there = match &body.drive {
                Drive::Scripted(motion) => {
                    // The velocity that will take it on from there: what the fluid has to follow in the next step.
                    body.velocity = motion.velocity(time + dt, dt);
                    body.previous = motion.pose(time);
                    body.pose = motion.pose(time + dt);
                    true
                }
                Drive::Free(n) => {
                    let Place { pose, velocity, is_there } = place(*n);
                    body.previous = body.pose;
                    (body.pose, body.velocity) = (pose, velocity);
                    is_there
                }
                Drive::Elastic(n) => {
                    body.previous = body.pose;
                    if let Some(Deforming { before, now, .. }) = &mut body.deforming {
                        std::mem::swap(before, now);
                    }
                    body.take_shape(&elastic[*n].1);
                    body.is_there
                }
            };
            body.cut = if body.is_there { cut_laid(grid, &body.surface.posed(&body.pose)) } else { BodyCut::default() };
            if let Some(voxels) = &mut body.voxels {
                *voxels =
                    if body.is_there { voxelise(grid, &body.surface.posed(&body.pose)) } else { Voxels::default() };
            }
            moved = true;
        }
        if moved {
            self.hide(grid);
        }
        moved
    }

    /// Speed of the fastest point of any body over the step from `time` to `time + dt`, m/s (an upper bound), and the name of that
    /// body; those that have left the domain do not count.
    pub fn fastest(&self, time: f64, dt: f64) -> Option<(f64, &str)> {
        let speed = |body: &Body| {
            let velocity = match &body.drive {
                Drive::Scripted(motion) if motion.is_static() => return 0.0,
                Drive::Scripted(motion) => motion.velocity(time, dt),
                Drive::Free(_) | Drive::Elastic(_) => body.velocity,
            };
            match &body.deforming {
                Some(deforming) => deforming.velocities.iter().map(|v| v.length()).fold(0.0, f64::max),
                None => velocity.linear.length() + velocity.angular.length() * body.radius,
            }
        };
        let there = self.bodies.iter().filter(|body| body.is_there);
        there.map(|body| (speed(body), &body.name[..])).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// What scripted solids that move push into cells, in units of dx², m/s, name by name; and, if `is_exact`, whether that is inside
    /// another solid.
    pub(super) fn scripted_pushes<'a>(
        &'a self,
        grid: &'a Grid,
        is_exact: bool,
    ) -> impl Iterator<Item = (&'a str, impl Iterator<Item = (usize, f64, bool)> + 'a)> + 'a {
        let moving = |body: &&Body| matches!(&body.drive, Drive::Scripted(motion) if !motion.is_static());
        let of_body = move |body: &'a Body| {
            let others = move || self.bodies.iter().filter(move |other| other.is_there && !std::ptr::eq(*other, body));
            let push = move |polygon: CutPolygon| {
                let flux = body.velocity.at(polygon.centroid).dot(polygon.area) / (grid.dx * grid.dx);
                let is_inside = |other: &Body| {
                    other.pose.position.distance(polygon.centroid) < other.radius
                        && other.distance_at(polygon.centroid) < 0.0
                };
                (polygon.cell, flux, is_exact && others().any(is_inside))
            };
            (&body.name[..], body.exposed().map(push))
        };
        self.bodies.iter().filter(moving).map(of_body)
    }

    /// What scripted bodies push less or more because a part of their surface is in or beyond a closed side of the domain, in units of dx²,
    /// m/s, with their names: all that those push which touch one, and what those draw which leave through one.
    pub(super) fn at_sides(&self, grid: &Grid, walls: [[Wall; 2]; 3]) -> Vec<(&str, f64)> {
        let of_body = |body: &Body| {
            let vertices = || body.surface.vertices.iter().map(|v| (body.pose.apply(*v) - grid.origin) / grid.dx);
            let min = vertices().fold(DVec3::INFINITY, DVec3::min);
            let max = vertices().fold(DVec3::NEG_INFINITY, DVec3::max);
            let along = |axis: Axis| {
                let a = axis.index();
                let beyond = [-min[a], max[a] - grid.dims[a] as f64];
                let at_side = |side: usize| walls[a][side] == Wall::Closed && beyond[side] >= -AT_SIDE;
                let flux: f64 = body.exposed().map(|p| body.velocity.at(p.centroid)[a] * p.area[a]).sum();
                let touches = (0..2).any(|side| at_side(side) && beyond[side] <= AT_SIDE);
                let leaves = (0..2).any(|side| at_side(side) && (body.velocity.linear[a] > 0.0) == (side == 1));
                if touches || leaves && flux < 0.0 { flux.abs() / (grid.dx * grid.dx) } else { 0.0 }
            };
            Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).map(along).sum::<f64>()
        };
        let moving = |body: &&Body| matches!(&body.drive, Drive::Scripted(motion) if !motion.is_static());
        self.bodies.iter().filter(moving).map(|body| (&body.name[..], of_body(body))).collect()
    }

    /// The bodies that are moved by forces, with their numbers.
    pub(super) fn free(&self) -> impl Iterator<Item = (usize, &Body)> {
        self.bodies.iter().filter_map(|body| match body.drive {
            Drive::Free(n) => Some((n, body)),
            Drive::Scripted(_) | Drive::Elastic(_) => None,
        })
    }

    /// The surfaces near a point of elastic body `own`, those of all other solids: within `reach`, m.
    pub(super) fn near(&self, dx: f64, own: usize, at: DVec3, reach: f64) -> Vec<Near> {
        let of_body = |body: &Body| {
            let local = body.pose.invert(at);
            if !body.is_there || local.length() > body.radius + reach {
                return None;
            }
            let distance = body.skin_distance(dx, local);
            let normal = || body.pose.rotation * body.outwards(local, dx);
            let side = match body.drive {
                _ if distance >= reach => return None,
                Drive::Elastic(n) if n == own => return None,
                Drive::Scripted(_) => Side::Given { velocity: body.velocity.at(at) },
                Drive::Free(body) => Side::Rigid { body, at },
                Drive::Elastic(n) => {
                    let Nearest { triangle, weights, .. } = self.nearest_on(n, at)?;
                    let triangle = body.surface.triangles[triangle as usize];
                    Side::Elastic { body: n, corners: std::array::from_fn(|c| (triangle[c], weights[c])) }
                }
            };
            Some(Near { side, distance, normal: normal() })
        };
        self.bodies.iter().filter_map(of_body).collect()
    }

    /// Solids that are obstacles within `reach` of a point at `time`, how far they are from it, m, and where away from them is.
    pub(super) fn obstacles_near(&self, dx: f64, at: DVec3, reach: f64, time: f64) -> Vec<(usize, f64, DVec3)> {
        let of_body = |(n, body): (usize, &Body)| {
            let Drive::Scripted(motion) = &body.drive else { return None };
            let pose = motion.pose(time);
            let local = pose.invert(at);
            if local.length() > body.radius + reach {
                return None;
            }
            let distance = body.skin_distance(dx, local);
            (distance < reach).then(|| (n, distance, pose.rotation * body.outwards(local, dx)))
        };
        self.bodies.iter().enumerate().filter_map(of_body).collect()
    }

    /// Corners of rigid bodies that may be within `reach`, m, of elastic body `n`, with the numbers of their bodies.
    pub(super) fn rigid_corners(&self, n: usize, reach: f64) -> Vec<(usize, DVec3)> {
        let Some(elastic) = self.elastic(n) else { return Vec::new() };
        let centre = elastic.pose.position;
        let near = |at: &DVec3| at.distance(centre) < elastic.radius + reach;
        let of_body = |(n, body): (usize, &Body)| {
            let is_near = body.pose.position.distance(centre) < elastic.radius + body.radius + reach;
            let corners = body.surface.vertices.iter().take(if is_near { usize::MAX } else { 0 });
            corners.map(|v| body.pose.apply(*v)).filter(near).map(|at| (n, at)).collect::<Vec<_>>()
        };
        self.free().filter(|(_, body)| body.is_there).flat_map(of_body).collect()
    }

    /// How a free body that moves with `velocity` moves as the fluid sees it: along a ball fluid slips, however that spins.
    pub fn seen(&self, body: usize, velocity: RigidVelocity) -> RigidVelocity {
        let is_ball = self.free().any(|(n, solid)| n == body && solid.is_ball);
        RigidVelocity { angular: if is_ball { DVec3::ZERO } else { velocity.angular }, ..velocity }
    }

    /// Which part of a free or elastic body is beyond open sides of the domain, roughly: that of the width of a ball around it.
    pub fn share_beyond(&self, grid: &Grid, walls: [[Wall; 2]; 3], body: usize) -> f64 {
        let free = self.free().find(|(n, _)| *n == body).map(|(_, solid)| solid);
        let elastic = || self.elastic(body - self.free().count());
        let Some(solid) = free.or_else(elastic) else { return 0.0 };
        let (low, high) = (solid.pose.position - grid.origin, grid.upper() - solid.pose.position);
        let share = |axis: Axis| {
            let a = axis.index();
            let beyond = |side: usize, room: f64| match walls[a][side] {
                Wall::Open => (0.5 * (1.0 - room / solid.radius)).clamp(0.0, 1.0),
                Wall::Closed | Wall::Inflow { .. } => 0.0,
            };
            beyond(0, low[a]).max(beyond(1, high[a]))
        };
        Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).map(share).fold(0.0, f64::max)
    }

    /// The step from `time` to `time + dt` as the fluid sees it.
    pub fn step<'a>(&self, grid: &'a Grid, boundary: &'a Boundary, time: f64, dt: f64) -> Step<'a> {
        let solid_reach = self.fastest(time, dt).map_or(0.0, |(speed, _)| speed) * dt / grid.dx;
        Step { grid, boundary, time, dt, solid_reach }
    }

    /// Where a particle that is taken from one point to another ends, m: not inside any body, and not on its other side.
    pub fn keep_out(&self, grid: &Grid, way: Way, from: DVec3, to: DVec3) -> DVec3 {
        let mut to = to;
        // What one body turns away may meet another.
        for _ in 0..self.bodies.len().min(3) {
            let before = to;
            for body in self.bodies.iter().filter(|body| body.is_there) {
                to = body.keep_out(grid.dx, way, from, to);
            }
            if to == before {
                break;
            }
        }
        to
    }

    /// Surfaces in world space with their names; of elastic bodies without the vertices inside.
    pub fn surfaces(&self, time: f64) -> Vec<(String, TriMesh)> {
        let place = |body: &Body| {
            let pose = match &body.drive {
                Drive::Scripted(motion) => motion.pose(time),
                Drive::Free(_) | Drive::Elastic(_) => body.pose,
            };
            let mut surface = body.surface.posed(&pose);
            if body.deforming.is_some() {
                surface.drop_unused_vertices();
            }
            (body.name.clone(), surface)
        };
        self.bodies.iter().map(place).collect()
    }

    /// What the fluid sees of the bodies and of the domain's sides.
    pub fn boundary(&self, grid: &Grid, walls: [[Wall; 2]; 3]) -> Boundary {
        if self.bodies.is_empty() {
            return Boundary::new(grid, walls, None, |_| (DVec3::ZERO, None));
        }
        let mut cells = CutCells::new(grid);
        cells.allow(&self.flush);
        let mut distance = CellField::new(grid, BAND);
        for body in self.bodies.iter().filter(|body| body.is_there) {
            // What free bodies push is found together with the pressure.
            match (&body.voxels, &body.drive) {
                (Some(_), _) => cells.add_volume(&body.cut),
                (None, Drive::Scripted(_)) => {
                    cells.add(&body.cut, |polygon| body.velocity.at(polygon.centroid));
                    for polygon in body.hidden() {
                        cells.solid_flux.data[polygon.cell] -= body.velocity.at(polygon.centroid).dot(polygon.area);
                    }
                }
                (None, Drive::Free(_) | Drive::Elastic(_)) => cells.add(&body.cut, |_| DVec3::ZERO),
            }
            body.shorten(grid, &mut distance);
        }
        let constrained = self.constrain(grid, &mut cells);
        let nearest = |p: DVec3| {
            let by_distance = |a: &&Body, b: &&Body| a.distance_at(p).abs().total_cmp(&b.distance_at(p).abs());
            let there = self.bodies.iter().filter(|body| body.is_there);
            let Some(body) = there.min_by(by_distance) else { return (DVec3::ZERO, None) };
            let name = match body.drive {
                Drive::Scripted(_) => None,
                Drive::Free(n) => Some(n as u32),
                Drive::Elastic(n) => Some(self.elastic_name(n)),
            };
            (body.velocity.at(p), name)
        };
        Boundary::new(grid, walls, Some(Solids { cells, distance, constrained }), nearest)
    }

    /// Close what lies within bodies that meet the fluid at faces; the faces that they take along.
    fn constrain(&self, grid: &Grid, cells: &mut CutCells) -> Vec<BodyFace> {
        let voxels = || self.free().filter_map(|(n, body)| Some((n as u32, body.voxels.as_ref()?)));
        if voxels().next().is_none() {
            return Vec::new();
        }
        let mut is_solid = vec![false; grid.dims.iter().product()];
        voxels().flat_map(|(_, voxels)| &voxels.inside).for_each(|&cell| is_solid[cell] = true);
        // Both cells of a face, where there are any.
        let sides = |axis: Axis, at: [usize; 3]| {
            let mut below = at;
            below[axis.index()] = below[axis.index()].wrapping_sub(1);
            [below, at].map(|at| (at[axis.index()] < grid.dims[axis.index()]).then(|| grid.cell(at)))
        };
        for cell in (0..is_solid.len()).filter(|&cell| is_solid[cell]) {
            for axis in Axis::ALL {
                for n in 0..2 {
                    let mut face = grid.cell_at(cell);
                    face[axis.index()] += n;
                    if sides(axis, face).into_iter().flatten().all(|cell| is_solid[cell]) {
                        cells.open[(axis, face)] = 0.0;
                    }
                }
            }
        }
        let mut faces = Vec::new();
        for (body, voxels) in voxels() {
            faces.extend(voxels.separated.iter().filter_map(|&(axis, index)| {
                let cells = sides(axis, unravel(grid.face_dims(axis), index));
                let is_wet = cells.map(|cell| cell.is_some_and(|cell| !is_solid[cell]));
                (is_wet != [false; 2]).then_some(BodyFace { axis, index, body, is_wet })
            }));
        }
        faces
    }

    /// Impulse of the pressure on every body: −∫ Δt·pressure n dA over its polygons.
    ///
    /// `p` is the projection's Δt·pressure/(ρ dx), m/s.
    pub fn impulses(&self, grid: &Grid, rho: f64, p: &CellField) -> Vec<BodyImpulse> {
        let of_body = |body: &Body| {
            let (mut impulse, mut torque_impulse) = (DVec3::ZERO, DVec3::ZERO);
            let (kind, centre) = match &body.drive {
                Drive::Scripted(motion) => (if motion.is_static() { "static" } else { "scripted" }, body.pose.position),
                Drive::Free(_) => ("free", body.velocity.centre),
                Drive::Elastic(_) => ("elastic", body.velocity.centre),
            };
            for polygon in body.exposed() {
                let push = -rho * grid.dx * p.data[polygon.cell] * polygon.area;
                impulse += push;
                torque_impulse += (polygon.centroid - centre).cross(push);
            }
            BodyImpulse {
                name: body.name.clone(),
                kind,
                pose: Pose { position: centre, ..body.pose },
                velocity: body.velocity,
                volume: body.volume,
                impulse,
                torque_impulse,
                lift: None,
                energy: None,
            }
        };
        self.bodies.iter().map(of_body).collect()
    }
}

impl Drive {
    fn is_static(&self) -> bool {
        matches!(self, Self::Scripted(motion) if motion.is_static())
    }
}

impl Body {
    /// The surface in cut cells.
    fn polygons(&self) -> &[CutPolygon] {
        if self.voxels.is_some() { &[] } else { &self.cut.polygons }
    }

    /// The part of it that pressure meets.
    pub(super) fn exposed(&self) -> impl Iterator<Item = CutPolygon> {
        self.shares().map(|(polygon, hidden)| CutPolygon { area: (1.0 - hidden) * polygon.area, ..*polygon })
    }

    /// The part of it that other bodies hide.
    pub(super) fn hidden(&self) -> impl Iterator<Item = CutPolygon> {
        let hidden = self.shares().filter(|(_, hidden)| *hidden > 0.0);
        hidden.map(|(polygon, hidden)| CutPolygon { area: hidden * polygon.area, ..*polygon })
    }

    fn shares(&self) -> impl Iterator<Item = (&CutPolygon, f64)> {
        let part = |n: usize| self.hidden.as_ref().map_or(0.0, |parts| parts[n]);
        self.polygons().iter().enumerate().map(move |(n, polygon)| (polygon, part(n)))
    }

    /// Whether it is on its way through a side of the domain that is not closed.
    pub(super) fn crosses_open_side(&self, grid: &Grid, walls: [[Wall; 2]; 3]) -> bool {
        let (low, high) = (self.pose.position - grid.origin, grid.upper() - self.pose.position);
        Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).any(|axis| {
            let a = axis.index();
            let is_near = |side: usize, room: f64| !matches!(walls[a][side], Wall::Closed) && room < self.radius;
            is_near(0, low[a]) || is_near(1, high[a])
        })
    }

    /// How far its surface is from a point, m; negative inside.
    pub(super) fn distance_at(&self, world: DVec3) -> f64 {
        let local = self.pose.invert(world);
        match &self.distance {
            Distance::Exact(distance) => distance.at(local),
            Distance::Sampled(distance) => distance.at(local),
            Distance::Band => self.deforming.as_ref().map_or(f64::INFINITY, |deforming| deforming.now.at(local)),
        }
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
