//! Water as it is typed: the liquid, where it is at the start, where it goes.

use super::{Rotation, ShapeEntry, TraceName};
use bathtub_engine::fluid::water::WaterParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A liquid with a free surface, carried by particles, and how it is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WaterSection {
    /// Density of the liquid, kg/m³.
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub density: f64,
    /// How velocity goes from step to step.
    pub transfer: TransferName,
    /// With `transfer = "flip"`: 1 keeps all that the particles carry and is the liveliest; what is missing to 1 is taken
    /// from the grid at every step and calms the noise. Default: 0.97.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flip_ratio: Option<f64>,
    /// Order of the particles' paths.
    pub trace: TraceName,
    /// Particles of a full cell along each axis that is not flat: 2 makes 8 in space. Default: 2, in flat scenes 3.
    #[schemars(range(min = 1, max = 4))]
    pub particles: Option<i64>,
    /// Spread crowded particles out, so that the liquid keeps its volume; no velocity changes.
    pub hold_volume: bool,
    /// Which pockets of air keep their volume. Default: `"on"` in a scene with a `[[bubble]]`, else `"off"`.
    pub bubbles: Option<BubblesName>,
    /// Shakes the domain and all in it. Default: it stands still.
    pub shake: Option<ShakeEntry>,
}

impl Default for WaterSection {
    fn default() -> Self {
        Self {
            density: WaterParams::new([2; 3]).rho,
            transfer: TransferName::Apic,
            flip_ratio: None,
            trace: TraceName::Rk3,
            particles: None,
            hold_volume: true,
            bubbles: None,
            shake: None,
        }
    }
}

/// Ways for velocity to go from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransferName {
    /// Particles carry velocity and its gradient: smooth, keeps what turns turning.
    Apic,
    /// Particles take the change of the grid's velocity: lively, with more spray and noise.
    Flip,
    /// The grid carries velocity, by linear interpolation; particles only mark the liquid. Smooth and diffusive.
    SemiLagrangian,
    /// The grid carries velocity, corrected by a second trace; particles only mark the liquid.
    Maccormack,
    /// The grid carries velocity, by cubic interpolation; particles only mark the liquid.
    Cubic,
}

/// Which pockets of air keep their volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BubblesName {
    /// None: air gives way as if all of it were open to the outside.
    Off,
    /// All that do not reach an open side of the domain; where it has no open side, all but the largest, which keeps its volume by itself.
    On,
    /// The largest one of a domain without open sides too: the same flow, but it is counted among the bubbles, and no water can
    /// come in.
    Sealed,
}

/// An acceleration to and fro, `amplitude · sin(2π · frequency · t)`: `{ amplitude = [3, 0, 0], frequency = 0.8 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShakeEntry {
    /// Largest acceleration, m/s².
    pub amplitude: [f64; 3],
    /// How often it goes to and fro, Hz.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub frequency: f64,
}

/// A body of liquid at the start: either inside a `shape` or below a `level`. One such entry makes the scene one of water.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiquidEntry {
    /// Unique name: letters, digits, `_` and `-`. Default: `liquid-N`, counted from 0.
    pub name: Option<String>,
    /// Fills this shape, centred on `position`, outside of all solids.
    pub shape: Option<ShapeEntry>,
    /// Fills the domain up to this y, m, outside of all solids.
    pub level: Option<f64>,
    /// Where the shape is, m. Default: the world's origin.
    pub position: Option<[f64; 3]>,
    /// How the shape is turned. Default: not at all.
    pub rotation: Option<Rotation>,
    /// Velocity at the start, m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
}

/// Air amid the liquid at the start: no liquid fills this shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BubbleEntry {
    /// Unique name: letters, digits, `_` and `-`. Default: `bubble-N`, counted from 0.
    pub name: Option<String>,
    /// The region, centred on `position`.
    pub shape: ShapeEntry,
    /// Where the region is, m.
    #[serde(default)]
    pub position: [f64; 3],
    /// How it is turned. Default: not at all.
    pub rotation: Option<Rotation>,
}

/// A region that water vanishes in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainEntry {
    /// Unique name: letters, digits, `_` and `-`. Default: `drain-N`, counted from 0.
    pub name: Option<String>,
    /// The region, centred on `position`.
    pub shape: ShapeEntry,
    /// Where the region is, m.
    #[serde(default)]
    pub position: [f64; 3],
    /// How it is turned. Default: not at all.
    pub rotation: Option<Rotation>,
    /// Open from this time, s.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub start: f64,
    /// Open until this time, s. Default: never closes.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub end: Option<f64>,
}
