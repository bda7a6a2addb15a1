//! What holds bodies while pressure pushes them: the places where they lean on something.
//!
//! Contact is rows C over velocities, of the vertices of an elastic body or of rigid ones: C v ≥ t, by impulses λ ≥ 0 along the same rows. While the rows that push, and no
//! others, are held to C v = t, the body answers impulses with
//!
//! ```text
//! R = A⁻¹ − Y S⁻¹ Yᵀ,      Y = A⁻¹ Cᵀ,   S = C Y
//! ```
//!
//! Rows of friction are held wherever their normals are, and give way as what slips does: C v + ε λ = t, so that S becomes S + ε. Coulomb's friction asks
//! for |λ| = μ N at any speed; with ε = s/(μ N), s the speed of slip as the step began, it does so while that speed lasts, falls
//! with it, and never turns a body back. What is at rest has next to no ε: it sticks. If all rows of a patch together ask for more than
//! 1.25 μ N nevertheless, it is let go until the step ends, and slips in the next.
//!
//! Pressure changes λ. Rows that would have to pull let go, rows that would be broken are held from then on, and what moves without
//! them, v − Y λ, tells v anew (unlike \[A18, eq. 16\] and \[ZB17, §9\], where contact acts before or after the solve):
//! an active set, whose end is the solution of the complementarity problem of pressure and contact.

use super::Cholesky;
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet};

/// A place where something stops a body.
#[derive(Clone, Debug)]
pub struct Support {
    /// Its row of C: where three velocities begin, and what they count.
    pub row: Vec<(usize, DVec3)>,
    /// t, m/s.
    pub least: f64,
    /// What a unit impulse along it does to all velocities: a column of Y.
    pub answer: Vec<f64>,
    /// λ, N s; zero where it does not push.
    pub impulse: f64,
    /// If it is a row of friction, the number of its normal.
    pub of: Option<usize>,
    /// Which places slip together with it.
    pub patch: usize,
    /// Coefficient of friction.
    pub friction: f64,
    /// ε: what a row of friction gives way for an impulse, m/s for 1 N s. None in a patch that begins to push only now.
    pub give: f64,
}

/// All of them over one step.
#[derive(Clone, Debug, Default)]
pub struct Supports {
    all: Vec<Support>,
    /// Those that push.
    pushing: Vec<usize>,
    /// S + ε of these.
    matrix: Cholesky,
    /// Patches whose friction is overcome.
    slipped: BTreeSet<usize>,
}

/// What holds a patch from slipping.
#[derive(Clone, Copy, Debug, Default)]
struct Friction {
    /// μ N, N s.
    limit: f64,
    /// What it bears, N s.
    borne: DVec3,
}

/// Rows pull if their impulse is below this part of the largest one.
/// A choice: round-off is no pull.
const PULLED: f64 = 1e-9;

/// Rows of friction that add less than this part to what others hold already are not held: several places of a patch say nearly the same, and would
/// pull against each other.
/// A thousandth of their length, squared: much above what contact points are off a plane.
const DEPENDENT: f64 = 1e-6;

/// Friction is overcome if it asks for more than this many times μ N.
/// A choice: what slips faster and faster is asked for a little more than μ N as it is, by as much as it gains in a step.
const OVERCOME: f64 = 1.25;

/// Rounds in which rows that push are found, before the fluid comes in.
/// A choice: after a quarter of them only the [`WORST`] rows change, lest sets go round in circles.
const ROUNDS: usize = 20;

/// What part of the worst counts as bad, once rows have gone round in circles.
/// A choice: near 1 rows would change one at a time, with 0 all change at once.
pub const WORST: f64 = 0.5;

impl Supports {
    /// `all` places that could push, friction after all others; those with an impulse do. `velocity` has these impulses in it, and gets those with which
    /// no row pulls or is broken. Slip is as it was `before` the step.
    pub fn new(all: Vec<Support>, before: &[f64], velocity: &mut [f64]) -> Self {
        let mut supports = Self { all, ..Self::default() };
        let pushes = |&n: &usize| supports.all[supports.all[n].of.unwrap_or(n)].impulse > 0.0;
        supports.push_with((0..supports.all.len()).filter(pushes).collect(), velocity);
        for round in 0..ROUNDS {
            if !supports.settle(0.0, if round < ROUNDS / 4 { 0.0 } else { WORST }, velocity) {
                break;
            }
        }
        supports.slip(before, velocity);
        supports
    }

