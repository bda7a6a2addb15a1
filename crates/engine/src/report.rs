//! What one step did: a line of `stats.jsonl`.

use crate::coupling::immersed::BodyImpulse;
use crate::coupling::monolithic::Outcome;
use crate::fluid::boundary::{BodyFace, Boundary};
use crate::fluid::smoke::{SmokeParams, SmokeState};
use crate::fluid::water::{Bubble, WaterParams, WaterState};
use crate::fluid::{FluidParams, FluidState};
use crate::grid::{Axis, CellField, FaceField, Grid, parallel::sum_rows, strides, unravel};
use crate::solid::rigid::RigidEvent;
use crate::world::{Coupled, World};
use glam::{DQuat, DVec3};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::Instant;

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
    /// Momentum given by the pressure minus impulses on solids and walls, relative to their sum.
    pub momentum_error: f64,
}

/// Stopwatch of the stages of a step.
#[derive(Default)]
pub(crate) struct Stages {
    last: Option<Instant>,
    laps: Vec<(String, f64)>,
}

impl Stages {
    /// A new step begins.
    pub fn restart(&mut self) {
        self.laps.clear();
        self.last = Some(Instant::now());
    }

    /// A stage ends; its milliseconds.
    pub fn lap(&mut self, stage: &str) -> f64 {
        let now = Instant::now();
        let ms = self.last.map_or(0.0, |last| (now - last).as_secs_f64() * 1e3);
        self.laps.push((stage.to_string(), ms));
        self.last = Some(now);
        ms
    }

    /// The stages of the step and their milliseconds, in order.
    pub fn laps(&self) -> Vec<(String, f64)> {
        self.laps.clone()
    }
}

/// Account for the step that led to the world's current state.
pub(crate) fn build(world: &World, dt: f64, coupled: Coupled, events: Vec<RigidEvent>) -> StepReport {
    let (params, state, boundary) = (world.params(), world.state(), world.boundary());
    let grid = &params.grid;
    let speeds = state.velocity.axes.iter().map(|u| u.par_iter().map(|u| u.abs()).reduce(|| 0.0, f64::max));
    let max_speed = speeds.fold(0.0, f64::max);
    let Coupled { outcome, bodies, momentum_error, ms } = coupled;
    let Outcome { projected, residual_flux, bubble_flux, .. } = outcome;
    let (fluid, rho) = (fluid_totals(world, dt), params.fluid.rho());
    let regions = projected.closed.iter().map(|region| RegionReport {
        volume: region.cells as f64 * grid.dx.powi(3),
        incompatible_flux: region.incompatible * grid.dx.powi(2),
    });
    StepReport {
        step: state.step,
        t: state.time,
        t_velocity: state.time + 0.5 * dt,
        dt,
        frame: state.frame,
        cfl: max_speed * dt / grid.dx,
        max_speed,
        div_inf: residual_flux / grid.dx,
        solver: SolverReport {
            name: params.pressure.solver.name(),
            iterations: projected.info.iterations,
            residual: projected.info.residual,
            converged: projected.info.converged,
            ms,
        },
        ledger: Ledger {
            volume_error: match state.fluid {
                FluidState::Smoke(_) => volume_error(grid, boundary, &state.velocity),
                FluidState::Water(_) => (fluid.volume * rho - fluid.mass).abs() / fluid.mass.max(f64::MIN_POSITIVE),
            },
            momentum_error,
        },
        fluid,
        bodies: bodies
            .into_iter()
            .map(|body| BodyReport {
                name: body.name,
                kind: body.kind.to_string(),
                position: body.pose.position,
                rotation: body.pose.rotation,
                velocity: body.velocity.linear,
                angular_velocity: body.velocity.angular,
                impulse: body.impulse,
                torque_impulse: body.torque_impulse,
                lift: body.lift,
                volume: body.volume,
                kinetic: body.energy.map(|[kinetic, _]| kinetic),
                elastic: body.energy.map(|[_, elastic]| elastic),
            })
            .collect(),
        regions: regions.collect(),
        bubbles: state.fluid.water().and_then(|water| bubbles_report(grid, &water.bubbles, &bubble_flux)),
        events: events.iter().map(RigidEvent::to_string).collect(),
        stages: world.stages(),
    }
}

/// What there is to say about bubbles, if there are any.
fn bubbles_report(grid: &Grid, bubbles: &[Bubble], flux: &[f64]) -> Option<BubblesReport> {
    let largest = bubbles.iter().max_by(|a, b| a.room.total_cmp(&b.room))?;
    Some(BubblesReport {
        count: bubbles.len(),
        air: bubbles.iter().map(|bubble| bubble.air).sum(),
        volume: bubbles.iter().map(|bubble| bubble.room).sum(),
        largest_position: largest.centre(grid),
        largest_volume: largest.room,
        flux_error: grid.dx.powi(2) * flux.iter().fold(0.0, |worst: f64, flux| worst.max(flux.abs())),
    })
}

