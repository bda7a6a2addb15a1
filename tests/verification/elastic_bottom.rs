//! Row H2: an elastic bottom swings as cos k x under fluid between slippery sides, under an open top and under a lid.
//!
//! Pressure of the fluid above is that of a mass per area, since the flow is a potential that decays upwards:
//!
//! ```text
//! m_a = ρ tanh(k h)/k  (open top),     m_a = ρ coth(k h)/k  (lid)
//! ```
//!
//! The bottom is a slab of ν = 0, held from below. How it bends and shears is its own affair: the frequency that it should have is that of its own
//! K and M with m_a on the surface, where the surface moves as cos k x; without m_a it is the dry one, and their quotient is the
//! row's (1 + m_a/m'')^-½ with m'' the modal mass. p = 0 half a cell beyond an open top. Backward Euler slows modes down to atan(ω Δt)/Δt.

use crate::support::elastic::{elastic, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, TetMesh};
use bathtub_engine::grid::Axis;
use bathtub_engine::solid::elastic::{Elastic, Hold};
use bathtub_engine::solid::{ElasticBody, Motion, Pin};
use bathtub_engine::world::World;
use glam::{DQuat, DVec3};
use std::f64::consts::PI;

const RHO: f64 = 1000.0;
const CELLS: usize = 64;
const DX: f64 = 1.0 / CELLS as f64;
/// Height of the grid, and where the slab ends, in cells: amid one, so that pressure acts where it is.
const HEIGHT: usize = 39;
const END: f64 = 7.5;
/// The slab reaches this far into the walls, in cells, as bars do (row H1), and is thicker than the grid by as much on either side.
const OVERLAP: f64 = 0.01;
/// Elements along x and y.
const ELEMENTS: [usize; 2] = [32, 4];

/// A slab over the whole floor, held a cell below it.
fn slab() -> Elastic {
    let (width, height) = ((CELLS as f64 + 2.0 * OVERLAP) * DX, (END + 1.0) * DX);
    let about = DVec3::new(0.5, 0.5 * height - DX, 0.5 * DX);
    let mesh = TetMesh::block(DVec3::new(width, height, (1.0 + 2.0 * OVERLAP) * DX), [ELEMENTS[0], ELEMENTS[1], 1]);
    let mesh = mesh.mapped(|v| v + about);
    let vertices = held(&mesh);
    let mut slab = elastic("slab", mesh, material(1e6, 0.0, RHO));
    let still = Motion::Static(Pose { position: DVec3::ZERO, rotation: DQuat::IDENTITY });
    slab.holds = vec![Hold { vertices, motion: still }];
    slab
}

fn held(mesh: &TetMesh) -> Vec<usize> {
    (0..mesh.vertices.len()).filter(|&v| mesh.vertices[v].y < -0.99 * DX).collect()
}

/// Area of the top under the fluid that belongs to each vertex, m².
fn top_areas(body: &ElasticBody) -> Vec<f64> {
    let (surface, top) = (body.surface(), (END - 1e-6) * DX);
    let mut areas = vec![0.0; surface.vertices.len()];
    for triangle in &surface.triangles {
        let corners = triangle.map(|v| surface.vertices[v as usize]);
        if corners.iter().all(|corner| corner.y > top) {
            let area = 0.5 * (corners[1] - corners[0]).cross(corners[2] - corners[0]).length();
            triangle.iter().for_each(|&v| areas[v as usize] += area / 3.0 / (1.0 + 2.0 * OVERLAP));
        }
    }
    areas
}

/// The mode that is cos k x at the top and its frequency, rad/s, with `added` mass per area there, kg/m²: inverse iteration.
fn mode(k: f64, added: f64) -> (Vec<DVec3>, f64) {
    let slab = slab();
    let mut body = slab.body([false, false, true]).unwrap();
    let pins: Vec<Pin> = held(&slab.rest).into_iter().map(|vertex| Pin { vertex, velocity: DVec3::ZERO }).collect();
    body.set_pins(&pins).unwrap();
    // Over so long a step mass does not count: A⁻¹ is K⁻¹ ÷ Δt².
    let dt = 1e4;
    body.predict(dt, DVec3::ZERO, &[]).unwrap();
    let areas = top_areas(&body);
    let inertia = |v: usize, u: DVec3| body.masses()[v] * u + added * areas[v] * u.y * DVec3::Y;
    let mut u: Vec<DVec3> = body.positions().iter().map(|x| DVec3::Y * (k * x.x).cos()).collect();
    let mut omega = 0.0;
    for _ in 0..6 {
        let mut next: Vec<f64> = u.iter().enumerate().flat_map(|(v, u)| inertia(v, *u).to_array()).collect();
        let work = next.clone();
        body.respond(&mut next);
        u = next.chunks_exact(3).map(|u| DVec3::from_slice(u) * dt * dt).collect();
        // Rayleigh's quotient: uᵀ K u is uᵀ times the load.
        let stiff: f64 = u.iter().zip(work.chunks_exact(3)).map(|(u, f)| u.dot(DVec3::from_slice(f))).sum();
        let heavy: f64 = u.iter().enumerate().map(|(v, u)| u.dot(inertia(v, *u))).sum();
        omega = (stiff / heavy).sqrt();
        // Of unit height at the left end.
        let amplitude = part(k, &areas, body.positions(), &u);
        u.iter_mut().for_each(|u| *u /= amplitude);
    }
    (u, omega)
}

