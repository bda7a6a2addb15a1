//! Light rigid bodies lean on what they touch while the fluid pushes them.
//!
//! The fluid pushes a body of a thousandth of its density with a thousand times what the body weighs, and what it does in a step is known
//! only with the pressure of that step. Contact that answers the force of the last step then answers something else: the body is
//! shot into its neighbours or through them. So the places where light bodies in fluid touch are rows of the pressure solve
//! ([`Supports`], over the twists of all bodies, six numbers each), and nobody else answers them: fluid and contact agree on how
//! these bodies move, with friction and without rebound.

use crate::solid::rigid::{JointRow, RigidState, RigidTouch, Rigids, TouchRow};
use crate::solve::{Support, Supports};
use glam::DVec3;
use std::collections::BTreeSet;

/// Bodies lean if the fluid pushes them with more than this many times their weight. What floats freely or stands in shallow water is pushed with its
/// weight at most, and has friction and rebound like any other body.
/// A choice: twice that. With more, bodies are left to contact that answers the force of the last step; near 1, what only floats would lose friction and rebound.
const PUSHED: f64 = 2.0;

/// What moves by less than this part of what it would without joints is held by these: the rest is round-off.
/// Some thousand roundings. Taken for rows, they threw a piston on a slider about at 270 m/s.
const HELD: f64 = 1e-12;

/// Whether a push (N s) is much beside the weight of a `mass` (kg), which would move it by `gain` (m/s).
pub fn is_pressed(push: DVec3, mass: f64, gain: DVec3) -> bool {
    push.length() > PUSHED * mass * gain.length()
}

/// Which bodies lean: light ones that the fluid pushes much (N s) beside their weight, which would move them by `gain`
/// (m/s), and what joints hold them to.
pub fn who(rigids: &Rigids, state: &RigidState, push: impl Fn(usize) -> DVec3, gain: DVec3) -> Vec<bool> {
    let is_pushed = |body: usize| is_pressed(push(body), rigids.properties(body).mass, gain);
    let mut lean: Vec<bool> = (0..rigids.len()).map(|body| rigids.is_light(body) && is_pushed(body)).collect();
    if lean.contains(&true) {
        for joined in rigids.joined(state) {
            let any = joined.members.iter().any(|&body| lean[body]);
            joined.members.iter().for_each(|&body| lean[body] = any);
        }
    }
    lean
}

/// How bodies come to a step.
pub struct Pressed<'a> {
    /// What the fluid did to each in the last step, N s and N m s.
    pub pushes: &'a [[DVec3; 2]],
    /// Whether it leans.
    pub lean: &'a [bool],
    /// Their twists as the step began, six numbers each.
    pub before: &'a [f64],
}

/// What bodies that lean do so on, of where they touch something, if the fluid pushes as it did in the last step. Bodies then move
/// as that allows, without that push.
pub fn find(rigids: &Rigids, state: &mut RigidState, touches: &[RigidTouch], pressed: &Pressed) -> Supports {
    if touches.is_empty() {
        return Supports::default();
    }
    let support = |touch: &RigidTouch, n: usize, of: Option<usize>| support(rigids, state, touch, n, of);
    let normals = touches.iter().filter_map(|touch| Some((touch, support(touch, 0, None)?)));
    let (touches, mut supports): (Vec<&RigidTouch>, Vec<Support>) = normals.unzip();
    for n in [1, 2] {
        let rough = touches.iter().enumerate().filter(|(_, touch)| touch.friction > 0.0);
        supports.extend(rough.filter_map(|(number, touch)| support(touch, n, Some(number))));
    }
    let Pressed { pushes, lean, before } = *pressed;
    let of_body = |(push, lean): (&[DVec3; 2], &bool)| push.map(|push| if *lean { push } else { DVec3::ZERO });
    let pushes = pushes.iter().zip(lean).flat_map(of_body).flat_map(|push| push.to_array());
    let mut change: Vec<f64> = pushes.collect();
    rigids.respond(state, &mut change);
    let mut twists = rigids.twists(state);
    add(&change, &mut twists);
    let mut supports = Supports::new(supports, before, &mut twists);
    change.iter_mut().for_each(|change| *change = -*change);
    supports.answer(&mut change);
    add(&change, &mut twists);
    set(rigids, state, &supports, &twists);
    supports
}

/// One direction of a touch as a row, unless joints hold its bodies there already; `of` is the number of its normal, if it is friction.
fn support(rigids: &Rigids, state: &RigidState, touch: &RigidTouch, n: usize, of: Option<usize>) -> Option<Support> {
    let TouchRow { row: JointRow { bodies, jacobian }, least } = touch.rows[n];
    let (mut row, mut answer, mut alone) = (Vec::new(), vec![0.0; 6 * rigids.len()], 0.0);
    for (body, jacobian) in bodies.iter().zip(&jacobian) {
        let Some(body) = *body else { continue };
        let [slide, turn] = [0, 3].map(|a| DVec3::from_slice(&jacobian[a..]));
        let (properties, rotation) = (rigids.properties(body), state.bodies[body].rotation);
        alone += slide.dot(properties.inverse_mass() * slide) + turn.dot(properties.inverse_inertia(rotation) * turn);
        answer[6 * body..][..6].copy_from_slice(jacobian);
        row.extend([(6 * body, slide), (6 * body + 3, turn)]);
    }
    rigids.respond(state, &mut answer);
    let (patch, friction) = (touch.pair, touch.friction);
    let support = Support { row, least, answer, impulse: 0.0, of, patch, friction, give: 0.0 };
    (support.along(&support.answer) > HELD * alone).then_some(support)
}

/// Add what impulses on all bodies (six numbers each) do to the twists, and what bodies lean on does about it.
pub fn push(rigids: &Rigids, state: &RigidState, impulses: Vec<f64>, supports: &mut Supports, twists: &mut [f64]) {
    let mut change = impulses;
    rigids.respond(state, &mut change);
    supports.answer(&mut change);
    add(&change, twists);
}

/// Let bodies that touch something move so, until more is known.
pub fn set(rigids: &Rigids, state: &mut RigidState, supports: &Supports, twists: &[f64]) {
    bodies(supports.all()).into_iter().for_each(|body| rigids.set_twist(state, body, &twists[6 * body..]));
}

/// Let them move so for good: there is nothing left for contact to find.
pub fn agree(rigids: &Rigids, state: &mut RigidState, supports: &Supports, twists: &[f64]) {
    let leaning = bodies(supports.pushing());
    for body in bodies(supports.all()).into_iter().filter(|body| rigids.is_light(*body) || leaning.contains(body)) {
        rigids.agree(state, body, &twists[6 * body..]);
    }
}

/// The bodies that some supports move, those that joints hold to what touches among them.
fn bodies<'a>(supports: impl IntoIterator<Item = &'a Support>) -> BTreeSet<usize> {
    let moved = |support: &'a Support| (0..support.answer.len()).filter(|&n| support.answer[n] != 0.0).map(|n| n / 6);
    supports.into_iter().flat_map(moved).collect()
}

fn add(change: &[f64], twists: &mut [f64]) {
    twists.iter_mut().zip(change).for_each(|(twist, change)| *twist += change);
}
