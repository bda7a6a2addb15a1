//! Rigid bodies and joints as they are typed.

use super::{Appearance, Rotation, ShapeEntry, Spin};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::RigidBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rigid body that floats, sinks, falls and collides: fluid, weight, contact and joints move it, and it moves the
/// fluid. Give `density` or `mass`. In a flat scene only the slice in the plane counts: a body is a box or a cylinder
/// right across the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodyEntry {
    /// Unique name, also among obstacles: letters, digits, `_` and `-`. Default: `body-N`, counted from 0.
    pub name: Option<String>,
    /// Its geometry, centred on `position`; a mesh collides through its convex parts.
    pub shape: ShapeEntry,
    /// Where it is at the start, m; all of it inside the closed sides.
    #[serde(default)]
    pub position: [f64; 3],
    /// How it is turned at the start. Default: not at all.
    pub rotation: Option<Rotation>,
    /// Velocity of its centre of mass at the start, m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// How it turns at the start. Default: not at all.
    pub spin: Option<Spin>,
    /// Density, kg/m³, the same everywhere in it: below that of the fluid it rises. Either this or `mass`.
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub density: Option<f64>,
    /// Mass, kg, spread evenly; in a flat scene, that of a slice one cell thick. Either this or `density`.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub mass: Option<f64>,
    /// How it meets the fluid.
    #[serde(default)]
    pub interface: InterfaceName,
    /// Coulomb friction coefficient; between two bodies the mean of both counts.
    #[serde(default = "default_friction")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub friction: f64,
    /// Part of the approach speed that a bounce gives back; between two bodies the mean of both counts.
    #[serde(default = "default_restitution")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
    /// Copies: one body at each of these offsets, m, named `NAME-0`, `NAME-1`, … Default: one body, no offset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub at: Vec<[f64; 3]>,
    /// What it looks like in pictures.
    #[serde(flatten)]
    pub appearance: Appearance,
}

/// How a body meets the fluid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceName {
    /// Its surface cuts the cells: exact to second order.
    #[default]
    CutCells,
    /// Whole faces between cells move with it, as in \[A18\]: first order; bodies look like stairs to the fluid.
    Faces,
}

impl From<InterfaceName> for Interface {
    fn from(name: InterfaceName) -> Self {
        match name {
            InterfaceName::CutCells => Self::CutCells,
            InterfaceName::Faces => Self::Faces,
        }
    }
}

fn default_friction() -> f64 {
    RigidBody::FRICTION
}

fn default_restitution() -> f64 {
    RigidBody::RESTITUTION
}

/// Two bodies, or a body and the world, held together at a place. What a joint holds together does not collide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JointEntry {
    /// What it leaves free, all else being held.
    pub r#type: JointTypeName,
    /// Name of a body; of a copy, `NAME-0`, `NAME-1`, …
    pub body: String,
    /// Name of the other body. Default: the world.
    pub other: Option<String>,
    /// Where it is at the start, m, in the world.
    pub anchor: [f64; 3],
    /// Hinge and slider, which need it: direction of the axis at the start, in the world, any length but zero.
    pub axis: Option<[f64; 3]>,
}

/// What a joint leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JointTypeName {
    /// Turning about the anchor in every direction: ball and socket.
    Point,
    /// Turning about an axis through the anchor.
    Hinge,
    /// Nothing.
    Fixed,
    /// Sliding along an axis, without turning.
    Slider,
}
