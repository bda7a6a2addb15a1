//! Rows D14, D15: air that keeps its volume under water.

use crate::support::{fixed_step, still_water};
use bathtub_engine::fluid::water::{Bubble, Bubbles};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;

/// A box of cells of 1/64 m, full of water up to `level` cells, with a round bubble of `radius` cells around `middle` (cells).
fn with_bubble(dims: [usize; 3], level: f64, middle: DVec3, radius: f64, rule: Bubbles) -> WorldParams {
    let dx = 1.0 / 64.0;
    let mut params = still_water(dims, dx, level * dx);
    let is_flat = dims[2] == 1;
    let shape = match is_flat {
        true => Shape::Cylinder { radius: radius * dx, height: 4.0 * dx },
        false => Shape::Sphere { radius: radius * dx },
    };
    let rotation = if is_flat { DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2) } else { DQuat::IDENTITY };
    let water = params.fluid.water();
    water.air = vec![(shape, Pose { position: middle * dx, rotation })];
    water.bubbles = rule;
    params
}

fn bubbles(world: &World) -> &[Bubble] {
    &world.state().fluid.water().unwrap().bubbles
}

/// Row D14: the bubble of a closed box that is full otherwise. Its centroid moves with V dX/dt = ∫ u dV over it; as nothing flows
/// through the box's sides, ∫ u dV over the whole box is zero, and so V dX/dt = −(momentum of the water) ÷ ρ.
#[test]
fn bubbles_start_to_rise_as_their_added_mass_tells() {
    let mut wrong = false;
    let mut check = |dims: [usize; 3], radius: f64, expected: f64| {
        let middle = DVec3::from(dims.map(|n| 0.5 * n as f64));
        let mut params = with_bubble(dims, 1e3, middle, radius, Bubbles::Sealed);
        let dt = 1e-3;
        params.time = fixed_step(dt);
        let mut world = World::new(params).unwrap();
        let room: f64 = bubbles(&world).iter().map(|b| b.room).sum();
        let report = world.step().unwrap();
        let cell = (1.0f64 / 64.0).powi(3);
        let volume = cell * dims.iter().product::<usize>() as f64 - report.fluid.mass / 1000.0;
        let found = -report.fluid.momentum.y / (1000.0 * volume * dt * G);
        println!(
            "{dims:?} R = {radius}: {found:.4} g, exact {expected:.4}, {:+.2} %; {} pockets, room {:+.2} %, {} iterations",
            100.0 * (found / expected - 1.0),
            bubbles(&world).len(),
            100.0 * (room / volume - 1.0),
            report.solver.iterations
        );
        wrong |= (found / expected - 1.0).abs() > 0.04;
    };
    check([64; 3], 8.0, 1.9443);
    check([48; 3], 9.0, 1.8199);
    check([32; 3], 8.0, 1.6056);
    check([128, 128, 1], 8.0, 0.9735);
    check([64, 64, 1], 8.0, 0.8981);
    check([32, 32, 1], 8.0, 0.6463);
    assert!(!wrong, "beyond tolerance, see above");
}

/// Row D15: over the whole rise the bubble keeps its volume, and nothing flows through its surface that should not.
#[test]
fn bubbles_keep_their_volume_on_the_way_up() {
    for dims in [[48, 96, 1], [32, 64, 32]] {
        let middle = DVec3::new(0.5 * dims[0] as f64, 16.0, 0.5 * dims[2] as f64);
        let mut params = with_bubble(dims, 0.75 * dims[1] as f64, middle, 7.0, Bubbles::On);
        params.time.fps = 60.0;
        params.time.max_dt = 1.0 / 60.0;
        let mut world = World::new(params).unwrap();
        let start: f64 = bubbles(&world).iter().map(|b| b.room).sum();
        for n in 0..60 {
            let report = world.step().unwrap();
            let Some(b) = report.bubbles else {
                println!("{dims:?} step {n}: gone at {}", report.t);
                break;
            };
            println!(
                "{dims:?} step {n} t {:.3}: {} bubbles, air {:+.2} %, room {:+.2} %, largest at {:.3} flux {:.1e} it {} speed {:.2} verr {:.4}",
                report.t,
                b.count,
                100.0 * (b.air / start - 1.0),
                100.0 * (b.volume / start - 1.0),
                b.largest_position.y,
                b.flux_error,
                report.solver.iterations,
                report.max_speed,
                report.ledger.volume_error
            );
        }
    }
}
