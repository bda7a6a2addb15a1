//! `bench reduced`: what reduced bodies cost the pressure solve, beside the same grid without them.

use crate::error::BenchError;
use crate::experiments::box_lift::{Solved, System};
use crate::experiments::reduced_tank::ReducedTank;
use crate::machine;
use crate::timing::median;
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveError, SolveParams};
use serde::Serialize;

/// Stiffness, Pa, and density ratios.
const MODULI: [f64; 2] = [1e4, 1e6];
const RATIOS: [f64; 2] = [0.3, 1.0];

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// How many bodies, and of how many modes.
    pub case: String,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// Pa.
    pub youngs_modulus: f64,
    /// Density of the bodies ÷ that of the water.
    pub density_ratio: f64,
    /// Columns of the bodies in the operator.
    pub columns: usize,
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

/// Measure the tanks of \[LJF16\], soft and stiff, light and neutral; of `runs` runs the median counts. Rows are `told` as they come.
pub fn run(runs: usize, mut told: impl FnMut(&Row)) -> Result<(), BenchError> {
    for tank in ReducedTank::PAPER {
        for (youngs_modulus, ratio) in MODULI.into_iter().flat_map(|e| RATIOS.map(|ratio| (e, ratio))) {
            let system = tank.system(youngs_modulus, ratio)?;
            told(&measure(&tank, (youngs_modulus, ratio), &system, runs)?);
        }
    }
    Ok(())
}

fn measure(
    tank: &ReducedTank,
    (youngs_modulus, density_ratio): (f64, f64),
    system: &System,
    runs: usize,
) -> Result<Row, BenchError> {
    let plain = system.without_bodies();
    let params = SolveParams { tolerance: 1e-6, ..SolveParams::default() };
    let solve = |memory: &mut PressureSolve, system: &System| {
        let failed = |source: SolveError| BenchError::Solve { problem: tank.name(), source };
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
        case: tank.name(),
        dims: tank.dims,
        youngs_modulus,
        density_ratio,
        columns: system.terms.cut.columns(),
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
