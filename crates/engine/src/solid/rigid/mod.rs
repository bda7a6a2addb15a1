//! Free rigid bodies: gravity, contact, friction, joints, and the pushes of a fluid.
//!
//! m v̇ = f, L̇ = τ with contact (no penetration, Coulomb friction, Newton restitution) and joints. A step is
//!
//! ```text
//! predict   v* = v + Δt g, and what contact and joints do about it; nothing moves yet
//! apply     impulses from outside (the fluid's pressure) change v*
//! advance   contact and joints once more, now against everything that pushed: what `predict` let them do is
//!           taken back first. Then bodies move.
//! ```
//!
//! Contact and joints are Rapier's: convex parts, constraints that give way a little, solved by sub-steps, with impulses that start from
//! those of the last step. Each solve is one Rapier step on a copy of its world; `predict` throws the copy away,
//! `advance` keeps it. Without impulses in between, `predict` and `advance` therefore agree, and a block at the bottom
//! of a pool stays there though the water lifts it. A body that touched nothing moves by our own integrator
//! (rotation.rs), with its angular momentum as the state variable. Groups of bodies that touch only each other keep
//! their momentum to round-off (momentum.rs). What the fluid meets are motions that joints allow exactly (joined.rs).
//!
//! Light bodies in fluid lean on what they touch within the pressure solve (coupling/leaning.rs); touch.rs tells where.
//!
//! Not here: breaking joints, rolling friction.

mod body;
mod collider;
mod error;
mod joined;
mod joint;
mod momentum;
pub(crate) mod rotation;
mod setup;
mod state;
mod touch;

pub use body::{Mass, MassProperties, RigidBody};
pub use error::{RigidError, RigidEvent, RigidWarning};
pub use joined::Joined;
pub use joint::{Joint, JointKind, JointRow};
pub use setup::LIGHT;
pub use state::{BodyState, Impulse, RigidState};
pub use touch::{RigidTouch, TouchRow};

use crate::geometry::{Bounds, Pose, RigidVelocity};
use crate::solid::{Motion, Place, Skin};
use glam::DVec3;
use joint::Tie;
use momentum::{GroupMember, Momentum};
use rapier3d_f64::prelude::*;
use state::{Contacts, Memory};

/// Sub-steps of a Rapier step.
/// A choice: twice as many cost twice as much, and contact may be twice as stiff: see [`STIFFNESS`].
const SUBSTEPS: usize = 8;

/// Natural frequency of contacts between bodies, times the length of a sub-step; twice that against what does not
/// move. Row E7: a stack sinks by 0.9 % of a box at 1/8 and Δt = 1/60 s, by 3 % at half of that.
const STIFFNESS: f64 = 0.125;

/// A body that Rapier stopped before the end of this part of its way hit something fast.
/// All of it but for round-off.
const STOPPED: f64 = 1.0 - 1e-6;

/// The room bodies move in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// The domain, m.
    pub bounds: Bounds,
    /// Edge of a cell, m: overlapping solids part by at most this in a step.
    pub dx: f64,
    /// Whether the lower and the upper side along each axis stops bodies.
    pub closed: [[bool; 2]; 3],
    /// Axes along which nothing moves.
    pub flat: [bool; 3],
    /// m/s².
    pub gravity: DVec3,
    /// Density of the fluid, kg/m³.
    pub rho: f64,
}

/// The bodies of a scene and the machinery that moves them; what changes is in [`RigidState`].
pub struct Rigids {
    names: Vec<String>,
    properties: Vec<MassProperties>,
    ties: Vec<Tie>,
    /// Which bodies are light beside the fluid, or joints hold to one that is.
    light: Vec<bool>,
    /// Those of them that joints hold.
    buoyant: Vec<bool>,
    /// The mass that Rapier counts in, kg: the largest. Its tolerances suit everyday numbers.
    mass_unit: f64,
    /// Scripted solids that move: their Rapier body and their path.
    moving: Vec<(RigidBodyHandle, Motion)>,
    room: Room,
    warnings: Vec<RigidWarning>,
    parameters: IntegrationParameters,
}

/// What a solve of contact and joints makes of a body.
struct ContactSolved {
    position: DVec3,
    rotation: glam::DQuat,
    velocity: DVec3,
    angular_momentum: DVec3,
    /// Whether contact pushed it, or what joints hold it to.
    met: bool,
}

