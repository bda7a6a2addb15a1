//! The motion of an elastic body as a whole, which a step takes apart from the rest.
//!
//! Velocities are a rigid motion with all momentum m V and angular momentum L there is, and a rest u that has neither,
//!
//! ```text
//! v = V + ω × r + u,      ω = I⁻¹ L,      Σ m u = 0,      Σ m r × u = 0,      r = x − c
//! ```
//!
//! Elastic forces have no resultant and no moment, so that V and L stay, and elasticity acts on u alone. In a frame that turns with ω,
//! inertia adds the accelerations −ω × (ω × r) − 2 ω × u, less what of them is rigid. The first is minus the gradient of ½ L·I⁻¹L: what
//! u gains by it the turning loses. The second gives no energy, so it is made a rotation of u by −2 ω Δt. A move is
//!
//! ```text
//! x ← c + Δt V + Q (r + Δt u),      u ← Q u,      ω ← I⁻¹ L at the new place
//! ```
//!
//! with the finite rotation Q: to turn strains nothing, however stiff the body and however long the step. Linearised, x + Δt ω × r,
//! as in \[ZB17, eq. 34\], it is a stretch by (ω Δt)²/2.

use crate::solid::rigid::rotation::{Principal, principal};
use glam::{DMat3, DQuat, DVec3};

/// Moments of inertia below this share of the largest are those of a line: about it nothing turns.
/// A rod has 6 (r/l)²: this one is 40 000 times as long as wide, which no mesh is.
const LINE: f64 = 1e-9;

/// Angle of one part of a turn, and the most parts there are.
/// Choices: energy is kept for any (docs/methods/elastic.md, *Turning*), parts only follow a tumbling body. So many are 16 rad a step.
const PART: f64 = 0.25;
const PARTS: f64 = 64.0;

/// What a turn of the frame throws outwards in a step is at most this share of the velocity of turning. Beyond it, that is for ω Δt above
/// ½, a body that nothing holds together would gain energy.
const THROWN: f64 = 0.5;

/// Some vertices as a rigid body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Centre of mass, m.
    pub centre: DVec3,
    /// kg.
    pub mass: f64,
    /// V, m/s.
    pub linear: DVec3,
    /// L about the centre, N m s.
    pub angular_momentum: DVec3,
    /// I⁻¹ about the centre, zero where nothing can turn.
    pub inverse_inertia: DMat3,
}

impl Frame {
    /// Of `vertices`, with their masses, positions and velocities; `sliding` is 1 along the axes that are not flat.
    pub fn new(vertices: &[u32], masses: &[f64], [x, v]: [&[DVec3]; 2], sliding: DVec3) -> Self {
        let all = || vertices.iter().map(|&n| (masses[n as usize], x[n as usize], v[n as usize]));
        let mass: f64 = all().map(|(m, ..)| m).sum();
        let centre = all().map(|(m, x, _)| m * x).sum::<DVec3>() / mass;
        let linear = all().map(|(m, _, v)| m * v).sum::<DVec3>() / mass;
        let angular_momentum = all().map(|(m, x, v)| m * (x - centre).cross(v - linear)).sum();
        let mut inertia = DMat3::ZERO;
        for (m, x, _) in all() {
            let r = x - centre;
            let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
            inertia += m * (DMat3::from_diagonal(DVec3::splat(r.length_squared())) - outer);
        }
        Self { centre, mass, linear, angular_momentum, inverse_inertia: inverse_inertia(inertia, sliding) }
    }

    /// ω, rad/s.
    pub fn angular(&self) -> DVec3 {
        self.inverse_inertia * self.angular_momentum
    }

    /// Its velocity at a point, m/s.
    pub fn at(&self, x: DVec3) -> DVec3 {
        self.linear + self.angular().cross(x - self.centre)
    }

    /// The rest u of a velocity `v` at `x`, with what inertia adds to it over `dt`, s, in the turning frame.
    pub fn thrown(&self, x: DVec3, v: DVec3, dt: f64) -> DVec3 {
        let spin = self.angular();
        let outwards = -spin.cross(spin.cross(x - self.centre));
        let time = dt * (THROWN / (dt * spin.length())).min(1.0);
        DQuat::from_scaled_axis(-2.0 * dt * spin) * (v - self.at(x)) + time * outwards
    }

