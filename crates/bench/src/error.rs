//! Why a measurement could not be made.

use bathtub_engine::solid::elastic::ElasticError;
use bathtub_engine::solve::SolveError;
use bathtub_engine::world::StepError;
use std::path::PathBuf;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Our solver failed.
    #[error("{problem}: {source}")]
    Solve {
        /// The case.
        problem: String,
        /// The reason.
        source: SolveError,
    },
    /// Our elastic body failed.
    #[error(transparent)]
    Elastic(#[from] ElasticError),
    /// Our simulation failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The other program could not be run.
    #[error("peer program {path}: {reason}; give {wanted}")]
    Peer {
        /// The program.
        path: PathBuf,
        /// The reason.
        reason: String,
        /// What should have been given.
        wanted: &'static str,
    },
}

/// The end of what a program complained about.
pub(crate) fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().last().unwrap_or("it printed no timings").chars().take(120).collect()
}
