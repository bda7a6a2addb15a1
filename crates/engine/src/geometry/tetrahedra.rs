//! Solids made of tetrahedra.

use super::TriMesh;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Vertices and tetrahedra; seen from the fourth vertex, the first three run clockwise, so that volumes are positive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TetMesh {
    /// Positions, m.
    pub vertices: Vec<DVec3>,
    /// Vertex indices of each tetrahedron.
    pub tetrahedra: Vec<[u32; 4]>,
}

/// The corners of a tetrahedron opposite to each of its vertices, counter-clockwise from outside.
const SIDES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

impl TetMesh {
    /// The four corners of a tetrahedron, m.
    pub fn corners(&self, tetrahedron: usize) -> [DVec3; 4] {
        self.tetrahedra[tetrahedron].map(|v| self.vertices[v as usize])
    }

    /// Signed volume of a tetrahedron, m³.
    pub fn volume_of(&self, tetrahedron: usize) -> f64 {
        let [a, b, c, d] = self.corners(tetrahedron);
        (b - a).cross(c - a).dot(d - a) / 6.0
    }

    /// Volume of all tetrahedra, m³.
    pub fn volume(&self) -> f64 {
        (0..self.tetrahedra.len()).map(|t| self.volume_of(t)).sum()
    }

    /// The boundary: sides that belong to one tetrahedron only, in order of the tetrahedra. Its triangles use the vertex
    /// numbers of this mesh, inner vertices included.
    pub fn surface(&self) -> TriMesh {
        let sides = || self.tetrahedra.iter().flat_map(|t| SIDES.map(|side| side.map(|corner| t[corner])));
        let key = |mut side: [u32; 3]| {
            side.sort_unstable();
            side
        };
        let mut counts = BTreeMap::<[u32; 3], usize>::new();
        sides().for_each(|side| *counts.entry(key(side)).or_default() += 1);
        let triangles = sides().filter(|&side| counts[&key(side)] == 1).collect();
        TriMesh { vertices: self.vertices.clone(), triangles }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unit cube, cut into six tetrahedra around its diagonal.
    fn cube() -> TetMesh {
        let vertices = (0..8).map(|n| DVec3::new((n & 1) as f64, (n >> 1 & 1) as f64, (n >> 2 & 1) as f64)).collect();
        let paths = [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]];
        TetMesh { vertices, tetrahedra: paths.map(|[a, b]| [0, a, b, 7]).to_vec() }
    }

    #[test]
    fn cube_of_six() {
        let cube = cube();
        assert!((0..6).all(|t| (cube.volume_of(t) - 1.0 / 6.0).abs() < 1e-15));
        let surface = cube.surface();
        assert_eq!(surface.triangles.len(), 12);
        assert!((surface.volume() - 1.0).abs() < 1e-15, "{}", surface.volume());
        assert!((surface.area() - 6.0).abs() < 1e-15);
    }
}
