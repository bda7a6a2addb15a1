//! How far a run is: a bar on a terminal, a line per frame elsewhere.

use crate::terminal::complain;
use bathtub_engine::report::StepReport;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Instant;

/// Shows the progress of a run.
pub struct Progress {
    show: Show,
    cells: usize,
    first: u64,
    last: u64,
    begun: Instant,
    frame_begun: Instant,
    steps: u32,
    iterations: usize,
}

enum Show {
    Bar(ProgressBar),
    Lines,
    Nothing,
}

impl Progress {
    /// From frame `first` to frame `last`, on a grid of `cells`.
    pub fn new(quiet: bool, cells: usize, first: u64, last: u64) -> Self {
        let show = match (quiet, stderr().is_terminal()) {
            (true, _) => Show::Nothing,
            (false, false) => Show::Lines,
            (false, true) => {
                let style = ProgressStyle::with_template("{bar:30} frame {pos}/{len}  {eta} left  {msg}");
                let bar = ProgressBar::new(last).with_position(first);
                bar.reset_eta();
                Show::Bar(bar.with_style(style.expect("the template is well formed")))
            }
        };
        let now = Instant::now();
        Self { show, cells, first, last, begun: now, frame_begun: now, steps: 0, iterations: 0 }
    }

    /// A step was done.
    pub fn step(&mut self, report: &StepReport) {
        self.steps += 1;
        self.iterations += report.solver.iterations;
        if let Show::Bar(bar) = &self.show {
            bar.set_message(self.pace());
        }
    }

    /// A frame was completed and written.
    pub fn frame(&mut self, frame: u64, time: f64) {
        match &self.show {
            Show::Bar(bar) => bar.set_position(frame),
            Show::Lines => {
                let done = (frame - self.first).max(1) as f64;
                let left = self.begun.elapsed().as_secs_f64() / done * (self.last - frame) as f64;
                let (last, pace) = (self.last, self.pace());
                complain(&format!("frame {frame}/{last}  t {time:.3} s  {pace}  {left:.0} s left"));
            }
            Show::Nothing => {}
        }
        (self.frame_begun, self.steps, self.iterations) = (Instant::now(), 0, 0);
    }

    /// A remark that does not belong to a frame.
    pub fn note(&self, text: &str) {
        match &self.show {
            Show::Bar(bar) => bar.suspend(|| complain(text)),
            Show::Lines => complain(text),
            Show::Nothing => {}
        }
    }

    /// Leave the terminal clean.
    pub fn finish(&self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }

    fn pace(&self) -> String {
        let steps = f64::from(self.steps);
        let rate = self.cells as f64 * steps / self.frame_begun.elapsed().as_secs_f64().max(1e-9);
        let iterations = self.iterations as f64 / steps.max(1.0);
        format!("{} steps  {:.2} Mcells/s  {iterations:.1} iterations", self.steps, 1e-6 * rate)
    }
}
