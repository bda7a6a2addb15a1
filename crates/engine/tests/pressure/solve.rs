//! The solve: exact where it must be, honest where it cannot be.

use crate::network::{Network, Random, norm, tight};
use bathtub_engine::grid::Axis;
use bathtub_engine::solve::{ClosedRegion, PressureSolve, SolveError, SolveParams};
use bathtub_engine::world::PressureSolver;

const SOLVERS: [PressureSolver; 3] = [PressureSolver::Multigrid, PressureSolver::Icpcg, PressureSolver::Cg];

/// Counts, not times: the same handful of iterations for every size, obstacle and right-hand side.
#[test]
fn iterations_do_not_grow_with_size_or_obstacles() {
    let networks = [
        Network::tank([32, 32, 32]),
        Network::tank([64, 64, 64]),
        Network::tank([64, 128, 64]),
        Network::tank([61, 67, 59]),
        Network::balls([32, 32, 32], 20),
        Network::balls([64, 64, 64], 20),
        Network::balls([96, 96, 96], 20),
        Network::solid_balls([64, 64, 64], 20),
    ];
    for network in networks {
        let mut pressure = vec![0.0; network.grid.cells()];
        let b = Random(7).vector(pressure.len());
        let (info, _) = network.solve(PressureSolver::Multigrid, &b, &mut pressure, &SolveParams::default()).unwrap();
        assert!(
            info.converged && (5..=9).contains(&info.iterations),
            "{:?}: {} iterations",
            network.grid.dims,
            info.iterations
        );
    }
}

/// All named solvers find the same pressure, on grids of any shape.
#[test]
fn solvers_agree() {
    for network in Network::assorted().into_iter().chain([Network::balls([24, 20, 28], 6), Network::tank([17, 23, 9])])
    {
        let n = network.grid.cells();
        let b = Random(8).vector(n);
        let solutions = SOLVERS.map(|solver| {
            let mut pressure = vec![0.0; n];
            let (info, _) = network.solve(solver, &b, &mut pressure, &tight()).unwrap();
            assert!(info.converged, "{solver:?} on {:?}: {info:?}", network.grid.dims);
            pressure
        });
        for other in &solutions[1..] {
            let difference: Vec<f64> = solutions[0].iter().zip(other).map(|(a, b)| a - b).collect();
            assert!(norm(&difference) <= 1e-8 * norm(&solutions[0]), "{:?}", network.grid.dims);
        }
    }
}

/// A13: p = 0 on a tilted plane by ghost fluid: the face to a cell beyond the plane ties to zero at the distance θ. A linear
/// pressure is then exact.
#[test]
fn ghost_fluid_surface_reproduces_a_linear_pressure() {
    for dims in [[24, 20, 16], [40, 32, 1]] {
        let (network, exact, b) = Network::below_a_tilted_plane(dims);
        for solver in SOLVERS {
            let mut pressure = vec![0.0; b.len()];
            let params = SolveParams { tolerance: 1e-13, ..tight() };
            let (info, closed) = network.solve(solver, &b, &mut pressure, &params).unwrap();
            assert!(closed.is_empty() && info.residual < 1e-12, "{solver:?}: {info:?}");
            let largest = exact.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            let error = pressure.iter().zip(&exact).map(|(p, e)| (p - e).abs()).fold(0.0, f64::max);
            assert!(error <= 1e-9 * largest, "{solver:?}: {error}");
        }
    }
}

