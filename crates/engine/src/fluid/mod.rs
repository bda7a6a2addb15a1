//! Fluids: what is carried, what pushes it, and the projection that keeps its volume.

pub mod advect;
pub mod boundary;
pub mod forces;
mod grid_fluid;
mod noise;
pub mod projection;
pub mod smoke;
pub mod water;

use crate::clock::Stages;
use crate::grid::{CellField, FaceField, Grid};
use crate::solve::SolveError;
use boundary::{Boundary, Wall};
use glam::DVec3;
pub(crate) use grid_fluid::GridFluid;
use projection::Projection;
use serde::{Deserialize, Serialize};
use smoke::{Smoke, SmokeParams, SmokeState};
use water::{KeepOut, Water, WaterParams, WaterState};

/// Which fluid fills the domain, and what it is like.
#[derive(Clone, Debug)]
pub enum FluidParams {
    /// Air with smoke in it, everywhere.
    Smoke(SmokeParams),
    /// A liquid with a free surface.
    Water(WaterParams),
}

/// What a fluid carries from step to step, apart from velocity and pressure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FluidState {
    /// Of smoke.
    Smoke(SmokeState),
    /// Of water.
    Water(WaterState),
}

/// A fluid on the grid at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridState {
    /// m/s.
    pub velocity: FaceField,
    /// Pa: the next solve starts from it.
    pub pressure: CellField,
    /// What it carries along.
    pub content: FluidState,
}

/// What moves what a fluid carries.
enum Fluid {
    Smoke(Box<Smoke>),
    Water(Box<Water>),
}

/// What every stage of a step knows.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides and the solids at the end of the step.
    pub boundary: &'a Boundary,
    /// At the start of the step, s.
    pub time: f64,
    /// s.
    pub dt: f64,
    /// Cells that the fastest solid moves in the step.
    pub solid_reach: f64,
}

/// The time of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeSpan {
    /// At its start, s.
    pub time: f64,
    /// s.
    pub dt: f64,
    /// Cells that the fastest solid moves in it.
    pub solid_reach: f64,
}

impl<'a> Step<'a> {
    /// A step over some time.
    pub fn new(grid: &'a Grid, boundary: &'a Boundary, TimeSpan { time, dt, solid_reach }: TimeSpan) -> Self {
        Self { grid, boundary, time, dt, solid_reach }
    }
}

impl FluidParams {
    /// kg/m³.
    pub fn rho(&self) -> f64 {
        match self {
            Self::Smoke(smoke) => smoke.rho,
            Self::Water(water) => water.rho,
        }
    }

    /// Velocity that a free body gains over a step from `time` to `time + dt` (s) by itself, m/s; `displaced` is the mass of the
    /// fluid in its place ÷ its own, `beyond` the share of it beyond open sides.
    ///
    /// Smoke is computed without the weight of the air and the pressure that carries it: what that pressure does to a body
    /// is taken off its weight here. Air beyond an open side is not computed, but a body there still has to move it along, half
    /// of what it displaces, as a ball does: else a light one would leave the domain like a bullet.
    pub fn body_gain(&self, time: f64, dt: f64, displaced: f64, beyond: f64) -> DVec3 {
        match self {
            Self::Smoke(smoke) => {
                let weight = (1.0 - displaced) * smoke.gravity / (1.0 + 0.5 * beyond * displaced);
                dt * (smoke.acceleration + weight)
            }
            Self::Water(water) => water.gain(time, dt),
        }
    }

    /// Velocity that all of the fluid gains over a step from `time` to `time + dt` (s) before pressure answers, m/s: the pressure that
    /// carries it, ρ gain·x ÷ Δt, is known without solving for it.
    pub fn uniform_gain(&self, time: f64, dt: f64) -> DVec3 {
        match self {
            Self::Smoke(smoke) => dt * smoke.acceleration,
            Self::Water(water) => water.gain(time, dt),
        }
    }

    /// Acceleration of what nothing supports, m/s²: a liquid's, where air has no mass.
    pub fn free_fall(&self) -> f64 {
        match self {
            Self::Smoke(_) => 0.0,
            Self::Water(water) => (water.gravity + water.shake.map_or(DVec3::ZERO, |s| s.amplitude)).length(),
        }
    }

    /// Volume that a particle stands for, m³, if there are particles.
    pub fn particle_volume(&self, grid: &Grid) -> Option<f64> {
        match self {
            Self::Smoke(_) => None,
            Self::Water(water) => Some(water.particle_volume(grid)),
        }
    }

    /// Number of sources.
    pub fn sources(&self) -> usize {
        match self {
            Self::Smoke(smoke) => smoke.sources.len(),
            Self::Water(water) => water.sources.len(),
        }
    }

    /// The smoke's parameters, if that is the fluid.
    pub fn smoke_mut(&mut self) -> Option<&mut SmokeParams> {
        match self {
            Self::Smoke(smoke) => Some(smoke),
            Self::Water(_) => None,
        }
    }

