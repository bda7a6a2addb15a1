//! From a scene's bodies, joints, obstacles and walls to Rapier's world.

use super::collider::Colliders;
use super::joint::{Tie, independent};
use super::state::{BodyState, Contacts, Impulse, Memory, RigidState};
use super::{
    Joint, MassProperties, RigidBody, RigidError, RigidWarning, Rigids, Room, SUBSTEPS, handle, joined, rapier_pose,
    step,
};
use crate::geometry::{Bounds, Pose, Shape};
use crate::grid::Axis;
use crate::solid::{Motion, Obstacle};
use glam::{DMat3, DVec3};
use rapier3d_f64::prelude::*;

/// Sub-steps that joints need beyond those of contact. Row E9: gaps of 1.3e-3 of a link without, 3.5e-4 with.
const JOINT_SUBSTEPS: usize = 8;

/// Bodies of less than this part of the fluid's density are light: it pushes them with many times their weight.
/// A choice: far above the thousandth at which joints threw buoys about at 38 m/s; what is heavier keeps friction and rebound in contact.
pub const LIGHT: f64 = 0.2;

/// Bodies may start this deep in a wall, in cells.
/// A choice: what rounded numbers in a scene leave is below it.
const IN_WALL: f64 = 1e-3;

/// Overlaps at the start below this part of the smaller body's size are not worth a warning.
/// A choice likewise; only a warning depends on it.
const OVERLAP: f64 = 1e-3;

impl Rigids {
    /// The bodies of a scene at its start (t = 0), and the machinery to move them.
    pub fn new(
        bodies: &[RigidBody],
        joints: &[Joint],
        obstacles: &[Obstacle],
        room: Room,
    ) -> Result<(Self, RigidState), RigidError> {
        let mut properties = Vec::new();
        for body in bodies {
            check(body)?;
            properties.push(MassProperties::of(body, room.flat)?);
            inside(body, &room)?;
        }
        let bodies_at_start = bodies.iter().zip(&properties).map(|(body, p)| start(body, p)).collect();

        let mut contacts = Contacts::default();
        let mut state = RigidState { bodies: bodies_at_start, memory: Memory::new(contacts.clone()) };
        let mass_unit = properties.iter().map(|p| p.mass).fold(f64::MIN_POSITIVE, f64::max);
        let mut colliders = Colliders::default();
        for ((body, p), b) in bodies.iter().zip(&properties).zip(&state.bodies) {
            let shape = colliders.free(&body.shape);
            let shape = shape.ok_or_else(|| RigidError::Decomposition { body: body.name.clone() })?;
            insert_free(&mut contacts, body, p, b, shape, mass_unit);
        }
        let mut names: Vec<String> = bodies.iter().map(|body| body.name.clone()).collect();
        let moving = insert_obstacles(&mut contacts, &mut colliders, obstacles, &mut names);
        let frame = insert_room(&mut contacts, &room, &mut names);

        let frames: Vec<_> = state.bodies.iter().map(|b| Pose { position: b.position, rotation: b.rotation }).collect();
        let body_names: Vec<_> = bodies.iter().map(|body| body.name.as_str()).collect();
        let ties: Result<Vec<_>, _> =
            joints.iter().enumerate().map(|(n, joint)| Tie::new(n, joint, &body_names, &frames, room.flat)).collect();
        let length = length_unit(bodies);
        let (ties, mut warnings) = independent(ties?, &state, &properties, length);
        for tie in &ties {
            let [first, second] = tie.bodies.map(|body| body.map_or(frame, handle));
            contacts.joints.insert(first, second, tie.rapier(), true);
            for body in tie.bodies.into_iter().flatten() {
                contacts.bodies[handle(body)].set_additional_solver_iterations(JOINT_SUBSTEPS);
            }
        }

        let parameters = parameters(length);
        // A step of no length takes everything in and finds the contacts.
        step(&parameters, &mut contacts);
        warnings.extend(overlaps(&contacts, &names, bodies));
        state.memory = Memory::new(contacts);
        names.truncate(bodies.len());
        let (light, buoyant) = light(&properties, &ties, room.rho);
        let rigids = Self { names, properties, ties, light, buoyant, mass_unit, moving, room, warnings, parameters };
        Ok((rigids, state))
    }
}