/// A14: projection u ← u − β⁻¹Gp with L = Gᵀβ⁻¹G never adds kinetic energy, here Σ u²β/2 with random β and ties.
#[test]
fn projection_never_adds_energy() {
    let mut random = Random(9);
    for seed in 0..100 {
        let network = Network::random([9, 8, 7], seed);
        let grid = network.grid;
        // Velocities of open inner faces, and of the ties (faces towards zero pressure).
        let mut u = network.faces.clone();
        u.axes.iter_mut().flatten().for_each(|u| *u = random.next());
        let mut out = network.extra.clone();
        out.data.iter_mut().for_each(|u| *u = random.next());
        let inner = |axis: Axis, at: [usize; 3]| at[axis.index()] > 0 && at[axis.index()] < grid.dims[axis.index()];
        let energy = |u: &[Vec<f64>; 3], out: &[f64]| {
            let mut sum = 0.0;
            network.each_face(|axis, at, f| {
                let a = network.faces.axes[axis.index()][f];
                if a > 0.0 && inner(axis, at) {
                    sum += 0.5 * u[axis.index()][f].powi(2) / a;
                }
            });
            sum + network
                .extra
                .data
                .iter()
                .zip(out)
                .filter(|(d, _)| **d > 0.0)
                .map(|(d, u)| 0.5 * u * u / d)
                .sum::<f64>()
        };
        let before = energy(&u.axes, &out.data);
        // b = −div u in the same units: what flows in.
        let mut b = vec![0.0; grid.cells()];
        network.each_face(|axis, at, f| {
            if network.faces.axes[axis.index()][f] > 0.0 && inner(axis, at) {
                let mut below = at;
                below[axis.index()] -= 1;
                b[grid.cell(at)] += u.axes[axis.index()][f];
                b[grid.cell(below)] -= u.axes[axis.index()][f];
            }
        });
        for (c, b) in b.iter_mut().enumerate() {
            *b -= if network.extra.data[c] > 0.0 { out.data[c] } else { 0.0 };
        }
        let mut p = vec![0.0; grid.cells()];
        network.solve(PressureSolver::Multigrid, &b, &mut p, &tight()).unwrap();
        network.each_face(|axis, at, f| {
            if inner(axis, at) {
                let mut below = at;
                below[axis.index()] -= 1;
                let a = network.faces.axes[axis.index()][f];
                u.axes[axis.index()][f] -= a * (p[grid.cell(at)] - p[grid.cell(below)]);
            }
        });
        for (c, u) in out.data.iter_mut().enumerate() {
            *u += network.extra.data[c] * p[c];
        }
        assert!(energy(&u.axes, &out.data) <= before * (1.0 + 1e-10));
    }
}

/// J16: the same bits for 1, 2 and 5 threads.
#[test]
fn threads_do_not_change_a_bit() {
    let network = Network::balls([48, 40, 56], 8);
    let b = Random(10).vector(network.grid.cells());
    for solver in SOLVERS {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut pressure = vec![0.0; b.len()];
                let (info, closed) = network.solve(solver, &b, &mut pressure, &SolveParams::default()).unwrap();
                (pressure.iter().map(|p| p.to_bits()).collect::<Vec<_>>(), info, closed)
            })
        };
        let one = run(1);
        assert!(run(2) == one && run(5) == one, "{solver:?}");
    }
}

/// Fault row 24: isolated cells are no unknowns and leave no zero row.
#[test]
fn isolated_cells_are_left_out() {
    let mut network = Network::tank([8, 8, 8]);
    let island = [2, 2, 2];
    for axis in Axis::ALL {
        let mut above = island;
        above[axis.index()] += 1;
        network.faces[(axis, island)] = 0.0;
        network.faces[(axis, above)] = 0.0;
    }
    let island = network.grid.cell(island);
    for solver in SOLVERS {
        let mut pressure = vec![3.0; network.grid.cells()];
        let (info, closed) = network.solve(solver, &vec![1.0; pressure.len()], &mut pressure, &tight()).unwrap();
        assert!(info.converged && closed.is_empty());
        assert_eq!(pressure[island], 0.0);
        assert!(pressure.iter().all(|p| p.is_finite()));
    }
    // Nothing but solid: nothing to solve.
    let void = Network {
        faces: {
            let mut f = network.faces.clone();
            f.axes.iter_mut().flatten().for_each(|a| *a = 0.0);
            f
        },
        extra: {
            let mut e = network.extra.clone();
            e.data.fill(0.0);
            e
        },
        ..network
    };
    for solver in SOLVERS {
        let mut pressure = vec![1.0; void.grid.cells()];
        let (info, _) = void.solve(solver, &vec![1.0; pressure.len()], &mut pressure, &tight()).unwrap();
        assert!(info.converged && info.iterations == 0 && pressure.iter().all(|p| *p == 0.0));
    }
}