/// How much of cos k x there is in how the top moves.
fn part(k: f64, areas: &[f64], at: &[DVec3], u: &[DVec3]) -> f64 {
    let wave = |x: &DVec3| (k * x.x).cos();
    let sum = |f: &dyn Fn(usize) -> f64| (0..at.len()).map(|v| areas[v] * f(v)).sum::<f64>();
    sum(&|v| u[v].y * wave(&at[v])) / sum(&|v| wave(&at[v]).powi(2))
}

/// f_wet ÷ f_dry, and what it should be.
fn quotients(waves: usize, top: Wall) -> (f64, f64) {
    let k = PI * waves as f64;
    let is_open = top == Wall::Open;
    let depth = (HEIGHT as f64 - END + if is_open { 0.5 } else { 0.0 }) * DX;
    let added = RHO / k * if is_open { (k * depth).tanh() } else { 1.0 / (k * depth).tanh() };
    let ((_, dry), (shape, wet)) = (mode(k, 0.0), mode(k, added));
    let dt = 0.03 / wet;

    let mut params = still_air([CELLS, HEIGHT, 1], DX);
    params.fluid.smoke_mut().unwrap().rho = RHO;
    params.walls[Axis::Y.index()][1] = top;
    params.elastic = vec![slab()];
    params.time = fixed_step(dt);
    let mut world = World::new(params).unwrap();
    // All in its mode, a hundredth of a cell high: v = φ_y with φ = −cos(k x) (sinh or cosh)(k y) ÷ k, y downwards from the top.
    let speed = 0.01 * DX * wet;
    let mut state = world.state().clone();
    state.solids.elastic[0].velocities = shape.iter().map(|u| speed * *u).collect();
    let (grid, end) = (world.params().grid, if is_open { HEIGHT as f64 + 0.5 } else { HEIGHT as f64 } * DX);
    for axis in [Axis::X, Axis::Y] {
        let dims = grid.face_dims(axis);
        for index in 0..state.fluid.velocity.axes[axis.index()].len() {
            let at = grid.face_centre(axis, [index % dims[0], index / dims[0] % dims[1], index / (dims[0] * dims[1])]);
            let ([x, y], h) = ([k * at.x, k * (end - at.y)], k * depth);
            let value = match (axis, is_open) {
                (Axis::X, true) => x.sin() * y.sinh() / h.cosh(),
                (Axis::X, false) => x.sin() * y.cosh() / h.sinh(),
                (_, true) => x.cos() * y.cosh() / h.cosh(),
                (_, false) => x.cos() * y.sinh() / h.sinh(),
            };
            state.fluid.velocity.axes[axis.index()][index] = speed * value;
        }
    }
    let areas = top_areas(&slab().body([false, false, true]).unwrap());
    world.restore(state).unwrap();

    // Times at which the top stands still: half a period apart.
    let (mut turns, mut last) = (Vec::new(), speed);
    while turns.len() < 2 {
        let report = world.step().unwrap();
        let soft = &world.state().solids.elastic[0];
        let next = part(k, &areas, &soft.positions, &soft.velocities);
        if last * next < 0.0 {
            turns.push(report.t - dt * next / (next - last));
        }
        last = next;
        assert!(report.t * wet < 4.0 * PI, "the bottom does not swing");
    }
    let slowed = PI / (turns[1] - turns[0]);
    // What the frequency is without the slowing down of backward Euler.
    ((slowed * dt).tan() / dt / dry, wet / dry)
}

#[test]
fn a_flexible_bottom_swings_with_the_mass_of_the_fluid() {
    for (waves, top) in [(1, Wall::Open), (1, Wall::Closed), (2, Wall::Open)] {
        let (found, expected) = quotients(waves, top);
        let off = found / expected - 1.0;
        println!("k = {waves} π, {top:?}: f_wet/f_dry {found:.4}, exact {expected:.4}: {:+.2} %", 100.0 * off);
        assert!(off.abs() < 0.03, "k = {waves} π, {top:?}: {found} instead of {expected}");
    }
}
