//! What happens to light where two transparent media meet: Fresnel's and Snell's laws.

use crate::render::bvh::Hit;
use crate::render::camera::Ray;
use glam::Vec3A;

/// A ray at the surface.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// Part of the light that is reflected; 1 for total reflection.
    pub reflectance: f32,
    /// Unit direction of the reflected ray.
    pub reflected: Vec3A,
    /// Unit direction of the refracted ray, unless reflection is total.
    pub refracted: Option<Vec3A>,
}

/// Index of refraction of glass.
pub const GLASS: f32 = 1.5;

/// A ray that meets a surface from outside (face normal against it) or from within; `ratio` is the index of refraction on the
/// side that it comes from, divided by that on the other.
pub fn cross(ray: &Ray, hit: &Hit, ratio: f32) -> Crossing {
    let d = ray.direction;
    let entering = hit.face_normal.dot(d) < 0.0;
    let (face, smooth) = if entering { (hit.face_normal, hit.normal) } else { (-hit.face_normal, -hit.normal) };
    // Towards the outline an interpolated normal may look away from the viewer: bend it back.
    let away = smooth.dot(d);
    let n = if away > -0.02 { (smooth - (away + 0.02) * d).normalize() } else { smooth };

    let cos_in = -n.dot(d);
    let reflected = d + 2.0 * cos_in * n;
    let reflected = if reflected.dot(face) > 0.0 { reflected } else { d - 2.0 * d.dot(face) * face };
    let sin2_out = ratio * ratio * (1.0 - cos_in * cos_in);
    if sin2_out >= 1.0 {
        return Crossing { reflectance: 1.0, reflected, refracted: None };
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let across = (ratio * cos_in - cos_out) / (ratio * cos_in + cos_out);
    let along = (ratio * cos_out - cos_in) / (ratio * cos_out + cos_in);
    let refracted = (ratio * d + (ratio * cos_in - cos_out) * n).normalize();
    // A refracted ray that stays on its side is an artefact of the interpolation: it grazes the triangle instead.
    let through = refracted.dot(face);
    let refracted = if through < 0.0 { refracted } else { (refracted - (through + 0.02) * face).normalize() };
    Crossing { reflectance: 0.5 * (across * across + along * along), reflected, refracted: Some(refracted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(direction: Vec3A) -> Crossing {
        let hit = Hit { t: 1.0, face_normal: Vec3A::Y, normal: Vec3A::Y, body: 0, triangle: 0, weights: [0.0; 2] };
        let ratio = if direction.y < 0.0 { 1.0 / 1.333 } else { 1.333 };
        cross(&Ray { origin: Vec3A::ZERO, direction: direction.normalize() }, &hit, ratio)
    }

    #[test]
    fn light_straight_on_loses_two_percent_and_goes_straight() {
        for direction in [Vec3A::NEG_Y, Vec3A::Y] {
            let crossing = meet(direction);
            assert!((crossing.reflectance - 0.0204).abs() < 1e-4);
            assert!((crossing.refracted.unwrap() - direction).length() < 1e-6);
            assert!((crossing.reflected + direction).length() < 1e-6);
        }
    }

    #[test]
    fn snells_law_holds_and_shallow_light_stays_in_the_water() {
        let (sin, cos) = 50f32.to_radians().sin_cos();
        let refracted = meet(Vec3A::new(sin, -cos, 0.0)).refracted.unwrap();
        assert!((1.333 * refracted.x - sin).abs() < 1e-5);
        // Beyond 48.6° from within: total reflection.
        let crossing = meet(Vec3A::new(sin, cos, 0.0));
        assert!(crossing.refracted.is_none() && crossing.reflectance == 1.0 && crossing.reflected.y < 0.0);
        // At Brewster's angle only light polarised across is reflected: half of ((n² − 1)/(n² + 1))².
        let brewster = 1.333f32.atan();
        let crossing = meet(Vec3A::new(brewster.sin(), -brewster.cos(), 0.0));
        let expected = 0.5 * ((1.333f32.powi(2) - 1.0) / (1.333f32.powi(2) + 1.0)).powi(2);
        assert!((crossing.reflectance - expected).abs() < 1e-4);
    }
}
