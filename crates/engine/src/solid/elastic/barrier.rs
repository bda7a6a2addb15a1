//! What keeps a tetrahedron from collapsing.
//!
//! Linear strain \[ZB17, eq. 3\] gives way evenly, to nothing and beyond: an element pressed to nothing resists with its modulus and no more. So
//! principal stretches σ below a limit σ₀ cost more, the energy density Σ g(σ_i) on top of the linear one,
//!
//! ```text
//! t = 1 − σ/σ₀,    g = κ σ₀ t³/3,  g' = −κ t²    (0 < t ≤ 1),      g' = −κ (2 t − 1)    (t > 1)
//! ```
//!
//! with stretches of the rotated frame, S = sym(RᵀF) = Q diag(σ) Qᵀ: one of them is negative if the element is inside out
//! [Irving, Teran & Fedkiw 2004], and is driven on to the right side. g is convex, and its slope grows evenly below zero, so that force and stiffness
//! are finite in any state. As the linear stiffness, that of the barrier is the derivative at fixed R,
//!
//! ```text
//! d²ψ = Σ g''(σ_i) (q_i·dS q_i)² + 2 Σ_{i<j} (g'(σ_i) − g'(σ_j)) / (σ_i − σ_j) (q_i·dS q_j)²
//! ```
//!
//! which is positive semi-definite. Elements with all stretches above σ₀, which is nearly all of them, know nothing of it.

use super::rotation::eigen;
use glam::{DMat3, DVec3};

/// σ₀: stretches below this are resisted. Down to half its length a body is as soft as it was said to be.
/// A choice: higher would make bodies harder than was said at strains that scenes have, lower leaves less way to stop in.
const LEAST_STRETCH: f64 = 0.4;

/// κ, in shear moduli: the stress at which an element is flat, some hundred times Young's modulus. What lies under twenty
/// times that modulus keeps a fifth of its height.
/// A choice: weaker, such loads press it flatter; stronger, g'' changes more within a step, which is linear.
const STRENGTH: f64 = 300.0;

/// The barrier of one element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    /// Energy density, Pa.
    pub energy: f64,
    /// In the rotated frame, Pa.
    pub stress: DMat3,
    /// Principal directions, turned with the element.
    directions: [DVec3; 3],
    /// g'' of each of them, Pa.
    along: [f64; 3],
    /// (g'_i − g'_j) / (σ_i − σ_j) of the two others, Pa.
    between: [f64; 3],
}

impl Barrier {
    /// Of an element with this strain S − I and rotation, if any of its stretches is below the limit; `mu` is its shear modulus, Pa.
    pub fn new(strain: DMat3, rotation: DMat3, mu: f64) -> Option<Self> {
        // All stretches are above the limit if S − σ₀ I is positive definite.
        let rest = strain + DMat3::from_diagonal(DVec3::splat(1.0 - LEAST_STRETCH));
        let minor = rest.x_axis.x * rest.y_axis.y - rest.x_axis.y * rest.x_axis.y;
        if rest.x_axis.x > 0.0 && minor > 0.0 && rest.determinant() > 0.0 {
            return None;
        }
        let (least, kappa) = (LEAST_STRETCH, STRENGTH * mu);
        let (values, vectors) = eigen(strain.to_cols_array_2d());
        let t = values.map(|strain| (1.0 - (1.0 + strain) / least).max(0.0));
        let slope = t.map(|t| -kappa * if t < 1.0 { t * t } else { 2.0 * t - 1.0 });
        let curvature = t.map(|t| 2.0 * kappa / least * t.min(1.0));
        let energy = |t: f64| kappa * least * if t < 1.0 { t.powi(3) / 3.0 } else { t * t - t + 1.0 / 3.0 };
        let q = vectors.map(DVec3::from);
        let square = |i: usize| DMat3::from_cols(q[i] * q[i].x, q[i] * q[i].y, q[i] * q[i].z) * slope[i];
        let between = |k: usize| {
            let [i, j] = [(k + 1) % 3, (k + 2) % 3];
            let apart = values[i] - values[j];
            // Where stretches agree, the quotient is the slope's own.
            if apart.abs() > 1e-9 { (slope[i] - slope[j]) / apart } else { 0.5 * (curvature[i] + curvature[j]) }
        };
        Some(Self {
            energy: t.into_iter().map(energy).sum(),
            stress: square(0) + square(1) + square(2),
            directions: q.map(|q| rotation * q),
            along: curvature,
            between: std::array::from_fn(between),
        })
    }

