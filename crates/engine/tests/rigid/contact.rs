//! Contact, friction, restitution, stacking.

use crate::support::*;
use bathtub_engine::geometry::{Bounds, Pose, Shape};
use bathtub_engine::solid::rigid::{Mass, RigidError, RigidEvent, RigidWarning, Rigids, Room};
use bathtub_engine::solid::{Motion, Obstacle};
use glam::{DQuat, DVec3};

/// A block on a slope of 20° that is the top of a big box.
fn slope(friction: f64, speed: f64) -> (Scene, DVec3) {
    let angle = 20f64.to_radians();
    let rotation = DQuat::from_rotation_z(-angle);
    let (down, up) = (rotation * DVec3::X, rotation * DVec3::Y);
    let ramp = Shape::Box { size: DVec3::new(40.0, 1.0, 10.0) };
    let ramp = still("ramp", ramp, Pose { position: -0.5 * up, rotation });
    let mut block = body("block", Shape::Box { size: DVec3::new(0.4, 0.2, 0.4) }, 0.1 * up);
    block.pose.rotation = rotation;
    block.friction = friction;
    block.velocity = speed * down;
    let room = Room { gravity: DVec3::new(0.0, -G, 0.0), ..space() };
    (Scene::new(&[block], &[], &[ramp], room), down)
}

/// Row E5: v₀²/(2g(μ cos θ − sin θ)) = 1.59493 m.
#[test]
fn row_e5_a_block_slides_to_a_stop_and_sticks() {
    let (mut scene, down) = slope(0.5, 2.0);
    let start = scene.position(0);
    for _ in 0..3000 {
        scene.step(1e-3);
    }
    let slid = (scene.position(0) - start).dot(down);
    assert!((slid / 1.59493 - 1.0).abs() < 0.02, "slid {slid} m");
    let stopped = scene.position(0);
    for _ in 0..10_000 {
        scene.step(1e-3);
    }
    let creep = scene.position(0).distance(stopped);
    assert!(creep < 1e-4, "crept {creep} m in 10 s");
    println!("E5: slid {slid} m, crept {creep} m");
}

/// Row E5, the other side: with μ < tan θ = 0.364 it slides on, a = g(sin θ − μ cos θ).
#[test]
fn row_e5_too_little_friction_does_not_hold() {
    let (mut scene, down) = slope(0.2, 0.0);
    let start = scene.position(0);
    for _ in 0..1000 {
        scene.step(1e-3);
    }
    let (sin, cos) = 20f64.to_radians().sin_cos();
    let slid = (scene.position(0) - start).dot(down);
    let exact = 0.5 * G * (sin - 0.2 * cos);
    assert!((slid / exact - 1.0).abs() < 0.02, "{slid} m instead of {exact} m");
}

/// Row E6: h_k = h₀e^{2k}.
#[test]
fn row_e6_a_ball_bounces_to_the_right_heights() {
    let (e, h0, radius) = (0.8, 1.0, 0.1);
    let mut ball = body("ball", Shape::Sphere { radius }, DVec3::new(0.0, h0 + radius, 0.0));
    ball.restitution = e;
    let mut scene = Scene::new(&[ball], &[], &[], floor());
    let (mut peaks, mut last) = (Vec::new(), scene.state.bodies[0].velocity.y);
    while peaks.len() < 3 {
        scene.step(1e-3);
        let v = scene.state.bodies[0].velocity.y;
        if last > 0.0 && v <= 0.0 {
            peaks.push(scene.position(0).y - radius);
        }
        last = v;
    }
    println!("E6: {peaks:?}");
    for (k, peak) in peaks.iter().enumerate() {
        let exact = h0 * f64::powi(e, 2 * (k as i32 + 1));
        assert!((peak / exact - 1.0).abs() < 0.02, "bounce {k}: {peak} instead of {exact}");
    }
}