    /// The water's parameters, if that is the fluid.
    pub fn water_mut(&mut self) -> Option<&mut WaterParams> {
        match self {
            Self::Smoke(_) => None,
            Self::Water(water) => Some(water),
        }
    }
}

impl FluidState {
    /// The smoke, if that is the fluid.
    pub fn smoke(&self) -> Option<&SmokeState> {
        match self {
            Self::Smoke(smoke) => Some(smoke),
            Self::Water(_) => None,
        }
    }

    /// The water, if that is the fluid.
    pub fn water(&self) -> Option<&WaterState> {
        match self {
            Self::Smoke(_) => None,
            Self::Water(water) => Some(water),
        }
    }
}

impl GridState {
    /// The smoke, if that is the fluid.
    pub fn smoke(&self) -> Option<&SmokeState> {
        self.content.smoke()
    }

    /// The water, if that is the fluid.
    pub fn water(&self) -> Option<&WaterState> {
        self.content.water()
    }
}

/// A fluid never changes its kind.
const ONE_KIND: &str = "a fluid and its state are of the same kind";

impl Fluid {
    pub fn new(params: &FluidParams, grid: &Grid, walls: &[[Wall; 2]; 3]) -> Self {
        match params {
            FluidParams::Smoke(params) => Self::Smoke(Box::new(Smoke::new(params, grid))),
            FluidParams::Water(params) => Self::Water(Box::new(Water::new(params, grid, walls))),
        }
    }

    /// The state at the start of a run; the velocity of its parts goes to the faces.
    pub fn initial(
        &mut self,
        grid: &Grid,
        boundary: &Boundary,
        keep_out: &KeepOut,
        velocity: &mut FaceField,
    ) -> FluidState {
        match self {
            Self::Smoke(_) => FluidState::Smoke(SmokeState::new(grid)),
            Self::Water(water) => FluidState::Water(water.initial(grid, boundary, keep_out, velocity)),
        }
    }

    /// Transport with the velocity of the last step.
    pub fn advect(
        &mut self,
        step: &Step,
        keep_out: &KeepOut,
        projection: &mut Projection,
        now: &GridState,
        next: &mut GridState,
        clock: &mut Stages,
    ) -> Result<(), SolveError> {
        let (from, to) = (&now.velocity, &mut next.velocity);
        match (self, &now.content, &mut next.content) {
            (Self::Smoke(fluid), FluidState::Smoke(now), FluidState::Smoke(next)) => {
                fluid.advect(step, (from, now), (to, next), clock);
                Ok(())
            }
            (Self::Water(fluid), FluidState::Water(now), FluidState::Water(next)) => {
                fluid.advect(step, keep_out, projection, (from, now), (to, next), clock)
            }
            _ => unreachable!("{ONE_KIND}"),
        }
    }

    /// Forces other than the pressure → u*.
    pub fn predict(&mut self, step: &Step, GridState { velocity, content, .. }: &mut GridState) {
        match (self, content) {
            (Self::Smoke(fluid), FluidState::Smoke(smoke)) => fluid.predict(step, velocity, smoke),
            (Self::Water(fluid), FluidState::Water(_)) => fluid.predict(step, velocity),
            _ => unreachable!("{ONE_KIND}"),
        }
    }

    /// After the projection: what the next step needs beyond the fluid, and what the particles carry.
    pub fn finish(
        &mut self,
        step: &Step,
        projection: &mut Projection,
        GridState { velocity, content, .. }: &mut GridState,
        clock: &mut Stages,
    ) -> Result<(), SolveError> {
        match (self, content) {
            (Self::Smoke(fluid), FluidState::Smoke(smoke)) => {
                fluid.extend(step.boundary, velocity, smoke);
                clock.lap("extend");
                Ok(())
            }
            (Self::Water(fluid), FluidState::Water(water)) => fluid.finish(step, projection, velocity, water, clock),
            _ => unreachable!("{ONE_KIND}"),
        }
    }

    /// Volume that sources push into cells, in units of dx², m/s, with the number of the source.
    pub fn pushed(&self, step: &Step) -> Vec<(usize, f64, usize)> {
        match self {
            Self::Smoke(_) => Vec::new(),
            Self::Water(fluid) => fluid.pushed(step),
        }
    }

    /// Fastest that sources make it, m/s.
    pub fn source_speed(&self) -> f64 {
        match self {
            Self::Smoke(fluid) => fluid.source_speed(),
            Self::Water(fluid) => fluid.source_speed(),
        }
    }
}

/// Uniform acceleration of everything in a shaken box, m/s²: `amplitude` sin(2π `frequency` t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shake {
    /// m/s².
    pub amplitude: DVec3,
    /// Hz.
    pub frequency: f64,
}

impl Shake {
    /// Velocity gained from `time` to `time + dt`, m/s: the exact integral.
    pub fn impulse(&self, time: f64, dt: f64) -> DVec3 {
        let omega = std::f64::consts::TAU * self.frequency;
        if omega == 0.0 {
            return DVec3::ZERO;
        }
        self.amplitude * ((omega * time).cos() - (omega * (time + dt)).cos()) / omega
    }
}
