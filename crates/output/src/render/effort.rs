//! How exact a picture is where that costs rays, by its quality.
//!
//! Those of a final picture are about what noise and dithering hide. The others are choices: of a few that were tried on `dam-break`, `glass`, `beam` and
//! `float`, those that save the most rays while pictures stay alike by 0.97 (structural similarity with those of the final values at the same size; 0.94 amid
//! the spray of `dam-break`). Fewer splits and mirrors would be as alike by that measure, but plane walls of
//! water and rims of glass get edges and bodies lose their mirror images. With joints looked for through one surface only, those that the surface of the
//! water mirrors become dots; a coarser map of caustics shows (0.95 for `dam-break`).

use super::settings::Quality;

/// What rays are not sent for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Pixels of one thing that differ by less than this part of white, in any colour, tell what is between them.
    pub agreed: f32,
    /// Two pixels of one thing, left and right or above and below, tell what is between them if they differ by less than this, whatever is across.
    pub along: f32,
    /// The joints of the floor are not looked for through more surfaces of water and glass than this.
    pub joints: u8,
    /// Pixels that differ by more than this part of white, in any colour, from one beside them get more rays.
    pub different: f32,
    /// A pixel of which two rays show the same, but for this part of white, needs no more.
    pub same: f32,
    /// Rays towards the sky for each ray that meets a surface: at first, and where one of these meets something; as many as then go to the key light where a part of it is hidden.
    pub shadow_rays: [u32; 2],
    /// Of a pixel's rays that all meet one solid behind smoke, every so many goes through the smoke.
    pub same_solid: usize,
    /// Where rays of light beside each other part in the water, one of so many is sent to the floor.
    pub light_rays: usize,
    /// Rays carrying less than this part of a pixel's light are dropped, at the first split and deeper.
    pub faint: [f32; 2],
    /// What water and glass reflect outside of less than this part of a pixel's light is the surroundings only.
    pub faint_mirror: [f32; 2],
    /// Texels along the longer side of the map of the sky's light on the floor.
    pub sky_texels: f32,
}

impl Effort {
    pub fn of(quality: Quality) -> Self {
        match quality {
            Quality::Final => Self {
                agreed: 0.03,
                along: 0.0,
                joints: u8::MAX,
                different: 0.025,
                same: 0.03,
                shadow_rays: [4, 16],
                same_solid: 1,
                light_rays: 1,
                faint: [0.004, 0.03],
                faint_mirror: [0.05, 0.1],
                sky_texels: 128.0,
            },
            Quality::Draft | Quality::Preview => Self {
                agreed: 0.06,
                along: 0.1,
                joints: 2,
                different: 0.13,
                same: 0.4,
                shadow_rays: [2, 8],
                same_solid: 2,
                light_rays: 3,
                faint: [0.004, 0.04],
                faint_mirror: [0.05, 0.2],
                sky_texels: 48.0,
            },
        }
    }
}
