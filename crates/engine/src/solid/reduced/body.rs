//! A body that moves as a whole and in a few modes \[LJF16, §3–5\].
//!
//! Its points are x = c + R (X + S q). Velocities are taken apart so that each part has its own momentum and no other,
//!
//! ```text
//! v = V + Ω × r + P_dᵀ R S q̇,      Ω = I⁻¹ L,      P_dᵀ R S = R S − (I⁻¹ R H) × r,      H = Σ m y × S
//! ```
//!
//! with r = x − c = R y: m V is all momentum there is and L all angular momentum, however the body is deformed. The mass of the modes is then M_r − HᵀI⁻¹H, not the
//! M_r of \[LJF16, eq. 21 and 43\], and inertia is that of the deformed shape (basis.rs). The frame turns with ω = I⁻¹ (L − R H q̇). In it
//!
//! ```text
//! (M_r − HᵀI⁻¹H) q̈ = −Λ q − (τm M + τk Λ) q̇ + f
//! fₖ = ½ ω·(∂I/∂qₖ) ω + 2 ω·Σₗ (Σ m sₖ × sₗ) q̇ₗ − Hₖ·I⁻¹ (L × ω − İ ω)
//! ```
//!
//! The step is implicit in Λ and damping, explicit in f, as \[LJF16, eq. 25 to 31\], but one for places and velocities, not two \[§6\]; what f gives to the modes, turning has to lose when the shape changes. What it does not, the modes give back,
//! so that energy never grows.

use super::basis::{Basis, Moments};
use crate::geometry::{Pose, RigidVelocity};
use crate::solid::elastic::{Material, inverse_inertia};
use crate::solid::rigid::rotation::{principal, turn};
use crate::solve::Cholesky;
use glam::{DMat3, DQuat, DVec3};
use std::sync::Arc;

/// What turning throws outwards in a step is at most this part of the velocity of turning: see elastic/frame.rs.
const THROWN: f64 = 0.5;

/// How often the rates of modes are halved so as not to fold a body before they are stopped.
/// A choice: five leave 1/32 of a rate, the last stops it. With fewer, modes stop where some of their way was left; more would only creep on.
const HALVINGS: usize = 6;

/// Cells that the surface crosses in a step, and part by which it is strained, at most.
/// Choices: contact looks two steps ahead, and what modes push is about what the surface sweeps.
const CROSSED: f64 = 1.0;
const STRAINED: f64 = 0.2;

/// What changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducedState {
    /// Centre of mass, m.
    pub position: DVec3,
    /// R.
    pub rotation: DQuat,
    /// V, m/s.
    pub velocity: DVec3,
    /// L about the centre, N m s.
    pub angular_momentum: DVec3,
    /// q, m, and q̇, m/s.
    pub shape: Vec<f64>,
    /// q̇, m/s.
    pub rates: Vec<f64>,
    /// Δt f of the last prediction.
    pub thrown: Vec<f64>,
    /// What the fluid did in the last step: force (N), torque (N m), and force along each mode (N), both in the frame.
    pub force: Vec<f64>,
    /// False once it has left the domain.
    pub active: bool,
}

/// A reduced body.
#[derive(Clone, Debug)]
pub struct ReducedBody {
    /// Its shape and modes.
    pub basis: Arc<Basis>,
    /// What it is made of.
    pub material: Material,
    /// What changes.
    pub state: ReducedState,
    /// Where the vertices of the basis' surface are, m.
    pub positions: Vec<DVec3>,
    /// How these move, m/s.
    pub velocities: Vec<DVec3>,
    /// Moments of the shape now, for ρ = 1 kg/m³.
    moments: Moments,
    /// R (I/ρ)⁻¹ Rᵀ.
    inverse: DMat3,
    /// The shape at rest of the last step, q, m.
    rest: Vec<f64>,
    /// Kinetic energy with which it came to its place, J.
    pub arrived: f64,
    /// Steps so far in which modes were stopped so as not to fold the body.
    pub limited: usize,
}