/// Row E7.
#[test]
fn row_e7_a_stack_of_ten_stands_for_ten_seconds() {
    for dt in [1.0 / 1000.0, 1.0 / 240.0, 1.0 / 60.0] {
        let boxes: Vec<_> =
            (0..10).map(|i| body(&format!("box {i}"), cube(1.0), DVec3::new(0.0, 0.5 + i as f64, 0.0))).collect();
        let mut scene = Scene::new(&boxes, &[], &[], floor());
        let mut drift = 0.0f64;
        while scene.time < 10.0 {
            scene.step(dt);
            for (i, start) in boxes.iter().enumerate() {
                drift = drift.max(scene.position(i).distance(start.pose.position));
            }
        }
        println!("E7 at dt {dt}: drift {drift}");
        assert!(drift < 0.02, "dt {dt}: drifted by {drift} of a box");
    }
}

/// Row E11: bodies that collide, rub and push in space keep linear and angular momentum.
#[test]
fn row_e11_collisions_keep_momentum() {
    let mut r = random(5);
    let shapes = [cube(0.5), Shape::Sphere { radius: 0.3 }, Shape::Capsule { radius: 0.2, height: 0.4 }];
    let bodies: Vec<_> = (0..12)
        .map(|i| {
            let at = DVec3::new((i % 3) as f64, (i / 3 % 2) as f64, (i / 6) as f64) * 0.8;
            let mut b = body(&format!("{i}"), shapes[i % 3].clone(), at);
            b.velocity = -2.0 * (at - 0.7) + DVec3::new(r(), r(), r());
            b.spin = 3.0 * DVec3::new(r(), r(), r());
            b.mass = Mass::Total(1.5 + r());
            b.restitution = 0.3;
            b
        })
        .collect();
    let mut scene = Scene::new(&bodies, &[], &[], space());
    let ((p0, l0), e0) = (scene.momentum(), scene.kinetic_energy());
    for _ in 0..1000 {
        scene.step(1.0 / 240.0);
    }
    let (p, l) = scene.momentum();
    let scale = (2.0 * e0 * 18.0).sqrt();
    println!(
        "E11: Δp {:e} ΔL {:e} of {scale}; energy {} of {e0}",
        (p - p0).length(),
        (l - l0).length(),
        scene.kinetic_energy()
    );
    assert!(scene.kinetic_energy() < 0.9 * e0, "nothing collided");
    assert!((p - p0).length() < 1e-12 * scale && (l - l0).length() < 1e-12 * scale);
}

/// A pool's heavy block: the water lifts with less than its weight, the floor carries the rest.
#[test]
fn a_block_on_the_floor_stays_there_though_it_is_lifted() {
    let mut scene = Scene::new(&[body("block", cube(0.4), DVec3::new(0.0, 0.2, 0.0))], &[], &[], floor());
    let dt = 1.0 / 60.0;
    for _ in 0..240 {
        scene.rigids.predict(&mut scene.state, 0.0, dt);
        scene.rigids.apply_impulse(&mut scene.state, 0, DVec3::new(0.0, 0.6 * G * dt, 0.0), DVec3::ZERO);
        scene.rigids.advance(&mut scene.state, 0.0, dt).unwrap();
        let b = &scene.state.bodies[0];
        assert!((b.position.y - 0.2).abs() < 1e-4 && b.velocity.length() < 1e-2, "{} {}", b.position, b.velocity);
    }
    // What predict says without a lift is what happens.
    scene.rigids.predict(&mut scene.state, 0.0, dt);
    let predicted = scene.state.bodies[0].velocity;
    scene.rigids.advance(&mut scene.state, 0.0, dt).unwrap();
    let difference = (scene.state.bodies[0].velocity - predicted).length();
    assert!(difference < 1e-15, "{difference}");
}

