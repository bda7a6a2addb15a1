//! Places where bodies touch something or are about to, as rows over their twists.

use super::state::Contacts;
use super::{JointRow, RigidState, Rigids, handle};
use crate::geometry::RigidVelocity;
use glam::DVec3;
use rapier3d_f64::prelude::*;

/// A place where two solids must not come nearer than they are apart.
#[derive(Clone, Copy, Debug)]
pub struct RigidTouch {
    /// How fast they part, from the bodies' twists.
    pub row: JointRow,
    /// How fast they must, m/s; negative if there is room between them.
    pub least: f64,
}

impl RigidTouch {
    /// Where two bodies meet `at` a point, the `normal` pointing from the first to the second; what is none of ours moves with one of the
    /// `velocities`. They come together no faster than by `apart`, m/s.
    fn new(
        state: &RigidState,
        bodies: [Option<usize>; 2],
        (at, normal): (DVec3, DVec3),
        velocities: [DVec3; 2],
        apart: f64,
    ) -> Self {
        let (mut least, mut jacobian) = (apart, [[0.0; 6]; 2]);
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            match bodies[side] {
                Some(body) => {
                    let moment = sign * (at - state.bodies[body].position).cross(normal);
                    jacobian[side][..3].copy_from_slice(&(sign * normal).to_array());
                    jacobian[side][3..].copy_from_slice(&moment.to_array());
                }
                None => least -= sign * normal.dot(velocities[side]),
            }
        }
        Self { row: JointRow { bodies, jacobian }, least }
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
        for pair in contacts.narrow_phase.contact_pairs() {
            let colliders = [pair.collider1, pair.collider2];
            let bodies = colliders.map(body_of);
            if !bodies.iter().flatten().any(|&body| counts(body)) {
                continue;
            }
            for manifold in pair.solver_manifolds() {
                // From the first to the second.
                let normal = manifold.data.normal;
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
                    let velocities = [0, 1].map(|side| given(colliders[side], at));
                    touches.push(RigidTouch::new(state, bodies, (at, normal), velocities, apart));
                }
            }
        }
        touches
    }
}
