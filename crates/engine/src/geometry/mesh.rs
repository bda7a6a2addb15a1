//! A closed surface of triangles, and what follows from it by the divergence theorem.
//!
//! Volume, centroid and inertia are sums over the signed tetrahedra that the triangles span with a
//! point: exact for the polyhedron, whatever its shape. Only [`TriMesh::check`] makes
//! sure that a mesh from outside is closed, and tells if it passes through itself.

use super::Pose;
use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

/// Vertices and counter-clockwise triangles (normals point out of the solid).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriMesh {
    /// Positions, m.
    pub vertices: Vec<DVec3>,
    /// Vertex indices of each triangle.
    pub triangles: Vec<[u32; 3]>,
}

/// How much of a homogeneous solid is where, per unit density.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeMoments {
    /// m³.
    pub volume: f64,
    /// Centre of mass, m.
    pub centroid: DVec3,
    /// Inertia about the centroid for a density of 1 kg/m³, kg m² (m⁵).
    pub inertia: DMat3,
}

impl VolumeMoments {
    /// Of tetrahedra: volumes, and corners from `about`. One corner may be that point itself, and left out.
    pub(super) fn of_tetrahedra<const N: usize>(
        about: DVec3,
        tetrahedra: impl Iterator<Item = (f64, [DVec3; N])>,
    ) -> Self {
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for (v, corners) in tetrahedra {
            // ∫x dV = V/4 Σxᵢ and ∫xxᵀ dV = V/20 (Σxᵢxᵢᵀ + ΣxᵢΣxᵢᵀ).
            let sum: DVec3 = corners.iter().sum();
            volume += v;
            first += 0.25 * v * sum;
            second += (v / 20.0) * corners.iter().fold(outer(sum), |m, &x| m + outer(x));
        }
        let offset = first / volume;
        let covariance = second - volume * outer(offset);
        let trace = covariance.x_axis.x + covariance.y_axis.y + covariance.z_axis.z;
        Self { volume, centroid: about + offset, inertia: trace * DMat3::IDENTITY - covariance }
    }
}

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smallest coordinates, m.
    pub min: DVec3,
    /// Largest coordinates, m.
    pub max: DVec3,
}

impl TriMesh {
    /// The three corners of a triangle, m.
    pub fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|v| self.vertices[v as usize])
    }

    /// Enclosed volume, m³; negative when the normals point inwards.
    pub fn volume(&self) -> f64 {
        let about = self.middle();
        self.tetrahedra(about).map(|(volume, _)| volume).sum()
    }

    /// Surface area, m².
    pub fn area(&self) -> f64 {
        let area = |[a, b, c]: [DVec3; 3]| 0.5 * (b - a).cross(c - a).length();
        (0..self.triangles.len()).map(|t| area(self.corners(t))).sum()
    }

    /// Centre of the enclosed volume, m.
    pub fn centroid(&self) -> DVec3 {
        self.mass_properties().centroid
    }

    /// Volume, centroid and inertia of the homogeneous solid inside.
    pub fn mass_properties(&self) -> VolumeMoments {
        // About a point amid the vertices, so that a mesh far from the origin loses no digits.
        let about = self.middle();
        VolumeMoments::of_tetrahedra(about, self.tetrahedra(about))
    }

    /// The smallest axis-aligned box around all vertices; empty (`min > max`) without any.
    pub fn bounds(&self) -> Bounds {
        Bounds::of(&self.vertices)
    }

    /// The mesh with every vertex multiplied by `factor` (per axis, positive), still in its own frame.
    pub fn scaled(&self, factor: DVec3) -> Self {
        assert!(factor.min_element() > 0.0, "mesh scale must be positive");
        self.mapped(|v| factor * v)
    }

    /// The mesh carried from the body's frame into the world's.
    pub fn posed(&self, pose: &Pose) -> Self {
        self.mapped(|v| pose.apply(v))
    }

    /// The mesh with every vertex moved by `f`, which must keep orientation.
    pub fn mapped(&self, f: impl Fn(DVec3) -> DVec3) -> Self {
        Self { vertices: self.vertices.iter().map(|&v| f(v)).collect(), triangles: self.triangles.clone() }
    }

    /// Weights of a triangle's corners at a point of it; they add up to one.
    pub fn barycentric(&self, triangle: usize, point: DVec3) -> [f64; 3] {
        let [a, b, c] = self.corners(triangle);
        let n = (b - a).cross(c - a);
        let n2 = n.length_squared();
        if n2 == 0.0 {
            return [1.0 / 3.0; 3];
        }
        let u = (point - a).cross(c - a).dot(n) / n2;
        let v = (b - a).cross(point - a).dot(n) / n2;
        [1.0 - u - v, u, v]
    }

    /// Which vertices belong to triangles.
    pub fn used_vertices(&self) -> Vec<bool> {
        let mut used = vec![false; self.vertices.len()];
        self.triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
        used
    }

    /// Keep only vertices of triangles, in their order; returns how many were dropped.
    pub fn drop_unused_vertices(&mut self) -> usize {
        let used = self.used_vertices();
        let dropped = used.iter().filter(|&&u| !u).count();
        if dropped > 0 {
            let mut kept = 0;
            let number = |&is_used: &bool| {
                kept += is_used as u32;
                kept.wrapping_sub(1)
            };
            let new: Vec<u32> = used.iter().map(number).collect();
            self.triangles.iter_mut().flatten().for_each(|v| *v = new[*v as usize]);
            let mut keep = used.iter();
            self.vertices.retain(|_| *keep.next().unwrap_or(&false));
        }
        dropped
    }

    /// Turn the surface inside out.
    pub fn flip(&mut self) {
        for triangle in &mut self.triangles {
            triangle.swap(1, 2);
        }
    }

    /// Signed volume and corners relative to `about` of the tetrahedron under each triangle.
    fn tetrahedra(&self, about: DVec3) -> impl Iterator<Item = (f64, [DVec3; 3])> {
        (0..self.triangles.len()).map(move |t| {
            let corners = self.corners(t).map(|x| x - about);
            (corners[0].dot(corners[1].cross(corners[2])) / 6.0, corners)
        })
    }

    fn middle(&self) -> DVec3 {
        let bounds = self.bounds();
        if self.vertices.is_empty() { DVec3::ZERO } else { 0.5 * (bounds.min + bounds.max) }
    }
}