    /// Let friction give way where there is slip: by s/(μ N) for all of a patch, so that each of the places which bear a part gives way by more.
    fn slip(&mut self, before: &[f64], velocity: &mut [f64]) {
        let slip = |n: usize| {
            let across = self.all.iter().filter(|support| support.of == Some(n));
            across.map(|support| (support.along(before) - support.least).powi(2)).sum::<f64>().sqrt()
        };
        let mut speeds = BTreeMap::<usize, f64>::new();
        for (n, normal) in self.normals() {
            *speeds.entry(normal.patch).or_default() += slip(n);
        }
        let friction = self.friction();
        for support in self.all.iter_mut().filter(|support| support.of.is_some()) {
            if let Some(Friction { limit, .. }) = friction.get(&support.patch).filter(|friction| friction.limit > 0.0) {
                support.give = speeds[&support.patch] / limit;
            }
        }
        self.slipped.clear();
        let pushes = |n: &usize| self.pushing.binary_search(&self.all[*n].of.unwrap_or(*n)).is_ok();
        self.push_with((0..self.all.len()).filter(pushes).collect(), velocity);
    }

    /// Those that push and are no friction.
    fn normals(&self) -> impl Iterator<Item = (usize, &Support)> {
        self.pushing.iter().map(|&n| (n, &self.all[n])).filter(|(_, support)| support.of.is_none())
    }

    /// Friction of all patches that something pushes.
    fn friction(&self) -> BTreeMap<usize, Friction> {
        let mut patches = BTreeMap::<usize, Friction>::new();
        for support in self.pushing() {
            let of_patch = patches.entry(support.patch).or_default();
            match support.of {
                None => of_patch.limit += support.friction * support.impulse,
                Some(_) => of_patch.borne += support.impulse * support.row[0].1,
            }
        }
        patches
    }

    /// Whether nothing could push.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All that could push.
    pub fn all(&self) -> &[Support] {
        &self.all
    }

    /// Those that push.
    pub fn pushing(&self) -> impl Iterator<Item = &Support> {
        self.pushing.iter().map(|&n| &self.all[n])
    }

    /// The same places under a body that answers otherwise: `respond` tells what a unit impulse along each does.
    pub fn answered(&self, respond: impl Fn(&Support) -> Vec<f64>) -> Self {
        let all = self.all.iter().map(|support| Support { answer: respond(support), ..support.clone() }).collect();
        let mut supports = Self { all, pushing: self.pushing.clone(), ..Self::default() };
        supports.matrix = supports.matrix_of(&supports.pushing);
        supports
    }

    /// A⁻¹ j → R j, in place. Returns the impulses of the rows that push.
    pub fn resist(&self, change: &mut [f64]) -> Vec<f64> {
        // Stiff bodies lose most of A⁻¹ j, and with it digits: twice is enough, once is not.
        let mut impulses = vec![0.0; self.pushing.len()];
        for _ in 0..2 {
            let mut more: Vec<f64> =
                self.pushing().zip(&impulses).map(|(support, j)| -support.along(change) - support.give * j).collect();
            self.matrix.solve(&mut more);
            self.pushing().zip(&more).for_each(|(support, impulse)| support.push(*impulse, change));
            impulses.iter_mut().zip(more).for_each(|(impulse, more)| *impulse += more);
        }
        impulses
    }

    /// Let go of everything: nothing could push any more.
    pub fn let_go(&mut self, velocity: &mut [f64]) {
        self.push_with(Vec::new(), velocity);
        self.all.clear();
    }

    /// The same, and the impulses count.
    pub fn answer(&mut self, change: &mut [f64]) {
        let impulses = self.impulses(|support| -support.along(change));
        for (&n, impulse) in self.pushing.iter().zip(impulses) {
            self.all[n].push(impulse, change);
            self.all[n].impulse += impulse;
        }
    }

