//! Why a world is refused, and why a step could not be completed.

use crate::coupling::incompatible::Incompatible;
use crate::solid::elastic::ElasticError;
use crate::solid::rigid::RigidError;
use crate::solve::SolveError;
use glam::DVec3;

/// Why a world is refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// There is no such grid.
    #[error(
        "a grid of {dims:?} cells of {dx} m at {origin}: at least one cell along each axis, of a finite size above zero"
    )]
    Grid {
        /// Cells along x, y and z.
        dims: [usize; 3],
        /// Width of a cell, m.
        dx: f64,
        /// Lowest corner, m.
        origin: DVec3,
    },
    /// There are no such steps.
    #[error("{fps} frames a second in steps of at most {max_dt} s and {cfl} cells: all of them must be above zero")]
    Time {
        /// Frames per second.
        fps: f64,
        /// Longest step, s.
        max_dt: f64,
        /// Longest step, in cells.
        cfl: f64,
    },
    /// Solids are refused.
    #[error(transparent)]
    Bodies(#[from] BodyError),
}

/// Why a step could not be completed. The state is the last good one.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StepError {
    /// The pressure solve failed, or did not converge in strict mode.
    #[error("step {step}: pressure solve: {source}")]
    Pressure {
        /// Step number.
        step: u64,
        /// What the solver said.
        source: SolveError,
    },
    /// Fluid is pushed into a closed region where nothing can take it.
    #[error(
        "step {step}: incompatible motion: {} {} {:.3e} m³/s {} a closed region of {:.3e} m³ at [{:.3}, {:.3}, {:.3}] m; \
         give it room or an opening, or set pressure.allow_incompatible = true",
        found.cause, if found.flux > 0.0 { "pushes" } else { "draws" }, found.flux.abs(),
        if found.flux > 0.0 { "into" } else { "out of" }, found.volume,
        found.position.x, found.position.y, found.position.z
    )]
    Incompatible {
        /// Step number.
        step: u64,
        /// Where, how much, and what pushes.
        found: Incompatible,
    },
    /// The bodies could not be moved.
    #[error("step {step}: {source}")]
    Bodies {
        /// Step number.
        step: u64,
        /// Why.
        source: BodyError,
    },
    /// NaN or infinity.
    #[error("step {step}: a non-finite {quantity} appeared in {stage}")]
    NonFinite {
        /// Step number.
        step: u64,
        /// Stage of the step.
        stage: &'static str,
        /// Which field.
        quantity: &'static str,
    },
    /// The CFL limit asks for steps shorter than `min_dt`.
    #[error("step {step}: the time step fell to {dt:.3e} s (limit {limit:.3e} s) at speed {speed:.3e} m/s {place}")]
    TimeStepCollapse {
        /// Step number.
        step: u64,
        /// Step wanted, s.
        dt: f64,
        /// Smallest step allowed, s.
        limit: f64,
        /// Fastest speed, m/s.
        speed: f64,
        /// What is that fast.
        place: Fastest,
    },
}

/// Why solids are refused, or could not be moved.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BodyError {
    /// Of the rigid ones.
    #[error(transparent)]
    Rigid(#[from] RigidError),
    /// Of an elastic one.
    #[error("elastic body {name:?}: {source}")]
    Elastic {
        /// Its name in the scene.
        name: String,
        /// Why.
        source: ElasticError,
    },
}

/// What limits the time step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fastest {
    /// Fluid, in this cell.
    Cell([usize; 3]),
    /// The solid of this name.
    Solid(String),
    /// What sources and sides let in.
    Source,
    /// What falls freely, at the end of the step.
    Falling,
}

impl std::fmt::Display for Fastest {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Cell(cell) => write!(f, "in cell {cell:?}"),
            Self::Solid(name) => write!(f, "of solid {name:?}"),
            Self::Source => write!(f, "of a source or an inflow"),
            Self::Falling => write!(f, "of what falls freely"),
        }
    }
}
