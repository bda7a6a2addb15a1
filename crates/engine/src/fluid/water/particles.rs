//! The particles and their order: by cell, and within a cell as they were.

use crate::grid::Grid;
use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Where the liquid is and how it moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Particles {
    /// m.
    pub position: Vec<DVec3>,
    /// m/s.
    pub velocity: Vec<DVec3>,
    /// Gradients of the three velocity components, 1/s; empty if they are not carried.
    pub affine: Vec<[DVec3; 3]>,
}

/// A particle after it has moved.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// m; NaN for one that has left.
    pub position: DVec3,
    /// m/s.
    pub velocity: DVec3,
}

impl Particles {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there is no liquid.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }
}

/// Puts particles in order; keeps its arrays from step to step.
#[derive(Default)]
pub struct Sorter {
    /// First particle of every cell, and the number of particles at the end.
    starts: Vec<u32>,
    cells: Vec<u32>,
    /// Where each particle comes from: first those that moved, then the new ones.
    order: Vec<u32>,
}

/// The cell of a particle that has left.
const NOWHERE: u32 = u32::MAX;

/// Particles handed to a thread at once.
pub(super) const CHUNK: usize = 4096;

impl Sorter {
    /// First particle of every cell, and the number of particles at the end.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Merge the particles of `old` that have `moved` with `new` ones into `sorted`, at most `capacity` per cell;
    /// how many found no room. `with_affine` asks for velocity gradients.
    pub fn sort(
        &mut self,
        grid: &Grid,
        (old, moved): (&Particles, &[Moved]),
        new: &[Moved],
        capacity: usize,
        with_affine: bool,
        sorted: &mut Particles,
    ) -> u64 {
        let Self { cells, .. } = self;
        let cell_of = |m: &Moved| match m.position.is_finite() {
            true => grid.cell_around((m.position - grid.origin) / grid.dx) as u32,
            false => NOWHERE,
        };
        moved.par_iter().chain(new).with_min_len(CHUNK).map(cell_of).collect_into_vec(cells);
        let dropped = self.order(grid.cells(), capacity);

        let order = &self.order;
        let at = |&index: &u32| *moved.get(index as usize).unwrap_or_else(|| &new[index as usize - moved.len()]);
        order.par_iter().with_min_len(CHUNK).map(|index| at(index).position).collect_into_vec(&mut sorted.position);
        order.par_iter().with_min_len(CHUNK).map(|index| at(index).velocity).collect_into_vec(&mut sorted.velocity);
        let gradient = |&index: &u32| old.affine.get(index as usize).copied().unwrap_or_default();
        match with_affine {
            true => order.par_iter().with_min_len(CHUNK).map(gradient).collect_into_vec(&mut sorted.affine),
            false => sorted.affine.clear(),
        }
        dropped
    }

    /// Bring particles in the order of their cells, of which there are `count`; how many found no room.
    fn order(&mut self, count: usize, capacity: usize) -> u64 {
        let Self { starts, cells, order } = self;
        // Count, then give every cell its range; what is over capacity is dropped.
        starts.clear();
        starts.resize(count + 1, 0);
        for &cell in cells.iter().filter(|&&cell| cell != NOWHERE) {
            starts[cell as usize] += 1;
        }
        let (mut total, mut dropped) = (0u32, 0u64);
        for start in starts.iter_mut() {
            let count = (*start as usize).min(capacity) as u32;
            dropped += u64::from(*start - count);
            *start = total;
            total += count;
        }
        // While it is filled, a cell's start is the next empty place; afterwards it has become the next cell's start.
        order.clear();
        order.resize(total as usize, 0);
        if dropped == 0 {
            for (index, &cell) in cells.iter().enumerate().filter(|(_, cell)| **cell != NOWHERE) {
                let place = &mut starts[cell as usize];
                order[*place as usize] = index as u32;
                *place += 1;
            }
        } else {
            let ends: Vec<u32> = starts[1..].to_vec();
            for (index, &cell) in cells.iter().enumerate().filter(|(_, cell)| **cell != NOWHERE) {
                let place = &mut starts[cell as usize];
                if *place < ends[cell as usize] {
                    order[*place as usize] = index as u32;
                    *place += 1;
                }
            }
        }
        starts.copy_within(0..count, 1);
        starts[0] = 0;
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64) -> Moved {
        Moved { position: DVec3::new(x, 0.5, 0.5), velocity: DVec3::X * x }
    }

    #[test]
    fn particles_are_ordered_by_cell_and_otherwise_as_they_were() {
        let grid = Grid::new([4, 1, 1], 1.0, DVec3::ZERO);
        let (mut sorter, mut sorted) = (Sorter::default(), Particles::default());
        let moved = [at(3.5), at(0.7), at(f64::NAN), at(3.2), at(0.1)];
        let old = Particles { affine: (0..5).map(|i| [DVec3::splat(i as f64); 3]).collect(), ..Default::default() };
        let dropped = sorter.sort(&grid, (&old, &moved), &[at(0.9), at(2.0)], usize::MAX, true, &mut sorted);
        let x: Vec<f64> = sorted.position.iter().map(|p| p.x).collect();
        assert_eq!((dropped, x), (0, vec![0.7, 0.1, 0.9, 2.0, 3.5, 3.2]));
        assert_eq!(sorted.velocity[4].x, 3.5);
        let affine: Vec<f64> = sorted.affine.iter().map(|a| a[0].x).collect();
        assert_eq!(affine, [1.0, 4.0, 0.0, 0.0, 0.0, 3.0]);
        assert_eq!(sorter.starts(), [0, 3, 3, 4, 6]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let grid = Grid::new([2, 1, 1], 1.0, DVec3::ZERO);
        let (mut sorter, mut sorted) = (Sorter::default(), Particles::default());
        let moved = [at(0.1), at(0.2), at(1.5), at(0.3), at(0.4)];
        let dropped = sorter.sort(&grid, (&Particles::default(), &moved), &[], 2, false, &mut sorted);
        let x: Vec<f64> = sorted.position.iter().map(|p| p.x).collect();
        assert_eq!((dropped, x), (2, vec![0.1, 0.2, 1.5]));
        assert_eq!(sorter.starts(), [0, 2, 3]);
    }
}
