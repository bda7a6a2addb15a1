//! Solids that touch the fluid.

pub mod elastic;
mod family;
mod freedoms;
mod obstacle;
pub mod reduced;
pub mod rigid;
mod state;
mod surface;

pub use elastic::{ElasticBody, ElasticError, ElasticState, Material, Pin};
pub use family::{Family, Toucher};
pub use freedoms::{Attached, Follow, Freedoms, Point, Pushed, Response};
pub use obstacle::{Keyframe, Motion, Obstacle};
pub use rigid::{Joint, RigidBody, RigidState, Rigids};
pub use state::SolidState;
pub use surface::{Form, Interface, Outline, Place, Skin};