    /// Between corners with the turned gradients `ha` and `hb`, per volume, N/m⁴.
    pub fn stiffness(&self, ha: DVec3, hb: DVec3) -> DMat3 {
        let mut sum = DMat3::ZERO;
        for k in 0..3 {
            let [u, v, w] = [self.directions[k], self.directions[(k + 1) % 3], self.directions[(k + 2) % 3]];
            let own = u.dot(ha) * u.dot(hb) * self.along[k];
            // q_i·dS q_j is half of what each side adds, and counts twice.
            let [a, b] = [ha, hb].map(|h| v * w.dot(h) + w * v.dot(h));
            // In this order of products, block (b, a) is the transpose of block (a, b) to the last bit.
            let column = |c: usize| (u * u[c]) * own + (a * b[c]) * (0.5 * self.between[k]);
            sum += DMat3::from_cols(column(0), column(1), column(2));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    const MU: f64 = 2e3;

    fn strain(stretches: DVec3) -> DMat3 {
        let q = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.6, 0.48, 0.64), 1.1));
        q * DMat3::from_diagonal(stretches - DVec3::ONE) * q.transpose()
    }

    #[test]
    fn what_is_not_squeezed_knows_nothing_of_it() {
        for stretches in [DVec3::ONE, DVec3::new(0.401, 0.5, 3.0), DVec3::splat(0.401)] {
            assert!(Barrier::new(strain(stretches), DMat3::IDENTITY, MU).is_none(), "{stretches}");
        }
        for stretches in [DVec3::new(0.399, 1.0, 1.0), DVec3::new(-0.1, -0.2, 1.0), DVec3::splat(-1.0), DVec3::ZERO] {
            assert!(Barrier::new(strain(stretches), DMat3::IDENTITY, MU).is_some(), "{stretches}");
        }
    }

    /// Stress and stiffness are the first and second derivative of the energy at fixed rotation: by difference quotients, along F ← F + h u gᵀ.
    #[test]
    fn stress_and_stiffness_are_derivatives_of_the_energy() {
        let (at, step) = (strain(DVec3::new(0.1, 0.3, -0.2)), 1e-5);
        let of = |u: DVec3, g: DVec3| {
            let change = DMat3::from_cols(u * g.x, u * g.y, u * g.z);
            (change + change.transpose()) * 0.5
        };
        let energy = |strain: DMat3| Barrier::new(strain, DMat3::IDENTITY, MU).unwrap().energy;
        let barrier = Barrier::new(at, DMat3::IDENTITY, MU).unwrap();
        for (u, g) in
            [(DVec3::X, DVec3::Y), (DVec3::new(0.3, -1.0, 0.5), DVec3::new(1.0, 0.4, -0.2)), (DVec3::Z, DVec3::Z)]
        {
            let [less, same, more] = [-1.0, 0.0, 1.0].map(|n| energy(at + of(u, g) * (n * step)));
            let slope = u.dot(barrier.stress * g);
            let curvature = u.dot(barrier.stiffness(g, g) * u);
            assert!(((more - less) / (2.0 * step) / slope - 1.0).abs() < 1e-6, "{slope}");
            assert!(((more - 2.0 * same + less) / (step * step) / curvature - 1.0).abs() < 1e-3, "{curvature}");
            assert!(curvature >= 0.0);
            assert_eq!(barrier.stiffness(u, g), barrier.stiffness(g, u).transpose());
        }
    }

    /// Twenty times Young's modulus, which is 3 μ at most, do not press an element to a fifth of its height.
    #[test]
    fn twenty_times_the_modulus_do_not_flatten_it() {
        let stress = Barrier::new(strain(DVec3::new(0.2, 1.0, 1.0)), DMat3::IDENTITY, MU).unwrap().stress;
        let along = stress.x_axis.x + stress.y_axis.y + stress.z_axis.z;
        assert!(along < -20.0 * 3.0 * MU, "{along}");
    }
}
