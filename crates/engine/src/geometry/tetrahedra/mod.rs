//! Solids made of tetrahedra: read, checked, measured, or made from a shape.

mod block;
mod boundary;
mod check;
mod formats;
mod lattice;
mod mass;
mod quality;
mod stencil;
mod stuffing;

pub use check::{TetError, TetWarning};
pub use formats::TetFormat;
pub use quality::Quality;
pub use stuffing::StuffingError;

use super::Bounds;
use glam::DVec3;
use serde::{Deserialize, Serialize};

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

    /// The smallest axis-aligned box around all vertices; empty (`min > max`) without any.
    pub fn bounds(&self) -> Bounds {
        Bounds::of(&self.vertices)
    }

    /// The mesh with every vertex moved by `f`, which must keep orientation.
    pub fn mapped(&self, f: impl Fn(DVec3) -> DVec3) -> Self {
        Self { vertices: self.vertices.iter().map(|&v| f(v)).collect(), tetrahedra: self.tetrahedra.clone() }
    }

    /// Keep only vertices of tetrahedra, in their order; returns how many were dropped.
    fn drop_unused_vertices(&mut self) -> usize {
        let mut new = vec![u32::MAX; self.vertices.len()];
        self.tetrahedra.iter().flatten().for_each(|&v| new[v as usize] = 0);
        let mut kept = Vec::new();
        for (vertex, new) in self.vertices.iter().zip(&mut new).filter(|(_, new)| **new == 0) {
            *new = kept.len() as u32;
            kept.push(*vertex);
        }
        let dropped = self.vertices.len() - kept.len();
        if dropped > 0 {
            self.vertices = kept;
            self.tetrahedra.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_vertices_go_and_the_others_keep_their_order() {
        let mesh = TetMesh::block(DVec3::ONE, [1; 3]);
        let mut more = mesh.clone();
        more.vertices.insert(2, DVec3::splat(9.0));
        more.vertices.push(DVec3::ZERO);
        more.tetrahedra.iter_mut().flatten().for_each(|v| *v += (*v >= 2) as u32);
        assert_eq!(more.drop_unused_vertices(), 2);
        assert_eq!(more, mesh);
        assert_eq!(more.drop_unused_vertices(), 0);
    }

    #[test]
    fn bounds_follow_the_vertices() {
        let mesh = TetMesh::block(DVec3::new(1.0, 2.0, 4.0), [1; 3]).mapped(|v| 2.0 * v + DVec3::X);
        assert_eq!(mesh.bounds(), Bounds { min: DVec3::new(0.0, -2.0, -4.0), max: DVec3::new(2.0, 2.0, 4.0) });
        assert!((mesh.volume() - 64.0).abs() < 1e-12);
    }
}