impl ReducedBody {
    /// A body at rest in the shape and at the place that its basis was made of.
    pub fn new(basis: Arc<Basis>, material: Material) -> Self {
        let state = ReducedState {
            position: basis.centre,
            rotation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            angular_momentum: DVec3::ZERO,
            shape: vec![0.0; basis.count],
            rates: vec![0.0; basis.count],
            thrown: vec![0.0; basis.count],
            force: vec![0.0; 6 + basis.count],
            active: true,
        };
        let (vertices, count) = (basis.surface.vertices.len(), basis.count);
        let mut new = Self {
            basis,
            material,
            state,
            positions: vec![DVec3::ZERO; vertices],
            velocities: vec![DVec3::ZERO; vertices],
            moments: Moments::default(),
            inverse: DMat3::ZERO,
            rest: vec![0.0; count],
            arrived: 0.0,
            limited: 0,
        };
        new.take_shape();
        new
    }

    /// kg.
    pub fn mass(&self) -> f64 {
        self.material.density * self.basis.volume
    }

    /// How many freedoms there are: six of the whole, and the modes.
    pub fn freedoms(&self) -> usize {
        6 + self.basis.count
    }

    /// Where its frame is.
    pub fn pose(&self) -> Pose {
        Pose { position: self.state.position, rotation: self.state.rotation }
    }

    /// Ω, rad/s.
    pub fn spin(&self) -> DVec3 {
        self.inverse * self.state.angular_momentum / self.material.density
    }

    /// Turn so, rad/s.
    pub fn set_spin(&mut self, spin: DVec3) {
        self.state.angular_momentum = self.angular_momentum_of(spin);
        self.take_velocities();
    }

    /// As a whole. What is held moves its centre of mass by its modes alone.
    pub fn whole(&self) -> RigidVelocity {
        let mean = |q: &[f64]| {
            let sum: DVec3 = q.iter().enumerate().map(|(k, q)| *q * self.basis.mean(k)).sum();
            self.state.rotation * sum / self.basis.volume
        };
        let [moved, moving] = match self.basis.is_held {
            true => [mean(&self.state.shape), mean(&self.state.rates)],
            false => [DVec3::ZERO; 2],
        };
        let (centre, linear) = (self.state.position + moved, self.state.velocity + moving);
        RigidVelocity { centre, linear, angular: self.spin() }
    }

    /// I Ω.
    fn angular_momentum_of(&self, spin: DVec3) -> DVec3 {
        let r = DMat3::from_quat(self.state.rotation);
        self.material.density * (r * (self.moments.inertia * (r.transpose() * spin)))
    }

    /// ω = I⁻¹ (L − R H q̇), rad/s.
    fn frame_spin(&self) -> DVec3 {
        self.spin() - self.inverse * (self.state.rotation * self.swirl())
    }

    /// H q̇ for ρ = 1 kg/m³.
    fn swirl(&self) -> DVec3 {
        self.moments.swirl.iter().zip(&self.state.rates).map(|(h, rate)| *rate * *h).sum()
    }

    /// Λₖ, N/m.
    fn stiffness(&self, k: usize) -> f64 {
        self.basis.squares[k] * self.material.youngs_modulus * self.basis.volume
    }

    /// M_r − HᵀI⁻¹H, row after row, kg.
    pub fn modal_mass(&self) -> Vec<f64> {
        let Basis { count, volume, is_held, .. } = *self.basis;
        let r = DMat3::from_quat(self.state.rotation);
        let inverse = r.transpose() * self.inverse * r;
        let h = &self.moments.swirl;
        let turned: Vec<DVec3> = h.iter().map(|h| inverse * *h).collect();
        let entry = |place: usize| {
            let (i, j) = (place / count, place % count);
            let whole = if i == j { volume } else { 0.0 };
            self.material.density * if is_held { whole } else { whole - h[i].dot(turned[j]) }
        };
        (0..count * count).map(entry).collect()
    }

