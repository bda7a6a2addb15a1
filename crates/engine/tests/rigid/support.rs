//! Scenes of a few bodies.

use bathtub_engine::geometry::{Bounds, Pose, Shape};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Joint, Mass, RigidBody, RigidState, Rigids, Room};
use bathtub_engine::solid::{Motion, Obstacle};
use glam::{DQuat, DVec3};

/// Standard gravity, m/s².
pub const G: f64 = 9.81;

/// Nothing near, weightless.
pub fn space() -> Room {
    let bounds = Bounds { min: DVec3::splat(-1e3), max: DVec3::splat(1e3) };
    Room { bounds, dx: 0.1, closed: [[false; 2]; 3], flat: [false; 3], gravity: DVec3::ZERO, rho: 0.0 }
}

/// A floor at y = 0, under gravity.
pub fn floor() -> Room {
    let bounds = Bounds { min: DVec3::new(-1e3, 0.0, -1e3), max: DVec3::splat(1e3) };
    let closed = [[false; 2], [true, false], [false; 2]];
    Room { bounds, closed, gravity: DVec3::new(0.0, -G, 0.0), ..space() }
}

/// A body of 1 kg at rest.
pub fn body(name: &str, shape: Shape, position: DVec3) -> RigidBody {
    RigidBody {
        name: name.into(),
        shape,
        interface: Interface::CutCells,
        mass: Mass::Total(1.0),
        pose: Pose { position, rotation: DQuat::IDENTITY },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }
}

/// A cube.
pub fn cube(edge: f64) -> Shape {
    Shape::Box { size: DVec3::splat(edge) }
}

/// A solid that never moves.
pub fn still(name: &str, shape: Shape, pose: Pose) -> Obstacle {
    Obstacle { name: name.into(), shape, motion: Motion::Static(pose) }
}

/// Bodies, their state and the clock.
pub struct Scene {
    pub rigids: Rigids,
    pub state: RigidState,
    pub time: f64,
}

impl Scene {
    pub fn new(bodies: &[RigidBody], joints: &[Joint], obstacles: &[Obstacle], room: Room) -> Self {
        let (rigids, state) = Rigids::new(bodies, joints, obstacles, room).unwrap();
        Self { rigids, state, time: 0.0 }
    }

    /// Forces first, then motion.
    pub fn step(&mut self, dt: f64) {
        self.rigids.predict(&mut self.state, self.time, dt);
        self.rigids.advance(&mut self.state, self.time, dt).unwrap();
        self.time += dt;
    }

    pub fn position(&self, body: usize) -> DVec3 {
        self.state.bodies[body].position
    }

    /// Σ m v, N s, and Σ x × m v + L, N m s.
    pub fn momentum(&self) -> (DVec3, DVec3) {
        let mut sum = (DVec3::ZERO, DVec3::ZERO);
        for (i, b) in self.state.bodies.iter().enumerate() {
            let p = self.rigids.properties(i).mass * b.velocity;
            sum = (sum.0 + p, sum.1 + b.position.cross(p) + b.angular_momentum);
        }
        sum
    }

    pub fn kinetic_energy(&self) -> f64 {
        (0..self.rigids.len()).map(|i| self.rigids.kinetic_energy(&self.state, i)).sum()
    }
}

/// Random numbers in [−1, 1), the same for the same seed (splitmix64).
pub fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
