//! How exact a picture is where that costs rays, by its quality.
//!
//! Those of a final picture are about what noise and dithering hide. The others are choices: of a few that were tried on `dam-break`, `glass`, `beam` and
//! `float`, those that save the most rays while pictures stay alike by 0.97 (structural similarity with those of the final values at the same size).
//! Fewer splits and mirrors would be as alike by that measure, but plane walls of water get edges and bodies lose their mirror images.

use super::settings::Quality;

/// What rays are not sent for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Pixels that differ by more than this part of white, in any colour, from one beside them get more rays.
    pub different: f32,
    /// A pixel of which two rays show the same, but for this part of white, needs no more.
    pub same: f32,
    /// Rays towards the sky, and towards the key light, for each ray that meets a surface: at first, and where some of these meet something and others do not.
    pub shadow_rays: [u32; 2],
}

impl Effort {
    pub fn of(quality: Quality) -> Self {
        match quality {
            Quality::Final => Self { different: 0.025, same: 0.03, shadow_rays: [4, 16] },
            Quality::Draft | Quality::Preview => Self { different: 0.08, same: 0.2, shadow_rays: [2, 8] },
        }
    }
}
