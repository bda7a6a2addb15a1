//! Divergence and gradient are each other's negative transpose, and projections lose energy.

use crate::support::{fixed, random, still_air};
use bathtub_engine::fluid::boundary::{Boundary, Wall};
use bathtub_engine::fluid::projection::Projection;
use bathtub_engine::geometry::Shape;
use bathtub_engine::grid::operators::{divergence, subtract_gradient};
use bathtub_engine::grid::{CellField, FaceField};
use bathtub_engine::solve::{PressureSolver, SolveParams};
use bathtub_engine::world::World;
use glam::{DQuat, DVec3};

/// A 10×8×9 box with a tilted block and a ball sticking out of its side; closed, open or fed sides.
fn cut_box(walls: [[Wall; 2]; 3]) -> World {
    let mut params = still_air([10, 8, 9], 0.1);
    params.walls = walls;
    let tilt = DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, -0.2));
    let block = Shape::Box { size: DVec3::new(0.31, 0.2, 0.25) };
    params.obstacles = vec![
        fixed("block", block, DVec3::new(0.33, 0.41, 0.52), tilt),
        fixed("ball", Shape::Sphere { radius: 0.17 }, DVec3::new(0.98, 0.3, 0.2), DQuat::IDENTITY),
    ];
    World::new(params).unwrap()
}

fn sides() -> [[[Wall; 2]; 3]; 3] {
    let inflow = Wall::Inflow { velocity: DVec3::X, density: 0.0, temperature: 0.0 };
    let closed = [Wall::Closed; 2];
    [[closed; 3], [[inflow, Wall::Open], closed, closed], [[Wall::Open; 2]; 3]]
}

fn random_faces(boundary: &Boundary, seed: u64) -> FaceField {
    let mut u = boundary.open.clone();
    let mut next = random(seed);
    u.axes.iter_mut().flatten().for_each(|u| *u = next());
    // Faces of given velocity carry nothing here: closed sides, and what moves with a solid.
    boundary.given.iter().for_each(|face| u.axes[face.axis.index()][face.index] = 0.0);
    u
}

/// Row A1: ⟨u, G p⟩ = −⟨D u, p⟩ with the open fractions as weights, 20 random pairs for each kind of side.
#[test]
fn gradient_is_the_negative_transpose_of_divergence() {
    for walls in sides() {
        let world = cut_box(walls);
        let (grid, boundary) = (world.params().grid, world.boundary());
        for seed in 0..20 {
            let u = random_faces(boundary, seed);
            let mut p = CellField::new(&grid, 0.0);
            let mut next = random(seed + 1000);
            p.data.iter_mut().for_each(|p| *p = next());
            let mut div = CellField::new(&grid, 0.0);
            divergence(&u, &boundary.open, &mut div);
            let mut minus_gradient = FaceField::new(&grid, 0.0);
            subtract_gradient(&p, &boundary.driven, &mut minus_gradient);

            let open = boundary.open.axes.iter().flatten();
            let faces = open.zip(u.axes.iter().flatten()).zip(minus_gradient.axes.iter().flatten());
            let (mut left, mut scale) = (0.0, 0.0);
            for ((a, u), g) in faces {
                left += a * u * g;
                scale += (a * u * g).abs();
            }
            let right: f64 = div.data.iter().zip(&p.data).map(|(d, p)| d * p).sum();
            assert!((left - right).abs() <= 1e-13 * scale, "{left} against {right}");
        }
    }
}

/// Row A14: a converged projection around static solids never adds kinetic energy; row K3: what divergence is left
/// is bounded by the tolerance.
#[test]
fn a_projection_takes_energy_and_leaves_no_divergence() {
    for walls in [sides()[0], sides()[2]] {
        let world = cut_box(walls);
        let (grid, boundary) = (world.params().grid, world.boundary());
        let mut projection = Projection::new(&grid, boundary, PressureSolver::Multigrid);
        let params = SolveParams { tolerance: 1e-10, max_iterations: 200, budget_seconds: None };
        let energy = |u: &FaceField| -> f64 {
            let open = boundary.open.axes.iter().flatten();
            open.zip(u.axes.iter().flatten()).map(|(a, u)| 0.5 * a * u * u).sum()
        };
        for seed in 0..100 {
            let mut u = random_faces(boundary, seed);
            let before = energy(&u);
            let mut div = CellField::new(&grid, 0.0);
            divergence(&u, &boundary.open, &mut div);
            let rhs = div.data.iter().map(|d| d * d).sum::<f64>().sqrt();
            let mut p = CellField::new(&grid, 0.0);
            let projected = projection.project(boundary, None, &[], &params, &mut u, &mut p).unwrap();
            assert!(projected.info.converged);
            assert!(energy(&u) <= before * (1.0 + 1e-10), "{} from {before}", energy(&u));
            let left = projection.residual_flux(boundary, &[], &u);
            assert!(left <= 10.0 * params.tolerance * rhs, "{left}");
        }
    }
}
