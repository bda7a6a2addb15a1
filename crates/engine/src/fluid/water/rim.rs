//! Faces of the liquid whose centres lie in air take their velocity from those that do not.
//!
//! A cell whose centre is just inside the surface has faces outside it, up to three of them. Pressure sets what flows
//! out through them together; how that is divided hangs on the last digits of the distances, and what is wrong of it
//! adds up from step to step, since the particles, all to one side, hand a velocity out there on as it is. So before
//! the forces act such a face takes the mean of the faces of its kind next to it that lie in the liquid. Volume is kept
//! nevertheless, by the pressure that follows.
//!
//! Faces without such neighbours, as those of drops and of sheets one cell thick, keep what the particles say.

use crate::fluid::boundary::Boundary;
use crate::grid::{Axis, CellField, FaceField, Grid, unravel};
use rayon::prelude::*;

/// Faces whose centres are less deep in the liquid than this, in cells, count as outside.
/// Narrowed from 0.25: what it smooths it takes from waves (row D1; docs/methods/water.md, *Limits*).
const RIM: f64 = 0.1;

/// Faces less open than this tell nothing.
/// The same as where velocity is continued from (mod.rs).
const LEAST_OPEN: f64 = 0.5;

/// Rows of faces handed to a thread at once.
const CHUNK: usize = 64;

/// Continue `velocity` from the liquid to its faces that lie in air; `distance` from its surface is negative inside.
pub fn continue_to_rim(grid: &Grid, boundary: &Boundary, distance: &CellField, velocity: &mut FaceField) {
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let (a, d) = (axis.index(), &distance.data);
        let dims = grid.face_dims(axis);
        let (open, driven, u) = (&boundary.open.axes[a], &boundary.driven.axes[a], &velocity.axes[a]);
        // Distances of the cells on both sides.
        let sides = |face: usize| match grid.cells_beside(axis, face) {
            [Some(below), Some(above)] => Some([d[below], d[above]]),
            _ => None,
        };
        let rim = -2.0 * RIM * grid.dx;
        let is_rim = |[below, above]: [f64; 2]| ((below < 0.0) || (above < 0.0)) && below + above > rim;
        let is_inside = |[below, above]: [f64; 2]| below + above <= rim;
        let mean_inside = |at: [usize; 3]| {
            let (mut sum, mut count) = (0.0, 0.0);
            for b in 0..3 {
                for step in [-1, 1] {
                    let mut other = at;
                    other[b] = other[b].wrapping_add_signed(step);
                    if (0..3).any(|b| other[b] >= dims[b]) {
                        continue;
                    }
                    let index = other[0] + dims[0] * (other[1] + dims[1] * other[2]);
                    if open[index] > LEAST_OPEN && driven[index] && sides(index).is_some_and(is_inside) {
                        sum += u[index];
                        count += 1.0;
                    }
                }
            }
            (count > 0.0).then(|| sum / count)
        };
        let of_row = |row: usize| {
            let first = dims[0] * row;
            let rim = (first..first + dims[0]).filter(|&index| driven[index] && sides(index).is_some_and(is_rim));
            rim.filter_map(|index| Some((index, mean_inside(unravel(dims, index))?))).collect::<Vec<_>>()
        };
        let rows = (0..dims[1] * dims[2]).into_par_iter().with_min_len(CHUNK);
        let new: Vec<(usize, f64)> = rows.flat_map_iter(of_row).collect();
        new.into_iter().for_each(|(index, value)| velocity.axes[a][index] = value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::boundary::Wall;
    use glam::DVec3;

    #[test]
    fn faces_in_air_take_the_velocity_of_those_below_and_drops_keep_theirs() {
        let grid = Grid::new([6; 3], 0.5, DVec3::ZERO);
        let boundary = Boundary::new(&grid, [[Wall::Closed; 2]; 3], None, |_| (DVec3::ZERO, None));
        let mut distance = CellField::new(&grid, 0.0);
        for c in 0..grid.cells() {
            let at = grid.cell_at(c);
            // The surface is a little above the centres of the second layer; a drop is in the fifth.
            distance.data[c] = 0.5 * if at == [2, 4, 2] { -0.3 } else { (at[1] as f64 - 1.2).min(0.7) };
        }
        let mut u = FaceField::new(&grid, 0.0);
        let sample = |y: usize| (y * y) as f64;
        for index in 0..u.axes[1].len() {
            u.axes[1][index] = sample(unravel(grid.face_dims(Axis::Y), index)[1]);
        }
        continue_to_rim(&grid, &boundary, &distance, &mut u);
        for y in 0..=6 {
            let expected = sample(if y == 2 { 1 } else { y });
            assert_eq!(u[(Axis::Y, [2, y, 2])], expected, "face {y}");
        }
    }
}