    /// Let go what pulls and let push what is broken by more than `slack`, m/s; false if nothing does or is. Of both, only what does so by more than
    /// a `part` of the worst: all at once may go round in circles. With endless slack rows are only let go, so that this comes to an end.
    pub fn settle(&mut self, slack: f64, part: f64, velocity: &mut [f64]) -> bool {
        let largest = self.all.iter().map(|support| support.impulse).fold(0.0, f64::max);
        let pushes_now: Vec<bool> = (0..self.all.len()).map(|n| self.pushing.binary_search(&n).is_ok()).collect();
        let is_normal = |n: usize| self.all[n].of.is_none();
        let pull = |n: usize| if pushes_now[n] && is_normal(n) { -self.all[n].impulse } else { 0.0 };
        let break_by = |n: usize| {
            if pushes_now[n] || !is_normal(n) { 0.0 } else { self.all[n].least - self.all[n].along(velocity) }
        };
        let worst = |of: &dyn Fn(usize) -> f64| (0..self.all.len()).map(of).fold(0.0, f64::max);
        let (most_pulled, most_broken) = (worst(&pull), worst(&break_by));
        let pushes = |n: &usize| {
            if pushes_now[*n] {
                pull(*n) <= (PULLED * largest).max(part * most_pulled)
            } else {
                break_by(*n) > slack.max(part * most_broken)
            }
        };
        let overcome = |(patch, Friction { limit, borne })| (borne.length() > OVERCOME * limit).then_some(patch);
        let slipped: BTreeSet<usize> =
            self.friction().into_iter().filter_map(overcome).chain(self.slipped.iter().copied()).collect();
        let sticks = |n: &usize| {
            let Support { of, patch, .. } = &self.all[*n];
            of.map_or_else(|| pushes(n), |normal| !slipped.contains(patch) && pushes(&normal))
        };
        let wanted: Vec<usize> = (0..self.all.len()).filter(sticks).collect();
        self.slipped = slipped;
        let changes = wanted != self.pushing;
        if changes {
            self.push_with(wanted, velocity);
        }
        changes
    }

    /// Let these rows push, and no others.
    fn push_with(&mut self, rows: Vec<usize>, velocity: &mut [f64]) {
        for support in &mut self.all {
            support.push(-support.impulse, velocity);
            support.impulse = 0.0;
        }
        self.matrix = self.matrix_of(&rows);
        self.pushing = rows;
        let impulses = self.impulses(|support| support.least - support.along(velocity));
        for (&n, impulse) in self.pushing.iter().zip(impulses) {
            self.all[n].push(impulse, velocity);
            self.all[n].impulse = impulse;
        }
    }

    /// S + ε of some rows.
    fn matrix_of(&self, rows: &[usize]) -> Cholesky {
        let n = rows.len();
        let entry = |place: usize| {
            let (support, other) = (&self.all[rows[place / n]], &self.all[rows[place % n]]);
            let give = if place / n == place % n { support.give } else { 0.0 };
            support.along(&other.answer) + give
        };
        let least = |row: usize| self.all[rows[row]].of.map(|_| DEPENDENT);
        Cholesky::leaving_out(n, (0..n * n).map(entry).collect(), least)
    }

    /// S⁻¹ of something of the rows that push.
    fn impulses(&self, of: impl Fn(&Support) -> f64) -> Vec<f64> {
        let mut impulses: Vec<f64> = self.pushing().map(of).collect();
        self.matrix.solve(&mut impulses);
        impulses
    }
}

impl Support {
    /// Its row of C times some velocities.
    pub fn along(&self, velocity: &[f64]) -> f64 {
        self.row.iter().map(|(first, part)| part.dot(DVec3::from_slice(&velocity[*first..]))).sum()
    }

