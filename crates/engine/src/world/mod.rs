//! The world: one fluid, its solids, and the step that moves them.

mod account;
mod error;
mod params;
mod restore;
mod solids;

use crate::clock::Stages;
use crate::coupling::Medium;
pub use crate::coupling::immersed::SolidSurface;
use crate::coupling::immersed::{BodyImpulse, Immersed};
use crate::coupling::incompatible::Pushing;
pub use crate::coupling::monolithic::Scheme;
use crate::coupling::monolithic::{CoupleParams, FluidSide, Outcome, SurfacePush, couple, follow};
use crate::fluid::boundary::Boundary;
use crate::fluid::water::{Particles, Way, extend};
use crate::fluid::{FluidParams, FluidState, GridFluid, GridState, Step, TimeSpan};
use crate::grid::{Axis, CellField, unravel};
use crate::report::StepReport;
use crate::solid::rigid::{RigidEvent, RigidWarning};
use crate::solid::{Family, SolidState};
pub use crate::solve::PressureSolver;
use account::account;
pub use error::{BodyError, Fastest, StepError, WorldError};
use glam::DVec3;
pub use params::{CouplingParams, PressureParams, TimeParams, WorldParams};
use rayon::prelude::*;
pub use restore::StateError;
use serde::{Deserialize, Serialize};
use solids::Solids;

/// Everything that changes from step to step, and nothing else: what a checkpoint keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Time, s.
    pub time: f64,
    /// Steps done.
    pub step: u64,
    /// Frames completed: `time` is at or past `frame / fps`.
    pub frame: u64,
    /// The fluid.
    pub fluid: GridState,
    /// The solids that answer.
    pub solids: SolidState,
}

impl State {
    /// A field with a value that is no number, if there is one.
    fn non_finite(&self) -> Option<&'static str> {
        let is_finite = |data: &[f64]| data.par_iter().all(|value| value.is_finite());
        let all = |vectors: &[DVec3]| vectors.par_iter().all(|v| v.is_finite());
        let fields = match &self.fluid.content {
            FluidState::Smoke(smoke) => {
                [("density", is_finite(&smoke.density.data)), ("temperature", is_finite(&smoke.temperature.data))]
            }
            FluidState::Water(water) => [
                ("particle position", all(&water.particles.position)),
                ("particle velocity", all(&water.particles.velocity)),
            ],
        };
        let velocity = ("velocity", self.fluid.velocity.axes.iter().all(|u| is_finite(u)));
        [velocity].into_iter().chain(fields).find_map(|(field, is_finite)| (!is_finite).then_some(field))
    }
}

/// A run in progress.
pub struct World {
    params: WorldParams,
    state: State,
    /// The state being computed; its arrays and those of `state` change places every step.
    next: State,
    solids: Solids,
    immersed: Immersed,
    fluid: GridFluid,
    clock: Stages,
}

impl World {
    /// The fluid as it is at the start, nothing emitted yet; bodies as their description says.
    pub fn new(params: WorldParams) -> Result<Self, WorldError> {
        Self::with(params, Vec::new())
    }

    /// The same, with further kinds of solids.
    pub fn with(params: WorldParams, families: Vec<Box<dyn Family>>) -> Result<Self, WorldError> {
        params.check()?;
        let grid = params.grid;
        let first_dt = params.time.max_dt.min(1.0 / params.time.fps);
        let with_particles = matches!(params.fluid, FluidParams::Water(_));
        let (mut solids, mut solid_state) = Solids::new(&params, families, first_dt)?;
        let skin = |surface| solids.skin(&solid_state.rigid, surface);
        let immersed = Immersed::new(&solids.outlines(&params), skin, &grid, first_dt, with_particles);
        let boundary = immersed.boundary(&grid, params.walls);
        let mut fluid = GridFluid::new(&params.fluid, &grid, params.pressure.solver, boundary);
        let span = immersed.span(&grid, 0.0, first_dt);
        let keep_out = |way: Way, from: DVec3, to: DVec3| immersed.keep_out(&grid, way, from, to);
        let mut start = fluid.initial(&grid, &keep_out);
        let body_velocity = |surface, axis, face| immersed.face_velocity(&grid, surface, axis, face);
        fluid.set_liquid(&grid, &start);
        if let GridState { velocity, pressure, content: FluidState::Water(water) } = &mut start {
            // Particles follow this velocity before the first step has made it keep volume: do it now. Should the
            // solve fail, the first step will say so.
            let side = FluidSide {
                grid: &grid,
                dt: first_dt,
                medium: Medium { liquid: Some(&water.distance), ..Medium::weightless(params.fluid.rho()) },
                immersed: &immersed,
                boundary: &mut fluid.boundary,
                projection: &mut fluid.projection,
                velocity,
                pressure,
                sources: &[],
            };
            let _ =
                solids.answer(&mut solid_state.rigid, first_dt, |sides| follow(side, sides, &params.pressure.params));
            fluid.boundary.set_body_velocity(body_velocity);
            extend(&Step::new(&grid, &fluid.boundary, span), &water.distance, velocity);
            pressure.data.fill(0.0);
        }
        fluid.boundary.set_body_velocity(body_velocity);
        fluid.boundary.impose(&mut start.velocity);
        let state = State { time: 0.0, step: 0, frame: 0, fluid: start, solids: solid_state };
        let (next, clock) = (state.clone(), Stages::default());
        let mut world = Self { params, state, next, solids, immersed, fluid, clock };
        world.find_first_forces(span);
        Ok(world)
    }

