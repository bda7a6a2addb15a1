//! Elastic bodies as they are typed.

use super::body::{positive_scale, positive_triple};
use super::rigid::InterfaceName;
use super::{Appearance, PoseKey, Rotation, Scale, ShapeEntry, Spin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An elastic body: fluid, weight and its own stiffness move and deform it, and it moves the fluid. Give `shape`, which is then
/// filled with tetrahedra, or `tetrahedra`. In a flat scene it is a box right across the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElasticEntry {
    /// Unique name, also among obstacles and bodies: letters, digits, `_` and `-`. Default: `elastic-N`, counted from 0.
    pub name: Option<String>,
    /// Its geometry at rest, centred on `position`. Either this or `tetrahedra`.
    pub shape: Option<ShapeEntry>,
    /// Length of the edges of the tetrahedra that fill `shape`, m. Default: two cells; less where four would not fit into the
    /// thinnest part, but not less than 0.7 cells.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub size: Option<f64>,
    /// Its geometry at rest as tetrahedra from a file, about `position`. Either this or `shape`.
    pub tetrahedra: Option<TetrahedraFile>,
    /// Where it is at the start, m; all of it inside the closed sides, but for what is held.
    #[serde(default)]
    pub position: [f64; 3],
    /// How it is turned at the start. Default: not at all.
    pub rotation: Option<Rotation>,
    /// Velocity at the start, m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// How it turns about its centre of mass at the start. Default: not at all.
    pub spin: Option<Spin>,
    /// Density at rest, kg/m³.
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub density: f64,
    /// Young's modulus, Pa: 5e3 is jelly, 1e5 foam rubber, 1e6 to 1e8 rubber.
    #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0.0))]
    pub youngs_modulus: f64,
    /// Poisson's ratio: 0 is cork; near 0.5 a stretched body keeps its volume, and tetrahedra become too stiff.
    #[serde(default = "default_poisson_ratio")]
    #[schemars(extend("exclusiveMinimum" = -1.0, "exclusiveMaximum" = 0.5))]
    pub poisson_ratio: f64,
    /// How it meets the fluid. Default: `cut-cells`.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub interface: InterfaceName,
    /// Let it move as a whole and in so many of its slowest modes only, and in dilation: a reduced body, which costs about what a rigid one does. With 0 it is
    /// rigid. Modes of equal frequencies come together, so there may be a few more. Default: every tetrahedron moves by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 200))]
    pub modes: Option<u32>,
    /// What makes a body with `modes` swim: its shape at rest swings along modes, which `bathtub modes` lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drive: Vec<DriveEntry>,
    /// Of several bodies (`at`), how far the drives of each are ahead of those of the one before, in periods.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = -1e6, max = 1e6))]
    pub phase_step: f64,
    /// What makes it come to rest.
    #[serde(default)]
    pub damping: DampingEntry,
    /// Stretch along x, y and z about its centre of mass at the start: 1 is the shape at rest.
    #[serde(default = "no_stretch")]
    #[schemars(schema_with = "positive_triple")]
    pub stretch: [f64; 3],
    /// Parts of it that are held, or led along a path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hold: Vec<HoldEntry>,
    /// Copies: one body, with what holds it, at each of these offsets, m, named `NAME-0`, `NAME-1`, … Default: one body, no
    /// offset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub at: Vec<[f64; 3]>,
    /// What it looks like in pictures.
    #[serde(flatten)]
    pub appearance: Appearance,
}

/// A muscle: `{ mode = 3, amplitude = 0.02, frequency = 1.5 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveEntry {
    /// Which mode, counted from 0.
    pub mode: u32,
    /// How far the shape at rest goes along it, m: the root of the mean square over the body.
    #[schemars(range(min = -1e6, max = 1e6))]
    pub amplitude: f64,
    /// How often, 1/s.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub frequency: f64,
    /// Where in its period it begins, in periods.
    #[serde(default)]
    #[schemars(range(min = -1e6, max = 1e6))]
    pub phase: f64,
    /// How it goes to and fro.
    #[serde(default)]
    pub wave: WaveName,
    /// When it begins, s.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub start: f64,
    /// When it ends, s. Default: never.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub end: Option<f64>,
    /// Time in which it grows to its full strength, and fades at the end, s.
    #[serde(default = "default_ramp")]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub ramp: f64,
}

/// How a drive goes to and fro.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaveName {
    /// Evenly.
    #[default]
    Sine,
    /// Fast in, in a fifth of the period, and slowly back, to one side only.
    Pulse,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn default_ramp() -> f64 {
    0.5
}

fn default_poisson_ratio() -> f64 {
    0.3
}

/// Scenes that say nothing of it keep their identity.
fn is_usual(interface: &InterfaceName) -> bool {
    *interface == InterfaceName::default()
}

fn no_stretch() -> [f64; 3] {
    [1.0; 3]
}

/// A file of tetrahedra: `{ path = "duck.msh", scale = 0.1 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TetrahedraFile {
    /// MSH (Gmsh), VTK, or either file of a pair NODE and ELE (TetGen), relative to the scene file and inside its directory.
    pub path: String,
    /// Factor from the file's unit to metres: one number, or one per axis.
    #[serde(default)]
    #[schemars(schema_with = "positive_scale")]
    pub scale: Scale,
    /// Turn tetrahedra that are inside out and drop flat ones, instead of refusing the file.
    #[serde(default)]
    pub repair: bool,
}

/// Rayleigh damping: `{ mass = 0.0, stiffness = 0.0 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DampingEntry {
    /// Of all motion, falling included, 1/s.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub mass: f64,
    /// Of deformation, s.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub stiffness: f64,
}

/// A region: the vertices that lie in it at the start stay in their place in it, wherever it goes. Where regions overlap, the
/// first counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldEntry {
    /// The region, centred on `position`.
    pub shape: ShapeEntry,
    /// Where it is at the start, m, in the world. Default: the world's origin.
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
}
