//! Kinetic energy of Taylor–Green vortices in the unit box (row D10).
//!
//! ```text
//! u = (sin 2πx cos 2πy, −cos 2πx sin 2πy)
//! ```
//!
//! is a steady solution of Euler's equations, so what energy is lost is lost by the advection scheme. Steps of CFL 1.

use crate::worlds::{still_air, with_velocity};
use bathtub_engine::fluid::advect::Advection;
use bathtub_engine::world::StepError;
use glam::DVec3;
use std::f64::consts::TAU;

/// What an independent code of the same scheme keeps, to three digits: scheme, cells along a side, after ½ s (where
/// known), after 1 s.
pub const REFERENCES: [(Advection, usize, Option<f64>, f64); 6] = [
    (Advection::SemiLagrangian, 32, None, 0.466),
    (Advection::SemiLagrangian, 64, Some(0.800), 0.658),
    (Advection::SemiLagrangian, 128, None, 0.801),
    (Advection::MacCormack, 32, None, 0.630),
    (Advection::MacCormack, 64, Some(0.868), 0.769),
    (Advection::MacCormack, 128, None, 0.868),
];

/// How much less than the reference a scheme may keep.
pub const SLACK: f64 = 0.02;

/// Velocity of the vortices at a point, m/s.
pub fn velocity(p: DVec3) -> DVec3 {
    DVec3::new((TAU * p.x).sin() * (TAU * p.y).cos(), -(TAU * p.x).cos() * (TAU * p.y).sin(), 0.0)
}

/// Energy kept, relative to the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// After ½ s.
    pub half: f64,
    /// After 1 s.
    pub full: f64,
}

/// Run on `n`² cells for one second.
pub fn energy_kept(scheme: Advection, n: usize) -> Result<Kept, StepError> {
    let dx = 1.0 / n as f64;
    let mut params = still_air([n, n, 1], dx);
    params.fluid.smoke_mut().unwrap().advection = scheme;
    params.time.fps = 2.0;
    params.time.max_dt = dx;
    params.time.cfl = f64::INFINITY;
    // ½ ρ ⟨u²⟩ over the volume 1 · 1 · dx, with ⟨u²⟩ = ½.
    let start = 0.25 * params.fluid.smoke_mut().unwrap().rho * dx;
    let mut world = with_velocity(params, velocity);
    let mut until = |frame| {
        loop {
            let report = world.step()?;
            if report.frame == frame {
                return Ok(report.fluid.kinetic / start);
            }
        }
    };
    Ok(Kept { half: until(1)?, full: until(2)? })
}
