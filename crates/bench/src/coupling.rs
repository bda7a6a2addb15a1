//! `bench coupling`: what bodies cost the pressure solve, beside the same grid without them.

use crate::error::BenchError;
use crate::experiments::box_lift::{RATIOS, Solved, System, box_lift, several_boxes};
use crate::machine;
use crate::timing::median;
use bathtub_engine::solid::Interface;
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveError, SolveParams};
use serde::Serialize;

/// The grid of \[A18, Table 1\].
const DIMS: [usize; 3] = [128, 256, 128];

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Number of bodies.
    pub bodies: usize,
    /// `cut-cells` or `faces`.
    pub interface: &'static str,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// Worker threads.
    pub threads: usize,
    /// Set-up, bodies included, s.
    pub setup_s: f64,
    /// From a zero guess to residual ÷ 10⁶, s.
    pub solve_s: f64,
    /// Iterations.
    pub iterations: usize,
    /// Set-up without bodies, s, measured in turn.
    pub plain_setup_s: f64,
    /// Solve without bodies, s.
    pub plain_solve_s: f64,
    /// Iterations without bodies.
    pub plain_iterations: usize,
    /// Time with bodies ÷ time without, set-up included: the median of all runs.
    pub ratio: f64,
    /// Of the source.
    pub commit: String,
    /// Of the machine.
    pub cpu: String,
}

/// Measure one box and twenty, with either interface; of `runs` runs the median counts.
pub fn run(runs: usize) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for (bodies, make) in [
        (1, (|interface| box_lift(DIMS, 0.1, interface)) as fn(Interface) -> System),
        (20, |interface| several_boxes(DIMS, 20, |n| RATIOS[n % RATIOS.len()], interface)),
    ] {
        for (interface, name) in [(Interface::CutCells, "cut-cells"), (Interface::Faces, "faces")] {
            rows.push(measure(bodies, name, &make(interface), runs)?);
        }
    }
    Ok(rows)
}

fn measure(bodies: usize, interface: &'static str, system: &System, runs: usize) -> Result<Row, BenchError> {
    let plain = system.without_bodies();
    let params = SolveParams { tolerance: 1e-6, ..SolveParams::default() };
    let solve = |memory: &mut PressureSolve, system: &System| {
        let failed =
            |source: SolveError| BenchError::Solve { problem: format!("{bodies} bodies, {interface}"), source };
        system.solve(memory, PressureSolver::Multigrid, &params).map_err(failed)
    };
    let (mut with, mut without) = (PressureSolve::new(), PressureSolve::new());
    // The first solve allocates.
    solve(&mut with, system)?;
    solve(&mut without, &plain)?;
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        times.push((solve(&mut with, system)?, solve(&mut without, &plain)?));
    }
    let of = |f: &dyn Fn(&(Solved, Solved)) -> f64| median(times.iter().map(f).collect());
    Ok(Row {
        bodies,
        interface,
        dims: DIMS,
        threads: rayon::current_num_threads(),
        setup_s: of(&|(with, _)| with.setup),
        solve_s: of(&|(with, _)| with.solve),
        iterations: times[0].0.info.iterations,
        plain_setup_s: of(&|(_, plain)| plain.setup),
        plain_solve_s: of(&|(_, plain)| plain.solve),
        plain_iterations: times[0].1.info.iterations,
        ratio: of(&|(with, plain)| with.total() / plain.total()),
        commit: machine::commit(),
        cpu: machine::cpu(),
    })
}
