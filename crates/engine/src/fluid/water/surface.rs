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
//! choose, unlike for a union of balls \[ZB17, §7\]. What fills less than about a cell stays below ρ = ½ and is spray.
//!
//! Solids take room away: the density is relative to the room ω that they leave in the neighbourhood,
//! the same kernel's mean of the open parts of the cells.

use super::flatten::flatten;
use super::narrowed::{IN_REACH, Kernel, Narrowed, Spread};
use crate::fluid::boundary::Boundary;
use crate::grid::parallel::for_each_row;
use crate::grid::{Axis, CellField, Grid, Lattice, strides, unravel};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Where the liquid is, as the particles tell.
pub struct Surface {
    /// Share of the room around each cell centre that particles fill; 1 in the liquid.
    pub density: CellField,
    /// Share of each cell that particles fill, solids or not; the kernel spreads them over neighbouring cells.
    pub filled: CellField,
    /// Cells in the liquid or next to a cell in it.
    pub near: Vec<bool>,
    room: CellField,
    /// Of the cells that solids are near, in order.
    narrowed: Vec<Narrowed>,
    tight: Vec<Tight>,
    /// Parts of a cell along each axis, one particle each.
    parts: [usize; 3],
    /// How open every part of every cell is; empty without solids.
    open_parts: Vec<f32>,
}

/// What the particles themselves tell of a cell.
pub struct Told {
    /// Share of the room that they fill.
    pub density: f64,
    /// Share of the neighbourhood that solids leave.
    pub room: f64,
    /// From the cell centre to the middle of the room, in cells.
    pub offset: DVec3,
    /// How far the room reaches.
    pub spread: Spread,
}

/// A cell with little room that is not closed.
struct Tight {
    cell: usize,
    /// The cells around it, and how open it is to them.
    beside: [(usize, f64); 6],
}

impl Tight {
    /// None if nothing opens to it.
    fn new(grid: &Grid, boundary: &Boundary, cell: usize) -> Option<Self> {
        let at = grid.cell_at(cell);
        let mut beside = [(cell, 0.0); 6];
        for axis in Axis::ALL {
            let (a, stride) = (axis.index(), strides(grid.dims)[axis.index()]);
            let mut upper = at;
            upper[a] += 1;
            if at[a] > 0 {
                beside[2 * a] = (cell - stride, boundary.open[(axis, at)]);
            }
            if upper[a] < grid.dims[a] {
                beside[2 * a + 1] = (cell + stride, boundary.open[(axis, upper)]);
            }
        }
        beside.iter().any(|(_, open)| *open > 0.0).then_some(Self { cell, beside })
    }
}

/// Where solids leave less room than this, particles are too few to tell whether there is liquid; the neighbours do.
/// Raised from 0.3 together with the tests of thin moving walls (tests/verification/leaks.rs).
const ENOUGH_ROOM: f64 = 0.6;

/// Where they leave less than this, particles tell nothing at all.
/// A choice: of the eight particles of a cell two are left there. It also bounds what density is divided by.
pub(super) const LEAST_ROOM: f64 = 0.25;

/// Room reaches about so far, as a part of what a whole one does, where solids leave half of it; and less where that is tight.
const LEAST_REACH: f64 = 0.57;

/// Distance from a plane surface, in cells, positive outside, that leaves this density; at most 1.
pub fn depth(density: f64) -> f64 {
    if density <= 0.5 { 1.0 - (2.0 * density.max(0.0)).sqrt() } else { (2.0 * (1.0 - density).max(0.0)).sqrt() - 1.0 }
}

impl Surface {
    /// Nothing known yet; a full cell has this many particles along each axis.
    pub fn new(grid: &Grid, parts: [usize; 3]) -> Self {
        Self {
            density: CellField::new(grid, 0.0),
            filled: CellField::new(grid, 0.0),
            near: vec![false; grid.cells()],
            room: CellField::new(grid, 1.0),
            narrowed: Vec::new(),
            tight: Vec::new(),
            parts,
            open_parts: Vec::new(),
        }
    }

    /// How open a part of a cell is.
    pub fn open_part(&self, cell: usize, part: usize) -> f64 {
        self.open_parts.get(cell * self.parts.iter().product::<usize>() + part).map_or(1.0, |&open| f64::from(open))
    }

    /// Share of the neighbourhood of a cell that solids leave.
    pub fn room(&self, cell: usize) -> f64 {
        self.room.data[cell]
    }

    /// Whether solids leave a cell so little room that its neighbours tell where the surface is.
    pub fn is_tight(&self, cell: usize) -> bool {
        self.room.data[cell] < ENOUGH_ROOM
    }

    /// Cells with so little room that are not closed.
    pub fn tight_cells(&self) -> impl Iterator<Item = usize> {
        self.tight.iter().map(|tight| tight.cell)
    }

    /// What the particles tell of a cell; nothing if there is too little room.
    pub fn told(&self, cell: usize) -> Option<Told> {
        let density = self.density.data[cell];
        let Ok(n) = self.narrowed.binary_search_by_key(&(cell as u32), |narrowed| narrowed.cell) else {
            return Some(Told { density, room: 1.0, offset: DVec3::ZERO, spread: Spread::WHOLE });
        };
        let Narrowed { room, offset, spread, .. } = self.narrowed[n];
        (room >= LEAST_ROOM).then(|| Told { density, room, offset: Vec3::from(offset).as_dvec3(), spread })
    }

