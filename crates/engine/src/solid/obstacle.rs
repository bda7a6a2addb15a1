//! Static and scripted solids: the fluid feels them, they feel nothing.
//!
//! Over a step the surface moves with *one* rigid velocity, the difference of the poses at its ends
//! ((x₁ − x₀)/Δt and log(q₁q₀⁻¹)/Δt): a rigid field has no net flux through a closed surface, so a
//! moving obstacle neither makes nor swallows fluid, however fast it goes.

use crate::geometry::{Pose, RigidVelocity, Shape};
use glam::{DQuat, DVec3};

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

impl Obstacle {
    /// A solid that stays at a place, m.
    pub fn fixed(name: &str, shape: Shape, position: impl Into<DVec3>) -> Self {
        let pose = Pose { position: position.into(), ..Pose::IDENTITY };
        Self { name: name.into(), shape, motion: Motion::Static(pose) }
    }
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
    /// Keyframes in rising time order. Positions follow a monotone cubic (no overshoot, velocity continuous, at rest
    /// at the ends), rotations the shortest arcs; the first and the last pose stay before and after.
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

impl Motion {
    /// Where the body is at time `t`, s.
    pub fn pose(&self, t: f64) -> Pose {
        match self {
            Motion::Static(pose) => *pose,
            Motion::Steady { start, velocity, angular_velocity } => Pose {
                position: start.position + t * *velocity,
                rotation: (DQuat::from_scaled_axis(t * *angular_velocity) * start.rotation).normalize(),
            },
            Motion::Keyframes(keys) => keyframed(keys, t),
        }
    }

    /// Whether the body never moves.
    pub fn is_static(&self) -> bool {
        match self {
            Motion::Static(_) => true,
            Motion::Steady { velocity, angular_velocity, .. } => {
                *velocity == DVec3::ZERO && *angular_velocity == DVec3::ZERO
            }
            Motion::Keyframes(keys) => keys.windows(2).all(|pair| pair[0].pose == pair[1].pose),
        }
    }

    /// The rigid velocity that carries the body from its pose at `t` to the one at `t + dt`, about its position at
    /// `t + dt`.
    pub fn velocity(&self, t: f64, dt: f64) -> RigidVelocity {
        let (from, to) = (self.pose(t), self.pose(t + dt));
        let angular = match self {
            // Known even if it turns by more than half a turn within the step.
            Motion::Steady { angular_velocity, .. } => *angular_velocity,
            _ => shortest(to.rotation * from.rotation.conjugate()).to_scaled_axis() / dt,
        };
        RigidVelocity { centre: to.position, linear: (to.position - from.position) / dt, angular }
    }
}

/// The same rotation by at most half a turn.
fn shortest(rotation: DQuat) -> DQuat {
    if rotation.w < 0.0 { -rotation } else { rotation }
}

fn keyframed(keys: &[Keyframe], t: f64) -> Pose {
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Pose::IDENTITY };
    if t <= first.time {
        return first.pose;
    }
    if t >= last.time {
        return last.pose;
    }
    let i = keys.partition_point(|key| key.time <= t) - 1;
    let [a, b] = [keys[i], keys[i + 1]];
    let h = b.time - a.time;
    let s = (t - a.time) / h;
    let [m0, m1] = [i, i + 1].map(|k| tangent(keys, k));
    // Cubic Hermite: starts at a with slope m0, ends at b with slope m1.
    let position = a.pose.position
        + s * s * (3.0 - 2.0 * s) * (b.pose.position - a.pose.position)
        + s * (1.0 - s) * h * ((1.0 - s) * m0 - s * m1);
    Pose { position, rotation: a.pose.rotation.slerp(b.pose.rotation, s).normalize() }
}

