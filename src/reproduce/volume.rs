//! Volume that water keeps while it is thrown about.

use super::plot::{PlotAxis, Scale, Series};
use super::{Claim, Experiment, Plot, Report, Row, Size, Values};
use crate::exit::{Exit, Failure};
use crate::terminal::complain;
use bathtub_bench::experiments::volume::{Course, TOLERANCE, dam_break, run as run_for, sloshing_tank};
use bathtub_engine::world::WorldParams;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "volume",
    summary: "volume of water in a violently sloshing tank and in a dam break with a pillar",
    run,
};

/// Between two points of the plot, s.
const INTERVAL: f64 = 0.25;

fn run(size: Size) -> Result<Report, Failure> {
    let (tank, dam) = if size == Size::Full { (64, 64) } else { (32, 24) };
    let cases = [
        (format!("sloshing tank {tank}³, 20 s"), sloshing_tank(tank), 20.0),
        (format!("dam break {}×{dam}×{dam}, 4 s", 2 * dam), dam_break(dam), 4.0),
    ];
    let (mut rows, mut claims, mut series) = (Vec::new(), Vec::new(), Vec::new());
    for (name, params, seconds) in cases {
        let course = watched(&name, params, seconds)?;
        let (worst, deepest) = (course.worst(), course.deepest);
        rows.push(Row {
            case: name.clone(),
            reference: Values(vec![("drift", 0.0)]),
            ours: Values(vec![("drift", worst), ("deepest", deepest), ("m/s", course.fastest)]),
        });
        claims.extend(claims_about(&name, &course));
        series.push(Series { name, points: thinned(&course.drift), reference: Vec::new() });
    }
    let plot = Plot {
        title: "Volume of water that is thrown about".into(),
        subtitle: format!("largest drift in every {INTERVAL} s; nothing flows in or out"),
        x: PlotAxis { name: "time, s".into(), scale: Scale::Linear },
        y: PlotAxis { name: "volume gained, %".into(), scale: Scale::Linear },
        series,
        guides: Vec::new(),
    };
    Ok(Report { name: EXPERIMENT.name, rows, claims, plot: Some(plot), picture: None })
}

/// Run a case and tell of every second of it.
fn watched(name: &str, params: WorldParams, seconds: f64) -> Result<Course, Failure> {
    let mut told = 0.0;
    let tell = |time: f64, drift: f64| {
        if time >= told + 1.0 {
            told = time.floor();
            complain(&format!("{name}: {told} of {seconds} s, volume {:+.2} %", 100.0 * drift));
        }
    };
    run_for(params, seconds, tell).map_err(|e| Failure::new(Exit::Numerical, e.to_string()))
}

fn claims_about(name: &str, course: &Course) -> [Claim; 2] {
    let kept = course.worst().abs() <= TOLERANCE;
    [
        Claim { claim: format!("{name}: volume within {} %", 100.0 * TOLERANCE), holds: kept },
        Claim { claim: format!("{name}: no particle in a solid or outside"), holds: course.deepest <= 1e-9 },
    ]
}

/// The largest drift of every interval, per cent.
fn thinned(drift: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let interval = |point: &(f64, f64)| (point.0 / INTERVAL).ceil() as u64;
    let largest = |points: &[(f64, f64)]| {
        let point = points.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).expect("an interval has a point");
        (point.0, 100.0 * point.1)
    };
    drift.chunk_by(|a, b| interval(a) == interval(b)).map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_fail_when_they_should() {
        let course = |drift: f64, deepest: f64| Course { drift: vec![(0.1, 0.0), (0.2, drift)], deepest, fastest: 1.0 };
        let holds = |course: &Course| claims_about("tank", course).map(|claim| claim.holds);
        assert_eq!(holds(&course(-0.009, 0.0)), [true, true]);
        assert_eq!(holds(&course(-0.011, 0.0)), [false, true]);
        assert_eq!(holds(&course(0.009, 1e-3)), [true, false]);
    }

    #[test]
    fn the_plot_has_the_worst_of_every_interval() {
        let drift = [(0.1, 0.01), (0.2, -0.03), (0.25, 0.02), (0.3, 0.001), (0.6, 0.0)];
        assert_eq!(thinned(&drift), [(0.2, -3.0), (0.3, 0.1), (0.6, 0.0)]);
    }
}
