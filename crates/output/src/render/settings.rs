//! What a picture looks like; part of the scene file. Colours are sRGB, 0 to 1.

use super::material::Material;
use glam::DVec3;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How frames are drawn: camera, lights, materials. Colours are sRGB from 0 to 1. The defaults suit any scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenderSettings {
    /// How much work goes into a picture: what `size` and `samples` are where they are not given. Default: `preview`.
    #[serde(skip_serializing_if = "Quality::is_usual")]
    pub quality: Quality,
    /// Width and height, pixels. Default: chosen from the shape of the domain, as large as `quality` says.
    #[schemars(inner(range(min = 16, max = 8192)))]
    pub size: Option<[u32; 2]>,
    /// Rays per pixel. Default: as many as `quality` says.
    #[schemars(range(min = 1, max = 256))]
    pub samples: Option<u32>,
    /// Where from.
    pub camera: CameraSettings,
    /// The light that shapes everything.
    pub key: Light,
    /// A light from behind that draws the edges of the smoke.
    pub rim: Light,
    /// Light from all directions above.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub sky: [f32; 3],
    /// Strength of the sky.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub sky_strength: f32,
    /// The smoke.
    pub smoke: SmokeLook,
    /// The water and the studio it is shown in.
    pub water: WaterLook,
    /// What is behind and below.
    pub backdrop: Backdrop,
    /// Colours given in turn to the solids that have none of their own.
    #[schemars(length(min = 1))]
    pub solids: Vec<[f32; 3]>,
    /// What solids are made of, by their names. A scene file says so for each; one that is not here has the next of `solids`.
    #[serde(skip)]
    pub materials: BTreeMap<String, Material>,
    /// Brightness of the picture, as a factor.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub exposure: f32,
    /// For which part of the time from frame to frame the shutter is open: 0.5 is that of a film camera. What moves meanwhile is blurred. Default: 0, all is sharp.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub motion_blur: f32,
    /// From frame to frame, s. A scene file says so.
    #[serde(skip)]
    pub frame_seconds: f64,
    /// Lower and upper sides of the domain along each axis through which fluid leaves. A scene file says so.
    #[serde(skip)]
    pub open_sides: [[bool; 2]; 3],
}

/// Scenes that say nothing of it keep their identity.
fn is_zero(value: &f32) -> bool {
    *value == 0.0
}

/// How much work goes into a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// To see whether anything is where it should be: about 105 000 pixels, 1 ray each.
    Draft,
    /// To look at: about 420 000 pixels, 4 rays each.
    #[default]
    Preview,
    /// To show: about 1 680 000 pixels, 16 rays each.
    Final,
}

impl Quality {
    /// Pixels of a picture.
    pub(super) fn area(self) -> f64 {
        match self {
            Self::Draft => 105_000.0,
            Self::Preview => 420_000.0,
            Self::Final => 1_680_000.0,
        }
    }

    /// Scenes that say nothing of it keep their identity.
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// What a solid is made of, as pictures show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SolidLook {
    /// Opaque, with a satin finish.
    #[default]
    Matte,
    /// Clear glass: reflects, refracts, and takes on its colour where it is thick.
    Glass,
}

/// Colour of glass that has none of its own, where it is a tenth of the domain thick.
pub const CLEAR_GLASS: [f32; 3] = [0.92, 0.97, 0.955];

/// The view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CameraSettings {
    /// Position, m. Default: a three-quarter view that fits the domain.
    #[schemars(with = "Option<[f64; 3]>")]
    pub from: Option<DVec3>,
    /// Point in the middle of the picture, m. Default: the middle of the domain.
    #[schemars(with = "Option<[f64; 3]>")]
    pub at: Option<DVec3>,
    /// Which way is up.
    #[schemars(with = "[f64; 3]")]
    pub up: DVec3,
    /// Vertical field of view, degrees.
    #[schemars(range(min = 1.0, max = 170.0))]
    pub fov: f64,
    /// Compass direction the fitted view looks from, degrees from +z towards +x.
    #[schemars(range(min = -360.0, max = 360.0))]
    pub azimuth: f64,
    /// Height the fitted view looks from, degrees above the horizon.
    #[schemars(range(min = -89.0, max = 89.0))]
    pub elevation: f64,
    /// Enlarges the fitted view.
    #[schemars(range(min = 1e-3, max = 1e3))]
    pub zoom: f64,
    /// Keys of a path in rising time order, each under its own `[[render.camera.keyframes]]`, instead of `from`; smooth between, still before
    /// the first and after the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub keyframes: Vec<CameraKey>,
    /// Leads the camera around the axis along `up` through the point in the middle of the picture: `{ period = 8 }`. Default: it stands still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turntable: Option<Turntable>,
}

/// One key of the camera's path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CameraKey {
    /// Time, s.
    pub time: f64,
    /// Position at that time, m.
    #[schemars(with = "[f64; 3]")]
    pub from: DVec3,
    /// Point in the middle of the picture then, m. Default: `at` of the camera.
    #[schemars(with = "Option<[f64; 3]>")]
    pub at: Option<DVec3>,
    /// Vertical field of view then, degrees. Default: `fov` of the camera.
    #[schemars(range(min = 1.0, max = 170.0))]
    pub fov: Option<f64>,
}

/// A camera that goes around.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turntable {
    /// Time of a turn, s: counter-clockwise seen from above, clockwise where it is negative.
    pub period: f64,
}

