//! Mass of a solid of tetrahedra: exact integrals, and the share of each vertex.

use super::TetMesh;
use crate::geometry::VolumeMoments;

impl TetMesh {
    /// Volume, centroid and inertia of the homogeneous solid.
    pub fn mass_properties(&self) -> VolumeMoments {
        // About a point amid the vertices, so that a mesh far from the origin loses no digits.
        let bounds = self.bounds();
        let about = 0.5 * (bounds.min + bounds.max);
        let tetrahedra = (0..self.tetrahedra.len()).map(|t| (self.volume_of(t), self.corners(t).map(|x| x - about)));
        VolumeMoments::of_tetrahedra(about, tetrahedra)
    }

    /// The volume that belongs to each vertex, m³: a quarter of every tetrahedron around it. Volume and centroid
    /// of all are those of the solid.
    pub fn vertex_volumes(&self) -> Vec<f64> {
        let mut volumes = vec![0.0; self.vertices.len()];
        for (t, corners) in self.tetrahedra.iter().enumerate() {
            let quarter = 0.25 * self.volume_of(t);
            corners.iter().for_each(|&v| volumes[v as usize] += quarter);
        }
        volumes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use glam::DVec3;

    #[test]
    fn a_block_far_away_has_the_mass_of_its_box() {
        let size = DVec3::new(1.0, 2.0, 3.0);
        let away = DVec3::new(1e3, -2e3, 5.0);
        let mass = TetMesh::block(size, [3, 2, 4]).mapped(|v| v + away).mass_properties();
        let exact = Shape::Box { size }.mass_properties();
        assert!((mass.volume - exact.volume).abs() < 1e-11, "{}", mass.volume);
        assert!((mass.centroid - away).length() < 1e-9);
        assert!((mass.inertia - exact.inertia).to_cols_array().iter().all(|e| e.abs() < 1e-9), "{}", mass.inertia);
    }

    #[test]
    fn what_the_surface_encloses_is_what_the_tetrahedra_hold() {
        let mesh = TetMesh::block(DVec3::ONE, [2, 3, 1]).mapped(|v| v + 0.2 * DVec3::new(v.y * v.z, v.x, v.x * v.x));
        let (inside, outside) = (mesh.mass_properties(), mesh.surface().mass_properties());
        assert!((inside.volume - outside.volume).abs() < 1e-14);
        assert!((inside.centroid - outside.centroid).length() < 1e-14);
        assert!((inside.inertia - outside.inertia).to_cols_array().iter().all(|e| e.abs() < 1e-14));
    }

    #[test]
    fn quarters_keep_volume_and_centroid() {
        let mesh = TetMesh::block(DVec3::ONE, [2, 3, 1]).mapped(|v| v + 0.2 * DVec3::new(v.y * v.z, v.x, v.x * v.x));
        let (volumes, exact) = (mesh.vertex_volumes(), mesh.mass_properties());
        assert!((volumes.iter().sum::<f64>() - exact.volume).abs() < 1e-14);
        let first: DVec3 = volumes.iter().zip(&mesh.vertices).map(|(&m, &x)| m * x).sum();
        assert!((first / exact.volume - exact.centroid).length() < 1e-14);
        assert!(volumes.iter().all(|&v| v > 0.0));
    }
}
