//! Projection: the pressure that makes the velocity keep the fluid's volume.
//!
//! u ← u* − G p with D u = (volume pushed in), where D and G are the adjoint pair of `grid::operators` and p stands for
//! Δt·pressure/(ρ·dx), a velocity. That is L p = −(D u* − pushed) with L = −D G: coefficients A_f (the open fractions)
//! on the faces that the pressure drives, Dirichlet p = 0 beyond open sides \[ZB17, eq. 7–10; A18, eq. 13\].
//!
//! A liquid ends at its surface, where p = 0: between a cell centre inside and one outside the surface lies at the
//! fraction θ = φ_in/(φ_in − φ_out) of the way, and the gradient there is −p_in/θ, which is exact for a linear pressure
//! (the ghost-fluid method of Gibou et al. 2002, second order; row A13).
//!
//! In a pocket of air that keeps its volume, p = λ, an unknown, and the gradient is (λ − p_in)/θ; what flows out of its cells
//! together must be what solids push into them \[A18, eq. 18–20\].

use super::boundary::Boundary;
use super::water::Bubble;
use crate::grid::operators::{divergence, subtract_gradient};
use crate::grid::parallel::for_each_row;
use crate::grid::sample::max;
use crate::grid::{Axis, CellField, FaceField, Grid, strides};
use crate::solve::{
    Bodies, ClosedRegion, Pocket, PressureSolve, PressureSolver, Regions, SolidTerms, SolveError, SolveInfo,
    SolveParams,
};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The projection and its arrays, kept from step to step.
pub struct Projection {
    solver: PressureSolver,
    solve: PressureSolve,
    coefficients: FaceField,
    dirichlet: CellField,
    rhs: CellField,
    /// What bodies that answer pressure add to the operator.
    bodies: SolidTerms,
    /// Pockets of air that keep their volume and touch liquid: their cells, the first of which has the unknown.
    pockets: Vec<Vec<u32>>,
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
}

/// A surface nearer to a cell centre than this fraction of a cell counts as this far. It only keeps 1/θ finite: the
/// residual of the cell contains p/θ, so that the velocity of the face is as exact as all others.
/// A choice: larger would move the surface, smaller only makes the largest coefficient larger.
const LEAST_THETA: f64 = 1e-6;

/// When displacements are good enough: they are corrected again in the next step.
/// Choices: what is more exact costs iterations for what particles change anyway, what is less leaves more to the next step; the iterations are a guard.
const SPREAD: SolveParams = SolveParams { tolerance: 0.02, max_iterations: 20, budget_seconds: None };

/// Fraction of the way from the cell centre inside to the one outside at which the surface lies.
#[inline(always)]
pub fn theta(inside: f64, outside: f64) -> f64 {
    max(inside / (inside - outside), LEAST_THETA)
}

/// The faces on one side of a row of cells.
struct Faces<'a> {
    open: &'a [f64],
    driven: &'a [bool],
}

impl<'a> Faces<'a> {
    fn part(&self, range: std::ops::Range<usize>) -> Faces<'a> {
        Faces { open: &self.open[range.clone()], driven: &self.driven[range] }
    }

    /// Tie cells to p = 0 where a surface lies between them and the `other` ones.
    fn tie(&self, row: &mut [f64], own: &[f64], other: &[f64]) {
        let faces = self.open.iter().zip(self.driven);
        for ((tie, (open, driven)), (&own, &other)) in row.iter_mut().zip(faces).zip(own.iter().zip(other)) {
            let is_surface = (own < 0.0) & (other >= 0.0) & *driven;
            *tie += if is_surface { open / theta(own, other) } else { 0.0 };
        }
    }

    /// Tie cells to p = 0 beyond the driven faces of a side of the domain.
    fn tie_to_side(&self, row: &mut [f64], own: Option<&[f64]>) {
        for (i, tie) in row.iter_mut().enumerate() {
            let is_fluid = own.is_none_or(|d| d[i] < 0.0);
            *tie += if is_fluid && self.driven[i] { self.open[i] } else { 0.0 };
        }
    }
}

impl Projection {
    /// For a fluid that is everywhere within this boundary.
    pub fn new(grid: &Grid, boundary: &Boundary, solver: PressureSolver) -> Self {
        let mut projection = Self {
            solver,
            solve: PressureSolve::new(),
            coefficients: FaceField::new(grid, 0.0),
            dirichlet: CellField::new(grid, 0.0),
            rhs: CellField::new(grid, 0.0),
            bodies: SolidTerms::default(),
            pockets: Vec::new(),
            is_stale: true,
        };
        projection.set_boundary(grid, boundary);
        projection
    }

