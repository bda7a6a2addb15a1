//! Voxels: the cells whose centres lie in a body, and the faces that it separates from the fluid.
//!
//! What face constraints know of a body [A18, §4.3]: rays from every cell centre to its neighbours, and whether they cross the
//! surface. Crossings are counted along whole rows of centres, an edge shared by two triangles belongs to just one of them,
//! and so a closed surface is crossed an even number of times. A body thinner than a cell may have no centre at all and still
//! separate those on either side of it.

use crate::geometry::TriMesh;
use crate::grid::{Axis, Grid};
use glam::DVec3;
use std::collections::BTreeMap;

/// A body as cells and faces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Voxels {
    /// Storage indices of the cells whose centres are inside, ascending.
    pub inside: Vec<usize>,
    /// Faces between cells that the surface separates; those on the sides of the grid are not among them. By axis, then storage
    /// index.
    pub separated: Vec<SeparatedFace>,
}

/// A face between two cell centres that a surface separates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeparatedFace {
    /// Across which axis it lies.
    pub axis: Axis,
    /// Its storage index.
    pub index: usize,
    /// Where the line of the centres crosses the surface; of several crossings the one nearest to the face.
    pub crossing: Option<Crossing>,
}

/// A point on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Which triangle of the mesh.
    pub triangle: u32,
    /// Weights of its corners.
    pub weights: [f64; 3],
}

impl Voxels {
    /// Where the surface crosses the line of the centres beside a face.
    pub fn crossing(&self, axis: Axis, index: usize) -> Option<Crossing> {
        let key = |face: &SeparatedFace| (face.axis.index(), face.index);
        let place = self.separated.binary_search_by_key(&(axis.index(), index), key).ok()?;
        self.separated[place].crossing
    }
}

/// The voxels of a closed mesh, world frame.
pub fn voxelise(grid: &Grid, mesh: &TriMesh) -> Voxels {
    // Cell centres at whole numbers.
    let vertices: Vec<DVec3> = mesh.vertices.iter().map(|&v| (v - grid.origin) / grid.dx - 0.5).collect();
    // With the distance of the crossing from the face.
    let mut separated = BTreeMap::<(usize, usize), (f64, Option<Crossing>)>::new();
    let mut crossings: Vec<([usize; 3], f64)> = Vec::new();
    for axis in Axis::ALL {
        let a = axis.index();
        for (triangle, corners) in (0..).zip(&mesh.triangles) {
            let corners = corners.map(|v| vertices[v as usize]);
            cross(corners, axis, grid.dims, |at, along, weights| {
                let face = along.ceil();
                if face >= 1.0 && face < grid.dims[a] as f64 {
                    let mut at = at;
                    at[a] = face as usize;
                    let nearest = separated.entry((a, grid.face(axis, at))).or_insert((f64::INFINITY, None));
                    let away = (along - (face - 0.5)).abs();
                    if away < nearest.0 {
                        *nearest = (away, Some(Crossing { triangle, weights }));
                    }
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
                    separated.entry((a, grid.face(axis, face))).or_insert((f64::INFINITY, None));
                }
            }
        }
    }
    let face = |((a, index), (_, crossing)): ((usize, usize), _)| SeparatedFace { axis: Axis::ALL[a], index, crossing };
    Voxels { inside, separated: separated.into_iter().map(face).collect() }
}

/// Tell where the lines of cell centres along `axis` cross a triangle: the line's first cell, the place along it, and the weights of the corners.
fn cross(corners: [DVec3; 3], axis: Axis, dims: [usize; 3], mut tell: impl FnMut([usize; 3], f64, [f64; 3])) {
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
                let weights = [1, 2, 0].map(|side: usize| areas[side] / total);
                let along = (0..3).map(|n| weights[n] * corners[n][a]).sum();
                let mut at = [0; 3];
                (at[b], at[c]) = (i, j);
                tell(at, along, weights);
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
        assert!(found.crossing(Axis::X, grid.face(Axis::X, [2, 3, 2])).is_some());
        assert!(found.crossing(Axis::Z, grid.face(Axis::Z, [3, 4, 3])).is_some());
        assert!(found.crossing(Axis::Z, grid.face(Axis::Z, [3, 4, 2])).is_some());
        assert!(found.crossing(Axis::Y, grid.face(Axis::Y, [3, 4, 2])).is_none());
    }

    /// The crossing lies on its triangle and on the line of the centres, so that a turn of the body moves it along the line as it does the face.
    #[test]
    fn crossings_lie_between_centres() {
        let at = DVec3::new(-1.0, 0.0, 2.0) + DVec3::new(2.3, 2.2, 2.4);
        let rotation = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.6);
        let mesh = Shape::Sphere { radius: 1.1 }.surface(0.5).posed(&Pose { position: at, rotation });
        let grid = Grid::new([9; 3], 0.5, DVec3::new(-1.0, 0.0, 2.0));
        let found = voxelise(&grid, &mesh);
        assert!(found.separated.len() > 50);
        for SeparatedFace { axis, index, crossing } in found.separated {
            let Crossing { triangle, weights } = crossing.unwrap();
            let corners = mesh.triangles[triangle as usize].map(|v| mesh.vertices[v as usize]);
            let point: DVec3 = corners.into_iter().zip(weights).map(|(corner, weight)| weight * corner).sum();
            let mut away = (point - grid.face_at(axis, index)) / grid.dx;
            assert!(away[axis.index()].abs() <= 0.5 + 1e-9, "{away}");
            away[axis.index()] = 0.0;
            assert!(away.length() < 1e-9, "{away}");
        }
    }

    /// Sides exactly through cell centres, turned by 45°, so that rays run through edges: still closed.
    #[test]
    fn surfaces_through_centres_are_counted_once() {
        let diagonal = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_4);
        for (rotation, height) in [(DQuat::IDENTITY, 2.25), (diagonal, 2.3)] {
            let at = DVec3::new(-1.0, 0.0, 2.0) + DVec3::new(2.25, 2.25, height);
            let (grid, found) = voxels([9; 3], Shape::Box { size: DVec3::splat(2.0) }, at, rotation);
            for &SeparatedFace { axis, index, crossing } in &found.separated {
                let above = crate::grid::unravel(grid.face_dims(axis), index);
                let mut below = above;
                below[axis.index()] -= 1;
                let is_in = |at: [usize; 3]| found.inside.contains(&grid.cell(at));
                assert!(is_in(above) != is_in(below), "{axis:?} {above:?}");
                assert!(crossing.is_some(), "{axis:?} {above:?}");
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
        assert!(found.separated.iter().all(|face| face.axis == Axis::Y));
    }

    #[test]
    fn what_sticks_out_of_the_grid_is_cut_off() {
        let at = DVec3::new(-1.0, 0.0, 2.0);
        let (grid, found) = voxels([6; 3], Shape::Box { size: DVec3::splat(2.0) }, at, DQuat::IDENTITY);
        let expected: Vec<usize> = (0..8)
            .map(|n| grid.cell([n % 2, n / 2 % 2, n / 4]))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        assert_eq!(found.inside, expected);
        assert_eq!(found.separated.len(), 12);
    }
}