/// A scripted belt carries a box along by friction, a scripted wall pushes one.
#[test]
fn scripted_solids_carry_and_push() {
    let steady = |velocity, position| Motion::Steady {
        start: Pose { position, rotation: DQuat::IDENTITY },
        velocity,
        angular_velocity: DVec3::ZERO,
    };
    let belt = Obstacle {
        name: "belt".into(),
        shape: Shape::Box { size: DVec3::new(40.0, 1.0, 4.0) },
        motion: steady(DVec3::new(0.5, 0.0, 0.0), DVec3::new(0.0, -0.5, 0.0)),
    };
    let wall = Obstacle {
        name: "wall".into(),
        shape: cube(1.0),
        motion: steady(DVec3::new(2.0, 0.0, 0.0), DVec3::new(-2.0, 0.51, 10.0)),
    };
    let ground = Shape::Box { size: DVec3::new(40.0, 1.0, 4.0) };
    let ground = still("ground", ground, Pose { position: DVec3::new(0.0, -0.5, 10.0), rotation: DQuat::IDENTITY });
    let [carried, pushed] = [DVec3::new(0.0, 0.2, 0.0), DVec3::new(0.0, 0.2, 10.0)];
    let bodies = [body("carried", cube(0.4), carried), body("pushed", cube(0.4), pushed)];
    let room = Room { gravity: DVec3::new(0.0, -G, 0.0), ..space() };
    let mut scene = Scene::new(&bodies, &[], &[belt, wall, ground], room);
    for _ in 0..480 {
        scene.step(1.0 / 240.0);
    }
    let carried = scene.rigids.velocity(&scene.state, 0).linear;
    assert!((carried - DVec3::new(0.5, 0.0, 0.0)).length() < 1e-3, "{carried}");
    // After 2 s the wall's face is at −2 + 0.5 + 4.
    let pushed = scene.position(1);
    assert!((pushed - DVec3::new(2.7, 0.2, 10.0)).length() < 5e-3, "{pushed}");
}

/// Row 19: bodies that overlap at the start are named, and part slowly.
#[test]
fn row_19_overlapping_bodies_are_named_and_part_slowly() {
    let bodies = [body("a", cube(1.0), DVec3::ZERO), body("b", cube(1.0), DVec3::new(0.6, 0.0, 0.0))];
    let mut scene = Scene::new(&bodies, &[], &[], space());
    let [RigidWarning::Overlap { first, second, depth }] = scene.rigids.warnings() else {
        panic!("{:?}", scene.rigids.warnings())
    };
    assert!(first == "a" && second == "b" && (depth - 0.4).abs() < 1e-9, "{first} {second} {depth}");
    for _ in 0..200 {
        let before = [scene.position(0), scene.position(1)];
        scene.step(1.0 / 60.0);
        let parted = (scene.position(1) - before[1]).distance(scene.position(0) - before[0]);
        assert!(parted <= 0.1, "parted by {parted} m in a step, a cell is 0.1 m");
    }
    let apart = scene.position(1).x - scene.position(0).x;
    let speed = scene.state.bodies[1].velocity.length();
    println!("row 19: {apart} m apart, {speed} m/s");
    assert!(apart > 0.99 && speed < 0.5, "{apart} m apart, {speed} m/s");
}

