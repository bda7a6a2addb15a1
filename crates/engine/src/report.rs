//! What one step did: a line of `stats.jsonl`.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// What one step did; a line of `stats.jsonl`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: u64,
    /// Time after the step, s: to this belong positions, volumes and bubbles.
    pub t: f64,
    /// t + dt/2, s: to this belong velocities, momenta and energies. The velocity after a step is what moves everything in the next
    /// one, so that it is the mean over that, and in the middle of it with steps as long as this one.
    #[serde(default)]
    pub t_velocity: f64,
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
    /// How solids and fluid found each other.
    #[serde(default)]
    pub coupling: CouplingReport,
    /// Totals over the fluid.
    pub fluid: FluidReport,
    /// Every solid.
    pub bodies: Vec<BodyReport>,
    /// Closed regions of fluid.
    pub regions: Vec<RegionReport>,
    /// Pockets of air that keep their volume, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bubbles: Option<BubblesReport>,
    /// What should be zero.
    pub ledger: Ledger,
    /// What happened to bodies, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Milliseconds of each stage, in order.
    pub stages: Vec<(String, f64)>,
}

impl StepReport {
    /// The solid of this name.
    pub fn body(&self, name: &str) -> Option<&BodyReport> {
        self.bodies.iter().find(|body| body.name == name)
    }
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

/// How solids and fluid found each other in one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CouplingReport {
    /// Name of the scheme.
    pub scheme: String,
    /// How often the fluid was asked: more than once where bodies lean on something while it pushes them.
    pub iterations: usize,
    /// Whether they agreed in the end.
    pub converged: bool,
}

/// Totals over the fluid, SI.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FluidReport {
    /// m³; of a liquid, what it fills.
    pub volume: f64,
    /// kg; of a liquid, of all its particles.
    pub mass: f64,
    /// kg m/s, at `t_velocity`.
    pub momentum: DVec3,
    /// J, at `t_velocity`.
    pub kinetic: f64,
    /// J relative to the domain's lowest corner; of smoke, its buoyancy's. At `t_velocity`, where the flow has taken the fluid by then:
    /// weight alone changes nothing of the sum with `kinetic`.
    pub potential: f64,
    /// ∫ smoke density dV.
    pub smoke: f64,
    /// Particles of a liquid.
    pub particles: u64,
    /// Liquid let in by sources since the start, m³.
    pub emitted: f64,
    /// Liquid lost through drains and open sides since the start, m³.
    pub drained: f64,
}

/// One solid after a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BodyReport {
    /// Name in the scene.
    pub name: String,
    /// `static`, `scripted`, `free` or `elastic`.
    pub kind: String,
    /// Where it is, m; of a free or elastic body its centre of mass.
    pub position: DVec3,
    /// x, y, z, w; of an elastic body the turn that comes nearest to what it did.
    pub rotation: DQuat,
    /// m/s, at `t_velocity`: with it goes position + velocity · dt/2.
    pub velocity: DVec3,
    /// rad/s, at `t_velocity`.
    pub angular_velocity: DVec3,
    /// Impulse from the fluid in this step, N s.
    pub impulse: DVec3,
    /// Its moment about the body's position, N m s.
    pub torque_impulse: DVec3,
    /// Which part of both (N s, N m s) is the weight of fluid that the grid has on the wrong side of the surface: hydrostatic pressure
    /// acts on the surface, not in the middle of cells. All else the fluid loses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lift: Option<[DVec3; 2]>,
    /// m³.
    pub volume: f64,
    /// Of an elastic body, J: that with which it came to where it is at `t`. The implicit step balances it with `elastic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinetic: Option<f64>,
    /// Energy of deformation of an elastic body at `t`, J.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic: Option<f64>,
}

/// A region of fluid with no opening.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RegionReport {
    /// m³.
    pub volume: f64,
    /// Net volume flux that its boundary forces on it and that was removed, m³/s.
    pub incompatible_flux: f64,
}

/// Pockets of air that keep their volume.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BubblesReport {
    /// How many there are.
    pub count: usize,
    /// Air in them, m³.
    pub air: f64,
    /// Room that the liquid leaves them, m³.
    pub volume: f64,
    /// Centre of the largest, m.
    pub largest_position: DVec3,
    /// Its room, m³.
    pub largest_volume: f64,
    /// Largest flow through the surface of one that should be none, m³/s.
    pub flux_error: f64,
}

/// Conservation errors of one step, relative.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// |inflow − outflow| ÷ (|inflow| + |outflow|) through the domain's sides and the solids; of a liquid, what it fills
    /// compared with what its particles stand for.
    pub volume_error: f64,
    /// What is left of the momentum that the solve took from the fluid and gave to solids and walls, relative to what was exchanged; contact
    /// and joints have no part in it.
    pub momentum_error: f64,
}