impl Rigids {
    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.properties.len()
    }

    /// Whether there are no bodies.
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Name of a body.
    pub fn name(&self, body: usize) -> &str {
        &self.names[body]
    }

    /// Mass, centre and inertia of a body.
    pub fn properties(&self, body: usize) -> &MassProperties {
        &self.properties[body]
    }

    /// What was odd about the scene.
    pub fn warnings(&self) -> &[RigidWarning] {
        &self.warnings
    }

    /// Where a body's own frame is (not its centre of mass).
    pub fn pose(&self, state: &RigidState, body: usize) -> Pose {
        let b = &state.bodies[body];
        Pose { position: b.position - b.rotation * self.properties[body].centre, rotation: b.rotation }
    }

    /// A body's surface.
    pub fn skin(&self, state: &RigidState, body: usize) -> Skin<'static> {
        let (pose, velocity) = (self.pose(state, body), self.velocity(state, body));
        Skin::Posed(Place { pose, velocity, is_there: state.bodies[body].active })
    }

    /// How a body moves, about its centre of mass.
    pub fn velocity(&self, state: &RigidState, body: usize) -> RigidVelocity {
        let b = &state.bodies[body];
        let angular = self.properties[body].inverse_inertia(b.rotation) * b.angular_momentum;
        RigidVelocity { centre: b.position, linear: b.velocity, angular }
    }

    /// Kinetic energy of a body, J.
    pub fn kinetic_energy(&self, state: &RigidState, body: usize) -> f64 {
        let (p, v) = (&self.properties[body], self.velocity(state, body));
        0.5 * p.mass * v.linear.length_squared() + 0.5 * v.angular.dot(state.bodies[body].angular_momentum)
    }

    /// The constraints that joints put on the twists of their bodies now.
    pub fn joint_rows(&self, state: &RigidState) -> Vec<JointRow> {
        let there = |tie: &&Tie| tie.bodies.iter().flatten().all(|&body| state.bodies[body].active);
        self.ties.iter().filter(there).flat_map(|tie| tie.rows(state, &self.properties)).collect()
    }

    /// How far the ends of each joint are apart, m. Joints that were dropped as redundant are not among them.
    pub fn joint_gaps(&self, state: &RigidState) -> Vec<f64> {
        self.ties.iter().map(|tie| tie.gap(state)).collect()
    }

    /// Push a body (N s) and twist it about its centre of mass (N m s); what has left the domain feels nothing.
    pub fn apply_impulse(&self, state: &mut RigidState, body: usize, linear: DVec3, angular: DVec3) {
        let push = self.push(&mut state.bodies[body], body, linear, angular);
        state.bodies[body].load = state.bodies[body].load + push;
    }

    /// Let a body's velocity show what joints answer to the impulses on it (N s, N m s), as a solve with
    /// [`Self::joint_rows`] found it. Of a body in contact `advance` finds the answer again.
    pub fn apply_reaction(&self, state: &mut RigidState, body: usize, linear: DVec3, angular: DVec3) {
        let push = self.push(&mut state.bodies[body], body, linear, angular);
        let b = &mut state.bodies[body];
        let kind = if b.stopped { &mut b.reaction } else { &mut b.load };
        *kind = *kind + push;
    }

    /// Change a body's velocity by the part of a push that it can follow; returns that part.
    fn push(&self, b: &mut BodyState, body: usize, linear: DVec3, angular: DVec3) -> Impulse {
        let p = &self.properties[body];
        if !b.active {
            return Impulse::default();
        }
        let push = Impulse { linear: p.sliding * linear, angular: p.turning * angular };
        b.velocity += push.linear / p.mass;
        b.angular_momentum += push.angular;
        push
    }

    /// Whether the fluid, where it pushes a body, has more to say than contact: the body is light beside it, or joints hold it to one that is.
    pub fn is_light(&self, body: usize) -> bool {
        self.light[body]
    }

    /// Velocities v → v*: gravity over `dt` (s), and what contact and joints do about it. Bodies stay where they are;
    /// `time` (s) is that of their poses, and tells where scripted solids are and how they move on.
    pub fn predict(&self, state: &mut RigidState, time: f64, dt: f64) {
        self.predict_all_but(state, [time, dt], |_| false);
    }

    /// The same, but contact has no part in what bodies do that `lean`: where these touch something is returned.
    pub fn predict_all_but(
        &self,
        state: &mut RigidState,
        [time, dt]: [f64; 2],
        lean: impl Fn(usize) -> bool,
    ) -> Vec<RigidTouch> {
        for body in 0..self.len() {
            let weight = dt * self.properties[body].mass * self.room.gravity;
            self.apply_impulse(state, body, weight, DVec3::ZERO);
        }
        // Joints answer exactly; Rapier adds what contact does to the bodies that it meets.
        self.keep_joints(state);
        let (contacts, solved) = self.solve(state, time, dt);
        for (body, ((b, p), s)) in state.bodies.iter_mut().zip(&self.properties).zip(solved).enumerate() {
            if s.met && !lean(body) {
                b.reaction.linear += p.mass * (s.velocity - b.velocity);
                b.reaction.angular += s.angular_momentum - b.angular_momentum;
                b.velocity = s.velocity;
                b.angular_momentum = s.angular_momentum;
            } else {
                take_back_reaction(b, p);
            }
        }
        self.touches(&contacts, state, [time, dt], lean)
    }

    /// Twists of all bodies, six numbers each.
    pub fn twists(&self, state: &RigidState) -> Vec<f64> {
        (0..self.len()).flat_map(|body| self.velocity(state, body).twist()).collect()
    }

    /// Let a body move so, until what pushed it is taken back.
    pub fn set_twist(&self, state: &mut RigidState, body: usize, twist: &[f64]) {
        let b = &mut state.bodies[body];
        b.velocity = DVec3::from_slice(twist);
        b.angular_momentum = self.properties[body].world_inertia(b.rotation) * DVec3::from_slice(&twist[3..]);
    }

    /// Let a body move so, whatever pushed it there: nothing of that is taken back when it is moved.
    pub fn agree(&self, state: &mut RigidState, body: usize, twist: &[f64]) {
        self.set_twist(state, body, twist);
        let b = &mut state.bodies[body];
        (b.load, b.reaction) = Default::default();
    }

    /// Move the bodies over `dt` (s) from their poses at `time` (s), after contact and joints have answered everything
    /// that pushed since they last moved. After an error the state is good for nothing.
    pub fn advance(&self, state: &mut RigidState, time: f64, dt: f64) -> Result<Vec<RigidEvent>, RigidError> {
        let (mut contacts, solved) = self.solve(state, time, dt);
        let mut events = Vec::new();
        for (i, s) in solved.into_iter().enumerate() {
            let b = &mut state.bodies[i];
            if !b.active {
                continue;
            }
            b.position = s.position;
            b.rotation = s.rotation;
            b.velocity = s.velocity;
            b.angular_momentum = s.angular_momentum;
            b.stopped = s.met && !self.buoyant[i];
            (b.load, b.reaction) = Default::default();
            if !(b.position.is_finite()
                && b.rotation.is_finite()
                && b.velocity.is_finite()
                && b.angular_momentum.is_finite())
            {
                return Err(RigidError::NonFinite { body: self.names[i].clone() });
            }
            if self.has_left(&contacts, i, b) {
                b.active = false;
                contacts.bodies[handle(i)].set_enabled(false);
                events.push(RigidEvent::Left { body: self.names[i].clone(), position: b.position });
            }
        }
        state.memory = Memory::new(contacts);
        Ok(events)
    }

    /// One Rapier step from before everything that pushed: what becomes of the bodies, and of Rapier's world.
    fn solve(&self, state: &RigidState, time: f64, dt: f64) -> (Contacts, Vec<ContactSolved>) {
        let mut contacts = state.memory.contacts();
        let before = self.set(&mut contacts, state, time, dt);
        let mut parameters = self.parameters;
        parameters.dt = dt;
        parameters.normalized_max_corrective_velocity = self.room.dx / (dt * parameters.length_unit);
        // As stiff as sub-steps of this length can resolve.
        let frequency = STIFFNESS * SUBSTEPS as f64 / dt;
        parameters.contact_softness.natural_frequency = frequency;
        parameters.static_contact_softness.natural_frequency = 2.0 * frequency;
        step(&parameters, &mut contacts);

        let touching = self.touching(&contacts, state);
        let solve_one = |i: usize| {
            let (b, p, rapier) = (&state.bodies[i], &self.properties[i], &contacts.bodies[handle(i)]);
            // Swept collision detection ends the way of a fast body where it hits; contact answers in the next step.
            let way = rapier.translation() - b.position;
            let stopped = rapier.is_ccd_active() && way.length() < STOPPED * dt * rapier.linvel().length();
            if !touching.touched[i] && !stopped {
                return coast(b, p, dt);
            }
            let turned = p.world_inertia(b.rotation) * (rapier.angvel() - before[i].angular);
            ContactSolved {
                position: rapier.translation(),
                rotation: rapier.rotation().normalize(),
                velocity: rapier.linvel(),
                angular_momentum: b.angular_momentum - since(b, self.buoyant[i]).angular + p.turning * turned,
                met: touching.met[i] || !touching.touched[i],
            }
        };
        let mut solved: Vec<_> = (0..self.len()).map(solve_one).collect();
        for group in &touching.groups_apart {
            self.conserve(state, group, &mut solved);
        }
        (contacts, solved)
    }

    /// Tell Rapier where everything is and how it moved before it was pushed; give the pushes as forces. Returns those
    /// velocities.
    fn set(&self, contacts: &mut Contacts, state: &RigidState, time: f64, dt: f64) -> Vec<RigidVelocity> {
        for (handle, motion) in &self.moving {
            let (pose, velocity) = (motion.pose(time), motion.velocity(time, dt));
            let body = &mut contacts.bodies[*handle];
            body.set_position(rapier_pose(pose.position, pose.rotation), true);
            body.set_linvel(velocity.linear, true);
            body.set_angvel(velocity.angular, true);
        }
        let each = state.bodies.iter().zip(&self.properties).enumerate();
        each.map(|(i, (b, p))| {
            let pushed = since(b, self.buoyant[i]);
            let linear = b.velocity - pushed.linear / p.mass;
            let angular = rotation::mean_spin(&p.principal, b.rotation, b.angular_momentum - pushed.angular, dt);
            let body = &mut contacts.bodies[handle(i)];
            if b.active {
                // Only if it differs: a body that Rapier moved itself keeps its contact points.
                if body.translation() != b.position || *body.rotation() != b.rotation {
                    body.set_position(rapier_pose(b.position, b.rotation), true);
                }
                body.set_linvel(linear, true);
                body.set_angvel(angular, true);
                body.reset_forces(true);
                body.reset_torques(true);
                if b.stopped {
                    body.add_force(b.load.linear / (dt * self.mass_unit), true);
                    body.add_torque(b.load.angular / (dt * self.mass_unit), true);
                }
            }
            RigidVelocity { centre: b.position, linear, angular }
        })
        .collect()
    }

    /// Who was pushed by contact or joints in this solve.
    fn touching(&self, contacts: &Contacts, state: &RigidState) -> Touching {
        let count = self.len();
        let mut touched = vec![false; count];
        let mut bound = vec![false; count];
        let mut met = vec![false; count];
        let mut pairs = Vec::new();
        let mut meet = |a: Option<usize>, b: Option<usize>| match (a, b) {
            (Some(a), Some(b)) => {
                (touched[a], touched[b]) = (true, true);
                pairs.push((a, b));
            }
            (Some(a), None) | (None, Some(a)) => (touched[a], bound[a]) = (true, true),
            (None, None) => {}
        };
        let body_of = |collider| {
            let parent = contacts.colliders.get(collider).and_then(|c: &Collider| c.parent())?;
            let (index, _) = parent.into_raw_parts();
            ((index as usize) < count).then_some(index as usize)
        };
        for pair in contacts.narrow_phase.contact_pairs() {
            let mut points = pair.solver_manifolds().iter().filter(|m| m.data.num_active_contacts() > 0);
            if points.any(|m| m.points.iter().any(|point| point.data.impulse != 0.0 || point.dist < 0.0)) {
                let [a, b] = [pair.collider1, pair.collider2].map(body_of);
                meet(a, b);
                [a, b].into_iter().flatten().for_each(|body| met[body] = true);
            }
        }
        for tie in &self.ties {
            if tie.bodies.iter().flatten().all(|&body| state.bodies[body].active) {
                meet(tie.bodies[0], tie.bodies[1]);
            }
        }
        for group in joined(count, &self.ties) {
            let any = group.iter().any(|&body| met[body]);
            group.into_iter().for_each(|body| met[body] |= any);
        }
        let mut groups_apart = momentum::groups(count, &pairs);
        groups_apart.retain(|group| group.len() > 1 && !group.iter().any(|&body| bound[body]));
        Touching { touched, met, groups_apart }
    }

    /// Give a group that only touched itself the momentum it must have.
    fn conserve(&self, state: &RigidState, group: &[usize], solved: &mut [ContactSolved]) {
        let about = state.bodies[group[0]].position;
        let mut wanted = Momentum::ZERO;
        for &i in group {
            let (b, p) = (&state.bodies[i], &self.properties[i]);
            let reaction = if self.buoyant[i] { Impulse::default() } else { b.reaction };
            let linear = p.mass * b.velocity - reaction.linear;
            wanted.add(about, b.position, linear, b.angular_momentum - reaction.angular);
        }
        let mut members: Vec<_> = group
            .iter()
            .map(|&i| {
                let (s, p) = (&solved[i], &self.properties[i]);
                let inertia = p.world_inertia(s.rotation);
                let ContactSolved { position, velocity, angular_momentum, .. } = *s;
                (GroupMember { position, inertia, velocity, angular_momentum }, p)
            })
            .collect();
        momentum::restore(&mut members, about, wanted);
        for (&i, (member, _)) in group.iter().zip(members) {
            solved[i].velocity = member.velocity;
            solved[i].angular_momentum = member.angular_momentum;
        }
    }

    /// Whether no part of a body is left in the domain.
    fn has_left(&self, contacts: &Contacts, i: usize, b: &BodyState) -> bool {
        let collider = &contacts.colliders[contacts.bodies[handle(i)].colliders()[0]];
        let sphere = collider.shape().compute_local_bounding_sphere();
        let (middle, radius) = (b.position + b.rotation * (sphere.center - self.properties[i].centre), sphere.radius);
        let Bounds { min, max } = self.room.bounds;
        (0..3).any(|a| !self.room.flat[a] && (middle[a] + radius < min[a] || middle[a] - radius > max[a]))
    }
}

