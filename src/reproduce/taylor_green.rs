//! Row D10: how much energy each advection scheme keeps.

use super::plot::{PlotAxis, Scale, Series};
use super::{Claim, Experiment, Plot, Report, Row, Size, Values};
use crate::exit::{Exit, Failure};
use bathtub_bench::experiments::taylor_green::{Kept, REFERENCES, SLACK, energy_kept};
use bathtub_engine::fluid::advect::Advection;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "taylor-green",
    summary: "kinetic energy that the advection schemes keep of steady vortices, 32² to 128² cells",
    run,
};

const SCHEMES: [(Advection, &str); 3] = [
    (Advection::SemiLagrangian, "semi-Lagrangian"),
    (Advection::MacCormack, "MacCormack"),
    (Advection::Cubic, "monotone cubic"),
];

fn run(size: Size) -> Result<Report, Failure> {
    let resolutions: &[usize] = if size == Size::Full { &[32, 64, 128, 256] } else { &[32, 64, 128] };
    let (mut rows, mut claims, mut series) = (Vec::new(), Vec::new(), Vec::new());
    for (scheme, name) in SCHEMES {
        let mut kept = Vec::new();
        for &n in resolutions {
            let energy = energy_kept(scheme, n).map_err(|e| Failure::new(Exit::Numerical, e.to_string()))?;
            rows.push(row(scheme, name, n, energy));
            kept.push((n, energy));
        }
        claims.extend(claims_about(scheme, name, &kept));
        let points = kept.iter().map(|&(n, energy)| (n as f64, energy.full)).collect();
        let reference = references(scheme).map(|(n, _, full)| (n as f64, full)).collect();
        series.push(Series { name: name.into(), points, reference });
    }
    let plot = Plot {
        title: "Taylor–Green vortices after 1 s".into(),
        subtitle: "filled: ours, open: reference; the exact solution keeps all of its energy".into(),
        x: PlotAxis { name: "cells along a side".into(), scale: Scale::LogarithmicAtPoints },
        y: PlotAxis { name: "kinetic energy kept".into(), scale: Scale::Linear },
        series,
        guides: Vec::new(),
    };
    Ok(Report { name: EXPERIMENT.name, rows, claims, plot: Some(plot), picture: None })
}

/// What the reference says about a scheme: cells along a side, energy kept after ½ s and 1 s.
fn references(scheme: Advection) -> impl Iterator<Item = (usize, Option<f64>, f64)> {
    REFERENCES.into_iter().filter(move |r| r.0 == scheme).map(|(_, n, half, full)| (n, half, full))
}

fn row(scheme: Advection, name: &str, n: usize, kept: Kept) -> Row {
    let mut reference = Vec::new();
    if let Some((_, half, full)) = references(scheme).find(|r| r.0 == n) {
        reference.extend(half.map(|half| ("t=0.5", half)));
        reference.push(("t=1", full));
    }
    Row {
        case: format!("{name} {n}²"),
        reference: Values(reference),
        ours: Values(vec![("t=0.5", kept.half), ("t=1", kept.full)]),
    }
}

fn claims_about(scheme: Advection, name: &str, kept: &[(usize, Kept)]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (n, half, full) in references(scheme) {
        let ours = kept.iter().find(|k| k.0 == n).map(|k| k.1);
        let holds = ours.is_some_and(|k| k.full >= full - SLACK && k.half >= half.unwrap_or(0.0) - SLACK);
        claims.push(Claim { claim: format!("{name} at {n}² keeps at least the reference less {SLACK}"), holds });
    }
    let holds = kept.iter().all(|(_, k)| k.full <= k.half && k.half <= 1.0 + 1e-6);
    claims.push(Claim { claim: format!("{name} never gains energy"), holds });
    let holds = kept.windows(2).all(|pair| pair[0].1.full < pair[1].1.full);
    claims.push(Claim { claim: format!("{name} keeps more on finer grids"), holds });
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_fail_when_they_should() {
        let kept = |full: [f64; 3]| -> Vec<bool> {
            let kept: Vec<(usize, Kept)> =
                [32, 64, 128].into_iter().zip(full).map(|(n, full)| (n, Kept { half: full.sqrt(), full })).collect();
            claims_about(Advection::MacCormack, "MacCormack", &kept).iter().map(|c| c.holds).collect()
        };
        assert_eq!(kept([0.62, 0.77, 0.87]), [true, true, true, true, true]);
        assert_eq!(kept([0.60, 0.77, 0.87]), [false, true, true, true, true]);
        assert_eq!(kept([0.62, 0.77, 1.1]), [true, true, true, false, true]);
        assert_eq!(kept([0.80, 0.79, 0.87]), [true, true, true, true, false]);
    }
}