    /// What the fluid would do to the bodies in a first step, contact apart: `predict` wants to know. Should the
    /// solve fail, the first step will say so.
    fn find_first_forces(&mut self, span: TimeSpan) {
        if self.solids.is_empty() {
            return;
        }
        self.next.clone_from(&self.state);
        self.fluid.predict((&self.params.grid, span), &mut self.next.fluid);
        self.solids.add_weight(&self.params, &self.immersed, span, &mut self.next.solids.rigid);
        self.solids.rigids.keep_joints(&mut self.next.solids.rigid);
        self.solids.predict_families(&self.params, &self.immersed, span);
        let predicted = self.solids.predict_elastic(&self.params, &self.immersed, span);
        if predicted.is_ok() && self.couple(span).is_ok() {
            self.state.solids.rigid_force.clone_from(&self.next.solids.rigid_force);
            self.state.solids.elastic_force.clone_from(&self.next.solids.elastic_force);
        }
        self.return_to_state();
    }

    /// Put all solids where the state says they are, and open and close the faces around them.
    fn return_to_state(&mut self) {
        let Self { params, state, solids, immersed, fluid, .. } = self;
        let (grid, dt) = (&params.grid, params.time.max_dt.min(1.0 / params.time.fps));
        solids.restore(&state.solids);
        immersed.stand(grid, state.time, dt, |surface| solids.skin(&state.solids.rigid, surface));
        fluid.enclose(grid, immersed.boundary(grid, params.walls));
        fluid.boundary.set_body_velocity(|surface, axis, face| immersed.face_velocity(grid, surface, axis, face));
    }

    /// What was odd about the bodies at the start.
    pub fn warnings(&self) -> &[RigidWarning] {
        self.solids.rigids.warnings()
    }

    /// What the run was started with.
    pub fn params(&self) -> &WorldParams {
        &self.params
    }

    /// The openings of the grid at the current time.
    pub fn boundary(&self) -> &Boundary {
        &self.fluid.boundary
    }

    /// Milliseconds of the stages of the last step.
    pub(crate) fn stages(&self) -> Vec<(String, f64)> {
        self.clock.laps()
    }

    /// Volume that a particle stands for, m³; zero without particles.
    pub fn particle_volume(&self) -> f64 {
        self.params.fluid.particle_volume(&self.params.grid).unwrap_or(0.0)
    }

    /// Share of each cell that particles fill after the last step, if there are particles.
    pub(crate) fn filled(&self) -> Option<&CellField> {
        self.fluid.filled()
    }

    /// What a checkpoint must keep.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The solids' surfaces in world space at the current time.
    pub fn surfaces(&self) -> Vec<SolidSurface> {
        self.immersed.surfaces(self.state.time)
    }

