//! The surfaces in the fluid, scripted or answering: the faces they close, the volume they push, the impulse they take.

mod deforming;
mod keep_out;
mod pushes;

use crate::cut::voxels::{SeparatedFace, Voxels, voxelise};
use crate::cut::{BodyCut, CutCells, CutPolygon, Flush, cut_laid, flush};
use crate::fluid::TimeSpan;
use crate::fluid::boundary::{BodyFace, Boundary, SolidCells, Wall};
use crate::fluid::water::Way;
use crate::geometry::{Pose, RigidVelocity, SampledDistance, Shape, SignedDistance, SurfaceId, TriMesh};
use crate::grid::{Axis, CellField, Grid, parallel::for_each_row, unravel};
use crate::solid::Interface;
use crate::solid::{Form, Motion, Outline, Place, Point, Skin};
use deforming::Deforming;
use glam::DVec3;

/// Distances are exact up to this many cells from a surface, and cut off there. A choice: particles on their way and fields continued by four layers ask nearer.
const BAND: f64 = 8.0;

/// Longest edge of the triangles that stand for curved shapes, in cells: a cell sees no finer. Their volume is exact by construction.
/// A choice: half of it makes four times as many triangles to be cut.
const MAX_EDGE: f64 = 1.0;

/// Cells between samples of the distance that keeps particles out: fine enough for walls of a cell and a half.
/// A choice: half of it takes eight times as many samples, twice of it misses walls between them.
const SKIN_SAMPLE: f64 = 0.5;

/// How far, in cells, these samples are exact: a step is two cells long as a rule.
const SKIN_BAND: f64 = 2.0;

/// Scripts tell places; how fast a solid is at one time is how far it gets in this, s. A choice: the rounding of metres is then some nanometres per second.
const INSTANT: f64 = 1e-6;

/// What there is to see of a solid.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidSurface {
    /// Of the solid.
    pub name: String,
    /// In world space, m.
    pub mesh: TriMesh,
    /// Of its vertices, m/s.
    pub velocities: Vec<DVec3>,
}

/// The solids of a scene at the current time; a [`SurfaceId`] is the place of one among them.
pub struct Immersed {
    bodies: Vec<Body>,
    /// What they hide of one another.
    flush: Flush,
}

/// One of them.
pub(super) struct Body {
    name: String,
    kind: &'static str,
    pub(super) drive: Mover,
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
    /// How it meets the fluid.
    pub(super) meets: Meets,
    cut: BodyCut,
    /// The part of each polygon that another body hides, if any does.
    hidden: Option<Vec<f64>>,
}

/// What moves a solid.
pub(super) enum Mover {
    /// A script, or nothing at all.
    Scripted(Motion),
    /// Forces: somebody else knows where it is.
    Answers,
}

/// How far the surface is: asked of the shape itself, or of samples where the same mesh is asked in every step.
enum Distance {
    Exact(SignedDistance),
    Sampled(SampledDistance),
    /// Of a body that changes its shape: what it knows of its surface.
    Deforming(Box<Deforming>),
}

/// How a body meets the fluid.
pub(super) enum Meets {
    /// Its surface cuts the cells.
    CutCells,
    /// So does that of a ball that answers; along it fluid slips, however it spins.
    Ball,
    /// At faces.
    Faces(Voxels),
}

