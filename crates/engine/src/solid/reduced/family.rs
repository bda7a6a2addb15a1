//! Reduced bodies as a family of solids: what the world asks of them.

use super::basis::Basis;
use super::body::{ReducedBody, ReducedState};
use super::drive::Drive;
use super::modes::Modes;
use crate::geometry::{Bounds, Pose, Shape, SurfaceId};
use crate::solid::elastic::{Elastic, ElasticError};
use crate::solid::{
    Attached, Family, Follow, Form, Freedoms, Interface, Outline, Place, Pushed, Response, Skin, Toucher,
};
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// An elastic body that moves in a few modes only, and its copies.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// What it is, in every other respect.
    pub elastic: Elastic,
    /// How many modes it has, besides dilation and those that have the same frequency as the last; without any it is rigid.
    pub modes: usize,
    /// What makes it swim.
    pub drives: Vec<Drive>,
    /// The bodies that there are of it.
    pub copies: Vec<BodyCopy>,
}

/// One of several bodies of the same shape.
#[derive(Clone, Debug)]
pub struct BodyCopy {
    /// Unique name.
    pub name: String,
    /// Where it is at the start, from the place that its shape is given at.
    pub place: Pose,
    /// At the start, m/s.
    pub velocity: DVec3,
    /// At the start: world axis times rad/s.
    pub angular_velocity: DVec3,
    /// How far its drives are ahead, in periods.
    pub phase: f64,
}

/// All reduced bodies of a scene.
pub struct ReducedBodies {
    bodies: Vec<ReducedMember>,
    /// Where bodies may be, m.
    room: Bounds,
}

/// What its surface does.
#[derive(Clone)]
enum Contour {
    /// Without modes it keeps its shape, in its own frame.
    Kept(Shape),
    Deforming,
}

struct ReducedMember {
    name: String,
    interface: Interface,
    body: ReducedBody,
    contour: Contour,
    /// Vertices of the surface that may touch something.
    movable: Arc<Vec<u32>>,
    /// Vertices as the scene has them, m.
    start: Vec<DVec3>,
    drives: Arc<Vec<Drive>>,
    /// See [`BodyCopy::phase`].
    phase: f64,
}

impl Reduced {
    /// A body of some modes.
    pub fn new(elastic: Elastic, modes: usize) -> Self {
        let (velocity, angular_velocity) = (elastic.velocity, elastic.angular_velocity);
        let (name, place) = (elastic.name.clone(), Pose::IDENTITY);
        let copies = vec![BodyCopy { name, place, velocity, angular_velocity, phase: 0.0 }];
        Self { elastic, modes, drives: Vec::new(), copies }
    }

    fn held(&self) -> Vec<usize> {
        self.elastic.holds.iter().flat_map(|hold| hold.vertices.iter().copied()).collect()
    }

    /// Its modes; nothing moves along `flat` axes.
    pub fn lowest(&self, flat: [bool; 3]) -> Result<Modes, ElasticError> {
        let Elastic { rest, material, .. } = &self.elastic;
        material.check()?;
        Modes::lowest(rest, material.poisson_ratio, &self.held(), flat, self.modes)
    }

    /// Its basis.
    pub fn basis(&self, flat: [bool; 3]) -> Result<Basis, ElasticError> {
        Ok(Basis::new(&self.elastic.rest, &self.held(), flat, &self.lowest(flat)?))
    }

    /// A copy at the start.
    pub fn body(&self, basis: Arc<Basis>, copy: &BodyCopy) -> ReducedBody {
        let Elastic { material, stretch, .. } = &self.elastic;
        let mut body = ReducedBody::new(basis, *material);
        body.state.position = copy.place.apply(body.state.position);
        body.state.rotation = copy.place.rotation;
        if *stretch != DVec3::ONE {
            body.state.shape = body.basis.nearest(*stretch);
        }
        body.take_shape();
        if !body.basis.is_held {
            body.state.velocity = body.basis.sliding * copy.velocity;
            body.set_spin(copy.angular_velocity);
        }
        body
    }
}

