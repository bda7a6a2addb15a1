//! Rows C1, C2, C5: a body released in a closed box full of fluid. Its first acceleration tells buoyancy and added mass.

use bathtub_bench::worlds::still_air;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::world::{TimeParams, World};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;

/// A body of density ratio `ratio` in a closed box of `dims` cells of 1/64 m, full of a fluid with density 1000.
fn release(dims: [usize; 3], shape: Shape, pose: Pose, ratio: f64, gravity: DVec3, interface: Interface) -> World {
    let mut params = still_air(dims, 1.0 / 64.0);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (1000.0, gravity);
    params.bodies = vec![RigidBody {
        name: "body".into(),
        shape,
        mass: Mass::Density(1000.0 * ratio),
        interface,
        pose,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }];
    params.time = TimeParams { fps: 100.0, cfl: 1e9, max_dt: 0.01, min_dt: 1e-12 };
    World::new(params).unwrap()
}

/// Acceleration in the first step, in units of g along −y.
fn first_acceleration(world: &mut World) -> f64 {
    let report = world.step().unwrap();
    report.bodies[0].velocity.y / (0.01 * G)
}

fn middle(dims: [usize; 3]) -> Pose {
    let half = DVec3::from(dims.map(|n| 0.5 * n as f64 / 64.0));
    Pose { position: half, rotation: DQuat::IDENTITY }
}

#[test]
fn spheres_feel_buoyancy_and_added_mass() {
    let mut wrong = false;
    // a/L = 1/8: C = .514326; a/L = 1/4: C = .622820.
    for (cells, radius, added, tolerance) in
        [(16, 4, 0.622820, 0.04), (32, 8, 0.622820, 0.015), (32, 4, 0.514326, 0.04), (64, 8, 0.514326, 0.015)]
    {
        for ratio in [0.01, 0.1, 0.5, 2.0, 10.0] {
            let dims = [cells; 3];
            let shape = Shape::Sphere { radius: radius as f64 / 64.0 };
            let mut world = release(dims, shape, middle(dims), ratio, DVec3::NEG_Y * G, Interface::CutCells);
            let (found, expected) = (first_acceleration(&mut world), (1.0 - ratio) / (ratio + added));
            println!(
                "sphere R={radius} L={cells} M={ratio}: {found:.5}, exact {expected:.5}, {:+.2} %",
                100.0 * (found / expected - 1.0)
            );
            wrong |= (found / expected - 1.0).abs() > tolerance;
        }
    }
    assert!(!wrong, "beyond tolerance, see above");
}

#[test]
fn cylinders_in_the_plane_feel_buoyancy_and_added_mass() {
    let mut wrong = false;
    for (cells, radius, added, tolerance) in [
        (16, 4, 1.547283, 0.05),
        (32, 8, 1.547283, 0.02),
        (64, 16, 1.547283, 0.008),
        (128, 32, 1.547283, 0.004),
        (64, 8, 1.113522, 0.02),
    ] {
        for ratio in [0.01, 0.1, 0.5, 2.0, 10.0] {
            let dims = [cells, cells, 1];
            let shape = Shape::Cylinder { radius: radius as f64 / 64.0, height: 1.0 / 64.0 };
            let turned = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..middle(dims) };
            let mut world = release(dims, shape, turned, ratio, DVec3::NEG_Y * G, Interface::CutCells);
            let (found, expected) = (first_acceleration(&mut world), (1.0 - ratio) / (ratio + added));
            println!(
                "cylinder R={radius} L={cells} M={ratio}: {found:.5}, exact {expected:.5}, {:+.2} %",
                100.0 * (found / expected - 1.0)
            );
            wrong |= (found / expected - 1.0).abs() > tolerance;
        }
    }
    assert!(!wrong, "beyond tolerance, see above");
}

