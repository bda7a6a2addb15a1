//! \[ZB17, Table 2\]: nonzeros, condition numbers and solve times of the indefinite and the definite system, and ours beside them.
//!
//! A dam breaks against a hanging beam; ours moves it, and at times spread over the run the system of the moment is solved by all,
//! from zero. Seconds are those of everything that a solver needs beyond B and v*: assembly, factors, iteration; for ours
//! the factor of the beam's own matrix as well. The paper's solvers run on one thread.
//!
//! Each solver stops at its own residual: eq. 19 at that of flows and forces; eq. 33 at that of combinations of them; ours at that
//! of the flows alone, as velocities of vertices are eliminated. `left` is one measure for all: the volume still to be carried
//! away, relative to that at the start, with the velocities that a pressure really gives. All begin with the paper's 10⁻¹⁰; whoever
//! leaves more than 2·10⁻¹⁰ solves again with a smaller `tolerance`, and the last solve counts.
//!
//! The paper took its incomplete LU from Eigen, which has only the kind with fill-in, ten times as many entries as the matrix:
//! that is `ILUT`, here without Eigen's reordering. Without fill-in, `ILU(0)`, it is far cheaper, and the indefinite system is then
//! solved faster than the definite one on these grids.

use crate::exit::{Exit, Failure};
use crate::reproduce::plot::{PlotAxis, Scale, Series};
use crate::reproduce::{Claim, Experiment, Plot, Report, Row, Size, Values};
use bathtub_bench::experiments::condition::Matrices;
use bathtub_bench::experiments::hanging_beam::{Outcome, Solved, System, dam_break};
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveError, SolveParams};
use bathtub_engine::world::World;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "zb17/table-2",
    summary: "nonzeros, condition and time of the coupled systems, a dam against a beam [ZB17, Table 2]",
    run,
};

/// When a solve ends: the paper's tolerance. Whoever is not there after so many seconds is counted with these.
const PARAMS: SolveParams = SolveParams { tolerance: 1e-10, max_iterations: 100_000, budget_seconds: Some(40.0) };

/// What may be left in the common measure.
const MOST_LEFT: f64 = 2e-10;

/// No tolerance is smaller: it would be below round-off.
const LEAST_TOLERANCE: f64 = 1e-15;

/// Of the definite system, ÷ those of the indefinite one.
const MOST_NONZEROS: f64 = 1.35;

/// κ of the definite system ÷ the square of that of the indefinite one, which is what the normal equations would have.
const MOST_CONDITION: f64 = 0.1;

/// How much faster the definite system is solved on the finest grid.
const LEAST_SPEED_UP: f64 = 1.5;

/// How much faster than that ours is.
const LEAST_OURS: f64 = 3.0;

/// Largest difference of velocities, relative.
const SAME: f64 = 1e-6;

/// A way to solve the system.
struct Method {
    name: &'static str,
    solver: PressureSolver,
    /// Of the incomplete LU.
    fill: usize,
}

/// Those of the paper, ours, and the first one without fill-in.
const METHODS: [Method; 4] = [
    Method { name: "zb17-indefinite, ILUT", solver: PressureSolver::Zb17Indefinite, fill: 10 },
    Method { name: "zb17-spd", solver: PressureSolver::Zb17Spd, fill: 0 },
    Method { name: "multigrid", solver: PressureSolver::Multigrid, fill: 0 },
    Method { name: "zb17-indefinite, ILU(0)", solver: PressureSolver::Zb17Indefinite, fill: 0 },
];

/// Where they are in [`METHODS`].
const ILUT: usize = 0;
const SPD: usize = 1;
const OURS: usize = 2;
const ILU0: usize = 3;

/// A line of the table.
struct Line {
    /// Cells a side.
    n: usize,
    /// Cubes across the beam: 135, 352 and 725 vertices.
    across: usize,
    /// Of the indefinite and the definite system, as the paper has them.
    nonzeros: [f64; 2],
    log_condition: [f64; 2],
    seconds: [f64; 2],
}

