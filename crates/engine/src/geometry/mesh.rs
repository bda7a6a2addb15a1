//! A closed surface of triangles.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Vertices and counter-clockwise triangles (normals point out of the solid).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriMesh {
    /// Positions, m.
    pub vertices: Vec<DVec3>,
    /// Vertex indices of each triangle.
    pub triangles: Vec<[u32; 3]>,
}
