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
    body.restore(&ElasticState { velocities: vec![DVec3::ZERO; positions.len()], positions }).unwrap();
    let first = body.predict(0.02, DVec3::ZERO, &[]).unwrap();
    body.advance(0.02);
    for _ in 0..1500 {
        body.predict(0.02, DVec3::ZERO, &[]).unwrap();
        body.advance(0.02);
    }
    let (turn, centre) = (body.rotation(), body.centre());
    let rest_centre = mesh_centre(mesh);
    let off = |(x, rest): (&DVec3, &DVec3)| (*x - centre - turn * (*rest - rest_centre)).length();
    (first, body.positions().iter().zip(&mesh.vertices).map(off).fold(0.0, f64::max))
}

fn mesh_centre(mesh: &TetMesh) -> DVec3 {
    body(mesh.clone(), DAMPED).centre()
}

fn tetrahedron() -> TetMesh {
    let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::new(0.3, 1.0, 0.0), DVec3::new(0.4, 0.3, 0.8)];
    TetMesh { vertices, tetrahedra: vec![[0, 1, 2, 3]] }
}

fn mapped(mesh: &TetMesh, map: impl Fn(DVec3) -> DVec3) -> Vec<DVec3> {
    let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 2.5);
    mesh.vertices.iter().map(|&v| turn * map(v)).collect()
}

#[test]
fn f16_one_element_returns_from_anywhere() {
    let mesh = tetrahedron();
    let cases: [(&str, fn(DVec3) -> DVec3, usize, usize); 6] = [
        ("pushed through its base", |v| v * DVec3::new(1.0, 1.0, -0.7), 1, 0),
        ("mirrored", |v| v * DVec3::new(1.0, 1.0, -1.0), 1, 1),
        ("a plane", |v| v * DVec3::new(1.0, 0.8, 0.0), 1, 0),
        ("a line", |v| v * DVec3::X, 1, 1),
        ("a point", |v| v * 0.0, 1, 1),
        ("inside out and ten times as large", |v| v * DVec3::new(10.0, 9.0, -8.0), 1, 0),
    ];
    for (what, map, inverted, undetermined) in cases {
        let (first, off) = recover(&mesh, mapped(&mesh, map));
        println!("F16, one element, {what}: {first:?}, off by {off:.1e} m in the end");
        assert!(off < 1e-6, "{what}: {off}");
        // A plane that has been turned is flat to round-off only, on either side.
        assert!(first.inverted == inverted || what == "a plane" || what == "a line", "{what}: {first:?}");
        assert_eq!(first.undetermined, undetermined, "{what}");
    }
}

#[test]
fn f16_bodies_return_from_being_crushed() {
    let mesh = kuhn([3, 3, 3], DVec3::ONE);
    let shaken = noise(mesh.vertices.len(), 2.0);
    let cases: [(&str, fn(DVec3) -> DVec3); 4] = [
        ("a plane", |v| v * DVec3::new(1.0, 0.0, 1.0)),
        ("a point", |v| v * 0.0),
        ("mirrored", |v| v * DVec3::new(1.0, 1.0, -1.0)),
        ("shaken", |v| v),
    ];
    for (what, map) in cases {
        let mut positions = mapped(&mesh, map);
        if what == "shaken" {
            positions.iter_mut().zip(&shaken).for_each(|(x, shift)| *x += 0.3 * *shift);
        }
        let (first, off) = recover(&mesh, positions);
        println!("F16, 162 elements, {what}: {first:?}, off by {off:.1e} m in the end");
        assert!(off < 1e-4, "{what}: {off}");
    }
}
