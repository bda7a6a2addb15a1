//! Surfaces and solids: triangle and tetrahedral meshes, primitive shapes, poses, signed distances.

mod band;
mod charts;
mod check;
mod crossings;
mod distance;
mod formats;
mod mesh;
mod shape;
mod tessellate;
mod tetrahedra;

pub use band::{Band, Nearest};
pub(crate) use band::{closest, rates};
pub use charts::{Chart, Charts};
pub use check::{MeshError, MeshWarning};
pub use distance::{SampledDistance, SignedDistance};
pub use formats::MeshFormat;
pub use mesh::{Bounds, TriMesh, VolumeMoments};
pub use shape::Shape;
pub use tetrahedra::{Quality, StuffingError, TetError, TetFormat, TetMesh, TetWarning};

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// One of the surfaces in a fluid, whoever moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SurfaceId(pub u32);

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

/// How a rigid body moves at an instant: v(x) = linear + angular × (x − centre).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RigidVelocity {
    /// Where the velocity is `linear`, m.
    pub centre: DVec3,
    /// m/s.
    pub linear: DVec3,
    /// World axis times rad/s.
    pub angular: DVec3,
}

impl RigidVelocity {
    /// Nothing moves.
    pub const REST: Self = Self { centre: DVec3::ZERO, linear: DVec3::ZERO, angular: DVec3::ZERO };

    /// Velocity of the material point at `world`, m/s.
    pub fn at(&self, world: DVec3) -> DVec3 {
        self.linear + self.angular.cross(world - self.centre)
    }

    /// Six numbers: along the axes, and about them.
    pub fn twist(&self) -> [f64; 6] {
        let Self { linear, angular, .. } = self;
        [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
    }
}
