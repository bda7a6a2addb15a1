//! `bench elastic`: what an elastic body costs the pressure solve, beside the same water without it.
//!
//! With the body, set-up is all that is made for this solve: the body's modes and ties, the operator and its levels. The
//! factor of the body's own matrix A belongs to its own step, which needs it without any fluid: it has a time of its own.

use crate::error::BenchError;
use crate::experiments::box_lift::{Solved, System};
use crate::experiments::elastic_tank::ElasticTank;
use crate::machine;
use crate::timing::median;
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveError, SolveParams};
use serde::Serialize;
use std::time::Instant;

/// Cells a side.
const CELLS: usize = 80;
/// Young's moduli, Pa.
pub const STIFFNESSES: [f64; 6] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
/// Densities of the body ÷ density of the water.
pub const RATIOS: [f64; 3] = [0.1, 1.0, 10.0];
/// Residual ÷ right-hand side: that of a step, and that of \[ZB17, Table 2\].
pub const TOLERANCES: [f64; 2] = [1e-6, 1e-10];

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Young's modulus, Pa.
    pub youngs_modulus: f64,
    /// Density of the body ÷ density of the water.
    pub density_ratio: f64,
    /// Residual ÷ right-hand side at which a solve ends.
    pub tolerance: f64,
    /// Vertices of the body.
    pub vertices: usize,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// Worker threads.
    pub threads: usize,
    /// Set-up, body included, s.
    pub setup_s: f64,
    /// From a zero guess, s.
    pub solve_s: f64,
    /// Iterations.
    pub iterations: usize,
    /// The body's own step: its matrix, the factor and the prediction, s.
    pub body_step_s: f64,
    /// Set-up without the body, s, measured in turn.
    pub plain_setup_s: f64,
    /// Solve without the body, s.
    pub plain_solve_s: f64,
    /// Iterations without the body.
    pub plain_iterations: usize,
    /// Time with the body ÷ time without, set-up included: the median of all runs.
    pub ratio: f64,
    /// The same with the body's own step counted as well.
    pub ratio_with_step: f64,
    /// Of the source.
    pub commit: String,
    /// Of the machine.
    pub cpu: String,
}

/// Measure every stiffness, density and tolerance; of `runs` runs the median counts.
pub fn run(runs: usize) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for density_ratio in RATIOS {
        for youngs_modulus in STIFFNESSES {
            let mut tank = ElasticTank::new(CELLS, youngs_modulus, density_ratio)?;
            tank.predict()?;
            for tolerance in TOLERANCES {
                rows.push(measure(&mut tank, (youngs_modulus, density_ratio), tolerance, runs)?);
            }
        }
    }
    Ok(rows)
}

/// Times of one run, s: with the body, its own step, without it.
type Run = (Solved, f64, Solved);

fn measure(
    tank: &mut ElasticTank,
    (youngs_modulus, density_ratio): (f64, f64),
    tolerance: f64,
    runs: usize,
) -> Result<Row, BenchError> {
    let ((_, mut system), plain) = (tank.coupled(tank.freedoms()), tank.plain());
    let params = SolveParams { tolerance, ..SolveParams::default() };
    let solve = |memory: &mut PressureSolve, system: &System| {
        let problem = || format!("{youngs_modulus:e} Pa, {density_ratio} times as dense");
        let failed = |source: SolveError| BenchError::Solve { problem: problem(), source };
        system.solve(memory, PressureSolver::Multigrid, &params).map_err(failed)
    };
    let (mut with, mut without) = (PressureSolve::new(), PressureSolve::new());
    let mut runs: Vec<Run> = (0..=runs.max(1))
        .map(|_| {
            let step = body_step(tank)?;
            // Threads sleep while one steps the body; both solves begin with all awake.
            rayon::broadcast(|_| ());
            let terms = make_terms(tank, &mut system);
            let mut coupled = solve(&mut with, &system)?;
            coupled.setup += terms;
            Ok((coupled, step, solve(&mut without, &plain)?))
        })
        .collect::<Result<_, BenchError>>()?;
    // The first run allocates.
    runs.remove(0);
    let of = |f: &dyn Fn(&Run) -> f64| median(runs.iter().map(f).collect());
    Ok(Row {
        youngs_modulus,
        density_ratio,
        tolerance,
        vertices: tank.body.positions().len(),
        dims: [CELLS; 3],
        threads: rayon::current_num_threads(),
        setup_s: of(&|(with, ..)| with.setup),
        solve_s: of(&|(with, ..)| with.solve),
        iterations: runs[0].0.info.iterations,
        body_step_s: of(&|(_, step, _)| *step),
        plain_setup_s: of(&|(.., plain)| plain.setup),
        plain_solve_s: of(&|(.., plain)| plain.solve),
        plain_iterations: runs[0].2.info.iterations,
        ratio: of(&|(with, _, plain)| with.total() / plain.total()),
        ratio_with_step: of(&|(with, step, plain)| (with.total() + step) / plain.total()),
        commit: machine::commit(),
        cpu: machine::cpu(),
    })
}

/// Take the body's own step again, from where it is; returns the time, s.
fn body_step(tank: &mut ElasticTank) -> Result<f64, BenchError> {
    let state = tank.body.state();
    let started = Instant::now();
    tank.predict()?;
    let time = started.elapsed().as_secs_f64();
    tank.body.restore(&state)?;
    Ok(time)
}

/// Make what the body adds to the operator; returns the time that takes apart from the rows of B, s.
fn make_terms(tank: &ElasticTank, system: &mut System) -> f64 {
    let started = Instant::now();
    let freedoms = tank.freedoms();
    let first = started.elapsed().as_secs_f64();
    let (coupled, _) = tank.coupled(freedoms);
    let started = Instant::now();
    system.terms = coupled.terms();
    first + started.elapsed().as_secs_f64()
}
