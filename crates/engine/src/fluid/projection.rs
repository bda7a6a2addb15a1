//! Projection: the pressure that makes the velocity keep the fluid's volume.
//!
//! u ← u* − G p with D u = (volume pushed in by solids), where D and G are the adjoint pair of
//! `grid::operators` and p stands for Δt·pressure/(ρ·dx), a velocity. That is L p = −(D u* − flux) with
//! L = −D G: coefficients A_f (the open fractions) on the faces that the pressure drives, Dirichlet p = 0
//! beyond open sides [ZB17, eq. 9–12; A18, eq. 4].

use super::boundary::{Boundary, Wall};
use crate::grid::{
    Axis, CellField, FaceField, Grid,
    operators::{divergence, subtract_gradient},
};
use crate::solve::{ClosedRegion, PressureMethod, PressureSolve, SolveError, SolveInfo, SolveParams};
use rayon::prelude::*;

/// The projection and its arrays, kept from step to step.
pub struct Projection {
    solve: PressureSolve,
    coefficients: FaceField,
    dirichlet: CellField,
    rhs: CellField,
}

/// What a projection did.
#[derive(Clone, Debug)]
pub struct Projected {
    /// The solve.
    pub info: SolveInfo,
    /// Regions without an opening; their right-hand sides were made compatible.
    pub closed: Vec<ClosedRegion>,
    /// Largest |D u − flux| left in a cell of the system, m/s.
    pub residual_flux: f64,
}

impl Projection {
    /// For grids of this shape; `set_boundary` comes before the first `project`.
    pub fn new(grid: &Grid) -> Self {
        Self {
            solve: PressureSolve::new(grid.dims),
            coefficients: FaceField::new(grid, 0.0),
            dirichlet: CellField::new(grid, 0.0),
            rhs: CellField::new(grid, 0.0),
        }
    }

    /// Rebuild the operator for new openings.
    pub fn set_boundary(&mut self, grid: &Grid, boundary: &Boundary) {
        self.dirichlet.data.fill(0.0);
        for axis in Axis::ALL {
            let a = axis.index();
            let (open, free) = (&boundary.open.axes[a], &boundary.free.axes[a]);
            self.coefficients.axes[a]
                .par_iter_mut()
                .zip(open.par_iter().zip(free))
                .for_each(|(coefficient, (&open, &free))| *coefficient = if free { open } else { 0.0 });

            // Faces on the sides of the domain couple to p = 0, if at all, and not to a cell.
            let [b, c] = axis.others().map(Axis::index);
            for (side, at_face, at_cell) in [(0, 0, 0), (1, grid.dims[a], grid.dims[a] - 1)] {
                for q in 0..grid.dims[c] {
                    for p in 0..grid.dims[b] {
                        let mut at = [0; 3];
                        (at[a], at[b], at[c]) = (at_face, p, q);
                        let coefficient = &mut self.coefficients[(axis, at)];
                        at[a] = at_cell;
                        if matches!(boundary.walls[a][side], Wall::Open) {
                            self.dirichlet[at] += *coefficient;
                        }
                        *coefficient = 0.0;
                    }
                }
            }
        }
        self.solve.set_operator(&self.coefficients, &self.dirichlet);
    }

    /// Make `velocity` keep the volume of every cell; `p` is the guess and becomes the solution.
    pub fn project(
        &mut self,
        boundary: &Boundary,
        method: PressureMethod,
        params: &SolveParams,
        velocity: &mut FaceField,
        p: &mut CellField,
    ) -> Result<Projected, SolveError> {
        self.outflow(boundary, velocity);
        self.rhs.data.par_iter_mut().for_each(|b| *b = -*b);
        let (info, closed) = self.solve.solve(method, &self.rhs.data, &mut p.data, params)?;
        subtract_gradient(p, &boundary.free, velocity);

        self.outflow(boundary, velocity);
        let unknown = self.solve.diagonal();
        let residual_flux = self.rhs.data.par_iter().zip(unknown).filter(|(_, d)| **d > 0.0).map(|(r, _)| r.abs());
        Ok(Projected { info, closed, residual_flux: residual_flux.reduce(|| 0.0, f64::max) })
    }

    /// Net volume leaving each cell, in units of dx², into `rhs`.
    fn outflow(&mut self, boundary: &Boundary, velocity: &FaceField) {
        divergence(velocity, &boundary.open, &mut self.rhs);
        self.rhs.data.par_iter_mut().zip(&boundary.flux.data).for_each(|(out, pushed)| *out -= pushed);
    }
}
