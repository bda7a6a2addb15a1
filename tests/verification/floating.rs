//! Row C8: floating bodies come to rest at the right depth.

use bathtub_bench::worlds::still_water;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::world::{TimeParams, World};
use glam::{DQuat, DVec3};

/// A body that starts at rest.
fn body(shape: Shape, ratio: f64, position: DVec3, interface: Interface) -> RigidBody {
    RigidBody {
        name: "body".into(),
        shape,
        mass: Mass::Density(1000.0 * ratio),
        interface,
        pose: Pose { position, rotation: DQuat::IDENTITY },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }
}

/// Mean height of a body's centre over the last two of eight seconds, m. It is set down on water 0.5 m deep in a tank of
/// 1 m × 1 m.
fn resting_height(shape: Shape, ratio: f64, half_height: f64, interface: Interface) -> f64 {
    let n = 24;
    let mut params = still_water([n, n, n], 1.0 / n as f64, 0.5);
    params.time = TimeParams { fps: 30.0, cfl: 2.0, max_dt: 1.0 / 60.0, min_dt: 1e-9 };
    params.pressure.params.tolerance = 1e-6;
    params.bodies = vec![body(shape, ratio, DVec3::new(0.5, 0.5 + half_height, 0.5), interface)];
    let mut world = World::new(params).unwrap();
    let (mut sum, mut count) = (0.0, 0.0);
    while world.state().time < 8.0 {
        let report = world.step().unwrap();
        if report.t > 6.0 {
            sum += report.bodies[0].position.y;
            count += 1.0;
        }
    }
    sum / count
}

#[test]
fn bodies_float_at_the_depth_of_archimedes() {
    let (radius, dx) = (0.2, 1.0 / 24.0);
    let ball = 4.0 / 3.0 * std::f64::consts::PI * f64::powi(radius, 3);
    let mut wrong = false;
    for (ratio, draft) in [(0.1, 0.39160), (0.5, 1.0), (0.9, 1.60840)] {
        // What the ball displaces raises the level of the tank.
        let level = 0.5 + ratio * ball;
        let expected = level - draft * radius + radius;
        let found = resting_height(Shape::Sphere { radius }, ratio, radius, Interface::CutCells);
        println!("ball of {ratio}: {found:.4} m, exact {expected:.4}, {:+.2} cells", (found - expected) / dx);
        wrong |= (found - expected).abs() > 0.75 * dx;
    }
    let (ratio, height, area) = (0.7, 0.2, 0.3 * 0.3);
    let expected = 0.5 + ratio * height * area - ratio * height + 0.5 * height;
    let found =
        resting_height(Shape::Box { size: DVec3::new(0.3, height, 0.3) }, ratio, 0.5 * height, Interface::CutCells);
    println!("box of {ratio}: {found:.4} m, exact {expected:.4}, {:+.2} cells", (found - expected) / dx);
    wrong |= (found - expected).abs() > 0.75 * dx;
    assert!(!wrong, "beyond 0.75 cells, see above");
}

/// The same with face constraints, which see a ball as stairs.
#[test]
fn stairs_float_nearly_so() {
    let (radius, dx) = (0.2, 1.0 / 24.0);
    let ball = 4.0 / 3.0 * std::f64::consts::PI * f64::powi(radius, 3);
    for (ratio, draft) in [(0.25, 0.65270), (0.75, 1.34730)] {
        let expected = 0.5 + ratio * ball - draft * radius + radius;
        let found = resting_height(Shape::Sphere { radius }, ratio, radius, Interface::Faces);
        println!("stairs of {ratio}: {found:.4} m, exact {expected:.4}, {:+.2} cells", (found - expected) / dx);
        assert!((found - expected).abs() <= 1.5 * dx, "{ratio}: {found} m, expected {expected}");
    }
}

/// Cork on the floor of a tank comes up: the film of water beneath it has the pressure around.
#[test]
fn cork_rises_from_the_floor() {
    for interface in [Interface::CutCells, Interface::Faces] {
        for (shape, half) in
            [(Shape::Sphere { radius: 0.125 }, 0.125), (Shape::Box { size: DVec3::new(0.25, 0.125, 0.25) }, 0.0625)]
        {
            let mut params = still_water([16; 3], 1.0 / 16.0, 0.75);
            params.time = TimeParams { fps: 30.0, cfl: 2.0, max_dt: 1.0 / 60.0, min_dt: 1e-9 };
            params.bodies = vec![body(shape.clone(), 0.25, DVec3::new(0.5, half, 0.5), interface)];
            let mut world = World::new(params).unwrap();
            let mut height = 0.0;
            while world.state().time < 3.0 {
                height = world.step().unwrap().bodies[0].position.y;
            }
            println!("{interface:?}, {shape:?}: at {height:.3} m after 3 s");
            assert!(height > 0.7, "{interface:?}, {shape:?}: {height} m");
        }
    }
}
