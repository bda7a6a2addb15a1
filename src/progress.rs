//! How far a run is: a bar on a terminal, a line per frame elsewhere. Simulation and drawing go on beside each other and are told apart.

use crate::pictures::Drawn;
use crate::terminal::complain;
use bathtub_engine::report::StepReport;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Shows the progress of a run.
pub struct Progress {
    show: Show,
    cells: usize,
    first: u64,
    last: u64,
    begun: Instant,
    /// Since the last frame.
    recent: Effort,
    /// Since the run began.
    all: Effort,
}

enum Show {
    Bar(ProgressBar),
    Lines,
    Nothing,
}

/// What steps took, and nothing else: neither writing nor drawing.
#[derive(Clone, Copy, Default)]
struct Effort {
    steps: u32,
    iterations: usize,
    time: Duration,
}

impl Effort {
    fn add(&mut self, report: &StepReport, time: Duration) {
        self.steps += 1;
        self.iterations += report.solver.iterations;
        self.time += time;
    }

    /// Millions of cells that are stepped in a second.
    fn rate(&self, cells: usize) -> f64 {
        1e-6 * cells as f64 * f64::from(self.steps) / self.time.as_secs_f64().max(1e-9)
    }
}

impl Progress {
    /// From frame `first` to frame `last`, on a grid of `cells`.
    pub fn new(quiet: bool, cells: usize, first: u64, last: u64) -> Self {
        let show = match (quiet, stderr().is_terminal()) {
            (true, _) => Show::Nothing,
            (false, false) => Show::Lines,
            (false, true) => {
                let style = ProgressStyle::with_template("{bar:20} frame {pos}/{len}  {eta} left  {msg}");
                let bar = ProgressBar::new(last).with_position(first);
                bar.reset_eta();
                Show::Bar(bar.with_style(style.expect("the template is well formed")))
            }
        };
        let (recent, all) = Default::default();
        Self { show, cells, first, last, begun: Instant::now(), recent, all }
    }

    /// A step was done in this time.
    pub fn step(&mut self, report: &StepReport, time: Duration, drawn: Option<Drawn>) {
        self.recent.add(report, time);
        self.all.add(report, time);
        if let Show::Bar(bar) = &self.show {
            bar.set_message(format!("{}  {}", self.pace(), self.split(drawn)));
        }
    }

    /// A frame was completed and written.
    pub fn frame(&mut self, frame: u64, time: f64, drawn: Option<Drawn>) {
        match &self.show {
            Show::Bar(bar) => bar.set_position(frame),
            Show::Lines => {
                let done = (frame - self.first).max(1) as f64;
                let left = self.begun.elapsed().as_secs_f64() / done * (self.last - frame) as f64;
                let (last, pace, split) = (self.last, self.pace(), self.split(drawn));
                complain(&format!("frame {frame}/{last}  t {time:.3} s  {pace}  {split}  {left:.0} s left"));
            }
            Show::Nothing => {}
        }
        self.recent = Effort::default();
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

    /// What the run took so far: `35.2 s, of which steps 6.6 s (1.52 Mcells/s); 49 frames drawn in 20.1 s`.
    pub fn summary(&self, drawn: Option<Drawn>) -> String {
        let (seconds, steps, rate) =
            (self.begun.elapsed().as_secs_f64(), self.all.time.as_secs_f64(), self.all.rate(self.cells));
        let drawn = drawn.map(|Drawn { frames, seconds }| format!("; {frames} frames drawn in {seconds:.1} s"));
        format!("{seconds:.1} s, of which steps {steps:.1} s ({rate:.2} Mcells/s){}", drawn.unwrap_or_default())
    }

    fn pace(&self) -> String {
        let Effort { steps, iterations, .. } = self.recent;
        let iterations = iterations as f64 / f64::from(steps).max(1.0);
        format!("{steps} steps  {:.2} Mcells/s  {iterations:.1} iterations", self.recent.rate(self.cells))
    }

    /// What steps and pictures took so far.
    fn split(&self, drawn: Option<Drawn>) -> String {
        let simulated = format!("simulated {:.1} s", self.all.time.as_secs_f64());
        match drawn {
            Some(Drawn { frames, seconds }) => format!("{simulated}, drawn {frames} in {seconds:.1} s"),
            None => simulated,
        }
    }
}
