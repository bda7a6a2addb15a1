//! Elastic bodies in the pressure system: the same answer from every solver (row A9), and how hard it is to find.

use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::monolithic::System;
use bathtub_engine::coupling::{Medium, elastic};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Shape, SurfaceId, TetMesh};
use bathtub_engine::grid::operators::divergence;
use bathtub_engine::grid::{CellField, FaceField, Grid};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::elastic::{ElasticBody, Material};
use bathtub_engine::solve::{Bodies, PressureSolve, PressureSolver, SolidTerms, SolveParams, Zb17Params};
use glam::DVec3;

const RHO: f64 = 1000.0;
const DT: f64 = 1.0 / 120.0;

/// A ball in a tank of `n` cells a side, everything in free fall.
struct Tank {
    faces: FaceField,
    extra: CellField,
    rhs: Vec<f64>,
    terms: SolidTerms,
}

impl Tank {
    fn new(n: usize, size: f64, material: Material, is_open: bool) -> Self {
        let grid = Grid::new([n; 3], 1.0 / n as f64, DVec3::ZERO);
        let (ball, _) = TetMesh::from_shape(&Shape::Sphere { radius: 0.2 }, size).unwrap();
        let rest = ball.mapped(|x| x + DVec3::new(0.503, 0.497, 0.511));
        let mut body = ElasticBody::new(rest, material, [false; 3]).unwrap();
        let gravity = DVec3::new(0.0, -9.81, 0.0);
        body.predict(DT, gravity, &[]).unwrap();
        let mut walls = [[Wall::Closed; 2]; 3];
        if is_open {
            walls[1][1] = Wall::Open;
        }
        let immersed = Immersed::new(&[body.outline("ball", Interface::CutCells)], |_| body.skin(), &grid, DT, false);
        let boundary = immersed.boundary(&grid, walls);
        let (medium, still) = (Medium::weightless(RHO), FaceField::new(&grid, 0.0));
        let scene = Scene { grid: &grid, medium, boundary: &boundary, immersed: &immersed, arriving: &still };
        let coupled = System::new(&scene, vec![elastic::freedoms(&body, SurfaceId(0), DT)]);

        let (mut faces, mut velocity) = (FaceField::new(&grid, 0.0), FaceField::new(&grid, 0.0));
        for a in 0..3 {
            for (face, is_free) in boundary.driven.axes[a].iter().enumerate().filter(|(_, is_free)| **is_free) {
                assert!(is_free);
                faces.axes[a][face] = boundary.open.axes[a][face];
                velocity.axes[a][face] = DT * gravity[a];
            }
        }
        let mut flow = CellField::new(&grid, 0.0);
        divergence(&velocity, &boundary.open, &mut flow);
        let mut rhs: Vec<f64> = flow.data.iter().map(|d| -d).collect();
        coupled.pushed_volume().into_iter().for_each(|(cell, volume)| rhs[cell] += volume);
        let mut extra = CellField::new(&grid, 0.0);
        if is_open {
            (0..n * n).for_each(|m| extra.data[m % n + n * (n - 1 + n * (m / n))] = 1.0);
        }
        Self { faces, extra, rhs, terms: coupled.terms() }
    }

    /// Pressure and iterations.
    fn solve(
        &self,
        solve: &mut PressureSolve,
        solver: PressureSolver,
        terms: &SolidTerms,
        tolerance: f64,
    ) -> (Vec<f64>, usize) {
        let mut p = vec![0.0; self.rhs.len()];
        let params = SolveParams { tolerance, max_iterations: 5000, budget_seconds: None };
        solve.build(solver, &self.faces, &self.extra, terms.clone()).unwrap();
        let info = solve.iterate(solver, Bodies::Answering, &self.rhs, &mut p, &params).unwrap();
        assert!(info.converged, "{}: {info:?}", solver.name());
        (p, info.iterations)
    }
}

fn material(youngs_modulus: f64, ratio: f64) -> Material {
    let density = ratio * RHO;
    Material { youngs_modulus, poisson_ratio: 0.3, density, mass_damping: 0.5, stiffness_damping: 1e-3 }
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0_f64, |largest, b| largest.max(b.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn a9_all_systems_have_one_solution() {
    for is_open in [true, false] {
        let tank = Tank::new(14, 0.1, material(3e4, 0.7), is_open);
        let mut solve = PressureSolve::new();
        let (p, _) = tank.solve(&mut solve, PressureSolver::Multigrid, &tank.terms, 1e-12);
        for solver in [PressureSolver::CgSchur, PressureSolver::Icpcg, PressureSolver::Zb17Indefinite] {
            let (other, _) = tank.solve(&mut solve, solver, &tank.terms, 1e-13);
            let error = difference(&other, &p);
            assert!(error < 1e-8, "{}: off by {error:e}", solver.name());
        }
        for sigma in [0.1, 0.5, 0.9] {
            for alpha in [Some(1e-4), Some(1e-3), None, Some(1.0)] {
                solve.set_zb17(Zb17Params { sigma, alpha });
                let (other, _) = tank.solve(&mut solve, PressureSolver::Zb17Spd, &tank.terms, 1e-14);
                let error = difference(&other, &p);
                assert!(error < 1e-8, "σ {sigma}, α {alpha:?}: off by {error:e}");
            }
        }
    }
}

/// The solver of choice needs about as many iterations as without the body; hardly more if vertices are two cells apart and
/// much lighter than the fluid around them.
#[test]
fn iterations_hardly_depend_on_the_body() {
    for (ratio, youngs_modulus, most) in [
        (0.1, 1e3, 16),
        (0.1, 1e5, 14),
        (0.1, 1e8, 14),
        (1.0, 1e3, 14),
        (1.0, 1e6, 14),
        (10.0, 1e3, 14),
        (10.0, 1e8, 14),
    ] {
        let tank = Tank::new(24, 0.08, material(youngs_modulus, ratio), true);
        let mut solve = PressureSolve::new();
        let solver = PressureSolver::Multigrid;
        let (_, plain) = tank.solve(&mut solve, solver, &SolidTerms::default(), 1e-10);
        let (_, coupled) = tank.solve(&mut solve, solver, &tank.terms, 1e-10);
        println!("{ratio}, {youngs_modulus:e} Pa: {coupled} iterations, {plain} without");
        assert!(
            plain <= 12 && coupled <= most,
            "{ratio}, {youngs_modulus:e} Pa: {coupled} iterations, {plain} without"
        );
    }
}