/// Row 20.
#[test]
fn row_20_bodies_in_walls_are_refused_and_those_that_leave_are_dropped() {
    let bounds = Bounds { min: DVec3::ZERO, max: DVec3::splat(2.0) };
    let closed = [[true, false], [true, true], [true, true]];
    let room = Room { bounds, closed, ..space() };
    let ball = |position| body("ball", Shape::Sphere { radius: 0.3 }, position);
    let refuse = |position| Rigids::new(&[ball(position)], &[], &[], room).map(|_| ()).unwrap_err();
    assert!(matches!(refuse(DVec3::new(0.2, 1.0, 1.0)), RigidError::InWall { axis: 'x', side: "lower", .. }));
    assert!(matches!(refuse(DVec3::new(5.0, 1.0, 1.0)), RigidError::Outside { .. }));

    let mut leaving = ball(DVec3::new(1.0, 1.0, 1.0));
    leaving.velocity = DVec3::new(3.0, 0.0, 0.0);
    let mut scene = Scene::new(&[leaving], &[], &[], room);
    let mut events = Vec::new();
    for _ in 0..60 {
        scene.rigids.predict(&mut scene.state, 0.0, 0.02);
        events.extend(scene.rigids.advance(&mut scene.state, 0.0, 0.02).unwrap());
    }
    assert!(matches!(&events[..], [RigidEvent::Left { body, .. }] if body == "ball"), "{events:?}");
    assert!(!scene.state.bodies[0].active);
}

/// Row 50: a body of a centimetre falls, bounces little and rests like a large one.
#[test]
fn row_50_small_and_large_bodies_rest_alike() {
    for size in [1e-4, 1e-2, 1e2, 1e4] {
        let mut room = floor();
        room.dx = 0.1 * size;
        (room.bounds.min.x, room.bounds.min.z, room.bounds.max) = (-9.0 * size, -9.0 * size, DVec3::splat(9.0 * size));
        let mut small = body("dice", cube(size), DVec3::new(0.0, 1.0 * size, 0.0));
        small.mass = Mass::Density(1000.0);
        small.pose.rotation = DQuat::from_scaled_axis(DVec3::new(0.1, 0.4, 0.3));
        let mut scene = Scene::new(&[small], &[], &[], room);
        // Froude-scaled time.
        let dt = 1e-2 * f64::sqrt(size);
        for _ in 0..1000 {
            scene.step(dt);
        }
        let (y, v) = (scene.position(0).y / size, scene.state.bodies[0].velocity.length() / f64::sqrt(size * G));
        assert!((y - 0.5).abs() < 5e-3 && v < 1e-2, "{size}: rests at {y}, {v}");
    }
}

/// A ball that crosses five times its way to a thin wall in one step does not pass it.
#[test]
fn fast_bodies_do_not_pass_through_thin_walls() {
    let wall = Shape::Box { size: DVec3::new(0.05, 4.0, 4.0) };
    let wall = still("wall", wall, Pose { position: DVec3::new(1.0, 0.0, 0.0), rotation: DQuat::IDENTITY });
    let mut ball = body("ball", Shape::Sphere { radius: 0.1 }, DVec3::ZERO);
    ball.velocity = DVec3::new(300.0, 0.0, 0.0);
    ball.restitution = 0.5;
    let mut scene = Scene::new(&[ball], &[], &[wall], space());
    for _ in 0..10 {
        scene.step(1.0 / 60.0);
        assert!(scene.position(0).x < 0.95, "passed to {}", scene.position(0));
    }
    assert!(scene.state.bodies[0].velocity.x <= 0.0);
}

/// A ball of 10⁶ kg/m³ on a box of 10⁻⁶ kg/m³, and the other way round: nothing becomes NaN.
#[test]
fn extreme_densities_stay_finite() {
    for (below, above) in [(1e-6, 1e6), (1e6, 1e-6), (1e-3, 1e3)] {
        let mut bodies = [
            body("box", cube(0.5), DVec3::new(0.0, 0.25, 0.0)),
            body("ball", Shape::Sphere { radius: 0.2 }, DVec3::new(0.0, 0.8, 0.0)),
        ];
        bodies[0].mass = Mass::Density(below);
        bodies[1].mass = Mass::Density(above);
        let mut scene = Scene::new(&bodies, &[], &[], floor());
        for _ in 0..240 {
            scene.step(1.0 / 60.0);
        }
        for b in &scene.state.bodies {
            assert!(
                b.position.is_finite() && b.velocity.length() < 20.0 && b.position.length() < 50.0,
                "{below} {above}: {b:?}"
            );
        }
    }
}
