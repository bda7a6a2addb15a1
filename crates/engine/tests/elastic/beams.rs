//! Beams and bars against their closed forms and, for these meshes, against an independent computation: rows F4 to F7.

use crate::support::*;
use bathtub_engine::geometry::TetMesh;
use bathtub_engine::solid::{ElasticBody, ElasticState, Material, Pin};
use glam::DVec3;
use std::f64::consts::PI;

const MESHES: [[usize; 3]; 4] = [[10, 1, 1], [20, 2, 2], [40, 4, 4], [60, 6, 6]];

/// Area around each vertex of the side at x = 1 m, a third of every triangle, m².
fn tip_weights(mesh: &TetMesh) -> Vec<f64> {
    let mut weights = vec![0.0; mesh.vertices.len()];
    for t in mesh.surface().triangles {
        let [a, b, c] = t.map(|v| mesh.vertices[v as usize]);
        if [a, b, c].iter().all(|v| v.x == 1.0) {
            t.iter().for_each(|&v| weights[v as usize] += (b - a).cross(c - a).length() / 6.0);
        }
    }
    weights
}

/// Sag of a cantilever under 1 N at its tip, ÷ Timoshenko's beam.
fn sag(cells: [usize; 3], poisson_ratio: f64) -> f64 {
    let mesh = cantilever(cells);
    let mut body = body(mesh.clone(), Material { poisson_ratio, ..RUBBER });
    body.set_pins(&root(&mesh)).unwrap();
    let stiffness = rest_stiffness(&mut body);
    let weights = tip_weights(&mesh);
    let area: f64 = weights.iter().sum();
    assert!((area - 0.01).abs() < 1e-15);
    let mut u = flat(&weights.iter().map(|w| DVec3::new(0.0, 0.0, w / area)).collect::<Vec<_>>());
    held(stiffness, &body).factor().solve_in_place(&mut u);
    let tip: f64 = vectors(&u).iter().zip(&weights).map(|(u, w)| u.z * w / area).sum();
    // F L³/3EI + F L/κGA with κ = 10(1 + ν)/(12 + 11ν): 0.040306 m for ν = 0.3.
    let kappa = 10.0 * (1.0 + poisson_ratio) / (12.0 + 11.0 * poisson_ratio);
    tip / (0.04 + 2e-4 * (1.0 + poisson_ratio) / kappa)
}

/// Row F4. Linear tetrahedra lock in bending: the mesh, not the solver, makes the beam stiff.
#[test]
fn f4_cantilever_under_a_tip_load() {
    for (poisson_ratio, expected) in [(0.3, [0.2194, 0.5038, 0.7873, 0.8871]), (0.45, [0.1091, 0.2989, 0.5978, 0.7543])]
    {
        let found = MESHES.map(|cells| sag(cells, poisson_ratio));
        println!("F4, ν = {poisson_ratio}: tip/Timoshenko {found:.4?}, row {expected:?}");
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 0.02), "{found:?}");
        assert!(found.is_sorted() && found[3] < 1.0, "{found:?}");
        if poisson_ratio == 0.3 {
            // From 4 to 6 cells across, for an error of second order.
            let limit = found[3] + (found[3] - found[2]) / (1.5f64.powi(2) - 1.0);
            println!("F4, Richardson: {limit:.4}");
            assert!((limit - 1.0).abs() < 0.05, "{limit}");
        }
    }
}

/// Lowest mode of K φ = ω² M φ by inverse iteration: ω in rad/s, and φ with φᵀMφ = 1.
fn lowest_mode(body: &mut ElasticBody, start: Vec<DVec3>) -> (f64, Vec<DVec3>) {
    let cholesky = held(rest_stiffness(body), body);
    let weigh = |x: &[DVec3]| x.iter().zip(body.masses()).map(|(&x, &m)| m * x).collect::<Vec<_>>();
    let mut x: Vec<DVec3> = start.iter().zip(body.movable()).map(|(&s, &free)| s * free).collect();
    let mut last = 0.0;
    for _ in 0..200 {
        let weighed = weigh(&x);
        let mut next = flat(&weighed);
        cholesky.factor().solve_in_place(&mut next);
        x = vectors(&next);
        // Rayleigh's quotient, with K x = what was solved for.
        let squared_size = dot(&x, &weigh(&x));
        let squared = dot(&x, &weighed) / squared_size;
        x.iter_mut().for_each(|x| *x /= squared_size.sqrt());
        if (squared - last).abs() < 1e-13 * squared {
            return (squared.sqrt(), x);
        }
        last = squared;
    }
    panic!("no mode in 200 iterations");
}

/// Row F5: lowest bending frequency ÷ Euler and Bernoulli's, 0.510835 Hz. It is as high as the mesh is stiff.
#[test]
fn f5_first_frequency_of_the_cantilever() {
    let expected = [1.864, 1.293, 1.092, 1.047];
    let found = MESHES.map(|cells| {
        let mesh = cantilever(cells);
        let mut body = body(mesh.clone(), RUBBER);
        body.set_pins(&root(&mesh)).unwrap();
        // The mesh is symmetric in y and z: it bends along one of its diagonals.
        let along = |z: f64| mesh.vertices.iter().map(|v| DVec3::new(0.0, v.x * v.x, z * v.x * v.x)).collect();
        let omegas = [1.0, -1.0].map(|z| lowest_mode(&mut body, along(z)).0);
        omegas[0].min(omegas[1]) / (2.0 * PI * 0.510835)
    });
    println!("F5: f1/EB {found:.4?}, row {expected:?}");
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 0.02), "{found:?}");
}