/// Put scripted solids among what bodies meet; those that move, with their paths.
fn insert_obstacles(
    contacts: &mut Contacts,
    colliders: &mut Colliders,
    obstacles: &[Obstacle],
    names: &mut Vec<String>,
) -> Vec<(RigidBodyHandle, Motion)> {
    let mut moving = Vec::new();
    for obstacle in obstacles {
        let Some(shape) = colliders.fixed(&obstacle.shape) else { continue };
        let is_static = obstacle.motion.is_static();
        let kind = if is_static { RigidBodyType::Fixed } else { RigidBodyType::KinematicVelocityBased };
        let pose = obstacle.motion.pose(0.0);
        let body = RigidBodyBuilder::new(kind).pose(rapier_pose(pose.position, pose.rotation)).can_sleep(false);
        let body = contacts.bodies.insert(body);
        contacts.colliders.insert_with_parent(unfeeling(shape), body, &mut contacts.bodies);
        names.push(obstacle.name.clone());
        if !is_static {
            moving.push((body, obstacle.motion.clone()));
        }
    }
    moving
}

/// Put the world and the closed sides of the room among what bodies meet; the first is what joints hold them to.
fn insert_room(contacts: &mut Contacts, room: &Room, names: &mut Vec<String>) -> RigidBodyHandle {
    let frame = contacts.bodies.insert(RigidBodyBuilder::fixed());
    names.push("the world".into());
    for axis in Axis::ALL {
        for (side, end) in ["lower", "upper"].into_iter().enumerate() {
            let a = axis.index();
            if !room.closed[a][side] || room.flat[a] {
                continue;
            }
            let (inwards, at) =
                if side == 0 { (axis.unit(), room.bounds.min) } else { (-axis.unit(), room.bounds.max) };
            let wall = contacts.bodies.insert(RigidBodyBuilder::fixed().translation(at));
            let shape = unfeeling(SharedShape::halfspace(inwards));
            contacts.colliders.insert_with_parent(shape, wall, &mut contacts.bodies);
            names.push(format!("the {end} wall along {}", letter(a)));
        }
    }
    frame
}

/// How Rapier steps bodies of about this size, m.
fn parameters(length: f64) -> IntegrationParameters {
    IntegrationParameters {
        length_unit: length,
        num_solver_iterations: SUBSTEPS,
        normalized_max_linear_velocity: f64::MAX,
        warmstart_joints: true,
        contact_recycling: false,
        // Row E5: 0.01 % off the stopping distance; with Rapier's friction per point the block slides a third too far.
        friction_model: FrictionModel::Simplified,
        dt: 0.0,
        ..IntegrationParameters::default()
    }
}

/// Which bodies are light beside a fluid of density `rho`, kg/m³, or joints hold to one that is; and those of them that joints hold.
fn light(properties: &[MassProperties], ties: &[Tie], rho: f64) -> (Vec<bool>, Vec<bool>) {
    let is_light = |body: usize| properties[body].mass < LIGHT * rho * properties[body].volume;
    let (mut light, mut buoyant) = (vec![false; properties.len()], vec![false; properties.len()]);
    for group in joined(properties.len(), ties) {
        let is_tied = ties.iter().any(|tie| tie.bodies.contains(&Some(group[0])));
        let any = group.iter().any(|&body| is_light(body));
        group.into_iter().for_each(|body| (light[body], buoyant[body]) = (any, is_tied && any));
    }
    (light, buoyant)
}

fn check(body: &RigidBody) -> Result<(), RigidError> {
    let bad = |what, value, limit| Err(RigidError::Value { body: body.name.clone(), what, value, limit });
    if !(body.friction >= 0.0 && body.friction.is_finite()) {
        return bad("friction", body.friction, "finite and not negative");
    }
    if !(0.0..=1.0).contains(&body.restitution) {
        return bad("restitution", body.restitution, "between 0 and 1");
    }
    let vectors = [("position", body.pose.position), ("velocity", body.velocity), ("spin", body.spin)];
    for (what, vector) in vectors {
        if let Some(value) = vector.to_array().into_iter().find(|x| !x.is_finite()) {
            return bad(what, value, "finite");
        }
    }
    if !body.pose.rotation.is_normalized() {
        return bad("rotation's length", body.pose.rotation.length(), "1");
    }
    Ok(())
}

/// Row 20: in the domain, and in no wall.
fn inside(body: &RigidBody, room: &Room) -> Result<(), RigidError> {
    let Bounds { min, max } = extent(&body.shape, &body.pose);
    for axis in Axis::ALL {
        let a = axis.index();
        if room.flat[a] {
            continue;
        }
        if max[a] <= room.bounds.min[a] || min[a] >= room.bounds.max[a] {
            return Err(RigidError::Outside { body: body.name.clone(), position: body.pose.position });
        }
        let depths = [room.bounds.min[a] - min[a], max[a] - room.bounds.max[a]];
        for ((side, depth), closed) in ["lower", "upper"].into_iter().zip(depths).zip(room.closed[a]) {
            if closed && depth > IN_WALL * room.dx {
                return Err(RigidError::InWall { body: body.name.clone(), side, axis: letter(a), depth });
            }
        }
    }
    Ok(())
}

