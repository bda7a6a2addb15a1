//! Places where bodies touch something or are about to, as rows over their twists.

use super::state::Contacts;
use super::{JointRow, RigidState, Rigids, handle};
use crate::geometry::RigidVelocity;
use glam::DVec3;
use rapier3d_f64::prelude::*;

/// A place where two solids must not come nearer than they are apart, and are held back by friction while they push each other.
#[derive(Clone, Copy, Debug)]
pub struct RigidTouch {
    /// How fast they part, and how fast they slip along each other.
    pub rows: [TouchRow; 3],
    /// Coefficient of friction.
    pub friction: f64,
    /// The same for all places where the same two touch.
    pub pair: usize,
}

/// One direction of a touch.
#[derive(Clone, Copy, Debug)]
pub struct TouchRow {
    /// Velocity along it, from the bodies' twists.
    pub row: JointRow,
    /// What it must come to at least, or be, m/s; negative if there is room between them.
    pub least: f64,
}

/// Two solids that touch.
struct Pair {
    /// Which of them are bodies.
    bodies: [Option<usize>; 2],
    /// How those move at the place that are none, m/s.
    velocities: [DVec3; 2],
}

impl Pair {
    /// The velocity of the second against the first `at` a place, along a direction; at least `apart`, m/s.
    fn row(&self, state: &RigidState, at: DVec3, direction: DVec3, apart: f64) -> TouchRow {
        let (mut least, mut jacobian) = (apart, [[0.0; 6]; 2]);
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            match self.bodies[side] {
                Some(body) => {
                    let moment = sign * (at - state.bodies[body].position).cross(direction);
                    jacobian[side][..3].copy_from_slice(&(sign * direction).to_array());
                    jacobian[side][3..].copy_from_slice(&moment.to_array());
                }
                None => least -= sign * direction.dot(self.velocities[side]),
            }
        }
        TouchRow { row: JointRow { bodies: self.bodies, jacobian }, least }
    }
}

impl Rigids {
    /// The places where one of the bodies that `counts` tells meets anything, as Rapier's search for contacts found them at the poses of
    /// `state`, which are those at `time`, s.
    pub(super) fn touches(
        &self,
        contacts: &Contacts,
        state: &RigidState,
        [time, dt]: [f64; 2],
        counts: impl Fn(usize) -> bool,
    ) -> Vec<RigidTouch> {
        let body_of = |collider: ColliderHandle| {
            let parent = contacts.colliders.get(collider).and_then(|c: &Collider| c.parent())?;
            (0..self.len()).find(|&body| handle(body) == parent)
        };
        // How what is no body of ours moves at a point.
        let given = |collider: ColliderHandle, at: DVec3| {
            let parent = contacts.colliders.get(collider).and_then(|c: &Collider| c.parent());
            let moving = self.moving.iter().find(|(handle, _)| Some(*handle) == parent);
            moving.map_or(DVec3::ZERO, |(_, motion)| {
                let RigidVelocity { centre, linear, angular } = motion.velocity(time, dt);
                linear + angular.cross(at - centre)
            })
        };
        let mut touches = Vec::new();
        for (number, pair) in contacts.narrow_phase.contact_pairs().enumerate() {
            let colliders = [pair.collider1, pair.collider2];
            let bodies = colliders.map(body_of);
            if !bodies.iter().flatten().any(|&body| counts(body)) {
                continue;
            }
            // What is no body takes friction from what touches it.
            let frictions =
                || colliders.iter().filter(|c| body_of(**c).is_some()).map(|c| contacts.colliders[*c].friction());
            let friction = frictions().sum::<f64>() / frictions().count() as f64;
            for manifold in pair.solver_manifolds() {
                // From the first to the second.
                let normal = manifold.data.normal;
                let tangent = normal.any_orthonormal_vector();
                let directions = [normal, tangent, normal.cross(tangent)];
                for point in &manifold.points {
                    // Where the first body has it, or the second, if the first is none of ours.
                    let on = |side: usize| {
                        let b = &state.bodies[bodies[side]?];
                        let collider = contacts.colliders.get(colliders[side])?;
                        let own = collider.position_wrt_parent().copied().unwrap_or_default();
                        let (part, at) = match side {
                            0 => (manifold.subshape_pos1(), point.local_p1),
                            _ => (manifold.subshape_pos2(), point.local_p2),
                        };
                        let at = part.map_or(at, |part| *part * at);
                        Some(b.position + b.rotation * (own * at))
                    };
                    let Some(at) = on(0).or_else(|| on(1)) else { continue };
                    let apart = if point.dist > 0.0 { -point.dist / dt } else { 0.0 };
                    let pair = Pair { bodies, velocities: colliders.map(|collider| given(collider, at)) };
                    let rows = [0, 1, 2].map(|n| pair.row(state, at, directions[n], if n == 0 { apart } else { 0.0 }));
                    touches.push(RigidTouch { rows, friction, pair: number });
                }
            }
        }
        touches
    }
}