    /// How the vertices of the surface follow the modes, P_dᵀ R S, vertex by vertex; zero in modes that the fluid does not feel.
    pub fn directions(&self) -> Vec<DVec3> {
        let Basis { count, ref directions, is_held, sliding, .. } = *self.basis;
        let rotation = self.state.rotation;
        let felt: Vec<bool> = (0..count).map(|k| self.basis.is_felt(k)).collect();
        let counters: Vec<DVec3> = self.moments.swirl.iter().map(|swirl| self.inverse * (rotation * *swirl)).collect();
        let direction = |place: usize| {
            let (n, k) = (place / count, place % count);
            let own = rotation * directions[place];
            match (felt[k], is_held) {
                (false, _) => DVec3::ZERO,
                (true, true) => own,
                (true, false) => own - sliding * counters[k].cross(self.positions[n] - self.state.position),
            }
        };
        (0..count * self.positions.len()).map(direction).collect()
    }

    /// M̂⁻¹ over a step of `dt`, s, of all freedoms, row after row: 1/m, I⁻¹, and that of the modes with elasticity and damping.
    pub fn response(&self, dt: f64) -> Vec<f64> {
        let Basis { count, is_held, sliding, .. } = *self.basis;
        let n = 6 + count;
        let mut matrix = vec![0.0; n * n];
        let Material { density, mass_damping, stiffness_damping, .. } = self.material;
        let slowed = 1.0 + dt * mass_damping;
        if !is_held {
            for a in 0..3 {
                matrix[n * a + a] = sliding[a] / (slowed * self.mass());
                for b in 0..3 {
                    matrix[n * (3 + a) + 3 + b] = self.inverse.col(b)[a] / (slowed * density);
                }
            }
        }
        let mut modal = self.modal_mass();
        modal.iter_mut().for_each(|m| *m *= slowed);
        for k in 0..count {
            modal[count * k + k] += (dt * stiffness_damping + dt * dt) * self.stiffness(k);
        }
        let factor = Cholesky::new(count, modal);
        for k in 0..count {
            let mut column = vec![0.0; count];
            column[k] = 1.0;
            factor.solve(&mut column);
            column.iter().enumerate().for_each(|(l, value)| matrix[n * (6 + l) + 6 + k] = *value);
        }
        matrix
    }

    /// V, Ω and q̇.
    pub fn motion(&self) -> Vec<f64> {
        let whole = [self.state.velocity, self.spin()];
        whole.iter().flat_map(|v| v.to_array()).chain(self.state.rates.iter().copied()).collect()
    }

    /// Change V, Ω and q̇ by so much.
    pub fn add_motion(&mut self, change: &[f64]) {
        self.state.velocity += DVec3::from_slice(change);
        self.state.angular_momentum += self.angular_momentum_of(DVec3::from_slice(&change[3..]));
        self.state.rates.iter_mut().zip(&change[6..]).for_each(|(rate, change)| *rate += change);
        self.take_velocities();
    }

    /// v → v* over `dt`, s, under gravity, m/s². At its end the shape at rest is `rest`, q, m.
    pub fn predict(&mut self, dt: f64, gravity: DVec3, rest: &[f64]) {
        self.rest.copy_from_slice(rest);
        let Basis { count, is_held, .. } = *self.basis;
        let slowed = 1.0 + dt * self.material.mass_damping;
        let modal = self.modal_mass();
        let thrown = if is_held { vec![0.0; count] } else { self.thrown(dt) };
        let pull = |k: usize| {
            let momentum: f64 =
                modal[count * k..][..count].iter().zip(&self.state.rates).map(|(m, rate)| m * rate).sum();
            let weight = self.material.density * self.basis.mean(k).dot(self.state.rotation.conjugate() * gravity);
            momentum - dt * self.stiffness(k) * (self.state.shape[k] - rest[k]) + thrown[k] + dt * weight
        };
        let pulls: Vec<f64> = (0..count).map(pull).collect();
        let matrix = self.response(dt);
        let n = self.freedoms();
        let rate = |k: usize| pulls.iter().enumerate().map(|(l, pull)| matrix[n * (6 + k) + 6 + l] * pull).sum();
        self.state.rates = (0..count).map(rate).collect();
        self.state.thrown = thrown;
        if !is_held {
            self.state.velocity = (self.state.velocity + dt * self.basis.sliding * gravity) / slowed;
            self.state.angular_momentum /= slowed;
        }
        self.take_velocities();
    }