    /// Take the openings of a new boundary; fluid is everywhere.
    pub fn set_boundary(&mut self, grid: &Grid, boundary: &Boundary) {
        self.set(grid, boundary, None);
    }

    /// Take the openings of a boundary around a liquid, whose `distance` from its surface is negative inside, and its pockets of air that keep
    /// their volume.
    pub fn set_liquid(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField, bubbles: &[Bubble]) {
        self.set(grid, boundary, Some(&distance.data));
        self.set_bubbles(grid, boundary, distance, bubbles);
    }

    /// Take the bodies that answer pressure: C of Σ = L + C Cᵀ (design eq. 1), and their constraints.
    pub fn set_bodies(&mut self, bodies: SolidTerms) {
        self.is_stale |= !(bodies.is_empty() && self.bodies.is_empty());
        self.bodies = bodies;
        self.solve.set_apart(false);
    }

    fn set_bubbles(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField, bubbles: &[Bubble]) {
        self.is_stale = true;
        let mut in_pocket = vec![false; if bubbles.is_empty() { 0 } else { grid.cells() }];
        for &cell in bubbles.iter().flat_map(|bubble| &bubble.cells) {
            in_pocket[cell as usize] = true;
        }
        let d = &distance.data;
        let mut pockets = Vec::new();
        for bubble in bubbles {
            let mut ties = BTreeMap::<u32, f64>::new();
            for &cell in &bubble.cells {
                for (other, open) in inner_faces(grid, boundary, cell as usize).filter(|(other, _)| d[*other] < 0.0) {
                    *ties.entry(other as u32).or_default() += open / theta(d[other], d[cell as usize]);
                }
            }
            // The tied cells were taken for cells at a free surface: leave only what else ties them.
            for &cell in ties.keys() {
                self.dirichlet.data[cell as usize] = other_ties(grid, boundary, d, &in_pocket, cell as usize);
            }
            if !ties.is_empty() {
                let (cells, weights) = ties.into_iter().unzip();
                pockets.push(Pocket { node: bubble.cells[0] as usize, cells, weights });
                self.pockets.push(bubble.cells.clone());
            }
        }
        self.solve.set_pockets(pockets);
    }

