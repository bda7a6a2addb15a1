//! Rows A2, A3 and J7 for elastic bodies: Σ = L + C Cᵀ + ρ dx³ B A⁻¹ Bᵀ is symmetric and positive, it is what remains of
//! \[ZB17, eq. 19\] without v, and every solver finds the same pressure, with rigid bodies in the same system as well.

use crate::support::elastic::{ball, elastic as soft_body, material};
use crate::support::{random, still_air};
use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::monolithic::{Answers, System};
use bathtub_engine::coupling::rigid::RigidSide;
use bathtub_engine::coupling::{Medium, elastic};
use bathtub_engine::fluid::boundary::{Boundary, Wall};
use bathtub_engine::geometry::{Pose, Shape, SurfaceId};
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid};
use bathtub_engine::solid::ElasticBody;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::solve::{
    Bodies, Cholesky, Coupled, Laplacian, Operator, PressureSolve, PressureSolver, Push, SolidTerms, SolveParams,
    Supports, Yielding,
};
use glam::{DQuat, DVec3};

const RHO: f64 = 1000.0;
const DX: f64 = 0.1;
const DT: f64 = 0.01;

/// A tank with an open top and a soft ball in it, with rigid bodies besides if there are any.
struct Tank {
    faces: FaceField,
    extra: CellField,
    laplacian: Laplacian,
    solids: SolidTerms,
    body: ElasticBody,
}

fn tank(dims: [usize; 3], (radius, centre): (f64, DVec3), youngs_modulus: f64, rigid: &[Interface]) -> Tank {
    let mut params = still_air(dims, DX);
    params.walls[Axis::Y.index()][1] = Wall::Open;
    params.elastic =
        vec![soft_body("soft", ball(radius, centre, 0.5 * radius), material(youngs_modulus, 0.3, 0.5 * RHO))];
    let places = [DVec3::new(0.85, 0.83, 0.87), DVec3::new(0.33, 0.93, 0.71)];
    let bodies = rigid.iter().zip(places).map(|(&interface, position)| RigidBody {
        name: format!("{interface:?}"),
        shape: Shape::Box { size: DVec3::new(0.33, 0.21, 0.25) },
        mass: Mass::Density(0.3 * RHO),
        interface,
        pose: Pose { position, rotation: DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, -0.2)) },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    });
    params.bodies = bodies.collect();
    let (rigids, mut state) = params.rigids().unwrap();
    let mut body = params.elastic[0].body([false; 3]).unwrap();
    body.predict(DT, DVec3::ZERO, &[]).unwrap();
    let grid = params.grid;
    let outlines: Vec<_> =
        params.bodies.iter().map(|body| body.outline()).chain([body.outline("soft", Interface::CutCells)]).collect();
    let soft = SurfaceId(rigids.len() as u32);
    let skin = |id: SurfaceId| if id == soft { body.skin() } else { rigids.skin(&state, id.0 as usize) };
    let immersed = Immersed::new(&outlines, skin, &grid, DT, false);
    let boundary = immersed.boundary(&grid, params.walls);
    let still = FaceField::new(&grid, 0.0);
    let medium = Medium::weightless(RHO);
    let scene = Scene { grid: &grid, medium, boundary: &boundary, immersed: &immersed, arriving: &still };
    let surfaces: Vec<SurfaceId> = (0..soft.0).map(SurfaceId).collect();
    let mut supports = Supports::default();
    let mut freedoms = RigidSide::new(&rigids, &mut state, &surfaces, &mut supports).freedoms();
    freedoms.push(elastic::freedoms(&body, soft, DT));
    let solids = System::new(&scene, freedoms).terms();
    let (faces, extra) = coefficients(&grid, &boundary);
    let laplacian = Laplacian::new(&faces, &extra).unwrap();
    Tank { faces, extra, laplacian, solids, body }
}

/// Open parts of the faces that pressure drives, and ties beyond the open top.
fn coefficients(grid: &Grid, boundary: &Boundary) -> (FaceField, CellField) {
    let mut faces = boundary.open.clone();
    let driven = faces.axes.iter_mut().flatten().zip(boundary.driven.axes.iter().flatten());
    driven.for_each(|(open, free)| *open *= f64::from(u8::from(*free)));
    let mut extra = CellField::new(grid, 0.0);
    let [nx, ny, nz] = grid.dims;
    for (i, k) in (0..nx).flat_map(|i| (0..nz).map(move |k| (i, k))) {
        extra[[i, ny - 1, k]] = faces[(Axis::Y, [i, ny, k])];
    }
    (faces, extra)
}

impl Tank {
    /// The soft ball without the rows of cells that are no unknowns.
    fn yielding(&self) -> Yielding {
        let yielding = self.solids.yielding[0].clone();
        let rows = yielding.push.rows().filter(|(cell, _)| self.laplacian.is_unknown(*cell));
        let entries = rows.flat_map(|(cell, row)| row.iter().map(move |&(v, weight)| (cell as u32, v, weight)));
        Yielding { push: Push::from_entries(entries.collect()), ..yielding }
    }