    /// After `dt`, s, under gravity (m/s²) and `external` impulses (N s) on its vertices at `positions`; damping divides by `slowed`.
    pub fn pushed(
        &self,
        dt: f64,
        gravity: DVec3,
        slowed: f64,
        vertices: &[u32],
        positions: &[DVec3],
        external: &[DVec3],
    ) -> Self {
        let pushes = || vertices.iter().filter_map(|&n| Some((positions[n as usize], *external.get(n as usize)?)));
        let push: DVec3 = pushes().map(|(_, push)| push).sum();
        let twist: DVec3 = pushes().map(|(x, push)| (x - self.centre).cross(push)).sum();
        Self {
            linear: (self.linear + dt * gravity + push / self.mass) / slowed,
            angular_momentum: (self.angular_momentum + twist) / slowed,
            ..*self
        }
    }

    /// The rotation Q of a body that turns freely for `dt`, s.
    ///
    /// About the axis of s = I⁻¹ (L + QᵀL)/2 any rotation keeps ½ (QᵀL)·I⁻¹(QᵀL), the energy, since L and QᵀL have the same part along
    /// it. With y = (L + QᵀL)/2 and τ = tan(½ angle)/|s| this is y + τ s × y = L, for which Newton's iteration takes a few rounds. The angle
    /// is that of the spin at the start, so that steady turns are exact.
    pub fn turn(&self, dt: f64) -> DQuat {
        let inverse = self.inverse_inertia;
        let parts = (dt * self.angular().length() / PART).ceil().clamp(1.0, PARTS);
        let mut turn = DQuat::IDENTITY;
        for _ in 0..parts as usize {
            // In the frame of the body.
            let l = turn.conjugate() * self.angular_momentum;
            let rate = (inverse * l).length();
            let half = (0.5 * dt / parts * rate).min(PART);
            if half.is_nan() || half <= 0.0 {
                break;
            }
            let tau = half.tan() / rate;
            let mut y = l;
            for _ in 0..20 {
                let s = inverse * y;
                let error = y + tau * s.cross(y) - l;
                if error.length() <= 1e-15 * l.length() {
                    break;
                }
                let slope = DMat3::IDENTITY + tau * (cross(s) - cross(y) * inverse);
                y -= slope.inverse() * error;
            }
            let s = if y.is_finite() { inverse * y } else { inverse * l };
            let axis = tau * s;
            turn *= DQuat::from_xyzw(axis.x, axis.y, axis.z, 1.0).normalize();
        }
        turn.normalize()
    }

    /// The same body turned by `turn` and carried along for `dt`, s: V and L stay.
    pub fn moved(&self, turn: DQuat, dt: f64) -> Self {
        let q = DMat3::from_quat(turn);
        let inverse_inertia = q * self.inverse_inertia * q.transpose();
        Self { centre: self.centre + dt * self.linear, inverse_inertia, ..*self }
    }
}

/// I⁻¹ of what can turn: nothing about a line, and about a flat axis alone if there is one.
pub(crate) fn inverse_inertia(inertia: DMat3, sliding: DVec3) -> DMat3 {
    match [0, 1, 2].map(|a| sliding[a] == 0.0) {
        [false, false, false] => {
            let Principal { moments, frame } = principal(inertia);
            let least = LINE * moments.max_element();
            let inverses = DVec3::from(moments.to_array().map(|m| if m > least { m.recip() } else { 0.0 }));
            let frame = DMat3::from_quat(frame);
            frame * DMat3::from_diagonal(inverses) * frame.transpose()
        }
        flat if flat.iter().filter(|&&flat| flat).count() == 1 => {
            let about = |a: usize| if flat[a] && inertia.col(a)[a] > 0.0 { inertia.col(a)[a].recip() } else { 0.0 };
            DMat3::from_diagonal(DVec3::new(about(0), about(1), about(2)))
        }
        _ => DMat3::ZERO,
    }
}

/// The matrix of v × ….
fn cross(v: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
}

