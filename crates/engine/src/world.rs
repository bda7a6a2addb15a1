//! The world: one fluid, its solids, and the step that moves them.

use crate::coupling::obstacles::{BodyImpulse, Obstacles};
use crate::fluid::advect::{Advector, Flow};
use crate::fluid::boundary::{Boundary, Wall};
use crate::fluid::forces::{Confinement, add_buoyancy};
use crate::fluid::projection::{Projected, Projection};
use crate::fluid::smoke::{Emitter, SmokeParams, Source, fade};
use crate::geometry::TriMesh;
use crate::grid::{Axis, CellField, FaceField, Grid, unravel};
use crate::report::{self, Stages, StepReport};
use crate::solid::Obstacle;
pub use crate::solve::PressureSolver;
use crate::solve::{SolveError, SolveInfo, SolveParams};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Everything that defines a run; a scene file with its defaults filled in.
#[derive(Clone, Debug)]
pub struct WorldParams {
    /// The domain.
    pub grid: Grid,
    /// Lower and upper side along each axis; sides across a flat axis are closed.
    pub walls: [[Wall; 2]; 3],
    /// The fluid.
    pub smoke: SmokeParams,
    /// What emits smoke.
    pub sources: Vec<Source>,
    /// Static and scripted solids.
    pub obstacles: Vec<Obstacle>,
    /// The pressure solve.
    pub pressure: PressureParams,
    /// Steps and frames.
    pub time: TimeParams,
}

/// Which solver finds the pressure, and when it may stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PressureParams {
    /// The method.
    pub solver: PressureSolver,
    /// Tolerance, iteration cap, time budget.
    pub params: SolveParams,
    /// Whether a solve that stops unconverged ends the run.
    pub strict: bool,
}

/// How time is cut into steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeParams {
    /// Frames per second; steps land exactly on frames.
    pub fps: f64,
    /// Longest step in cells crossed by the fastest fluid.
    pub cfl: f64,
    /// Longest step, s.
    pub max_dt: f64,
    /// A step shorter than this, s, ends the run: something is wrong.
    pub min_dt: f64,
}

/// Everything that changes from step to step, and nothing else: what a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Time, s.
    pub time: f64,
    /// Steps done.
    pub step: u64,
    /// Frames completed: `time` is at or past `frame / fps`.
    pub frame: u64,
    /// Fluid velocity, m/s.
    pub velocity: FaceField,
    /// Smoke density.
    pub density: CellField,
    /// Temperature above ambient, K.
    pub temperature: CellField,
    /// Pressure, Pa: the next solve starts from it.
    pub pressure: CellField,
}

/// A run in progress.
pub struct World {
    params: WorldParams,
    state: State,
    /// The state being computed; its arrays and those of `state` change places every step.
    next: State,
    obstacles: Obstacles,
    boundary: Boundary,
    emitters: Vec<Emitter>,
    advector: Advector,
    confinement: Confinement,
    projection: Projection,
    clock: Stages,
}

/// Why a step could not be completed. The state is the last good one.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StepError {
    /// The pressure solve failed, or did not converge in strict mode.
    #[error("step {step}: pressure solve: {source}")]
    Pressure {
        /// Step number.
        step: u64,
        /// What the solver said.
        source: SolveError,
    },
    /// NaN or infinity.
    #[error("step {step}: a non-finite {quantity} appeared in {stage}")]
    NonFinite {
        /// Step number.
        step: u64,
        /// Stage of the step.
        stage: &'static str,
        /// Which field.
        quantity: &'static str,
    },
    /// The CFL limit asks for steps shorter than `min_dt`.
    #[error(
        "step {step}: the time step fell to {dt:.3e} s (limit {limit:.3e} s) at speed {speed:.3e} m/s in cell {cell:?}"
    )]
    TimeStepCollapse {
        /// Step number.
        step: u64,
        /// Step wanted, s.
        dt: f64,
        /// Smallest step allowed, s.
        limit: f64,
        /// Fastest speed, m/s.
        speed: f64,
        /// Where.
        cell: [usize; 3],
    },
}