/// Row C5: as heavy as the fluid, a body stays where it is.
#[test]
fn neutral_bodies_stay() {
    let cube = Shape::Box { size: DVec3::splat(8.0 / 64.0) };
    let dims = [24, 24, 24];
    let mut world = release(dims, cube, middle(dims), 1.0, DVec3::NEG_Y * G, Interface::CutCells);
    let found = first_acceleration(&mut world);
    assert!(found.abs() <= 1e-9, "aligned cube: {found} g");
}

/// Row B5 in motion, and C5 for a ball: with the whole weight of fluid and body and the pressure that carries it, a neutral
/// body is held by the volume its faces close, V_h; see the row for V_h/V.
#[test]
fn pressure_carries_what_the_body_displaces() {
    let held = |shape: Shape, dims: [usize; 3]| {
        let mut world = release(dims, shape, middle(dims), 1.0, DVec3::ZERO, Interface::CutCells);
        let mut params = world.params().clone();
        params.fluid.smoke_mut().unwrap().acceleration = DVec3::NEG_Y * G;
        world = World::new(params).unwrap();
        first_acceleration(&mut world)
    };
    let cube = held(Shape::Box { size: DVec3::splat(8.0 / 64.0) }, [24; 3]);
    assert!(cube.abs() <= 1e-9, "aligned cube: {cube} g");
    for radius in [4.0, 8.0] {
        let ball = held(Shape::Sphere { radius: radius / 64.0 }, [32; 3]);
        println!("neutral ball R={radius}: {ball:.5} g");
        assert!(ball.abs() <= 0.3 / (radius * radius), "R={radius}: {ball} g");
    }
}

/// Rows C1 and C2 with face constraints, which see a ball as stairs: off by the row's first-order figures, and never more.
#[test]
fn stairs_feel_buoyancy_and_added_mass_to_first_order() {
    let ball = |radius: f64| Shape::Sphere { radius };
    let disc = |radius: f64| Shape::Cylinder { radius, height: 1.0 / 64.0 };
    let turned = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let mut wrong = false;
    for (is_flat, radius, ratio, tolerance) in [
        (false, 4, 0.1, 0.32),
        (false, 8, 0.1, 0.20),
        (false, 4, 2.0, 0.12),
        (false, 8, 2.0, 0.07),
        (true, 4, 0.1, 0.23),
        (true, 8, 0.1, 0.14),
        (true, 16, 0.1, 0.08),
        (true, 32, 0.1, 0.04),
    ] {
        let n = 8 * radius;
        let (dims, added) = if is_flat { ([n, n, 1], 1.113522) } else { ([n; 3], 0.514326) };
        let (shape, rotation) =
            if is_flat { (disc(radius as f64 / 64.0), turned) } else { (ball(radius as f64 / 64.0), DQuat::IDENTITY) };
        let pose = Pose { rotation, ..middle(dims) };
        let mut world = release(dims, shape, pose, ratio, DVec3::NEG_Y * G, Interface::Faces);
        let (found, expected) = (first_acceleration(&mut world), (1.0 - ratio) / (ratio + added));
        let off = found / expected - 1.0;
        println!("stairs {dims:?} R={radius} M={ratio}: {found:.5}, exact {expected:.5}, {:+.1} %", 100.0 * off);
        wrong |= off.abs() > tolerance;
    }
    assert!(!wrong, "beyond tolerance, see above");
}

/// Row C5 with face constraints and the whole weight: the fluid on a body's faces counts half, and a neutral one stays exactly at
/// rest, if its mass and its centre are those of its cells.
#[test]
fn neutral_stairs_stay() {
    for offset in [0.0, 0.004, -0.0078] {
        let cube = Shape::Box { size: DVec3::splat(8.0 / 64.0) };
        let dims = [24, 24, 24];
        let pose = Pose { position: middle(dims).position + DVec3::Y * offset, ..middle(dims) };
        let mut params = release(dims, cube, pose, 1.0, DVec3::ZERO, Interface::Faces).params().clone();
        params.fluid.smoke_mut().unwrap().acceleration = DVec3::NEG_Y * G;
        let found = first_acceleration(&mut World::new(params).unwrap());
        assert!(found.abs() <= 1e-9, "off by {offset}: {found} g");
    }
}