    /// Cells whose centre may be on the other side of the surface than the middle of their room, of which density speaks.
    pub fn asked_off_centre(&self) -> Vec<usize> {
        let is_asked_off_centre = |narrowed: &&Narrowed| {
            let value = depth(self.density.data[narrowed.cell as usize]).abs();
            let away = f64::from(Vec3::from(narrowed.offset).length());
            narrowed.room >= ENOUGH_ROOM && away > LEAST_REACH * value
        };
        self.narrowed.iter().filter(is_asked_off_centre).map(|narrowed| narrowed.cell as usize).collect()
    }

    /// The solids have moved: how much room do they leave?
    pub fn set_room(&mut self, grid: &Grid, boundary: &Boundary) {
        let Some(distance) = &boundary.distance else { return };
        self.open_parts.resize(grid.cells() * self.parts.iter().product::<usize>(), 1.0);
        open_parts(self.parts, distance, &boundary.volume, &mut self.open_parts);
        let kernel = Kernel::new(self.parts);
        let near = (0..grid.cells()).into_par_iter().filter(|&c| distance.data[c] <= IN_REACH);
        self.narrowed = near.map(|cell| kernel.narrowed(grid, &self.open_parts, cell)).collect();
        self.room.data.fill(1.0);
        for narrowed in &self.narrowed {
            self.room.data[narrowed.cell as usize] = narrowed.room;
        }
        let room = &self.room.data;
        let is_tight = |c: &usize| room[*c] < ENOUGH_ROOM;
        let tight = (0..grid.cells()).into_par_iter().filter(is_tight);
        self.tight = tight.filter_map(|cell| Tight::new(grid, boundary, cell)).collect();
    }

    /// From what particles fill of the cells to what they fill of the room, and from that to distance, m.
    pub fn find(&mut self, grid: &Grid, boundary: &Boundary, distance: &mut CellField) {
        if boundary.distance.is_some() {
            let shares = self.filled.data.par_iter().zip(&self.room.data);
            let densities = self.density.data.par_iter_mut().zip(shares);
            densities.for_each(|(density, (filled, room))| *density = filled / room.max(LEAST_ROOM));
        } else {
            self.density.data.copy_from_slice(&self.filled.data);
        }
        distance.data.copy_from_slice(&self.density.data);
        self.ask_neighbours(&mut distance.data);
        for c in self.tight.iter().map(|tight| tight.cell).filter(|&c| self.room.data[c] < LEAST_ROOM) {
            self.density.data[c] = distance.data[c];
        }
        distance.data.par_iter_mut().for_each(|d| *d = grid.dx * depth(*d));
    }

    /// Lay planes through the surface, where it is even.
    pub fn flatten(&self, grid: &Grid, boundary: &Boundary, distance: &mut CellField) {
        flatten(grid, boundary, self, distance);
    }

    /// Cells with little room take the mean density of those they are open to, from the roomy ones inwards.
    fn ask_neighbours(&self, density: &mut [f64]) {
        for c in &self.tight {
            density[c.cell] = f64::NAN;
        }
        let mut waiting: Vec<&Tight> = self.tight.iter().collect();
        loop {
            let tell = |c: &&Tight| {
                let known = c.beside.iter().filter(|(other, open)| *open > 0.0 && !density[*other].is_nan());
                let (sum, weight) = known
                    .fold((0.0, 0.0), |(sum, weight), &(other, open)| (sum + open * density[other], weight + open));
                (weight > 0.0).then(|| (c.cell, sum / weight))
            };
            let told: Vec<(usize, f64)> = waiting.par_iter().filter_map(tell).collect();
            if told.is_empty() {
                break;
            }
            told.into_iter().for_each(|(c, value)| density[c] = value);
            waiting.retain(|c| density[c.cell].is_nan());
        }
        for c in self.tight.iter().map(|tight| tight.cell) {
            density[c] = if density[c].is_nan() { 0.0 } else { density[c] };
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

/// How open the parts of cells are: by their distance from the solids (in cells), but together exactly as open as their
/// cell.
fn open_parts(parts: [usize; 3], distance: &CellField, volume: &CellField, open: &mut [f32]) {
    let solids = Lattice::cells(distance);
    let (dims, count) = (distance.dims, parts.iter().product::<usize>());
    let finest = parts.into_iter().max().unwrap_or(1) as f64;
    let centres: Vec<DVec3> = (0..count)
        .map(|part| {
            let at = unravel(parts, part);
            DVec3::from([0, 1, 2].map(|a| (at[a] as f64 + 0.5) / parts[a] as f64))
        })
        .collect();
    open.par_chunks_mut(count).enumerate().with_min_len(64).for_each(|(cell, open)| {
        let volume = volume.data[cell];
        if volume <= 0.0 || volume >= 1.0 {
            return open.fill(volume as f32);
        }
        let corner = DVec3::from(unravel(dims, cell).map(|i| i as f64));
        let distances: Vec<f64> = centres.iter().map(|centre| finest * solids.linear(corner + *centre)).collect();
        // The shift that makes the sum right, by bisection: openness grows with it.
        let share = |shift: f64, d: f64| (0.5 + d + shift).clamp(0.0, 1.0);
        let total = |shift: f64| distances.iter().map(|&d| share(shift, d)).sum::<f64>();
        let (mut low, mut high) = (-8.0, 8.0);
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if total(middle) < volume * count as f64 { low = middle } else { high = middle }
        }
        open.iter_mut().zip(&distances).for_each(|(open, &d)| *open = share(low, d) as f32);
    });
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
