//! Row F16 and fault row 33: bodies that were crushed, flattened or turned inside out return to their shape.

use crate::support::*;
use bathtub_engine::geometry::TetMesh;
use bathtub_engine::solid::elastic::{ElasticState, Material, Prediction};
use glam::{DQuat, DVec3};

const DAMPED: Material =
    Material { youngs_modulus: 1e4, poisson_ratio: 0.3, density: 1000.0, mass_damping: 1.0, stiffness_damping: 0.05 };

/// Let go of `mesh` at `positions`: what its elements were like at first, and how far vertices are from the shape at rest in the
/// end, the rigid part taken away.
fn recover(mesh: &TetMesh, positions: Vec<DVec3>) -> (Prediction, f64) {
    let mut body = body(mesh.clone(), DAMPED);
    let rest_centre = body.centre();
    body.restore(&ElasticState { velocities: vec![DVec3::ZERO; positions.len()], positions, active: true }).unwrap();
    let first = body.predict(0.02, DVec3::ZERO, &[]).unwrap();
    body.advance(0.02);
    for _ in 0..1500 {
        body.predict(0.02, DVec3::ZERO, &[]).unwrap();
        body.advance(0.02);
    }
    let (turn, centre) = (body.rotation(), body.centre());
    let off = |(x, rest): (&DVec3, &DVec3)| (*x - centre - turn * (*rest - rest_centre)).length();
    (first, body.positions().iter().zip(&mesh.vertices).map(off).fold(0.0, f64::max))
}

fn tetrahedron() -> TetMesh {
    let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::new(0.3, 1.0, 0.0), DVec3::new(0.4, 0.3, 0.8)];
    TetMesh { vertices, tetrahedra: vec![[0, 1, 2, 3]] }
}

/// The mesh stretched by `factors`, then turned.
fn stretched(mesh: &TetMesh, factors: DVec3) -> Vec<DVec3> {
    let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 2.5);
    mesh.vertices.iter().map(|&v| turn * (v * factors)).collect()
}

const MIRROR: DVec3 = DVec3::new(1.0, 1.0, -1.0);

#[test]
fn f16_one_element_returns_from_anywhere() {
    let mesh = tetrahedron();
    // Planes and lines that have been turned are flat to round-off only, on either side: they may or may not count as inverted.
    for (what, factors, inverted, undetermined) in [
        ("pushed through its base", DVec3::new(1.0, 1.0, -0.7), Some(1), 0),
        ("inside out and ten times as large", DVec3::new(10.0, 9.0, -8.0), Some(1), 0),
        ("mirrored", MIRROR, Some(1), 1),
        ("a plane", DVec3::new(1.0, 0.8, 0.0), None, 0),
        ("a line", DVec3::X, None, 1),
        ("a point", DVec3::ZERO, Some(1), 1),
    ] {
        let (first, off) = recover(&mesh, stretched(&mesh, factors));
        println!("F16, one element, {what}: {first:?}, off by {off:.1e} m in the end");
        assert!(off < 1e-6, "{what}: {off}");
        assert_eq!(first.undetermined, undetermined, "{what}");
        assert_eq!(first.inverted, inverted.unwrap_or(first.inverted), "{what}");
    }
}

#[test]
fn f16_bodies_return_from_being_crushed() {
    let mesh = cube();
    let shaken = mesh.vertices.iter().zip(noise(64, 2.0)).map(|(&v, shift)| v + 0.3 * shift).collect();
    for (what, positions) in [
        ("a plane", stretched(&mesh, DVec3::new(1.0, 0.0, 1.0))),
        ("a point", stretched(&mesh, DVec3::ZERO)),
        ("mirrored", stretched(&mesh, MIRROR)),
        ("shaken", shaken),
    ] {
        let (first, off) = recover(&mesh, positions);
        println!("F16, 162 elements, {what}: {first:?}, off by {off:.1e} m in the end");
        assert!(off < 1e-6, "{what}: {off}");
        // Else it shows nothing; planes are flat to round-off only.
        assert!(first.inverted > 20 || what == "a plane", "{what}: {first:?}");
    }
}
