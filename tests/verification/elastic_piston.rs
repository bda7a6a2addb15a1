//! Row H1: an elastic bar, held at one end, drives a column of fluid out of an open one.
//!
//! With ν = 0 the bar is one-dimensional: ρs ü = E u'', u(0) = 0, and the column, which moves as a whole, is a mass ρ A L_f at its end:
//! E A u'(L) = −ρ A L_f ü(L). With ω = k √(E/ρs), the lowest mode sin(k x) has
//!
//! ```text
//! k L tan(k L) = ρs L/(ρ L_f)
//! ```
//!
//! In the grid p = 0 half a cell beyond the open side, and p in the cell that the bar's end is in acts on that. With the end in the middle of a
//! cell both columns have the same length, L_f to half a cell beyond the side. Backward Euler slows the mode down to atan(ω Δt)/Δt.

use crate::support::elastic::{elastic, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, TetMesh};
use bathtub_engine::grid::Axis;
use bathtub_engine::solid::Motion;
use bathtub_engine::solid::elastic::Hold;
use bathtub_engine::world::World;
use glam::{DQuat, DVec3};

const DX: f64 = 1.0 / 32.0;
const RHO: f64 = 1000.0;
const CELLS: usize = 32;

/// How much wider the bar is than the channel, and heavier by the square of that: it reaches into the walls. Were it flush with them, it would let
/// fluid in between as soon as it moved aside.
const OVERLAP: f64 = 1.01;

/// Where the bar ends, in cells.
const END: f64 = 11.5;

/// k L, by bisection.
fn wave_number(ratio: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 0.5 * std::f64::consts::PI);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle * middle.tan() < ratio { low = middle } else { high = middle }
    }
    low
}

/// Frequency over what it should be, less 1, in a channel of `width` by `width` cells.
fn frequency_error(width: usize, density: f64) -> f64 {
    let length = (END + 1.0) * DX;
    let column = (CELLS as f64 + 0.5 - END) * DX;
    let youngs_modulus = 1e6;
    let k = wave_number(density * length * OVERLAP * OVERLAP / (RHO * column)) / length;
    let omega = k * (youngs_modulus / density).sqrt();
    let dt = 0.02 / omega;

    let mut params = still_air([CELLS, width, width], DX);
    params.fluid.smoke_mut().unwrap().rho = RHO;
    params.walls[Axis::X.index()][1] = Wall::Open;
    // It is held a cell beyond the closed end.
    let across = width as f64 * DX;
    let size = DVec3::new(length, across * OVERLAP, across * OVERLAP);
    let about = DVec3::new(0.5 * length - DX, 0.5 * across, 0.5 * across);
    let mesh = TetMesh::block(size, [13, width, width]).mapped(|v| v + about);
    let held = (0..mesh.vertices.len()).filter(|&v| mesh.vertices[v].x < -0.99 * DX).collect();
    let mut bar = elastic("bar", mesh, material(youngs_modulus, 0.0, density));
    let still = Motion::Static(Pose { position: DVec3::ZERO, rotation: DQuat::IDENTITY });
    bar.holds = vec![Hold { vertices: held, motion: still }];
    params.elastic = vec![bar];
    params.time = fixed_step(dt);
    let mut world = World::new(params).unwrap();

    // All in its lowest mode: a hundredth of a cell at the end.
    let speed = 0.01 * DX * omega;
    let mut state = world.state().clone();
    let soft = &mut state.solids.elastic[0];
    for (x, v) in soft.positions.iter().zip(&mut soft.velocities) {
        *v = DVec3::X * speed * (k * (x.x + DX)).sin() / (k * length).sin();
    }
    state.fluid.velocity.axes[0].fill(speed);
    world.restore(state).unwrap();

    // Times at which the end stands still: half a period apart.
    let mut turns = Vec::new();
    let mut last = speed;
    while turns.len() < 2 {
        let report = world.step().unwrap();
        let next = report.bodies[0].velocity.x;
        if last * next < 0.0 {
            turns.push(report.t - dt * next / (next - last));
        }
        last = next;
        assert!(report.t < 4.0 * std::f64::consts::TAU / omega, "the bar does not swing");
    }
    let found = std::f64::consts::PI / (turns[1] - turns[0]);
    let expected = (omega * dt).atan() / dt;
    println!(
        "channel {width}×{width}, {density} kg/m³: {found:.3} rad/s, exact {expected:.3}: {:+.2} %",
        100.0 * (found / expected - 1.0)
    );
    found / expected - 1.0
}

#[test]
fn a_bar_and_a_column_swing_at_their_frequency() {
    for (width, density) in [(1, 1000.0), (1, 100.0), (3, 1000.0)] {
        let off = frequency_error(width, density);
        assert!(off.abs() < 0.01, "width {width}, {density} kg/m³: off by {off}");
    }
}