    /// Δt f.
    fn thrown(&self, dt: f64) -> Vec<f64> {
        let count = self.basis.count;
        let density = self.material.density;
        let back = self.state.rotation.conjugate();
        let spin = back * self.frame_spin();
        let momentum = back * self.state.angular_momentum / density;
        let r = DMat3::from_quat(self.state.rotation);
        let inverse = r.transpose() * self.inverse * r;
        // ω·I' ω and I' ω of a change of Σ m y yᵀ.
        let turned = |slope: DMat3| (slope.x_axis.x + slope.y_axis.y + slope.z_axis.z) * spin - slope * spin;
        let growth =
            self.moments.slopes.iter().zip(&self.state.rates).fold(DMat3::ZERO, |sum, (d, rate)| sum + *rate * *d);
        let rest = inverse * (momentum.cross(spin) - turned(growth));
        let time = dt * (THROWN / (dt * spin.length())).min(1.0);
        let force = |k: usize| {
            let outwards = 0.5 * spin.dot(turned(self.moments.slopes[k]));
            let aside: f64 = (0..count).map(|l| 2.0 * spin.dot(self.basis.twist(k, l)) * self.state.rates[l]).sum();
            density * time * (outwards + aside - self.moments.swirl[k].dot(rest))
        };
        (0..count).map(force).collect()
    }

    /// x ← x + Δt v.
    pub fn advance(&mut self, dt: f64) {
        self.limit(dt);
        if self.basis.is_held {
            self.state.shape.iter_mut().zip(&self.state.rates).for_each(|(q, rate)| *q += dt * rate);
            self.arrived = self.kinetic_energy();
            return self.take_shape();
        }
        let before = self.kinetic_energy();
        let granted: f64 = self.state.thrown.iter().zip(&self.state.rates).map(|(thrown, rate)| thrown * rate).sum();
        let counter = self.inverse * (self.state.rotation * self.swirl());
        self.state.position += dt * self.state.velocity;
        self.state.shape.iter_mut().zip(&self.state.rates).for_each(|(q, rate)| *q += dt * rate);
        self.moments = self.basis.moments(&self.state.shape);
        let inertia = self.material.density * self.moments.inertia;
        let turned = DQuat::from_scaled_axis(-dt * counter) * self.state.rotation;
        self.state.rotation = match self.basis.sliding == DVec3::ONE {
            true => turn(&principal(inertia), turned, self.state.angular_momentum, dt).normalize(),
            // About the flat axis alone.
            false => (DQuat::from_scaled_axis(dt * self.spin()) * turned).normalize(),
        };
        self.take_inertia();
        // What turning lost is what the modes were given, but for errors of the step, which they pay.
        let gain = self.kinetic_energy() - before + granted;
        let modal = self.modal_energy();
        if gain > 0.0 && modal > 0.0 {
            let kept = (1.0 - gain / modal).max(0.0).sqrt();
            self.state.rates.iter_mut().for_each(|rate| *rate *= kept);
        }
        self.arrived = self.kinetic_energy();
        self.take_shape();
    }

    /// Let modes stop before a tetrahedron is folded or swollen ([`Basis::is_fit`]).
    fn limit(&mut self, dt: f64) {
        let before = self.basis.volumes(&self.state.shape);
        let mut rates = self.state.rates.clone();
        for halving in 0..HALVINGS {
            let shape: Vec<f64> = self.state.shape.iter().zip(&rates).map(|(q, rate)| q + dt * rate).collect();
            if self.basis.is_fit(&shape, before) {
                break;
            }
            let part = if halving + 1 < HALVINGS { 0.5 } else { 0.0 };
            rates.iter_mut().for_each(|rate| *rate *= part);
        }
        if rates != self.state.rates {
            self.limited += 1;
            self.state.rates = rates;
        }
    }

    /// The longest step, s, in which its surface crosses no more than a cell of `dx`, m, and nothing of it is strained by more than a fifth.
    pub fn longest_step(&self, dx: f64) -> f64 {
        let fastest = self.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        (CROSSED * dx / fastest).min(STRAINED / self.basis.rate_of_strain(&self.state.rates))
    }