const LINES: [Line; 3] = [
    Line { n: 40, across: 2, nonzeros: [157498.0, 185503.0], log_condition: [8.347, 10.497], seconds: [1.635, 1.813] },
    Line { n: 60, across: 3, nonzeros: [499787.0, 610697.0], log_condition: [8.579, 11.311], seconds: [16.121, 8.292] },
    Line {
        n: 80,
        across: 4,
        nonzeros: [1177419.0, 1439173.0],
        log_condition: [8.819, 11.497],
        seconds: [100.875, 28.020],
    },
];

/// What one system, or the mean of several, gave; arrays of four are in the order of [`METHODS`].
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    nonzeros: [f64; 2],
    log_condition: [f64; 2],
    seconds: [f64; 4],
    /// Ours on one thread, like the others.
    alone: f64,
    iterations: [f64; 4],
    /// That led to what is left.
    tolerance: [f64; 4],
    left: [f64; 4],
    /// Of velocities, largest.
    difference: f64,
    /// Solves of the indefinite system that did not end, and systems.
    unfinished: usize,
    systems: usize,
}

fn run(size: Size) -> Result<Report, Failure> {
    let mut found = Vec::new();
    for line in &LINES {
        found.push(measure(line, size)?);
    }
    Ok(Report {
        name: EXPERIMENT.name,
        rows: LINES.iter().zip(&found).flat_map(|(line, found)| rows(line, found)).collect(),
        claims: claims(&found),
        plot: Some(plot(&found)),
        picture: None,
    })
}

/// When systems are taken, s: from the first waves around the beam on.
fn times(size: Size) -> Vec<f64> {
    match size {
        Size::Quick => vec![0.35, 0.55],
        Size::Full => (0..16).map(|i| 0.3 + 0.1 * i as f64).collect(),
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Numerical, error.to_string())
}

/// Let the dam break and average over the systems on the way.
fn measure(line: &Line, size: Size) -> Result<Found, Failure> {
    let mut world = World::new(dam_break(line.n, line.across)).map_err(failed)?;
    let mut memory = METHODS.map(|method| {
        let mut solve = PressureSolve::new();
        solve.set_fill(method.fill);
        solve
    });
    let mut all = Vec::new();
    for time in times(size) {
        let mut dt = 0.0;
        while world.state().time < time {
            dt = world.step().map_err(failed)?.dt;
        }
        all.push(examine(&System::new(&world, dt), &mut memory).map_err(failed)?);
    }
    Ok(Found::mean(&all))
}

/// Solve one system with all solvers.
fn examine(system: &System, memory: &mut [PressureSolve; 4]) -> Result<Found, SolveError> {
    let mut matrices = Matrices::new(system)?;
    let mut found = Found { systems: 1, log_condition: matrices.conditions()?.map(f64::log10), ..Found::default() };
    found.nonzeros = [&matrices.indefinite, &matrices.definite].map(|system| system.matrix.nonzeros() as f64);
    drop(matrices);
    // The first solve allocates.
    let ours = PressureSolver::Multigrid;
    system.solve(&mut memory[OURS], ours, &PARAMS)?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread more");
    found.alone = one.install(|| system.solve(&mut memory[OURS], ours, &PARAMS))?.seconds;
    let mut outcomes: [Option<Outcome>; 4] = [const { None }; 4];
    let mut indefinite = PARAMS.tolerance;
    for i in [ILU0, ILUT, SPD, OURS] {
        let (solver, memory) = (METHODS[i].solver, &mut memory[i]);
        let is_indefinite = solver == PressureSolver::Zb17Indefinite;
        // What is small enough without fill-in should be with it.
        let mut params = SolveParams { tolerance: if is_indefinite { indefinite } else { PARAMS.tolerance }, ..PARAMS };
        let (Solved { info, seconds, .. }, outcome) = loop {
            let solved = system.solve(memory, solver, &params)?;
            let outcome = system.outcome(memory, &solved.pressure);
            if !solved.info.converged || outcome.left <= MOST_LEFT || params.tolerance <= LEAST_TOLERANCE {
                break (solved, outcome);
            }
            params.tolerance = (0.5 * params.tolerance * MOST_LEFT / outcome.left).max(LEAST_TOLERANCE);
        };
        if is_indefinite {
            indefinite = params.tolerance;
        } else if !info.converged {
            let (iterations, residual, tolerance) = (info.iterations, info.residual, params.tolerance);
            return Err(SolveError::NotConverged { iterations, residual, tolerance });
        }
        (found.seconds[i], found.iterations[i]) = (seconds, info.iterations as f64);
        (found.tolerance[i], found.left[i]) = (params.tolerance, outcome.left);
        found.unfinished += usize::from(!info.converged);
        outcomes[i] = info.converged.then_some(outcome);
    }
    if let Some(reference) = outcomes[OURS].take() {
        found.difference = outcomes.iter().flatten().map(|o| o.difference(&reference)).fold(0.0, f64::max);
    }
    Ok(found)
}

