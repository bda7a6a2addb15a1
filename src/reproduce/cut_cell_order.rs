//! Row A11: order of accuracy of the pressure around a circle.

use super::plot::{Guide, PlotAxis, Scale, Series};
use super::{Claim, Experiment, Plot, Report, Row, Size, Values};
use crate::exit::{Exit, Failure};
use bathtub_bench::experiments::cut_cell_order::{
    Errors, LEAST_ORDERS, REFERENCE_ORDERS, REFERENCE_P_MAX_128, orders, solve,
};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "cut-cell-order",
    summary: "order of accuracy of pressure and gradient around a circle cut out of the grid, 32² to 128² cells",
    run,
};

const NAMES: [&str; 4] = ["p, largest", "p, L2", "gradient, L1", "gradient, largest"];

fn run(size: Size) -> Result<Report, Failure> {
    let resolutions: &[usize] = if size == Size::Full { &[32, 64, 128, 256] } else { &[32, 64, 128] };
    let mut errors = Vec::new();
    for &n in resolutions {
        errors.push((n, solve(n).map_err(|e| Failure::new(Exit::Numerical, format!("{n}²: {e}")))?));
    }
    let orders = overall_orders(&errors);
    let mut rows: Vec<Row> = errors
        .iter()
        .map(|(n, e)| Row {
            case: format!("{n}²"),
            reference: Values(if *n == 128 { vec![("p_max", REFERENCE_P_MAX_128)] } else { Vec::new() }),
            ours: Values(e.named().to_vec()),
        })
        .collect();
    let keys = errors[0].1.named().map(|(key, _)| key);
    rows.push(Row {
        case: "order".into(),
        reference: Values(keys.into_iter().zip(REFERENCE_ORDERS).collect()),
        ours: Values(keys.into_iter().zip(orders).collect()),
    });
    Ok(Report { name: EXPERIMENT.name, claims: claims(&errors), rows, plot: Some(plot(&errors)), picture: None })
}

/// Over all refinements at once, as single ones scatter with how the circle meets the grid.
fn overall_orders(errors: &[(usize, Errors)]) -> [f64; 4] {
    let ((coarse, first), (fine, last)) = (errors[0], errors[errors.len() - 1]);
    orders(&first, &last, fine as f64 / coarse as f64)
}

fn claims(errors: &[(usize, Errors)]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for ((name, order), least) in NAMES.into_iter().zip(overall_orders(errors)).zip(LEAST_ORDERS) {
        claims.push(Claim { claim: format!("{name}: order {order:.2}, at least {least}"), holds: order >= least });
    }
    if let Some((_, e)) = errors.iter().find(|(n, _)| *n == 128) {
        let claim = format!("p, largest, on 128²: {:.2e}, within 2 % of {REFERENCE_P_MAX_128:.1e}", e.p_max);
        claims.push(Claim { claim, holds: (e.p_max / REFERENCE_P_MAX_128 - 1.0).abs() <= 0.02 });
    }
    claims
}

fn plot(errors: &[(usize, Errors)]) -> Plot {
    let series = NAMES.into_iter().enumerate().map(|(i, name)| Series {
        name: name.into(),
        points: errors.iter().map(|(n, e)| (*n as f64, e.named()[i].1)).collect(),
        reference: if i == 0 { vec![(128.0, REFERENCE_P_MAX_128)] } else { Vec::new() },
    });
    let (first, last) = (errors[0].0 as f64, errors[errors.len() - 1].0 as f64);
    // Beside the curves, not on them.
    let guide = |order: i32, start: f64| Guide {
        name: format!("order {order}"),
        ends: [(first, start), (last, start * (first / last).powi(order))],
    };
    let Errors { gradient_l1, gradient_max, .. } = errors[0].1;
    Plot {
        title: "Errors around a circle cut out of the grid".into(),
        subtitle: "filled: ours, open: reference".into(),
        x: PlotAxis { name: "cells along a side".into(), scale: Scale::LogarithmicAtPoints },
        y: PlotAxis { name: "error".into(), scale: Scale::Logarithmic },
        series: series.collect(),
        guides: vec![guide(1, (gradient_l1 * gradient_max).sqrt()), guide(2, 2.5 * gradient_l1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_fail_when_they_should() {
        let power = |order: f64| {
            let errors = [32usize, 64, 128].map(|n| {
                let error = |at_128: f64| at_128 * (128.0 / n as f64).powf(order);
                let (p, gradient) = (error(REFERENCE_P_MAX_128), error(1e-3));
                (n, Errors { p_max: p, p_l2: p, gradient_l1: gradient, gradient_max: gradient })
            });
            claims(&errors).iter().map(|c| c.holds).collect::<Vec<bool>>()
        };
        assert_eq!(power(2.0), [true; 5]);
        assert_eq!(power(1.75), [false, false, true, true, true]);
        assert_eq!(power(0.3), [false, false, false, false, true]);
    }
}
