//! Shapes, sources and obstacles as they are typed.

use bathtub_output::render::SolidLook;
use glam::DVec3;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A region that smoke or water comes from. Smoke fills it; water either flows out of it with a `velocity` (a jet), or
/// is pushed into what is around it at a `rate` (a spring), or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceEntry {
    /// Unique name: letters, digits, `_` and `-`. Default: `source-N`, counted from 0.
    pub name: Option<String>,
    /// The region, centred on `position`.
    pub shape: ShapeEntry,
    /// Where the region is, m.
    #[serde(default)]
    pub position: [f64; 3],
    /// How it is turned. Default: not at all.
    pub rotation: Option<Rotation>,
    /// Emits from this time, s.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub start: f64,
    /// Emits until this time, s. Default: never stops.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub end: Option<f64>,
    /// Velocity kept up inside, m/s. Default: the fluid moves as it likes.
    pub velocity: Option<[f64; 3]>,
    /// Water: volume pushed out, m³/s, above or under water; in a flat scene, through its thickness of one cell.
    /// Default: none.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0.0))]
    pub rate: Option<f64>,
    /// Smoke: density kept up inside; 1 is thick white smoke. Default: 1.
    #[schemars(range(min = 0.0))]
    pub density: Option<f64>,
    /// Smoke: temperature kept up inside, K above ambient. Default: 0.
    pub temperature: Option<f64>,
    /// Smoke: how much all of that varies in space and time, as a fraction: 0 is steady, 0.5 a restless flame.
    /// Default: 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flicker: Option<f64>,
}

/// A solid that the fluid feels and that feels nothing: it stands still, moves steadily, or follows keyframes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObstacleEntry {
    /// Unique name: letters, digits, `_` and `-`. Default: `obstacle-N`, counted from 0.
    pub name: Option<String>,
    /// Its geometry, centred on `position`.
    pub shape: ShapeEntry,
    /// Where it is at the start, m. Default: the world's origin.
    pub position: Option<[f64; 3]>,
    /// How it is turned at the start. Default: not at all.
    pub rotation: Option<Rotation>,
    /// Steady velocity, m/s. Default: none.
    pub velocity: Option<[f64; 3]>,
    /// Steady spin about its `position`. Default: none.
    pub spin: Option<Spin>,
    /// Keys of a path in rising time order, instead of `position`, `rotation`, `velocity` and `spin`; positions are smooth between, turns steady;
    /// still before the first and after the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub keyframes: Vec<PoseKey>,
    /// Copies: one body at each of these offsets, m, named `NAME-0`, `NAME-1`, … Default: one body, no offset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub at: Vec<[f64; 3]>,
    /// What it looks like in pictures.
    #[serde(flatten)]
    pub appearance: Appearance,
}

/// What a solid looks like in pictures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Appearance {
    /// Colour in pictures: red, green, blue from 0 to 1; of glass, where it is a tenth of the domain thick. Default: the next of
    /// `render.solids`; a trace of green for glass.
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub colour: Option<[f32; 3]>,
    /// What it is made of in pictures. Default: matte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<SolidLook>,
    /// How rough it is in pictures: 0 is polished, 1 chalk. Default: satin, about 0.45.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub roughness: Option<f32>,
    /// Whether it is of metal in pictures: true or false, or a part from 0 to 1. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "part")]
    pub metal: Option<MetalEntry>,
    /// What is painted on it in pictures: `{ pattern = "checker", size = 0.1 }` or `{ file = "wood.png" }`. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texture: Option<TextureEntry>,
}

impl Appearance {
    /// Its keys in a scene file.
    pub const KEYS: [&str; 5] = ["colour", "look", "roughness", "metal", "texture"];
}

/// Whether something is of metal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MetalEntry {
    /// Wholly or not.
    Is(bool),
    /// In part.
    Part(f32),
}

impl MetalEntry {
    /// 0 to 1.
    pub fn part(self) -> f32 {
        match self {
            Self::Is(is_metal) => f32::from(u8::from(is_metal)),
            Self::Part(part) => part,
        }
    }
}

/// True, false, or a part of one.
fn part(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "number", "minimum": 0.0, "maximum": 1.0 }, { "type": "boolean" }] })
}

