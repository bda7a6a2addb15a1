//! What an elastic body is made of.

use super::ElasticError;
use serde::{Deserialize, Serialize};

/// A linear, isotropic elastic material with Rayleigh damping D = τm M + τk K \[ZB17, eq. 4\].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Young's modulus E, Pa.
    pub youngs_modulus: f64,
    /// Poisson's ratio ν, above −1 and below ½.
    pub poisson_ratio: f64,
    /// kg/m³.
    pub density: f64,
    /// Damping of all motion τm, 1/s; rigid motion included.
    pub mass_damping: f64,
    /// Damping of deformation τk, s.
    pub stiffness_damping: f64,
}

impl Material {
    /// A material without damping: Young's modulus (Pa), Poisson's ratio, density (kg/m³).
    pub fn new(youngs_modulus: f64, poisson_ratio: f64, density: f64) -> Self {
        Self { youngs_modulus, poisson_ratio, density, mass_damping: 0.0, stiffness_damping: 0.0 }
    }

    /// Refuse what is no material.
    pub fn check(&self) -> Result<(), ElasticError> {
        let within = |v: f64, above: f64, below: f64| v > above && v < below;
        let damping = "zero or positive and finite";
        for (what, value, ok, limit) in [
            (
                "Young's modulus (Pa)",
                self.youngs_modulus,
                within(self.youngs_modulus, 0.0, f64::INFINITY),
                "positive and finite",
            ),
            ("Poisson's ratio", self.poisson_ratio, within(self.poisson_ratio, -1.0, 0.5), "between -1 and 0.5"),
            ("density (kg/m³)", self.density, within(self.density, 0.0, f64::INFINITY), "positive and finite"),
            ("mass damping (1/s)", self.mass_damping, (0.0..f64::INFINITY).contains(&self.mass_damping), damping),
            (
                "stiffness damping (s)",
                self.stiffness_damping,
                (0.0..f64::INFINITY).contains(&self.stiffness_damping),
                damping,
            ),
        ] {
            if !ok {
                return Err(ElasticError::Material { what, value, limit });
            }
        }
        Ok(())
    }

    /// How fast strain travels along a bar, √(E/ρ), m/s.
    pub fn speed_of_sound(&self) -> f64 {
        (self.youngs_modulus / self.density).sqrt()
    }

    /// Lamé's λ and μ, Pa: stress = 2 μ ε + λ tr(ε) I.
    pub fn lame(&self) -> [f64; 2] {
        let (e, nu) = (self.youngs_modulus, self.poisson_ratio);
        [e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), e / (2.0 * (1.0 + nu))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUBBER: Material = Material {
        youngs_modulus: 1e6,
        poisson_ratio: 0.25,
        density: 1000.0,
        mass_damping: 0.0,
        stiffness_damping: 0.0,
    };

    #[test]
    fn lame_parameters_of_a_poisson_solid_are_equal() {
        let [lambda, mu] = RUBBER.lame();
        assert!((lambda - 4e5).abs() < 1e-9 && (mu - 4e5).abs() < 1e-9);
    }

    #[test]
    fn row_6_what_is_no_material_is_refused() {
        assert_eq!(RUBBER.check(), Ok(()));
        let bad = [
            Material { youngs_modulus: 0.0, ..RUBBER },
            Material { youngs_modulus: f64::INFINITY, ..RUBBER },
            Material { poisson_ratio: 0.5, ..RUBBER },
            Material { poisson_ratio: -1.0, ..RUBBER },
            Material { poisson_ratio: f64::NAN, ..RUBBER },
            Material { density: -1.0, ..RUBBER },
            Material { mass_damping: -1e-9, ..RUBBER },
            Material { stiffness_damping: f64::NAN, ..RUBBER },
        ];
        for material in bad {
            let error = material.check().unwrap_err();
            assert!(matches!(error, ElasticError::Material { .. }) && error.to_string().len() <= 300, "{error}");
        }
    }
}
