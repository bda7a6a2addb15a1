//! What holds bodies while pressure pushes them: the places where they lean on something.
//!
//! Contact is rows C over velocities, of the vertices of an elastic body or of rigid ones: C v ≥ t, by impulses λ ≥ 0 along the same rows. While the rows that push, and no
//! others, are held to C v = t, the body answers impulses with
//!
//! ```text
//! R = A⁻¹ − Y S⁻¹ Yᵀ,      Y = A⁻¹ Cᵀ,   S = C Y
//! ```
//!
//! Rows of friction are held to C v = t wherever their normals are, as long as all of them together ask for no more than μ times what
//! the normals give; then none is, until the step ends.
//!
//! Pressure changes λ. Rows that would have to pull let go, rows that would be broken are held from then on, and what moves without
//! them, v − Y λ, tells v anew (unlike \[A18, eq. 16\] and \[ZB17, §9\], where contact acts before or after the solve):
//! an active set, whose end is the solution of the complementarity problem of pressure and contact.

use super::Cholesky;
use glam::DVec3;

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
}

/// All of them over one step.
#[derive(Clone, Debug, Default)]
pub struct Supports {
    all: Vec<Support>,
    /// Those that push.
    pushing: Vec<usize>,
    /// S of these.
    matrix: Cholesky,
    /// Whether friction is overcome.
    slides: bool,
}

/// Rows pull if their impulse is below this part of the largest one.
/// A choice: round-off is no pull.
const PULLED: f64 = 1e-9;

/// Coefficient of friction.
/// A choice: scenes have no key for it (docs/methods/elastic.md, *Contact*).
pub const FRICTION: f64 = 0.4;

/// Rounds in which rows that push are found, before the fluid comes in.
/// A choice: after a quarter of them only the [`WORST`] rows change, lest sets go round in circles.
const ROUNDS: usize = 20;

/// What part of the worst counts as bad, once rows have gone round in circles.
/// A choice: near 1 rows would change one at a time, with 0 all change at once.
pub const WORST: f64 = 0.5;

impl Supports {
    /// `all` places that could push; those with an impulse do. `velocity` has these impulses in it, and gets those with which
    /// no row pulls or is broken.
    pub fn new(all: Vec<Support>, velocity: &mut [f64]) -> Self {
        let mut supports = Self { all, ..Self::default() };
        let pushes = |&n: &usize| supports.all[supports.all[n].of.unwrap_or(n)].impulse > 0.0;
        supports.push_with((0..supports.all.len()).filter(pushes).collect(), velocity);
        for round in 0..ROUNDS {
            if !supports.settle(0.0, if round < ROUNDS / 4 { 0.0 } else { WORST }, velocity) {
                break;
            }
        }
        supports
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

    /// A⁻¹ j → R j, in place.
    pub fn resist(&self, change: &mut [f64]) {
        // Stiff bodies lose most of A⁻¹ j, and with it digits: twice is enough, once is not.
        for _ in 0..2 {
            let impulses = self.impulses(|support| -support.along(change));
            self.pushing().zip(impulses).for_each(|(support, impulse)| support.push(impulse, change));
        }
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
        let (normal, across): (Vec<&Support>, Vec<&Support>) = self.pushing().partition(|support| support.of.is_none());
        let normal: f64 = normal.iter().map(|support| support.impulse).sum();
        let across: DVec3 = across.iter().map(|support| support.impulse * support.row[0].1).sum();
        let slides = self.slides || across.length() > FRICTION * normal;
        let sticks = |n: &usize| self.all[*n].of.map_or_else(|| pushes(n), |normal| !slides && pushes(&normal));
        let wanted: Vec<usize> = (0..self.all.len()).filter(sticks).collect();
        self.slides = slides;
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

    /// S of some rows.
    fn matrix_of(&self, rows: &[usize]) -> Cholesky {
        let n = rows.len();
        let entry = |place: usize| self.all[rows[place / n]].along(&self.all[rows[place % n]].answer);
        Cholesky::new(n, (0..n * n).map(entry).collect())
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
    fn along(&self, velocity: &[f64]) -> f64 {
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
        };
        Supports::new(vec![support(0, [2.0, 1.0]), support(1, [1.0, 2.0])], velocity)
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
}
