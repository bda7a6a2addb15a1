//! What bodies cost the pressure solve, beside the same grid without them.

use crate::error::BenchError;
use crate::experiments::box_lift::{Solved, System};
use crate::machine;
use crate::timing::median;
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveError, SolveParams};
use serde::Serialize;

/// Of one system, medians of all runs.
#[derive(Clone, Debug, Serialize)]
pub struct BesidePlain {
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

impl BesidePlain {
    /// Solve `system`, and the same without bodies, so many times; `problem` is what it is called if that fails.
    pub fn measure(problem: &str, system: &System, runs: usize) -> Result<Self, BenchError> {
        let plain = system.without_bodies();
        let params = SolveParams { tolerance: 1e-6, ..SolveParams::default() };
        let solve = |memory: &mut PressureSolve, system: &System| {
            let failed = |source: SolveError| BenchError::Solve { problem: problem.to_owned(), source };
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
        Ok(Self {
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

    /// In a line, after what the case is.
    pub fn line(&self, case: &str) -> String {
        let Self { setup_s, solve_s, iterations, plain_setup_s, plain_solve_s, plain_iterations, ratio, .. } = self;
        let ours = format!("setup {setup_s:.3} s, solve {solve_s:.3} s, {iterations} iterations");
        let plain = format!("without bodies {plain_setup_s:.3} s, {plain_solve_s:.3} s, {plain_iterations} iterations");
        format!("{case}: {ours}; {plain}; {ratio:.2} times as long")
    }
}