/// Particles added up by one task.
const CHUNK: usize = 4096;

/// Mass, momentum, energies of the fluid after a step of `dt`, s.
///
/// What a velocity v moves from x goes to x + Δt v in the next step, so that v belongs to the time between, and so does its energy. There the
/// potential energy is taken as well, m g·(x + ½ Δt v). In free fall the sum is then constant: ½ |v + Δt g|² − ½ |v|² is what
/// g·½ Δt (v + v + Δt g) takes off. (Taken at x it would seem to gain ½ |Δt g|² a step.)
fn fluid_totals(world: &World, dt: f64) -> FluidReport {
    match (&world.params().fluid, &world.state().fluid) {
        (FluidParams::Smoke(params), FluidState::Smoke(smoke)) => smoke_totals(world, params, smoke, dt),
        (FluidParams::Water(params), FluidState::Water(water)) => water_totals(world, params, water, dt),
        _ => unreachable!("a fluid and its state are of the same kind"),
    }
}

/// Of the particles. The volume is what the liquid fills: cells amid liquid count as full, those at its surface and
/// beyond by their particles.
fn water_totals(world: &World, params: &WaterParams, water: &WaterState, dt: f64) -> FluidReport {
    let (grid, particles) = (&world.params().grid, &water.particles);
    let each = params.particle_volume(grid);
    let mass = params.rho * each;
    let sums: Vec<[f64; 5]> = (particles.position.par_chunks(CHUNK), particles.velocity.par_chunks(CHUNK))
        .into_par_iter()
        .map(|(position, velocity)| {
            let mut sum = [0.0; 5];
            for (x, v) in position.iter().zip(velocity) {
                let height = -params.gravity.dot(*x + 0.5 * dt * *v - grid.origin);
                let terms = [v.x, v.y, v.z, 0.5 * v.length_squared(), height];
                sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
            sum
        })
        .collect();
    let [px, py, pz, kinetic, potential] =
        sums.into_iter().fold([0.0; 5], |sum, terms| std::array::from_fn(|i| sum[i] + terms[i])).map(|sum| mass * sum);
    FluidReport {
        volume: world.filled().map_or(0.0, |filled| water.filled_volume(grid, &world.boundary().volume, filled)),
        mass: mass * (particles.len() as u64 + water.bank) as f64,
        momentum: DVec3::new(px, py, pz),
        kinetic,
        potential,
        smoke: 0.0,
        particles: particles.len() as u64,
        emitted: each * water.emitted as f64,
        drained: each * water.drained as f64,
    }
}

/// Of momentum, a face carries the mean open volume of its two cells: that of a uniform flow is exact.
///
/// Of kinetic energy it carries the mass that the pressure moves there: the open part of the face, times the dual cell; of a face that a free
/// body takes along, half a cell for each side that is wet. The projection does not increase that (row A14), so that it has to be the
/// energy of the ledger (row K4).
fn smoke_totals(world: &World, params: &SmokeParams, smoke: &SmokeState, dt: f64) -> FluidReport {
    let (grid, velocity, boundary) = (&world.params().grid, &world.state().velocity, world.boundary());
    let (rho, cell, volume) = (params.rho, grid.dx.powi(3), &boundary.volume);
    let [nx, ny, _] = grid.dims;
    let row_of = |j: usize, k: usize| nx * (j + ny * k)..nx * (j + ny * k + 1);

    let mut momentum = DVec3::ZERO;
    let mut kinetic = 0.0;
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let a = axis.index();
        let dims = grid.face_dims(axis);
        let (open, free) = (&boundary.open.axes[a], &boundary.free.axes[a]);
        let is_side = |at: [usize; 3]| at[a] == 0 || at[a] == grid.dims[a];
        let stride = strides(grid.dims)[a];
        let [p, mut e] = sum_rows(dims, |j, k| {
            let mut sum = Pair::default();
            for i in 0..dims[0] {
                let (at, face, c) = ([i, j, k], i + dims[0] * (j + dims[1] * k), i + nx * (j + ny * k));
                let upper = if at[a] < grid.dims[a] { volume.data[c] } else { 0.0 };
                let lower = if at[a] > 0 { volume.data[c - stride] } else { 0.0 };
                let u = velocity.axes[a][face];
                let mass = if is_side(at) {
                    // Half of the dual cell lies beyond it.
                    0.5 * open[face]
                } else if free[face] {
                    open[face]
                } else {
                    0.0
                };
                sum = Pair([sum.0[0] + 0.5 * (upper + lower) * u, sum.0[1] + 0.5 * mass * u * u]);
            }
            sum
        })
        .0;
        let is_inner = |face: &&BodyFace| face.axis == axis && !is_side(unravel(dims, face.index));
        for face in boundary.constrained.iter().filter(is_inner) {
            e += 0.5 * face.mass(open[face.index]) * velocity.axes[a][face.index].powi(2);
        }
        momentum[a] = rho * cell * p;
        kinetic += rho * cell * e;
    }

    let open = sum_rows(grid.dims, |j, k| volume.data[row_of(j, k)].iter().sum::<f64>()) * cell;
    let place = |at: [usize; 3]| grid.cell_centre(at) + 0.5 * dt * velocity.at_centre(at) - grid.origin;
    let height = |at: [usize; 3]| -params.gravity.dot(place(at));
    let [content, lift] = sum_rows(grid.dims, |j, k| {
        let mut sum = Pair::default();
        for (i, c) in row_of(j, k).enumerate() {
            let (s, t, v) = (smoke.density.data[c], smoke.temperature.data[c], volume.data[c]);
            let excess = params.weight * s - params.expansion * t;
            let lift = if excess == 0.0 { 0.0 } else { excess * height([i, j, k]) };
            sum = Pair([sum.0[0] + s * v, sum.0[1] + lift * v]);
        }
        sum
    })
    .0;
    FluidReport {
        volume: open,
        mass: rho * open,
        momentum,
        kinetic,
        potential: rho * lift * cell,
        smoke: content * cell,
        ..FluidReport::default()
    }
}

