//! Row J7: every pressure solver finds what a dense factorisation of the full system \[A18, eq. 17\] finds.

use bathtub_bench::experiments::box_lift::{RATIOS, System, box_lift, several_boxes};
use bathtub_engine::grid::{Axis, unravel};
use bathtub_engine::solid::Interface;
use bathtub_engine::solve::{Cholesky, LowRank, PressureSolve, PressureSolver, SolveParams};

const SOLVERS: [PressureSolver; 8] = [
    PressureSolver::Multigrid,
    PressureSolver::A18 { corrections: 0 },
    PressureSolver::A18 { corrections: 1 },
    PressureSolver::A18 { corrections: 2 },
    PressureSolver::A18 { corrections: 3 },
    PressureSolver::Icpcg,
    PressureSolver::CgSchur,
    PressureSolver::Cg,
];

/// Pressures of the full system, with bodies in cut cells eliminated: its matrix is written out from the terms, one unknown for
/// each cell and one for each constrained face.
fn direct(system: &System) -> Vec<f64> {
    let (dims, cells) = (system.extra.dims, system.cells());
    let n = cells + system.terms.constrained.len();
    let mut a = vec![0.0; n * n];
    // Cells below and above a face.
    let sides = |axis: Axis, index: usize| {
        let (d, at) = (axis.index(), unravel(system.faces.face_dims(axis), index));
        [at[d].checked_sub(1), (at[d] < dims[d]).then_some(at[d])].map(|place| {
            let mut at = at;
            at[d] = place?;
            Some(at[0] + dims[0] * (at[1] + dims[1] * at[2]))
        })
    };
    // weight · g gᵀ, where g is given by a few places and values.
    let add = |a: &mut Vec<f64>, g: &[(usize, f64)], weight: f64| {
        for &(i, x) in g {
            g.iter().for_each(|&(j, y)| a[n * i + j] += weight * x * y);
        }
    };
    for axis in Axis::ALL {
        for (index, &open) in system.faces.axes[axis.index()].iter().enumerate() {
            if let [Some(below), Some(above)] = sides(axis, index) {
                add(&mut a, &[(below, -1.0), (above, 1.0)], open);
            }
        }
    }
    system.extra.data.iter().enumerate().for_each(|(cell, &tie)| a[n * cell + cell] += tie);
    let is_fluid: Vec<bool> = (0..cells).map(|cell| a[n * cell + cell] > 0.0).collect();
    for (number, face) in system.terms.constrained.iter().enumerate() {
        // m⁻¹ (λ − G p)²: what gives A11, A12 and the first part of A22.
        let beside = sides(face.axis, face.index).into_iter().zip([1.0, -1.0]);
        let beside = beside.filter_map(|(cell, sign)| Some((cell.filter(|&cell| is_fluid[cell])?, sign)));
        let g: Vec<_> = beside.chain([(cells + number, 1.0)]).collect();
        add(&mut a, &g, 1.0 / face.mass);
    }
    let mut add_low_rank = |low_rank: &LowRank, first: usize| {
        for block in &low_rank.blocks {
            for column in 0..block.columns {
                let rows = block.cells.iter().zip(block.values.chunks_exact(block.columns));
                let g: Vec<_> = rows.map(|(&row, values)| (first + row as usize, values[column])).collect();
                add(&mut a, &g, 1.0);
            }
        }
    };
    add_low_rank(&system.terms.cut, 0);
    add_low_rank(&system.terms.response, cells);
    for cell in (0..cells).filter(|&cell| !is_fluid[cell]) {
        (0..n).for_each(|other| (a[n * cell + other], a[n * other + cell]) = (0.0, 0.0));
    }
    let mut x = system.rhs.clone();
    x.iter_mut().zip(&is_fluid).filter(|(_, is_fluid)| !**is_fluid).for_each(|(x, _)| *x = 0.0);
    x.resize(n, 0.0);
    Cholesky::new(n, a).solve(&mut x);
    x.truncate(cells);
    x
}

fn norm(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|v| v * v).sum::<f64>().sqrt()
}

/// Walls all around leave the pressure undetermined but for its differences: without its mean then.
fn centred(system: &System, p: &[f64]) -> Vec<f64> {
    let is_open = system.extra.data.iter().any(|&tie| tie > 0.0);
    let fluid = || p.iter().filter(|p| **p != 0.0);
    let mean = if is_open { 0.0 } else { fluid().sum::<f64>() / fluid().count() as f64 };
    p.iter().map(|&p| if p == 0.0 { 0.0 } else { p - mean }).collect()
}

/// The largest difference of any solver's pressure from `reference`, relative.
fn worst(system: &System, reference: &[f64]) -> f64 {
    let params = SolveParams { tolerance: 1e-10, max_iterations: 5000, budget_seconds: None };
    let mut solve = PressureSolve::new();
    let reference = centred(system, reference);
    let mut worst = 0.0f64;
    for solver in SOLVERS {
        let solved = system.solve(&mut solve, solver, &params).unwrap();
        assert!(solved.info.converged, "{}: {:?}", solver.name(), solved.info);
        let difference = norm(centred(system, &solved.pressure).iter().zip(&reference).map(|(p, q)| p - q));
        let off = difference / norm(reference.iter().copied());
        println!("  {}: {} iterations, {off:.1e}", solver.name(), solved.info.iterations);
        worst = worst.max(off);
    }
    worst
}

#[test]
fn solvers_agree_with_the_dense_full_system() {
    let mixed = |n: usize| RATIOS[n % RATIOS.len()];
    let (faces, cut) = (Interface::Faces, Interface::CutCells);
    // In cut cells with walls all around, what bodies push into cells that are no unknowns is shared out among the others, which
    // the matrix written out here does not know: those systems are compared below.
    for (name, system) in [
        ("faces, light box, open top", box_lift([8, 8, 8], 0.1, faces)),
        ("faces, heavy box, open top", box_lift([8, 8, 8], 10.0, faces)),
        ("faces, three boxes, closed", several_boxes([8, 20, 8], 3, mixed, faces)),
        ("faces, four boxes, flat, closed", several_boxes([16, 20, 1], 4, mixed, faces)),
        ("cut cells, light box, open top", box_lift([8, 8, 8], 0.1, cut)),
        ("cut cells, heavy box, open top", box_lift([8, 8, 8], 10.0, cut)),
    ] {
        println!("{name}");
        let off = worst(&system, &direct(&system));
        assert!(off <= 1e-8, "{name}: {off:.1e}");
    }
}

/// The same where no dense matrix fits, against one another.
#[test]
fn solvers_agree_with_one_another() {
    let mixed = |n: usize| RATIOS[n % RATIOS.len()];
    for interface in [Interface::Faces, Interface::CutCells] {
        for system in [box_lift([16, 24, 16], 0.1, interface), several_boxes([20, 40, 20], 8, mixed, interface)] {
            let params = SolveParams { tolerance: 1e-12, max_iterations: 5000, budget_seconds: None };
            let reference = system.solve(&mut PressureSolve::new(), PressureSolver::CgSchur, &params).unwrap();
            let off = worst(&system, &reference.pressure);
            assert!(off <= 1e-8, "{interface:?}: {off:.1e}");
        }
    }
}
