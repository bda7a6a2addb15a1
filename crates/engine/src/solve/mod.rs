//! Linear solvers: the pressure operator, conjugate gradients and their preconditioners.

mod conjugate_gradients;
mod constraints;
mod cycle;
mod dense;
mod dissection;
mod eigen;
mod incomplete_cholesky;
mod laplacian;
mod low_rank;
mod multigrid;
mod papers;
mod patches;
mod pockets;
mod pressure;
mod real;
mod regions;
mod sigma;
mod sparse;
mod squeezed;
mod stencil;
mod supports;
mod written;
mod yielding;
mod zb17;

pub use conjugate_gradients::{Operator, Preconditioner, Vectors, solve as conjugate_gradients};
pub use constraints::{ConstrainedFace, SolidTerms};
pub use dense::Cholesky;
pub use eigen::eigen;
pub use incomplete_cholesky::IncompleteCholesky;
pub use laplacian::Laplacian;
pub use low_rank::{Block, Coupled, LowRank};
pub use multigrid::Multigrid;
pub use patches::Patches;
pub use pockets::Pocket;
pub use pressure::{Bodies, PressureSolve, PressureSolver};
pub use real::Real;
pub use regions::{ClosedRegion, LEAST_CHAMBER, Regions, TIED};
pub use sparse::{NotPositiveDefinite, SparseCholesky, SparseFactor, SparseSymmetric};
pub use supports::{Support, Supports, WORST};
pub use written::SparseMatrix;
pub use yielding::{ElasticStep, Push, Yielding};
pub use zb17::{Zb17Params, Zb17System};

use serde::{Deserialize, Serialize};

/// When a solve may stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolveParams {
    /// Stop when ‖residual‖₂ ≤ `tolerance` · ‖right-hand side‖₂.
    pub tolerance: f64,
    /// Stop after this many iterations; that is not convergence.
    pub max_iterations: usize,
    /// Stop after this many seconds; that is not convergence either. Results then depend on the machine.
    pub budget_seconds: Option<f64>,
}

impl Default for SolveParams {
    fn default() -> Self {
        Self { tolerance: 1e-6, max_iterations: 200, budget_seconds: None }
    }
}

/// What a solve did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SolveInfo {
    /// Iterations done.
    pub iterations: usize,
    /// Final ‖residual‖₂ ÷ ‖right-hand side‖₂.
    pub residual: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// Why a solve could not go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The iteration cap or the time budget ended the solve.
    #[error("not converged: residual {residual:.3e} after {iterations} iterations (tolerance {tolerance:.1e})")]
    NotConverged {
        /// Iterations done.
        iterations: usize,
        /// Relative residual reached.
        residual: f64,
        /// Relative residual wanted.
        tolerance: f64,
    },
    /// pᵀAp ≤ 0: the operator is not positive definite on the search space.
    #[error("the operator is not positive definite (p·Ap = {curvature:.3e})")]
    NotPositiveDefinite {
        /// The offending pᵀAp.
        curvature: f64,
    },
    /// A coefficient is negative, infinite or not a number.
    #[error(
        "a coefficient of the pressure operator is negative or not finite: check densities, cell size and open fractions"
    )]
    Coefficient,
    /// A NaN or infinity appeared.
    #[error("a non-finite value appeared in {stage}")]
    NonFinite {
        /// Where.
        stage: &'static str,
    },
}
