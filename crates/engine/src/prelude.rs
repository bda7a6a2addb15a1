//! What most programs need: `use bathtub_engine::prelude::*`.

pub use crate::fluid::boundary::Wall;
pub use crate::fluid::smoke::{SmokeParams, Source};
pub use crate::fluid::water::{Liquid, Region, WaterParams};
pub use crate::fluid::{FluidParams, FluidState};
pub use crate::geometry::{Pose, Shape, TetMesh, TriMesh};
pub use crate::grid::{Axis, Grid};
pub use crate::report::StepReport;
pub use crate::solid::Interface;
pub use crate::solid::elastic::{Elastic, Material};
pub use crate::solid::rigid::{Joint, JointKind, Mass, RigidBody};
pub use crate::solid::{Family, Motion, Obstacle};
pub use crate::world::{State, StepError, TimeParams, World, WorldError, WorldParams};
pub use glam::{DQuat, DVec3};