impl Found {
    fn mean(all: &[Self]) -> Self {
        let of = |value: &dyn Fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        Self {
            nonzeros: std::array::from_fn(|i| of(&|f| f.nonzeros[i])),
            log_condition: std::array::from_fn(|i| of(&|f| f.log_condition[i])),
            seconds: std::array::from_fn(|i| of(&|f| f.seconds[i])),
            alone: of(&|f| f.alone),
            iterations: std::array::from_fn(|i| of(&|f| f.iterations[i])),
            tolerance: std::array::from_fn(|i| of(&|f| f.tolerance[i])),
            left: std::array::from_fn(|i| of(&|f| f.left[i])),
            difference: all.iter().map(|f| f.difference).fold(0.0, f64::max),
            unfinished: all.iter().map(|f| f.unfinished).sum(),
            systems: all.len(),
        }
    }

    /// Of the definite system against the indefinite one, solved by a method.
    fn speed_up(&self, method: usize) -> f64 {
        self.seconds[method] / self.seconds[SPD]
    }
}

fn rows(line: &Line, found: &Found) -> Vec<Row> {
    let solved = |i: usize, seconds: f64| {
        vec![
            ("seconds", seconds),
            ("iterations", found.iterations[i]),
            ("tolerance", found.tolerance[i]),
            ("left", found.left[i]),
        ]
    };
    let mut rows = Vec::new();
    for (i, method) in METHODS.iter().enumerate() {
        let (mut reference, mut ours) = (Vec::new(), Vec::new());
        if i == ILUT || i == SPD {
            reference.extend([("nonzeros", line.nonzeros[i]), ("log κ", line.log_condition[i])]);
            reference.push(("seconds", line.seconds[i]));
            ours.extend([("nonzeros", found.nonzeros[i]), ("log κ", found.log_condition[i])]);
        }
        ours.extend(solved(i, found.seconds[i]));
        let case = format!("{}³ {}", line.n, method.name);
        rows.push(Row { case, reference: Values(reference), ours: Values(ours) });
    }
    let case = format!("{}³ multigrid, one thread", line.n);
    rows.push(Row { case, reference: Values::default(), ours: Values(solved(OURS, found.alone)) });
    rows
}

