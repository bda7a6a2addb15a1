//! Volume: where particles are crowded or sparse, they are moved apart or together.
//!
//! After the projection the velocity keeps volume, but the particles that follow it do so only to the accuracy of the
//! step, and errors add up. Following Kugelstadt, Longva, Thürey and Bender (2019), the displacement d that restores
//! the density is found like a velocity, with the very operator of the projection:
//!
//! ```text
//! L q = (ρ − 1) V,   d = −G q,   x_p ← x_p + d(x_p) in the next step,
//! ```
//!
//! V the open volume of the cell. No velocity changes, so nothing is stirred up: in still water d dies away as the
//! particles settle into an even spacing. Near the surface a low density is no error, and only crowding counts. A bubble that
//! has less room than its air takes counts as crowded as well.

use super::Bubble;
use super::surface::Surface;
use crate::fluid::Step;
use crate::fluid::boundary::Boundary;
use crate::fluid::projection::Projection;
use crate::grid::parallel::{for_each_row, sum_rows};
use crate::grid::{Axis, CellField, Extension, FaceField, Grid, strides};
use crate::solve::SolveError;
use rayon::prelude::*;

/// Finds the displacement; keeps its arrays from step to step.
pub struct Crowding {
    excess: CellField,
    potential: CellField,
    /// Whether a cell, later its neighbourhood, has air.
    air: Vec<bool>,
    scratch: Vec<bool>,
}

/// Largest excess and largest lack of one cell that is acted on.
/// A choice: what is beyond is left to the steps that follow.
const MOST: [f64; 2] = [2.0, 0.5];

/// Crowding of cells at the surface that is no error: their density is noisier.
/// A choice: docs/methods/water.md, *Volume*.
const SLACK: f64 = 0.02;

impl Crowding {
    /// Arrays for this grid.
    pub fn new(grid: &Grid) -> Self {
        Self {
            excess: CellField::new(grid, 0.0),
            potential: CellField::new(grid, 0.0),
            air: vec![false; grid.cells()],
            scratch: Vec::new(),
        }
    }

    /// Find the volume that each cell has too much, in cells.
    pub fn find(&mut self, boundary: &Boundary, surface: &Surface, distance: &CellField) {
        let dims = distance.dims;
        let is_air = |(d, volume): (&f64, &f64)| *d >= 0.0 && *volume > 0.0;
        distance.data.par_iter().zip(&boundary.volume.data).map(is_air).collect_into_vec(&mut self.air);
        for a in (0..3).filter(|&a| dims[a] > 1) {
            self.scratch.clone_from(&self.air);
            let (old, stride) = (&self.scratch, strides(dims)[a]);
            for_each_row(&mut self.air, dims, |j, k, row| {
                let start = dims[0] * (j + dims[1] * k);
                for (i, air) in row.iter_mut().enumerate() {
                    let (c, at) = (start + i, [i, j, k][a]);
                    *air |= at > 0 && old[c - stride] || at + 1 < dims[a] && old[c + stride];
                }
            });
        }
        let (air, density, volume) = (&self.air, &surface.density.data, &boundary.volume.data);
        self.excess.data.par_iter_mut().enumerate().for_each(|(c, excess)| {
            let crowded = density[c] - 1.0;
            let error = if air[c] { (crowded - SLACK).max(0.0) } else { crowded };
            *excess = error.clamp(-MOST[1], MOST[0]) * volume[c];
        });
    }

    /// Volume that all cells with no air beside them have too much together, in cells: what the liquid fills less than its particles stand for.
    pub fn net(&self, boundary: &Boundary, surface: &Surface) -> f64 {
        let [nx, ny, _] = self.excess.dims;
        sum_rows(self.excess.dims, |j, k| {
            let row = nx * (j + ny * k)..nx * (j + ny * k + 1);
            let shares = surface.filled.data[row.clone()].iter().zip(&boundary.volume.data[row.clone()]);
            let cells = shares.zip(&self.air[row]).filter(|(_, air)| !**air);
            cells.map(|((filled, open), _)| filled - open).sum::<f64>()
        })
    }

    /// The displacement that takes the excess away, m, continued beyond the liquid.
    pub fn spread(
        &mut self,
        step: &Step,
        projection: &mut Projection,
        distance: &CellField,
        bubbles: &[Bubble],
        plans: &[Extension],
        drift: &mut FaceField,
    ) -> Result<(), SolveError> {
        let (grid, boundary) = (step.grid, step.boundary);
        // A bubble's first cell speaks for all of it.
        for bubble in bubbles {
            bubble.cells.iter().for_each(|&cell| self.excess.data[cell as usize] = 0.0);
            self.excess.data[bubble.cells[0] as usize] = bubble.lack(grid);
        }
        self.potential.data.fill(0.0);
        drift.axes.iter_mut().for_each(|d| d.fill(0.0));
        projection.spread(boundary, distance, &self.excess, &mut self.potential, drift)?;
        for axis in Axis::ALL {
            drift.axes[axis.index()].par_iter_mut().for_each(|d| *d *= grid.dx);
        }
        plans.par_iter().zip(&mut drift.axes).for_each(|(plan, d)| plan.apply(d));
        Ok(())
    }
}
