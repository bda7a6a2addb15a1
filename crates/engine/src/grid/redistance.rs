//! Signed distance restored around an interface.
//!
//! A field φ tells by its sign on which side of an interface a point is, but away from the interface its value may be
//! anything. What is wanted has the same zeros and ‖∇φ‖ = 1.
//!
//! Cells beside the interface come first: φ divided by the length of its gradient there (Russo and Smereka 2000). Two
//! cells with the interface between them agree on that gradient, so that the zero stays where it is; and it is made of
//! differences towards the interface only, so that values cut off one cell away do no harm. From there the distance
//! grows outwards, layer by layer, as the upwind solution of ‖∇φ‖ = 1 (Sethian 1996), without a queue: every cell of a
//! layer follows from nearer layers and, sweeping to and fro, from its own.
//!
//! Distances from curved interfaces have the first order of the upwind scheme. Solids are not seen.

use super::{CellField, parallel::for_each_row, strides};
use glam::DVec3;

/// Sweeps over each layer, to and fro.
const SWEEPS: usize = 2;

/// The layer of a cell that has none yet.
const UNSEEN: u8 = u8::MAX;

/// Make `field` (m, negative inside) the signed distance from its own zeros, as far as `band` (m) on either side; farther
/// away it is ±`band`. `dx` is the edge of a cell, m.
pub fn redistance(field: &mut CellField, dx: f64, band: f64) {
    let reach = band / dx;
    let mut distance = beside_the_interface(field);
    let mut layer: Vec<u8> = distance.iter().map(|d| if d.is_finite() { 0 } else { UNSEEN }).collect();
    let mut front: Vec<u32> = (0..layer.len() as u32).filter(|&c| layer[c as usize] == 0).collect();
    let mut number = 0;
    while !front.is_empty() && number + 1 < UNSEEN {
        number += 1;
        let mut next = Vec::new();
        for &c in front.iter().filter(|&&c| distance[c as usize] < reach) {
            for n in neighbours(field.dims, c as usize).flatten() {
                if layer[n] == UNSEEN {
                    layer[n] = number;
                    next.push(n as u32);
                }
            }
        }
        // In the order of storage, a sweep carries values along.
        next.sort_unstable();
        for sweep in 0..SWEEPS {
            let visit = |&c: &u32| distance[c as usize] = upwind(field.dims, &distance, c as usize);
            if sweep % 2 == 0 { next.iter().for_each(visit) } else { next.iter().rev().for_each(visit) }
        }
        front = next;
    }
    for_each_row(&mut field.data, field.dims, |j, k, row| {
        let start = row.len() * (j + field.dims[1] * k);
        for (value, d) in row.iter_mut().zip(&distance[start..]) {
            let d = (dx * d).min(band);
            *value = if *value < 0.0 { -d } else { d };
        }
    });
}

/// The up to two neighbours of a cell along each axis.
#[inline(always)]
fn neighbours(dims: [usize; 3], c: usize) -> impl Iterator<Item = Option<usize>> {
    let stride = strides(dims);
    (0..3).flat_map(move |a| {
        let i = c / stride[a] % dims[a];
        [(i > 0).then(|| c - stride[a]), (i + 1 < dims[a]).then(|| c + stride[a])]
    })
}

/// Unsigned distance in cells of cells with a neighbour on the other side, infinite in all others.
fn beside_the_interface(field: &CellField) -> Vec<f64> {
    let (dims, phi) = (field.dims, &field.data);
    let mut distance = vec![f64::INFINITY; phi.len()];
    for_each_row(&mut distance, dims, |j, k, row| {
        let start = dims[0] * (j + dims[1] * k);
        for (i, d) in row.iter_mut().enumerate() {
            let c = start + i;
            let is_across = |n: &usize| (phi[*n] < 0.0) != (phi[c] < 0.0);
            let mut own = None;
            let (mut sum, mut count) = (0.0, 0.0);
            for (a, n) in neighbours(dims, c).enumerate().filter_map(|(m, n)| Some((m / 2, n.filter(is_across)?))) {
                // The gradient between the two: along the axis the difference, across it the mean of both sides'.
                let own = own.get_or_insert_with(|| slope(field, c));
                let mut gradient = 0.5 * (*own + slope(field, n));
                gradient[a] = phi[n] - phi[c];
                sum += gradient.length();
                count += 1.0;
            }
            if count > 0.0 {
                *d = phi[c].abs() * count / sum;
            }
        }
    });
    distance
}

/// Difference per cell along each axis, taken towards the interface; zero where |φ| does not fall along the axis.
fn slope(field: &CellField, c: usize) -> DVec3 {
    let (dims, phi) = (field.dims, &field.data);
    let (stride, side) = (strides(dims), if phi[c] < 0.0 { -1.0 } else { 1.0 });
    let along = |a: usize| {
        let i = c / stride[a] % dims[a];
        let below = (i > 0).then(|| phi[c] - phi[c - stride[a]]);
        let above = (i + 1 < dims[a]).then(|| phi[c + stride[a]] - phi[c]);
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
fn upwind(dims: [usize; 3], distance: &[f64], c: usize) -> f64 {
    let stride = strides(dims);
    let nearer = |a: usize| {
        let i = c / stride[a] % dims[a];
        let below = if i > 0 { distance[c - stride[a]] } else { f64::INFINITY };
        let above = if i + 1 < dims[a] { distance[c + stride[a]] } else { f64::INFINITY };
        below.min(above)
    };
    let mut near = [nearer(0), nearer(1), nearer(2)];
    near.sort_unstable_by(f64::total_cmp);
    let [p, q, r] = near;
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