impl World {
    /// The fluid at rest, nothing emitted yet.
    pub fn new(params: WorldParams) -> Self {
        let grid = params.grid;
        let state = State {
            time: 0.0,
            step: 0,
            frame: 0,
            velocity: FaceField::new(&grid, 0.0),
            density: CellField::new(&grid, 0.0),
            temperature: CellField::new(&grid, 0.0),
            pressure: CellField::new(&grid, 0.0),
        };
        let obstacles = Obstacles::new(&params.obstacles, &grid);
        let boundary = obstacles.boundary(&grid, params.walls);
        let mut projection = Projection::new(&grid, params.pressure.solver);
        projection.set_boundary(&grid, &boundary);
        let mut world = Self {
            emitters: params.sources.iter().map(|source| Emitter::new(source, &grid)).collect(),
            next: state.clone(),
            advector: Advector::default(),
            confinement: Confinement::default(),
            clock: Stages::default(),
            params,
            state,
            obstacles,
            boundary,
            projection,
        };
        world.boundary.impose(&mut world.state.velocity);
        world
    }

    /// What the run was started with.
    pub fn params(&self) -> &WorldParams {
        &self.params
    }

    /// The openings of the grid at the current time.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Milliseconds of the stages of the last step.
    pub(crate) fn stages(&self) -> Vec<(String, f64)> {
        self.clock.laps()
    }

    /// What a checkpoint must hold.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Continue from a state of the same scene.
    pub fn restore(&mut self, state: State) {
        self.state = state;
    }

    /// The solids' surfaces in world space at the current time, with their names.
    pub fn surfaces(&self) -> Vec<(String, TriMesh)> {
        self.obstacles.surfaces(self.state.time)
    }