/// Three chambers, one of them open: the other two lose the mean of their right-hand side and say how much that was.
#[test]
fn closed_regions_are_found_and_made_compatible() {
    let mut network = Network::empty([12, 10, 9]);
    // Walls at x = 3 and x = 8; only the middle chamber keeps its opening.
    network.each_face_mut(|axis, at, a| {
        if axis == Axis::X && (at[0] == 3 || at[0] == 8) {
            *a = 0.0
        }
    });
    for c in 0..network.grid.cells() {
        if !(3..8).contains(&network.grid.cell_at(c)[0]) {
            network.extra.data[c] = 0.0;
        }
    }
    let n = network.grid.cells();
    let b: Vec<f64> = Random(11).vector(n).iter().map(|v| v + 0.3).collect();
    let chamber = |c: usize| match network.grid.cell_at(c)[0] {
        0..3 => 0,
        3..8 => 1,
        _ => 2,
    };
    for solver in SOLVERS {
        let mut pressure = vec![0.0; n];
        let (info, closed) = network.solve(solver, &b, &mut pressure, &tight()).unwrap();
        assert!(info.converged, "{solver:?} {info:?}");
        assert_eq!(closed.iter().map(|r| (r.first_cell, r.cells)).collect::<Vec<_>>(), [(0, 270), (8, 360)]);
        let total = |v: &[f64], which: usize| (0..n).filter(|&c| chamber(c) == which).map(|c| v[c]).sum::<f64>();
        for (region, which) in closed.iter().zip([0, 2]) {
            assert!((region.incompatible - total(&b, which)).abs() < 1e-10);
            assert!(total(&pressure, which).abs() < 1e-9 * n as f64);
        }
        // The compatible part is solved.
        let mut lp = vec![0.0; n];
        network.laplacian().apply(&pressure, &mut lp);
        for c in 0..n {
            let mean = match chamber(c) {
                0 => closed[0].incompatible / 270.0,
                1 => 0.0,
                _ => closed[1].incompatible / 360.0,
            };
            assert!((lp[c] - (b[c] - mean)).abs() < 1e-8);
        }
    }
}

/// A rhs that no pressure can balance at all leaves nothing to do.
#[test]
fn purely_incompatible_right_hand_side_needs_no_pressure() {
    let mut network = Network::empty([10, 10, 10]);
    network.extra.data.fill(0.0);
    let mut pressure = vec![0.0; 1000];
    let (info, closed) = network.solve(PressureSolver::Multigrid, &[0.5; 1000], &mut pressure, &tight()).unwrap();
    assert!(info.converged && pressure.iter().all(|p| p.abs() < 1e-12));
    assert_eq!(closed, [ClosedRegion { first_cell: 0, cells: 1000, incompatible: 500.0 }]);
}

/// The cap and the budget stop a solve without calling it converged.
#[test]
fn cap_and_budget_are_not_convergence() {
    let network = Network::tank([32, 32, 32]);
    let b = Random(12).vector(network.grid.cells());
    let capped = SolveParams { tolerance: 1e-10, max_iterations: 3, budget_seconds: None };
    let out_of_time = SolveParams { tolerance: 1e-10, max_iterations: 100, budget_seconds: Some(0.0) };
    for solver in SOLVERS {
        let mut pressure = vec![0.0; b.len()];
        let (info, _) = network.solve(solver, &b, &mut pressure, &capped).unwrap();
        assert!(!info.converged && info.iterations == 3 && info.residual > 1e-10);
        let (info, _) = network.solve(solver, &b, &mut pressure, &out_of_time).unwrap();
        assert!(!info.converged && info.iterations == 0);
    }
}

