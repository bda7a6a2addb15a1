//! Projection: the pressure that makes the velocity keep the fluid's volume.
//!
//! u ← u* − G p with D u = (volume pushed in), where D and G are the adjoint pair of `grid::operators` and p stands for
//! Δt·pressure/(ρ·dx), a velocity. That is L p = −(D u* − pushed) with L = −D G: coefficients A_f (the open fractions)
//! on the faces that the pressure drives, Dirichlet p = 0 beyond open sides [ZB17, eq. 9–12; A18, eq. 4].
//!
//! A liquid ends at its surface, where p = 0: between a cell centre inside and one outside the surface lies at the
//! fraction θ = φ_in/(φ_in − φ_out) of the way, and the gradient there is −p_in/θ, which is exact for a linear pressure
//! (the ghost-fluid method of Gibou et al. 2002, second order; row A13).
//!
//! The surface moves on while the pressure acts. Where it moves by Δt·u away from what lies below, water gains the head
//! of that, and p at the old place of the surface is not 0 but
//!
//! ```text
//! p_s = α (u_f − w),   α ~ Δt/dx·(how p grows inwards, per cell),   hence   u_f = w + θ/(θ + α)·(u* − w) + p_in/(θ + α).
//! ```
//!
//! w is the velocity of the cell below as the pressure before would leave it. Water at rest is as it was, and so is what
//! moves as a whole or falls freely (p = 0); waves are damped, the more the less the cell below takes part in them:
//! little those which the grid and the steps resolve, much those that tremble from cell to cell. Where the surface lies
//! is told by particles, whose noise would drive these on and on.

use super::boundary::Boundary;
use crate::grid::operators::{divergence, subtract_gradient};
use crate::grid::parallel::for_each_row;
use crate::grid::sample::max;
use crate::grid::{Axis, CellField, FaceField, Grid, strides, unravel};
use crate::solve::{ClosedRegion, PressureSolve, PressureSolver, SolveError, SolveInfo, SolveParams};
use rayon::prelude::*;

