//! `bench pressure`: set-up and solve of the pressure solver, beside memory speed and, if asked, another program.

use crate::error::{BenchError, last_line};
use crate::machine;
use crate::problems::{Problem, Rhs};
use bathtub_engine::solve::{Bodies, PressureSolve, SolidTerms, SolveParams};
use bathtub_engine::world::PressureSolver;
use serde::Serialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// Bytes that one iteration has to move per cell on the finest level, not counting write-allocation: p ← z + βp 20, x and r
/// 40, down 12, up 14.
const BYTES_PER_ITERATION: f64 = 86.0;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs of each case; the median counts. At least 3 for a comparison.
    pub runs: usize,
    /// A program that solves the 128 × 256 × 128 box on its own and prints lines with `kind=K … setup S … solve S … iters N`, K 0 for the random
    /// and 1 for the physical right-hand side. It runs in turn with ours.
    pub peer: Option<PathBuf>,
    /// Whether to run the other sizes and obstacles too.
    pub all: bool,
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The geometry.
    pub problem: String,
    /// `random` or `physical`.
    pub rhs: &'static str,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// Number of cells.
    pub cells: usize,
    /// Worker threads.
    pub threads: usize,
    /// Taking the coefficients and building the hierarchy, s.
    pub setup_s: f64,
    /// From a zero guess to residual ÷ 10⁶, s.
    pub solve_s: f64,
    /// Iterations.
    pub iterations: usize,
    /// Residual reached, relative.
    pub residual: f64,
    /// Peak resident memory of the process, problem included, MB.
    pub peak_mb: f64,
    /// Memory of the solver per cell (coefficients and all vectors, the caller's right-hand side and pressure included), bytes.
    pub bytes_per_cell: f64,
    /// Memory speed of this machine, GB/s.
    pub stream_gbs: f64,
    /// What the solve needs to move at least, over the time it took, GB/s.
    pub achieved_gbs: f64,
    /// The other program on the same problem, if one was given.
    #[serde(flatten)]
    pub peer: Option<Peer>,
    /// Commit measured.
    pub commit: String,
    /// Processor.
    pub cpu: String,
}

/// Medians of the other program, and how much longer it takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Peer {
    /// Its set-up, s.
    pub peer_setup_s: f64,
    /// Its solve, s.
    pub peer_solve_s: f64,
    /// Its iterations.
    pub peer_iterations: usize,
    /// Its set-up plus solve over ours.
    pub speedup: f64,
}

/// One run: set-up and solve, s, and iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Timing {
    setup: f64,
    solve: f64,
    iterations: usize,
}

/// Measure; rows come in the order of the cases.
pub fn run(options: &Options) -> Result<Vec<Row>, BenchError> {
    let mut rows = measure(&Problem::tank([128, 256, 128]), options.runs, options.peer.as_ref())?;
    if options.all {
        for n in [32, 64, 128, 256] {
            rows.extend(measure(&Problem::tank([n; 3]), options.runs, None)?);
        }
        for (n, cut) in [(64, false), (128, false), (64, true), (128, true)] {
            rows.extend(measure(&Problem::balls(n, 20, cut), options.runs, None)?);
        }
    }
    Ok(rows)
}