/// A light so far away that its rays are parallel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Light {
    /// Towards the light; any length.
    #[schemars(with = "[f64; 3]")]
    pub direction: DVec3,
    /// Its colour.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub colour: [f32; 3],
    /// Its strength.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub strength: f32,
    /// Half angle under which it is seen, degrees: how soft shadows are.
    #[schemars(range(min = 0.0, max = 60.0))]
    pub softness: f32,
}

/// How smoke answers light.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmokeLook {
    /// Colour of the scattered light.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub colour: [f32; 3],
    /// Extinction of smoke of density 1, 1/m. Default: the domain's smallest width has optical depth 45.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub extinction: Option<f32>,
    /// −1 scatters all light back, 0 evenly, 1 all forward.
    #[schemars(range(min = -0.99, max = 0.99))]
    pub anisotropy: f32,
    /// Strength of the light of hot smoke; 0 turns it off.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub glow: f32,
    /// Kelvin of the glow per kelvin of temperature: scenes often use fewer degrees than fire has.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub glow_scale: f32,
}

/// How water and its surroundings look. A picture of water has its own, brighter surroundings in place of the backdrop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WaterLook {
    /// Colour that white light has after `depth` of water.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub colour: [f32; 3],
    /// See `colour`, m. Default: 0.7 times the domain's largest width.
    #[schemars(range(min = 1e-9, max = 1e9))]
    pub depth: Option<f32>,
    /// Part of the light that fine bubbles and dirt scatter over `depth`: 0 is the clearest water.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub haze: f32,
    /// Index of refraction.
    #[schemars(range(min = 1.0, max = 3.0))]
    pub refraction: f32,
    /// The ground, drawn if the backdrop has one.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub floor: [f32; 3],
    /// Where floor and sky meet.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub horizon: [f32; 3],
    /// The sky overhead, seen in reflections.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub zenith: [f32; 3],
    /// Whether the edges of the domain are drawn as thin lines.
    pub outline: bool,
}

/// What is behind and below.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Backdrop {
    /// Upper edge of the picture.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub top: [f32; 3],
    /// Lower edge, and the ground.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub bottom: [f32; 3],
    /// Whether there is a ground under the domain.
    pub ground: bool,
}

impl RenderSettings {
    /// Rays per pixel.
    pub(super) fn rays(&self) -> u32 {
        let usual = match self.quality {
            Quality::Draft => 1,
            Quality::Preview => 4,
            Quality::Final => 16,
        };
        self.samples.unwrap_or(usual).max(1)
    }
}

impl Default for RenderSettings {
    fn default() -> Self {
        Self {
            quality: Quality::default(),
            size: None,
            samples: None,
            camera: CameraSettings::default(),
            key: Light::default(),
            rim: Light {
                direction: DVec3::new(0.75, 0.45, -0.8),
                colour: [0.72, 0.84, 1.0],
                strength: 1.1,
                softness: 6.0,
            },
            sky: [0.62, 0.73, 0.9],
            sky_strength: 0.34,
            smoke: SmokeLook::default(),
            water: WaterLook::default(),
            backdrop: Backdrop::default(),
            solids: vec![
                [0.80, 0.36, 0.24],
                [0.18, 0.50, 0.55],
                [0.88, 0.66, 0.28],
                [0.45, 0.38, 0.62],
                [0.42, 0.56, 0.34],
                [0.78, 0.76, 0.72],
            ],
            materials: BTreeMap::new(),
            exposure: 1.0,
            motion_blur: 0.0,
            frame_seconds: 0.0,
            open_sides: [[false; 2]; 3],
        }
    }
}

impl Default for CameraSettings {
    fn default() -> Self {
        Self {
            from: None,
            at: None,
            up: DVec3::Y,
            fov: 28.0,
            azimuth: 30.0,
            elevation: 12.0,
            zoom: 1.0,
            keyframes: Vec::new(),
            turntable: None,
        }
    }
}

impl Default for Light {
    fn default() -> Self {
        Self { direction: DVec3::new(-0.85, 1.0, 0.2), colour: [1.0, 0.95, 0.88], strength: 3.1, softness: 4.0 }
    }
}

impl Default for SmokeLook {
    fn default() -> Self {
        Self { colour: [0.97, 0.97, 0.98], extinction: None, anisotropy: 0.35, glow: 0.0, glow_scale: 1.0 }
    }
}

impl Default for WaterLook {
    fn default() -> Self {
        Self {
            colour: [0.32, 0.70, 0.83],
            depth: None,
            haze: 0.08,
            refraction: 1.333,
            floor: [0.90, 0.90, 0.89],
            horizon: [0.92, 0.95, 0.97],
            zenith: [0.42, 0.60, 0.82],
            outline: true,
        }
    }
}

impl Default for Backdrop {
    fn default() -> Self {
        Self { top: [0.17, 0.20, 0.25], bottom: [0.33, 0.36, 0.41], ground: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_a_file_and_unknown_keys_do_not() {
        let settings = RenderSettings { size: Some([320, 200]), ..Default::default() };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<RenderSettings>(&text).unwrap(), settings);
        assert_eq!(serde_json::from_str::<RenderSettings>("{}").unwrap(), RenderSettings::default());
        assert!(serde_json::from_str::<RenderSettings>("{\"smoke\": {\"color\": [1, 1, 1]}}").is_err());
    }
}