/// How far a rotation takes `r`, Q r − r, without the round-off of a difference.
pub(super) fn way(turn: DQuat, r: DVec3) -> DVec3 {
    let axis = DVec3::new(turn.x, turn.y, turn.z);
    let across = 2.0 * axis.cross(r);
    turn.w * across + axis.cross(across)
}

/// Vertices that tetrahedra join, directly or by way of others: each list is a part of the body that moves by itself.
pub(super) fn parts(vertices: usize, tetrahedra: &[[u32; 4]]) -> Vec<Vec<u32>> {
    let mut first: Vec<u32> = (0..vertices as u32).collect();
    // The first vertex of the part that `v` is known to be in.
    let find = |first: &mut Vec<u32>, mut v: u32| {
        while first[v as usize] != v {
            first[v as usize] = first[first[v as usize] as usize];
            v = first[v as usize];
        }
        v
    };
    for [a, others @ ..] in tetrahedra {
        for b in others {
            let [a, b] = [*a, *b].map(|v| find(&mut first, v));
            first[a.max(b) as usize] = a.min(b);
        }
    }
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); vertices];
    (0..vertices as u32).for_each(|v| parts[find(&mut first, v) as usize].push(v));
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tumbling(moments: DVec3, l: DVec3) -> Frame {
        let frame = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.3, -0.4, 0.9)));
        let inverse_inertia = frame * DMat3::from_diagonal(moments.recip()) * frame.transpose();
        Frame { centre: DVec3::ZERO, mass: 1.0, linear: DVec3::ZERO, angular_momentum: l, inverse_inertia }
    }

    fn energy(frame: &Frame) -> f64 {
        0.5 * frame.angular_momentum.dot(frame.angular())
    }

    /// Balls, bricks, plates and rods, with steps of up to several turns.
    #[test]
    fn free_turning_keeps_its_energy() {
        for moments in [DVec3::ONE, DVec3::new(1.0, 2.0, 3.0), DVec3::new(1.0, 1.0, 2.0), DVec3::new(1.0, 1.0, 1e-3)] {
            for l in [DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.0, 1e-6, 1.0), DVec3::new(-5.0, 0.1, 0.1)] {
                for dt in [1e-3, 0.05, 0.3, 5.0] {
                    let mut frame = tumbling(moments, l);
                    let before = energy(&frame);
                    for _ in 0..100 {
                        frame = frame.moved(frame.turn(dt), dt);
                        assert!((energy(&frame) / before - 1.0).abs() < 1e-11, "{moments} {l} {dt}");
                    }
                }
            }
        }
    }

    /// Second order towards the turning of rigid bodies; steady turns are exact.
    #[test]
    fn it_turns_as_rigid_bodies_do() {
        let l = DVec3::new(1.0, 2.0, 3.0);
        let moments = DVec3::new(1.0, 2.0, 3.0);
        let exact = {
            let frame = DQuat::from_scaled_axis(DVec3::new(0.3, -0.4, 0.9));
            let body = Principal { moments, frame };
            (0..20_000).fold(DQuat::IDENTITY, |q, _| crate::solid::rigid::rotation::turn(&body, q, l, 5e-5))
        };
        let error = |steps: usize| {
            let (mut frame, mut q) = (tumbling(moments, l), DQuat::IDENTITY);
            for _ in 0..steps {
                let turn = frame.turn(1.0 / steps as f64);
                (frame, q) = (frame.moved(turn, 0.0), turn * q);
            }
            1.0 - q.dot(exact).abs()
        };
        let [coarse, fine] = [50, 100].map(|steps| error(steps).sqrt());
        assert!(fine < 2e-3 && fine < 0.3 * coarse, "{coarse:e} {fine:e}");
        let ball = tumbling(DVec3::splat(2.0), l);
        let whole = DQuat::from_scaled_axis(0.9 * l / 2.0);
        assert!(ball.turn(0.9).dot(whole).abs() > 1.0 - 1e-15);
    }

    #[test]
    fn parts_are_what_tetrahedra_join() {
        let tetrahedra = [[0, 1, 2, 3], [8, 4, 5, 6], [3, 7, 2, 1], [9, 8, 5, 4]];
        assert_eq!(parts(10, &tetrahedra), [vec![0, 1, 2, 3, 7], vec![4, 5, 6, 8, 9]]);
    }
}