/// Both right-hand sides of one problem.
fn measure(problem: &Problem, runs: usize, peer: Option<&PathBuf>) -> Result<Vec<Row>, BenchError> {
    let sides = [Rhs::Random, Rhs::Physical];
    let vectors = sides.map(|rhs| problem.rhs(rhs));
    let params = SolveParams { tolerance: 1e-6, ..SolveParams::default() };
    let cells = problem.grid.cells();
    machine::reset_peak();
    let mut solve = PressureSolve::new();
    let mut pressure = vec![0.0; cells];
    let mut residuals = [0.0; 2];
    let mut ours: [Vec<Timing>; 2] = Default::default();
    let mut theirs: [Vec<Timing>; 2] = Default::default();
    // One round more than counted: the first touches fresh memory, as a simulation does once.
    for round in 0..=runs.max(1) {
        for side in 0..2 {
            pressure.fill(0.0);
            let start = Instant::now();
            let built = solve.build(PressureSolver::Multigrid, &problem.faces, &problem.extra, SolidTerms::default());
            let setup = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let solved = built.and_then(|()| {
                solve.iterate(PressureSolver::Multigrid, Bodies::Answering, &vectors[side], &mut pressure, &params)
            });
            let info = solved.map_err(|source| BenchError::Solve { problem: problem.name.clone(), source })?;
            if round > 0 {
                ours[side].push(Timing { setup, solve: start.elapsed().as_secs_f64(), iterations: info.iterations });
            }
            residuals[side] = info.residual;
        }
        if let Some(path) = peer.filter(|_| round > 0) {
            for (side, timing) in run_peer(path)? {
                theirs[side].push(timing);
            }
        }
    }
    let (peak_mb, stream_gbs, commit, cpu) =
        (machine::peak_mb(), machine::stream_gbs(), machine::commit(), machine::cpu());
    let row = |side: usize| {
        let our = median(&ours[side]);
        let peer = (!theirs[side].is_empty()).then(|| {
            let their = median(&theirs[side]);
            Peer {
                peer_setup_s: their.setup,
                peer_solve_s: their.solve,
                peer_iterations: their.iterations,
                speedup: (their.setup + their.solve) / (our.setup + our.solve),
            }
        });
        Row {
            problem: problem.name.clone(),
            rhs: sides[side].name(),
            dims: problem.grid.dims,
            cells,
            threads: rayon::current_num_threads(),
            setup_s: our.setup,
            solve_s: our.solve,
            iterations: our.iterations,
            residual: residuals[side],
            peak_mb,
            bytes_per_cell: solve.bytes() as f64 / cells as f64 + 16.0,
            stream_gbs,
            achieved_gbs: BYTES_PER_ITERATION * (cells * our.iterations) as f64 / our.solve / 1e9,
            peer,
            commit: commit.clone(),
            cpu: cpu.clone(),
        }
    };
    Ok(vec![row(0), row(1)])
}

/// The run with the median total.
fn median(timings: &[Timing]) -> Timing {
    let mut sorted = timings.to_vec();
    sorted.sort_by(|a, b| (a.setup + a.solve).total_cmp(&(b.setup + b.solve)));
    sorted[sorted.len() / 2]
}

fn run_peer(path: &PathBuf) -> Result<Vec<(usize, Timing)>, BenchError> {
    let wanted = "the path of an executable such as peers/pressure-peer";
    let failed = |reason: String| BenchError::Peer { path: path.clone(), reason, wanted };
    // The build goes to one place, so that the program is compiled once.
    let build = std::env::temp_dir().join("bathtub-pressure-peer");
    let output = Command::new(path).arg(&build).output().map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let timings: Vec<_> = text.lines().filter_map(parse_peer).collect();
    if !output.status.success() || timings.is_empty() {
        return Err(failed(last_line(&output.stderr)));
    }
    Ok(timings)
}

/// `… kind=K … setup S solve S iters N …`
fn parse_peer(line: &str) -> Option<(usize, Timing)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |key: &str| words.get(words.iter().position(|w| *w == key)? + 1).copied();
    let kind = words.iter().find_map(|w| w.strip_prefix("kind=")?.parse().ok()).filter(|k| *k < 2)?;
    let timing = Timing {
        setup: after("setup")?.parse().ok()?,
        solve: after("solve")?.parse().ok()?,
        iterations: after("iters")?.parse().ok()?,
    };
    Some((kind, timing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_peer_is_understood() {
        let line =
            "hypre PFMG-PCG(RBGS) kind=1 ranks=2 rap=0 assemble 0.21 setup 0.541 solve 1.446 iters 15 relres 7.09e-07";
        assert_eq!(parse_peer(line), Some((1, Timing { setup: 0.541, solve: 1.446, iterations: 15 })));
        assert_eq!(parse_peer("mpirun: no such file"), None);
    }

    #[test]
    fn medians_are_of_the_total() {
        let timing = |setup, solve| Timing { setup, solve, iterations: 1 };
        assert_eq!(median(&[timing(3.0, 1.0), timing(0.0, 1.0), timing(1.0, 1.0)]), timing(1.0, 1.0));
    }

    /// Counts, not times: at most 12 iterations, within ±2 of each other, at most 120 bytes per cell.
    #[test]
    fn small_cases_meet_the_targets() {
        let mut rows = measure(&Problem::tank([64, 128, 64]), 1, None).unwrap();
        rows.extend(measure(&Problem::tank([64; 3]), 1, None).unwrap());
        rows.extend(measure(&Problem::balls(64, 20, false), 1, None).unwrap());
        rows.extend(measure(&Problem::balls(64, 20, true), 1, None).unwrap());
        for row in rows {
            assert!(
                (5..=9).contains(&row.iterations) && row.residual <= 1e-6 && row.bytes_per_cell <= 120.0,
                "{row:?}"
            );
        }
    }
}