/// Velocity at a key, m/s: per coordinate the weighted harmonic mean of the slopes on both sides (Fritsch and Butland
/// 1984), which keeps the path monotone between keys; zero where it turns back and at the ends.
fn tangent(keys: &[Keyframe], k: usize) -> DVec3 {
    if k == 0 || k + 1 == keys.len() {
        return DVec3::ZERO;
    }
    let slope = |a: &Keyframe, b: &Keyframe| (b.pose.position - a.pose.position) / (b.time - a.time);
    let (before, after) = (slope(&keys[k - 1], &keys[k]), slope(&keys[k], &keys[k + 1]));
    let (h0, h1) = (keys[k].time - keys[k - 1].time, keys[k + 1].time - keys[k].time);
    let (w0, w1) = (2.0 * h1 + h0, h1 + 2.0 * h0);
    DVec3::from([0, 1, 2].map(|a| {
        let (d0, d1) = (before[a], after[a]);
        if d0 * d1 <= 0.0 { 0.0 } else { (w0 + w1) / (w0 / d0 + w1 / d1) }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn key(time: f64, position: [f64; 3], turn: f64) -> Keyframe {
        let rotation = DQuat::from_scaled_axis(turn * DVec3::new(0.0, 0.6, 0.8));
        Keyframe { time, pose: Pose { position: DVec3::from(position), rotation } }
    }

    fn path() -> Motion {
        Motion::Keyframes(vec![
            key(1.0, [0.0, 0.0, 0.0], 0.0),
            key(2.0, [1.0, 5.0, 0.0], 1.0),
            key(4.0, [1.5, -1.0, 0.0], 0.5),
            key(4.5, [4.0, -1.0, 2.0], 2.0),
        ])
    }

    #[test]
    fn steady_motion_is_where_it_should_be_with_its_own_velocity() {
        let start = Pose { position: DVec3::ONE, rotation: DQuat::from_rotation_x(0.3) };
        let (velocity, angular_velocity) = (DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.0, 0.0, 2.0 * PI));
        let motion = Motion::Steady { start, velocity, angular_velocity };
        let pose = motion.pose(0.25);
        assert!((pose.position - DVec3::new(1.25, 1.5, 1.75)).length() < 1e-15);
        assert!((pose.rotation * DVec3::X - DVec3::Y).length() < 1e-15);
        let v = motion.velocity(0.25, 0.9);
        assert!((v.linear - velocity).length() < 1e-14);
        assert_eq!(v.angular, angular_velocity);
        assert_eq!(v.centre, motion.pose(1.15).position);
    }

    #[test]
    fn a_body_carried_by_its_velocity_arrives_at_its_next_pose() {
        for (t, dt) in [(0.9, 0.3), (1.9, 0.2), (3.0, 1.4)] {
            let (from, to, v) = (path().pose(t), path().pose(t + dt), path().velocity(t, dt));
            assert!((from.position + dt * v.linear - to.position).length() < 1e-14);
            let turned = DQuat::from_scaled_axis(dt * v.angular) * from.rotation;
            assert!(turned.dot(to.rotation).abs() > 1.0 - 1e-14);
        }
    }

    #[test]
    fn keyframes_are_met_and_held() {
        let Motion::Keyframes(keys) = path() else { unreachable!() };
        for key in &keys {
            assert!((path().pose(key.time).position - key.pose.position).length() < 1e-14);
        }
        assert_eq!(path().pose(-5.0), keys[0].pose);
        assert_eq!(path().pose(9.0), keys[3].pose);
        assert_eq!(path().velocity(5.0, 0.1).linear, DVec3::ZERO);
        assert_eq!(path().velocity(0.0, 0.5).angular, DVec3::ZERO);
    }

    #[test]
    fn velocity_is_continuous_and_the_path_does_not_overshoot() {
        let dt = 1e-6;
        for time in [1.0, 2.0, 4.0, 4.5] {
            let (before, after) = (path().velocity(time - dt, dt).linear, path().velocity(time, dt).linear);
            assert!((before - after).length() < 1e-3, "{time}: {before} {after}");
        }
        let mut last = path().pose(1.0).position.x;
        for i in 0..=350 {
            let position = path().pose(1.0 + 0.01 * i as f64).position;
            assert!(position.x >= last && (-1.0..=5.0).contains(&position.y));
            last = position.x;
        }
    }

    #[test]
    fn halfway_between_two_keys_is_half_the_turn() {
        let motion = Motion::Keyframes(vec![key(0.0, [0.0; 3], 0.0), key(2.0, [2.0, 0.0, 0.0], 1.0)]);
        let expected = key(0.0, [0.0; 3], 0.5).pose.rotation;
        assert!(motion.pose(1.0).rotation.dot(expected).abs() > 1.0 - 1e-15);
        assert!((motion.pose(1.0).position.x - 1.0).abs() < 1e-15);
        assert!((motion.velocity(0.5, 0.5).angular.length() - 0.5).abs() < 1e-14);
    }

    #[test]
    fn only_what_never_moves_is_static() {
        let still = Motion::Keyframes(vec![key(0.0, [1.0; 3], 0.2), key(3.0, [1.0; 3], 0.2)]);
        assert!(still.is_static() && Motion::Static(Pose::IDENTITY).is_static());
        let rest = Motion::Steady { start: Pose::IDENTITY, velocity: DVec3::ZERO, angular_velocity: DVec3::ZERO };
        assert!(rest.is_static());
        assert!(!path().is_static());
        assert!(Motion::Keyframes(Vec::new()).is_static());
    }
}
