//! How long the stages of a step take.

use std::time::Instant;

/// Stopwatch of the stages of a step.
#[derive(Default)]
pub(crate) struct Stages {
    last: Option<Instant>,
    laps: Vec<(String, f64)>,
}

impl Stages {
    /// A new step begins.
    pub fn restart(&mut self) {
        self.laps.clear();
        self.last = Some(Instant::now());
    }

    /// A stage ends; its milliseconds.
    pub fn lap(&mut self, stage: &str) -> f64 {
        let now = Instant::now();
        let ms = self.last.map_or(0.0, |last| (now - last).as_secs_f64() * 1e3);
        self.laps.push((stage.to_string(), ms));
        self.last = Some(now);
        ms
    }

    /// The stages of the step and their milliseconds, in order.
    pub fn laps(&self) -> Vec<(String, f64)> {
        self.laps.clone()
    }
}
