//! Forces and stiffness of meshes: patch test, rigid motion, symmetry, energy; and what is no body.

use crate::support::*;
use bathtub_engine::geometry::TetMesh;
use bathtub_engine::solid::{ElasticBody, ElasticError, ElasticState, Material, Pin};
use glam::{DMat3, DQuat, DVec3};

/// Elastic force of `body` at positions `x`, N, from a step that is too short for anything else: M (v* − v)/Δt.
fn forces(body: &mut ElasticBody, x: Vec<DVec3>) -> Vec<DVec3> {
    let velocities = vec![DVec3::ZERO; x.len()];
    body.restore(&ElasticState { positions: x, velocities, active: true }).unwrap();
    body.predict(1e-12, DVec3::ZERO, &[]).unwrap();
    body.masses().iter().zip(body.velocities()).map(|(&m, &v)| m * v / 1e-12).collect()
}

fn mapped(mesh: &TetMesh, map: impl Fn(DVec3) -> DVec3) -> Vec<DVec3> {
    mesh.vertices.iter().map(|&v| map(v)).collect()
}

/// Uneven tetrahedra: the inner vertices of a cube, displaced.
fn uneven() -> TetMesh {
    let mut mesh = cube();
    let inner = |v: DVec3| (0..3).all(|a| v[a] > 0.01 && v[a] < 0.99);
    for (v, shift) in mesh.vertices.iter_mut().zip(noise(64, 0.0)) {
        if inner(*v) {
            *v += 0.07 * shift;
        }
    }
    mesh
}

/// Row F1: under an affine map nothing pulls at inner vertices, and the faces carry the exact traction.
#[test]
fn f1_patch_test() {
    let (mesh, gradient) = (uneven(), DMat3::from_cols_array(&[0.1, 0.02, 0.03, 0.02, -0.05, 0.04, 0.03, 0.04, 0.07]));
    let mut body = body(mesh.clone(), RUBBER);
    let f = forces(&mut body, mapped(&mesh, |x| x + gradient * x));
    let [lambda, mu] = RUBBER.lame();
    let trace = gradient.x_axis.x + gradient.y_axis.y + gradient.z_axis.z;
    let stress = gradient * (2.0 * mu) + DMat3::from_diagonal(DVec3::splat(lambda * trace));
    // A third of every triangle's area vector at each of its corners.
    let mut tractions = vec![DVec3::ZERO; f.len()];
    for t in body.rest().surface().triangles {
        let [a, b, c] = t.map(|v| mesh.vertices[v as usize]);
        t.iter().for_each(|&v| tractions[v as usize] -= stress * (b - a).cross(c - a) / 6.0);
    }
    let worst = f.iter().zip(&tractions).map(|(f, t)| (*f - *t).length()).fold(0.0, f64::max);
    assert!(worst < 1e-11 * RUBBER.youngs_modulus, "{worst:e} N");
}

/// Row F2: 1e-9 · E · A with the area A = 1 m² of the body's side.
#[test]
fn f2_rigid_motion_strains_nothing() {
    let mesh = uneven();
    let mut body = body(mesh.clone(), RUBBER);
    for degrees in [0.0, 30.0, 90.0, 170.0, 180.0] {
        let turn = DQuat::from_axis_angle(DVec3::new(0.48, 0.6, -0.64), f64::to_radians(degrees));
        let f = forces(&mut body, mapped(&mesh, |x| turn * x + DVec3::new(3.0, -2.0, 1.0)));
        let worst = f.iter().map(|f| f.length()).fold(0.0, f64::max);
        assert!(worst < 1e-9 * RUBBER.youngs_modulus, "{degrees}°: {worst:e} N");
        assert!(body.elastic_energy() < 1e-20 * RUBBER.youngs_modulus, "{}", body.elastic_energy());
        assert!(body.rotation().dot(turn).abs() > 1.0 - 1e-14);
    }
}

/// Row F3: K is symmetric to the bit, and rigid motion of the turned body costs nothing.
#[test]
fn f3_stiffness_is_symmetric_and_blind_to_rigid_motion() {
    let mesh = uneven();
    let mut body = body(mesh.clone(), RUBBER);
    let turn = DQuat::from_axis_angle(DVec3::new(0.48, 0.6, -0.64), f64::to_radians(170.0));
    let x = mapped(&mesh, |x| turn * x);
    forces(&mut body, x.clone());
    let k = body.stiffness();
    for i in 0..k.rows() {
        for at in k.row(i) {
            let transposed = k.position(k.columns()[at] as usize, i).unwrap();
            assert_eq!(k.blocks[at], k.blocks[transposed].transpose());
        }
    }
    let mut product = vec![DVec3::ZERO; x.len()];
    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
        for motion in [mapped(&mesh, |_| axis), x.iter().map(|&x| axis.cross(x)).collect()] {
            k.multiply(&motion, &mut product);
            assert!(product.iter().all(|p| p.length() < 1e-11 * RUBBER.youngs_modulus));
        }
    }
    for seed in 0..20 {
        let motion = noise(x.len(), seed as f64);
        k.multiply(&motion, &mut product);
        assert!(dot(&motion, &product) > 0.0);
    }
}

