//! Bodies that touch nothing.

use crate::support::*;
use bathtub_engine::geometry::Shape;
use bathtub_engine::solid::rigid::Mass;
use glam::DVec3;

/// Row E1. y_n = y₀ + v₀nΔt − ½gΔt²n(n ± 1): plus with forces first, minus with motion first.
#[test]
fn row_e1_free_fall_is_the_discrete_parabola() {
    let (dt, v0, y0) = (0.01, 3.0, 500.0);
    for (forces_first, sign) in [(true, 1.0), (false, -1.0)] {
        let mut ball = body("ball", Shape::Sphere { radius: 0.1 }, DVec3::new(0.0, y0, 0.0));
        ball.velocity = DVec3::new(0.0, v0, 0.0);
        let mut scene = Scene::new(&[ball], &[], &[], floor());
        for n in 1..=500 {
            if forces_first {
                scene.rigids.predict(&mut scene.state, 0.0, dt);
                scene.rigids.advance(&mut scene.state, 0.0, dt).unwrap();
            } else {
                scene.rigids.advance(&mut scene.state, 0.0, dt).unwrap();
                scene.rigids.predict(&mut scene.state, 0.0, dt);
            }
            let n = n as f64;
            let exact = y0 + v0 * n * dt - 0.5 * G * dt * dt * n * (n + sign);
            let y = scene.position(0).y;
            assert!((y / exact - 1.0).abs() < 1e-12, "{n}: {y} {exact}");
        }
    }
}

/// Rows E2 and E3 through the whole machinery: a tumbling brick in space (periods: rotation.rs).
#[test]
fn row_e3_a_tumbling_brick_keeps_angular_momentum_and_energy() {
    let mut brick = body("brick", Shape::Box { size: DVec3::new(1.0, 2.0, 3.0) }, DVec3::ZERO);
    brick.mass = Mass::Total(6.0);
    brick.spin = DVec3::new(0.0, 5.0, 0.01);
    let mut scene = Scene::new(&[brick], &[], &[], space());
    let (l0, e0) = (scene.state.bodies[0].angular_momentum, scene.kinetic_energy());
    let (mut drift_l, mut drift_e, mut norm) = (0.0f64, 0.0f64, 0.0f64);
    for _ in 0..100_000 {
        scene.step(1e-3);
        let b = &scene.state.bodies[0];
        drift_l = drift_l.max((b.angular_momentum - l0).length() / l0.length());
        drift_e = drift_e.max((scene.kinetic_energy() / e0 - 1.0).abs());
        norm = norm.max((b.rotation.length() - 1.0).abs());
    }
    assert!(drift_l == 0.0 && drift_e < 1e-4 && norm < 1e-12, "{drift_l} {drift_e} {norm}");
}

/// A push from outside is an exact change of momentum.
#[test]
fn impulses_change_momentum_by_themselves() {
    let mut ball = body("ball", Shape::Sphere { radius: 0.5 }, DVec3::ZERO);
    ball.mass = Mass::Total(2.0);
    let mut scene = Scene::new(&[ball], &[], &[], space());
    let (push, twist) = (DVec3::new(1.0, 2.0, 3.0), DVec3::new(-0.1, 0.3, 0.2));
    scene.rigids.predict(&mut scene.state, 0.0, 0.1);
    scene.rigids.apply_impulse(&mut scene.state, 0, push, twist);
    scene.rigids.advance(&mut scene.state, 0.0, 0.1).unwrap();
    assert_eq!(scene.state.bodies[0].velocity, 0.5 * push);
    assert_eq!(scene.state.bodies[0].angular_momentum, twist);
    assert_eq!(scene.position(0), 0.1 * 0.5 * push);
}
