//! What joints leave of the motion of the bodies they hold together.
//!
//! Joints are rows K over the twists V of a group of bodies: K V = 0. With a root of the inverse masses, F Fᵀ = M⁻¹, and Q an
//! orthonormal basis of the rows of K F, the answer of joints to any V is the projection
//!
//! ```text
//! V ← F (1 − Qᵀ Q) F⁻¹ V
//! ```
//!
//! which takes away what the joints forbid at the least kinetic energy, that is, by impulses along their own rows. Bodies that
//! are pushed while joints hold them answer with R = F (1 − Qᵀ Q) Fᵀ. Both are orthogonal projections in the measure of kinetic
//! energy, so that round-off is that of unit vectors, however light one body is and however heavy the other; rows that hold
//! nothing new drop out of the basis. (\[A18, eq. 16\] does not tell of joints; here they are part of
//! how bodies answer pressure.)

use super::joint::JointRow;
use super::momentum;
use super::{Impulse, MassProperties, RigidState, Rigids};
use glam::{DMat3, DVec3};

/// Bodies that joints hold together.
pub struct Joined {
    /// Their numbers.
    pub members: Vec<usize>,
    roots: Vec<Root>,
    /// Q, six entries a member.
    basis: Vec<Vec<f64>>,
    /// Whether nothing is left to them: then round-off is not, either.
    is_fixed: bool,
}

/// F of one body: mass⁻½ along the axes it may move along, and about those that it may turn about.
struct Root {
    mass: DVec3,
    /// Columns are principal axes.
    frame: DMat3,
    moments: DVec3,
    turning: DVec3,
}

/// Rows that add less than this part of themselves to those before hold nothing new. Much above what redundant joints are apart
/// because bodies have drifted a little.
/// A choice: with much more, rows that do hold something would be dropped; with less, what drift leaves of redundant ones would hold motions that are free.
const DEPENDENT: f64 = 1e-6;

impl Root {
    fn new(properties: &MassProperties, rotation: glam::DQuat) -> Self {
        Self {
            mass: properties.sliding / properties.mass.sqrt(),
            frame: DMat3::from_quat(rotation * properties.principal.frame),
            moments: properties.principal.moments.map(|moment| moment.sqrt().recip()),
            turning: properties.turning,
        }
    }

    /// How many axes it may move along and turn about.
    fn freedoms(&self) -> f64 {
        DVec3::select(self.mass.cmpgt(DVec3::ZERO), DVec3::ONE, DVec3::ZERO).element_sum() + self.turning.element_sum()
    }

    /// F w.
    fn apply(&self, w: &[f64]) -> [f64; 6] {
        let [linear, angular] = [0, 3].map(|a| DVec3::from_slice(&w[a..]));
        together(self.mass * linear, self.turning * (self.frame * (self.moments * angular)))
    }

    /// Fᵀ j.
    fn transposed(&self, j: &[f64]) -> [f64; 6] {
        let [linear, angular] = [0, 3].map(|a| DVec3::from_slice(&j[a..]));
        together(self.mass * linear, self.moments * (self.frame.transpose() * (self.turning * angular)))
    }

    /// F⁻¹ V; nothing of what the body may not do.
    fn solve(&self, v: &[f64]) -> [f64; 6] {
        let [linear, angular] = [0, 3].map(|a| DVec3::from_slice(&v[a..]));
        let linear = DVec3::select(self.mass.cmpgt(DVec3::ZERO), linear / self.mass, DVec3::ZERO);
        together(linear, self.frame.transpose() * (self.turning * angular) / self.moments)
    }
}

impl Joined {
    fn new(members: Vec<usize>, rows: &[JointRow], rigids: &Rigids, state: &RigidState) -> Self {
        let root = |&body: &usize| Root::new(rigids.properties(body), state.bodies[body].rotation);
        let roots: Vec<Root> = members.iter().map(root).collect();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for row in rows {
            let mut own = vec![0.0; 6 * members.len()];
            for (body, jacobian) in row.bodies.iter().zip(&row.jacobian) {
                if let Some(m) = members.iter().position(|member| Some(*member) == *body) {
                    let weighed = roots[m].transposed(jacobian);
                    own[6 * m..].iter_mut().zip(weighed).for_each(|(own, weighed)| *own += weighed);
                }
            }
            let size = dot(&own, &own).sqrt();
            // Twice is enough, once is not.
            (0..2).for_each(|_| remove(&basis, &mut own));
            let left = dot(&own, &own).sqrt();
            if left > DEPENDENT * size {
                own.iter_mut().for_each(|value| *value /= left);
                basis.push(own);
            }
        }
        let freedoms: f64 = roots.iter().map(|root| root.freedoms()).sum();
        let is_fixed = basis.len() as f64 >= freedoms;
        Self { members, roots, basis, is_fixed }
    }

