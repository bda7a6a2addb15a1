//! Joints: what they hold, as rows over body twists, and which of them hold nothing new.
//!
//! A joint is given by its place and axis in the world at the start, so bodies fulfil it there by construction.
//! A row reads jacobian[0]·twist₀ + jacobian[1]·twist₁ = 0 with twist = (velocity of the centre, angular velocity).

use super::body::MassProperties;
use super::{RigidError, RigidState, RigidWarning};
use crate::geometry::Pose;
use crate::grid::Axis;
use glam::{DMat3, DQuat, DVec3};
use rapier3d_f64::prelude::{GenericJoint, GenericJointBuilder, JointAxesMask, Pose as RapierPose};

/// Two bodies, or a body and the world, held together at a place. Bodies tied by a joint do not collide with each
/// other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joint {
    /// The motion that it allows.
    pub kind: JointKind,
    /// Number of the first body.
    pub body: usize,
    /// Number of the second body; none for the world.
    pub other: Option<usize>,
    /// Where it is at the start, world, m.
    pub anchor: DVec3,
}

/// The motion that a joint allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// Turning about the anchor (ball and socket).
    Point,
    /// Turning about an axis through the anchor.
    Hinge {
        /// World direction at the start, any length.
        axis: DVec3,
    },
    /// Sliding along an axis, without turning.
    Slider {
        /// World direction at the start, any length.
        axis: DVec3,
    },
    /// Nothing.
    Fixed,
}

/// One scalar constraint between twists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointRow {
    /// Numbers of the two bodies; none for the world.
    pub bodies: [Option<usize>; 2],
    /// Row over (linear, angular) of each; zero for the world.
    pub jacobian: [[f64; 6]; 2],
}

/// A joint in the frames of its two bodies (centre of mass, body axes); the first axis of a frame is the joint's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    kind: JointKind,
    pub bodies: [Option<usize>; 2],
    frames: [Pose; 2],
}

/// Rows with less than this part outside the span of the others are redundant.
/// A choice: far above round-off, far below any angle that somebody would write into a scene.
const DEPENDENT: f64 = 1e-9;

impl JointKind {
    fn axis(&self) -> Option<DVec3> {
        match *self {
            JointKind::Hinge { axis } | JointKind::Slider { axis } => Some(axis),
            JointKind::Point | JointKind::Fixed => None,
        }
    }

    fn locked(&self) -> JointAxesMask {
        match self {
            JointKind::Point => JointAxesMask::LOCKED_SPHERICAL_AXES,
            JointKind::Hinge { .. } => JointAxesMask::LOCKED_REVOLUTE_AXES,
            JointKind::Slider { .. } => JointAxesMask::LOCKED_PRISMATIC_AXES,
            JointKind::Fixed => JointAxesMask::LOCKED_FIXED_AXES,
        }
    }
}

impl Tie {
    /// Check a joint and put it into the frames of its bodies. `frames` are the bodies' at the start, about their
    /// centres.
    pub fn new(
        number: usize,
        joint: &Joint,
        names: &[&str],
        frames: &[Pose],
        flat: [bool; 3],
    ) -> Result<Self, RigidError> {
        let bodies = [Some(joint.body), joint.other];
        if let Some(body) = bodies.into_iter().flatten().find(|&body| body >= names.len()) {
            return Err(RigidError::Missing { joint: number, body, bodies: names.len() });
        }
        if joint.other == Some(joint.body) {
            return Err(RigidError::Itself { joint: number, body: names[joint.body].to_string() });
        }
        if !joint.anchor.is_finite() {
            let wanted = "finite point";
            return Err(RigidError::Geometry { joint: number, what: "anchor", value: joint.anchor, wanted });
        }
        let axis = joint.kind.axis().unwrap_or(DVec3::X);
        let Some(axis) = axis.try_normalize() else {
            return Err(RigidError::Geometry { joint: number, what: "axis", value: axis, wanted: "direction" });
        };
        let in_plane = DVec3::from(flat.map(|flat| if flat { 0.0 } else { 1.0 }));
        let is_flat = in_plane != DVec3::ONE;
        let contradicts = match joint.kind {
            JointKind::Hinge { .. } => is_flat && (axis * in_plane).length() > DEPENDENT,
            JointKind::Slider { .. } => (axis - axis * in_plane).length() > DEPENDENT,
            JointKind::Point | JointKind::Fixed => false,
        };
        if contradicts {
            return Err(RigidError::OutOfPlane { joint: number, axis });
        }
        let rotation = DQuat::from_rotation_arc(DVec3::X, axis);
        let frames = bodies.map(|body| {
            let body = body.map_or(Pose::IDENTITY, |body| frames[body]);
            Pose { position: body.invert(joint.anchor), rotation: body.rotation.conjugate() * rotation }
        });
        Ok(Self { kind: joint.kind, bodies, frames })
    }

