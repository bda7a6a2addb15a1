//! Surfaces: triangle meshes, primitive shapes, poses, signed distances.

mod mesh;
mod shape;

pub use mesh::TriMesh;
pub use shape::Shape;

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// Where a body is and how it is turned: world = position + rotation · local.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Position of the body's local origin, m.
    pub position: DVec3,
    /// Unit quaternion.
    pub rotation: DQuat,
}

impl Pose {
    /// The body's frame is the world's.
    pub const IDENTITY: Self = Self { position: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// Local point → world point.
    pub fn apply(&self, local: DVec3) -> DVec3 {
        self.position + self.rotation * local
    }

    /// World point → local point.
    pub fn invert(&self, world: DVec3) -> DVec3 {
        self.rotation.conjugate() * (world - self.position)
    }
}