    /// Advance by one step, at most to the next frame. After an error the state is the last good one.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        self.clock.restart();
        let dt = self.choose_dt()?;
        self.move_solids(dt);
        self.advect(dt);
        self.predict(dt);
        let coupled = self.couple(dt)?;
        self.extend();
        self.accept(dt, coupled)
    }

    /// The longest step within the CFL limit that divides the rest of the frame evenly.
    fn choose_dt(&self) -> Result<f64, StepError> {
        let time = &self.params.time;
        let (speed, cell) = self.fastest();
        let limit = time.max_dt.min(time.cfl * self.params.grid.dx / speed);
        let rest = (self.state.frame + 1) as f64 / time.fps - self.state.time;
        // A rest within round-off of a whole number of steps is that number of steps.
        let dt = rest / (rest / limit - 1e-9).ceil().max(1.0);
        if dt < time.min_dt && limit < time.min_dt {
            let step = self.state.step + 1;
            return Err(StepError::TimeStepCollapse { step, dt, limit: time.min_dt, speed, cell });
        }
        Ok(dt)
    }

    /// Put the solids where they are at the end of the step, and open or close the faces around them.
    fn move_solids(&mut self, dt: f64) {
        let grid = &self.params.grid;
        if self.obstacles.advance(grid, self.state.time, dt) {
            self.boundary = self.obstacles.boundary(grid, self.params.walls);
            self.projection.set_boundary(grid, &self.boundary);
        }
        self.clock.lap("solids");
    }

    /// Carry velocity, density and temperature along with the divergence-free velocity of the last step.
    fn advect(&mut self, dt: f64) {
        let SmokeParams { advection: scheme, trace, .. } = self.params.smoke;
        let Self { state, next, boundary, .. } = self;
        let flow = Flow { grid: &self.params.grid, boundary, velocity: &state.velocity, dt, scheme, trace };
        self.advector.trace(&flow);
        self.clock.lap("trace");
        self.advector.advect_velocity(&flow, &mut next.velocity);
        self.clock.lap("advect velocity");
        self.advector.advect_cells(&flow, &state.density, &mut next.density, Wall::density);
        self.advector.advect_cells(&flow, &state.temperature, &mut next.temperature, Wall::temperature);
        self.clock.lap("advect smoke");
    }

    /// Everything but pressure: sources, fading, buoyancy, confinement → u*.
    fn predict(&mut self, dt: f64) {
        let smoke = &self.params.smoke;
        let State { velocity, density, temperature, .. } = &mut self.next;
        for emitter in &self.emitters {
            emitter.emit(self.state.time, density, temperature, velocity);
        }
        fade(density, smoke.dissipation, dt);
        fade(temperature, smoke.cooling, dt);
        let (smoke_weight, lift) = ((&*density, smoke.weight), (&*temperature, smoke.expansion));
        add_buoyancy(velocity, smoke_weight, lift, smoke.gravity, smoke.acceleration, dt);
        if smoke.confinement > 0.0 {
            self.confinement.add(&self.params.grid, velocity, smoke.confinement, dt);
        }
        self.clock.lap("forces");
    }

    /// The pressure that keeps every cell's volume: u* → u.
    fn couple(&mut self, dt: f64) -> Result<Coupled, StepError> {
        let PressureParams { params, strict, .. } = self.params.pressure;
        let step = self.state.step + 1;
        let Self { state, next, boundary, .. } = self;
        // Pressure is kept in Pa; the projection's p is Δt·pressure/(ρ dx), so that the guess scales with the step.
        let scale = dt / (self.params.smoke.rho * self.params.grid.dx);
        next.pressure.data.par_iter_mut().zip(&state.pressure.data).for_each(|(p, old)| *p = old * scale);
        boundary.impose(&mut next.velocity);
        let projected = self
            .projection
            .project(boundary, &params, &mut next.velocity, &mut next.pressure)
            .map_err(|source| StepError::Pressure { step, source })?;
        if strict && !projected.info.converged {
            let SolveInfo { iterations, residual, .. } = projected.info;
            let source = SolveError::NotConverged { iterations, residual, tolerance: params.tolerance };
            return Err(StepError::Pressure { step, source });
        }
        let ms = self.clock.lap("pressure");
        let (grid, rho) = (&self.params.grid, self.params.smoke.rho);
        let bodies = self.obstacles.impulses(grid, rho, &next.pressure);
        let momentum_error = report::momentum_error(grid, rho, boundary, &next.pressure, &bodies);
        next.pressure.data.par_iter_mut().for_each(|p| *p /= scale);
        Ok(Coupled { projected, bodies, momentum_error, ms })
    }

    /// Continue the new fields into the solids, for the traces of the next step.
    fn extend(&mut self) {
        self.boundary.extend_velocity(&mut self.next.velocity);
        self.boundary.extend_cells(&mut self.next.density);
        self.boundary.extend_cells(&mut self.next.temperature);
        self.clock.lap("extend");
    }

    /// Check the new state, make it the current one, and account for it.
    fn accept(&mut self, dt: f64, coupled: Coupled) -> Result<StepReport, StepError> {
        let (params, state, next) = (&self.params, &self.state, &mut self.next);
        next.step = state.step + 1;
        let frame_end = (state.frame + 1) as f64 / params.time.fps;
        // Frames are landed on exactly, whatever the steps add up to.
        let lands = state.time + dt >= frame_end * (1.0 - 1e-12);
        (next.time, next.frame) = if lands { (frame_end, state.frame + 1) } else { (state.time + dt, state.frame) };
        let fields: [(&'static str, &[f64]); 5] = [
            ("velocity", &next.velocity.axes[0]),
            ("velocity", &next.velocity.axes[1]),
            ("velocity", &next.velocity.axes[2]),
            ("density", &next.density.data),
            ("temperature", &next.temperature.data),
        ];
        for (quantity, data) in fields {
            if !data.par_iter().all(|value| value.is_finite()) {
                return Err(StepError::NonFinite { step: next.step, stage: "the step", quantity });
            }
        }
        std::mem::swap(&mut self.state, &mut self.next);
        Ok(report::build(self, dt, coupled))
    }

    /// The largest velocity component, m/s, of fluid, sources and scripted solids, and where it is.
    fn fastest(&self) -> (f64, [usize; 3]) {
        let mut found =
            (self.obstacles.speed(self.state.time, self.params.time.max_dt.min(1.0 / self.params.time.fps)), [0; 3]);
        for emitter in &self.emitters {
            found.0 = found.0.max(emitter.speed());
        }
        for axis in Axis::ALL {
            let data = &self.state.velocity.axes[axis.index()];
            let speed = data.par_iter().map(|u| u.abs()).reduce(|| 0.0, f64::max);
            if speed > found.0 {
                let dims = self.params.grid.face_dims(axis);
                let index = data.iter().position(|u| u.abs() == speed).unwrap_or(0);
                found = (speed, unravel(dims, index));
            }
        }
        found
    }
}

/// What the coupled solve hands to the report.
pub(crate) struct Coupled {
    pub projected: Projected,
    pub bodies: Vec<BodyImpulse>,
    pub momentum_error: f64,
    pub ms: f64,
}
