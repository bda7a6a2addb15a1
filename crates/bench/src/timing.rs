//! What benchmarks of whole steps share: timed steps, medians, stages.

use bathtub_engine::report::StepReport;
use bathtub_engine::world::{StepError, World};
use serde::Serializer;
use std::time::Instant;

/// A step and how long it took.
pub(crate) struct Timing {
    pub ms: f64,
    pub report: StepReport,
}

/// Take a step.
pub(crate) fn timed_step(world: &mut World) -> Result<Timing, StepError> {
    let start = Instant::now();
    let report = world.step()?;
    Ok(Timing { ms: start.elapsed().as_secs_f64() * 1e3, report })
}

/// Milliseconds of each stage in order, `typical` of all steps, then of what is outside the stages.
pub(crate) fn stages(timings: &[Timing], typical: fn(Vec<f64>) -> f64) -> Vec<(String, f64)> {
    let names = timings[0].report.stages.iter().map(|(stage, _)| stage.clone());
    let of = |t: &Timing, name: &str| t.report.stages.iter().find(|(n, _)| n == name).map_or(0.0, |(_, ms)| *ms);
    let stage = |name: String| {
        let ms = typical(timings.iter().map(|t| of(t, &name)).collect());
        (name, ms)
    };
    let mut stages: Vec<(String, f64)> = names.map(stage).collect();
    let rest = |t: &Timing| t.ms - t.report.stages.iter().map(|(_, ms)| ms).sum::<f64>();
    stages.push(("account".into(), typical(timings.iter().map(rest).collect())));
    stages
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub(crate) fn mean(values: Vec<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Named numbers as one object, in their order.
pub(crate) fn as_map<S: Serializer>(values: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_keep_their_order_and_account_for_the_rest() {
        let timing = |ms: f64, stages: &[(&str, f64)]| {
            let stages = stages.iter().map(|(name, ms)| (name.to_string(), *ms)).collect();
            Timing { ms, report: StepReport { stages, ..StepReport::default() } }
        };
        let timings = [
            timing(10.0, &[("pressure", 4.0), ("extend", 1.0)]),
            timing(20.0, &[("pressure", 6.0), ("extend", 5.0)]),
            timing(90.0, &[("pressure", 14.0), ("extend", 6.0)]),
        ];
        let named = |values: [f64; 3]| {
            ["pressure", "extend", "account"].map(String::from).into_iter().zip(values).collect::<Vec<_>>()
        };
        assert_eq!(stages(&timings, mean), named([8.0, 4.0, 28.0]));
        assert_eq!(stages(&timings, median), named([6.0, 5.0, 9.0]));
    }
}
