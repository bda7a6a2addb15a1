//! Bodies that move: momentum, energy, pins, impulses; the same bits for any number of threads and after a restore.

use crate::support::*;
use bathtub_engine::solid::{ElasticBody, ElasticState, Material, Pin};
use glam::{DQuat, DVec3};
use proptest::prelude::*;

const SOFT: Material =
    Material { youngs_modulus: 2e4, poisson_ratio: 0.4, density: 1000.0, mass_damping: 0.0, stiffness_damping: 0.0 };
const DT: f64 = 0.01;

/// A beam, turned, bent and flying.
fn flying() -> ElasticBody {
    let mesh = kuhn([6, 2, 2], DVec3::new(1.0, 0.3, 0.3));
    let mut body = body(mesh.clone(), SOFT);
    let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.8, 0.0), 2.0);
    let bend = |v: DVec3| DVec3::new(v.x, v.y + 0.2 * v.x * v.x, 1.1 * v.z);
    let positions: Vec<DVec3> = mesh.vertices.iter().map(|&v| turn * bend(v)).collect();
    let spin = DVec3::new(0.3, -0.7, 1.5);
    let velocities = positions.iter().map(|x| DVec3::new(0.5, 1.0, -0.2) + spin.cross(*x)).collect();
    body.restore(&ElasticState { positions, velocities, active: true }).unwrap();
    body
}

fn step(body: &mut ElasticBody, gravity: DVec3) {
    body.predict(DT, gravity, &[]).unwrap();
    body.advance(DT);
}

fn bits(state: &ElasticState) -> Vec<u64> {
    flat(&state.positions).into_iter().chain(flat(&state.velocities)).map(f64::to_bits).collect()
}

#[test]
fn k1_momentum_is_kept_and_gravity_adds_exactly_its_own() {
    let mut body = flying();
    let gravity = DVec3::new(0.0, -9.81, 0.0);
    let mut expected = body.momentum();
    let scale = body.mass() * 1.2;
    for _ in 0..100 {
        step(&mut body, gravity);
        expected += DT * body.mass() * gravity;
        assert!((body.momentum() - expected).length() < 1e-12 * (scale + expected.length()));
    }
}

/// Round-off of a stiff body is that of its stiffness: Δt² E/(ρ h²) is how much larger than the mass it is.
#[test]
fn k1_momentum_of_stiff_bodies() {
    for youngs_modulus in [1e4, 1e6, 1e8, 1e10, 1e12] {
        let mut body = body(kuhn([6, 2, 2], DVec3::new(1.0, 0.3, 0.3)), Material { youngs_modulus, ..SOFT });
        let mut state = body.state();
        state.velocities = noise(state.positions.len(), 4.0);
        body.restore(&state).unwrap();
        let before = body.momentum();
        let scale: f64 = body.masses().iter().zip(body.velocities()).map(|(m, v)| m * v.length()).sum();
        body.predict(DT, DVec3::ZERO, &[]).unwrap();
        let ratio = DT * DT * youngs_modulus / (SOFT.density * 0.15f64.powi(2));
        let error = (body.momentum() - before).length() / scale;
        println!("momentum error of a step, E = {youngs_modulus:e} Pa (ratio {ratio:.0e}): {error:.1e}");
        assert!(error < 1e-15 * (10.0 + ratio), "{youngs_modulus:e}: {error:e}");
    }
}

/// Row K4: nothing but the step itself takes energy, and nothing gives it.
#[test]
fn k4_energy_of_a_free_body_never_grows() {
    let mut body = flying();
    let total = |body: &ElasticBody| body.kinetic_energy() + body.elastic_energy();
    let first = total(&body);
    let (mut last, mut growth) = (first, f64::NEG_INFINITY);
    for _ in 0..300 {
        step(&mut body, DVec3::ZERO);
        let now = total(&body);
        growth = growth.max((now - last) / first);
        last = now;
    }
    println!("energy of a free body: {first:.3} J, {last:.3} J after 300 steps; largest growth in a step {growth:.1e}");
    assert!(growth < 1e-12, "{growth:e}");
    assert!(last < first);
}

#[test]
fn pins_hold_and_scripted_pins_lead() {
    let mesh = kuhn([6, 2, 2], DVec3::new(1.0, 0.3, 0.3));
    let mut body = body(mesh.clone(), Material { mass_damping: 2.0, ..SOFT });
    body.set_pins(&root(&mesh)).unwrap();
    for _ in 0..20 {
        step(&mut body, DVec3::NEG_Y);
    }
    for pin in root(&mesh) {
        assert_eq!(body.positions()[pin.vertex], mesh.vertices[pin.vertex]);
    }
    // Drawn along at a steady speed, the body follows, sagging a little behind.
    let velocity = DVec3::new(0.25, 0.0, 0.5);
    let led: Vec<Pin> = root(&mesh).into_iter().map(|pin| Pin { velocity, ..pin }).collect();
    body.set_pins(&led).unwrap();
    for _ in 0..600 {
        step(&mut body, DVec3::ZERO);
    }
    let moved = 600.0 * DT * velocity;
    for pin in &led {
        assert!((body.positions()[pin.vertex] - mesh.vertices[pin.vertex] - moved).length() < 1e-12);
        assert_eq!(body.velocities()[pin.vertex], velocity);
    }
    let rigid = body.rigid_velocity();
    assert!((rigid.linear - velocity).length() < 1e-3 && rigid.angular.length() < 1e-2, "{rigid:?}");
    // Let go, it is free again.
    body.set_pins(&[]).unwrap();
    let before = body.momentum();
    body.predict(DT, DVec3::ZERO, &[]).unwrap();
    assert!((body.momentum() - before / (1.0 + 2.0 * DT)).length() < 1e-12 * before.length());
}

