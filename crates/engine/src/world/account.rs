//! The account of a step: totals, and what should be zero.

use super::{Solved, World};
use crate::coupling::immersed::BodyImpulse;
use crate::coupling::monolithic::Outcome;
use crate::fluid::boundary::{BodyFace, Boundary};
use crate::fluid::smoke::{SmokeParams, SmokeState};
use crate::fluid::water::{Bubble, WaterParams, WaterState};
use crate::fluid::{FluidParams, FluidState};
use crate::grid::{
    Axis, FaceField, Grid,
    parallel::{Sums, sum_rows},
    strides, unravel,
};
use crate::report::{
    BodyReport, BubblesReport, CouplingReport, FluidReport, Ledger, RegionReport, SolverReport, StepReport,
};
use crate::solid::rigid::RigidEvent;
use glam::DVec3;
use rayon::prelude::*;

/// Account for the step that led to the world's current state.
pub(super) fn account(world: &World, dt: f64, coupled: Solved, events: Vec<RigidEvent>) -> StepReport {
    let (params, state, boundary) = (world.params(), world.state(), world.boundary());
    let grid = &params.grid;
    let speeds = state.fluid.velocity.axes.iter().map(|u| u.par_iter().map(|u| u.abs()).reduce(|| 0.0, f64::max));
    let max_speed = speeds.fold(0.0, f64::max);
    let Solved { outcome, bodies, ms } = coupled;
    let Outcome { projected, rounds, settled, residual_flux, bubble_flux, momentum_error, .. } = outcome;
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
        coupling: CouplingReport {
            scheme: params.coupling.scheme.name().into(),
            iterations: rounds,
            converged: settled && projected.info.converged,
        },
        ledger: Ledger {
            volume_error: match state.fluid.content {
                FluidState::Smoke(_) => volume_error(grid, boundary, &state.fluid.velocity),
                FluidState::Water(_) => (fluid.volume * rho - fluid.mass).abs() / fluid.mass.max(f64::MIN_POSITIVE),
            },
            momentum_error,
        },
        fluid,
        bodies: bodies.into_iter().map(body_report).collect(),
        regions: regions.collect(),
        bubbles: state.fluid.water().and_then(|water| bubbles_report(grid, &water.bubbles, &bubble_flux)),
        events: events.iter().map(RigidEvent::to_string).collect(),
        stages: world.stages(),
    }
}

fn body_report(body: BodyImpulse) -> BodyReport {
    BodyReport {
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
    match (&world.params().fluid, &world.state().fluid.content) {
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
///
/// In units of ρ dx³.
fn momentum_and_energy(grid: &Grid, boundary: &Boundary, velocity: &FaceField) -> (DVec3, f64) {
    let (volume, [nx, ny, _]) = (&boundary.volume, grid.dims);
    let mut momentum = DVec3::ZERO;
    let mut kinetic = 0.0;
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let a = axis.index();
        let dims = grid.face_dims(axis);
        let (open, driven) = (&boundary.open.axes[a], &boundary.driven.axes[a]);
        let is_side = |at: [usize; 3]| at[a] == 0 || at[a] == grid.dims[a];
        let stride = strides(grid.dims)[a];
        let [p, mut e] = sum_rows(dims, |j, k| {
            let mut sum = Sums::default();
            for i in 0..dims[0] {
                let (at, face, c) = ([i, j, k], i + dims[0] * (j + dims[1] * k), i + nx * (j + ny * k));
                let upper = if at[a] < grid.dims[a] { volume.data[c] } else { 0.0 };
                let lower = if at[a] > 0 { volume.data[c - stride] } else { 0.0 };
                let u = velocity.axes[a][face];
                let mass = if is_side(at) {
                    // Half of the dual cell lies beyond it.
                    0.5 * open[face]
                } else if driven[face] {
                    open[face]
                } else {
                    0.0
                };
                sum = Sums([sum.0[0] + 0.5 * (upper + lower) * u, sum.0[1] + 0.5 * mass * u * u]);
            }
            sum
        })
        .0;
        let is_inner = |face: &&BodyFace| face.axis == axis && !is_side(unravel(dims, face.index));
        for face in boundary.constrained.iter().filter(is_inner) {
            e += 0.5 * face.mass(open[face.index]) * velocity.axes[a][face.index].powi(2);
        }
        momentum[a] = p;
        kinetic += e;
    }
    (momentum, kinetic)
}

/// Of the whole domain.
fn smoke_totals(world: &World, params: &SmokeParams, smoke: &SmokeState, dt: f64) -> FluidReport {
    let (grid, velocity, boundary) = (&world.params().grid, &world.state().fluid.velocity, world.boundary());
    let (rho, cell, volume) = (params.rho, grid.dx.powi(3), &boundary.volume);
    let [nx, ny, _] = grid.dims;
    let row_of = |j: usize, k: usize| nx * (j + ny * k)..nx * (j + ny * k + 1);

    let (momentum, kinetic) = momentum_and_energy(grid, boundary, velocity);
    let open = sum_rows(grid.dims, |j, k| volume.data[row_of(j, k)].iter().sum::<f64>()) * cell;
    let place = |at: [usize; 3]| grid.cell_centre(at) + 0.5 * dt * velocity.at_centre(at) - grid.origin;
    let height = |at: [usize; 3]| -params.gravity.dot(place(at));
    let [content, lift] = sum_rows(grid.dims, |j, k| {
        let mut sum = Sums::default();
        for (i, c) in row_of(j, k).enumerate() {
            let (s, t, v) = (smoke.density.data[c], smoke.temperature.data[c], volume.data[c]);
            let excess = params.weight * s - params.expansion * t;
            let lift = if excess == 0.0 { 0.0 } else { excess * height([i, j, k]) };
            sum = Sums([sum.0[0] + s * v, sum.0[1] + lift * v]);
        }
        sum
    })
    .0;
    FluidReport {
        volume: open,
        mass: rho * open,
        momentum: rho * cell * momentum,
        kinetic: rho * cell * kinetic,
        potential: rho * lift * cell,
        smoke: content * cell,
        ..FluidReport::default()
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
/// A choice: far below any flow that is seen; only `volume_error` of the report depends on it.
const STILL: f64 = 1e-9;