impl ReducedBodies {
    /// Those of a scene, within `room`; nothing moves along `flat` axes. A refusal comes with the name of the body.
    pub fn new(described: &[Reduced], flat: [bool; 3], room: Bounds) -> Result<Self, (String, ElasticError)> {
        let mut bodies = Vec::new();
        for reduced in described {
            let Elastic { name, interface, rest, .. } = &reduced.elastic;
            let basis = Arc::new(reduced.basis(flat).map_err(|source| (name.clone(), source))?);
            let contour = match basis.count {
                0 => Contour::Kept(Shape::Mesh(Arc::new(basis.surface.clone()))),
                _ => Contour::Deforming,
            };
            let movable: Arc<Vec<u32>> =
                Arc::new((0..basis.held.len()).filter(|&v| !basis.held[v]).map(|v| v as u32).collect());
            let drives = Arc::new(reduced.drives.clone());
            for copy in &reduced.copies {
                bodies.push(ReducedMember {
                    drives: drives.clone(),
                    phase: copy.phase,
                    name: copy.name.clone(),
                    interface: *interface,
                    body: reduced.body(basis.clone(), copy),
                    contour: contour.clone(),
                    movable: movable.clone(),
                    start: basis.vertices.iter().map(|&v| copy.place.apply(rest.vertices[v as usize])).collect(),
                });
            }
        }
        Ok(Self { bodies, room })
    }

    fn active(&self) -> impl Iterator<Item = (usize, &ReducedMember)> {
        self.bodies.iter().enumerate().filter(|(_, member)| member.body.state.active)
    }

    /// The body of a unit, as [`Family::freedoms`] gives them.
    fn unit(&mut self, unit: usize) -> &mut ReducedBody {
        let solid = self.active().nth(unit).expect("its freedoms were given").0;
        &mut self.bodies[solid].body
    }
}

impl ReducedMember {
    /// Its shape at rest at a time, s: q, m.
    fn rest(&self, time: f64) -> Vec<f64> {
        let of_mode = |k: usize| {
            let own = self.drives.iter().filter(|drive| drive.mode == k);
            own.map(|drive| drive.at(time, self.phase)).sum()
        };
        let mut rest: Vec<f64> = (0..self.body.basis.count).map(of_mode).collect();
        // Muscles fold nothing either.
        while !self.body.basis.is_fit(&rest, [1.0; 2]) {
            rest.iter_mut().for_each(|q| *q *= 0.8);
        }
        rest
    }

    /// N of its surface.
    fn follow(&self) -> Follow {
        let (body, centre) = (&self.body, self.body.state.position);
        let count = body.basis.count;
        if count == 0 {
            return Follow::Rigid { centre };
        }
        Follow::Reduced { centre, columns: count, directions: body.directions() }
    }
}

/// Freedoms come in threes.
fn padded(count: usize) -> usize {
    count.next_multiple_of(3)
}