/// Row F3: for a whole mesh, far from rest, along a random direction.
#[test]
fn f3_force_is_minus_the_gradient_of_the_energy() {
    let mesh = uneven();
    let mut body = body(mesh.clone(), RUBBER);
    let turn = DQuat::from_rotation_y(1.0);
    let x: Vec<DVec3> = mesh.vertices.iter().zip(noise(64, 5.0)).map(|(&x, shift)| turn * x + 0.05 * shift).collect();
    let f = forces(&mut body, x.clone());
    let direction = noise(64, 9.0);
    let mut energy = |step: f64| {
        let positions = x.iter().zip(&direction).map(|(&x, &d)| x + step * d).collect();
        body.restore(&ElasticState { positions, velocities: vec![DVec3::ZERO; 64], active: true }).unwrap();
        body.elastic_energy()
    };
    let slope = (energy(1e-6) - energy(-1e-6)) / 2e-6;
    let scale = f.iter().zip(&direction).map(|(f, d)| (*f * *d).length()).sum::<f64>();
    assert!((slope + dot(&f, &direction)).abs() < 1e-6 * scale, "{slope} {}", dot(&f, &direction));
}

#[test]
fn rows_12_15_16_what_is_no_body_is_refused_with_its_number() {
    let refused = |mesh: TetMesh, material: Material| {
        let error = ElasticBody::new(mesh, material, [false; 3]).err().expect("refused");
        assert!(error.to_string().len() <= 300 && !error.to_string().contains('\n'), "{error}");
        error
    };
    let changed = |change: fn(&mut TetMesh)| {
        let mut mesh = cube();
        change(&mut mesh);
        refused(mesh, RUBBER)
    };
    assert_eq!(refused(TetMesh::default(), RUBBER), ElasticError::Empty { vertices: 0 });
    assert!(matches!(refused(cube(), Material { density: 0.0, ..RUBBER }), ElasticError::Material { .. }));
    assert!(matches!(changed(|m| m.tetrahedra[5][1] = 64), ElasticError::Corners { tetrahedron: 5, .. }));
    let repeated = changed(|m| m.tetrahedra[7][1] = m.tetrahedra[7][0]);
    assert!(matches!(repeated, ElasticError::Corners { tetrahedron: 7, .. }));
    assert!(matches!(changed(|m| m.tetrahedra[9].swap(0, 1)), ElasticError::Volume { tetrahedron: 9, .. }));
    assert!(matches!(changed(|m| m.vertices[0] = DVec3::NAN), ElasticError::Volume { tetrahedron: 0, .. }));
    let flat = changed(|m| m.vertices.iter_mut().for_each(|v| v.y *= 1e-14));
    assert!(matches!(flat, ElasticError::Volume { tetrahedron: 0, .. }), "{flat}");
    assert_eq!(changed(|m| m.vertices.push(DVec3::ZERO)), ElasticError::Loose { vertex: 64 });
}

#[test]
fn bad_pins_states_steps_and_loads_are_refused() {
    let mut body = body(cube(), RUBBER);
    let pin = |vertex, velocity| [Pin { vertex, velocity }];
    assert!(matches!(body.set_pins(&pin(64, DVec3::ZERO)), Err(ElasticError::Pin { vertex: 64, .. })));
    assert!(matches!(body.set_pins(&pin(1, DVec3::NAN)), Err(ElasticError::Pin { vertex: 1, .. })));
    for dt in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(body.predict(dt, DVec3::ZERO, &[]), Err(ElasticError::Step { .. })));
    }
    let mut load = vec![DVec3::ZERO; 64];
    load[3].y = f64::INFINITY;
    assert_eq!(body.predict(0.1, DVec3::ZERO, &load), Err(ElasticError::NonFinite { vertex: 3, what: "load" }));
    let mut state = body.state();
    state.positions[4].z = f64::NAN;
    body.restore(&state).unwrap();
    assert_eq!(body.predict(0.1, DVec3::ZERO, &[]), Err(ElasticError::NonFinite { vertex: 4, what: "position" }));
    state.velocities.pop();
    assert!(matches!(body.restore(&state), Err(ElasticError::State { velocities: 63, .. })));
}
