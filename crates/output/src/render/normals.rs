//! Smooth normals with creases.
//!
//! A corner of a triangle takes the mean of the normals of those triangles around its vertex that differ from its
//! own by less than the crease angle, weighted by their angles at the vertex. Vertices at the same place count as one, since some
//! formats repeat them.

use bathtub_engine::geometry::TriMesh;
use glam::{DVec3, Vec3A};
use std::collections::HashMap;

/// Edges sharper than this stay edges: cos 38°.
const CREASE_COSINE: f64 = 0.788;

/// Unit normals of the three corners of every triangle.
pub fn corner_normals(mesh: &TriMesh) -> Vec<[Vec3A; 3]> {
    // The map is only looked up, never walked, so its order does not matter.
    let mut places = HashMap::new();
    let place: Vec<usize> = mesh
        .vertices
        .iter()
        .map(|v| {
            let next = places.len();
            *places.entry(v.to_array().map(|c| (c + 0.0).to_bits())).or_insert(next)
        })
        .collect();

    let mut around = vec![Vec::new(); places.len()];
    let faces: Vec<DVec3> = mesh
        .triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v| mesh.vertices[v as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        })
        .collect();
    for (face, triangle) in mesh.triangles.iter().enumerate() {
        for corner in 0..3 {
            let [at, next, last] = [0, 1, 2].map(|n| mesh.vertices[triangle[(corner + n) % 3] as usize]);
            let angle = (next - at).angle_between(last - at);
            let weight = if angle.is_finite() { angle } else { 0.0 };
            around[place[triangle[corner] as usize]].push((face, weight));
        }
    }
    let smooth = |face: usize, vertex: u32| {
        let own = faces[face];
        let alike = around[place[vertex as usize]].iter().filter(|&&(f, _)| faces[f].dot(own) > CREASE_COSINE);
        let sum: DVec3 = alike.map(|&(f, weight)| weight * faces[f]).sum();
        sum.try_normalize().unwrap_or(own).as_vec3a()
    };
    mesh.triangles.iter().enumerate().map(|(face, t)| t.map(|vertex| smooth(face, vertex))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_angle_is_a_crease_and_a_gentle_one_is_not() {
        let roof = |height: f64| TriMesh {
            vertices: vec![DVec3::ZERO, DVec3::Z, DVec3::new(1.0, -height, 0.0), DVec3::new(-1.0, -height, 0.0)],
            triangles: vec![[0, 1, 2], [1, 0, 3]],
        };
        let sharp = corner_normals(&roof(1.0));
        assert!(sharp[0][0].dot(sharp[1][1]) < 0.1);
        let gentle = corner_normals(&roof(0.2));
        assert!(gentle[0][0].dot(Vec3A::Y) > 0.999 && gentle[1][1].dot(Vec3A::Y) > 0.999);
        assert!(gentle[0][2].dot(Vec3A::Y) < 0.99, "the outer corner belongs to one triangle only");
    }
}