/// Which bodies contact and joints pushed, and the groups of them that touch nothing fixed or scripted.
struct Touching {
    touched: Vec<bool>,
    /// By contact, or joined to one that was.
    met: Vec<bool>,
    groups_apart: Vec<Vec<usize>>,
}

/// Bodies that joints hold together, group by group; singles included.
fn joined(count: usize, ties: &[Tie]) -> Vec<Vec<usize>> {
    let pairs: Vec<(usize, usize)> = ties.iter().filter_map(|tie| tie.bodies[0].zip(tie.bodies[1])).collect();
    momentum::groups(count, &pairs)
}

/// A body that nothing touches, after `dt` (s).
fn coast(b: &BodyState, p: &MassProperties, dt: f64) -> ContactSolved {
    let velocity = b.velocity - b.reaction.linear / p.mass;
    let angular_momentum = b.angular_momentum - b.reaction.angular;
    ContactSolved {
        position: b.position + dt * velocity,
        rotation: rotation::turn(&p.principal, b.rotation, angular_momentum, dt),
        velocity,
        angular_momentum,
        met: false,
    }
}

/// What Rapier is not to find in a body's velocity: the predicted reaction, and the load, which it adds sub-step by
/// sub-step to a body that was stopped (one that flies has it at once, so that a bounce gives back all its speed). What joints answer
/// to a body that flies stays. The fluid may push a light body with hundreds of times what it takes to move it, and joints bear that, but only where the body was when
/// both answered: with such a one among those that joints hold together, all go on as they are.
fn since(b: &BodyState, buoyant: bool) -> Impulse {
    match (buoyant, b.stopped) {
        (true, _) => Impulse::default(),
        (false, true) => b.load + b.reaction,
        (false, false) => b.reaction,
    }
}

/// Take the predicted reaction back.
fn take_back_reaction(b: &mut BodyState, p: &MassProperties) {
    b.velocity -= b.reaction.linear / p.mass;
    b.angular_momentum -= b.reaction.angular;
    b.reaction = Impulse::default();
}

/// The Rapier body of a body: they are the first ones in the set.
fn handle(body: usize) -> RigidBodyHandle {
    RigidBodyHandle::from_raw_parts(body as u32, 0)
}

fn rapier_pose(position: DVec3, rotation: glam::DQuat) -> rapier3d_f64::prelude::Pose {
    rapier3d_f64::prelude::Pose::from_parts(position, rotation)
}

fn step(parameters: &IntegrationParameters, contacts: &mut Contacts) {
    // A new pipeline each time: the old one's buffers would belong to another copy of the world.
    PhysicsPipeline::new().step(
        DVec3::ZERO,
        parameters,
        &mut contacts.islands,
        &mut contacts.broad_phase,
        &mut contacts.narrow_phase,
        &mut contacts.bodies,
        &mut contacts.colliders,
        &mut contacts.joints,
        &mut MultibodyJointSet::new(),
        &mut SoftBodySet::new(),
        &mut CCDSolver::new(),
        &(),
        &(),
    );
}
