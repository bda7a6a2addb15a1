//! Open fractions of faces from a distance field, for comparison.
//!
//! \[ZB17, §7\] take the open area of a face from signed distances at its four corners. That is simple,
//! but the areas do not fit the surface's polygons exactly: a cut cell does not close, and a body at
//! rest in still water feels a small force (measured against [`cut`](super::cut)).

use crate::grid::{Axis, FaceField, Grid, NodeField};

/// Open part of each face: where a distance field (negative in the solid), linear in each of the four triangles
/// between an edge of the face and its centre, is positive.
pub fn open_from_distance(grid: &Grid, distance: &NodeField) -> FaceField {
    assert_eq!(distance.dims, grid.node_dims(), "distances must be given at the grid's nodes");
    let mut open = FaceField::new(grid, 1.0);
    for axis in Axis::ALL {
        let [nx, ny, nz] = grid.face_dims(axis);
        let [a, b] = axis.others().map(|other| {
            let mut step = [0; 3];
            step[other.index()] = 1;
            step
        });
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let corners = [[0, 0], [1, 0], [1, 1], [0, 1]];
                    let phi = corners.map(|[p, q]| {
                        distance[[i + p * a[0] + q * b[0], j + p * a[1] + q * b[1], k + p * a[2] + q * b[2]]]
                    });
                    open[(axis, [i, j, k])] = square_fraction(phi);
                }
            }
        }
    }
    open
}

/// Part of a square where φ > 0, from its corners in order around it.
fn square_fraction(phi: [f64; 4]) -> f64 {
    let centre = 0.25 * phi.iter().sum::<f64>();
    (0..4).map(|i| 0.25 * triangle_fraction([phi[i], phi[(i + 1) % 4], centre])).sum()
}

/// Part of a triangle where a linear φ is positive.
fn triangle_fraction(mut phi: [f64; 3]) -> f64 {
    phi.sort_unstable_by(f64::total_cmp);
    let [a, b, c] = phi;
    if a > 0.0 {
        1.0
    } else if c <= 0.0 {
        0.0
    } else if b > 0.0 {
        // The negative corner cuts off a triangle.
        1.0 - a / (a - b) * a / (a - c)
    } else {
        c / (c - a) * c / (c - b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    #[test]
    fn a_plane_gives_exact_areas() {
        let grid = Grid::new([3, 3, 3], 1.0, DVec3::ZERO);
        let mut distance = NodeField::new(&grid, 0.0);
        for i in 0..4 {
            for j in 0..4 {
                for k in 0..4 {
                    // Solid below x + 2y = 2.
                    distance[[i, j, k]] = (i as f64 + 2.0 * j as f64 - 2.0) / 5f64.sqrt();
                }
            }
        }
        let open = open_from_distance(&grid, &distance);
        assert!((open[(Axis::X, [0, 0, 1])] - 0.0).abs() < 1e-15);
        assert!((open[(Axis::X, [1, 0, 1])] - 0.5).abs() < 1e-15);
        assert!((open[(Axis::Z, [0, 0, 1])] - 0.25).abs() < 1e-15);
        assert!((open[(Axis::Y, [0, 0, 1])] - 0.0).abs() < 1e-15);
        assert!((open[(Axis::Y, [1, 1, 1])] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_saddle_is_shared_out_evenly() {
        assert!((square_fraction([1.0, -1.0, 1.0, -1.0]) - 0.5).abs() < 1e-15);
    }
}