    /// As Rapier wants it.
    pub fn rapier(&self) -> GenericJoint {
        let [first, second] = self.frames.map(|f| RapierPose::from_parts(f.position, f.rotation));
        let joint = GenericJointBuilder::new(self.kind.locked()).local_frame1(first).local_frame2(second);
        joint.contacts_enabled(false).build()
    }

    /// Its two ends in the world.
    fn ends(&self, state: &RigidState) -> [Pose; 2] {
        [0, 1].map(|end| match self.bodies[end] {
            None => self.frames[end],
            Some(body) => {
                let body = &state.bodies[body];
                let pose = Pose { position: body.position, rotation: body.rotation };
                Pose {
                    position: pose.apply(self.frames[end].position),
                    rotation: pose.rotation * self.frames[end].rotation,
                }
            }
        })
    }

    /// How far its two ends are apart where they should meet, m.
    pub fn gap(&self, state: &RigidState) -> f64 {
        let [a, b] = self.ends(state);
        let gap = b.position - a.position;
        match self.kind {
            JointKind::Slider { .. } => gap.reject_from_normalized(a.rotation * DVec3::X).length(),
            _ => gap.length(),
        }
    }

    /// The constraints it puts on the twists of its bodies; rows that the plane of a flat scene already fulfils are
    /// left out.
    pub fn rows(&self, state: &RigidState, properties: &[MassProperties]) -> Vec<JointRow> {
        let [a, b] = self.ends(state);
        // One point for both, so that a reaction is an exact pair of forces.
        let point = match self.kind {
            JointKind::Slider { .. } => b.position,
            _ => 0.5 * (a.position + b.position),
        };
        let axes = DMat3::from_quat(a.rotation);
        let locked = self.kind.locked().bits();
        let mut rows = Vec::new();
        for i in 0..6 {
            if locked & (1 << i) == 0 {
                continue;
            }
            let direction = axes.col(i % 3);
            let jacobian = [0, 1].map(|end| {
                let Some(body) = self.bodies[end] else { return [0.0; 6] };
                let sign = [1.0, -1.0][end];
                let (linear, angular) = if i < 3 {
                    (direction, (point - state.bodies[body].position).cross(direction))
                } else {
                    (DVec3::ZERO, direction)
                };
                let (linear, angular) =
                    (sign * properties[body].sliding * linear, sign * properties[body].turning * angular);
                [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
            });
            if jacobian.iter().flatten().any(|entry| entry.abs() > DEPENDENT) {
                rows.push(JointRow { bodies: self.bodies, jacobian });
            }
        }
        rows
    }
}

/// Leave out joints that hold nothing new, and tell about those that do so in part. Modified Gram–Schmidt over the rows
/// in their order.
pub(super) fn independent(
    ties: Vec<Tie>,
    state: &RigidState,
    properties: &[MassProperties],
    length: f64,
) -> (Vec<Tie>, Vec<RigidWarning>) {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let (mut kept, mut warnings) = (Vec::new(), Vec::new());
    for (joint, tie) in ties.into_iter().enumerate() {
        let rows = tie.rows(state, properties);
        let mut new = 0;
        for row in &rows {
            let mut v = vec![0.0; 6 * state.bodies.len()];
            for (body, jacobian) in row.bodies.iter().zip(&row.jacobian) {
                for (i, entry) in jacobian.iter().enumerate() {
                    // Angular velocities times a length are comparable with linear ones.
                    let scale = if i < Axis::ALL.len() { 1.0 } else { length.recip() };
                    if let Some(body) = body {
                        v[6 * body + i] = scale * entry;
                    }
                }
            }
            let size = norm(&v);
            // Twice, because one pass leaves round-off where a row is nearly dependent.
            for b in basis.iter().chain(&basis) {
                let along: f64 = v.iter().zip(b).map(|(x, y)| x * y).sum();
                v.iter_mut().zip(b).for_each(|(x, y)| *x -= along * y);
            }
            let left = norm(&v);
            if left > DEPENDENT * size {
                v.iter_mut().for_each(|x| *x /= left);
                basis.push(v);
                new += 1;
            }
        }
        match rows.len() - new {
            _ if new == 0 => {
                warnings.push(RigidWarning::RedundantJoint { joint });
                continue;
            }
            0 => {}
            redundant => warnings.push(RigidWarning::PartlyRedundantJoint { joint, rows: redundant, of: rows.len() }),
        }
        kept.push(tie);
    }
    (kept, warnings)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}
