//! Pictures as they are typed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How frames are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenderSection {
    /// Width and height of the pictures, pixels.
    #[schemars(inner(range(min = 16, max = 8192)))]
    pub size: [i64; 2],
    /// Where the picture is taken from.
    pub camera: CameraSection,
    /// The key light.
    pub light: LightSection,
    /// Colour of the smoke: red, green, blue from 0 to 1.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub smoke_colour: [f64; 3],
    /// How much light smoke of density 1 takes away along one metre, 1/m. Default: 1 ÷ (2 % of the domain's longest side).
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub extinction: Option<f64>,
    /// Colour of the background: red, green, blue from 0 to 1.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub background: [f64; 3],
}

impl Default for RenderSection {
    fn default() -> Self {
        Self {
            size: [512, 512],
            camera: CameraSection::default(),
            light: LightSection::default(),
            smoke_colour: [0.9, 0.9, 0.9],
            extinction: None,
            background: [0.08, 0.10, 0.14],
        }
    }
}

/// The camera.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CameraSection {
    /// Where it is, m. Default: in front of the domain, far enough to see all of it.
    pub position: Option<[f64; 3]>,
    /// What it looks at, m. Default: the middle of the domain.
    pub target: Option<[f64; 3]>,
    /// Vertical field of view, °. Default: 35.
    #[schemars(range(min = 1.0, max = 170.0))]
    pub field_of_view: Option<f64>,
}

/// A distant light.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LightSection {
    /// Direction from the scene *to* the light, any length but zero.
    pub direction: [f64; 3],
    /// Its colour times its strength.
    #[schemars(inner(range(min = 0.0)))]
    pub colour: [f64; 3],
}

impl Default for LightSection {
    fn default() -> Self {
        Self { direction: [0.5, 1.0, 0.6], colour: [2.6, 2.5, 2.3] }
    }
}
