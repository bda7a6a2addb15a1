//! Projection: the pressure that makes the velocity keep the fluid's volume.
//!
//! u ← u* − G p with D u = (volume pushed in by solids), where D and G are the adjoint pair of
//! `grid::operators` and p stands for Δt·pressure/(ρ·dx), a velocity. That is L p = −(D u* − flux) with
//! L = −D G: coefficients A_f (the open fractions) on the faces that the pressure drives, Dirichlet p = 0
//! beyond open sides [ZB17, eq. 9–12; A18, eq. 4].

use super::boundary::Boundary;
use crate::grid::{
    Axis, CellField, FaceField, Grid,
    operators::{divergence, subtract_gradient},
};
use crate::solve::{ClosedRegion, PressureSolve, PressureSolver, SolveError, SolveInfo, SolveParams};
use rayon::prelude::*;

/// The projection and its arrays, kept from step to step.
pub struct Projection {
    solver: PressureSolver,
    solve: PressureSolve,
    coefficients: FaceField,
    dirichlet: CellField,
    rhs: CellField,
    /// Whether the operator has changed since the last solve.
    is_stale: bool,
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
    /// For this grid; `set_boundary` comes before the first `project`.
    pub fn new(grid: &Grid, solver: PressureSolver) -> Self {
        Self {
            solver,
            solve: PressureSolve::new(),
            coefficients: FaceField::new(grid, 0.0),
            dirichlet: CellField::new(grid, 0.0),
            rhs: CellField::new(grid, 0.0),
            is_stale: true,
        }
    }

    /// Take the openings of a new boundary.
    pub fn set_boundary(&mut self, grid: &Grid, boundary: &Boundary) {
        self.is_stale = true;
        self.dirichlet.data.fill(0.0);
        for axis in Axis::ALL {
            let a = axis.index();
            let (open, free) = (&boundary.open.axes[a], &boundary.free.axes[a]);
            self.coefficients.axes[a]
                .par_iter_mut()
                .zip(open.par_iter().zip(free))
                .for_each(|(coefficient, (&open, &free))| *coefficient = if free { open } else { 0.0 });

            // A free face on a side of the domain has p = 0 beyond it.
            let [b, c] = axis.others().map(Axis::index);
            for (at_face, at_cell) in [(0, 0), (grid.dims[a], grid.dims[a] - 1)] {
                for q in 0..grid.dims[c] {
                    for p in 0..grid.dims[b] {
                        let mut at = [at_face; 3];
                        (at[b], at[c]) = (p, q);
                        let coefficient = self.coefficients[(axis, at)];
                        at[a] = at_cell;
                        self.dirichlet[at] += coefficient;
                    }
                }
            }
        }
    }

    /// Make `velocity` keep the volume of every cell; `p` is the guess and becomes the solution.
    pub fn project(
        &mut self,
        boundary: &Boundary,
        params: &SolveParams,
        velocity: &mut FaceField,
        p: &mut CellField,
    ) -> Result<Projected, SolveError> {
        if self.is_stale {
            self.solve.build(self.solver, &self.coefficients, &self.dirichlet)?;
            self.is_stale = false;
        }
        self.excess(boundary, velocity);
        let info = self.solve.iterate(self.solver, &self.rhs.data, &mut p.data, params)?;
        subtract_gradient(p, &boundary.free, velocity);

        self.excess(boundary, velocity);
        self.solve.mask(&mut self.rhs.data);
        let residual_flux = self.rhs.data.par_iter().map(|r| r.abs()).reduce(|| 0.0, f64::max);
        Ok(Projected { info, closed: self.solve.closed_regions().to_vec(), residual_flux })
    }

    /// Volume pushed into each cell less what flows out of it, in units of dx², into `rhs`.
    fn excess(&mut self, boundary: &Boundary, velocity: &FaceField) {
        divergence(velocity, &boundary.open, &mut self.rhs);
        self.rhs.data.par_iter_mut().zip(&boundary.flux.data).for_each(|(b, pushed)| *b = pushed - *b);
    }
}
