//! Bodies that turn as a whole: a turn strains nothing, however stiff they are and however long the step.

use crate::support::*;
use bathtub_engine::geometry::{Bounds, TetMesh};
use bathtub_engine::solid::{ElasticBody, ElasticState, Material, Pin};
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::TAU;

const LIGHT: Material =
    Material { youngs_modulus: 1e10, poisson_ratio: 0.3, density: 300.0, mass_damping: 0.0, stiffness_damping: 0.0 };

/// A box, a beam, a rod and a plate.
fn shapes() -> [(&'static str, TetMesh); 4] {
    [
        ("box", kuhn([3, 2, 3], DVec3::new(0.26, 0.22, 0.3))),
        ("beam", kuhn([6, 2, 2], DVec3::new(1.0, 0.3, 0.3))),
        ("rod", kuhn([10, 1, 1], DVec3::new(0.6, 0.06, 0.06))),
        ("plate", kuhn([4, 4, 1], DVec3::new(0.5, 0.4, 0.08))),
    ]
}

/// A body about the origin that turns about `spin` (rad/s), with `noise` (m/s) on top.
fn spinning(mesh: &TetMesh, material: Material, spin: DVec3, noisy: f64) -> ElasticBody {
    let mut body = body(mesh.clone(), material);
    let centre = body.centre();
    let positions: Vec<DVec3> = body.positions().iter().map(|x| *x - centre).collect();
    let wild = noise(positions.len(), 3.0);
    let velocities = positions.iter().zip(wild).map(|(x, wild)| spin.cross(*x) + noisy * wild).collect();
    body.restore(&ElasticState { positions, velocities, active: true }).unwrap();
    body
}

fn step(body: &mut ElasticBody, dt: f64) {
    body.predict(dt, DVec3::ZERO, &[]).unwrap();
    body.advance(dt);
}

fn energy(body: &ElasticBody) -> f64 {
    body.kinetic_energy() + body.elastic_energy()
}

/// Rows K2 and K4 for a free body of any stiffness. Energy may grow by round-off, that of some hundred vertices; angular momentum is kept to
/// round-off where a thousandth a turn is asked for.
#[test]
fn energy_of_what_turns_never_grows_and_angular_momentum_stays() {
    let axis = DVec3::new(1.0, 2.0, 3.0).normalize();
    let mut cases = 0;
    for (name, mesh) in shapes() {
        for (n, youngs_modulus) in [1e2, 1e3, 1e4, 1e6, 1e8, 1e10, 1e11].into_iter().enumerate() {
            for (m, dt) in [1e-3, 0.01, 1.0 / 24.0].into_iter().enumerate() {
                let poisson_ratio = [0.0, 0.3, 0.45][(n + m) % 3];
                let (spin, noisy) = ([TAU, 1.0][(n + m) % 2] * axis, [0.0, 0.5][n % 2]);
                let mut body = spinning(&mesh, Material { youngs_modulus, poisson_ratio, ..LIGHT }, spin, noisy);
                let (first, turning) = (energy(&body), body.angular_momentum(DVec3::ZERO));
                let (mut last, mut growth) = (first, f64::NEG_INFINITY);
                for _ in 0..60 {
                    step(&mut body, dt);
                    let now = energy(&body);
                    growth = growth.max((now - last) / first);
                    last = now;
                }
                let drift = (body.angular_momentum(body.centre()) - turning).length() / turning.length();
                println!(
                    "{name}, E = {youngs_modulus:.0e} Pa, ν = {poisson_ratio}, Δt = {dt:.4} s, {:.2} rad/s: energy {:.4} of the first, \
                     grew by {growth:.1e} at most; angular momentum off by {drift:.1e}",
                    spin.length(),
                    last / first
                );
                assert!(growth < 1e-13, "{name} {youngs_modulus:e} {dt}: {growth:e}");
                assert!(drift < 1e-11, "{name} {youngs_modulus:e} {dt}: {drift:e}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 84);
}

/// A slow spin of a very stiff body, one turn in six seconds: what is elastic in it is what holds it together.
#[test]
fn a_turn_strains_nothing() {
    let (mesh, spin) = (&shapes()[0].1, DVec3::new(1.0, 2.0, 3.0).normalize() * TAU / 6.0);
    let mut body = spinning(mesh, LIGHT, spin, 0.0);
    let first = body.kinetic_energy();
    for _ in 0..600 {
        step(&mut body, 0.01);
        assert!(body.elastic_energy() < 1e-9 * first, "{:e} of {first:e} J", body.elastic_energy());
    }
    assert!((body.kinetic_energy() / first - 1.0).abs() < 1e-9);
}

/// A bar that turns about its middle is longer by ∫ ρ ω² (R² − x²)/2E dx = ρ ω² R³/3E on either side.
#[test]
fn what_turns_is_stretched_by_its_weight() {
    let material = Material { youngs_modulus: 1e6, poisson_ratio: 0.0, density: 1000.0, ..LIGHT };
    let mesh = kuhn([20, 2, 2], DVec3::new(1.0, 0.1, 0.1));
    let expected = 1000.0 * TAU * TAU * 0.125 / 3e6;
    for dt in [1e-3, 0.01, 0.04] {
        let mut body = spinning(&mesh, Material { stiffness_damping: 0.02, ..material }, TAU * DVec3::Z, 0.0);
        (0..(0.5 / dt) as usize).for_each(|_| step(&mut body, dt));
        let back = DMat3::from_quat(body.rotation()).transpose();
        let longest = Bounds::of(&body.positions().iter().map(|x| back * *x).collect::<Vec<_>>()).size().x;
        let found = 0.5 * (longest - 1.0);
        println!("stretched by {found:.3e} m, {expected:.3e} expected, Δt = {dt} s");
        // Linear elements, vertices with lumped masses: a few parts in a hundred on twenty of them.
        assert!((found / expected - 1.0).abs() < 0.05, "{dt}: {found:e} instead of {expected:e}");
    }
}

/// Two blocks in one mesh that nothing joins, one turning against the other.
#[test]
fn parts_turn_by_themselves() {
    let block = kuhn([2, 2, 2], DVec3::new(0.2, 0.3, 0.2));
    let offset = block.vertices.len();
    let mut mesh = block.clone();
    mesh.vertices.extend(block.vertices.iter().map(|x| *x + DVec3::X));
    mesh.tetrahedra.extend(block.tetrahedra.iter().map(|t| t.map(|v| v + offset as u32)));
    let mut body = body(mesh, LIGHT);
    let mut state = body.state();
    let middle = DVec3::new(0.1, 0.15, 0.1);
    for (n, v) in state.velocities.iter_mut().enumerate() {
        let (spin, middle) = if n < offset { (DVec3::Z, middle) } else { (-DVec3::Z, middle + DVec3::X) };
        *v = TAU * spin.cross(state.positions[n] - middle);
    }
    body.restore(&state).unwrap();
    // Momentum of each, and angular momentum about the origin.
    let moments = |body: &ElasticBody| {
        let of = |n: usize| {
            let (m, x, v) = (body.masses()[n], body.positions()[n], body.velocities()[n]);
            [m * v, m * x.cross(v)]
        };
        let sum = |all: std::ops::Range<usize>| all.map(of).fold([DVec3::ZERO; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        [sum(0..offset), sum(offset..2 * offset)]
    };
    let (first, before) = (energy(&body), moments(&body));
    for _ in 0..75 {
        step(&mut body, 0.01);
        assert!(body.elastic_energy() < 1e-6 * first && (energy(&body) / first - 1.0).abs() < 1e-6);
        for (now, before) in moments(&body).iter().flatten().zip(before.iter().flatten()) {
            assert!((*now - *before).length() < 1e-11, "{now} {before}");
        }
    }
    // With the solid's moments of inertia both turn about an axis of inertia and do not tumble, as they did with quarters of elements: after 100
    // steps they would be back where they were, after 75 they have turned by three quarters.
    for (n, spin) in [(0, TAU), (offset, -TAU)] {
        let edge = |positions: &[DVec3]| positions[n + 1] - positions[n];
        let exact = DQuat::from_rotation_z(0.75 * spin) * edge(&state.positions);
        let error = (edge(body.positions()) - exact).length() / exact.length();
        assert!(error < 1e-3, "{error}");
    }
}

/// In two dimensions bodies turn about the flat axis and stay in their plane to the bit.
#[test]
fn flat_bodies_turn_in_their_plane() {
    let mesh = kuhn([4, 3, 1], DVec3::new(0.4, 0.3, 0.1));
    let mut body = ElasticBody::new(mesh.clone(), LIGHT, [false, false, true]).unwrap();
    let mut state = body.state();
    let centre = body.centre();
    state.velocities = state.positions.iter().map(|x| TAU * DVec3::Z.cross(*x - centre)).collect();
    body.restore(&state).unwrap();
    let first = energy(&body);
    for _ in 0..100 {
        step(&mut body, 0.01);
        assert!(energy(&body) < first * (1.0 + 1e-13) && body.elastic_energy() < 1e-6 * first);
        assert!(body.positions().iter().zip(&mesh.vertices).all(|(x, rest)| x.z == rest.z));
    }
    for (x, start) in body.positions().iter().zip(&mesh.vertices) {
        assert!((*x - *start).length() < 1e-5, "a whole turn");
    }
}

/// Where velocities are prescribed, every vertex goes straight on.
#[test]
fn held_bodies_move_as_they_are_told() {
    let mut body = spinning(&shapes()[0].1, Material { youngs_modulus: 1e5, ..LIGHT }, DVec3::Y, 0.0);
    body.set_pins(&[Pin { vertex: 0, velocity: DVec3::new(0.1, 0.2, 0.3) }]).unwrap();
    body.predict(0.01, DVec3::NEG_Y, &[]).unwrap();
    let (from, velocities) = (body.positions().to_vec(), body.velocities().to_vec());
    body.advance(0.01);
    for ((x, from), v) in body.positions().iter().zip(from).zip(velocities) {
        assert_eq!(*x, from + 0.01 * v);
    }
}

/// Bodies without a turn of their own (a line, a point) and absurd spins: numbers stay numbers, and energy does not grow.
#[test]
fn crushed_and_whirling_bodies_stay_finite() {
    let mesh = kuhn([2; 3], DVec3::ONE);
    for (squeeze, speed) in [(DVec3::X, 1.0), (DVec3::ZERO, 1.0), (DVec3::new(1.0, 1e-6, 0.0), 1.0), (DVec3::ONE, 1e4)]
    {
        let mut body = body(mesh.clone(), Material { youngs_modulus: 1e4, ..LIGHT });
        let positions: Vec<DVec3> = mesh.vertices.iter().map(|x| *x * squeeze).collect();
        let velocities = positions.iter().map(|x| speed * DVec3::new(3.0, -2.0, 1.0).cross(*x)).collect();
        body.restore(&ElasticState { positions, velocities, active: true }).unwrap();
        let first = energy(&body);
        for _ in 0..50 {
            step(&mut body, 0.01);
            assert!(energy(&body) < 1.001 * first, "{squeeze} {speed}: {} of {first}", energy(&body));
        }
    }
}

/// Nothing is left of a body in the domain: it is out of the game, once, and its state says so.
#[test]
fn bodies_leave_once_through_any_side() {
    let room = Bounds { min: DVec3::ZERO, max: DVec3::ONE };
    for (way, flat) in [(-1.3, 3), (-0.9, 3), (0.9, 3), (1.1, 3), (1.1, 0)] {
        for axis in 0..3 {
            let mut shift = DVec3::ZERO;
            shift[axis] = way;
            let mesh = kuhn([1; 3], DVec3::ONE).mapped(|x| x + shift);
            let mut body = ElasticBody::new(mesh, LIGHT, std::array::from_fn(|a| a == flat)).unwrap();
            let is_gone = !(-1.0..=1.0).contains(&way) && axis != flat;
            assert_eq!((body.leave(room), body.is_active()), (is_gone, !is_gone), "{way} along {axis}");
            assert!(!body.leave(room) && body.state().active != is_gone);
        }
    }
}