    fn set(&mut self, grid: &Grid, boundary: &Boundary, distance: Option<&[f64]>) {
        self.is_stale = true;
        self.pockets.clear();
        self.solve.set_pockets(Vec::new());
        let dims = grid.dims;
        let [nx, ny, _] = dims;
        let cells = |j: usize, k: usize| nx * (j + ny * k)..nx * (j + ny * k + 1);
        for axis in Axis::ALL {
            let a = axis.index();
            let face_dims = grid.face_dims(axis);
            let (open, driven) = (&boundary.open.axes[a], &boundary.driven.axes[a]);
            for_each_row(&mut self.coefficients.axes[a], face_dims, |j, k, row| {
                let faces = face_dims[0] * (j + face_dims[1] * k)..face_dims[0] * (j + face_dims[1] * k + 1);
                for ((coefficient, open), driven) in row.iter_mut().zip(&open[faces.clone()]).zip(&driven[faces]) {
                    *coefficient = if *driven { *open } else { 0.0 };
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
        self.tie(grid, boundary, distance);
    }

    /// Tie cells to the pressure beyond open sides, and beyond the surface of a liquid.
    fn tie(&mut self, grid: &Grid, boundary: &Boundary, distance: Option<&[f64]>) {
        let (dims, nx, ny) = (grid.dims, grid.dims[0], grid.dims[1]);
        let cells = |j: usize, k: usize| nx * (j + ny * k)..nx * (j + ny * k + 1);
        for_each_row(&mut self.dirichlet.data, dims, |j, k, row| {
            row.fill(0.0);
            for axis in Axis::ALL {
                let a = axis.index();
                let [fx, fy, _] = grid.face_dims(axis);
                let (open, driven) = (&boundary.open.axes[a], &boundary.driven.axes[a]);
                for is_upper in [false, true] {
                    let mut at = [0, j, k];
                    at[a] += is_upper as usize;
                    let first = at[0] + fx * (at[1] + fy * at[2]);
                    let faces = Faces { open: &open[first..first + nx], driven: &driven[first..first + nx] };
                    let own = distance.map(|d| &d[cells(j, k)]);
                    match axis {
                        // Along x the row itself has all neighbours but one.
                        Axis::X => {
                            let (end, inner, others) =
                                if is_upper { (nx - 1, 0..nx - 1, 1..nx) } else { (0, 1..nx, 0..nx - 1) };
                            faces.part(end..end + 1).tie_to_side(&mut row[end..end + 1], own.map(|d| &d[end..end + 1]));
                            if let Some(d) = own {
                                faces.part(inner.clone()).tie(&mut row[inner.clone()], &d[inner], &d[others]);
                            }
                        }
                        _ if is_upper && at[a] == dims[a] || !is_upper && at[a] == 0 => faces.tie_to_side(row, own),
                        _ => {
                            let mut other = [0, j, k];
                            other[a] = if is_upper { other[a] + 1 } else { other[a] - 1 };
                            if let Some(d) = distance {
                                faces.tie(row, &d[cells(j, k)], &d[cells(other[1], other[2])]);
                            }
                        }
                    }
                }
            }
        });
    }

    /// L: how cells conduct to each other through faces, and how they are tied to zero pressure.
    pub fn coefficients(&self) -> (&FaceField, &CellField) {
        (&self.coefficients, &self.dirichlet)
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
        for cells in &self.pockets {
            let sum: f64 = cells.iter().map(|&cell| p.data[cell as usize]).sum();
            p.data[cells[0] as usize] = sum / cells.len() as f64;
        }
        let guess = (!self.bodies.yielding.is_empty()).then(|| p.clone());
        let mut solved = self.solve.iterate(self.solver, Bodies::Answering, &self.rhs.data, &mut p.data, params);
        if let (Err(SolveError::NotPositiveDefinite { .. }), Some(guess)) = (&solved, &guess) {
            // What a constant pressure does to stiff bodies in a closed region was lost to round-off.
            self.solve.set_apart(true);
            self.is_stale = true;
            self.refresh()?;
            p.clone_from(guess);
            solved = self.solve.iterate(self.solver, Bodies::Answering, &self.rhs.data, &mut p.data, params);
        }
        let info = solved?;
        self.fill_pockets(p);
        subtract_pressure(boundary, liquid, p, velocity);
        Ok(Projected { info, closed: self.solve.closed_regions().to_vec() })
    }

    /// The regions of the last solve; of a pocket of air, its first cell.
    pub fn regions(&self) -> &Regions {
        self.solve.regions()
    }

    /// Cells of the pockets of air that were unknowns of the last solve.
    pub fn pockets(&self) -> &[Vec<u32>] {
        &self.pockets
    }

    /// Largest |D u − pushed| in a cell of the system, m/s; `pushed` as in [`project`](Self::project).
    pub fn residual_flux(&mut self, boundary: &Boundary, pushed: &[(usize, f64)], velocity: &FaceField) -> f64 {
        self.excess(boundary, pushed, velocity);
        self.solve.mask(&mut self.rhs.data);
        self.pockets.iter().for_each(|cells| self.rhs.data[cells[0] as usize] = 0.0);
        self.rhs.data.par_iter().map(|r| r.abs()).reduce(|| 0.0, f64::max)
    }

    /// What flows out of the pockets of air or is pushed into them and should not be, in units of dx², m/s.
    pub fn pocket_flux(&mut self, boundary: &Boundary, pushed: &[(usize, f64)], velocity: &FaceField) -> Vec<f64> {
        if self.pockets.is_empty() {
            return Vec::new();
        }
        self.excess(boundary, pushed, velocity);
        self.pockets.iter().map(|cells| self.rhs.data[cells[0] as usize]).collect()
    }

    /// The displacement, in cells, that carries `excess` (in cells) out of every cell of the liquid, and out of every pocket that of
    /// its first cell; roughly. `q` is the guess, `drift` must be zero.
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
        let mut solved = self.solve.iterate(self.solver, Bodies::LeftOut, &self.rhs.data, &mut q.data, &SPREAD);
        if let Err(SolveError::NotPositiveDefinite { .. }) = solved
            && !self.bodies.yielding.is_empty()
        {
            // A preconditioner for bodies that give way to constant pressures may see nothing else where they do not: once more without them.
            self.solve.build(self.solver, &self.coefficients, &self.dirichlet, SolidTerms::default())?;
            self.is_stale = true;
            q.data.fill(0.0);
            solved = self.solve.iterate(self.solver, Bodies::LeftOut, &self.rhs.data, &mut q.data, &SPREAD);
        }
        solved?;
        self.fill_pockets(q);
        subtract_pressure(boundary, Some(liquid), q, drift);
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), SolveError> {
        if self.is_stale {
            let mut bodies = self.bodies.clone();
            if !self.pockets.is_empty() {
                let nodes: BTreeMap<u32, u32> =
                    self.pockets.iter().flat_map(|cells| cells.iter().map(|&cell| (cell, cells[0]))).collect();
                let onto = |cell: usize| nodes.get(&(cell as u32)).map(|&node| node as usize);
                [&mut bodies.cut, &mut bodies.faces].into_iter().for_each(|part| part.fold(onto));
                bodies.yielding.iter_mut().for_each(|body| body.fold(onto));
            }
            self.solve.build(self.solver, &self.coefficients, &self.dirichlet, bodies)?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// Give all cells of a pocket the pressure that was found for it.
    fn fill_pockets(&self, p: &mut CellField) {
        for cells in &self.pockets {
            let value = p.data[cells[0] as usize];
            cells.iter().for_each(|&cell| p.data[cell as usize] = value);
        }
    }

    /// Volume pushed into each cell less what flows out of it, in units of dx², into `rhs`; the first cell of a pocket has that of
    /// the whole pocket.
    fn excess(&mut self, boundary: &Boundary, pushed: &[(usize, f64)], velocity: &FaceField) {
        divergence(velocity, &boundary.open, &mut self.rhs);
        self.rhs.data.par_iter_mut().zip(&boundary.flux.data).for_each(|(b, pushed)| *b = pushed - *b);
        for &(c, volume) in pushed {
            self.rhs.data[c] += volume;
        }
        for cells in &self.pockets {
            self.rhs.data[cells[0] as usize] = cells.iter().map(|&cell| self.rhs.data[cell as usize]).sum();
        }
    }
}

/// The cells beyond the faces of a cell that pressure drives, and how open the faces are; sides of the domain left out.
fn inner_faces<'a>(grid: &'a Grid, boundary: &'a Boundary, cell: usize) -> impl Iterator<Item = (usize, f64)> + 'a {
    let at = grid.cell_at(cell);
    Axis::ALL.into_iter().flat_map(move |axis| {
        let (a, stride) = (axis.index(), strides(grid.dims)[axis.index()]);
        let mut upper = at;
        upper[a] += 1;
        let lower = (at[a] > 0).then(|| (cell - stride, at));
        let upper = (upper[a] < grid.dims[a]).then(|| (cell + stride, upper));
        let beyond = [lower, upper].into_iter().flatten().filter(move |(_, face)| boundary.driven[(axis, *face)]);
        beyond.map(move |(other, face)| (other, boundary.open[(axis, face)]))
    })
}

/// What ties a liquid cell to p = 0: open sides and air in no pocket.
fn other_ties(grid: &Grid, boundary: &Boundary, d: &[f64], in_pocket: &[bool], cell: usize) -> f64 {
    let beside = inner_faces(grid, boundary, cell).filter(|(other, _)| d[*other] >= 0.0 && !in_pocket[*other]);
    let surface: f64 = beside.map(|(other, open)| open / theta(d[cell], d[other])).sum();
    let at = grid.cell_at(cell);
    let side = |axis: Axis, is_upper: bool| {
        let (a, mut face) = (axis.index(), at);
        face[a] += usize::from(is_upper);
        let is_side = face[a] == 0 || face[a] == grid.dims[a];
        if is_side && boundary.driven[(axis, face)] { boundary.open[(axis, face)] } else { 0.0 }
    };
    surface + Axis::ALL.into_iter().map(|axis| side(axis, false) + side(axis, true)).sum::<f64>()
}

/// u ← u − G p; where the surface of a liquid crosses a face, with its distance. p is zero outside the fluid, but for pockets.
pub fn subtract_pressure(boundary: &Boundary, liquid: Option<&CellField>, p: &CellField, velocity: &mut FaceField) {
    subtract_gradient(p, &boundary.driven, velocity);
    let Some(distance) = liquid else { return };
    let (dims, d) = (distance.dims, &distance.data);
    for axis in Axis::ALL {
        let (a, stride) = (axis.index(), strides(dims)[axis.index()]);
        let driven = &boundary.driven.axes[a];
        let face_dims = velocity.face_dims(axis);
        for_each_row(&mut velocity.axes[a], face_dims, |j, k, row| {
            let (face, cell) = (face_dims[0] * (j + face_dims[1] * k), dims[0] * (j + dims[1] * k));
            for (i, u) in row.iter_mut().enumerate() {
                let (c, at) = (cell + i, [i, j, k][a]);
                if at == 0 || at == dims[a] || !driven[face + i] {
                    continue;
                }
                let (above, below) = (d[c], d[c - stride]);
                // The gradient over the whole distance is taken already; the surface is nearer.
                if (below < 0.0) & (above >= 0.0) {
                    *u += (1.0 / theta(below, above) - 1.0) * (p.data[c - stride] - p.data[c]);
                } else if (above < 0.0) & (below >= 0.0) {
                    *u -= (1.0 / theta(above, below) - 1.0) * (p.data[c] - p.data[c - stride]);
                }
            }
        });
    }
}