fn claims(found: &[Found]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (line, found) in LINES.iter().zip(found) {
        let label = format!("{}³", line.n);
        let [before, after] = found.nonzeros;
        claims.push(Claim {
            claim: format!(
                "{label}: the definite system has {:.2} times the nonzeros, at most {MOST_NONZEROS}",
                after / before
            ),
            holds: after <= MOST_NONZEROS * before,
        });
        let [before, after] = found.log_condition;
        let share = 10f64.powf(after - 2.0 * before);
        claims.push(Claim {
            claim: format!(
                "{label}: its condition number is {share:.0e} of the square of the other, at most {MOST_CONDITION}"
            ),
            holds: share <= MOST_CONDITION,
        });
        claims.push(Claim {
            claim: format!(
                "{label}: all find the same velocities, within {:.0e}, at most {SAME:.0e}",
                found.difference
            ),
            holds: found.difference <= SAME,
        });
        if found.unfinished > 0 {
            claims.push(Claim {
                claim: format!(
                    "{label}: BiCGSTAB did not end {} times in {} systems; its time is a lower bound",
                    found.unfinished, found.systems
                ),
                holds: true,
            });
        }
    }
    let gains = |method: usize| found.iter().map(|found| found.speed_up(method)).collect::<Vec<_>>();
    let text = |method: usize| gains(method).iter().map(|gain| format!("{gain:.2}")).collect::<Vec<_>>().join(", ");
    claims.push(Claim {
        claim: format!(
            "the definite system is solved {} times as fast as the indefinite one with ILUT, {} times with ILU(0): more on the finest grid than on the coarsest",
            text(ILUT),
            text(ILU0)
        ),
        holds: [ILUT, ILU0].into_iter().all(|method| gains(method).first() < gains(method).last()),
    });
    let (Some(last), Some(line)) = (found.last(), LINES.last()) else { return claims };
    let gain = last.speed_up(ILUT);
    claims.push(Claim {
        claim: format!("{}³: {gain:.2} times as fast, at least {LEAST_SPEED_UP}", line.n),
        holds: gain >= LEAST_SPEED_UP,
    });
    let [ours, alone] = [last.seconds[OURS], last.alone].map(|seconds| last.seconds[SPD] / seconds);
    claims.push(Claim {
        claim: format!(
            "{}³: ours is {ours:.1} times as fast as the definite system, {alone:.1} times on one thread; at least {LEAST_OURS}",
            line.n
        ),
        holds: ours >= LEAST_OURS,
    });
    claims
}

fn plot(found: &[Found]) -> Plot {
    let series = METHODS.iter().enumerate().map(|(i, method)| Series {
        name: method.name.into(),
        points: LINES.iter().zip(found).map(|(line, found)| (line.n as f64, found.seconds[i])).collect(),
        reference: LINES
            .iter()
            .filter(|_| i == ILUT || i == SPD)
            .map(|line| (line.n as f64, line.seconds[i]))
            .collect(),
    });
    Plot {
        title: "Time of a coupled solve, a dam against a beam".into(),
        subtitle: "relative residual 10⁻¹⁰; open: the paper's, on its machine".into(),
        x: PlotAxis { name: "cells a side".into(), scale: Scale::LogarithmicAtPoints },
        y: PlotAxis { name: "seconds".into(), scale: Scale::Logarithmic },
        series: series.collect(),
        guides: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the paper's own table says of itself.
    #[test]
    fn claims_fail_when_they_should() {
        let paper = |line: &Line| Found {
            nonzeros: line.nonzeros,
            log_condition: line.log_condition,
            seconds: [line.seconds[0], line.seconds[1], 0.1 * line.seconds[1], line.seconds[0]],
            alone: line.seconds[1],
            systems: 100,
            ..Found::default()
        };
        let found: Vec<Found> = LINES.iter().map(paper).collect();
        let failing = |found: &[Found]| claims(found).iter().filter(|claim| !claim.holds).count();
        assert_eq!((claims(&found).len(), failing(&found)), (12, 0));
        let mut worse = found.clone();
        worse[0].nonzeros[1] *= 1.2;
        worse[1].log_condition[1] = 2.0 * worse[1].log_condition[0] - 0.9;
        worse[1].difference = 1e-5;
        worse[2].seconds = [1.0, 1.0, 0.5, 1.0];
        assert_eq!(failing(&worse), 5);
        worse[2].seconds[1] = f64::NAN;
        assert_eq!(failing(&worse), 6);
    }
}
