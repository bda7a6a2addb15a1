//! Signed distance restored around an interface.
//!
//! A field φ tells by its sign on which side of an interface a point is, but away from the interface its value may be
//! anything. What is wanted has the same zeros and ‖∇φ‖ = 1.
//!
//! Cells beside the interface come first: φ divided by the length of its gradient there (Russo and Smereka 2000). Two
//! cells with the interface between them agree on that gradient, so that the zero stays where it is; and it is made of
//! differences towards the interface only, so that values cut off one cell away do no harm. From there the distance
//! grows outwards, layer by layer, as the upwind solution of ‖∇φ‖ = 1 (Sethian 1996), without a queue: every cell of a
//! layer follows from nearer layers and, in a second round, from its own.
//!
//! Distances from curved interfaces have the first order of the upwind scheme. Solids are not seen.

use super::{CellField, strides};
use glam::DVec3;
use rayon::prelude::*;

/// Times that the cells of a layer are found from their neighbours.
/// A second one, for neighbours in the same layer; row D9 is what they reach.
const ROUNDS: usize = 2;

/// Cells of a layer that one task visits.
const CHUNK: usize = 1024;

/// Make `field` (m, negative inside) the signed distance from its own zeros, as far as `band` (m) on either side; farther
/// away it is ±`band`. `dx` is the edge of a cell, m.
pub fn redistance(field: &mut CellField, dx: f64, band: f64) {
    let (dims, reach) = (field.dims, band / dx);
    let beside = cells_beside_the_interface(field).into_par_iter();
    let known: Vec<(u32, f64)> = beside.map(|c| (c, field.data[c as usize].abs() / steepness(field, c))).collect();
    // From here on in cells; infinite where nothing is known yet.
    field.data.par_iter_mut().for_each(|value| *value = if *value < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY });
    for &(c, distance) in &known {
        let value = &mut field.data[c as usize];
        *value = distance.copysign(*value);
    }
    let mut front: Vec<u32> = known.into_iter().map(|(c, _)| c).collect();
    while !front.is_empty() {
        let mut next = Vec::new();
        for c in front {
            if field.data[c as usize].abs() >= reach {
                continue;
            }
            for n in neighbours(dims, c).into_iter().flatten() {
                let value = &mut field.data[n];
                if value.is_infinite() {
                    // Taken, so that it is taken once, and still far.
                    *value = f64::MAX.copysign(*value);
                    next.push(n as u32);
                }
            }
        }
        // In the order of storage, neighbours are near in memory.
        next.par_sort_unstable();
        for _ in 0..ROUNDS {
            let distances: Vec<f64> =
                next.par_iter().with_min_len(CHUNK).map(|&c| upwind(dims, &field.data, c)).collect();
            for (&c, distance) in next.iter().zip(distances) {
                let value = &mut field.data[c as usize];
                *value = distance.copysign(*value);
            }
        }
        front = next;
    }
    field.data.par_iter_mut().for_each(|value| *value = (dx * *value).clamp(-band, band));
}

/// The up to two neighbours of a cell along each axis.
#[inline(always)]
fn neighbours(dims: [usize; 3], c: u32) -> [Option<usize>; 6] {
    let [nx, ny, nz] = dims.map(|n| n as u32);
    let (row, stride) = (c / nx, strides(dims));
    let at = [c - nx * row, row % ny, row / ny];
    let c = c as usize;
    let below = |a: usize| (at[a] > 0).then(|| c - stride[a]);
    let above = |a: usize| (at[a] + 1 < [nx, ny, nz][a]).then(|| c + stride[a]);
    [below(0), above(0), below(1), above(1), below(2), above(2)]
}

/// The cells with a neighbour on the other side, in order.
pub(crate) fn cells_beside_the_interface(field: &CellField) -> Vec<u32> {
    let (dims, phi) = (field.dims, &field.data);
    let [nx, ny, nz] = dims;
    let of_row = |row: usize| {
        let (start, j, k) = (row * nx, row % ny, row / ny);
        let line = |start: usize| &phi[start..start + nx];
        // Beyond a side of the grid there is no other side: the row itself stands for it.
        let own = line(start);
        let beside = [
            line(if j > 0 { start - nx } else { start }),
            line(if j + 1 < ny { start + nx } else { start }),
            line(if k > 0 { start - nx * ny } else { start }),
            line(if k + 1 < nz { start + nx * ny } else { start }),
        ];
        let mut found = Vec::new();
        for i in 0..nx {
            let is_inside = own[i] < 0.0;
            let along = own[i.saturating_sub(1)..(i + 2).min(nx)].iter().any(|&v| (v < 0.0) != is_inside);
            if along || beside.iter().any(|row| (row[i] < 0.0) != is_inside) {
                found.push((start + i) as u32);
            }
        }
        found
    };
    (0..ny * nz).into_par_iter().flat_map_iter(of_row).collect()
}

