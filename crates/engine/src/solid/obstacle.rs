//! Static and scripted solids: the fluid feels them, they feel nothing.

use crate::geometry::{Pose, Shape};
use glam::DVec3;

/// A solid whose motion is given beforehand.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// Unique name, for statistics and output.
    pub name: String,
    /// Geometry in the body's frame.
    pub shape: Shape,
    /// Path over time.
    pub motion: Motion,
}

/// The path of a scripted body.
#[derive(Clone, Debug)]
pub enum Motion {
    /// Stays where it is.
    Static(Pose),
    /// Constant velocity and spin from a starting pose.
    Steady {
        /// Pose at t = 0.
        start: Pose,
        /// m/s.
        velocity: DVec3,
        /// World axis times rad/s.
        angular_velocity: DVec3,
    },
    /// Keyframes in rising time order; smooth (cubic Hermite) positions and slerped rotations between, held outside.
    Keyframes(Vec<Keyframe>),
}

/// One key of a scripted path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// Time, s.
    pub time: f64,
    /// Pose at that time.
    pub pose: Pose,
}