    fn push(&self, impulse: f64, velocity: &mut [f64]) {
        if impulse != 0.0 {
            velocity.iter_mut().zip(&self.answer).for_each(|(v, answer)| *v += impulse * answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two vertices with a spring between them along x: A = [[2, −1], [−1, 2]], so that A⁻¹ = [[2, 1], [1, 2]]/3. Both have a floor below.
    fn supports(velocity: &mut [f64]) -> Supports {
        let support = |vertex: usize, answer: [f64; 2]| Support {
            row: vec![(3 * vertex, DVec3::X)],
            least: 0.0,
            answer: vec![answer[0] / 3.0, 0.0, 0.0, answer[1] / 3.0, 0.0, 0.0],
            impulse: 0.0,
            of: None,
            patch: 0,
            friction: 0.0,
            give: 0.0,
        };
        Supports::new(vec![support(0, [2.0, 1.0]), support(1, [1.0, 2.0])], &[0.0; 6], velocity)
    }

    #[test]
    fn what_is_held_answers_without_it() {
        // The first falls and is stopped by 3; by half of that the other one is carried along.
        let mut velocity = [-2.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let mut supports = supports(&mut velocity);
        assert_eq!(velocity, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
        assert_eq!(
            supports.pushing().map(|support| (support.row[0].0, support.impulse)).collect::<Vec<_>>(),
            [(0, 3.0)]
        );
        // Pushed down by 2 it stays, and so does the other; pushed itself, the other moves as if the first were a wall: by ½.
        let mut change = [-4.0 / 3.0, 0.0, 0.0, -2.0 / 3.0, 0.0, 0.0];
        supports.answer(&mut change);
        assert!(change.iter().all(|c| c.abs() < 1e-15), "{change:?}");
        assert!((supports.pushing().next().unwrap().impulse - 5.0).abs() < 1e-14);
        let mut change = [1.0 / 3.0, 0.0, 0.0, 2.0 / 3.0, 0.0, 0.0];
        supports.resist(&mut change);
        assert!(change[0].abs() < 1e-15 && (change[3] - 0.5).abs() < 1e-15, "{change:?}");
    }

    #[test]
    fn what_pulls_lets_go_and_what_is_broken_is_held() {
        let mut velocity = [-2.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let mut supports = supports(&mut velocity);
        // The second number says that all rows which pull or are broken count, however little beside the worst.
        assert!(!supports.settle(0.0, 0.0, &mut velocity));
        // Pulled up by 6, more than what holds it.
        let mut change = [4.0, 0.0, 0.0, 2.0, 0.0, 0.0];
        supports.answer(&mut change);
        velocity.iter_mut().zip(change).for_each(|(v, change)| *v += change);
        assert!(supports.settle(0.0, 0.0, &mut velocity) && supports.pushing().count() == 0);
        assert!((velocity[0] - 2.0).abs() < 1e-14 && (velocity[3] - 3.0).abs() < 1e-14, "{velocity:?}");
        // The other one is pushed down by 9, and takes the first along: both are in the way, unless there is slack. Held both, the first pulls.
        [0, 3].into_iter().zip([3.0, 6.0]).for_each(|(n, change)| velocity[n] -= change);
        assert!(!supports.settle(f64::INFINITY, 0.0, &mut velocity));
        assert!(supports.settle(0.0, 0.0, &mut velocity) && supports.pushing().count() == 2);
        assert!(supports.settle(0.0, 0.0, &mut velocity) && supports.pushing().count() == 1);
        assert!(!supports.settle(0.0, 0.0, &mut velocity));
        assert!((velocity[0] - 0.5).abs() < 1e-14 && velocity[3].abs() < 1e-14, "{velocity:?}");
    }

    /// A block of 2 kg on a floor, its velocities along x, y (up) and z: pressed down by 10 N s, with friction of a half.
    fn block(before: [f64; 3], pushed: [f64; 3]) -> (Supports, [f64; 3]) {
        let row = |direction: DVec3, of: Option<usize>| Support {
            row: vec![(0, direction)],
            least: 0.0,
            answer: (direction / 2.0).to_array().to_vec(),
            impulse: 0.0,
            of,
            patch: 7,
            friction: 0.5,
            give: 0.0,
        };
        let rows = vec![row(DVec3::Y, None), row(DVec3::X, Some(0)), row(DVec3::Z, Some(0))];
        let mut velocity = [0, 1, 2].map(|a| before[a] + pushed[a] / 2.0);
        let supports = Supports::new(rows, &before, &mut velocity);
        (supports, velocity)
    }

    #[test]
    fn what_is_pushed_by_less_than_friction_bears_stays() {
        let (mut supports, mut velocity) = block([0.0; 3], [3.0, -10.0, 3.9]);
        assert!(!supports.settle(0.0, 0.0, &mut velocity));
        assert!(velocity.iter().all(|v| v.abs() < 1e-15), "{velocity:?}");
        // By more, and it is let go.
        let (mut supports, mut velocity) = block([0.0; 3], [6.0, -10.0, 8.0]);
        assert!(supports.settle(0.0, 0.0, &mut velocity) && !supports.settle(0.0, 0.0, &mut velocity));
        assert!((DVec3::from(velocity) - DVec3::new(3.0, 0.0, 4.0)).length() < 1e-14, "{velocity:?}");
    }

    /// Slipping at speed s it loses μ N, 5 N s, times what is left of s; it never turns back, and what it still has within reach of friction is
    /// gone in a few steps.
    #[test]
    fn what_slips_is_slowed_by_friction() {
        let (mut supports, mut velocity) = block([60.0, 0.0, 80.0], [0.0, -10.0, 0.0]);
        assert!(!supports.settle(0.0, 0.0, &mut velocity));
        let lost = DVec3::new(60.0, 0.0, 80.0) - DVec3::from(velocity);
        let expected = 2.5 * DVec3::new(0.6, 0.0, 0.8);
        assert!((lost - expected).length() < 0.03 * expected.length(), "{lost:?}");
        let mut speed = 2.0;
        for _ in 0..6 {
            let (_, velocity) = block([speed, 0.0, 0.0], [0.0, -10.0, 0.0]);
            assert!((0.0..speed).contains(&velocity[0]) && velocity[2] == 0.0, "{velocity:?} from {speed}");
            speed = velocity[0];
        }
        assert!(speed < 1e-9, "{speed}");
    }
}
