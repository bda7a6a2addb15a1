//! An elastic body as a scene describes it.

use super::{ElasticBody, ElasticError, ElasticState, Material, Pin};
use crate::geometry::{Pose, TetMesh};
use crate::solid::{Interface, Motion};
use glam::DVec3;

/// What an elastic body starts from.
#[derive(Clone, Debug)]
pub struct Elastic {
    /// Unique name, for statistics and output.
    pub name: String,
    /// Shape at rest, where it is at the start.
    pub rest: TetMesh,
    /// What it is made of.
    pub material: Material,
    /// Stretch along each axis about the centre at the start; 1 is the shape at rest.
    pub stretch: DVec3,
    /// At the start, m/s.
    pub velocity: DVec3,
    /// At the start, about the centre: world axis times rad/s.
    pub angular_velocity: DVec3,
    /// How it meets the fluid.
    pub interface: Interface,
    /// Vertices that are held.
    pub holds: Vec<Hold>,
}

/// Vertices that are held, or led along a path.
#[derive(Clone, Debug)]
pub struct Hold {
    /// Their numbers.
    pub vertices: Vec<usize>,
    /// What they are fixed to.
    pub motion: Motion,
}

impl Elastic {
    /// A body at rest in the shape of `rest`.
    pub fn new(name: &str, rest: TetMesh, material: Material) -> Self {
        let (stretch, velocity, angular_velocity) = (DVec3::ONE, DVec3::ZERO, DVec3::ZERO);
        let (interface, holds) = (Interface::default(), Vec::new());
        Self { name: name.into(), rest, material, stretch, velocity, angular_velocity, interface, holds }
    }

    /// The same with these vertices held where they are.
    pub fn hold(mut self, vertices: Vec<usize>) -> Self {
        self.holds.push(Hold { vertices, motion: Motion::Static(Pose::IDENTITY) });
        self
    }

    /// The same with a velocity, m/s.
    pub fn moving(self, velocity: impl Into<DVec3>) -> Self {
        Self { velocity: velocity.into(), ..self }
    }

    /// Where the vertices are at the start, m.
    pub fn start(&self) -> Vec<DVec3> {
        let centre = self.rest.mass_properties().centroid;
        self.rest.vertices.iter().map(|&x| x + (self.stretch - DVec3::ONE) * (x - centre)).collect()
    }

    /// The body at the start; nothing moves along `flat` axes.
    pub fn body(&self, flat: [bool; 3]) -> Result<ElasticBody, ElasticError> {
        let mut body = ElasticBody::new(self.rest.clone(), self.material, flat)?;
        let (centre, positions) = (body.centre(), self.start());
        let velocity = |x: &DVec3| self.velocity + self.angular_velocity.cross(*x - centre);
        let velocities = positions.iter().map(velocity).collect();
        body.restore(&ElasticState { positions, velocities, active: true })?;
        Ok(body)
    }

    /// The body at the start, with the velocity that leads its held vertices on their ways for `first_dt`, s.
    pub fn led(&self, mut body: ElasticBody, first_dt: f64) -> Result<ElasticBody, ElasticError> {
        let mut state = body.state();
        for Pin { vertex, velocity } in self.pins(&state.positions, first_dt, first_dt) {
            state.velocities[vertex] = velocity * body.movable()[vertex];
        }
        body.restore(&state)?;
        Ok(body)
    }

    /// What leads held vertices from their `positions` to where they have to be at `time`, `dt` later, s.
    pub fn pins(&self, positions: &[DVec3], time: f64, dt: f64) -> Vec<Pin> {
        let begun = if self.holds.is_empty() { Vec::new() } else { self.start() };
        let of_hold = |hold: &Hold| {
            let (start, end) = (hold.motion.pose(0.0), hold.motion.pose(time));
            let pin = |&vertex: &usize| {
                let target = end.apply(start.invert(begun[vertex]));
                Pin { vertex, velocity: (target - positions[vertex]) / dt }
            };
            hold.vertices.iter().map(pin).collect::<Vec<_>>()
        };
        self.holds.iter().flat_map(of_hold).collect()
    }
}
