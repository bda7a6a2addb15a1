//! What rigid bodies carry from step to step.

use glam::{DQuat, DVec3};
use rapier3d_f64::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Everything about rigid bodies that changes, and nothing else: what a checkpoint keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RigidState {
    /// In the order of the scene.
    pub bodies: Vec<BodyState>,
    pub(super) memory: Memory,
}

impl RigidState {
    /// Whether contacts and joints are remembered of as many solids as in `other`.
    pub(crate) fn resembles(&self, other: &Self) -> bool {
        let counts = |state: &Self| {
            let contacts = &state.memory.0;
            [contacts.bodies.len(), contacts.colliders.len(), contacts.joints.len()]
        };
        counts(self) == counts(other)
    }

    /// Whether all bodies are somewhere, turned somehow, and move at some speed.
    pub(crate) fn is_finite(&self) -> bool {
        let is_finite = |b: &BodyState| {
            let pushes = [b.load.linear, b.load.angular, b.reaction.linear, b.reaction.angular];
            let vectors = [b.position, b.velocity, b.angular_momentum];
            vectors.iter().chain(&pushes).all(|v| v.is_finite()) && b.rotation.is_normalized()
        };
        self.bodies.iter().all(is_finite)
    }
}

/// One body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyState {
    /// Centre of mass, m.
    pub position: DVec3,
    /// Turns the body's frame into the world's; unit quaternion.
    pub rotation: DQuat,
    /// Of the centre of mass, m/s.
    pub velocity: DVec3,
    /// About the centre of mass, in world axes, N m s.
    pub angular_momentum: DVec3,
    /// False once it has left the domain.
    pub active: bool,
    /// Whether contact stopped it when it last moved, or what joints hold it to.
    pub(super) stopped: bool,
    /// What pushed it since it was last moved, contact apart, and joints as well if contact holds it. Included in the velocity.
    pub(super) load: Impulse,
    /// What contact was predicted to do about it, and joints if contact holds it. Included in the velocity.
    pub(super) reaction: Impulse,
}

/// A push and a twist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Impulse {
    /// N s.
    pub linear: DVec3,
    /// About the centre of mass, N m s.
    pub angular: DVec3,
}

impl std::ops::Add for Impulse {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { linear: self.linear + other.linear, angular: self.angular + other.angular }
    }
}

/// Rapier's world between two steps: contact points with the impulses they carried, from which the next solve starts.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Memory(Arc<Contacts>);

/// The sets that Rapier keeps apart.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Contacts {
    pub islands: IslandManager,
    pub broad_phase: BroadPhaseBvh,
    pub narrow_phase: NarrowPhase,
    pub bodies: RigidBodySet,
    pub colliders: ColliderSet,
    pub joints: ImpulseJointSet,
}

impl Memory {
    pub fn new(contacts: Contacts) -> Self {
        Self(Arc::new(contacts))
    }

    /// A copy to work on.
    pub fn contacts(&self) -> Contacts {
        Contacts::clone(&self.0)
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Self) -> bool {
        // Rapier compares none of its sets; their bytes tell.
        let bytes = |memory: &Self| postcard::to_stdvec(&*memory.0).expect("plain data can be written");
        Arc::ptr_eq(&self.0, &other.0) || bytes(self) == bytes(other)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Memory({} bodies)", self.0.bodies.len())
    }
}