/// Mean length of the gradient on the ways from a cell across the interface, per cell.
fn steepness(field: &CellField, c: u32) -> f64 {
    let phi = &field.data;
    let own = slope(field, c);
    let (mut sum, mut count) = (0.0, 0.0);
    for (m, n) in neighbours(field.dims, c).into_iter().enumerate() {
        let Some(n) = n.filter(|&n| (phi[n] < 0.0) != (phi[c as usize] < 0.0)) else { continue };
        // Along the axis the difference, across it the mean of both sides'.
        let mut gradient = 0.5 * (own + slope(field, n as u32));
        gradient[m / 2] = phi[n] - phi[c as usize];
        sum += gradient.length();
        count += 1.0;
    }
    sum / count
}

/// Difference per cell along each axis, taken towards the interface; zero where |φ| does not fall along the axis.
fn slope(field: &CellField, c: u32) -> DVec3 {
    let (phi, beside, own) = (&field.data, neighbours(field.dims, c), field.data[c as usize]);
    let side = if own < 0.0 { -1.0 } else { 1.0 };
    let along = |a: usize| {
        let below = beside[2 * a].map(|n| own - phi[n]);
        let above = beside[2 * a + 1].map(|n| phi[n] - own);
        // Beyond a side of the grid the field goes on as it comes.
        let (below, above) = (below.or(above).unwrap_or(0.0), above.or(below).unwrap_or(0.0));
        match (side * below, -side * above) {
            (down, up) if down >= up && down > 0.0 => below,
            (_, up) if up > 0.0 => above,
            _ => 0.0,
        }
    };
    DVec3::from([0, 1, 2].map(along))
}

/// Smallest distance, in cells, that grows by one per cell from the nearer neighbour along each axis.
#[inline(always)]
fn upwind(dims: [usize; 3], distance: &[f64], c: u32) -> f64 {
    let beside = neighbours(dims, c).map(|n| n.map_or(f64::INFINITY, |n| distance[n].abs()));
    let [x, y, z] = [0, 1, 2].map(|a| beside[2 * a].min(beside[2 * a + 1]));
    let (least, most) = (x.min(y), x.max(y));
    let (p, q, r) = (least.min(z), most.min(least.max(z)), most.max(z));
    // Σ (d − near)² = 1 over the axes along which the cell is reached.
    if p + 1.0 <= q {
        return p + 1.0;
    }
    let two = 0.5 * (p + q + (2.0 - (q - p).powi(2)).sqrt());
    if two <= r {
        return two;
    }
    let (sum, squares) = (p + q + r, p * p + q * q + r * r);
    (sum + (sum * sum - 3.0 * (squares - 1.0)).max(0.0).sqrt()) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn values_cut_off_a_cell_away_become_distances() {
        let grid = Grid::new([1, 12, 1], 0.5, DVec3::ZERO);
        let mut field = CellField::new(&grid, 0.0);
        for j in 0..12 {
            field[[0, j, 0]] = (0.5 * j as f64 - 2.6).clamp(-0.5, 0.5);
        }
        redistance(&mut field, 0.5, 2.0);
        for (j, d) in field.data.iter().enumerate() {
            assert!((d - (0.5 * j as f64 - 2.6).clamp(-2.0, 2.0)).abs() < 1e-14, "{j}: {d}");
        }
    }

    #[test]
    fn without_an_interface_everything_is_far() {
        let grid = Grid::new([3, 4, 5], 1.0, DVec3::ZERO);
        for (value, expected) in [(0.3, 4.0), (-0.3, -4.0), (0.0, 4.0)] {
            let mut field = CellField::new(&grid, value);
            redistance(&mut field, 1.0, 4.0);
            assert!(field.data.iter().all(|d| *d == expected), "{value}");
        }
    }

    #[test]
    fn a_cell_on_the_interface_stays_there() {
        let grid = Grid::new([5, 1, 1], 1.0, DVec3::ZERO);
        let mut field = CellField::new(&grid, 0.0);
        field.data = vec![-9.0, -7.0, 0.0, 0.1, 0.1];
        redistance(&mut field, 1.0, 3.0);
        assert_eq!(field.data, [-2.0, -1.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn upwind_values_of_planes_are_exact() {
        for normal in [DVec3::new(0.0, 0.6, 0.8), DVec3::new(2.0, 3.0, 6.0) / 7.0, DVec3::Y] {
            let grid = Grid::new([3; 3], 1.0, DVec3::ZERO);
            let at = |c: usize| DVec3::from(grid.cell_at(c).map(|i| i as f64 - 1.0));
            let distance: Vec<f64> = (0..27).map(|c| 10.0 + normal.dot(at(c))).collect();
            assert!((upwind([3; 3], &distance, 13) - 10.0).abs() < 1e-13, "{normal}");
        }
    }
}
