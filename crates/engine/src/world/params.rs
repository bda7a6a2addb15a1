//! What defines a run.

use super::BodyError;
use crate::coupling::monolithic::Scheme;
use crate::fluid::FluidParams;
use crate::fluid::boundary::Wall;
use crate::geometry::Bounds;
use crate::grid::{Axis, Grid};
use crate::solid::Obstacle;
use crate::solid::elastic::{Elastic, ElasticBody};
use crate::solid::rigid::{Joint, RigidBody, RigidError, RigidState, Rigids, Room};
use crate::solve::{PressureSolver, SolveParams};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Everything that defines a run; a scene file with its defaults filled in.
#[derive(Clone, Debug)]
pub struct WorldParams {
    /// The domain.
    pub grid: Grid,
    /// Lower and upper side along each axis; sides across a flat axis are closed.
    pub walls: [[Wall; 2]; 3],
    /// The fluid and what it comes from.
    pub fluid: FluidParams,
    /// Static and scripted solids.
    pub obstacles: Vec<Obstacle>,
    /// Solids that the fluid moves.
    pub bodies: Vec<RigidBody>,
    /// What holds them together or to the world.
    pub joints: Vec<Joint>,
    /// Solids that the fluid moves and deforms.
    pub elastic: Vec<Elastic>,
    /// The pressure solve.
    pub pressure: PressureParams,
    /// How solids and fluid find each other.
    pub coupling: CouplingParams,
    /// Steps and frames.
    pub time: TimeParams,
}

impl WorldParams {
    /// The free bodies at the start, and what moves them.
    pub fn rigids(&self) -> Result<(Rigids, RigidState), RigidError> {
        let grid = &self.grid;
        let room = Room {
            bounds: Bounds { min: grid.origin, max: grid.upper() },
            dx: grid.dx,
            closed: self.walls.map(|sides| sides.map(|side| !matches!(side, Wall::Open))),
            flat: Axis::ALL.map(|axis| grid.is_flat(axis)),
            // Weight depends on the fluid: `World` adds it.
            gravity: DVec3::ZERO,
            rho: self.fluid.rho(),
        };
        Rigids::new(&self.bodies, &self.joints, &self.obstacles, room)
    }

    /// Whether elastic bodies lean on sides and obstacles within the solve. Systems that are written out have no rows for that.
    pub(super) fn are_supported(&self) -> bool {
        let is_written = matches!(self.pressure.solver, PressureSolver::Zb17Spd | PressureSolver::Zb17Indefinite);
        self.coupling.scheme == Scheme::Monolithic && !is_written
    }

    /// The elastic bodies at the start.
    pub(super) fn elastics(&self) -> Result<Vec<(String, ElasticBody)>, BodyError> {
        let flat = Axis::ALL.map(|axis| self.grid.is_flat(axis));
        let body = |elastic: &Elastic| {
            let made = elastic.body(flat);
            let body = made.map_err(|source| BodyError::Elastic { name: elastic.name.clone(), source })?;
            Ok((elastic.name.clone(), body))
        };
        self.elastic.iter().map(body).collect()
    }
}

/// Which solver finds the pressure, and when it may stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PressureParams {
    /// The method.
    pub solver: PressureSolver,
    /// Tolerance, iteration cap, time budget.
    pub params: SolveParams,
    /// Whether a solve that stops unconverged ends the run.
    pub strict: bool,
    /// Whether fluid that is pushed into a closed region where nothing can take it vanishes, instead of ending the run.
    pub allow_incompatible: bool,
}

/// How solids and fluid find each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CouplingParams {
    /// How solids answer pressure.
    pub scheme: Scheme,
}

/// How time is cut into steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeParams {
    /// Frames per second; steps land exactly on frames.
    pub fps: f64,
    /// Longest step in cells crossed by the fastest fluid.
    pub cfl: f64,
    /// Longest step, s.
    pub max_dt: f64,
    /// A step shorter than this, s, ends the run: something is wrong.
    pub min_dt: f64,
}
