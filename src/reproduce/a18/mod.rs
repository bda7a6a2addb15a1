//! The tables and figures of \[A18\].

mod budget;
mod density;
mod tables;

pub use budget::EXPERIMENT as FIG_9;
pub use density::EXPERIMENT as FIG_10;
pub use tables::{TABLE_1, TABLE_2};

use super::Size;
use crate::exit::{Exit, Failure};
use bathtub_bench::experiments::box_lift::{Solved, System};
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveError, SolveParams};

/// The paper's grid in the plane.
const PLANE: [usize; 3] = [128, 256, 1];

/// The grid in space: the paper's, or half of it.
fn space(size: Size) -> [usize; 3] {
    if size == Size::Full { [128, 256, 128] } else { [64, 128, 64] }
}

/// When a solve ends: residual ÷ 10⁶.
const PARAMS: SolveParams = SolveParams { tolerance: 1e-6, max_iterations: 100_000, budget_seconds: None };

/// Ours may take this many iterations more than the same grid without bodies, and this many in all.
const MORE: usize = 3;
const MOST: usize = 15;

const P0: PressureSolver = PressureSolver::A18 { corrections: 0 };

fn solve(system: &System, solver: PressureSolver) -> Result<Solved, Failure> {
    let failed = |error: SolveError| Failure::new(Exit::Numerical, format!("{}: {error}", solver.name()));
    let mut memory = PressureSolve::new();
    let solved = system.solve(&mut memory, solver, &PARAMS).map_err(failed)?;
    if !solved.info.converged {
        let message = format!("{}: not converged after {} iterations", solver.name(), solved.info.iterations);
        return Err(Failure::new(Exit::Numerical, message));
    }
    Ok(solved)
}