    /// ½ q̇ᵀ (M_r − HᵀI⁻¹H) q̇, J.
    fn modal_energy(&self) -> f64 {
        let (modal, rates) = (self.modal_mass(), &self.state.rates);
        let row = |(rate, row): (&f64, &[f64])| rate * row.iter().zip(rates).map(|(m, rate)| m * rate).sum::<f64>();
        0.5 * rates.iter().zip(modal.chunks_exact(rates.len().max(1))).map(row).sum::<f64>()
    }

    /// J.
    pub fn kinetic_energy(&self) -> f64 {
        let turning = 0.5 * self.state.angular_momentum.dot(self.spin());
        0.5 * self.mass() * self.state.velocity.length_squared() + turning + self.modal_energy()
    }

    /// ½ (q − rest)ᵀΛ(q − rest), J.
    pub fn elastic_energy(&self) -> f64 {
        let strain = self.state.shape.iter().zip(&self.rest).map(|(q, rest)| q - rest);
        0.5 * strain.enumerate().map(|(k, q)| self.stiffness(k) * q * q).fold(0.0, |sum, energy| sum + energy)
    }

    /// Volume inside its surface now, m³.
    pub fn volume(&self) -> f64 {
        let corners = |t: &[u32; 3]| t.map(|v| self.positions[v as usize] - self.state.position);
        self.basis.surface.triangles.iter().map(corners).map(|[a, b, c]| a.dot(b.cross(c))).sum::<f64>() / 6.0
    }

    /// Let the fluid's force of the last step push over `dt`, s, with what the body answers over a step of `step`, s.
    pub fn expect(&mut self, dt: f64, step: f64) {
        let n = self.freedoms();
        let turned = |from: usize| self.state.rotation * DVec3::from_slice(&self.state.force[from..]);
        let mut impulse: Vec<f64> = [turned(0), turned(3)].iter().flat_map(|f| f.to_array()).collect();
        impulse.extend(&self.state.force[6..]);
        impulse.iter_mut().for_each(|j| *j *= dt);
        let matrix = self.response(step);
        let change: Vec<f64> =
            matrix.chunks_exact(n).map(|row| row.iter().zip(&impulse).map(|(r, j)| r * j).sum()).collect();
        self.add_motion(&change);
    }

    /// Remember what the fluid did over `dt`, s: an impulse on all freedoms.
    pub fn remember(&mut self, impulse: &[f64], dt: f64) {
        let back = self.state.rotation.conjugate();
        let turned = |from: usize| back * DVec3::from_slice(&impulse[from..]) / dt;
        let mut force: Vec<f64> = [turned(0), turned(3)].iter().flat_map(|f| f.to_array()).collect();
        force.extend(impulse[6..self.freedoms()].iter().map(|j| j / dt));
        self.state.force = force;
    }

    /// Be as the state says.
    pub fn take_shape(&mut self) {
        self.moments = self.basis.moments(&self.state.shape);
        self.take_inertia();
        let Basis { count, ref surface, ref directions, .. } = *self.basis;
        for (n, x) in self.positions.iter_mut().enumerate() {
            let s = &directions[count * n..][..count];
            let moved = s.iter().zip(&self.state.shape).map(|(s, q)| *q * *s).sum::<DVec3>();
            *x = self.state.position + self.state.rotation * (surface.vertices[n] + moved);
        }
        self.take_velocities();
    }

    fn take_inertia(&mut self) {
        let r = DMat3::from_quat(self.state.rotation);
        let inertia = r * self.moments.inertia * r.transpose();
        self.inverse = match self.basis.is_held {
            true => DMat3::ZERO,
            false => inverse_inertia(inertia, self.basis.sliding),
        };
    }

