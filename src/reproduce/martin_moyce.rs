//! Row D2: collapse of a water column, the front beside Martin and Moyce's.

use super::panels::{Panel, Panels};
use super::plot::{PlotAxis, Scale, Series};
use super::{Claim, Experiment, Plot, Report, Row, Size, Values};
use crate::exit::{Exit, Failure};
use bathtub_bench::experiments::martin_moyce::{
    Agreement, Collapse, POINTS, SLOPES, Still, WIDTH, collapse, interpolate, measured_slope, tolerance,
};
use bathtub_engine::fluid::advect::Advection;
use bathtub_engine::fluid::water::Transfer;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "martin-moyce",
    summary: "front of a collapsing water column beside the measured one, 16 and 32 cells along its width",
    run,
};

const TRANSFERS: [(Transfer, &str); 3] =
    [(Transfer::Apic, "APIC"), (Transfer::Flip { pic: 0.05 }, "FLIP"), (Transfer::Grid(Advection::MacCormack), "grid")];

/// The plot ends here.
const LAST: f64 = 3.5;

/// One run.
struct Case {
    name: String,
    cells: usize,
    collapse: Collapse,
}

fn run(size: Size) -> Result<Report, Failure> {
    let resolutions: &[usize] = if size == Size::Full { &[16, 32, 64] } else { &[16, 32] };
    let mut cases = Vec::new();
    for &cells in resolutions {
        for (transfer, name) in TRANSFERS {
            let collapse = collapse(transfer, cells).map_err(|e| Failure::new(Exit::Numerical, e.to_string()))?;
            cases.push(Case { name: format!("{name}, {cells} cells"), cells, collapse });
        }
    }
    let agreements: Vec<Agreement> = cases.iter().map(|case| case.collapse.agreement()).collect();
    let found = || cases.iter().zip(&agreements);
    // The finest ones are shown, and the first of these is the default transfer.
    let finest = cases.len() - TRANSFERS.len();
    Ok(Report {
        name: EXPERIMENT.name,
        rows: found().map(|(case, agreement)| row(case, agreement)).collect(),
        claims: found().flat_map(|(case, agreement)| claims(&case.name, case.cells, agreement)).collect(),
        plot: Some(plot(&cases[finest..], agreements[finest].shift)),
        picture: Some(picture(&cases[finest], &agreements[finest])),
    })
}

fn row(case: &Case, agreement: &Agreement) -> Row {
    let Agreement { rms, rms_unshifted, shift, slope } = *agreement;
    let fronts = |points: &[(f64, f64)]| [("Z(2)", interpolate(points, 2.0)), ("Z(3)", interpolate(points, 3.0))];
    let mut reference = vec![("slope", measured_slope())];
    reference.extend(fronts(&POINTS));
    let mut ours = vec![("error", rms), ("shift", shift), ("error unshifted", rms_unshifted), ("slope", slope)];
    ours.extend(fronts(&case.collapse.front));
    Row { case: case.name.clone(), reference: Values(reference), ours: Values(ours) }
}

fn claims(name: &str, cells: usize, agreement: &Agreement) -> Vec<Claim> {
    let Agreement { rms, slope, .. } = *agreement;
    let (most, [least_slope, most_slope]) = (tolerance(cells), SLOPES);
    let error = format!("{name}: the front is off by {:.1} %, at most {:.0} %", 100.0 * rms, 100.0 * most);
    let speed = format!("{name}: dZ/dT is {slope:.2}, from {least_slope} to {most_slope}");
    vec![
        Claim { claim: error, holds: rms <= most },
        Claim { claim: speed, holds: (least_slope..=most_slope).contains(&slope) },
    ]
}

/// The curves as they are, and the first one as it fits best.
fn plot(cases: &[Case], shift: f64) -> Plot {
    let measured = Series { name: "Martin & Moyce 1952".into(), points: Vec::new(), reference: POINTS.to_vec() };
    let ours = cases.iter().map(|case| Series {
        name: case.name.clone(),
        points: case.collapse.front.iter().copied().filter(|(t, _)| *t <= LAST).collect(),
        reference: Vec::new(),
    });
    let fitted = Series {
        name: format!("{}, {:.2} later", cases[0].name, -shift),
        points: cases[0].collapse.front.iter().map(|(t, z)| (t - shift, *z)).filter(|(t, _)| *t <= LAST).collect(),
        reference: Vec::new(),
    };
    Plot {
        title: "Front of a collapsing water column".into(),
        subtitle: "open: measured; it lags by about 0.2, as its gate took time to open".into(),
        x: PlotAxis { name: "time T = t √(2g/a)".into(), scale: Scale::Linear },
        y: PlotAxis { name: "front Z = x/a".into(), scale: Scale::Linear },
        series: [measured].into_iter().chain(ours).chain([fitted]).collect(),
        guides: Vec::new(),
    }
}

fn picture(case: &Case, agreement: &Agreement) -> Panels {
    let panel = |still: &Still| {
        let time = still.time - agreement.shift;
        let mark = (time >= POINTS[0].0).then(|| interpolate(&POINTS, time));
        Panel::new(format!("T = {:.0}", still.time), &still.grid, &still.water, WIDTH, mark)
    };
    Panels {
        title: format!("Collapse of a water column: {}", case.name),
        subtitle: format!("mark: measured front, {:.2} later", -agreement.shift),
        view: (5.0, 2.2),
        panels: case.collapse.stills.iter().map(panel).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_fail_when_they_should() {
        let holds = |cells, rms, slope| {
            let agreement = Agreement { rms, rms_unshifted: rms, shift: 0.0, slope };
            claims("APIC", cells, &agreement).iter().map(|c| c.holds).collect::<Vec<_>>()
        };
        assert_eq!(holds(16, 0.09, 1.3), [true, true]);
        assert_eq!(holds(16, 0.11, 1.1), [false, false]);
        assert_eq!(holds(32, 0.09, 1.9), [false, false]);
        assert_eq!(holds(32, f64::NAN, f64::NAN), [false, false]);
    }
}
