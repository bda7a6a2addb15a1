//! Concave meshes, and bodies in the plane.

use crate::support::*;
use bathtub_engine::geometry::{Shape, TriMesh};
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, Room};
use glam::DVec3;
use std::f64::consts::PI;
use std::sync::Arc;

/// A half-open spherical shell about y: outer radius 1, inner 0.85, rim at y = 0.
fn bowl() -> Shape {
    let n = 12;
    let arc = |radius: f64, i: usize| {
        let (sin, cos) = (0.5 * PI * i as f64 / n as f64).sin_cos();
        (radius * sin, -radius * cos)
    };
    // From the bottom outside to the rim, and back inside to the bottom.
    let profile: Vec<_> = (0..=n).map(|i| arc(1.0, i)).chain((0..=n).rev().map(|i| arc(0.85, i))).collect();
    let around = 32;
    let (mut vertices, mut rings) = (Vec::new(), Vec::new());
    for &(r, y) in &profile {
        let first = vertices.len() as u32;
        let count = if r < 1e-12 { 1 } else { around };
        for j in 0..count {
            let (sin, cos) = (2.0 * PI * j as f64 / around as f64).sin_cos();
            vertices.push(DVec3::new(r * cos, y, -r * sin));
        }
        rings.push((first, count));
    }
    let mut triangles = Vec::new();
    for pair in rings.windows(2) {
        let [(a, na), (b, nb)] = [pair[0], pair[1]];
        for j in 0..around {
            let at = |first: u32, count: u32, j: u32| first + if count == 1 { 0 } else { j % around };
            let quad = [at(a, na, j), at(a, na, j + 1), at(b, nb, j + 1), at(b, nb, j)];
            for t in [[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]] {
                if t[0] != t[1] && t[1] != t[2] && t[2] != t[0] {
                    triangles.push(t);
                }
            }
        }
    }
    let mut mesh = TriMesh { vertices, triangles };
    if mesh.volume() < 0.0 {
        mesh.flip();
    }
    Shape::Mesh(Arc::new(mesh))
}

#[test]
fn a_ball_nests_in_a_concave_bowl() {
    let mut outer = body("bowl", bowl(), DVec3::new(0.0, 1.001, 0.0));
    outer.mass = Mass::Total(5.0);
    let ball = body("ball", Shape::Sphere { radius: 0.3 }, DVec3::new(0.1, 1.0, 0.0));
    let start = std::time::Instant::now();
    let mut scene = Scene::new(&[outer, ball], &[], &[], floor());
    println!("division took {:?}", start.elapsed());
    assert_eq!(scene.rigids.warnings(), []);
    for _ in 0..720 {
        scene.step(1.0 / 120.0);
    }
    // At rest the ball touches the inside of the bottom: its centre is 0.85 − 0.3 below the middle of the bowl.
    let middle = scene.rigids.pose(&scene.state, 0).position;
    let depth = middle.distance(scene.position(1));
    println!("nests at {depth} m, bowl at {middle}");
    assert!((depth - 0.55).abs() < 0.03, "the ball is {depth} m from the bowl's middle");
    assert!((middle.y - 1.0).abs() < 0.02, "{middle}");
}

#[test]
fn a_torus_lets_a_rod_through() {
    // The rod stands in the hole of the ring, which falls around it to the floor.
    let mut rod = body("rod", Shape::Cylinder { radius: 0.2, height: 2.0 }, DVec3::new(0.0, 1.0, 0.0));
    rod.mass = Mass::Total(50.0);
    let mut ring = body("ring", Shape::Torus { major: 0.5, minor: 0.1 }, DVec3::new(0.05, 1.5, 0.0));
    ring.friction = 0.1;
    let mut scene = Scene::new(&[rod, ring], &[], &[], floor());
    for _ in 0..360 {
        scene.step(1.0 / 120.0);
    }
    assert!((scene.position(1).y - 0.1).abs() < 0.01, "{}", scene.position(1));
    assert!(scene.position(0).distance(DVec3::new(0.0, 1.0, 0.0)) < 0.01);
}

/// In a flat scene nothing leaves the plane, and a hinge across it still turns.
#[test]
fn bodies_stay_in_the_plane_of_a_flat_scene() {
    let flat = Room { flat: [false, false, true], ..floor() };
    let mut r = random(7);
    let mut bodies: Vec<_> = (0..8)
        .map(|i| body(&format!("{i}"), cube(0.4), DVec3::new(0.2 * r(), 0.5 + 0.6 * i as f64, 0.01 * r())))
        .collect();
    for b in &mut bodies {
        b.spin = DVec3::new(1.0, 1.0, r());
        b.velocity = DVec3::new(r(), 0.0, 1.0);
    }
    bodies.push(body("plank", Shape::Box { size: DVec3::new(1.0, 0.1, 0.4) }, DVec3::new(5.0, 3.0, 0.0)));
    let anchor = DVec3::new(4.6, 3.0, 0.0);
    let hinge = Joint { kind: JointKind::Hinge { axis: DVec3::Z }, body: 8, other: None, anchor };
    let mut scene = Scene::new(&bodies, &[hinge], &[], flat);
    assert_eq!(scene.rigids.joint_rows(&scene.state).len(), 2);
    let mut lowest = f64::INFINITY;
    for _ in 0..480 {
        scene.step(1.0 / 240.0);
        lowest = lowest.min(scene.position(8).y);
    }
    for (i, b) in scene.state.bodies.iter().enumerate() {
        assert_eq!(b.position.z, bodies[i].pose.position.z);
        assert_eq!((b.velocity.z, b.angular_momentum.x, b.angular_momentum.y), (0.0, 0.0, 0.0));
        assert!(b.rotation.x.abs() < 1e-14 && b.rotation.y.abs() < 1e-14);
        assert!(b.position.y > 0.15, "{} sank to {}", i, b.position);
    }
    assert!(lowest < 2.65, "the plank did not swing: {lowest}");
    assert!(scene.rigids.joint_gaps(&scene.state)[0] < 1e-3);
}