impl Family for ReducedBodies {
    fn outlines(&self) -> Vec<Outline<'_>> {
        let outlines = self.bodies.iter().map(|member| {
            let interface = member.interface;
            let form = match &member.contour {
                Contour::Kept(shape) => Form::Posed { shape, interface },
                Contour::Deforming => Form::Deforming { surface: &member.body.basis.surface, interface },
            };
            Outline { name: &member.name, kind: "reduced", form }
        });
        outlines.collect()
    }

    fn skin(&self, solid: usize) -> Skin<'_> {
        let ReducedMember { body, contour, .. } = &self.bodies[solid];
        let (whole, is_there) = (body.whole(), body.state.active);
        match contour {
            Contour::Kept(_) => Skin::Posed(Place { pose: body.pose(), velocity: whole, is_there }),
            Contour::Deforming => Skin::Deforming {
                positions: &body.positions,
                velocities: &body.velocities,
                whole,
                volume: body.volume(),
                is_there,
            },
        }
    }

    fn advance(&mut self, _time: f64, dt: f64) {
        let room = self.room;
        for ReducedMember { body, .. } in self.bodies.iter_mut().filter(|member| member.body.state.active) {
            body.advance(dt);
            let all = Bounds::of(&body.positions);
            let is_beyond = |a: usize| all.max[a] < room.min[a] || all.min[a] > room.max[a];
            body.state.active = !(0..3).any(|a| body.basis.sliding[a] != 0.0 && is_beyond(a));
        }
    }

    fn predict(&mut self, time: f64, dt: f64, gain: &dyn Fn(usize, f64) -> DVec3) {
        for (solid, member) in self.bodies.iter_mut().enumerate().filter(|(_, member)| member.body.state.active) {
            // Over the step to come: velocities move bodies then.
            let rest = member.rest(time + 2.0 * dt);
            let body = &mut member.body;
            body.predict(dt, gain(solid, body.material.density) / dt, &rest);
        }
    }

    fn freedoms(&self, surfaces: &[SurfaceId], dt: f64) -> Vec<Freedoms> {
        let unit = |(solid, member): (usize, &ReducedMember)| {
            let body = &member.body;
            let (own, n) = (body.freedoms(), padded(body.freedoms()));
            let mut velocity = body.motion();
            velocity.resize(n, 0.0);
            let mut matrix = vec![0.0; n * n];
            let response = body.response(dt);
            for (row, own) in matrix.chunks_exact_mut(n).zip(response.chunks_exact(own)) {
                row[..own.len()].copy_from_slice(own);
            }
            let scale = (0..n).map(|i| matrix[n * i + i]).collect();
            let attached = Attached { surface: surfaces[solid], first: 0, follow: member.follow(), joined: Vec::new() };
            Freedoms { surfaces: vec![attached], velocity, response: Response::Dense { matrix, scale } }
        };
        self.active().map(unit).collect()
    }

    fn take(&mut self, unit: usize, pushed: &Pushed) {
        self.unit(unit).add_motion(&pushed.change);
    }

    fn remember(&mut self, unit: usize, pushed: &Pushed, dt: f64) {
        self.unit(unit).remember(&pushed.impulse, dt);
    }

    fn expect(&mut self, part: f64, dt: f64) {
        for ReducedMember { body, .. } in self.bodies.iter_mut().filter(|member| member.body.state.active) {
            body.expect(part * dt, dt);
        }
    }

    fn touchers(&self) -> Vec<Toucher<'_>> {
        let toucher = |(solid, _)| {
            let ReducedMember { body, movable, start, .. } = &self.bodies[solid];
            Toucher { solid, vertices: movable, positions: &body.positions, velocities: &body.velocities, start }
        };
        self.active().map(toucher).collect()
    }

    fn longest_step(&self, dx: f64) -> f64 {
        self.active().map(|(_, member)| member.body.longest_step(dx)).fold(f64::INFINITY, f64::min)
    }

    fn state(&self) -> Vec<f64> {
        let of_body = |member: &ReducedMember| {
            let ReducedState { position, rotation, velocity, angular_momentum, .. } = &member.body.state;
            let ReducedState { shape, rates, thrown, force, active, .. } = &member.body.state;
            let whole = [position, velocity, angular_momentum].into_iter().flat_map(|v| v.to_array());
            let first: Vec<f64> = whole.chain(rotation.to_array()).chain([f64::from(u8::from(*active))]).collect();
            [&first, shape, rates, thrown, force].into_iter().flatten().copied().collect::<Vec<f64>>()
        };
        self.bodies.iter().flat_map(of_body).collect()
    }

    fn restore(&mut self, state: &[f64]) -> Result<(), String> {
        let mut rest = state;
        let mut states = Vec::new();
        for ReducedMember { body, name, .. } in &self.bodies {
            let count = body.basis.count;
            let (own, others) =
                rest.split_at_checked(14 + 3 * count + 6 + count).ok_or(format!("too short for {name:?}"))?;
            rest = others;
            let rotation = DQuat::from_slice(&own[9..]);
            if (rotation.length() - 1.0).abs() > 1e-6 {
                return Err(format!("{name:?}: a rotation of length {}", rotation.length()));
            }
            let numbers = |first: usize, count: usize| own[first..first + count].to_vec();
            states.push(ReducedState {
                position: DVec3::from_slice(own),
                velocity: DVec3::from_slice(&own[3..]),
                angular_momentum: DVec3::from_slice(&own[6..]),
                rotation,
                active: own[13] != 0.0,
                shape: numbers(14, count),
                rates: numbers(14 + count, count),
                thrown: numbers(14 + 2 * count, count),
                force: numbers(14 + 3 * count, 6 + count),
            });
        }
        if !rest.is_empty() {
            return Err(format!("{} numbers too many", rest.len()));
        }
        for (ReducedMember { body, .. }, state) in self.bodies.iter_mut().zip(states) {
            if body.state != state {
                body.state = state;
                body.take_shape();
            }
        }
        Ok(())
    }

    fn energy(&self, solid: usize) -> Option<[f64; 2]> {
        let body = &self.bodies[solid].body;
        Some([body.arrived, body.elastic_energy()])
    }

    fn rotation(&self, solid: usize) -> Option<DQuat> {
        Some(self.bodies[solid].body.state.rotation)
    }
}
