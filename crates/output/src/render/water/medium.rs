//! What a ray travels in.

use super::Target;
use crate::render::bvh::Hit;
use crate::render::camera::Ray;
use crate::render::interface::GLASS;

/// Water, glass or air. Glass is before water: where both are, there is glass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    pub in_water: bool,
    /// Which body's glass.
    pub glass: Option<usize>,
}

impl Medium {
    pub const AIR: Self = Self { in_water: false, glass: None };

    /// Whether there is water and nothing before it.
    pub fn is_water(self) -> bool {
        self.in_water && self.glass.is_none()
    }

    /// Index of refraction, that of water being given.
    pub fn index(self, water: f32) -> f32 {
        match self {
            Self { glass: Some(_), .. } => GLASS,
            Self { in_water: true, .. } => water,
            _ => 1.0,
        }
    }

    /// What is on this and on the other side of a surface of water or glass. Which sides these are, the surface knows best.
    pub fn sides(self, target: &Target, ray: &Ray, hit: &Hit) -> [Self; 2] {
        let entering = hit.face_normal.dot(ray.direction) < 0.0;
        [!entering, entering].map(|inside| match target {
            Target::Glass(hit) => Self { glass: inside.then_some(hit.body), ..self },
            _ => Self { in_water: inside, ..self },
        })
    }
}
