//! Primitive shapes, centred on their local origin.

use super::mesh::Bounds;
use super::{TriMesh, VolumeMoments, tessellate};
use glam::{DMat3, DVec2, DVec3};
use std::f64::consts::PI;
use std::sync::Arc;

/// A closed shape in its own frame.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Axis-aligned box with these edge lengths, m.
    Box {
        /// Edge lengths, m.
        size: glam::DVec3,
    },
    /// Ball.
    Sphere {
        /// Radius, m.
        radius: f64,
    },
    /// Cylinder about the local y axis.
    Cylinder {
        /// Radius, m.
        radius: f64,
        /// Length along y, m.
        height: f64,
    },
    /// Cylinder about the local y axis with hemispherical ends.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Length along y *between* the centres of the hemispheres, m.
        height: f64,
    },
    /// Ring about the local y axis.
    Torus {
        /// Radius of the centre line, m.
        major: f64,
        /// Radius of the tube, m.
        minor: f64,
    },
    /// Any closed triangle mesh (already scaled).
    Mesh(Arc<TriMesh>),
}

impl Shape {
    /// A closed triangulation, normals outwards, that encloses exactly the shape's volume. Curved parts are divided
    /// into edges of about `max_edge` (m) at most; flat parts and meshes are left as they are.
    pub fn surface(&self, max_edge: f64) -> TriMesh {
        assert!(max_edge > 0.0, "the resolution of a surface must be positive");
        match *self {
            Shape::Box { size } => tessellate::cuboid(size),
            Shape::Sphere { radius } => tessellate::sphere(radius, max_edge),
            Shape::Cylinder { radius, height } => tessellate::cylinder(radius, height, max_edge),
            Shape::Capsule { radius, height } => tessellate::capsule(radius, height, max_edge),
            Shape::Torus { major, minor } => tessellate::torus(major, minor, max_edge),
            Shape::Mesh(ref mesh) => TriMesh::clone(mesh),
        }
    }

    /// The smallest box around the shape in its own frame.
    pub fn bounds(&self) -> Bounds {
        let half = match *self {
            Shape::Box { size } => 0.5 * size,
            Shape::Sphere { radius } => DVec3::splat(radius),
            Shape::Cylinder { radius, height } => DVec3::new(radius, 0.5 * height, radius),
            Shape::Capsule { radius, height } => DVec3::new(radius, 0.5 * height + radius, radius),
            Shape::Torus { major, minor } => DVec3::new(major + minor, minor, major + minor),
            Shape::Mesh(ref mesh) => return mesh.bounds(),
        };
        Bounds { min: -half, max: half }
    }

    /// m³.
    pub fn volume(&self) -> f64 {
        self.mass_properties().volume
    }

    /// Volume, centroid and inertia of the homogeneous solid, in closed form for primitives.
    pub fn mass_properties(&self) -> VolumeMoments {
        // Inertia of each primitive about its axis (y) and across it (x and z), per unit volume.
        let (volume, across, along) = match *self {
            Shape::Box { size } => {
                let [x, y, z] = (size * size).to_array();
                let volume = size.element_product();
                let inertia = volume / 12.0 * DMat3::from_diagonal(DVec3::new(y + z, z + x, x + y));
                return VolumeMoments { volume, centroid: DVec3::ZERO, inertia };
            }
            Shape::Sphere { radius } => {
                let inertia = 0.4 * radius * radius;
                (ball(radius), inertia, inertia)
            }
            Shape::Cylinder { radius: r, height: h } => (PI * r * r * h, (3.0 * r * r + h * h) / 12.0, 0.5 * r * r),
            Shape::Capsule { radius: r, height: h } => {
                let (barrel, caps) = (PI * r * r * h, ball(r));
                // A hemisphere's centroid is 3r/8 above its centre, which is h/2 from the middle.
                let caps_across = 0.4 * r * r + 0.25 * h * h + 0.375 * r * h;
                let across = barrel * (3.0 * r * r + h * h) / 12.0 + caps * caps_across;
                let along = barrel * 0.5 * r * r + caps * 0.4 * r * r;
                let volume = barrel + caps;
                (volume, across / volume, along / volume)
            }
            Shape::Torus { major, minor } => {
                let (r2, a2) = (major * major, minor * minor);
                (2.0 * PI * PI * major * a2, 0.5 * r2 + 0.625 * a2, r2 + 0.75 * a2)
            }
            Shape::Mesh(ref mesh) => return mesh.mass_properties(),
        };
        let inertia = volume * DMat3::from_diagonal(DVec3::new(across, along, across));
        VolumeMoments { volume, centroid: DVec3::ZERO, inertia }
    }
}

/// Signed distance to a box with these half edges, m.
pub(super) fn box_distance(point: DVec3, half: DVec3) -> f64 {
    let q = point.abs() - half;
    q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
}

/// Signed distance to a cylinder about y, m.
pub(super) fn cylinder_distance(point: DVec3, radius: f64, height: f64) -> f64 {
    let q = DVec2::new(point.x.hypot(point.z) - radius, point.y.abs() - 0.5 * height);
    q.max(DVec2::ZERO).length() + q.max_element().min(0.0)
}

/// Signed distance to a capsule about y, m.
pub(super) fn capsule_distance(point: DVec3, radius: f64, height: f64) -> f64 {
    let on_axis = DVec3::new(0.0, point.y.clamp(-0.5 * height, 0.5 * height), 0.0);
    point.distance(on_axis) - radius
}

/// Signed distance to a ring about y, m.
pub(super) fn torus_distance(point: DVec3, major: f64, minor: f64) -> f64 {
    (point.x.hypot(point.z) - major).hypot(point.y) - minor
}

fn ball(radius: f64) -> f64 {
    4.0 / 3.0 * PI * radius.powi(3)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn primitives() -> [Shape; 5] {
        [
            Shape::Box { size: DVec3::new(1.0, 0.6, 0.8) },
            Shape::Sphere { radius: 0.5 },
            Shape::Cylinder { radius: 0.4, height: 0.9 },
            Shape::Capsule { radius: 0.3, height: 0.7 },
            Shape::Torus { major: 0.5, minor: 0.2 },
        ]
    }

    #[test]
    fn closed_forms_agree_with_fine_surfaces() {
        for shape in primitives() {
            let surface = shape.surface(0.01);
            let (exact, mesh) = (shape.mass_properties(), surface.mass_properties());
            assert!((mesh.volume / exact.volume - 1.0).abs() < 1e-12, "{shape:?}");
            assert!(mesh.centroid.length() < 1e-12);
            let difference = mesh.inertia - exact.inertia;
            let scale = exact.inertia.x_axis.x;
            assert!(difference.to_cols_array().iter().all(|e| e.abs() < 1e-3 * scale), "{shape:?} {difference}");
            let (b, m) = (shape.bounds(), surface.bounds());
            assert!((b.min - m.min).abs().max_element() < 1e-3 && (b.max - m.max).abs().max_element() < 1e-3);
        }
    }
}
