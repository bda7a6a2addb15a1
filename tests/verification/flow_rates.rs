//! How fast water runs out.

use crate::support::{film, fixed, particles, still_water};
use bathtub_engine::fluid::water::{Drain, Region};
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
    let (tank, slot, level) = (45.0 * dx, [13.0 * dx, 19.0 * dx], 0.85);
    let block = |low: DVec3, high: DVec3| (Shape::Box { size: high - low }, 0.5 * (low + high));
    let (shape, position) = block(DVec3::splat(-1.0), DVec3::new(tank, level, 1.0));
    params.fluid.water().initial[0].region = Region::Shape(shape, at(position));
    for (name, low, high) in [("lower wall", -1.0, slot[0]), ("upper wall", slot[1], 2.0)] {
        let (shape, position) = block(DVec3::new(tank, low, -1.0), DVec3::new(tank + 3.0 * dx, high, 1.0));
        params.obstacles.push(fixed(name, shape, position, DQuat::IDENTITY));
    }
    let (shape, position) = block(DVec3::new(tank + 3.0 * dx, -1.0, -1.0), DVec3::new(2.0, 0.1, 1.0));
    params.fluid.water().drains.push(Drain { shape, pose: at(position), start: 0.0, end: 100.0 });
    let mut world = World::new(params);
    let (mut sum, mut count) = (0.0, 0.0);
    while world.state().time < 0.8 {
        world.step().unwrap();
        if world.state().time < 0.3 {
            continue;
        }
        let water = particles(&world);
        let level = water.position.iter().filter(|x| x.x < tank).count() as f64 * dx * dx / 9.0 / tank;
        for (x, v) in water.position.iter().zip(&water.velocity) {
            if (tank + 3.0 * dx..tank + 6.0 * dx).contains(&x.x) && x.y < slot[1] {
                sum += v.length() / (2.0 * 9.81 * (level - x.y)).sqrt();
                count += 1.0;
            }
        }
    }
    let ratio = sum / count;
    println!("Torricelli: {ratio:.4} of {count} particles");
    assert!((ratio - 1.0).abs() <= 0.1, "{ratio} of the speed of free fall");
}
