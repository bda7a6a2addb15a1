//! One tetrahedron with constant strain, warped by its rotation [Müller & Gross 2004].
//!
//! F = Σ x_a g_aᵀ with the shape gradients g_a of the tetrahedron at rest, R its rotation, and the strain is measured in the
//! rotated frame, ε = sym(RᵀF) − I. With stress P = 2 μ ε + λ tr(ε) I and volume V at rest,
//!
//! ```text
//! energy  ½ V ε:P,    force on a  −V R P g_a,    stiffness (a, b)  V (μ (h_a·h_b) I + μ h_b h_aᵀ + λ h_a h_bᵀ),  h = R g
//! ```
//!
//! which is f = −R K_e (Rᵀx − x₀) and R K_e Rᵀ: to turn the stiffness is to turn its four gradients. The force is exactly minus the
//! gradient of the energy, since R makes the energy stationary. The stiffness is its derivative at fixed R, not
//! the Hessian of the energy: it stays positive semi-definite however the element is deformed. What is squeezed to less than two fifths of
//! its length has a barrier as well.

use super::barrier::Barrier;
use super::rotation::nearest_rotation;
use glam::{DMat3, DQuat, DVec3};

/// A tetrahedron at rest.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Inverse of the matrix of the three edges from the first corner, 1/m.
    inverse: DMat3,
    /// m³.
    pub volume: f64,
}

/// A tetrahedron as it is now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Warped {
    /// Shape gradients, turned with the element, 1/m.
    gradients: [DVec3; 4],
    /// Volume × Lamé's λ and μ, J.
    moduli: [f64; 2],
    /// What keeps it from collapsing, if it is about to.
    barrier: Option<Barrier>,
    /// m³, at rest.
    volume: f64,
    /// Elastic force on each corner, N; they add up to zero.
    pub forces: [DVec3; 4],
    /// Elastic energy, J.
    pub energy: f64,
    /// Its rotation could not be told from its deformation.
    pub undetermined: bool,
    /// Flat or inside out.
    pub inverted: bool,
}

impl Element {
    /// From its corners at rest, which enclose a positive volume.
    pub fn new([o, a, b, c]: [DVec3; 4]) -> Self {
        let edges = DMat3::from_cols(a - o, b - o, c - o);
        Self { inverse: edges.inverse(), volume: edges.determinant() / 6.0 }
    }

    /// The deformation gradient F of its corners now.
    pub fn deformation(&self, [o, a, b, c]: [DVec3; 4]) -> DMat3 {
        DMat3::from_cols(a - o, b - o, c - o) * self.inverse
    }

    /// Forces, energy and stiffness of its corners now. `lame` are λ and μ, Pa.
    pub fn warped(&self, corners: [DVec3; 4], lame: [f64; 2], preferred: DQuat) -> Warped {
        let f = self.deformation(corners);
        let rotation = nearest_rotation(f, preferred);
        let r = rotation.matrix;
        let stretch = r.transpose() * f;
        let strain = (stretch + stretch.transpose()) * 0.5 - DMat3::IDENTITY;
        let trace = strain.x_axis.x + strain.y_axis.y + strain.z_axis.z;
        let [lambda, mu] = lame;
        let mut stress = strain * (2.0 * mu) + DMat3::from_diagonal(DVec3::splat(lambda * trace));
        let squares: f64 = strain.to_cols_array().iter().map(|e| e * e).sum();
        let mut density = mu * squares + 0.5 * lambda * trace * trace;
        let barrier = Barrier::new(strain, r, mu);
        if let Some(barrier) = &barrier {
            stress += barrier.stress;
            density += barrier.energy;
        }

        let g = self.inverse.transpose();
        let h = r * g;
        let pull = r * stress * g * -self.volume;
        // The first corner gets minus the sum of the others, so that nothing is left.
        let with_first = |m: DMat3| [-(m.x_axis + m.y_axis + m.z_axis), m.x_axis, m.y_axis, m.z_axis];
        Warped {
            gradients: with_first(h),
            moduli: lame.map(|m| m * self.volume),
            volume: self.volume,
            forces: with_first(pull),
            energy: self.volume * density,
            barrier,
            undetermined: rotation.undetermined,
            inverted: f.determinant() <= 0.0,
        }
    }
}

