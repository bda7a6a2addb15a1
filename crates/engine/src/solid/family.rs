//! Kinds of solids that the engine does not know: all that one has to tell about them to be moved by the fluid.
//!
//! A family is its own integrator, with whatever holds its solids together. Over a step the world asks it, in this order, to
//!
//! 1. [`advance`](Family::advance): move on with the velocities it has,
//! 2. [`predict`](Family::predict): v → v*, everything but the fluid's pressure,
//! 3. [`freedoms`](Family::freedoms): tell N, v* and M̂⁻¹, which the coupled solve puts into the pressure system,
//! 4. [`take`](Family::take): change its velocities by what the fluid did.
//!
//! Elastic bodies run into its surfaces as into obstacles that move; rigid ones do not see them. Surfaces that are to run into others by themselves are its
//! [`touchers`](Family::touchers).

use super::{Freedoms, Outline, Pushed, Skin};
use crate::geometry::SurfaceId;
use glam::{DQuat, DVec3};

/// A surface that changes its shape and touches with its vertices whatever is near.
#[derive(Clone, Copy, Debug)]
pub struct Toucher<'a> {
    /// Which solid of its family.
    pub solid: usize,
    /// The vertices that count.
    pub vertices: &'a [u32],
    /// Where all vertices are, m.
    pub positions: &'a [DVec3],
    /// How they move, m/s.
    pub velocities: &'a [DVec3],
    /// Where they were at first, m: what was beyond a side of the domain is meant to be there.
    pub start: &'a [DVec3],
}

/// Solids of one kind.
pub trait Family: Send + Sync {
    /// The solids as they are put into the fluid, always in the same order.
    fn outlines(&self) -> Vec<Outline<'_>>;

    /// Where the surface of one of them is now, and how it moves.
    fn skin(&self, solid: usize) -> Skin<'_>;

    /// x ← x + Δt v from `time` on, s.
    fn advance(&mut self, time: f64, dt: f64);

    /// v → v* over a step of `dt`, s. `gain` tells by how much (m/s) a solid of some density (kg/m³) becomes faster by its weight.
    fn predict(&mut self, time: f64, dt: f64, gain: &dyn Fn(usize, f64) -> DVec3);

    /// N, v* and M̂⁻¹ of what moves as one; the surfaces of the solids are these, in the order of the outlines.
    fn freedoms(&self, surfaces: &[SurfaceId], dt: f64) -> Vec<Freedoms>;

    /// v ← v* + M̂⁻¹ impulse of one of these.
    fn take(&mut self, unit: usize, pushed: &Pushed);

    /// All that changes from step to step: what a checkpoint must keep.
    fn state(&self) -> Vec<f64>;

    /// Go on from there; what is no state of this family is told in words, and nothing changes.
    fn restore(&mut self, state: &[f64]) -> Result<(), String>;

    /// Remember what the fluid did to one of the units over a step of `dt`, s, for [`expect`](Family::expect).
    fn remember(&mut self, _unit: usize, _pushed: &Pushed, _dt: f64) {}

    /// Be pushed as by the fluid in the last step, over `part` of a step of `dt`, s; a negative part takes that back. Contact asks for it: what is pressed to something should
    /// not be found to leave it.
    fn expect(&mut self, _part: f64, _dt: f64) {}

    /// The surfaces that run into others.
    fn touchers(&self) -> Vec<Toucher<'_>> {
        Vec::new()
    }

    /// The longest step from here, s, on a grid of cells of `dx`, m, in which nothing runs through others or changes its shape by much.
    fn longest_step(&self, _dx: f64) -> f64 {
        f64::INFINITY
    }

    /// How a solid is turned, if its place does not tell.
    fn rotation(&self, _solid: usize) -> Option<DQuat> {
        None
    }

    /// Kinetic and stored energy of a solid, J, if it knows them.
    fn energy(&self, _solid: usize) -> Option<[f64; 2]> {
        None
    }
}