/// One system: an impulse given to the prediction, and the same answered afterwards, are the same; and A takes the answer back.
#[test]
fn responses_are_those_of_the_predicted_step() {
    let mut body = flying();
    let pins = [0, 5, 20].map(|vertex| Pin { vertex, velocity: DVec3::new(0.1, 0.2, 0.3) });
    body.set_pins(&pins).unwrap();
    let state = body.state();
    let impulse: Vec<DVec3> = noise(state.positions.len(), 1.0).iter().map(|&v| 3.0 * v).collect();
    body.predict(DT, DVec3::NEG_Y, &impulse).unwrap();
    let given = body.velocities().to_vec();

    body.restore(&state).unwrap();
    body.predict(DT, DVec3::NEG_Y, &[]).unwrap();
    let mut change = flat(&impulse);
    body.respond(&mut change);
    body.apply_impulse(&flat(&impulse));
    for (a, b) in body.velocities().iter().zip(&given) {
        assert!((*a - *b).length() < 1e-11);
    }
    let mut back = vec![DVec3::ZERO; impulse.len()];
    body.system().multiply(&vectors(&change), &mut back);
    for (n, (back, impulse)) in back.iter().zip(&impulse).enumerate() {
        let pinned = pins.iter().any(|pin| pin.vertex == n);
        let expected = if pinned { DVec3::ZERO } else { *impulse };
        assert!((*back - expected).length() < 1e-10, "{n}");
        assert!(!pinned || vectors(&change)[n] == DVec3::ZERO);
    }
}

#[test]
fn flat_bodies_stay_in_their_plane() {
    let mesh = kuhn([4, 4, 1], DVec3::new(1.0, 1.0, 0.25));
    let mut body = ElasticBody::new(mesh.clone(), SOFT, [false, false, true]).unwrap();
    for _ in 0..20 {
        body.predict(DT, DVec3::new(0.0, -1.0, -5.0), &noise(mesh.vertices.len(), 0.0)).unwrap();
        body.advance(DT);
    }
    assert!(body.positions().iter().zip(&mesh.vertices).all(|(x, rest)| x.z == rest.z && x.y != rest.y));
}

#[test]
fn rigid_velocity_of_a_turning_body_is_its_own() {
    let mut body = body(cube(), SOFT);
    let mut state = body.state();
    let spin = DVec3::new(1.0, -2.0, 0.5);
    let centre = DVec3::splat(0.5);
    state.velocities = state.positions.iter().map(|x| DVec3::X + spin.cross(*x - centre)).collect();
    body.restore(&state).unwrap();
    let rigid = body.rigid_velocity();
    assert!((rigid.centre - centre).length() < 1e-14 && (rigid.linear - DVec3::X).length() < 1e-13);
    assert!((rigid.angular - spin).length() < 1e-13 && (body.volume() - 1.0).abs() < 1e-14);
    assert!((body.mass() - 1000.0).abs() < 1e-10);
}

#[test]
fn extreme_materials_fail_with_a_word_or_not_at_all() {
    for youngs_modulus in [1e-300, 1e-6, 1e12, 1e150, 1e300, f64::MAX] {
        for (density, dt) in [(1e-300, 1e-6), (1.0, 1.0), (1e10, 1e3), (f64::MAX, 1e-6)] {
            let material = Material { youngs_modulus, density, ..SOFT };
            let mut body = body(kuhn([2; 3], DVec3::ONE), material);
            let mut state = body.state();
            state.positions.iter_mut().zip(noise(27, 3.0)).for_each(|(x, shift)| *x += 0.1 * shift);
            body.restore(&state).unwrap();
            match body.predict(dt, DVec3::NEG_Y, &[]) {
                Ok(_) => assert!(body.velocities().iter().all(|v| v.is_finite())),
                Err(error) => assert!(error.to_string().len() <= 300, "{error}"),
            }
        }
    }
}

#[test]
fn restored_bodies_go_on_with_the_same_bits() {
    let mut body = flying();
    (0..10).for_each(|_| step(&mut body, DVec3::NEG_Y));
    let saved = postcard::to_stdvec(&body.state()).unwrap();
    (0..10).for_each(|_| step(&mut body, DVec3::NEG_Y));
    let mut other = flying();
    other.restore(&postcard::from_bytes(&saved).unwrap()).unwrap();
    (0..10).for_each(|_| step(&mut other, DVec3::NEG_Y));
    assert_eq!(bits(&body.state()), bits(&other.state()));
    assert_eq!(body.elastic_energy().to_bits(), other.elastic_energy().to_bits());
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut body = flying();
            (0..10).for_each(|_| step(&mut body, DVec3::NEG_Y));
            (bits(&body.state()), body.elastic_energy().to_bits())
        })
    };
    let one = run(1);
    assert!([2, 5].into_iter().all(|threads| run(threads) == one));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the positions, forces and energy are numbers, and the step does not fail.
    #[test]
    fn wild_positions_have_finite_forces(seed in 0.0..1e3f64, size in -12.0..6.0f64, speed in -3.0..3.0f64) {
        let mut body = body(kuhn([2; 3], DVec3::ONE), SOFT);
        let scaled = |seed: f64, size: f64| noise(27, seed).iter().map(|&v| 10f64.powf(size) * v).collect();
        let state = ElasticState { positions: scaled(seed, size), velocities: scaled(seed + 0.3, speed), active: true };
        body.restore(&state).unwrap();
        body.predict(DT, DVec3::NEG_Y, &[]).unwrap();
        prop_assert!(body.elastic_energy().is_finite());
        prop_assert!(body.velocities().iter().all(|v| v.is_finite()));
    }
}
