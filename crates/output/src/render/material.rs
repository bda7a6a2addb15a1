//! What solids are made of in pictures.

use super::colour::linear;
use super::settings::{RenderSettings, SolidLook};
use crate::frame::Surface;
use glam::Vec3A;

/// What a solid is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Its colour; of glass, where it is a tenth of the domain thick.
    pub colour: [f32; 3],
    /// How light meets it.
    pub look: SolidLook,
}

/// The material of a surface, ready for rays.
#[derive(Clone, Debug)]
pub struct Finish {
    pub colour: Vec3A,
    pub is_glass: bool,
}

/// The materials of surfaces, in their order: by their names, and for those that have none of their own in turn from the palette.
pub fn finishes(surfaces: &[Surface], settings: &RenderSettings) -> Vec<Finish> {
    let palette = settings.solids.iter().cycle().map(Some).chain(std::iter::repeat(None));
    let finish = |(surface, next): (&Surface, Option<&[f32; 3]>)| match settings.materials.get(&surface.name) {
        Some(material) => Finish { colour: linear(material.colour), is_glass: material.look == SolidLook::Glass },
        None => Finish { colour: next.map_or(Vec3A::splat(0.5), |&colour| linear(colour)), is_glass: false },
    };
    surfaces.iter().zip(palette).map(finish).collect()
}
