//! Energies of a line of statistics belong to one time, so that what weight alone moves neither wins nor loses any.
//!
//! The velocity v after a step takes everything from x to x + Δt v in the next one: leapfrog, with v in the middle of that step. With it goes
//! x + ½ Δt v. From there to the next pair, v' = v + Δt (g − ∇p) and what pressure does to a flow that keeps volume costs no energy,
//! so that ½ v² − g·(x + ½ Δt v) stays: ½ (v'² − v²) = ½ Δt g·(v + v') = g·(Δt v + ½ Δt v' − ½ Δt v). Taken at x itself, each step
//! would seem to win ½ (g Δt)², in all ½ g Δt times the speed reached.

use crate::support::{fixed_step, particles, still_air, still_water};
use bathtub_engine::fluid::water::{Liquid, Region, Transfer};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::report::StepReport;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidBody};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;
const STEPS: [f64; 3] = [1.0 / 120.0, 1.0 / 60.0, 1.0 / 30.0];

/// A ball of one kilogram in next to no air, `below` a point.
fn ball(below: DVec3) -> WorldParams {
    let mut params = still_air([12; 3], 0.5);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (1e-9, DVec3::NEG_Y * G);
    params.bodies = vec![RigidBody {
        name: "ball".into(),
        shape: Shape::Sphere { radius: 0.2 },
        mass: Mass::Total(1.0),
        interface: Interface::CutCells,
        pose: Pose { position: DVec3::splat(3.0) + below, rotation: DQuat::IDENTITY },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.0,
        restitution: 0.0,
    }];
    params
}

/// Of a ball of one kilogram at this height, J.
fn of_ball(report: &StepReport, height: f64) -> f64 {
    let body = &report.bodies[0];
    let spin = 0.4 * 0.2 * 0.2 * body.angular_velocity.length_squared();
    0.5 * (body.velocity.length_squared() + spin) + G * height
}

/// A block of water in a closed tank, and its energy, J.
fn block(dt: f64, transfer: Transfer) -> (World, f64) {
    let mut params = still_water([32, 32, 1], 1.0 / 32.0, 0.0);
    params.time = fixed_step(dt);
    let water = params.fluid.water_mut().unwrap();
    let pose = Pose { position: DVec3::new(0.25, 0.25, 0.0), rotation: DQuat::IDENTITY };
    let column = Region::Shape(Shape::Box { size: DVec3::new(0.5, 0.5, 1.0) }, pose);
    (water.initial, water.transfer) = (vec![Liquid { region: column, velocity: DVec3::ZERO }], transfer);
    let world = World::new(params).unwrap();
    let each = 1000.0 * world.particle_volume();
    let start = particles(&world).position.iter().map(|x| each * G * x.y).sum();
    (world, start)
}

/// Nothing but weight: constant to round-off, from rest on.
#[test]
fn energy_of_free_fall_is_constant() {
    for dt in STEPS {
        let mut params = ball(DVec3::Y * 2.0);
        params.time = fixed_step(dt);
        let mut world = World::new(params).unwrap();
        for _ in 0..(0.6 / dt) as usize {
            let report = world.step().unwrap();
            let body = &report.bodies[0];
            let energy = of_ball(&report, body.position.y + (report.t_velocity - report.t) * body.velocity.y);
            // 10⁻⁹ of the air that is there, against 1 kg.
            assert!((energy / (5.0 * G) - 1.0).abs() < 1e-9, "{dt}: {energy}");
        }
    }
}

/// To the velocity of what joints hold belongs the middle of its step, like that of free bodies. That is the leapfrog method, whose energy
/// sways by (ω Δt)²/4 of the swing; half-way between two places on the arc is above it by as much again, at most. Joints lose some of it, 4.5 % in four
/// seconds of the longest steps, and never win more than the sway: the bound is its formula, 10⁻³ to 5·10⁻³; found are 4·10⁻⁷ to 7·10⁻⁴. (At t it would seem to win a percent and more.)
#[test]
fn a_pendulum_wins_no_energy() {
    for dt in STEPS {
        let mut params = ball(DVec3::new(1.0, 0.0, 0.0));
        params.joints =
            vec![Joint { kind: JointKind::Hinge { axis: DVec3::Z }, body: 0, other: None, anchor: DVec3::splat(3.0) }];
        params.time = fixed_step(dt);
        let mut world = World::new(params).unwrap();
        let reports: Vec<StepReport> = (0..(4.0 / dt) as usize).map(|_| world.step().unwrap()).collect();
        let [middle, start_of_step] = [0.5, 0.0].map(|part| {
            let height = |pair: &[StepReport]| {
                let [now, next] = [0, 1].map(|n| pair[n].bodies[0].position.y);
                now + part * (next - now)
            };
            let energies = reports.windows(2).map(|pair| (of_ball(&pair[0], height(pair)) - 3.0 * G) / G);
            [f64::max, f64::min].map(|choose| energies.clone().reduce(choose).unwrap())
        });
        let ([most, least], [at_t, _]) = (middle, start_of_step);
        println!("{dt:.4}: {most:+.2e} {least:+.2e}, at t {at_t:+.2e}");
        assert!(most < 0.5 * G * dt * dt && least > -0.1, "{dt}: {most} {least}");
        assert!(at_t > 5e-3, "{dt}: {at_t}: this test could not fail");
    }
}

/// A column of water collapses in a closed tank: its energy never rises above that at the start. What is allowed is a ten-thousandth of it, for the
/// error of third order of the particles' paths; taken at x it would seem to rise by ½ g Δt v, 0.5 to 3 %.
#[test]
fn a_closed_tank_wins_no_energy() {
    for transfer in [Transfer::Apic, Transfer::Flip { pic: 0.03 }] {
        for dt in STEPS {
            let (mut world, start) = block(dt, transfer);
            let (mut most, mut at_t) = (f64::MIN, f64::MIN);
            for _ in 0..(1.0 / dt) as usize {
                let report = world.step().unwrap();
                let fluid = &report.fluid;
                most = most.max(fluid.kinetic + fluid.potential);
                let lead = (report.t_velocity - report.t) * G * fluid.momentum.y;
                at_t = at_t.max(fluid.kinetic + fluid.potential - lead);
            }
            println!("{transfer:?} {dt:.4}: {:+.2e}, at t {:+.2e}", most / start - 1.0, at_t / start - 1.0);
            assert!(most / start - 1.0 < 1e-4, "{transfer:?} {dt}: {}", most / start - 1.0);
            assert!(at_t / start - 1.0 > 1e-3, "{transfer:?} {dt}: this test could not fail");
        }
    }
}