/// A good first guess is used: the solution itself costs nothing, a near one little.
#[test]
fn warm_start_saves_iterations() {
    let network = Network::balls([32, 32, 32], 5);
    let b = Random(13).vector(network.grid.cells());
    for solver in SOLVERS {
        let mut pressure = vec![0.0; b.len()];
        let (cold, _) = network.solve(solver, &b, &mut pressure, &tight()).unwrap();
        let (again, _) = network.solve(solver, &b, &mut pressure, &SolveParams::default()).unwrap();
        assert_eq!(again.iterations, 0);
        let mut near: Vec<f64> = pressure.iter().map(|p| p * (1.0 + 1e-5)).collect();
        let (near, _) = network.solve(solver, &b, &mut near, &tight()).unwrap();
        assert!(near.converged && near.iterations < cold.iterations);
    }
}

/// What cannot be solved is refused by name, and the next solve is none the worse.
#[test]
fn bad_numbers_are_errors() {
    let network = Network::tank([8, 8, 8]);
    let mut solve = PressureSolve::new();
    let mut p = vec![0.0; 512];
    let good = vec![1.0; 512];
    let mut bad = good.clone();
    bad[100] = f64::NAN;
    for solver in SOLVERS {
        let error = solve.solve(solver, &network.faces, &network.extra, &bad, &mut p, &tight()).unwrap_err();
        assert!(matches!(error, SolveError::NonFinite { .. }), "{error}");
        for value in [-1.0, f64::NAN, f64::INFINITY] {
            let mut faces = network.faces.clone();
            faces[(Axis::Y, [4, 4, 4])] = value;
            let error = solve.solve(solver, &faces, &network.extra, &good, &mut p, &tight()).unwrap_err();
            assert_eq!(error, SolveError::Coefficient);
        }
        p.fill(0.0);
        let (info, _) = solve.solve(solver, &network.faces, &network.extra, &good, &mut p, &tight()).unwrap();
        assert!(info.converged);
    }
}

/// Units do not matter: tiny and huge coefficients and right-hand sides take the same number of iterations, in f32 cycles too.
#[test]
fn scale_of_the_problem_does_not_matter() {
    let network = Network::balls([32, 32, 32], 5);
    let b = Random(14).vector(network.grid.cells());
    let count = |a: f64, s: f64| {
        let mut scaled = Network { grid: network.grid, faces: network.faces.clone(), extra: network.extra.clone() };
        scaled.faces.axes.iter_mut().flatten().chain(&mut scaled.extra.data).for_each(|v| *v *= a);
        let b: Vec<f64> = b.iter().map(|v| v * s).collect();
        let mut pressure = vec![0.0; b.len()];
        let (info, _) = scaled.solve(PressureSolver::Multigrid, &b, &mut pressure, &tight()).unwrap();
        assert!(info.converged);
        info.iterations
    };
    let plain = count(1.0, 1.0);
    assert!(
        [(1e-40, 1.0), (1e40, 1.0), (1.0, 1e-60), (1e30, 1e60)].iter().all(|&(a, s)| count(a, s).abs_diff(plain) <= 1)
    );
}

/// Memory is kept from solve to solve, whatever the order of sizes.
#[test]
fn workspace_is_reused_across_sizes() {
    let mut solve = PressureSolve::new();
    let networks = [
        Network::tank([24, 24, 24]),
        Network::balls([16, 12, 20], 4),
        Network::tank([31, 9, 14]),
        Network::tank([24, 24, 24]),
    ];
    let mut bytes = 0;
    for (n, network) in networks.iter().enumerate() {
        let b = Random(15).vector(network.grid.cells());
        let (mut reused, mut fresh) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        solve.solve(PressureSolver::Multigrid, &network.faces, &network.extra, &b, &mut reused, &tight()).unwrap();
        network.solve(PressureSolver::Multigrid, &b, &mut fresh, &tight()).unwrap();
        assert_eq!(reused, fresh);
        if n == 0 {
            bytes = solve.bytes();
        }
    }
    assert!(solve.bytes() <= bytes * 2);
}