    /// R, row after row, six rows a member: changes of twists by impulses.
    pub fn response(&self) -> Vec<f64> {
        let n = 6 * self.members.len();
        let mut response = vec![0.0; n * n];
        for i in 0..n {
            let mut unit = vec![0.0; n];
            unit[i] = 1.0;
            let mut w = self.each(&unit, Root::transposed);
            self.project(&mut w);
            response[n * i..][..n].copy_from_slice(&self.each(&w, Root::apply));
        }
        // Symmetric to the last bit.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (response[n * i + j] + response[n * j + i]);
                (response[n * i + j], response[n * j + i]) = (mean, mean);
            }
        }
        response
    }

    /// What joints leave of the twists of the members, six numbers each.
    pub fn allowed(&self, twists: &[f64]) -> Vec<f64> {
        let mut w = self.each(twists, Root::solve);
        self.project(&mut w);
        self.each(&w, Root::apply)
    }

    /// w ← (1 − Qᵀ Q) w.
    fn project(&self, w: &mut [f64]) {
        (0..2).for_each(|_| remove(&self.basis, w));
        if self.is_fixed {
            w.fill(0.0);
        }
    }

    fn each(&self, values: &[f64], map: impl Fn(&Root, &[f64]) -> [f64; 6]) -> Vec<f64> {
        self.roots.iter().zip(values.chunks_exact(6)).flat_map(|(root, values)| map(root, values)).collect()
    }
}

impl Rigids {
    /// Impulses on bodies (N s, N m s) → changes of their twists, in place, six numbers each: M⁻¹, and what joints do about it.
    pub fn respond(&self, state: &RigidState, impulses: &mut [f64]) {
        for (body, own) in impulses.chunks_exact_mut(6).enumerate() {
            let root = Root::new(&self.properties[body], state.bodies[body].rotation);
            own.copy_from_slice(&root.transposed(own));
        }
        for joined in self.joined(state) {
            let of = |&body: &usize| impulses[6 * body..][..6].to_vec();
            let mut w = joined.members.iter().flat_map(of).collect::<Vec<_>>();
            joined.project(&mut w);
            joined
                .members
                .iter()
                .zip(w.chunks_exact(6))
                .for_each(|(&body, w)| impulses[6 * body..][..6].copy_from_slice(w));
        }
        for (body, own) in impulses.chunks_exact_mut(6).enumerate() {
            let root = Root::new(&self.properties[body], state.bodies[body].rotation);
            own.copy_from_slice(&root.apply(own));
        }
    }

    /// The groups of bodies that joints hold together.
    pub fn joined(&self, state: &RigidState) -> Vec<Joined> {
        let rows = self.joint_rows(state);
        let pair = |row: &JointRow| row.bodies[0].zip(row.bodies[1]);
        let pairs: Vec<(usize, usize)> = rows.iter().filter_map(pair).collect();
        let group = |members: Vec<usize>| {
            let is_own = |row: &&JointRow| row.bodies.iter().flatten().any(|body| members.contains(body));
            let own: Vec<JointRow> = rows.iter().filter(is_own).copied().collect();
            (!own.is_empty()).then(|| Joined::new(members, &own, self, state))
        };
        momentum::groups(self.len(), &pairs).into_iter().filter_map(group).collect()
    }

    /// Take what joints forbid out of the velocities: what the fluid meets must be a motion that they allow. Like all that joints
    /// are predicted to do, this counts until the bodies move.
    pub fn keep_joints(&self, state: &mut RigidState) {
        for joined in self.joined(state) {
            let twists: Vec<f64> = joined.members.iter().flat_map(|&body| self.velocity(state, body).twist()).collect();
            for (&body, reaction) in joined.members.iter().zip(self.reactions(&joined, state, &twists)) {
                self.apply_reaction(state, body, reaction.linear, reaction.angular);
            }
        }
    }

    /// The impulses by which joints take what they forbid out of these twists of their bodies.
    fn reactions(&self, joined: &Joined, state: &RigidState, twists: &[f64]) -> Vec<Impulse> {
        let allowed = joined.allowed(twists);
        let each = joined.members.iter().zip(allowed.chunks_exact(6).zip(twists.chunks_exact(6)));
        each.map(|(&body, (after, before))| {
            let [linear, angular] = [0, 3].map(|a| DVec3::from_slice(&after[a..]) - DVec3::from_slice(&before[a..]));
            let p = &self.properties[body];
            let inertia = p.world_inertia(state.bodies[body].rotation);
            Impulse { linear: p.mass * linear, angular: inertia * angular }
        })
        .collect()
    }
}

fn together(linear: DVec3, angular: DVec3) -> [f64; 6] {
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}

/// Take away what a vector has of an orthonormal basis.
fn remove(basis: &[Vec<f64>], vector: &mut [f64]) {
    for direction in basis {
        let along = dot(direction, vector);
        vector.iter_mut().zip(direction).for_each(|(value, direction)| *value -= along * direction);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
