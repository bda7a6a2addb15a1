//! Solids that touch the fluid.

pub mod elastic;
mod freedoms;
mod obstacle;
pub mod rigid;
mod surface;

pub use elastic::{ElasticBody, ElasticError, ElasticState, Material, Pin};
pub use freedoms::{Attached, Follow, Freedoms, Point, Response};
pub use obstacle::{Keyframe, Motion, Obstacle};
pub use rigid::{Joint, RigidBody, RigidState, Rigids};
pub use surface::{Form, Outline, Place, Skin};