/// Row F6: √(E/ρ)/4L = 7.905694 Hz with ν = 0, moving along x only.
#[test]
fn f6_first_frequency_of_a_bar() {
    let mesh = cantilever([20, 1, 1]);
    let material = Material { poisson_ratio: 0.0, ..RUBBER };
    let mut body = ElasticBody::new(mesh.clone(), material, [false, true, true]).unwrap();
    body.set_pins(&root(&mesh)).unwrap();
    let start = mesh.vertices.iter().map(|v| DVec3::new(v.x, 0.0, 0.0)).collect();
    let frequency = lowest_mode(&mut body, start).0 / (2.0 * PI);
    println!("F6: {frequency:.5} Hz, closed form 7.90569");
    assert!((frequency / 7.905694 - 1.0).abs() < 0.01, "{frequency}");
}

/// Row F7: the amplitude of a mode shrinks by D^(−½) a step, D = 1 + 2 ζ ω Δt + ω² Δt², ζ = τm/2ω + τk ω/2. One vertex moves
/// along the normal of the side that is pinned: that is a pure stretch, which has exactly one mode, of ω² = (λ + 2 μ) V/(h² m).
#[test]
fn f7_backward_euler_and_rayleigh_damping_of_one_mode() {
    let vertices = vec![DVec3::ZERO, DVec3::Y, DVec3::Z, DVec3::new(0.5, 0.3, 0.3)];
    let mesh = TetMesh { vertices, tetrahedra: vec![[0, 1, 2, 3]] };
    let pins = [0, 1, 2].map(|vertex| Pin { vertex, velocity: DVec3::ZERO });
    for (mass_damping, stiffness_damping, dt) in
        [(0.0, 0.0, 1e-3), (3.0, 0.0, 2e-3), (0.0, 1e-3, 5e-3), (0.5, 2e-3, 1e-2)]
    {
        let material = Material { mass_damping, stiffness_damping, ..RUBBER };
        let mut body = ElasticBody::new(mesh.clone(), material, [false, true, true]).unwrap();
        body.set_pins(&pins).unwrap();
        let mut state = body.state();
        state.positions[3].x += 0.1;
        body.restore(&state).unwrap();
        let [lambda, mu] = material.lame();
        let omega = ((lambda + 2.0 * mu) / 0.25 / (0.25 * material.density)).sqrt();
        let zeta = 0.5 * (mass_damping / omega + stiffness_damping * omega);
        let d = 1.0 + 2.0 * zeta * omega * dt + (omega * dt).powi(2);
        let mut q = vec![0.1];
        for _ in 0..12 {
            body.predict(dt, DVec3::ZERO, &[]).unwrap();
            body.advance(dt);
            q.push(body.positions()[3].x - 0.5);
        }
        // For q of the form Re(c zⁿ), q² between its neighbours' product shrinks by |z|².
        for n in 1..10 {
            let area = |n: usize| q[n] * q[n] - q[n - 1] * q[n + 1];
            let factor = (area(n + 1) / area(n)).sqrt();
            assert!((factor * d.sqrt() - 1.0).abs() < 1e-10, "{factor} {}", d.sqrt().recip());
        }
    }
}

/// Row F7 for a mode of a whole beam: A φ = D M φ.
#[test]
fn f7_modes_of_a_beam_are_modes_of_the_step() {
    let mesh = cantilever([10, 2, 2]);
    let (dt, material) = (4e-3, Material { mass_damping: 0.7, stiffness_damping: 3e-3, ..RUBBER });
    let mut body = body(mesh.clone(), material);
    body.set_pins(&root(&mesh)).unwrap();
    let start = mesh.vertices.iter().map(|v| DVec3::new(0.0, v.x * v.x, v.x * v.x)).collect();
    let (omega, mode) = lowest_mode(&mut body, start);
    body.predict(dt, DVec3::ZERO, &[]).unwrap();
    let mut product = mode.clone();
    body.system().multiply(&mode, &mut product);
    let d = 1.0 + dt * (0.7 + 3e-3 * omega * omega) + (omega * dt).powi(2);
    assert!((dot(&mode, &product) / d - 1.0).abs() < 1e-10);
    let error: Vec<DVec3> = product.iter().zip(&mode).zip(body.masses()).map(|((&p, &x), &m)| p - d * m * x).collect();
    assert!(dot(&error, &error).sqrt() < 1e-6 * dot(&product, &product).sqrt());
}

/// A beam hangs under gravity as statics say, and stays.
#[test]
fn a_damped_beam_comes_to_rest_where_force_is_zero() {
    let mesh = cantilever([10, 2, 2]);
    let mut body = body(mesh.clone(), Material { mass_damping: 4.0, ..RUBBER });
    body.set_pins(&root(&mesh)).unwrap();
    for _ in 0..400 {
        body.predict(0.05, DVec3::new(0.0, -1.0, 0.0), &[]).unwrap();
        body.advance(0.05);
    }
    assert!(body.velocities().iter().all(|v| v.length() < 1e-9));
    let ElasticState { positions, .. } = body.state();
    let sag =
        mesh.vertices.iter().zip(&positions).filter(|(v, _)| v.x == 1.0).map(|(v, x)| v.y - x.y).fold(0.0, f64::max);
    // ρ A g L⁴/8EI = 0.15 m without locking.
    assert!(sag > 0.04 && sag < 0.15, "{sag}");
}
