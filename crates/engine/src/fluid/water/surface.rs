//! Where the liquid ends: signed distance from the density of the particles.
//!
//! The density ρ at a cell centre is the share of its neighbourhood, weighted by the trilinear kernel, that particles
//! fill. A plane surface at distance d (in cells, positive outside) leaves
//!
//! ```text
//! ρ(d) = ½(1 − d)²  for 0 ≤ d ≤ 1,   1 − ½(1 + d)²  for −1 ≤ d ≤ 0,
//! ```
//!
//! which [`depth`] inverts. A flat surface is thus where it should be, to the last particle: there is no radius to
//! choose. What fills less than about a cell stays below ρ = ½ and is spray.
//!
//! Solids take room away: the density is relative to the room ω that they leave in the neighbourhood,
//! the same kernel's mean of the cells' open parts.

use crate::fluid::boundary::Boundary;
use crate::grid::parallel::for_each_row;
use crate::grid::{Axis, CellField, Grid, strides};
use rayon::prelude::*;

/// Where the liquid is, as the particles tell.
pub struct Surface {
    /// Share of the room around each cell centre that particles fill; 1 in the liquid.
    pub density: CellField,
    /// Cells in the liquid or next to a cell in it.
    pub near: Vec<bool>,
    room: CellField,
    tight: Vec<Tight>,
    scratch: Vec<f64>,
}

/// A cell with little room that is not closed.
struct Tight {
    cell: usize,
    /// The cells around it, and how open it is to them.
    beside: [(usize, f64); 6],
}

/// Weights of the trilinear kernel's means over the cells along one axis.
const KERNEL: [f64; 3] = [0.125, 0.75, 0.125];

/// Where solids leave less room than this, particles are too few to tell; the neighbours do.
const LEAST_ROOM: f64 = 0.6;

/// How many cells deep neighbours tell their neighbours.
const TELLING: usize = 4;

/// Distance from a plane surface, in cells, positive outside, that leaves this density; at most 1.
pub fn depth(density: f64) -> f64 {
    if density <= 0.5 { 1.0 - (2.0 * density.max(0.0)).sqrt() } else { (2.0 * (1.0 - density).max(0.0)).sqrt() - 1.0 }
}

impl Surface {
    /// Nothing known yet.
    pub fn new(grid: &Grid) -> Self {
        Self {
            density: CellField::new(grid, 0.0),
            near: vec![false; grid.cells()],
            room: CellField::new(grid, 1.0),
            tight: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The solids have moved: how much room do they leave?
    pub fn set_room(&mut self, grid: &Grid, boundary: &Boundary) {
        if boundary.distance.is_none() {
            return;
        }
        self.room.data.copy_from_slice(&boundary.volume.data);
        let dims = grid.dims;
        for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
            self.scratch.clone_from(&self.room.data);
            let (old, a, stride) = (&self.scratch, axis.index(), strides(dims)[axis.index()]);
            for_each_row(&mut self.room.data, dims, |j, k, row| {
                let start = dims[0] * (j + dims[1] * k);
                for (i, room) in row.iter_mut().enumerate() {
                    let (c, at) = (start + i, [i, j, k][a]);
                    // Beyond the sides it goes on as at the sides, as the particles' weights do.
                    let below = if at > 0 { old[c - stride] } else { old[c] };
                    let above = if at + 1 < dims[a] { old[c + stride] } else { old[c] };
                    *room = KERNEL[0] * below + KERNEL[1] * old[c] + KERNEL[2] * above;
                }
            });
        }
        let room = &self.room.data;
        let tight = |cell: usize| {
            let at = grid.cell_at(cell);
            let mut beside = [(cell, 0.0); 6];
            for axis in Axis::ALL {
                let (a, stride) = (axis.index(), strides(dims)[axis.index()]);
                let mut upper = at;
                upper[a] += 1;
                if at[a] > 0 {
                    beside[2 * a] = (cell - stride, boundary.open[(axis, at)]);
                }
                if upper[a] < dims[a] {
                    beside[2 * a + 1] = (cell + stride, boundary.open[(axis, upper)]);
                }
            }
            beside.iter().any(|(_, open)| *open > 0.0).then_some(Tight { cell, beside })
        };
        let is_tight = |c: &usize| room[*c] < LEAST_ROOM;
        self.tight = (0..grid.cells()).into_par_iter().filter(is_tight).filter_map(tight).collect();
    }

    /// Turn the density of particles per cell into one per room, and that into distance, m.
    pub fn find(&mut self, grid: &Grid, boundary: &Boundary, distance: &mut CellField) {
        if boundary.distance.is_some() {
            let room = &self.room.data;
            self.density.data.par_iter_mut().zip(room).for_each(|(density, room)| *density /= room.max(LEAST_ROOM));
            self.ask_neighbours();
        }
        distance.data.par_iter_mut().zip(&self.density.data).for_each(|(d, &density)| *d = grid.dx * depth(density));
    }

    /// Cells with little room take the mean density of those they are open to, from the free ones inwards.
    fn ask_neighbours(&mut self) {
        for c in &self.tight {
            self.density.data[c.cell] = f64::NAN;
        }
        for _ in 0..TELLING {
            let density = &self.density.data;
            let tell = |c: &Tight| {
                if !density[c.cell].is_nan() {
                    return None;
                }
                let known = c.beside.iter().filter(|(other, open)| *open > 0.0 && !density[*other].is_nan());
                let (sum, weight) = known
                    .fold((0.0, 0.0), |(sum, weight), &(other, open)| (sum + open * density[other], weight + open));
                (weight > 0.0).then(|| (c.cell, sum / weight))
            };
            let told: Vec<(usize, f64)> = self.tight.par_iter().filter_map(tell).collect();
            told.into_iter().for_each(|(c, value)| self.density.data[c] = value);
        }
        for c in &self.tight {
            let density = &mut self.density.data[c.cell];
            *density = if density.is_nan() { 0.0 } else { *density };
        }
    }

    /// Find the cells in or next to the liquid that `distance` bounds.
    pub fn mark_near(&mut self, distance: &CellField) {
        let (dims, d) = (distance.dims, &distance.data);
        let [nx, ny, nz] = dims;
        for_each_row(&mut self.near, dims, |j, k, row| {
            let start = nx * (j + ny * k);
            let own = &d[start..start + nx];
            let beside = [
                (j > 0).then(|| &d[start - nx..start]),
                (j + 1 < ny).then(|| &d[start + nx..start + 2 * nx]),
                (k > 0).then(|| &d[start - nx * ny..][..nx]),
                (k + 1 < nz).then(|| &d[start + nx * ny..][..nx]),
            ];
            for (i, near) in row.iter_mut().enumerate() {
                *near = own[i.saturating_sub(1)..(i + 2).min(nx)].iter().any(|&d| d < 0.0)
                    || beside.iter().flatten().any(|row| row[i] < 0.0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_inverts_the_density_of_a_half_space() {
        for n in -100..=100 {
            let d = n as f64 * 0.01;
            let density = if d >= 0.0 { 0.5 * (1.0 - d).powi(2) } else { 1.0 - 0.5 * (1.0 + d).powi(2) };
            assert!((depth(density) - d).abs() < 1e-7, "{d}");
        }
        assert_eq!((depth(-0.1), depth(1.3)), (1.0, -1.0));
    }
}
