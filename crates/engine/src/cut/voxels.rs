//! Voxels: the cells whose centres lie in a body, and the faces that it separates from the fluid.
//!
//! What face constraints know of a body [A18, §4.3]: rays from every cell centre to its neighbours, and whether they cross the
//! surface. Crossings are counted along whole rows of centres, an edge shared by two triangles belongs to just one of them,
//! and so a closed surface is crossed an even number of times. A body thinner than a cell may have no centre at all and still
//! separate those on either side of it.

use crate::geometry::TriMesh;
use crate::grid::{Axis, Grid};
use glam::DVec3;
use std::collections::BTreeSet;

/// A body as cells and faces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voxels {
    /// Storage indices of the cells whose centres are inside, ascending.
    pub inside: Vec<usize>,
    /// Faces between cells that the surface separates; those on the sides of the grid are not among them. By axis, then storage
    /// index.
    pub separated: Vec<(Axis, usize)>,
}

/// The voxels of a closed mesh, world frame.
pub fn voxelise(grid: &Grid, mesh: &TriMesh) -> Voxels {
    // Cell centres at whole numbers.
    let vertices: Vec<DVec3> = mesh.vertices.iter().map(|&v| (v - grid.origin) / grid.dx - 0.5).collect();
    let mut separated = BTreeSet::new();
    let mut crossings: Vec<([usize; 3], f64)> = Vec::new();
    for axis in Axis::ALL {
        let a = axis.index();
        for triangle in &mesh.triangles {
            let corners = triangle.map(|v| vertices[v as usize]);
            cross(corners, axis, grid.dims, |at, along| {
                let face = along.ceil();
                if face >= 1.0 && face < grid.dims[a] as f64 {
                    let mut at = at;
                    at[a] = face as usize;
                    separated.insert((a, grid.face(axis, at)));
                }
                if axis == Axis::X {
                    crossings.push((at, along));
                }
            });
        }
    }
    crossings.sort_by(|x, y| (x.0[2], x.0[1]).cmp(&(y.0[2], y.0[1])).then(x.1.total_cmp(&y.1)));
    let mut inside = Vec::new();
    for row in crossings.chunk_by(|x, y| x.0 == y.0) {
        for pair in row.chunks_exact(2) {
            // A centre in the surface is inside where the ray enters, and outside where it leaves.
            let centre = |along: f64| along.ceil().clamp(0.0, grid.dims[0] as f64) as usize;
            inside.extend((centre(pair[0].1)..centre(pair[1].1)).map(|i| grid.cell([i, row[0].0[1], row[0].0[2]])));
        }
    }
    inside.sort_unstable();
    let is_inside = |cell: &usize| inside.binary_search(cell).is_ok();
    for &cell in &inside {
        let at = grid.cell_at(cell);
        for axis in Axis::ALL {
            let a = axis.index();
            for is_upper in [false, true] {
                let mut beside = at;
                beside[a] = if is_upper { at[a] + 1 } else { at[a].wrapping_sub(1) };
                if beside[a] < grid.dims[a] && !is_inside(&grid.cell(beside)) {
                    let mut face = at;
                    face[a] += usize::from(is_upper);
                    separated.insert((a, grid.face(axis, face)));
                }
            }
        }
    }
    Voxels { inside, separated: separated.into_iter().map(|(a, face)| (Axis::ALL[a], face)).collect() }
}