/// Two sums taken in one pass.
#[derive(Default)]
struct Pair([f64; 2]);

impl std::iter::Sum for Pair {
    fn sum<I: Iterator<Item = Self>>(pairs: I) -> Self {
        pairs.fold(Self::default(), |a, b| Self([a.0[0] + b.0[0], a.0[1] + b.0[1]]))
    }
}

/// |what leaves − what solids push in| ÷ all that crosses the sides and moves with the solids.
fn volume_error(grid: &Grid, boundary: &Boundary, velocity: &FaceField) -> f64 {
    let (mut net, mut all) = (0.0, 0.0);
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let [b, c] = axis.others().map(Axis::index);
        for (position, outward) in [(0, -1.0), (grid.dims[axis.index()], 1.0)] {
            for q in 0..grid.dims[c] {
                for p in 0..grid.dims[b] {
                    let mut at = [position; 3];
                    (at[b], at[c]) = (p, q);
                    let flow = outward * boundary.open[(axis, at)] * velocity[(axis, at)];
                    net += flow;
                    all += flow.abs();
                }
            }
        }
    }
    for pushed in &boundary.flux.data {
        net -= pushed;
        all += pushed.abs();
    }
    net.abs() / all.max(STILL)
}

/// Flows below this, m/s over one face, are rest: the error of nothing is not worth a number.
const STILL: f64 = 1e-9;

/// Momentum the pressure gave the fluid, the solids and whatever holds the faces of given velocity,
/// relative to what was exchanged. Zero to round-off for any `p`, converged or not, because every cut
/// cell closes (row K1). `p` is Δt·pressure/(ρ dx), m/s.
pub(crate) fn momentum_error(grid: &Grid, rho: f64, boundary: &Boundary, p: &CellField, bodies: &[BodyImpulse]) -> f64 {
    let on_bodies = bodies.iter().map(|body| body.impulse).sum::<DVec3>() / (rho * grid.dx.powi(3));
    let (mut net, mut all) = (on_bodies, on_bodies.abs().element_sum());
    for axis in Axis::ALL {
        let a = axis.index();
        let stride = strides(grid.dims)[a];
        let dims = grid.face_dims(axis);
        // Free faces give it to the fluid, given ones to what holds them: either way it leaves the cells.
        let [sum, size] = sum_rows(dims, |j, k| {
            let mut sum = Pair::default();
            for i in 0..dims[0] {
                let (at, c) = ([i, j, k], i + grid.dims[0] * (j + grid.dims[1] * k));
                let upper = if at[a] < grid.dims[a] { p.data[c] } else { 0.0 };
                let lower = if at[a] > 0 { p.data[c - stride] } else { 0.0 };
                let push = boundary.open[(axis, at)] * (lower - upper);
                sum = Pair([sum.0[0] + push, sum.0[1] + push.abs()]);
            }
            sum
        })
        .0;
        net[a] += sum;
        all += size;
    }
    if all > 0.0 { net.abs().element_sum() / all } else { 0.0 }
}