impl Bounds {
    /// Contains nothing.
    pub const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    /// Around some points, m.
    pub fn of(points: &[DVec3]) -> Self {
        points.iter().fold(Self::EMPTY, |b, &p| Self { min: b.min.min(p), max: b.max.max(p) })
    }

    /// Edge lengths, m.
    pub fn size(&self) -> DVec3 {
        self.max - self.min
    }
}

pub(super) fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use glam::DQuat;

    fn brick() -> TriMesh {
        Shape::Box { size: DVec3::new(1.0, 2.0, 3.0) }.surface(1.0)
    }

    #[test]
    fn a_box_has_the_mass_properties_of_the_textbook() {
        let pose = Pose { position: DVec3::new(1e3, -2e3, 5.0), rotation: DQuat::IDENTITY };
        let mass = brick().posed(&pose).mass_properties();
        assert!((mass.volume - 6.0).abs() < 1e-12);
        assert!((mass.centroid - pose.position).length() < 1e-9);
        let expected = DVec3::new(13.0, 10.0, 5.0) * 6.0 / 12.0;
        assert!((mass.inertia - DMat3::from_diagonal(expected)).to_cols_array().iter().all(|e| e.abs() < 1e-10));
        assert!((brick().area() - 22.0).abs() < 1e-12);
    }

    #[test]
    fn a_turned_box_keeps_its_volume_and_turns_its_inertia() {
        let rotation = DQuat::from_scaled_axis(DVec3::new(0.3, -0.7, 1.1));
        let still = brick().mass_properties();
        let turned = brick().posed(&Pose { position: DVec3::ONE, rotation }).mass_properties();
        let r = DMat3::from_quat(rotation);
        assert!((turned.volume - still.volume).abs() < 1e-13);
        let difference = turned.inertia - r * still.inertia * r.transpose();
        assert!(difference.to_cols_array().iter().all(|e| e.abs() < 1e-12));
    }

    #[test]
    fn flipping_negates_the_volume_and_bounds_follow_scale() {
        let mut mesh = brick().scaled(DVec3::new(2.0, 1.0, 1.0));
        assert_eq!(mesh.bounds().size(), DVec3::new(2.0, 2.0, 3.0));
        mesh.flip();
        assert!((mesh.volume() + 12.0).abs() < 1e-12);
    }

    #[test]
    fn barycentric_weights_give_back_the_point() {
        let mesh = brick();
        let [a, b, c] = mesh.corners(5);
        let weights = mesh.barycentric(5, 0.2 * a + 0.3 * b + 0.5 * c);
        for (weight, expected) in weights.into_iter().zip([0.2, 0.3, 0.5]) {
            assert!((weight - expected).abs() < 1e-14);
        }
    }
}