/// What is painted on a solid. It lies where the solid was at rest, and turns and bends with it: patterns fill its space, an image is projected
/// onto it along its own axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextureEntry {
    /// A pattern of the solid's colour and `colour`. Either this or `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternName>,
    /// PNG file, relative to the scene file and inside its directory, in place of the solid's colour. Either this or `pattern`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Edge of a field of the pattern, or of the image, m. Default: a quarter of the solid's largest width for a pattern, that width for an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-9, max = 1e9))]
    pub size: Option<f64>,
    /// Whether the image lies where the texture coordinates (`vt`) of the solid's OBJ file say, instead of being laid onto it along its axes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uv: bool,
    /// The pattern's other colour. Default: nearly white.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 0.0, max = 1.0)))]
    pub colour: Option<[f32; 3]>,
}

/// Patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatternName {
    /// Cubes in turn.
    Checker,
    /// Slices across the solid's own x axis in turn.
    Stripes,
}

/// Three numbers above zero.
pub(super) fn positive_triple(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "number", "exclusiveMinimum": 0.0 },
        "minItems": 3,
        "maxItems": 3
    })
}

/// One number above zero, or three.
pub(super) fn positive_scale(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "number", "exclusiveMinimum": 0.0 }, positive_triple(generator)] })
}

/// A closed shape around its own origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ShapeEntry {
    /// A box: `{ box = { size = [0.2, 0.1, 0.2] } }`.
    Box {
        /// Edge lengths, m.
        #[schemars(schema_with = "positive_triple")]
        size: [f64; 3],
    },
    /// A ball: `{ sphere = { radius = 0.1 } }`.
    Sphere {
        /// Radius, m.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        radius: f64,
    },
    /// A cylinder about its y axis: `{ cylinder = { radius = 0.1, height = 0.3 } }`.
    Cylinder {
        /// Radius, m.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        radius: f64,
        /// Length along y, m.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        height: f64,
    },
    /// A cylinder about its y axis with round ends: `{ capsule = { radius = 0.1, height = 0.3 } }`.
    Capsule {
        /// Radius, m.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        radius: f64,
        /// Length along y between the centres of the round ends, m.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        height: f64,
    },
    /// A ring about its y axis: `{ torus = { major = 0.2, minor = 0.05 } }`.
    Torus {
        /// Radius of the centre line, m.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        major: f64,
        /// Radius of the tube, m; smaller than `major`.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        minor: f64,
    },
    /// A closed triangle mesh: `{ mesh = { path = "bunny.obj", scale = 0.1 } }`.
    Mesh(MeshFile),
}

/// A mesh file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshFile {
    /// OBJ, PLY or STL file, relative to the scene file and inside its directory.
    pub path: String,
    /// Factor from the file's unit to metres: one number, or one per axis.
    #[serde(default)]
    #[schemars(schema_with = "positive_scale")]
    pub scale: Scale,
}

/// A uniform factor or one per axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scale {
    /// The same factor along every axis.
    Uniform(f64),
    /// Along x, y and z.
    PerAxis([f64; 3]),
}

impl Scale {
    /// Along x, y and z.
    pub fn factor(self) -> DVec3 {
        match self {
            Self::Uniform(s) => DVec3::splat(s),
            Self::PerAxis(s) => DVec3::from(s),
        }
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self::Uniform(1.0)
    }
}

/// A turn about an axis: `{ axis = [0, 1, 0], degrees = 30 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// Direction of the axis, any length but zero.
    pub axis: [f64; 3],
    /// Angle, °, counter-clockwise when the axis points at the viewer.
    pub degrees: f64,
}

/// A steady turn about an axis: `{ axis = [0, 1, 0], degrees_per_second = 90 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spin {
    /// Direction of the axis in the world, any length but zero.
    pub axis: [f64; 3],
    /// Angular speed, °/s.
    pub degrees_per_second: f64,
}

/// One key of a path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoseKey {
    /// Time, s.
    pub time: f64,
    /// Position at that time, m.
    pub position: [f64; 3],
    /// How it is turned then; between keys it turns the shorter way. Default: not at all.
    pub rotation: Option<Rotation>,
}
