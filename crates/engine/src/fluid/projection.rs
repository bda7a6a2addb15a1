//! Projection: the pressure that makes the velocity keep the fluid's volume.
//!
//! u ← u* − G p with D u = (volume pushed in), where D and G are the adjoint pair of `grid::operators` and p stands for
//! Δt·pressure/(ρ·dx), a velocity. That is L p = −(D u* − pushed) with L = −D G: coefficients A_f (the open fractions)
//! on the faces that the pressure drives, Dirichlet p = 0 beyond open sides [ZB17, eq. 9–12; A18, eq. 4].
//!
//! A liquid ends at its surface, where p = 0: between a cell centre inside and one outside the surface lies at the
//! fraction θ = φ_in/(φ_in − φ_out) of the way, and the gradient there is −p_in/θ, which is exact for a linear pressure
//! (the ghost-fluid method of Gibou et al. 2002, second order; row A13).

use super::boundary::Boundary;
use crate::grid::operators::{divergence, subtract_gradient};
use crate::grid::parallel::for_each_row;
use crate::grid::{Axis, CellField, FaceField, Grid, strides};
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
    /// Largest |D u − pushed| left in a cell of the system, m/s.
    pub residual_flux: f64,
}

/// A surface nearer to a cell centre than this fraction of a cell counts as this far. It only keeps 1/θ finite: the
/// residual of the cell contains p/θ, so that the velocity of the face is as exact as all others.
const LEAST_THETA: f64 = 1e-6;

/// When displacements are good enough: they are corrected again in the next step.
const SPREAD: SolveParams = SolveParams { tolerance: 0.05, max_iterations: 20, budget_seconds: None };

/// Fraction of the way from the cell centre inside to the one outside at which the surface lies.
#[inline(always)]
fn theta(inside: f64, outside: f64) -> f64 {
    (inside / (inside - outside)).max(LEAST_THETA)
}

impl Projection {
    /// For this grid; `set_boundary` or `set_liquid` comes before the first `project`.
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

    /// Take the openings of a new boundary; fluid is everywhere.
    pub fn set_boundary(&mut self, grid: &Grid, boundary: &Boundary) {
        self.set(grid, boundary, |_, _| (1.0, 0.0), |_| true);
    }

    /// Take the openings of a boundary around a liquid; `distance` from its surface is negative inside.
    pub fn set_liquid(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField) {
        let d = &distance.data;
        let between = |c: usize, other: usize| match (d[c] < 0.0, d[other] < 0.0) {
            (true, true) => (1.0, 0.0),
            (true, false) => (0.0, 1.0 / theta(d[c], d[other])),
            _ => (0.0, 0.0),
        };
        self.set(grid, boundary, between, |c| d[c] < 0.0);
    }

    /// `between(c, other)`: by how much the open part of a face couples c to the other cell, and ties c to zero.
    fn set(
        &mut self,
        grid: &Grid,
        boundary: &Boundary,
        between: impl Fn(usize, usize) -> (f64, f64) + Sync,
        is_fluid: impl Fn(usize) -> bool + Sync,
    ) {
        self.is_stale = true;
        let dims = grid.dims;
        let first = |j: usize, k: usize| dims[0] * (j + dims[1] * k);
        self.dirichlet.data.fill(0.0);
        for axis in Axis::ALL {
            let (a, stride) = (axis.index(), strides(dims)[axis.index()]);
            let face_dims = grid.face_dims(axis);
            let [fx, fy, _] = face_dims;
            let face_step = strides(face_dims)[a];
            let (open, free) = (&boundary.open.axes[a], &boundary.free.axes[a]);
            for_each_row(&mut self.coefficients.axes[a], face_dims, |j, k, row| {
                let (face, cell) = (fx * (j + fy * k), first(j, k));
                for (i, coefficient) in row.iter_mut().enumerate() {
                    let (f, c, at) = (face + i, cell + i, [i, j, k][a]);
                    let inner = at > 0 && at < dims[a];
                    *coefficient = if inner && free[f] { open[f] * between(c, c - stride).0 } else { 0.0 };
                }
            });
            for_each_row(&mut self.dirichlet.data, dims, |j, k, row| {
                let (face, cell) = (fx * (j + fy * k), first(j, k));
                for (i, tie) in row.iter_mut().enumerate() {
                    let (f, c, at) = (face + i, cell + i, [i, j, k][a]);
                    let sides =
                        [(f, (at > 0).then(|| c - stride)), (f + face_step, (at + 1 < dims[a]).then(|| c + stride))];
                    for (f, other) in sides.into_iter().filter(|(f, _)| free[*f]) {
                        *tie += open[f]
                            * match other {
                                Some(other) => between(c, other).1,
                                // A free face on a side of the domain has p = 0 beyond it.
                                None => is_fluid(c) as u8 as f64,
                            };
                    }
                }
            });
        }
    }

