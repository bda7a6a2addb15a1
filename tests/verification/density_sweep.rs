//! Row C10: bodies of any density for many steps.

use crate::support::still_air;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::Axis;
use bathtub_engine::report::StepReport;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::world::{TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;
const RHO: f64 = 1000.0;
const RADIUS: f64 = 4.0 / 64.0;

/// Added mass of a ball in a box of four times its radius, in units of what it displaces.
const ADDED: f64 = 0.622820;

/// A ball with a radius of 4 cells in a closed box of cells of 1/64 m, 16 wide and `height` high, full of fluid.
pub fn ball(height: usize, ratio: f64, velocity: DVec3, interface: Interface) -> WorldParams {
    let mut params = still_air([16, height, 16], 1.0 / 64.0);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (RHO, DVec3::NEG_Y * G);
    params.bodies = vec![RigidBody {
        name: "ball".into(),
        shape: Shape::Sphere { radius: RADIUS },
        mass: Mass::Density(RHO * ratio),
        interface,
        pose: Pose { position: DVec3::splat(2.0 * RADIUS), rotation: DQuat::IDENTITY },
        velocity,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }];
    params.time = TimeParams { fps: 20.0, cfl: 2.0, max_dt: 0.05, min_dt: 1e-12 };
    params.pressure.params.tolerance = 1e-6;
    params
}

/// First acceleration from rest, in units of g, as in row C1.
fn first_acceleration(ratio: f64, interface: Interface) -> f64 {
    let report = World::new(ball(16, ratio, DVec3::ZERO, interface)).unwrap().step().unwrap();
    report.bodies[0].velocity.y / (report.dt * G)
}

/// A shaft with an open top, so high that nothing gets there in 50 steps of two cells.
const SHAFT: usize = 112;

/// Most iterations and highest speed, m/s, in 50 steps of two cells.
fn fifty_steps(ratio: f64, interface: Interface) -> (usize, f64) {
    let mut params = ball(SHAFT, ratio, DVec3::new(0.3, 0.2, -0.1), interface);
    params.walls[Axis::Y.index()][1] = Wall::Open;
    let mut world = World::new(params).unwrap();
    let (mut iterations, mut speed) = (0, 0.0f64);
    for _ in 0..50 {
        let report = world.step().unwrap();
        let body = &report.bodies[0];
        assert!(report.solver.converged && body.velocity.is_finite() && body.position.is_finite());
        iterations = iterations.max(report.solver.iterations);
        speed = speed.max(body.velocity.length());
    }
    (iterations, speed)
}

/// Row C10. No ball is faster than one that rises all the way with the first acceleration of a weightless one. Stairs have more
/// added mass than the ball, C' for C: row C1 grants (0.1 + C)/(0.1 + C') = 1 − 0.32, and so (M + C)/(M + C') at any density.
#[test]
fn bodies_of_any_density_are_stable() {
    let stairs = (0.1 + ADDED) / (1.0 - 0.32) - 0.1;
    let fastest = (2.0 * G / ADDED * SHAFT as f64 / 64.0).sqrt();
    let mut wrong = false;
    for interface in [Interface::CutCells, Interface::Faces] {
        let (usual, _) = fifty_steps(1.0, interface);
        for ratio in [1e-6, 1e-3, 1e-2, 0.1, 10.0, 1e2, 1e3, 1e4, 1e6] {
            let tolerance = match interface {
                Interface::CutCells => 0.04,
                // And what the solve leaves.
                Interface::Faces => 1.0 - (ratio + ADDED) / (ratio + stairs) + 1e-5,
            };
            let (found, expected) = (first_acceleration(ratio, interface), (1.0 - ratio) / (ratio + ADDED));
            let off = found / expected - 1.0;
            let (iterations, speed) = fifty_steps(ratio, interface);
            println!(
                "{interface:?} {ratio:.0e}: {:+.3} % ({:.3}), {iterations} iterations ({usual}), {speed:.2} m/s",
                100.0 * off,
                100.0 * tolerance
            );
            wrong |= off.abs() > tolerance || iterations > 2 * usual || speed.is_nan() || speed > fastest;
        }
    }
    assert!(!wrong, "see above; {fastest:.2} m/s is the limit");
}

/// The same box with all walls closed, where pressure is known up to a constant: every solve converges, in at most twice the
/// iterations of a ball as dense as the fluid, while balls of all densities hit the floor or the ceiling. (A step in which a ball finds out on which of two walls
/// it leans has several solves, and counts the iterations of all.)
#[test]
fn bodies_of_any_density_in_closed_boxes_cost_few_iterations() {
    let most = |ratio: f64, interface: Interface| {
        let mut world = World::new(ball(16, ratio, DVec3::new(0.3, 0.2, -0.1), interface)).unwrap();
        let of_step = |report: StepReport| report.solver.iterations.div_ceil(report.coupling.iterations);
        (0..50).map(|_| of_step(world.step().unwrap())).max().unwrap()
    };
    let mut wrong = false;
    for interface in [Interface::CutCells, Interface::Faces] {
        let usual = most(1.0, interface);
        for ratio in [1e-6, 1e-4, 1e-3, 1e-2, 0.1, 10.0, 1e2, 1e4, 1e6] {
            let most = most(ratio, interface);
            println!("{interface:?} {ratio:.0e}: at most {most} iterations ({usual})");
            wrong |= most > 2 * usual;
        }
    }
    assert!(!wrong, "see above");
}

/// No pressure turns a ball, however light: errors of its polygons must not either.
#[test]
fn a_light_ball_does_not_spin() {
    for ratio in [1e-6, 1e-3] {
        let mut params = ball(SHAFT, ratio, DVec3::new(0.3, 0.2, -0.1), Interface::CutCells);
        params.bodies[0].friction = 0.0;
        let mut world = World::new(params).unwrap();
        let spin = (0..20).map(|_| world.step().unwrap().bodies[0].angular_velocity.length()).fold(0.0, f64::max);
        assert!(spin * RADIUS < 1e-3, "{ratio:.0e}: {spin} rad/s");
    }
}

/// Where a body stands on the floor the grid has no fluid that could take its place: it rises all the same, in a closed box too.
#[test]
fn a_light_body_leaves_the_floor_of_a_closed_box() {
    for interface in [Interface::CutCells, Interface::Faces] {
        for shape in [Shape::Sphere { radius: RADIUS }, Shape::Box { size: DVec3::splat(2.0 * RADIUS) }] {
            let mut params = ball(16, 0.1, DVec3::ZERO, interface);
            params.bodies[0].pose.position.y = RADIUS;
            params.bodies[0].shape = shape.clone();
            let mut world = World::new(params).unwrap();
            let mut height = 0.0;
            while world.state().time < 0.2 {
                height = world.step().unwrap().bodies[0].position.y;
            }
            println!("{interface:?}, {shape:?}: {:.2} cells up after 0.2 s", 64.0 * (height - RADIUS));
            assert!(height > 1.5 * RADIUS, "{interface:?}, {shape:?}: {height} m");
        }
    }
}
