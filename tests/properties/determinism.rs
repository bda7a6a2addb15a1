//! The same bits for any number of threads, after a restart, and (to round-off) for any order of bodies.

use crate::support::{fixed, still_air};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::fluid::smoke::Source;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::solid::{Motion, Obstacle};
use bathtub_engine::world::{State, World, WorldParams};
use glam::{DQuat, DVec3};

/// A plume past a still ball and a turning paddle, open above.
fn busy() -> WorldParams {
    let mut params = still_air([24, 32, 20], 0.05);
    params.fluid.smoke_mut().unwrap().gravity = DVec3::new(0.0, -9.81, 0.0);
    params.fluid.smoke_mut().unwrap().expansion = 1.0 / 293.0;
    params.fluid.smoke_mut().unwrap().confinement = 0.3;
    params.walls[1][1] = Wall::Open;
    params.pressure.params.tolerance = 1e-6;
    params.time.fps = 24.0;
    params.time.cfl = 2.0;
    params.fluid.smoke_mut().unwrap().sources.push(Source {
        name: "vent".into(),
        shape: Shape::Sphere { radius: 0.2 },
        pose: Pose { position: DVec3::new(0.6, 0.3, 0.45), rotation: DQuat::IDENTITY },
        start: 0.0,
        end: 10.0,
        density: 1.0,
        temperature: 200.0,
        velocity: None,
        flicker: 0.4,
        seed: 7,
    });
    params.obstacles.push(fixed("ball", Shape::Sphere { radius: 0.15 }, DVec3::new(0.55, 0.8, 0.5), DQuat::IDENTITY));
    params.obstacles.push(Obstacle {
        name: "paddle".into(),
        shape: Shape::Box { size: DVec3::new(0.6, 0.07, 0.3) },
        motion: Motion::Steady {
            start: Pose { position: DVec3::new(0.6, 1.25, 0.5), rotation: DQuat::IDENTITY },
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::new(0.0, 0.0, 4.0),
        },
    });
    params
}

fn run(params: WorldParams, steps: usize) -> State {
    let mut world = World::new(params).unwrap();
    for _ in 0..steps {
        world.step().unwrap();
    }
    world.state().clone()
}

/// Row J16.
#[test]
fn one_and_two_threads_give_the_same_bits() {
    let with_threads = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| run(busy(), 12))
    };
    let [one, two, five] = [1, 2, 5].map(with_threads);
    assert!(one == two && one == five);
    assert!(one.fluid.smoke().unwrap().density.data.iter().sum::<f64>() > 0.0);
}

#[test]
fn a_run_continued_from_a_saved_state_gives_the_same_bits() {
    let whole = run(busy(), 14);
    let mut second = World::new(busy()).unwrap();
    second.restore(run(busy(), 6)).unwrap();
    for _ in 6..14 {
        second.step().unwrap();
    }
    assert!(*second.state() == whole);
}

#[test]
fn the_order_of_bodies_does_not_matter() {
    let mut swapped = busy();
    swapped.obstacles.reverse();
    let (a, b) = (run(busy(), 5), run(swapped, 5));
    let difference = a
        .fluid
        .smoke()
        .unwrap()
        .density
        .data
        .iter()
        .zip(&b.fluid.smoke().unwrap().density.data)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, f64::max);
    assert!(difference <= 1e-9, "{difference}");
}

#[test]
fn frames_are_landed_on_exactly() {
    let mut world = World::new(busy()).unwrap();
    let mut last = 0;
    while last < 5 {
        let report = world.step().unwrap();
        assert!(report.cfl <= 2.5, "cfl {}", report.cfl);
        if report.frame > last {
            last = report.frame;
            assert_eq!(world.state().time, last as f64 / 24.0);
        }
    }
}