    /// Make `velocity` keep the volume of every cell; `p` is the guess and becomes the solution. `pushed` lists cells
    /// into which volume is pushed, in units of dx², m/s; `liquid` is the distance last given to `set_liquid`, if any.
    pub fn project(
        &mut self,
        boundary: &Boundary,
        liquid: Option<&CellField>,
        pushed: &[(usize, f64)],
        params: &SolveParams,
        velocity: &mut FaceField,
        p: &mut CellField,
    ) -> Result<Projected, SolveError> {
        self.refresh()?;
        self.excess(boundary, pushed, velocity);
        let info = self.solve.iterate(self.solver, &self.rhs.data, &mut p.data, params)?;
        subtract_pressure(boundary, liquid, p, velocity);

        self.excess(boundary, pushed, velocity);
        self.solve.mask(&mut self.rhs.data);
        let residual_flux = self.rhs.data.par_iter().map(|r| r.abs()).reduce(|| 0.0, f64::max);
        Ok(Projected { info, closed: self.solve.closed_regions().to_vec(), residual_flux })
    }

    /// The displacement, in cells, that carries `excess` (in cells) out of every cell of the liquid; roughly. `q` is
    /// the guess, `drift` must be zero.
    pub fn spread(
        &mut self,
        boundary: &Boundary,
        liquid: &CellField,
        excess: &CellField,
        q: &mut CellField,
        drift: &mut FaceField,
    ) -> Result<(), SolveError> {
        self.refresh()?;
        self.rhs.data.copy_from_slice(&excess.data);
        self.solve.mask(&mut self.rhs.data);
        self.solve.iterate(self.solver, &self.rhs.data, &mut q.data, &SPREAD)?;
        subtract_pressure(boundary, Some(liquid), q, drift);
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), SolveError> {
        if self.is_stale {
            self.solve.build(self.solver, &self.coefficients, &self.dirichlet)?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// Volume pushed into each cell less what flows out of it, in units of dx², into `rhs`.
    fn excess(&mut self, boundary: &Boundary, pushed: &[(usize, f64)], velocity: &FaceField) {
        divergence(velocity, &boundary.open, &mut self.rhs);
        self.rhs.data.par_iter_mut().zip(&boundary.flux.data).for_each(|(b, pushed)| *b = pushed - *b);
        for &(c, volume) in pushed {
            self.rhs.data[c] += volume;
        }
    }
}

/// u ← u − G p; where the surface of a liquid crosses a face, with its distance. p is zero outside the fluid.
fn subtract_pressure(boundary: &Boundary, liquid: Option<&CellField>, p: &CellField, velocity: &mut FaceField) {
    subtract_gradient(p, &boundary.free, velocity);
    let Some(distance) = liquid else { return };
    let (dims, d) = (distance.dims, &distance.data);
    for axis in Axis::ALL {
        let (a, stride) = (axis.index(), strides(dims)[axis.index()]);
        let free = &boundary.free.axes[a];
        let face_dims = velocity.face_dims(axis);
        for_each_row(&mut velocity.axes[a], face_dims, |j, k, row| {
            let (face, cell) = (face_dims[0] * (j + face_dims[1] * k), dims[0] * (j + dims[1] * k));
            for (i, u) in row.iter_mut().enumerate() {
                let (c, at) = (cell + i, [i, j, k][a]);
                if at == 0 || at == dims[a] || !free[face + i] {
                    continue;
                }
                let (above, below) = (d[c], d[c - stride]);
                // The gradient over the whole distance is taken already; the surface is nearer.
                if (below < 0.0) & (above >= 0.0) {
                    *u += (1.0 / theta(below, above) - 1.0) * p.data[c - stride];
                } else if (above < 0.0) & (below >= 0.0) {
                    *u -= (1.0 / theta(above, below) - 1.0) * p.data[c];
                }
            }
        });
    }
}
