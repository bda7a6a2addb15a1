//! Primitive shapes, centred on their local origin.

use super::TriMesh;
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