/// The projection and its arrays, kept from step to step.
pub struct Projection {
    solver: PressureSolver,
    solve: PressureSolve,
    coefficients: FaceField,
    dirichlet: CellField,
    rhs: CellField,
    surface: Vec<SurfaceFace>,
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
const SPREAD: SolveParams = SolveParams { tolerance: 0.02, max_iterations: 20, budget_seconds: None };

/// α for water at rest, in units of gΔt²/dx. Entirely implicit would be 1 with w = 0.
const DAMPING: f64 = 2.0;

/// Largest α: w is not implicit, and with more the surface would swing.
const MOST_DAMPING: f64 = 2.0;

/// Faces that a task visits.
const MIN_FACES: usize = 256;

/// Rows of faces that a task visits.
const MIN_ROWS: usize = 64;

/// A face between a cell of the liquid and one outside it.
struct SurfaceFace {
    axis: Axis,
    face: usize,
    /// The cell of the liquid.
    inside: usize,
    /// Whether that is the lower one.
    is_lower: bool,
    /// Distance of the surface from the cell centre inside, in cells.
    theta: f64,
    /// θ + α.
    reach: f64,
    /// The next cell inwards; the one inside if that is none of the liquid.
    below: usize,
}

/// What a liquid's surface weighs, as the last step found it.
pub struct Head<'a> {
    /// The pressure before, as a guess of the projection's p, m/s.
    pub pressure: &'a CellField,
    /// Velocity that gravity adds in the step, m/s: nothing weighs more than at rest.
    pub gain: f64,
    /// Length of the step, s.
    pub dt: f64,
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
            surface: Vec::new(),
            is_stale: true,
        }
    }

    /// Take the openings of a new boundary; fluid is everywhere.
    pub fn set_boundary(&mut self, grid: &Grid, boundary: &Boundary) {
        self.surface.clear();
        self.set(grid, boundary, None);
    }

    /// Take the openings of a boundary around a liquid; `distance` from its surface is negative inside.
    pub fn set_liquid(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField, head: &Head) {
        self.set(grid, boundary, Some(&distance.data));
        self.surface.clear();
        for axis in Axis::ALL {
            self.surface.par_extend(surface_faces(grid, boundary, distance, head, axis));
        }
        for f in &self.surface {
            self.dirichlet.data[f.inside] += boundary.open.axes[f.axis.index()][f.face] / f.reach;
        }
    }

    fn set(&mut self, grid: &Grid, boundary: &Boundary, distance: Option<&[f64]>) {
        self.is_stale = true;
        let dims = grid.dims;
        let [nx, ny, _] = dims;
        let cells = |j: usize, k: usize| nx * (j + ny * k)..nx * (j + ny * k + 1);
        for axis in Axis::ALL {
            let a = axis.index();
            let face_dims = grid.face_dims(axis);
            let (open, free) = (&boundary.open.axes[a], &boundary.free.axes[a]);
            for_each_row(&mut self.coefficients.axes[a], face_dims, |j, k, row| {
                let faces = face_dims[0] * (j + face_dims[1] * k)..face_dims[0] * (j + face_dims[1] * k + 1);
                for ((coefficient, open), free) in row.iter_mut().zip(&open[faces.clone()]).zip(&free[faces]) {
                    *coefficient = if *free { *open } else { 0.0 };
                }
                let Some(d) = distance else { return };
                let between = |row: &mut [f64], lower: &[f64], upper: &[f64]| {
                    for ((coefficient, lower), upper) in row.iter_mut().zip(lower).zip(upper) {
                        *coefficient = if (*lower < 0.0) & (*upper < 0.0) { *coefficient } else { 0.0 };
                    }
                };
                // Faces on the sides of the domain are not read.
                match axis {
                    Axis::X => {
                        let own = &d[cells(j, k)];
                        between(&mut row[1..nx], own, &own[1..]);
                    }
                    Axis::Y if (1..dims[1]).contains(&j) => between(row, &d[cells(j - 1, k)], &d[cells(j, k)]),
                    Axis::Z if (1..dims[2]).contains(&k) => between(row, &d[cells(j, k - 1)], &d[cells(j, k)]),
                    _ => {}
                }
            });
        }
        self.dirichlet.data.fill(0.0);
        // Beyond the free faces of the domain's sides p = 0.
        for axis in Axis::ALL {
            let (a, [b, c]) = (axis.index(), axis.others().map(Axis::index));
            for (face_layer, cell_layer) in [(0, 0), (dims[a], dims[a] - 1)] {
                for (m, n) in (0..dims[b]).flat_map(|m| (0..dims[c]).map(move |n| (m, n))) {
                    let mut at = [0; 3];
                    (at[a], at[b], at[c]) = (face_layer, m, n);
                    let face = grid.face(axis, at);
                    at[a] = cell_layer;
                    let cell = grid.cell(at);
                    if boundary.free.axes[a][face] && distance.is_none_or(|d| d[cell] < 0.0) {
                        self.dirichlet.data[cell] += boundary.open.axes[a][face];
                    }
                }
            }
        }
    }

    /// Make `velocity` keep the volume of every cell; `p` is the guess and becomes the solution. `pushed` lists cells
    /// into which volume is pushed, in units of dx², m/s.
    pub fn project(
        &mut self,
        boundary: &Boundary,
        pushed: &[(usize, f64)],
        params: &SolveParams,
        velocity: &mut FaceField,
        p: &mut CellField,
    ) -> Result<Projected, SolveError> {
        self.refresh()?;
        let slower: Vec<f64> =
            self.surface.par_iter().with_min_len(MIN_FACES).map(|f| self.slowed(f, velocity, p)).collect();
        for (f, u) in self.surface.iter().zip(slower) {
            velocity.axes[f.axis.index()][f.face] = u;
        }
        self.excess(boundary, pushed, velocity);
        let info = self.solve.iterate(self.solver, &self.rhs.data, &mut p.data, params)?;
        subtract_pressure(boundary, &self.surface, p, velocity);

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
        excess: &CellField,
        q: &mut CellField,
        drift: &mut FaceField,
    ) -> Result<(), SolveError> {
        self.refresh()?;
        self.rhs.data.copy_from_slice(&excess.data);
        self.solve.mask(&mut self.rhs.data);
        self.solve.iterate(self.solver, &self.rhs.data, &mut q.data, &SPREAD)?;
        subtract_pressure(boundary, &self.surface, q, drift);
        Ok(())
    }

    /// The predicted velocity of a face of the surface, less what the head of its motion takes away.
    fn slowed(&self, f: &SurfaceFace, velocity: &FaceField, p: &CellField) -> f64 {
        let (a, dims) = (f.axis.index(), p.dims);
        let (u, stride) = (&velocity.axes[a], strides(dims)[a]);
        let (mut sum, mut count) = (0.0, 0.0);
        for upper in [f.below, f.below + stride] {
            let mut face = unravel(dims, f.below);
            face[a] += usize::from(upper != f.below);
            let index = velocity.face(f.axis, face);
            // Between two cells of the liquid.
            if (1..dims[a]).contains(&face[a]) && self.coefficients.axes[a][index] > 0.0 {
                sum += u[index] - (p.data[upper] - p.data[upper - stride]);
                count += 1.0;
            }
        }
        let w = sum / f64::max(count, 1.0);
        w + f.theta / f.reach * (u[f.face] - w)
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
fn subtract_pressure(boundary: &Boundary, surface: &[SurfaceFace], p: &CellField, velocity: &mut FaceField) {
    subtract_gradient(p, &boundary.free, velocity);
    // The gradient over the whole distance is taken already; the surface is elsewhere.
    for f in surface {
        let rest = (1.0 / f.reach - 1.0) * p.data[f.inside];
        velocity.axes[f.axis.index()][f.face] += if f.is_lower { rest } else { -rest };
    }
}

/// The faces across `axis` between the liquid and what is not, in order.
fn surface_faces(
    grid: &Grid,
    boundary: &Boundary,
    distance: &CellField,
    head: &Head,
    axis: Axis,
) -> impl ParallelIterator<Item = SurfaceFace> {
    let (a, dims, d, p) = (axis.index(), grid.dims, &distance.data, &head.pressure.data);
    let ([nx, ny, _], stride, face_stride, free) =
        (grid.face_dims(axis), strides(dims)[a], strides(grid.face_dims(axis))[a], &boundary.free.axes[a]);
    let rows = grid.face_dims(axis)[1] * grid.face_dims(axis)[2];
    (0..rows).into_par_iter().with_min_len(MIN_ROWS).flat_map_iter(move |row| {
        let (j, k) = (row % ny, row / ny);
        (0..nx).filter_map(move |i| {
            let at = [i, j, k][a];
            let (face, upper) = (i + nx * row, i + dims[0] * (j + dims[1] * k));
            if at == 0 || at == dims[a] || (d[upper] < 0.0) == (d[upper - stride] < 0.0) || !free[face] {
                return None;
            }
            let is_lower = d[upper] >= 0.0;
            let (inside, outside) = if is_lower { (upper - stride, upper) } else { (upper, upper - stride) };
            let next = match is_lower {
                true => (at > 1).then(|| (inside - stride, face - face_stride)),
                false => (at + 1 < dims[a]).then(|| (inside + stride, face + face_stride)),
            };
            let deeper = next.filter(|&(cell, between)| free[between] && d[cell] < 0.0).map(|(cell, _)| cell);
            // Up to the surface p grows at least as much as it is inside.
            let growth = deeper.map_or(p[inside], |cell| p[cell] - p[inside]).clamp(0.0, head.gain);
            let theta = max(d[inside] / (d[inside] - d[outside]), LEAST_THETA);
            let alpha = (DAMPING * growth * head.dt / grid.dx).min(MOST_DAMPING);
            let below = deeper.unwrap_or(inside);
            Some(SurfaceFace { axis, face, inside, is_lower, theta, reach: theta + alpha, below })
        })
    })
}