/// A surface near a point.
pub(super) struct Near {
    /// Which.
    pub surface: SurfaceId,
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
    /// `static`, `scripted`, or what it answers as: `free`, `elastic`, …
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
    /// The solids at t = 0, scripted ones with the velocity of a first step of `first_dt` (s), those that answer as `skin` says;
    /// `with_particles` if they will have to keep particles out.
    pub fn new<'a>(
        outlines: &[Outline],
        skin: impl Fn(SurfaceId) -> Skin<'a>,
        grid: &Grid,
        first_dt: f64,
        with_particles: bool,
    ) -> Self {
        let body = |(n, outline): (usize, &Outline)| {
            let &Outline { name, kind, form } = outline;
            match (form, skin_of(form, SurfaceId(n as u32), &skin)) {
                (Form::Scripted { shape, motion }, _) => {
                    let place =
                        Place { pose: motion.pose(0.0), velocity: motion.velocity(0.0, first_dt), is_there: true };
                    let kind = if motion.is_static() { "static" } else { "scripted" };
                    let drive = Mover::Scripted(motion.clone());
                    Body::posed(name, kind, drive, shape, Interface::CutCells, place, grid)
                }
                (Form::Posed { shape, interface }, Some(Skin::Posed(place))) => {
                    Body::posed(name, kind, Mover::Answers, shape, interface, place, grid)
                }
                (Form::Deforming { surface, interface }, Some(skin)) => {
                    Body::that_deforms(name, kind, surface, interface, skin, grid)
                }
                (Form::Posed { .. } | Form::Deforming { .. }, _) => unreachable!("a skin goes with its outline"),
            }
        };
        let mut bodies: Vec<Body> = outlines.iter().enumerate().map(body).collect();
        for (body, outline) in bodies.iter_mut().zip(outlines) {
            if with_particles && let Form::Scripted { shape, .. } | Form::Posed { shape, .. } = outline.form {
                body.sample_skin(shape, grid);
            }
        }
        let mut immersed = Self { bodies, flush: Flush::default() };
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

    /// The bodies that answer are there now and move so.
    pub fn place<'a>(&mut self, skin: impl Fn(SurfaceId) -> Skin<'a>) {
        for (n, body) in self.bodies.iter_mut().enumerate() {
            if matches!(body.drive, Mover::Answers) {
                body.take(skin(SurfaceId(n as u32)));
            }
        }
    }

    /// Move everything over the step from `time` to `time + dt`, what answers to where `skin` says; whether anything is on
    /// the move.
    pub fn advance<'a>(&mut self, grid: &Grid, time: f64, dt: f64, skin: impl Fn(SurfaceId) -> Skin<'a>) -> bool {
        for body in &mut self.bodies {
            body.begin_step();
        }
        self.cut_at(grid, time, dt, skin)
    }

    /// Be where everything is at the end of the step from `time` to `time + dt` that has begun, what answers where `skin` says. May be asked again and again with
    /// other places: where the step began is not forgotten.
    pub fn cut_at<'a>(&mut self, grid: &Grid, time: f64, dt: f64, skin: impl Fn(SurfaceId) -> Skin<'a>) -> bool {
        let mut moved = false;
        for (n, body) in self.bodies.iter_mut().enumerate().filter(|(_, body)| !body.drive.is_static()) {
            match &body.drive {
                Mover::Scripted(motion) => {
                    // The velocity that will take it on from there: what the fluid has to follow in the next step.
                    body.velocity = motion.velocity(time + dt, dt);
                    body.previous = motion.pose(time);
                    body.pose = motion.pose(time + dt);
                }
                Mover::Answers => body.take(skin(SurfaceId(n as u32))),
            }
            let laid = body.is_there.then(|| body.surface.posed(&body.pose));
            body.cut = laid.as_ref().map_or_else(BodyCut::default, |surface| cut_laid(grid, surface));
            if let Meets::Faces(voxels) = &mut body.meets {
                *voxels = laid.as_ref().map_or_else(Voxels::default, |surface| voxelise(grid, surface));
            }
            moved = true;
        }
        if moved {
            self.hide(grid);
        }
        moved
    }

    /// Be where everything is at `time`, what answers where `skin` says: a step of about `dt`, s, begins here.
    pub fn stand<'a>(&mut self, grid: &Grid, time: f64, dt: f64, skin: impl Fn(SurfaceId) -> Skin<'a>) {
        self.cut_at(grid, time - dt, dt, &skin);
        for body in &mut self.bodies {
            body.previous = body.pose;
            if let Mover::Scripted(motion) = &body.drive {
                body.velocity = motion.velocity(time, dt);
            }
            if let Distance::Deforming(deforming) = &mut body.distance {
                deforming.stay();
            }
        }
    }

    /// Speed of the fastest point of any body over the step from `time` to `time + dt`, m/s (an upper bound), and the name of that
    /// body; those that have left the domain do not count.
    pub fn fastest(&self, time: f64, dt: f64) -> Option<(f64, &str)> {
        let speed = |body: &Body| {
            let velocity = match &body.drive {
                Mover::Scripted(motion) if motion.is_static() => return 0.0,
                Mover::Scripted(motion) => motion.velocity(time, dt),
                Mover::Answers => body.velocity,
            };
            match body.deforming() {
                Some(deforming) => deforming.velocities.iter().map(|v| v.length()).fold(0.0, f64::max),
                None => velocity.linear.length() + velocity.angular.length() * body.radius,
            }
        };
        let there = self.bodies.iter().filter(|body| body.is_there);
        there.map(|body| (speed(body), &body.name[..])).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Where pressure acts on surfaces: cells, and areas outwards, m²; without those that are met otherwise.
    pub(super) fn areas(&self, is_met: impl Fn(SurfaceId) -> bool) -> impl Iterator<Item = (usize, DVec3)> {
        let others = self.numbered().filter(move |(surface, body)| body.is_there && !is_met(*surface));
        others.flat_map(|(_, body)| body.exposed().map(|polygon| (polygon.cell, polygon.area)))
    }

    /// What a surface is called.
    pub(super) fn name(&self, surface: SurfaceId) -> &str {
        &self.body(surface).name
    }

    /// One of the bodies.
    pub(super) fn body(&self, surface: SurfaceId) -> &Body {
        &self.bodies[surface.0 as usize]
    }

    fn numbered(&self) -> impl Iterator<Item = (SurfaceId, &Body)> {
        self.bodies.iter().enumerate().map(|(n, body)| (SurfaceId(n as u32), body))
    }

    /// The surfaces near a point of `own`, those of all other solids: within `reach`, m.
    pub(super) fn near(&self, dx: f64, own: SurfaceId, at: DVec3, reach: f64) -> Vec<Near> {
        let of_body = |(surface, body): (SurfaceId, &Body)| {
            let local = body.pose.invert(at);
            if surface == own || !body.is_there || local.length() > body.radius + reach {
                return None;
            }
            let distance = body.skin_distance(dx, local);
            let normal = || body.pose.rotation * body.outwards(local, dx);
            (distance < reach).then(|| Near { surface, distance, normal: normal() })
        };
        self.numbered().filter_map(of_body).collect()
    }

    /// Solids that are obstacles within `reach` of a point at `time`, how far they are from it, m, and where away from them is.
    pub(super) fn obstacles_near(&self, dx: f64, at: DVec3, reach: f64, time: f64) -> Vec<(usize, f64, DVec3)> {
        let of_body = |(n, body): (usize, &Body)| {
            let Mover::Scripted(motion) = &body.drive else { return None };
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

    /// Corners of bodies that answer and keep their shape, if they may be within `reach`, m, of another surface.
    pub(super) fn corners_near(&self, surface: SurfaceId, reach: f64) -> Vec<(SurfaceId, DVec3)> {
        let other = self.body(surface);
        let centre = other.pose.position;
        let near = |at: &DVec3| at.distance(centre) < other.radius + reach;
        let of_body = |(n, body): (SurfaceId, &Body)| {
            let is_near = body.pose.position.distance(centre) < other.radius + body.radius + reach;
            let corners = body.surface.vertices.iter().take(if is_near { usize::MAX } else { 0 });
            corners.map(|v| body.pose.apply(*v)).filter(near).map(|at| (n, at)).collect::<Vec<_>>()
        };
        let keeps_shape = |body: &Body| matches!(body.drive, Mover::Answers) && body.deforming().is_none();
        self.numbered().filter(|(_, body)| body.is_there && keeps_shape(body)).flat_map(of_body).collect()
    }

    /// How a surface moves at a point near it, m/s, as the fluid sees it: along a ball fluid slips, however that spins.
    pub fn velocity_at(&self, surface: SurfaceId, at: DVec3) -> DVec3 {
        let body = self.body(surface);
        match (body.deforming(), &body.meets) {
            (Some(deforming), _) => deforming.velocity_at(body.pose.invert(at)),
            (None, Meets::Ball) => body.velocity.linear,
            (None, Meets::CutCells | Meets::Faces(_)) => body.velocity.at(at),
        }
    }

    /// How fast a face of the grid goes along its axis that a surface all but closes or takes along, m/s: as `interface::point_at`.
    pub fn face_velocity(&self, grid: &Grid, surface: SurfaceId, axis: Axis, index: usize) -> f64 {
        let body = self.body(surface);
        let crossing = body.voxels().and_then(|voxels| voxels.crossing(axis, index));
        let velocity = match (body.deforming(), crossing) {
            (Some(deforming), Some(crossing)) => deforming.velocity_of(crossing.triangle, crossing.weights),
            _ => self.velocity_at(surface, grid.face_at(axis, index)),
        };
        velocity[axis.index()]
    }

    /// Which part of a body is beyond open sides of the domain, roughly: that of the width of a ball around it.
    pub fn share_beyond(&self, grid: &Grid, walls: [[Wall; 2]; 3], surface: SurfaceId) -> f64 {
        let solid = self.body(surface);
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

    /// The time from `time` to `time + dt`, s, and how far the fastest body goes in it.
    pub fn span(&self, grid: &Grid, time: f64, dt: f64) -> TimeSpan {
        let solid_reach = self.fastest(time, dt).map_or(0.0, |(speed, _)| speed) * dt / grid.dx;
        TimeSpan { time, dt, solid_reach }
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

    /// Surfaces in world space; of elastic bodies without the vertices inside.
    pub fn surfaces(&self, time: f64) -> Vec<SolidSurface> {
        let place = |body: &Body| {
            let (pose, velocity) = match &body.drive {
                Mover::Scripted(motion) => (motion.pose(time), motion.velocity(time, INSTANT)),
                Mover::Answers => (body.pose, body.velocity),
            };
            // What has left stays where it was last seen.
            let velocity = if body.is_there { velocity } else { RigidVelocity::REST };
            let mut mesh = body.surface.posed(&pose);
            let velocities = match body.deforming() {
                Some(deforming) => {
                    let used = mesh.used_vertices();
                    mesh.drop_unused_vertices();
                    let used = deforming.velocities.iter().zip(used).filter(|(_, is_used)| *is_used);
                    used.map(|(v, _)| if body.is_there { *v } else { DVec3::ZERO }).collect()
                }
                None => mesh.vertices.iter().map(|&vertex| velocity.at(vertex)).collect(),
            };
            SolidSurface { name: body.name.clone(), mesh, velocities }
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
            match (body.voxels(), &body.drive) {
                (Some(_), _) => cells.add_volume(&body.cut),
                (None, Mover::Scripted(_)) => {
                    cells.add(&body.cut, |polygon| body.velocity.at(polygon.centroid));
                    for polygon in body.hidden() {
                        cells.solid_flux.data[polygon.cell] -= body.velocity.at(polygon.centroid).dot(polygon.area);
                    }
                }
                (None, Mover::Answers) => cells.add(&body.cut, |_| DVec3::ZERO),
            }
            body.shorten(grid, &mut distance);
        }
        let constrained = self.constrain(grid, &mut cells);
        let nearest = |p: DVec3| {
            let distance = |(_, body): &(SurfaceId, &Body)| body.distance_at(p).abs();
            let there = self.numbered().filter(|(_, body)| body.is_there);
            let nearest = there.min_by(|a, b| distance(a).total_cmp(&distance(b)));
            let Some((surface, body)) = nearest else { return (DVec3::ZERO, None) };
            (body.velocity.at(p), matches!(body.drive, Mover::Answers).then_some(surface))
        };
        Boundary::new(grid, walls, Some(SolidCells { cells, distance, constrained }), nearest)
    }

    /// Close what lies within bodies that meet the fluid at faces; the faces that they take along.
    fn constrain(&self, grid: &Grid, cells: &mut CutCells) -> Vec<BodyFace> {
        let voxels = || self.numbered().filter_map(|(n, body)| Some((n, body.voxels()?)));
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
            faces.extend(voxels.separated.iter().filter_map(|&SeparatedFace { axis, index, .. }| {
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
            let centre = match &body.drive {
                Mover::Scripted(_) => body.pose.position,
                Mover::Answers => body.velocity.centre,
            };
            for polygon in body.exposed() {
                let push = -rho * grid.dx * p.data[polygon.cell] * polygon.area;
                impulse += push;
                torque_impulse += (polygon.centroid - centre).cross(push);
            }
            BodyImpulse {
                name: body.name.clone(),
                kind: body.kind,
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

impl Mover {
    fn is_static(&self) -> bool {
        matches!(self, Self::Scripted(motion) if motion.is_static())
    }
}

/// How a surface that answers is at the start.
fn skin_of<'a>(form: Form, surface: SurfaceId, skin: &impl Fn(SurfaceId) -> Skin<'a>) -> Option<Skin<'a>> {
    match form {
        Form::Scripted { .. } => None,
        Form::Posed { .. } | Form::Deforming { .. } => Some(skin(surface)),
    }
}

impl Body {
    /// A body that keeps its shape.
    fn posed(
        name: &str,
        kind: &'static str,
        drive: Mover,
        shape: &Shape,
        interface: Interface,
        place: Place,
        grid: &Grid,
    ) -> Self {
        let surface = shape.surface(MAX_EDGE * grid.dx);
        let Place { pose, velocity, is_there } = place;
        let (cut, volume) = (cut_laid(grid, &surface.posed(&pose)), surface.volume());
        let meets = match (interface, shape, &drive) {
            (Interface::Faces, ..) => Meets::Faces(voxelise(grid, &surface.posed(&pose))),
            (Interface::CutCells, Shape::Sphere { .. }, Mover::Answers) => Meets::Ball,
            (Interface::CutCells, ..) => Meets::CutCells,
        };
        Self {
            name: name.to_owned(),
            kind,
            distance: match shape {
                Shape::Mesh(_) if !drive.is_static() => {
                    Distance::Sampled(SampledDistance::new(shape, grid.dx, BAND * grid.dx))
                }
                shape => Distance::Exact(SignedDistance::new(shape)),
            },
            skin: None,
            radius: surface.vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
            volume,
            displaced: if grid.has_flat_axis() { cut.volume(grid) } else { volume },
            cut,
            hidden: None,
            meets,
            surface,
            previous: pose,
            pose,
            velocity,
            is_there,
            drive,
        }
    }

    /// Be ready to keep particles out, if its shape is a mesh.
    fn sample_skin(&mut self, shape: &Shape, grid: &Grid) {
        if let Shape::Mesh(_) = shape {
            let samples = SampledDistance::new(shape, SKIN_SAMPLE * grid.dx, SKIN_BAND * grid.dx);
            self.skin = Some((samples, SignedDistance::new(shape)));
        }
    }

    /// Be there now, and move so.
    fn take(&mut self, skin: Skin) {
        match skin {
            Skin::Posed(Place { pose, velocity, is_there }) => {
                (self.pose, self.velocity, self.is_there) = (pose, velocity, is_there);
            }
            Skin::Deforming { .. } => self.take_shape(skin),
        }
    }

    /// Where it is now is where the next step begins; its shape is to be told next.
    fn begin_step(&mut self) {
        self.previous = self.pose;
        if let Distance::Deforming(deforming) = &mut self.distance {
            let Deforming { before, now, .. } = &mut **deforming;
            std::mem::swap(before, now);
        }
    }

    /// Of a body that changes its shape.
    fn deforming(&self) -> Option<&Deforming> {
        match &self.distance {
            Distance::Deforming(deforming) => Some(deforming),
            Distance::Exact(_) | Distance::Sampled(_) => None,
        }
    }

    /// Of a body that meets the fluid at faces.
    pub(super) fn voxels(&self) -> Option<&Voxels> {
        match &self.meets {
            Meets::Faces(voxels) => Some(voxels),
            Meets::CutCells | Meets::Ball => None,
        }
    }

    /// The surface in cut cells.
    fn polygons(&self) -> &[CutPolygon] {
        if self.voxels().is_some() { &[] } else { &self.cut.polygons }
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

    /// A point in one of its triangles, in the world; `weights` are found from the corners.
    pub(super) fn point(&self, triangle: u32, at: DVec3, weights: impl FnOnce([DVec3; 3]) -> [f64; 3]) -> Point {
        let vertices = self.surface.triangles[triangle as usize];
        let places = vertices.map(|v| self.pose.apply(self.surface.vertices[v as usize]));
        let weights = weights(places);
        Point { at, corners: std::array::from_fn(|c| (vertices[c], places[c], weights[c])) }
    }

    /// Where it is, m.
    pub(super) fn centre(&self) -> DVec3 {
        self.pose.position
    }

    /// The corners of its triangles: numbers, and places in the world, m.
    pub(super) fn triangles(&self) -> impl Iterator<Item = [(u32, DVec3); 3]> {
        let place = |v: u32| (v, self.pose.apply(self.surface.vertices[v as usize]));
        self.surface.triangles.iter().map(move |triangle| triangle.map(place))
    }

    /// Vertices in its own frame, m.
    #[cfg(test)]
    pub(super) fn vertices(&self) -> &[DVec3] {
        &self.surface.vertices
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
            Distance::Deforming(deforming) => deforming.now.at(local),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solid::RigidBody;

    /// Black boxes try other places from the same start: what was tried leaves no trace, and the step begins where it began.
    #[test]
    fn places_that_were_tried_are_forgotten() {
        let (grid, dt) = (Grid::new([12; 3], 0.1, DVec3::ZERO), 0.1);
        let body = RigidBody::new("box", Shape::Box { size: DVec3::splat(0.31) }, 500.0);
        let at = |x: f64| {
            let pose = Pose { position: DVec3::new(x, 0.63, 0.61), ..Pose::IDENTITY };
            Skin::Posed(Place {
                pose,
                velocity: RigidVelocity { centre: pose.position, ..RigidVelocity::REST },
                is_there: true,
            })
        };
        let [mut once, mut tried] = [0; 2].map(|_| Immersed::new(&[body.outline()], |_| at(0.4), &grid, dt, true));
        once.advance(&grid, 0.0, dt, |_| at(0.6));
        tried.advance(&grid, 0.0, dt, |_| at(0.8));
        let drawn_along = |immersed: &Immersed| {
            let point = DVec3::new(0.6, 0.63, 0.61);
            immersed.keep_out(&grid, Way::OverStep, point, point)
        };
        assert!(tried.bodies[0].cut != once.bodies[0].cut && drawn_along(&tried) != drawn_along(&once));
        tried.cut_at(&grid, 0.0, dt, |_| at(0.6));
        assert!(tried.bodies[0].cut == once.bodies[0].cut);
        assert_eq!(tried.bodies[0].previous.position.x, 0.4);
        assert_eq!(drawn_along(&tried), drawn_along(&once));
    }
}
