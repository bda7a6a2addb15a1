//! How well tetrahedra are shaped.
//!
//! The radius ratio 3 r/R compares the inscribed with the circumscribed sphere: 1 for the regular
//! tetrahedron, 0 for a flat one. Small dihedral angles make stiffness matrices ill-conditioned, large
//! ones make interpolated gradients wrong (Shewchuk 2002, "What is a good linear element?").

use super::{SIDES, TetMesh};
use glam::DVec3;
use rayon::prelude::*;

/// The shapes of all tetrahedra of a mesh, in short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Number of tetrahedra.
    pub tetrahedra: usize,
    /// Radius ratio of the worst, 0 (flat) to 1 (regular).
    pub min: f64,
    /// Mean radius ratio.
    pub mean: f64,
    /// The worst tetrahedron, counted from 0.
    pub worst: usize,
    /// Smallest dihedral angle, degrees.
    pub smallest_angle: f64,
    /// Largest dihedral angle, degrees.
    pub largest_angle: f64,
}

impl TetMesh {
    /// Measure all tetrahedra; there must be one at least.
    pub fn quality(&self) -> Quality {
        assert!(!self.tetrahedra.is_empty(), "a mesh without tetrahedra has no quality");
        let measures: Vec<[f64; 3]> = (0..self.tetrahedra.len())
            .into_par_iter()
            .map(|t| {
                let [smallest, largest] = angles(self.corners(t));
                [radius_ratio(self.corners(t)), smallest, largest]
            })
            .collect();
        let [min, smallest_angle, largest_angle] = measures
            .iter()
            .copied()
            .reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2])])
            .unwrap_or_default();
        Quality {
            tetrahedra: measures.len(),
            min,
            mean: measures.iter().map(|m| m[0]).sum::<f64>() / measures.len() as f64,
            worst: measures.iter().position(|m| m[0] == min).unwrap_or(0),
            smallest_angle,
            largest_angle,
        }
    }
}

impl std::fmt::Display for Quality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} tetrahedra, radius ratio {:.3} at least (number {}), {:.3} on average, angles {:.1}° to {:.1}°",
            self.tetrahedra, self.min, self.worst, self.mean, self.smallest_angle, self.largest_angle
        )
    }
}

/// 3 r/R = 108 V² / (A |Σ …|), negative if the tetrahedron is inside out.
fn radius_ratio([a, b, c, d]: [DVec3; 4]) -> f64 {
    let [u, v, w] = [b - a, c - a, d - a];
    let volume = u.cross(v).dot(w) / 6.0;
    let area = 0.5 * outward([a, b, c, d]).iter().map(|n| n.length()).sum::<f64>();
    // The circumcentre lies at a + `twelve` / (12 V).
    let twelve = u.length_squared() * v.cross(w) + v.length_squared() * w.cross(u) + w.length_squared() * u.cross(v);
    let scale = area * twelve.length();
    if scale == 0.0 { 0.0 } else { 108.0 * volume * volume.abs() / scale }
}

/// The smallest and the largest of the six angles between sides, degrees.
fn angles(corners: [DVec3; 4]) -> [f64; 2] {
    let normals = outward(corners);
    let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    pairs.iter().fold([180.0, 0.0], |[smallest, largest]: [f64; 2], &[i, j]| {
        // The arc tangent is exact near 0° and 180°, where the arc cosine is not.
        let angle = normals[i].cross(normals[j]).length().atan2(-normals[i].dot(normals[j])).to_degrees();
        [smallest.min(angle), largest.max(angle)]
    })
}

/// Normals of the sides, twice as long as their areas.
fn outward(corners: [DVec3; 4]) -> [DVec3; 4] {
    SIDES.map(|[a, b, c]| (corners[b] - corners[a]).cross(corners[c] - corners[a]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(corners: [DVec3; 4]) -> Quality {
        TetMesh { vertices: corners.to_vec(), tetrahedra: vec![[0, 1, 2, 3]] }.quality()
    }

    #[test]
    fn the_regular_tetrahedron_is_best() {
        let corners = [[1., 1., 1.], [-1., 1., -1.], [1., -1., -1.], [-1., -1., 1.]].map(DVec3::from);
        let quality = one(corners);
        assert!((quality.min - 1.0).abs() < 1e-14, "{quality}");
        let angle = (1.0f64 / 3.0).acos().to_degrees();
        assert!((quality.smallest_angle - angle).abs() < 1e-12 && (quality.largest_angle - angle).abs() < 1e-12);
    }

    #[test]
    fn the_corner_of_a_cube_has_known_radii() {
        // r = 3V/A with V = 1/6 and A = (3 + √3)/2, R = √3/2.
        let quality = one([DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]);
        let expected = 3.0 * (1.0 / (3.0 + 3f64.sqrt())) / (0.5 * 3f64.sqrt());
        assert!((quality.min - expected).abs() < 1e-14, "{quality}");
        assert!((quality.largest_angle - 90.0).abs() < 1e-12);
        assert!((quality.smallest_angle - 2f64.sqrt().atan().to_degrees()).abs() < 1e-12);
    }

    #[test]
    fn a_flat_one_has_none_and_the_worst_is_named() {
        let flat = one([DVec3::ZERO, DVec3::X, DVec3::ONE - DVec3::Z, DVec3::Y]);
        assert_eq!((flat.min, flat.smallest_angle, flat.largest_angle), (0.0, 0.0, 180.0));
        let mut block = TetMesh::block(DVec3::ONE, [2; 3]);
        let middle = block.vertices.iter().position(|v| *v == DVec3::ZERO).unwrap();
        block.vertices[middle] += 0.2 * DVec3::ONE;
        let quality = block.quality();
        assert!(block.tetrahedra[quality.worst].contains(&(middle as u32)), "{quality}");
        assert!(quality.min < quality.mean && quality.to_string().starts_with("48 tetrahedra, radius ratio 0."));
    }
}