/// The smallest world-aligned box around a posed shape.
fn extent(shape: &Shape, pose: &Pose) -> Bounds {
    let axis = pose.rotation * DVec3::Y;
    // Half extents of a disc of radius 1 across the axis.
    let disc = (DVec3::ONE - axis * axis).max(DVec3::ZERO).map(f64::sqrt);
    let half = match *shape {
        Shape::Box { size } => DMat3::from_quat(pose.rotation).abs() * (0.5 * size),
        Shape::Sphere { radius } => DVec3::splat(radius),
        Shape::Cylinder { radius, height } => 0.5 * height * axis.abs() + radius * disc,
        Shape::Capsule { radius, height } => 0.5 * height * axis.abs() + DVec3::splat(radius),
        Shape::Torus { major, minor } => major * disc + DVec3::splat(minor),
        Shape::Mesh(ref mesh) => return mesh.posed(pose).bounds(),
    };
    Bounds { min: pose.position - half, max: pose.position + half }
}

fn start(body: &RigidBody, p: &MassProperties) -> BodyState {
    let rotation = body.pose.rotation.normalize();
    BodyState {
        position: body.pose.apply(p.centre),
        rotation,
        velocity: p.sliding * body.velocity,
        angular_momentum: p.world_inertia(rotation) * (p.turning * body.spin),
        active: true,
        stopped: false,
        load: Impulse::default(),
        reaction: Impulse::default(),
    }
}

fn insert_free(
    contacts: &mut Contacts,
    body: &RigidBody,
    p: &MassProperties,
    b: &BodyState,
    shape: SharedShape,
    mass_unit: f64,
) {
    let mass = rapier3d_f64::prelude::MassProperties::with_principal_inertia_frame(
        DVec3::ZERO,
        p.mass / mass_unit,
        p.principal.moments / mass_unit,
        p.principal.frame,
    );
    let [slide, turn] = [p.sliding, p.turning].map(|open| [open.x, open.y, open.z].map(|x| x != 0.0));
    let size = body.shape.bounds().size();
    let rapier = RigidBodyBuilder::dynamic()
        .pose(rapier_pose(b.position, b.rotation))
        .additional_mass_properties(mass)
        .enabled_translations(slide[0], slide[1], slide[2])
        .enabled_rotations(turn[0], turn[1], turn[2])
        .gyroscopic_forces_enabled(false)
        .can_sleep(false)
        .allow_fast_rotation(true)
        .soft_ccd_prediction(size.max_element());
    let rapier = contacts.bodies.insert(rapier);
    let collider = ColliderBuilder::new(shape)
        .density(0.0)
        .translation(-p.centre)
        .friction(body.friction)
        .restitution(body.restitution);
    contacts.colliders.insert_with_parent(collider, rapier, &mut contacts.bodies);
}

/// A collider that takes friction and restitution from whatever touches it.
fn unfeeling(shape: SharedShape) -> ColliderBuilder {
    let rule = CoefficientCombineRule::Max;
    ColliderBuilder::new(shape)
        .friction(0.0)
        .restitution(0.0)
        .friction_combine_rule(rule)
        .restitution_combine_rule(rule)
}

/// The length Rapier's tolerances are parts of: the smallest size of a body.
fn length_unit(bodies: &[RigidBody]) -> f64 {
    let smallest = bodies.iter().map(|body| body.shape.bounds().size().min_element()).fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { smallest } else { 1.0 }
}

fn overlaps(contacts: &Contacts, names: &[String], bodies: &[RigidBody]) -> Vec<RigidWarning> {
    let mut found = Vec::new();
    for pair in contacts.narrow_phase.contact_pairs() {
        let depth = pair.manifolds().iter().flat_map(|m| &m.points).map(|p| -p.dist).fold(0.0, f64::max);
        let mut ends = [pair.collider1, pair.collider2].map(|collider| {
            let parent = contacts.colliders[collider].parent().expect("every collider has a body");
            parent.into_raw_parts().0 as usize
        });
        ends.sort();
        let smallest = ends.iter().filter_map(|&i| bodies.get(i)).map(|b| b.shape.bounds().size().min_element());
        if depth > OVERLAP * smallest.fold(f64::INFINITY, f64::min) {
            found.push((ends, depth));
        }
    }
    found.sort_by_key(|&(ends, _)| ends);
    let warning = |([a, b], depth): ([usize; 2], f64)| RigidWarning::Overlap {
        first: names[a].clone(),
        second: names[b].clone(),
        depth,
    };
    found.into_iter().map(warning).collect()
}

fn letter(axis: usize) -> char {
    ['x', 'y', 'z'][axis]
}
