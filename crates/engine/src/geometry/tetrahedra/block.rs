//! Boxes as cubes of six tetrahedra each (Kuhn 1960).
//!
//! Each path from a cube's lowest corner along the three axes, in any order, to its highest corner
//! is a tetrahedron. All share that diagonal, and the cubes fit together: every face is divided along
//! the diagonal from its lowest corner. Unlike a lattice that is cut by the surface, the box keeps its edges.

use super::TetMesh;
use glam::DVec3;

/// The six paths: corners visited between the lowest (0) and the highest (7), bit `a` being the step along axis `a`.
const PATHS: [[usize; 2]; 6] = [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]];

impl TetMesh {
    /// A box of these edge lengths (m) about the origin, `cells` cuboids along each axis, six tetrahedra to each.
    pub fn block(size: DVec3, cells: [usize; 3]) -> Self {
        assert!(cells.iter().all(|&n| n > 0), "a block needs at least one cell along each axis");
        let points = cells.map(|n| n + 1);
        assert!(
            points.iter().try_fold(1usize, |p, &n| p.checked_mul(n)).is_some_and(|p| p <= u32::MAX as usize),
            "a block of {cells:?} cells has more than 2^32 vertices"
        );
        let place = |at: [usize; 3]| size * DVec3::from([0, 1, 2].map(|a| at[a] as f64 / cells[a] as f64 - 0.5));
        let vertices = lattice(points).map(place).collect();
        let strides = [1, points[0], points[0] * points[1]];
        let step =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|corner: usize| (0..3).map(|a| (corner >> a & 1) * strides[a]).sum::<usize>());
        let tetrahedra = lattice(cells).flat_map(|at| {
            let lowest: usize = (0..3).map(|a| at[a] * strides[a]).sum();
            PATHS.map(|[a, b]| [0, a, b, 7].map(|corner| (lowest + step[corner]) as u32))
        });
        Self { tetrahedra: tetrahedra.collect(), vertices }
    }
}

/// All indices below `n`, the first fastest.
fn lattice([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cube_has_six_equal_tetrahedra_about_its_diagonal() {
        let cube = TetMesh::block(DVec3::ONE, [1; 3]);
        assert_eq!((cube.vertices.len(), cube.tetrahedra.len()), (8, 6));
        assert!((0..6).all(|t| (cube.volume_of(t) - 1.0 / 6.0).abs() < 1e-15));
        assert!(cube.tetrahedra.iter().all(|t| t.contains(&0) && t.contains(&7)));
        assert_eq!(cube.vertices[7] - cube.vertices[0], DVec3::ONE);
    }

    #[test]
    fn a_block_is_conforming_and_its_surface_is_that_of_the_box() {
        let size = DVec3::new(1.0, 0.1, 0.2);
        let cells = [10, 2, 3];
        let (mesh, warnings) = TetMesh::block(size, cells).check().unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((mesh.vertices.len(), mesh.tetrahedra.len()), (11 * 3 * 4, 360));
        assert!((mesh.volume() - 0.02).abs() < 1e-16);
        let surface = mesh.surface();
        assert_eq!(surface.triangles.len(), 4 * (10 * 2 + 2 * 3 + 3 * 10));
        assert!((surface.area() - 2.0 * (0.1 + 0.02 + 0.2)).abs() < 1e-14);
        assert!(surface.check().is_ok());
    }
}
