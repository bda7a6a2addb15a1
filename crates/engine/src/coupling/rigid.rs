//! Free rigid bodies in the coupled solve: bodies that joints connect, or that lean on each other, move as one.
//!
//! A body moves with twist V = (v, ω) about its centre of mass, and answers with M⁻¹. Bodies that are joined respond together,
//! R = M⁻¹ − M⁻¹Kᵀ (K M⁻¹ Kᵀ)⁺ K M⁻¹ with the joints' rows K: what the pressure does to one it does to all, at once (solid/rigid/joined.rs).

use super::leaning;
use super::monolithic::{Answers, Moving, SurfacePush};
use crate::geometry::SurfaceId;
use crate::solid::rigid::{Joined, MassProperties, RigidState, Rigids};
use crate::solid::{Attached, Follow, Freedoms, Pushed, Response};
use crate::solve::Supports;
use glam::{DMat3, DQuat, DVec3};

/// The free bodies of a scene over one solve.
pub struct RigidSide<'a> {
    rigids: &'a Rigids,
    state: &'a mut RigidState,
    /// Of the bodies, in their order.
    surfaces: &'a [SurfaceId],
    /// What they lean on.
    supports: &'a mut Supports,
    /// How they move with the pushes, as far as these are known, six numbers each.
    twists: Vec<f64>,
    /// Those that move as one, as given last, and what was done to them.
    groups: Vec<Group>,
    pushes: Vec<Pushed>,
}

/// Bodies that respond together.
struct Group {
    members: Vec<usize>,
    /// M⁻¹ with joints and what they lean on eliminated, row after row, six rows a member.
    response: Vec<f64>,
    /// Whether joints hold any of them, or what they lean on.
    is_joined: bool,
}

impl<'a> RigidSide<'a> {
    /// The bodies as they come to the solve.
    pub fn new(
        rigids: &'a Rigids,
        state: &'a mut RigidState,
        surfaces: &'a [SurfaceId],
        supports: &'a mut Supports,
    ) -> Self {
        let twists = rigids.twists(state);
        Self { rigids, state, surfaces, supports, twists, groups: Vec::new(), pushes: Vec::new() }
    }

    /// What was done to each body that took part.
    fn each(&self) -> impl Iterator<Item = (usize, SurfacePush)> {
        self.groups.iter().zip(&self.pushes).flat_map(|(group, pushed)| {
            group.members.iter().enumerate().map(|(m, &body)| {
                let [impulse, lift] = [&pushed.impulse, &pushed.lift].map(|values| pair(&values[6 * m..]));
                (body, SurfacePush { surface: self.surfaces[body], impulse, lift })
            })
        })
    }

    /// Add a part of what was done to the twists, and what bodies lean on does about it.
    fn lean(&mut self, part: f64) {
        let mut impulses = vec![0.0; self.twists.len()];
        for (body, SurfacePush { impulse: [linear, angular], .. }) in self.each() {
            impulses[6 * body..][..3].copy_from_slice(&(part * linear).to_array());
            impulses[6 * body + 3..][..3].copy_from_slice(&(part * angular).to_array());
        }
        leaning::push(self.rigids, self.state, impulses, self.supports, &mut self.twists);
    }

    /// A body's surface, first of the freedoms of a unit.
    fn attached(&self, body: usize, joined: &[Joined]) -> Attached {
        let with =
            joined.iter().find(|joined| joined.members.contains(&body)).map_or(&[][..], |joined| &joined.members);
        Attached {
            surface: self.surfaces[body],
            first: 0,
            follow: Follow::Rigid { centre: self.state.bodies[body].position },
            joined: with.iter().filter(|&&other| other != body).map(|&other| self.surfaces[other]).collect(),
        }
    }

    fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.rigids.len()).filter(|&body| self.state.bodies[body].active)
    }

    /// Bodies that joints connect or that lean on each other, and how each such group responds to impulses.
    fn groups(&self, joined: &[Joined]) -> Vec<Group> {
        let is_active = |joined: &&Joined| joined.members.iter().all(|&body| self.state.bodies[body].active);
        let mut groups: Vec<Group> = joined
            .iter()
            .filter(is_active)
            .map(|joined| Group { members: joined.members.clone(), response: joined.response(), is_joined: true })
            .collect();
        let is_joined = |body: &usize| joined.iter().any(|joined| joined.members.contains(body));
        groups.extend(self.active().filter(|body| !is_joined(body)).map(|body| Group {
            members: vec![body],
            response: single_response(self.rigids.properties(body), self.state.bodies[body].rotation),
            is_joined: false,
        }));
        for support in self.supports.pushing() {
            let touching: Vec<usize> = support.row.iter().map(|(first, _)| first / 6).collect();
            let is_one = |group: &Group| group.members.iter().any(|member| touching.contains(member));
            let (together, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_one);
            groups = apart;
            let mut members: Vec<usize> = together.into_iter().flat_map(|group| group.members).collect();
            members.sort_unstable();
            if !members.is_empty() {
                groups.push(Group { members, response: Vec::new(), is_joined: true });
            }
        }
        for group in groups.iter_mut().filter(|group| group.response.is_empty()) {
            group.response = self.joint_response(&group.members);
        }
        groups.sort_by_key(|group| group.members[0]);
        groups
    }

    /// How bodies respond together with all that holds them, row after row.
    ///
    /// What is all but held answers with a difference of large numbers, R = M⁻¹ − …, which round-off may leave indefinite. Twice the kinetic energy of
    /// what impulses do, and what friction takes of them, is the same and never negative: with V = R and the impulses Λ of rows that give way by ε,
    /// R = Vᵀ M V + Λᵀ ε Λ.
    fn joint_response(&self, members: &[usize]) -> Vec<f64> {
        let n = 6 * members.len();
        let gives: Vec<f64> = self.supports.pushing().map(|support| support.give).collect();
        let of_impulse = |i: usize| {
            let mut change = vec![0.0; 6 * self.rigids.len()];
            change[6 * members[i / 6] + i % 6] = 1.0;
            self.rigids.respond(self.state, &mut change);
            let borne = self.supports.resist(&mut change);
            (members.iter().flat_map(|body| change[6 * body..][..6].to_vec()).collect::<Vec<_>>(), borne)
        };
        let momentum = |twists: &[f64]| {
            let of_member = |(&body, twist): (&usize, &[f64])| {
                let (properties, [velocity, spin]) = (self.rigids.properties(body), pair(twist));
                let turning = properties.world_inertia(self.state.bodies[body].rotation) * spin;
                [(properties.mass * velocity).to_array(), turning.to_array()].concat()
            };
            members.iter().zip(twists.chunks_exact(6)).flat_map(of_member).collect::<Vec<_>>()
        };
        let answers: Vec<(Vec<f64>, Vec<f64>)> = (0..n).map(of_impulse).collect();
        let momenta: Vec<Vec<f64>> = answers.iter().map(|(twists, _)| momentum(twists)).collect();
        let mut response = vec![0.0; n * n];
        for i in 0..n {
            for k in 0..=i {
                let moving: f64 = answers[k].0.iter().zip(&momenta[i]).map(|(v, p)| v * p).sum();
                let slipping: f64 =
                    gives.iter().zip(answers[i].1.iter().zip(&answers[k].1)).map(|(give, (a, b))| give * a * b).sum();
                (response[n * i + k], response[n * k + i]) = (moving + slipping, moving + slipping);
            }
        }
        response
    }
}