    /// Advance by one step, at most to the next frame. After an error the state is the last good one.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        // On a worker thread, so that the many small loops of the solver need not be handed over one by one.
        rayon::scope(|_| {
            self.clock.restart();
            let done = self.try_step();
            if done.is_err() {
                self.return_to_state();
            }
            done
        })
    }

    fn try_step(&mut self) -> Result<StepReport, StepError> {
        let dt = self.choose_dt()?;
        let events = self.move_solids(dt)?;
        let span = self.immersed.span(&self.params.grid, self.state.time, dt);
        self.advect(span)?;
        self.predict(span)?;
        let coupled = self.couple(span)?;
        self.finish(span)?;
        self.accept(dt, coupled, events)
    }

    /// The longest step within the CFL limit that divides the rest of the frame evenly.
    fn choose_dt(&self) -> Result<f64, StepError> {
        let time = &self.params.time;
        let (speed, place) = self.fastest();
        let way = time.cfl * self.params.grid.dx;
        // What falls freely crosses u Δt + ½ g Δt².
        let fall = self.params.fluid.free_fall();
        let crossing =
            if fall > 0.0 { 2.0 * way / (speed + (speed * speed + 2.0 * fall * way).sqrt()) } else { way / speed };
        let is_strong = self.params.coupling.scheme == Scheme::Monolithic;
        let limit = time.max_dt.min(crossing).min(self.solids.squeezing(
            &self.state.solids.elastic,
            is_strong,
            self.params.grid.dx,
        ));
        let rest = (self.state.frame + 1) as f64 / time.fps - self.state.time;
        // A rest within round-off of a whole number of steps is that number of steps.
        let dt = rest / (rest / limit - 1e-9).ceil().max(1.0);
        if dt < time.min_dt && limit < time.min_dt {
            let (step, gained) = (self.state.step + 1, fall * crossing);
            let (speed, place) = if gained > speed { (gained, Fastest::Falling) } else { (speed, place) };
            return Err(StepError::TimeStepCollapse { step, dt, limit: time.min_dt, speed, place });
        }
        Ok(dt)
    }

    /// Put the solids where they are at the end of the step, and open or close the faces around them.
    fn move_solids(&mut self, dt: f64) -> Result<Vec<RigidEvent>, StepError> {
        let Self { params, state, next, solids, immersed, .. } = self;
        let (grid, time) = (&params.grid, state.time);
        let events = solids
            .advance(params, immersed, immersed.span(grid, time, dt), &state.solids, &mut next.solids)
            .map_err(|source| StepError::Bodies { step: state.step + 1, source })?;
        if immersed.advance(grid, time, dt, |surface| solids.skin(&next.solids.rigid, surface)) {
            self.fluid.enclose(grid, immersed.boundary(grid, params.walls));
        }
        self.clock.lap("solids");
        Ok(events)
    }

    /// Carry the fluid along with the divergence-free velocity of the last step.
    fn advect(&mut self, span: TimeSpan) -> Result<(), StepError> {
        let Self { params, state, next, immersed, fluid, clock, .. } = self;
        let keep_out = |way: Way, from: DVec3, to: DVec3| immersed.keep_out(&params.grid, way, from, to);
        fluid
            .advect((&params.grid, span), &keep_out, &state.fluid, &mut next.fluid, clock)
            .map_err(|source| StepError::Pressure { step: state.step + 1, source })
    }

    /// Everything but pressure: sources and forces → u*; weight, elasticity, contact and joints → v*.
    fn predict(&mut self, span: TimeSpan) -> Result<(), StepError> {
        let Self { params, state, next, solids, immersed, fluid, clock, .. } = self;
        fluid.predict((&params.grid, span), &mut next.fluid);
        let lap = |stage: &str| {
            clock.lap(stage);
        };
        solids
            .predict(params, immersed, span, (&state.solids, &mut next.solids), lap)
            .map_err(|source| StepError::Bodies { step: state.step + 1, source })
    }

    /// The pressure that keeps every cell's volume, found together with what it does to the bodies: u*, v* → u, v.
    fn couple(&mut self, span: TimeSpan) -> Result<Solved, StepError> {
        let Self { params, state, next, solids, immersed, fluid, .. } = self;
        let (grid, rho, number, dt) = (&params.grid, params.fluid.rho(), state.step + 1, span.dt);
        // Pressure is kept in Pa; the projection's p is Δt·pressure/(ρ dx), so that the guess scales with the step.
        let scale = dt / (rho * grid.dx);
        next.fluid.pressure.data.par_iter_mut().zip(&state.fluid.pressure.data).for_each(|(p, old)| *p = old * scale);
        fluid.set_liquid(grid, &next.fluid);
        if params.coupling.scheme == Scheme::DampingOnly {
            solids.drop_elasticity(dt).map_err(|source| StepError::Bodies { step: number, source })?;
        }
        let by_source = fluid.pushed((grid, span));
        let sources: Vec<(usize, f64)> = by_source.iter().map(|&(cell, push, _)| (cell, push)).collect();
        let GridState { velocity, pressure, content } = &mut next.fluid;
        let liquid = content.water().map(|water| &water.distance);
        let side = FluidSide {
            grid,
            dt,
            medium: Medium { rho, liquid, gain: params.fluid.uniform_gain(span.time, dt) },
            immersed,
            boundary: &mut fluid.boundary,
            projection: &mut fluid.projection,
            velocity,
            pressure,
            sources: &sources,
        };
        let PressureParams { params: solve, strict, allow_incompatible, .. } = params.pressure;
        let couple_params = CoupleParams { solve, strict, scheme: params.coupling.scheme };
        let outcome = solids
            .couple(&mut next.solids, dt, |sides| couple(side, sides, &couple_params))
            .map_err(|source| StepError::Pressure { step: number, source })?;
        immersed.place(|surface| solids.skin(&next.solids.rigid, surface));
        if !allow_incompatible {
            let liquid = next.fluid.water().zip(params.fluid.particle_volume(grid));
            let (boundary, led) = (&fluid.boundary, &outcome.led);
            let pushing = Pushing { grid, boundary, immersed, led, sources: &by_source, liquid, dt };
            if let Some(found) = pushing.find(&fluid.projection) {
                return Err(StepError::Incompatible { step: number, found });
            }
        }
        fluid.boundary.set_body_velocity(|surface, axis, face| immersed.face_velocity(grid, surface, axis, face));
        fluid.boundary.impose(&mut next.fluid.velocity);
        let ms = self.clock.lap("pressure");
        let bodies = self.bodies(&outcome.pushes);
        self.next.fluid.pressure.data.par_iter_mut().for_each(|p| *p /= scale);
        Ok(Solved { outcome, bodies, ms })
    }

    /// What the solids are doing after the solve, and what the fluid did to them.
    fn bodies(&self, pushes: &[SurfacePush]) -> Vec<BodyImpulse> {
        let (grid, rho) = (&self.params.grid, self.params.fluid.rho());
        let mut bodies = self.immersed.impulses(grid, rho, &self.next.fluid.pressure);
        for push in pushes {
            let body = &mut bodies[push.surface.0 as usize];
            [body.impulse, body.torque_impulse] = push.impulse;
            body.lift = Some(push.lift).filter(|lift| *lift != [DVec3::ZERO; 2]);
        }
        for (surface, rotation) in self.solids.turned() {
            bodies[surface.0 as usize].pose.rotation = rotation;
        }
        for (surface, energy) in self.solids.energies() {
            bodies[surface.0 as usize].energy = Some(energy);
        }
        bodies
    }

    /// Continue the new fields beyond the fluid, and let the particles have theirs.
    fn finish(&mut self, span: TimeSpan) -> Result<(), StepError> {
        let Self { params, state, next, fluid, clock, .. } = self;
        fluid
            .finish((&params.grid, span), &mut next.fluid, clock)
            .map_err(|source| StepError::Pressure { step: state.step + 1, source })
    }

    /// Check the new state, make it the current one, and account for it.
    fn accept(&mut self, dt: f64, coupled: Solved, events: Vec<RigidEvent>) -> Result<StepReport, StepError> {
        let (params, state, next) = (&self.params, &self.state, &mut self.next);
        next.step = state.step + 1;
        let frame_end = (state.frame + 1) as f64 / params.time.fps;
        // Frames are landed on exactly, whatever the steps add up to.
        let lands = state.time + dt >= frame_end * (1.0 - 1e-12);
        (next.time, next.frame) = if lands { (frame_end, state.frame + 1) } else { (state.time + dt, state.frame) };
        if let Some(quantity) = next.non_finite() {
            return Err(StepError::NonFinite { step: next.step, stage: "the step", quantity });
        }
        std::mem::swap(&mut self.state, &mut self.next);
        Ok(account(self, dt, coupled, events))
    }

    /// The largest velocity component, m/s, of fluid, sources and solids, and what has it.
    fn fastest(&self) -> (f64, Fastest) {
        let Self { params, state, .. } = self;
        let mut found = (self.fluid.source_speed(), Fastest::Source);
        let solid = self.immersed.fastest(state.time, params.time.max_dt.min(1.0 / params.time.fps));
        if let Some((speed, name)) = solid.filter(|(speed, _)| *speed > found.0) {
            found = (speed, Fastest::Solid(name.to_owned()));
        }
        if let Some(water) = state.fluid.water() {
            // What moves are the particles; a face may be faster, where a solid leaves it open by a slit.
            let Particles { position, velocity, .. } = &water.particles;
            let speed = |v: &DVec3| v.abs().max_element();
            let fastest = velocity.par_iter().map(speed).reduce(|| 0.0, f64::max);
            if fastest > found.0 {
                let index = velocity.iter().position(|v| speed(v) == fastest).unwrap_or(0);
                let grid = &params.grid;
                let cell = grid.cell_at(grid.cell_around((position[index] - grid.origin) / grid.dx));
                found = (fastest, Fastest::Cell(cell));
            }
            return found;
        }
        for axis in Axis::ALL {
            let data = &state.fluid.velocity.axes[axis.index()];
            let speed = data.par_iter().map(|u| u.abs()).reduce(|| 0.0, f64::max);
            if speed > found.0 {
                let index = data.iter().position(|u| u.abs() == speed).unwrap_or(0);
                found = (speed, Fastest::Cell(unravel(params.grid.face_dims(axis), index)));
            }
        }
        found
    }
}

/// What the coupled solve hands to the report.
pub(crate) struct Solved {
    pub outcome: Outcome,
    pub bodies: Vec<BodyImpulse>,
    pub ms: f64,
}