    /// f(Σ) with Σ as a function x ↦ Σ x.
    fn with_operator<T>(&self, f: impl FnOnce(&mut dyn FnMut(&[f64]) -> Vec<f64>) -> T) -> T {
        let mut laplacian = self.laplacian.clone();
        let mut low_rank = self.solids.low_rank();
        low_rank.mask(&self.laplacian, &[]);
        let yielding = [self.yielding()];
        let zero = vec![0.0; laplacian.len()];
        let mut operator = Coupled::new(&mut laplacian, &low_rank).with_yielding(&yielding);
        f(&mut |x| {
            let mut r = zero.clone();
            operator.residual(&zero, x, &mut r);
            r.iter().map(|r| -r).collect()
        })
    }

    fn vector(&self, next: &mut impl FnMut() -> f64) -> Vec<f64> {
        let mut v: Vec<f64> = (0..self.laplacian.len()).map(|_| next()).collect();
        self.laplacian.mask(&mut v);
        v
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

const SMALL: ([usize; 3], (f64, DVec3)) = ([7, 7, 7], (0.17, DVec3::new(0.33, 0.36, 0.34)));
const MIXED: ([usize; 3], (f64, DVec3)) = ([12, 14, 12], (0.22, DVec3::new(0.41, 0.37, 0.52)));
const BOTH: [Interface; 2] = [Interface::CutCells, Interface::Faces];

/// Rows A2 and A3, for jelly and for steel.
#[test]
fn the_operator_is_symmetric_and_positive() {
    for youngs_modulus in [1e3, 1e6, 1e10] {
        let (dims, soft) = MIXED;
        let tank = tank(dims, soft, youngs_modulus, &BOTH);
        let mut next = random(5);
        let (mut asymmetry, mut lowest, mut norm) = (0.0f64, f64::MAX, 0.0f64);
        tank.with_operator(|apply| {
            for _ in 0..100 {
                let [x, y] = [0; 2].map(|_| tank.vector(&mut next));
                let [ax, ay] = [&x, &y].map(|v| apply(v));
                let lengths = (dot(&x, &x) * dot(&y, &y)).sqrt();
                asymmetry = asymmetry.max((dot(&x, &ay) - dot(&y, &ax)).abs() / lengths);
                // A lower bound of ‖Σ‖, so that the test is no weaker than the row.
                norm = norm.max((dot(&ax, &ax) / dot(&x, &x)).sqrt());
            }
            for _ in 0..1000 {
                let z = tank.vector(&mut next);
                lowest = lowest.min(dot(&z, &apply(&z)) / dot(&z, &z));
            }
        });
        println!("E = {youngs_modulus:.0e}: asymmetry {:.1e}, zᵀΣz ≥ {lowest:.3} |z|²", asymmetry / norm);
        assert!(asymmetry <= 1e-12 * norm, "E = {youngs_modulus:.0e}: {asymmetry:.1e} of {norm:.1e}");
        assert!(lowest > 0.0, "E = {youngs_modulus:.0e}: zᵀΣz = {lowest:.1e} |z|²");
    }
}

/// Row A3: every pivot of the Lanczos matrix is positive, so that λ_min > 0.
#[test]
fn the_lowest_eigenvalue_is_positive() {
    for youngs_modulus in [1e3, 1e9] {
        let (dims, soft) = SMALL;
        let tank = tank(dims, soft, youngs_modulus, &[]);
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let (mut v, mut pivot) = (tank.vector(&mut random(4)), f64::INFINITY);
        tank.with_operator(|apply| {
            loop {
                // Twice: the basis stays orthogonal to round-off.
                for b in basis.iter().chain(&basis) {
                    let part = dot(&v, b);
                    v.iter_mut().zip(b).for_each(|(v, b)| *v -= part * b);
                }
                let length = dot(&v, &v).sqrt();
                if length < 1e-8 {
                    break;
                }
                v.iter_mut().for_each(|v| *v /= length);
                let image = apply(&v);
                pivot = dot(&v, &image) - if basis.is_empty() { 0.0 } else { length * length / pivot };
                assert!(pivot > 0.0, "E = {youngs_modulus:.0e}: pivot {} is {pivot}", basis.len());
                basis.push(std::mem::replace(&mut v, image));
            }
        });
        assert!(basis.len() > 100, "only {} Lanczos vectors", basis.len());
    }
}

/// Row J7: pressure and velocity are those of the whole system \[ZB17, eq. 19\], solved as a dense one,
///
/// ```text
/// [ A/ρdx³  Bᵀ ] [v]   [ A v*/ρdx³ ]
/// [ B      −L  ] [p] = [ D u*      ]
/// ```
#[test]
fn pressures_are_those_of_the_whole_system() {
    for youngs_modulus in [1e3, 1e6, 1e9] {
        let (dims, soft) = SMALL;
        let tank = tank(dims, soft, youngs_modulus, &[]);
        let yielding = tank.yielding();
        let (cells, freedoms) = (tank.laplacian.len(), yielding.freedoms());
        let n = freedoms + cells;
        let mut matrix = vec![0.0; n * n];
        let system = tank.body.system();
        for row in 0..freedoms {
            system.scalar_row(row).for_each(|(column, a)| matrix[n * row + column] = a / yielding.unit());
        }
        for (cell, entries) in yielding.push.rows() {
            for (vertex, weight) in entries {
                for axis in Axis::ALL {
                    let (row, column) = (freedoms + cell, 3 * *vertex as usize + axis.index());
                    matrix[n * row + column] += weight[axis.index()];
                    matrix[n * column + row] += weight[axis.index()];
                }
            }
        }
        let mut unit = vec![0.0; cells];
        let mut image = vec![0.0; cells];
        for cell in 0..cells {
            let at = freedoms + cell;
            if !tank.laplacian.is_unknown(cell) {
                matrix[n * at + at] = -1.0;
                continue;
            }
            unit[cell] = 1.0;
            tank.laplacian.apply(&unit, &mut image);
            (0..cells).for_each(|other| matrix[n * (freedoms + other) + at] = -image[other]);
            unit[cell] = 0.0;
        }
        // Some velocity v* and some divergence.
        let mut next = random(9);
        let v_star: Vec<f64> = (0..freedoms).map(|_| next()).collect();
        let divergence = tank.vector(&mut next);
        let of_row = |row: usize| system.scalar_row(row).map(|(column, a)| a * v_star[column]).sum::<f64>();
        let mut whole: Vec<f64> = (0..freedoms).map(|row| of_row(row) / yielding.unit()).collect();
        whole.extend(&divergence);
        Cholesky::quasi_definite(n, freedoms, matrix).solve(&mut whole);
        let (v, p) = whole.split_at(freedoms);

        let mut rhs: Vec<f64> = divergence.iter().map(|d| -d).collect();
        yielding.push.scatter(&v_star, |cell, push| rhs[cell] += push);
        let mut solve = PressureSolve::new();
        let params = SolveParams { tolerance: 1e-13, max_iterations: 500, budget_seconds: None };
        let mut found = vec![0.0; cells];
        solve.build(PressureSolver::Multigrid, &tank.faces, &tank.extra, tank.solids.clone()).unwrap();
        solve.iterate(PressureSolver::Multigrid, Bodies::Answering, &rhs, &mut found, &params).unwrap();
        let mut answer = vec![0.0; freedoms];
        yielding.push.gather(&found, &mut answer);
        yielding.step.factor.solve_in_place(&mut answer);
        let moved: Vec<f64> = v_star.iter().zip(&answer).map(|(v, a)| v - yielding.unit() * a).collect();
        let off = |a: &[f64], b: &[f64]| {
            let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
            (dot(&difference, &difference) / dot(b, b)).sqrt()
        };
        let (of_p, of_v) = (off(&found, p), off(&moved, v));
        println!("E = {youngs_modulus:.0e}: {cells} cells, {freedoms} freedoms, p off by {of_p:.1e}, v by {of_v:.1e}");
        assert!(of_p <= 1e-8 && of_v <= 1e-8, "E = {youngs_modulus:.0e}: p off by {of_p:.1e}, v by {of_v:.1e}");
    }
}

/// A soft body, a rigid one in cut cells and one with face constraints share a system: all solvers agree.
#[test]
fn all_solvers_find_the_same_pressure() {
    let solvers = [
        PressureSolver::Multigrid,
        PressureSolver::CgSchur,
        PressureSolver::Cg,
        PressureSolver::Icpcg,
        PressureSolver::A18 { corrections: 0 },
        PressureSolver::A18 { corrections: 1 },
    ];
    let params = SolveParams { tolerance: 1e-11, max_iterations: 5000, budget_seconds: None };
    let mut wrong = false;
    for youngs_modulus in [1e4, 1e8] {
        for rigid in [&BOTH[..1], &BOTH[..]] {
            let (dims, soft) = MIXED;
            let tank = tank(dims, soft, youngs_modulus, rigid);
            let rhs = tank.vector(&mut random(3));
            let mut exact: Option<Vec<f64>> = None;
            for solver in solvers {
                let mut solve = PressureSolve::new();
                let mut p = vec![0.0; rhs.len()];
                solve.build(solver, &tank.faces, &tank.extra, tank.solids.clone()).unwrap();
                let info = solve.iterate(solver, Bodies::Answering, &rhs, &mut p, &params).unwrap();
                let exact = exact.get_or_insert_with(|| p.clone());
                let difference: Vec<f64> = p.iter().zip(&*exact).map(|(p, exact)| p - exact).collect();
                let off = (dot(&difference, &difference) / dot(exact, exact)).sqrt();
                let (name, iterations) = (solver.name(), info.iterations);
                println!("E = {youngs_modulus:.0e}, {} rigid, {name}: {iterations} iterations, {off:.1e}", rigid.len());
                wrong |= off > 1e-6 || !info.converged;
            }
        }
    }
    assert!(!wrong, "see above");
}