    fn take_velocities(&mut self) {
        let Basis { count, ref directions, .. } = *self.basis;
        let (state, frame) = (&self.state, self.frame_spin());
        for (n, (v, x)) in self.velocities.iter_mut().zip(&self.positions).enumerate() {
            let s = &directions[count * n..][..count];
            let moving = s.iter().zip(&state.rates).map(|(s, rate)| *rate * *s).sum::<DVec3>();
            *v = state.velocity + self.basis.sliding * frame.cross(*x - state.position) + state.rotation * moving;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::modes::Modes;
    use super::*;
    use crate::geometry::{Bounds, Shape, TetMesh};

    fn basis(rest: &TetMesh, modes: usize) -> Arc<Basis> {
        Arc::new(Basis::new(rest, &[], [false; 3], &Modes::lowest(rest, 0.3, &[], [false; 3], modes).unwrap()))
    }

    fn body(modes: usize, material: Material) -> ReducedBody {
        let rest = TetMesh::block(DVec3::new(0.5, 0.3, 0.4), [4, 3, 3]).mapped(|x| x + DVec3::new(0.2, -0.1, 0.4));
        ReducedBody::new(basis(&rest, modes), material)
    }

    const RUBBER: Material = Material {
        youngs_modulus: 1e5,
        poisson_ratio: 0.3,
        density: 1000.0,
        mass_damping: 0.0,
        stiffness_damping: 0.0,
    };

    impl ReducedBody {
        /// A step in vacuum.
        fn step(&mut self, dt: f64) {
            self.predict(dt, DVec3::ZERO, &vec![0.0; self.basis.count]);
            self.advance(dt);
        }
    }

    /// Row Q10: whatever its muscles do, a body in vacuum stays where it is and does not turn, by its momenta.
    #[test]
    fn muscles_alone_move_nothing() {
        let mut body = body(8, RUBBER);
        let count = body.basis.count;
        for step in 0..1000 {
            let rest: Vec<f64> = (0..count).map(|k| 0.02 * (0.1 * f64::from(step) * (1 + k) as f64).sin()).collect();
            body.predict(0.005, DVec3::ZERO, &rest);
            body.advance(0.005);
        }
        assert!(body.elastic_energy() > 0.0 && body.state.shape.iter().any(|q| q.abs() > 1e-3), "it does move");
        assert!((body.state.position - body.basis.centre).length() < 1e-12);
        assert!(body.state.angular_momentum.length() < 1e-12);
    }

    /// Bent, swinging and tumbling.
    fn tumbling() -> ReducedBody {
        let mut body = body(8, RUBBER);
        for k in 0..body.basis.count {
            body.state.shape[k] = 0.01 * ((3 * k + 1) % 5) as f64 - 0.02;
            body.state.rates[k] = 0.1 * ((2 * k + 1) % 7) as f64 - 0.3;
        }
        body.take_shape();
        body.state.velocity = DVec3::new(0.3, -0.2, 0.1);
        body.set_spin(DVec3::new(2.0, -3.0, 1.0));
        body
    }

    /// Rows F7, F8 and Q3: a mode by itself loses what backward Euler takes, and no other begins to move.
    #[test]
    fn one_mode_swings_by_itself() {
        for (damping, dt) in [([0.0, 0.0], 0.004), ([0.7, 1e-3], 0.002), ([0.0, 2e-3], 0.01)] {
            let mut body = body(6, Material { mass_damping: damping[0], stiffness_damping: damping[1], ..RUBBER });
            let omega = (body.stiffness(2) / body.mass()).sqrt();
            body.state.shape[2] = 1e-3;
            body.take_shape();
            let zeta = 0.5 * (damping[0] / omega + damping[1] * omega);
            let d = 1.0 + 2.0 * zeta * omega * dt + (omega * dt).powi(2);
            // The two numbers of the recurrence: q'' − 2 c q' + q/D = 0.
            let c = (1.0 + zeta * omega * dt) / d;
            let mut places = vec![1e-3];
            for _ in 0..50 {
                body.step(dt);
                places.push(body.state.shape[2]);
                let others = (0..body.basis.count).filter(|&k| k != 2).map(|k| body.state.shape[k].abs());
                assert!(others.fold(0.0, f64::max) < 1e-12);
            }
            for w in places.windows(3) {
                assert!((w[2] - 2.0 * c * w[1] + w[0] / d).abs() < 1e-13, "{damping:?} {dt}: {w:?}");
            }
        }
    }

    /// Row Q4. Momentum is the sum over what the surface's vertices cannot tell, so it is taken from the whole; energy from all.
    #[test]
    fn momenta_stay_and_energy_never_grows() {
        for dt in [1e-3, 0.01, 1.0 / 24.0] {
            let mut body = tumbling();
            let (p, l) = (body.state.velocity, body.state.angular_momentum);
            let mut energy = body.kinetic_energy() + body.elastic_energy();
            for step in 0..1000 {
                body.step(dt);
                let now = body.kinetic_energy() + body.elastic_energy();
                assert!(now <= energy * (1.0 + 1e-12), "{dt}, step {step}: {energy} -> {now}");
                energy = now;
            }
            assert!((body.state.velocity - p).length() < 1e-12 && (body.state.angular_momentum - l).length() < 1e-12);
        }
    }

    /// However hard it is thrown together, no tetrahedron that is watched loses more than four fifths of its volume or grows beyond two and a half times that, and the surface stays a surface.
    #[test]
    fn modes_do_not_fold_a_body() {
        let mut body = body(10, Material { youngs_modulus: 10.0, ..RUBBER });
        for k in 0..body.basis.count {
            body.state.rates[k] = if k % 2 == 0 { -8.0 } else { 6.0 };
        }
        body.take_shape();
        for _ in 0..200 {
            body.step(0.01);
            let [least, most] = body.basis.volumes(&body.state.shape);
            assert!(least >= 0.2 - 1e-12 && most <= 2.5 + 1e-12, "{least} {most}");
        }
        assert!(body.limited > 0 && body.volume() > 0.0);
    }

    /// Row Q5: it turns slower when it swells.
    #[test]
    fn what_swells_turns_slower() {
        let (rest, _) = TetMesh::stuff(&Shape::Sphere { radius: 0.2 }, 0.08).unwrap();
        let basis = basis(&rest, 4);
        let mut body = ReducedBody::new(basis.clone(), RUBBER);
        body.set_spin(DVec3::new(0.3, 2.0, -1.0));
        let before = body.spin();
        body.state.shape = basis.nearest(DVec3::splat(1.1));
        body.take_shape();
        let ratio = body.spin().length() / before.length();
        assert!((ratio - 0.826_446_280_991_735).abs() < 1e-10, "{ratio}");
    }

    /// Row Q6: a bar that turns grows longer by ρ ω² L³/24E at each end, of which the first mode along it has 96/π⁴.
    #[test]
    fn a_bar_that_turns_grows_longer() {
        let rest = TetMesh::block(DVec3::new(1.0, 0.1, 0.1), [20, 2, 2]);
        let material = Material { youngs_modulus: 1e6, mass_damping: 0.0, stiffness_damping: 2e-2, ..RUBBER };
        let basis = basis(&rest, 12);
        let mut body = ReducedBody::new(basis, material);
        body.set_spin(DVec3::new(0.0, 0.0, 2.0));
        let length = |body: &ReducedBody| {
            let ends = Bounds::of(&body.positions.iter().map(|x| body.pose().invert(*x)).collect::<Vec<_>>());
            ends.max.x - ends.min.x
        };
        let before = length(&body);
        for _ in 0..2000 {
            body.step(0.005);
        }
        let spin = body.spin().z;
        let grown = 0.5 * (length(&body) - before) / (1.66667e-4 * (spin / 2.0).powi(2));
        println!("{grown} of the continuum, turning with {spin}");
        assert!((grown - 0.98553).abs() < 0.03, "{grown}");
        assert!(body.positions.iter().all(|x| (x.z - body.state.position.z).abs() < 0.0501), "stays in its plane");
    }

    /// Row Q7, in part: without elasticity the response is symmetric, and the inverse of the mass behind P_dᵀRS.
    #[test]
    fn without_elasticity_the_response_is_the_inverse_of_mass() {
        let mut body = tumbling();
        body.material.youngs_modulus = 0.0;
        let (n, count) = (body.freedoms(), body.basis.count);
        // Symmetric, and M̂⁻¹ M̂ = 1 with the masses that energies have.
        let response = body.response(0.01);
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            assert!((response[n * a + b] - response[n * b + a]).abs() <= 1e-12 * response[n * a + a].abs().max(1e-300));
        }
        let modal = body.modal_mass();
        for k in 0..count {
            let product: f64 = (0..count).map(|l| response[n * (6 + k) + 6 + l] * modal[count * l + k]).sum();
            assert!((product - 1.0).abs() < 1e-12);
        }
    }
}
