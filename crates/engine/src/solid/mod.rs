//! Solids that touch the fluid.

pub mod elastic;
mod obstacle;
pub mod rigid;

pub use elastic::{ElasticBody, ElasticError, ElasticState, Material, Pin};
pub use obstacle::{Keyframe, Motion, Obstacle};
pub use rigid::{Joint, RigidBody, RigidState, Rigids};
