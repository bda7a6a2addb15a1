//! \[A18, Fig. 9\]: solves that are stopped early.

use super::{P0, Size};
use crate::exit::{Exit, Failure};
use crate::reproduce::plot::{PlotAxis, Scale, Series};
use crate::reproduce::{Claim, Experiment, Plot, Report, Row, Values};
use bathtub_bench::experiments::budget::{Course, fifteen_balls, rising_box};
use bathtub_engine::solve::PressureSolver;
use bathtub_engine::world::StepError;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "a18/fig-9",
    summary: "a rising box and fifteen balls with solves stopped at a third of their iterations [A18, Fig. 9]",
    run,
};

/// The height that the box reaches may be off by this part.
const CLOSE: f64 = 0.15;

/// A box that is faster than this many times the converged one is no longer stable.
const STABLE: f64 = 2.0;

struct Case {
    name: String,
    /// Iterations allowed; none if it ran to convergence.
    most: Option<usize>,
    course: Course,
}

fn run(size: Size) -> Result<Report, Failure> {
    let n = if size == Size::Full { 64 } else { 48 };
    let failed = |e: StepError| Failure::new(Exit::Numerical, e.to_string());
    let case = |solver: PressureSolver, most: Option<usize>| {
        let course = rising_box(n, solver, most).map_err(failed)?;
        Ok::<_, Failure>(Case { name: solver.name(), most, course })
    };
    let ours = PressureSolver::Multigrid;
    let third = |case: &Case| Some(((case.course.iterations / 3.0).round() as usize).max(1));
    let (converged, p0, icpcg) = (case(ours, None)?, case(P0, None)?, case(PressureSolver::Icpcg, None)?);
    let (ours_third, p0_third) = (case(ours, third(&converged))?, case(P0, third(&p0))?);
    // As many iterations as fit into the time of P(0).
    let time = p0_third.most.unwrap_or(1) as f64 * p0.course.iteration_ms;
    let fitting = ((time / icpcg.course.iteration_ms).round() as usize).max(1);
    let icpcg_capped = case(PressureSolver::Icpcg, Some(fitting))?;
    let reference = converged.course;
    let off = |case: &Case| (case.course.rise / reference.rise - 1.0).abs();
    let mut claims = Vec::new();
    for case in [&ours_third, &p0_third] {
        claims.push(Claim {
            claim: format!(
                "{} with {} iterations: {:.1} % off the converged height, at most {:.0} %, and stable",
                case.name,
                case.most.unwrap_or(0),
                100.0 * off(case),
                100.0 * CLOSE
            ),
            holds: off(case) <= CLOSE && case.course.fastest <= STABLE * reference.fastest,
        });
    }
    let percent = |case: &Case| 100.0 * off(case);
    claims.push(Claim {
        claim: format!(
            "icpcg in the same time, {fitting} iterations: {:.3} % off the converged height, a18-p0 {:.3} %, ours {:.3} %",
            percent(&icpcg_capped),
            percent(&p0_third),
            percent(&ours_third)
        ),
        holds: off(&icpcg_capped) > off(&p0_third).max(off(&ours_third)),
    });
    let (cells, most) = (if size == Size::Full { 48 } else { 32 }, 3);
    let (deepest, fastest) = fifteen_balls(cells, most).map_err(failed)?;
    claims.push(Claim {
        claim: format!(
            "fifteen balls with {most} iterations: {:.2} cells in each other at most, below 1; {fastest:.1} m/s at most",
            deepest * cells as f64
        ),
        holds: deepest * cells as f64 <= 1.0 && fastest < 20.0,
    });
    let cases = [converged, ours_third, p0, p0_third, icpcg, icpcg_capped];
    let row = |case: &Case| Row {
        case: match case.most {
            None => format!("{}, converged", case.name),
            Some(most) => format!("{}, at most {most} iterations", case.name),
        },
        reference: Values(vec![("rise", reference.rise)]),
        ours: Values(vec![
            ("rise", case.course.rise),
            ("fastest", case.course.fastest),
            ("iterations", case.course.iterations),
            ("residual", case.course.residual),
        ]),
    };
    let points = |solver: &str| {
        let of_solver = cases.iter().filter(|case| case.name == solver);
        of_solver.map(|case| (case.course.iterations, case.course.rise)).collect::<Vec<_>>()
    };
    let series = ["multigrid", "a18-p0", "icpcg"].map(|solver| Series {
        name: solver.into(),
        points: points(solver),
        reference: Vec::new(),
    });
    Ok(Report {
        name: EXPERIMENT.name,
        rows: cases.iter().map(row).collect(),
        claims,
        plot: Some(Plot {
            title: format!("Rise of a box in 0.6 s, {n}²×{}", 2 * n),
            subtitle: "converged, and stopped at a third of the iterations or the same time".into(),
            x: PlotAxis { name: "iterations of a solve".into(), scale: Scale::Logarithmic },
            y: PlotAxis { name: "rise, m".into(), scale: Scale::Linear },
            series: series.into(),
            guides: Vec::new(),
        }),
        picture: None,
    })
}
