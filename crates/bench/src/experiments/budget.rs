//! \[A18, Fig. 9\]: what becomes of a rising box, and of fifteen balls, when every solve is stopped early.
//!
//! Budgets are counted in iterations, so that results do not depend on the machine.

use crate::worlds::still_air;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::Axis;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::solve::PressureSolver;
use bathtub_engine::world::{StepError, TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};

/// Steps of a run, and their length, s: the 0.6 s of the paper.
pub const STEPS: usize = 60;
const DT: f64 = 0.01;

/// kg/m³, like water.
const FLUID: f64 = 1000.0;

/// What a run gave.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// How high the box rose, m.
    pub rise: f64,
    /// Fastest the box ever was, m/s.
    pub fastest: f64,
    /// Mean iterations of a solve.
    pub iterations: f64,
    /// Mean residual that a solve leaves, ÷ its right-hand side.
    pub residual: f64,
    /// Mean time of an iteration, set-up included, ms.
    pub iteration_ms: f64,
}

/// A tank of 1 m × 1 m and twice as high, `n` cells wide, with an open top.
fn tank(n: usize, solver: PressureSolver, most: Option<usize>) -> WorldParams {
    let mut params = still_air([n, 2 * n, n], 1.0 / n as f64);
    params.walls[Axis::Y.index()][1] = Wall::Open;
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (FLUID, DVec3::new(0.0, -9.81, 0.0));
    params.pressure.solver = solver;
    params.pressure.strict = false;
    params.pressure.params.tolerance = 1e-6;
    params.pressure.params.max_iterations = most.unwrap_or(10_000);
    params.time = TimeParams { fps: 1.0 / DT, cfl: 1e9, max_dt: DT, min_dt: 1e-9 };
    params
}

fn body(name: String, shape: Shape, ratio: f64, pose: Pose, interface: Interface) -> RigidBody {
    RigidBody {
        name,
        shape,
        mass: Mass::Density(FLUID * ratio),
        interface,
        pose,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.2,
    }
}

/// A box half as heavy as the fluid rises for 0.6 s; a solve has at most `most` iterations.
pub fn rising_box(n: usize, solver: PressureSolver, most: Option<usize>) -> Result<Course, StepError> {
    let mut params = tank(n, solver, most);
    let rotation = DQuat::from_axis_angle(DVec3::new(0.5, 0.3, 1.0).normalize(), 0.2);
    let pose = Pose { position: DVec3::new(0.5, 0.5, 0.5), rotation };
    params.bodies = vec![body("box".into(), Shape::Box { size: DVec3::splat(0.25) }, 0.5, pose, Interface::Faces)];
    let mut world = World::new(params).expect("a box that fits");
    let (mut fastest, mut iterations, mut residual, mut ms, mut height) = (0.0f64, 0.0, 0.0, 0.0, 0.5);
    for _ in 0..STEPS {
        let report = world.step()?;
        fastest = fastest.max(report.bodies[0].velocity.length());
        iterations += report.solver.iterations as f64;
        residual += report.solver.residual;
        ms += report.solver.ms;
        height = report.bodies[0].position.y;
    }
    let steps = STEPS as f64;
    let (rise, iteration_ms) = (height - 0.5, ms / iterations);
    Ok(Course { rise, fastest, iterations: iterations / steps, residual: residual / steps, iteration_ms })
}

/// Fifteen balls, the lower five lighter than the fluid and the upper ten heavier, meet each other; a solve has at most `most`
/// iterations. How deep any two of them, or one and a wall, ever were in each other, m, and the fastest they were, m/s.
pub fn fifteen_balls(n: usize, most: usize) -> Result<(f64, f64), StepError> {
    let radius = 0.12;
    let mut params = tank(n, PressureSolver::Multigrid, Some(most));
    params.bodies = (0..15)
        .map(|i| {
            let (row, place) = (i / 5, i % 5);
            let corner = [DVec3::new(0.2, 0.0, 0.2), DVec3::new(0.8, 0.0, 0.2), DVec3::new(0.5, 0.0, 0.5)];
            let across = corner.get(place).copied().unwrap_or(DVec3::new(0.2 + 0.6 * (place - 3) as f64, 0.0, 0.8));
            let position = across + DVec3::new(0.01 * row as f64, 0.3 + 0.5 * row as f64, 0.0);
            let pose = Pose { position, rotation: DQuat::IDENTITY };
            let ratio = if row == 0 { 0.1 } else { [2.0, 5.0][row - 1] };
            body(format!("ball-{i}"), Shape::Sphere { radius }, ratio, pose, Interface::CutCells)
        })
        .collect();
    let mut world = World::new(params).expect("balls that fit");
    let (mut deepest, mut fastest) = (0.0f64, 0.0f64);
    for _ in 0..2 * STEPS {
        let report = world.step()?;
        for (i, a) in report.bodies.iter().enumerate() {
            fastest = fastest.max(a.velocity.length());
            for b in &report.bodies[..i] {
                deepest = deepest.max(2.0 * radius - a.position.distance(b.position));
            }
            let low = a.position.min_element();
            let high = (1.0 - a.position.x).min(1.0 - a.position.z);
            deepest = deepest.max(radius - low.min(high));
        }
    }
    Ok((deepest, fastest))
}
