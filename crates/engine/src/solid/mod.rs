//! Solids that touch the fluid.

mod obstacle;

pub use obstacle::{Keyframe, Motion, Obstacle};
