//! A fluid on the grid: what bounds it, the projection that keeps its volume, and what it carries along.

use super::boundary::Boundary;
use super::projection::Projection;
use super::water::KeepOut;
use super::{Fluid, FluidParams, GridState, Step, TimeSpan};
use crate::clock::Stages;
use crate::grid::{CellField, FaceField, Grid};
use crate::solve::{PressureSolver, SolveError};

/// The machinery of such a fluid; what changes is in [`GridState`].
pub(crate) struct GridFluid {
    /// Its sides and the solids.
    pub boundary: Boundary,
    /// Knows the boundary, and the liquid since the last [`set_liquid`](Self::set_liquid).
    pub projection: Projection,
    content: Fluid,
}

impl GridFluid {
    /// A fluid within a boundary.
    pub fn new(params: &FluidParams, grid: &Grid, solver: PressureSolver, boundary: Boundary) -> Self {
        let projection = Projection::new(grid, &boundary, solver);
        let content = Fluid::new(params, grid, &boundary.walls);
        Self { boundary, projection, content }
    }

    /// The solids have moved.
    pub fn enclose(&mut self, grid: &Grid, boundary: Boundary) {
        self.boundary = boundary;
        self.projection.set_boundary(grid, &self.boundary);
        if let Fluid::Water(water) = &mut self.content {
            water.set_boundary(grid, &self.boundary);
        }
    }

    /// The state at the start of a run, without pressure.
    pub fn initial(&mut self, grid: &Grid, keep_out: &KeepOut) -> GridState {
        let (mut velocity, pressure) = (FaceField::new(grid, 0.0), CellField::new(grid, 0.0));
        let content = self.content.initial(grid, &self.boundary, keep_out, &mut velocity);
        GridState { velocity, pressure, content }
    }

    /// Transport with the velocity of the last step.
    pub fn advect(
        &mut self,
        (grid, span): (&Grid, TimeSpan),
        keep_out: &KeepOut,
        now: &GridState,
        next: &mut GridState,
        clock: &mut Stages,
    ) -> Result<(), SolveError> {
        let step = Step::new(grid, &self.boundary, span);
        self.content.advect(&step, keep_out, &mut self.projection, now, next, clock)
    }

    /// Forces other than the pressure → u*.
    pub fn predict(&mut self, (grid, span): (&Grid, TimeSpan), next: &mut GridState) {
        self.content.predict(&Step::new(grid, &self.boundary, span), next);
    }

    /// Let the projection know where a liquid is, and its pockets of air.
    pub fn set_liquid(&mut self, grid: &Grid, state: &GridState) {
        if let Some(water) = state.water() {
            self.projection.set_liquid(grid, &self.boundary, &water.distance, &water.bubbles);
        }
    }

    /// Volume that sources push into cells, in units of dx², m/s, with the number of the source.
    pub fn pushed(&self, (grid, span): (&Grid, TimeSpan)) -> Vec<(usize, f64, usize)> {
        self.content.pushed(&Step::new(grid, &self.boundary, span))
    }

    /// After the projection: what the next step needs beyond the fluid, and what the particles carry.
    pub fn finish(
        &mut self,
        (grid, span): (&Grid, TimeSpan),
        next: &mut GridState,
        clock: &mut Stages,
    ) -> Result<(), SolveError> {
        let step = Step::new(grid, &self.boundary, span);
        self.content.finish(&step, &mut self.projection, next, clock)
    }

    /// Fastest that sources make it, m/s.
    pub fn source_speed(&self) -> f64 {
        self.content.source_speed()
    }

    /// Share of each cell that particles fill after the last step, if there are particles.
    pub fn filled(&self) -> Option<&CellField> {
        match &self.content {
            Fluid::Smoke(_) => None,
            Fluid::Water(water) => Some(water.filled()),
        }
    }
}
