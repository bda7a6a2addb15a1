//! The world: one fluid, its solids, and the step that moves them.

use crate::fluid::boundary::Wall;
use crate::fluid::smoke::{SmokeParams, Source};
use crate::geometry::TriMesh;
use crate::grid::{CellField, FaceField, Grid};
use crate::solid::Obstacle;
use crate::solve::{SolveError, SolveParams};
use glam::{DQuat, DVec3};
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

/// Pressure solvers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PressureSolver {
    /// Conjugate gradients preconditioned by a multigrid cycle.
    Multigrid,
    /// Conjugate gradients preconditioned by incomplete Cholesky.
    Icpcg,
    /// Plain conjugate gradients.
    Cg,
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
    /// Pressure × Δt of the last solve, Pa·s: the next one starts from it.
    pub pressure: CellField,
}

/// A run in progress.
pub struct World {
    params: WorldParams,
    state: State,
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

/// What one step did; a line of `stats.jsonl`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: u64,
    /// Time after the step, s.
    pub t: f64,
    /// Length of the step, s.
    pub dt: f64,
    /// Frames completed after the step.
    pub frame: u64,
    /// Cells crossed by the fastest fluid in this step.
    pub cfl: f64,
    /// m/s.
    pub max_speed: f64,
    /// Largest cell divergence after the projection, 1/s.
    pub div_inf: f64,
    /// The pressure solve.
    pub solver: SolverReport,
    /// Totals over the fluid.
    pub fluid: FluidReport,
    /// Every solid.
    pub bodies: Vec<BodyReport>,
    /// Closed regions of fluid.
    pub regions: Vec<RegionReport>,
    /// What should be zero.
    pub ledger: Ledger,
    /// Milliseconds of each stage, in order.
    pub stages: Vec<(String, f64)>,
}

/// The pressure solve of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SolverReport {
    /// Its name.
    pub name: String,
    /// Iterations done.
    pub iterations: usize,
    /// Relative residual reached.
    pub residual: f64,
    /// Whether that is the tolerance asked for.
    pub converged: bool,
    /// Set-up and solve, ms.
    pub ms: f64,
}

/// Totals over the fluid, SI.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FluidReport {
    /// m³.
    pub volume: f64,
    /// kg.
    pub mass: f64,
    /// kg m/s.
    pub momentum: DVec3,
    /// J.
    pub kinetic: f64,
    /// J (buoyancy energy of the smoke relative to the domain's lowest corner).
    pub potential: f64,
    /// ∫ smoke density dV.
    pub smoke: f64,
}

/// One solid after a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BodyReport {
    /// Name in the scene.
    pub name: String,
    /// `static`, `scripted`, …
    pub kind: String,
    /// m.
    pub position: DVec3,
    /// x, y, z, w.
    pub rotation: DQuat,
    /// m/s.
    pub velocity: DVec3,
    /// rad/s.
    pub angular_velocity: DVec3,
    /// Impulse from the fluid in this step, N s.
    pub impulse: DVec3,
    /// Its moment about the body's position, N m s.
    pub torque_impulse: DVec3,
    /// m³.
    pub volume: f64,
}

/// A region of fluid with no opening.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RegionReport {
    /// m³.
    pub volume: f64,
    /// Net volume flux that its boundary forces on it and that was removed, m³/s.
    pub incompatible_flux: f64,
}

/// Conservation errors of one step, relative.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// |inflow − outflow| ÷ (|inflow| + |outflow|) through the domain's sides and the solids.
    pub volume_error: f64,
    /// Momentum given by the pressure minus impulses on solids and walls, relative to their sum.
    pub momentum_error: f64,
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
        Self { params, state }
    }

    /// What the run was started with.
    pub fn params(&self) -> &WorldParams {
        &self.params
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
        Vec::new()
    }

    /// Advance by one step, at most to the next frame.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        let frame_end = (self.state.frame + 1) as f64 / self.params.time.fps;
        let dt = self.params.time.max_dt.min(frame_end - self.state.time);
        self.state.time += dt;
        self.state.step += 1;
        if self.state.time >= frame_end {
            self.state.frame += 1;
        }
        Ok(StepReport { step: self.state.step, t: self.state.time, dt, frame: self.state.frame, ..Default::default() })
    }
}
