//! How fast water comes in, rises and runs out.

use crate::support::{film, fixed, particles, still_water};
use bathtub_engine::fluid::water::{Drain, Region, WaterSource};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::World;
use glam::{DQuat, DVec3};

fn at(position: DVec3) -> Pose {
    Pose { position, rotation: DQuat::IDENTITY }
}

/// Torricelli: through a slot in its wall, water of depth h leaves with v = √(2 g h). Along the jet v² = 2 g (H − y), H the
/// level in the tank.
#[test]
fn water_leaves_a_slot_with_the_speed_of_free_fall() {
    let dx = 1.0 / 64.0;
    let mut params = still_water([80, 64, 1], dx, 0.0);
    params.time = film();
    params.time.cfl = 1.0;
    params.pressure.params.tolerance = 1e-6;
    let (tank, slot, level) = (0.7, [0.2, 0.3], 0.85);
    let block = |low: DVec3, high: DVec3| (Shape::Box { size: high - low }, 0.5 * (low + high));
    let (shape, position) = block(DVec3::splat(-1.0), DVec3::new(tank, level, 1.0));
    params.fluid.water_mut().unwrap().initial[0].region = Region::Shape(shape, at(position));
    for (name, low, high) in [("lower wall", -1.0, slot[0]), ("upper wall", slot[1], 2.0)] {
        let (shape, position) = block(DVec3::new(tank, low, -1.0), DVec3::new(tank + 0.05, high, 1.0));
        params.obstacles.push(fixed(name, shape, position, DQuat::IDENTITY));
    }
    let (shape, position) = block(DVec3::new(tank + 0.05, -1.0, -1.0), DVec3::new(2.0, 0.1, 1.0));
    params.fluid.water_mut().unwrap().drains.push(Drain { shape, pose: at(position), start: 0.0, end: 100.0 });
    let mut world = World::new(params).unwrap();
    let (mut sum, mut count) = (0.0, 0.0);
    while world.state().time < 0.8 {
        world.step().unwrap();
        if world.state().time < 0.3 {
            continue;
        }
        let water = particles(&world);
        let level = water.position.iter().filter(|x| x.x < tank).count() as f64 * dx * dx / 9.0 / tank;
        for (x, v) in water.position.iter().zip(&water.velocity) {
            if (tank + 0.05..tank + 0.10).contains(&x.x) && x.y < slot[1] {
                sum += v.length() / (2.0 * 9.81 * (level - x.y)).sqrt();
                count += 1.0;
            }
        }
    }
    let ratio = sum / count;
    println!("Torricelli: {ratio:.4} of {count} particles");
    assert!((ratio - 1.0).abs() <= 0.1, "{ratio} of the speed of free fall");
}

/// A jet delivers area × speed × time, give or take the layer of particles that is just leaving (2 % of what is
/// counted here).
#[test]
fn a_jet_delivers_its_flow() {
    for (velocity, frames) in [(DVec3::new(2.0, 0.0, 0.0), 14), (DVec3::new(0.9, 0.0, 0.0), 30)] {
        let dx = 1.0 / 24.0;
        let mut params = still_water([36, 24, 24], dx, 0.0);
        params.time = film();
        params.fluid.water_mut().unwrap().gravity = DVec3::ZERO;
        let size = DVec3::new(2.0, 6.0, 6.0) * dx;
        params.fluid.water_mut().unwrap().sources.push(WaterSource {
            shape: Shape::Box { size },
            pose: at(DVec3::new(3.0, 14.0, 12.0) * dx),
            start: 0.0,
            end: 100.0,
            velocity: Some(velocity),
            rate: 0.0,
        });
        let mut world = World::new(params).unwrap();
        // From when it has filled itself on.
        let mut emitted_until = |frame: u64| loop {
            let report = world.step().unwrap();
            if report.frame == frame {
                return report.fluid.emitted;
            }
        };
        let (before, after) = (emitted_until(3), emitted_until(3 + frames));
        // What leaves through each of the box's sides.
        let areas = DVec3::new(size.y * size.z, size.z * size.x, size.x * size.y);
        let expected = velocity.abs().dot(areas) * frames as f64 / 24.0;
        let ratio = (after - before) / expected;
        println!("jet {velocity}: {ratio:.4}");
        assert!((ratio - 1.0).abs() <= 0.05, "{velocity}: {ratio} of the flow");
    }
}

/// A spring under water raises the level by Q t/A.
#[test]
fn a_spring_raises_the_level() {
    let dx = 1.0 / 20.0;
    for rate in [0.02, 0.05] {
        let mut params = still_water([20, 24, 16], dx, 0.5);
        params.time = film();
        params.fluid.water_mut().unwrap().sources.push(WaterSource {
            shape: Shape::Sphere { radius: 0.15 },
            pose: at(DVec3::new(0.4, 0.25, 0.4)),
            start: 0.0,
            end: 100.0,
            velocity: None,
            rate,
        });
        let mut world = World::new(params).unwrap();
        let first = world.step().unwrap();
        let mut last = first.clone();
        let end = 0.16 / rate;
        while world.state().time < end {
            last = world.step().unwrap();
        }
        let (time, area) = (last.t - first.t, 20.0 * 16.0 * dx * dx);
        let rise = rate * time / area;
        let filled = (last.fluid.volume - first.fluid.volume) / area / rise;
        let emitted = (last.fluid.emitted - first.fluid.emitted) / area / rise;
        println!("spring {rate}: filled {filled:.4}, emitted {emitted:.4} of {rise:.3} m");
        assert!((filled - 1.0).abs() <= 0.02, "rate {rate}: the level rose by {filled} of Q t/A");
        assert!((emitted - 1.0).abs() <= 0.02, "rate {rate}: {emitted} of Q t came in");
    }
}
