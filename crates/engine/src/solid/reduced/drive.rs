//! What makes a body swim: a rest shape that swings, as muscles make it (unlike in \[LJF16, §8\], where balanced forces act on chosen points).
//!
//! Elastic forces towards another rest shape have neither resultant nor moment, so that whatever a drive does, the body goes nowhere by itself: it has to push the fluid.

use std::f64::consts::TAU;

/// A rest shape that swings along a mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Which mode, counted from 0.
    pub mode: usize,
    /// How far the rest shape goes along it, m: the root of the mean square over the body.
    pub amplitude: f64,
    /// How often, 1/s.
    pub frequency: f64,
    /// Where in its period it begins, in periods.
    pub phase: f64,
    /// How it goes to and fro.
    pub wave: Wave,
    /// From when on and until when, s.
    pub active: [f64; 2],
    /// Time in which it grows to its full strength, s, and fades at the end.
    pub ramp: f64,
}

/// How a drive goes to and fro.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wave {
    /// Evenly.
    #[default]
    Sine,
    /// Fast in, in a fifth of the period, and slowly back, to one side only.
    Pulse,
}

/// Part of a period in which a pulse rises.
/// A choice: fast in, slowly back.
const RISE: f64 = 0.2;

impl Drive {
    /// Where the rest shape is along its mode at a time, s, with a phase of the body's own added, periods; m.
    pub fn at(&self, time: f64, phase: f64) -> f64 {
        let [from, until] = self.active;
        let grown =
            |left: f64| if self.ramp > 0.0 { (left / self.ramp).clamp(0.0, 1.0) } else { f64::from(left > 0.0) };
        let strength = grown(time - from).min(grown(until - time));
        // Smooth at both ends.
        let strength = strength * strength * (3.0 - 2.0 * strength);
        let turn = self.frequency * (time - from) + self.phase + phase;
        let place = match self.wave {
            Wave::Sine => (TAU * turn).sin(),
            Wave::Pulse => {
                let part = turn.rem_euclid(1.0);
                let way = if part < RISE { part / RISE } else { (1.0 - part) / (1.0 - RISE) };
                0.5 - 0.5 * (0.5 * TAU * way).cos()
            }
        };
        self.amplitude * strength * place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_begin_and_end_softly() {
        let drive = Drive {
            mode: 0,
            amplitude: 2.0,
            frequency: 1.0,
            phase: 0.0,
            wave: Wave::Sine,
            active: [1.0, 5.0],
            ramp: 0.5,
        };
        assert_eq!([0.5, 1.0, 5.0, 6.0].map(|time| drive.at(time, 0.0)), [0.0; 4]);
        assert!((drive.at(2.25, 0.0) - 2.0).abs() < 1e-12 && (drive.at(2.0, 0.25) - 2.0).abs() < 1e-12);
        let pulse = Drive { wave: Wave::Pulse, ..drive };
        assert!((pulse.at(3.2, 0.0) - 2.0).abs() < 1e-12, "at its highest after a fifth");
        assert!((0..400).all(|n| pulse.at(0.015 * f64::from(n), 0.0) >= 0.0));
        // No jumps.
        for wave in [drive, pulse] {
            let jump =
                (0..60_000).map(|n| (wave.at(1e-4 * f64::from(n + 1), 0.0) - wave.at(1e-4 * f64::from(n), 0.0)).abs());
            assert!(jump.fold(0.0, f64::max) < 2e-3);
        }
    }
}
