//! What defines a run.

use super::{BodyError, WorldError};
use crate::coupling::monolithic::Scheme;
use crate::fluid::FluidParams;
use crate::fluid::boundary::Wall;
use crate::fluid::smoke::SmokeParams;
use crate::fluid::water::{Liquid, Region, WaterParams};
use crate::geometry::Bounds;
use crate::grid::{Axis, Grid};
use crate::solid::Obstacle;
use crate::solid::elastic::{Elastic, ElasticBody};
use crate::solid::reduced::{Reduced, ReducedBodies};
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
    /// Those that are deformed in a few modes only.
    pub reduced: Vec<Reduced>,
    /// The pressure solve.
    pub pressure: PressureParams,
    /// How solids and fluid find each other.
    pub coupling: CouplingParams,
    /// Steps and frames.
    pub time: TimeParams,
}

impl WorldParams {
    /// A closed box of air with every default that a scene file has: `size` metres along its longest side, on y = 0, centred on x = z = 0.
    pub fn smoke(cells: [usize; 3], size: f64) -> Self {
        let [nx, ny, nz] = cells;
        let dx = size / nx.max(ny).max(nz) as f64;
        let origin = DVec3::new(-0.5 * nx as f64 * dx, 0.0, -0.5 * nz as f64 * dx);
        Self {
            grid: Grid::new(cells, dx, origin),
            walls: [[Wall::Closed; 2]; 3],
            fluid: FluidParams::Smoke(SmokeParams::default()),
            obstacles: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            elastic: Vec::new(),
            reduced: Vec::new(),
            pressure: PressureParams::default(),
            coupling: CouplingParams::default(),
            time: TimeParams::new(24.0),
        }
    }

    /// The same box with water up to a height of `level`, m, and nothing above it.
    pub fn water(cells: [usize; 3], size: f64, level: f64) -> Self {
        let still = Liquid { region: Region::Below(level), velocity: DVec3::ZERO };
        let water = WaterParams { initial: vec![still], ..WaterParams::new(cells) };
        Self { fluid: FluidParams::Water(water), ..Self::smoke(cells, size) }
    }

    /// The same with a rigid body.
    pub fn with_body(mut self, body: RigidBody) -> Self {
        self.bodies.push(body);
        self
    }

    /// The same with an elastic body.
    pub fn with_elastic(mut self, body: Elastic) -> Self {
        self.elastic.push(body);
        self
    }

    /// The same with a reduced body.
    pub fn with_reduced(mut self, body: Reduced) -> Self {
        self.reduced.push(body);
        self
    }

    /// The same with an obstacle.
    pub fn with_obstacle(mut self, obstacle: Obstacle) -> Self {
        self.obstacles.push(obstacle);
        self
    }

    /// The same with another side: the lower (0) or upper (1) one along an axis.
    pub fn with_wall(mut self, axis: Axis, side: usize, wall: Wall) -> Self {
        self.walls[axis.index()][side] = wall;
        self
    }

    /// Refuse a domain or steps that are none; solids are checked where they are made.
    pub fn check(&self) -> Result<(), WorldError> {
        let Grid { dims, dx, origin } = self.grid;
        if dims.contains(&0) || !(dx > 0.0 && dx.is_finite() && origin.is_finite()) {
            return Err(WorldError::Grid { dims, dx, origin });
        }
        let TimeParams { fps, cfl, max_dt, .. } = self.time;
        if !(fps > 0.0 && fps.is_finite() && cfl > 0.0 && max_dt > 0.0) {
            return Err(WorldError::Time { fps, max_dt, cfl });
        }
        Ok(())
    }

    /// Names of all solids, in the order of their surfaces.
    pub fn solid_names(&self) -> impl Iterator<Item = &str> {
        let obstacles = self.obstacles.iter().map(|obstacle| &obstacle.name);
        let bodies = self.bodies.iter().map(|body| &body.name);
        let elastic = self.elastic.iter().map(|body| &body.name);
        let reduced = self.reduced.iter().flat_map(|reduced| reduced.copies.iter().map(|copy| &copy.name));
        obstacles.chain(bodies).chain(elastic).chain(reduced).map(String::as_str)
    }

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

    /// The reduced bodies at the start, if there are any.
    pub(super) fn reduced_bodies(&self) -> Result<Option<ReducedBodies>, BodyError> {
        if self.reduced.is_empty() {
            return Ok(None);
        }
        let flat = Axis::ALL.map(|axis| self.grid.is_flat(axis));
        let room = Bounds { min: self.grid.origin, max: self.grid.upper() };
        let made = ReducedBodies::new(&self.reduced, flat, room);
        made.map(Some).map_err(|(name, source)| BodyError::Elastic { name, source })
    }

    /// Whether elastic bodies lean on sides and obstacles within the solve. Systems that are written out have no rows for that.
    pub(super) fn are_supported(&self) -> bool {
        let is_written = matches!(self.pressure.solver, PressureSolver::Zb17Spd | PressureSolver::Zb17Indefinite);
        self.coupling.scheme == Scheme::Monolithic && !is_written
    }

    /// The elastic bodies at the start, led ones with the velocity of a first step of `first_dt`, s.
    pub(super) fn elastics(&self, first_dt: f64) -> Result<Vec<(String, ElasticBody)>, BodyError> {
        let flat = Axis::ALL.map(|axis| self.grid.is_flat(axis));
        let body = |elastic: &Elastic| {
            let made = elastic.body(flat).and_then(|body| elastic.led(body, first_dt));
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

impl Default for PressureParams {
    fn default() -> Self {
        Self {
            solver: PressureSolver::Multigrid,
            params: SolveParams { tolerance: 1e-5, ..SolveParams::default() },
            strict: false,
            allow_incompatible: false,
        }
    }
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

impl TimeParams {
    /// Frames per second, steps of at most a frame and two cells.
    pub fn new(fps: f64) -> Self {
        let frame = 1.0 / fps;
        Self { fps, cfl: 2.0, max_dt: frame, min_dt: 1e-4 * frame }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[test]
    fn nonsense_is_refused_in_words() {
        let refusal = |params: WorldParams| World::new(params).err().map(|error| error.to_string()).unwrap_or_default();
        for (cells, size) in
            [([0, 4, 4], 1.0), ([4, 4, 4], 0.0), ([4, 4, 4], -1.0), ([4, 4, 4], f64::NAN), ([0; 3], 1.0)]
        {
            assert!(refusal(WorldParams::smoke(cells, size)).contains("grid"), "{cells:?} {size}");
        }
        for fps in [0.0, -1.0, f64::NAN] {
            let params = WorldParams { time: TimeParams::new(fps), ..WorldParams::water([4; 3], 1.0, 0.5) };
            assert!(refusal(params).contains("frames a second"), "{fps}");
        }
        assert_eq!(refusal(WorldParams::smoke([4; 3], 1.0)), "");
    }
}