impl Answers for RigidSide<'_> {
    fn freedoms(&mut self) -> Vec<Freedoms> {
        let joined = self.rigids.joined(self.state);
        self.groups = self.groups(&joined);
        let scale = |&body: &usize| {
            let single = single_response(self.rigids.properties(body), self.state.bodies[body].rotation);
            (0..6).map(move |i| single[7 * i])
        };
        let unit = |group: &Group| {
            let attached = |(m, &body): (usize, &usize)| Attached { first: 6 * m, ..self.attached(body, &joined) };
            let twist = |&body: &usize| self.rigids.velocity(self.state, body).twist();
            Freedoms {
                surfaces: group.members.iter().enumerate().map(attached).collect(),
                velocity: group.members.iter().flat_map(twist).collect(),
                response: Response::Dense {
                    matrix: group.response.clone(),
                    scale: group.members.iter().flat_map(scale).collect(),
                },
            }
        };
        self.groups.iter().map(unit).collect()
    }

    fn moving(&self) -> Vec<Moving> {
        let joined = self.rigids.joined(self.state);
        let moving = |body: usize| Moving {
            attached: self.attached(body, &joined),
            velocity: self.rigids.velocity(self.state, body).twist().to_vec(),
        };
        self.active().map(moving).collect()
    }

    fn push(&mut self, pushes: Vec<Pushed>) {
        self.pushes = pushes;
        if self.can_lean() {
            self.lean(1.0);
        }
    }

    fn can_lean(&self) -> bool {
        !self.supports.is_empty()
    }

    fn settle(&mut self, slack: f64, part: f64) -> bool {
        self.supports.settle(slack, part, &mut self.twists)
    }

    fn take_back(&mut self) {
        if self.can_lean() {
            self.lean(-1.0);
            leaning::set(self.rigids, self.state, self.supports, &self.twists);
        }
    }

    fn let_go(&mut self) -> bool {
        let leaned = self.supports.pushing().next().is_some();
        if self.can_lean() {
            self.supports.let_go(&mut self.twists);
            for body in 0..self.rigids.len() {
                self.rigids.set_twist(self.state, body, &self.twists[6 * body..]);
            }
        }
        leaned
    }

    fn finish(&mut self) {
        for (group, pushed) in self.groups.iter().zip(&self.pushes) {
            for (m, &body) in group.members.iter().enumerate() {
                let [impulse, twist] = pair(&pushed.impulse[6 * m..]);
                self.rigids.apply_impulse(self.state, body, impulse, twist);
                if group.is_joined {
                    let [velocity, spin] = pair(&pushed.change[6 * m..]);
                    let properties = self.rigids.properties(body);
                    let inertia = properties.world_inertia(self.state.bodies[body].rotation);
                    let reaction = [properties.mass * velocity - impulse, inertia * spin - twist];
                    self.rigids.apply_reaction(self.state, body, reaction[0], reaction[1]);
                }
            }
        }
        leaning::agree(self.rigids, self.state, self.supports, &self.twists);
    }

    fn strike(&mut self, unit: usize, pushed: &Pushed, _velocity: &[f64]) {
        // What joints do about it is found when they are joined.
        for (m, &body) in self.groups[unit].members.iter().enumerate() {
            let [impulse, twist] = pair(&pushed.impulse[6 * m..]);
            self.rigids.apply_impulse(self.state, body, impulse, twist);
        }
    }

    fn totals(&self) -> Vec<SurfacePush> {
        self.each().map(|(_, pushed)| pushed).collect()
    }
}

/// Along the axes, and about them.
fn pair(values: &[f64]) -> [DVec3; 2] {
    [0, 3].map(|a| DVec3::from_slice(&values[a..]))
}

/// M⁻¹ of a body by itself, row after row.
fn single_response(properties: &MassProperties, rotation: DQuat) -> Vec<f64> {
    let (slide, turn): (DVec3, DMat3) = (properties.inverse_mass(), properties.inverse_inertia(rotation));
    let mut response = vec![0.0; 36];
    for a in 0..3 {
        response[7 * a] = slide[a];
        for b in 0..3 {
            response[6 * (3 + a) + 3 + b] = 0.5 * (turn.col(b)[a] + turn.col(a)[b]);
        }
    }
    response
}
