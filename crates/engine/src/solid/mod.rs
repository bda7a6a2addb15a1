//! Solids that touch the fluid.

mod obstacle;
pub mod rigid;

pub use obstacle::{Keyframe, Motion, Obstacle};
pub use rigid::{Joint, RigidBody, RigidState, Rigids};