/// Tell where the lines of cell centres along `axis` cross a triangle: the line's first cell, and the place along it.
fn cross(corners: [DVec3; 3], axis: Axis, dims: [usize; 3], mut tell: impl FnMut([usize; 3], f64)) {
    let a = axis.index();
    let [b, c] = axis.others().map(|axis| axis.index());
    let range = |x: usize| {
        let low = corners.iter().map(|v| v[x]).fold(f64::INFINITY, f64::min).ceil().max(0.0);
        let high = corners.iter().map(|v| v[x]).fold(f64::NEG_INFINITY, f64::max).floor().min(dims[x] as f64 - 1.0);
        if low <= high { low as usize..high as usize + 1 } else { 0..0 }
    };
    for i in range(b) {
        for j in range(c) {
            // The area that a side spans with the line, seen along the axis. The same for both triangles at an edge, up to its sign.
            let area = |from: DVec3, to: DVec3| {
                let is_turned = (to[b], to[c]) < (from[b], from[c]);
                let (p, q) = if is_turned { (to, from) } else { (from, to) };
                let area = (q[b] - p[b]) * (j as f64 - p[c]) - (q[c] - p[c]) * (i as f64 - p[b]);
                if is_turned { -area } else { area }
            };
            let sides = [0, 1, 2].map(|n| (corners[n], corners[(n + 1) % 3]));
            let areas = sides.map(|(from, to)| area(from, to));
            let total: f64 = areas.iter().sum();
            if total == 0.0 {
                continue;
            }
            let is_within = |n: usize| {
                let (from, to) = sides[n];
                // On an edge: in the triangle that lies on one particular side of it.
                let (db, dc) = ((to[b] - from[b]) * total.signum(), (to[c] - from[c]) * total.signum());
                areas[n] * total > 0.0 || areas[n] == 0.0 && (dc < 0.0 || dc == 0.0 && db > 0.0)
            };
            if (0..3).all(is_within) {
                let along = (0..3).map(|n| areas[n] * corners[(n + 2) % 3][a]).sum::<f64>() / total;
                let mut at = [0; 3];
                (at[b], at[c]) = (i, j);
                tell(at, along);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Pose, Shape};
    use glam::DQuat;

    fn voxels(dims: [usize; 3], shape: Shape, position: DVec3, rotation: DQuat) -> (Grid, Voxels) {
        let grid = Grid::new(dims, 0.5, DVec3::new(-1.0, 0.0, 2.0));
        let mesh = shape.surface(0.5).posed(&Pose { position, rotation });
        (grid, voxelise(&grid, &mesh))
    }

    #[test]
    fn a_box_holds_the_centres_within_and_separates_its_faces() {
        let size = DVec3::new(1.0, 1.5, 0.5);
        let (grid, found) = voxels(
            [6, 7, 5],
            Shape::Box { size },
            DVec3::new(-1.0, 0.0, 2.0) + DVec3::new(1.5, 1.75, 1.25),
            DQuat::IDENTITY,
        );
        let expected: Vec<usize> =
            (2..5).flat_map(|j| (2..4).map(move |i| [i, j, 2])).map(|at| grid.cell(at)).collect();
        assert_eq!(found.inside, expected);
        // 2 × 3 × 1 cells have 2 (2·3 + 3·1 + 2·1) faces.
        assert_eq!(found.separated.len(), 22);
        assert!(found.separated.contains(&(Axis::X, grid.face(Axis::X, [2, 3, 2]))));
        assert!(found.separated.contains(&(Axis::Z, grid.face(Axis::Z, [3, 4, 3]))));
    }

    /// Sides exactly through cell centres, turned by 45°, so that rays run through edges: still closed.
    #[test]
    fn surfaces_through_centres_are_counted_once() {
        let diagonal = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_4);
        for (rotation, height) in [(DQuat::IDENTITY, 2.25), (diagonal, 2.3)] {
            let at = DVec3::new(-1.0, 0.0, 2.0) + DVec3::new(2.25, 2.25, height);
            let (grid, found) = voxels([9; 3], Shape::Box { size: DVec3::splat(2.0) }, at, rotation);
            for &(axis, face) in &found.separated {
                let above = crate::grid::unravel(grid.face_dims(axis), face);
                let mut below = above;
                below[axis.index()] -= 1;
                let is_in = |at: [usize; 3]| found.inside.contains(&grid.cell(at));
                assert!(is_in(above) != is_in(below), "{axis:?} {above:?}");
            }
            assert!((16..=64).contains(&found.inside.len()), "{}", found.inside.len());
        }
    }

    #[test]
    fn a_plate_without_a_centre_separates_both_sides() {
        let at = DVec3::new(-1.0, 0.0, 2.0) + DVec3::new(1.5, 1.02, 1.5);
        let (_, found) = voxels([6; 3], Shape::Box { size: DVec3::new(1.0, 0.1, 1.0) }, at, DQuat::IDENTITY);
        assert!(found.inside.is_empty());
        assert_eq!(found.separated.len(), 4);
        assert!(found.separated.iter().all(|(axis, _)| *axis == Axis::Y));
    }

    #[test]
    fn what_sticks_out_of_the_grid_is_cut_off() {
        let at = DVec3::new(-1.0, 0.0, 2.0);
        let (grid, found) = voxels([6; 3], Shape::Box { size: DVec3::splat(2.0) }, at, DQuat::IDENTITY);
        let expected: Vec<usize> =
            (0..8).map(|n| grid.cell([n % 2, n / 2 % 2, n / 4])).collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(found.inside, expected);
        assert_eq!(found.separated.len(), 12);
    }
}