impl Warped {
    /// The part of the stiffness with which corner `b` pulls at corner `a`, N/m.
    pub fn stiffness(&self, a: usize, b: usize) -> DMat3 {
        let [lambda, mu] = self.moduli;
        let [ha, hb] = [self.gradients[a], self.gradients[b]];
        // In this order of products, block (b, a) is the transpose of block (a, b) to the last bit.
        let column = |c: usize| (hb * ha[c]) * mu + (ha * hb[c]) * lambda;
        let linear =
            DMat3::from_cols(column(0), column(1), column(2)) + DMat3::from_diagonal(DVec3::splat(mu * ha.dot(hb)));
        match &self.barrier {
            Some(barrier) => linear + barrier.stiffness(ha, hb) * self.volume,
            None => linear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: [DVec3; 4] =
        [DVec3::new(0.1, 0.0, 0.2), DVec3::new(1.0, 0.1, 0.0), DVec3::new(0.2, 1.1, 0.1), DVec3::new(0.0, 0.3, 0.9)];
    const LAME: [f64; 2] = [3e5, 4e5];

    fn wobbled(amplitude: f64) -> [DVec3; 4] {
        let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 2.0);
        let push = |n: usize| DVec3::new((3 * n) as f64, 1.0 + n as f64, (n * n) as f64).to_array().map(f64::sin);
        std::array::from_fn(|n| turn * REST[n] + amplitude * DVec3::from(push(n)))
    }

    /// Row F3: minus the difference quotient of the energy, rotation and all, also inside out.
    #[test]
    fn force_is_minus_the_gradient_of_the_energy() {
        let element = Element::new(REST);
        let flipped = REST.map(|x| x * DVec3::new(1.3, 1.0, -0.4));
        let squeezed = REST.map(|x| x * DVec3::new(1.3, 0.35, 0.1));
        for at in [wobbled(0.01), wobbled(0.2), flipped, squeezed] {
            let warped = element.warped(at, LAME, DQuat::IDENTITY);
            assert!(!warped.undetermined);
            let scale = warped.forces.iter().map(|f| f.length()).fold(0.0, f64::max);
            for corner in 0..4 {
                for axis in 0..3 {
                    let energy = |step: f64| {
                        let mut moved = at;
                        moved[corner][axis] += step;
                        element.warped(moved, LAME, DQuat::IDENTITY).energy
                    };
                    let slope = (energy(1e-5) - energy(-1e-5)) / 2e-5;
                    let error = (slope + warped.forces[corner][axis]).abs();
                    assert!(error < 1e-6 * scale, "{corner} {axis}: {error:e} of {scale:e}");
                }
            }
        }
    }

    /// K_e (Rᵀx − x₀) = −Rᵀf: stiffness and force are of one linear model.
    #[test]
    fn stiffness_times_displacement_is_the_force() {
        let element = Element::new(REST);
        let at = wobbled(0.1);
        let warped = element.warped(at, LAME, DQuat::IDENTITY);
        let r = nearest_rotation(element.deformation(at), DQuat::IDENTITY).matrix;
        for a in 0..4 {
            let sum: DVec3 = (0..4).map(|b| warped.stiffness(a, b) * (at[b] - r * REST[b])).sum();
            assert!((sum + warped.forces[a]).length() < 1e-9 * warped.forces[a].length());
            for b in 0..4 {
                assert_eq!(warped.stiffness(a, b), warped.stiffness(b, a).transpose());
            }
        }
    }

    #[test]
    fn forces_add_up_to_nothing_and_turn_nothing() {
        let at = wobbled(0.3);
        let warped = Element::new(REST).warped(at, LAME, DQuat::IDENTITY);
        let scale = warped.forces.iter().map(|f| f.length()).fold(0.0, f64::max);
        let sum: DVec3 = warped.forces.iter().sum();
        let torque: DVec3 = (0..4).map(|a| at[a].cross(warped.forces[a])).sum();
        assert!(sum.length() < 1e-15 * scale && torque.length() < 1e-14 * scale, "{sum} {torque}");
    }
}
