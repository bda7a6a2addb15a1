//! The scene file as it is typed: sections, keys, units, defaults and ranges.
//!
//! The doc comments are the reference: they go into the JSON schema and from there into docs/scene-reference.md and
//! into error messages. Lengths in metres, times in seconds, angles in degrees, temperatures in kelvin above ambient.

mod body;
mod elastic;
mod rigid;
mod water;

pub use body::{
    Appearance, MeshFile, MetalEntry, ObstacleEntry, PatternName, PoseKey, Rotation, Scale, ShapeEntry, SourceEntry,
    Spin, TextureEntry,
};
pub use elastic::{DampingEntry, DriveEntry, ElasticEntry, HoldEntry, TetrahedraFile, WaveName};
pub use rigid::{BodyEntry, InterfaceName, JointEntry, JointTypeName};
pub use water::{BubbleEntry, BubblesName, DrainEntry, LiquidEntry, ShakeEntry, TransferName, WaterSection};

use bathtub_engine::fluid::smoke::SmokeParams;
use bathtub_engine::world::{PressureParams, TimeParams};
use bathtub_output::render::RenderSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scene: a box with smoke or water in it, where that comes from and goes, what stands in its way, and what floats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bathtub scene")]
pub struct SceneFile {
    /// Name and gravity.
    #[serde(default)]
    pub scene: SceneSection,
    /// The domain and its resolution.
    pub grid: GridSection,
    /// Frames and time steps.
    #[serde(default)]
    pub time: TimeSection,
    /// The air and the smoke in it. Default: a scene without water is one of smoke.
    pub smoke: Option<SmokeSection>,
    /// The liquid, in place of smoke.
    pub water: Option<WaterSection>,
    /// The six sides of the domain.
    #[serde(default)]
    pub walls: WallsSection,
    /// The pressure solve.
    #[serde(default)]
    pub pressure: PressureSection,
    /// How solids and fluid find each other.
    #[serde(default)]
    pub coupling: CouplingSection,
    /// What a run writes.
    #[serde(default)]
    pub output: OutputSection,
    /// The pictures.
    #[serde(default)]
    pub render: RenderSettings,
    /// Bodies of water at the start, each under its own `[[liquid]]`.
    #[serde(default)]
    pub liquid: Vec<LiquidEntry>,
    /// Air amid the water at the start, each under its own `[[bubble]]`.
    #[serde(default)]
    pub bubble: Vec<BubbleEntry>,
    /// Regions that smoke or water comes from, each under its own `[[source]]`.
    #[serde(default)]
    pub source: Vec<SourceEntry>,
    /// Regions that water vanishes in, each under its own `[[drain]]`.
    #[serde(default)]
    pub drain: Vec<DrainEntry>,
    /// Static and scripted solids, each under its own `[[obstacle]]`.
    #[serde(default)]
    pub obstacle: Vec<ObstacleEntry>,
    /// Solids that move as fluid, weight and contact push them, each under its own `[[body]]`.
    #[serde(default)]
    pub body: Vec<BodyEntry>,
    /// Solids that fluid, weight and contact also deform, each under its own `[[elastic]]`.
    #[serde(default)]
    pub elastic: Vec<ElasticEntry>,
    /// What holds bodies together or to the world, each under its own `[[joint]]`.
    #[serde(default)]
    pub joint: Vec<JointEntry>,
}

/// What all kinds of solids have.
#[derive(Clone, Copy)]
pub struct SolidEntry<'a> {
    /// `obstacle`, `body` or `elastic`.
    pub section: &'static str,
    /// Its number there.
    pub number: usize,
    /// What it is called.
    pub name: &'a Option<String>,
    /// Where its copies are.
    pub at: &'a [[f64; 3]],
    /// Its geometry, unless it is made of tetrahedra.
    pub shape: Option<&'a ShapeEntry>,
    /// What it looks like.
    pub appearance: &'a Appearance,
}

impl SceneFile {
    /// Every solid, in the order of the sections.
    pub fn solids(&self) -> impl Iterator<Item = SolidEntry<'_>> {
        let of = |section: &'static str| {
            move |(number, (name, at, shape, appearance))| SolidEntry { section, number, name, at, shape, appearance }
        };
        let obstacles = self.obstacle.iter().map(|o| (&o.name, &o.at[..], Some(&o.shape), &o.appearance)).enumerate();
        let bodies = self.body.iter().map(|b| (&b.name, &b.at[..], Some(&b.shape), &b.appearance)).enumerate();
        let elastics = self.elastic.iter().map(|e| (&e.name, &e.at[..], e.shape.as_ref(), &e.appearance)).enumerate();
        obstacles.map(of("obstacle")).chain(bodies.map(of("body"))).chain(elastics.map(of("elastic")))
    }

    /// What every solid looks like, with the key of its entry: `obstacle.0`, `body.2`, …
    pub fn appearances_mut(&mut self) -> impl Iterator<Item = (String, &mut Appearance)> {
        let key = |section: &'static str| move |(i, appearance)| (format!("{section}.{i}"), appearance);
        let obstacles = self.obstacle.iter_mut().map(|o| &mut o.appearance).enumerate().map(key("obstacle"));
        let bodies = self.body.iter_mut().map(|b| &mut b.appearance).enumerate().map(key("body"));
        let elastics = self.elastic.iter_mut().map(|e| &mut e.appearance).enumerate().map(key("elastic"));
        obstacles.chain(bodies).chain(elastics)
    }

    /// Every shape in the scene with the key of its entry: `source.0`, `obstacle.2`, `elastic.1.hold.0`, …
    pub fn shapes_mut(&mut self) -> impl Iterator<Item = (String, &mut ShapeEntry)> {
        let key = |section: &'static str| move |(i, shape)| (format!("{section}.{i}"), shape);
        let liquids = self.liquid.iter_mut().map(|l| l.shape.as_mut()).enumerate();
        let liquids = liquids.filter_map(|(i, shape)| Some((i, shape?))).map(key("liquid"));
        let bubbles = self.bubble.iter_mut().map(|b| &mut b.shape).enumerate().map(key("bubble"));
        let sources = self.source.iter_mut().map(|s| &mut s.shape).enumerate().map(key("source"));
        let drains = self.drain.iter_mut().map(|d| &mut d.shape).enumerate().map(key("drain"));
        let obstacles = self.obstacle.iter_mut().map(|o| &mut o.shape).enumerate().map(key("obstacle"));
        let bodies = self.body.iter_mut().map(|b| &mut b.shape).enumerate().map(key("body"));
        let elastics = self.elastic.iter_mut().enumerate().flat_map(|(i, elastic)| {
            let own = elastic.shape.as_mut().map(|shape| (format!("elastic.{i}"), shape));
            let holds = elastic.hold.iter_mut().enumerate();
            own.into_iter().chain(holds.map(move |(n, hold)| (format!("elastic.{i}.hold.{n}"), &mut hold.shape)))
        });
        liquids.chain(bubbles).chain(sources).chain(drains).chain(obstacles).chain(bodies).chain(elastics)
    }
}

/// What the scene is called and what acts everywhere in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SceneSection {
    /// Names the output directory `out/NAME`; letters, digits, `_` and `-`. Default: the file's name without `.toml`.
    pub name: Option<String>,
    /// One line about the scene.
    pub description: String,
    /// Gravity, m/s². y is up.
    pub gravity: [f64; 3],
    /// Everything random follows from this number: the same seed gives the same run, another one a variation.
    #[schemars(range(min = 0, max = 4294967295_i64))]
    pub seed: i64,
}

impl Default for SceneSection {
    fn default() -> Self {
        let gravity = SmokeParams::default().gravity.to_array();
        Self { name: None, description: String::new(), gravity, seed: 0 }
    }
}

/// The domain: a box of cubic cells. Give `cells` and either `dx` or `size`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridSection {
    /// Number of cells along x, y and z; 1 makes that axis flat, for a two-dimensional scene.
    #[schemars(inner(range(min = 1)))]
    pub cells: [i64; 3],
    /// Edge of a cell, m.
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub dx: Option<f64>,
    /// Length of the longest side of the domain, m; the cells then have the edge size ÷ largest of `cells`, so that
    /// the resolution can change without moving anything.
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub size: Option<f64>,
    /// Corner with the smallest coordinates, m. Default: the domain stands on y = 0, centred on x = z = 0.
    pub origin: Option<[f64; 3]>,
}

/// Frames and the steps between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimeSection {
    /// Frames per second; steps land exactly on frames.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub fps: f64,
    /// Frames to simulate after frame 0, the initial state.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub frames: i64,
    /// Longest step, in cells that the fastest fluid crosses.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub cfl: f64,
    /// Longest step, s. Default: one frame.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub max_dt: Option<f64>,
    /// A step that would have to be shorter than this, s, ends the run. Default: 1/10000 of a frame.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub min_dt: Option<f64>,
}

impl Default for TimeSection {
    fn default() -> Self {
        let TimeParams { fps, cfl, .. } = TimeParams::new(24.0);
        Self { fps, frames: 72, cfl, max_dt: None, min_dt: None }
    }
}

/// The air, the smoke it carries, and how both are computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmokeSection {
    /// Density of the air, kg/m³.
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub air_density: f64,
    /// Weight of smoke of density 1 as a fraction of the air's: it sinks with acceleration `gravity · weight · density`.
    pub weight: f64,
    /// Buoyancy per kelvin, 1/K: hot smoke rises with acceleration `−gravity · expansion · temperature`.
    pub expansion: f64,
    /// Uniform acceleration of all fluid, m/s², as in a shaken box.
    pub acceleration: [f64; 3],
    /// Vorticity confinement: brings small swirls back that the grid has smoothed away; 0 is off.
    #[schemars(range(min = 0.0))]
    pub confinement: f64,
    /// Rate at which the smoke fades, 1/s.
    #[schemars(range(min = 0.0))]
    pub dissipation: f64,
    /// Rate at which temperature falls towards ambient, 1/s.
    #[schemars(range(min = 0.0))]
    pub cooling: f64,
    /// How velocity, smoke and temperature are carried along.
    pub advection: AdvectionName,
    /// Order of the paths along which they are carried.
    pub trace: TraceName,
}

impl Default for SmokeSection {
    fn default() -> Self {
        let smoke = SmokeParams::default();
        Self {
            air_density: smoke.rho,
            weight: smoke.weight,
            expansion: smoke.expansion,
            acceleration: smoke.acceleration.to_array(),
            confinement: smoke.confinement,
            dissipation: smoke.dissipation,
            cooling: smoke.cooling,
            advection: AdvectionName::Maccormack,
            trace: TraceName::Rk3,
        }
    }
}

/// Advection schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdvectionName {
    /// Linear interpolation: smooth and diffusive.
    SemiLagrangian,
    /// Corrected by a second trace, limited to the neighbouring values: keeps detail.
    Maccormack,
    /// Monotone cubic interpolation: about as sharp, without the second trace, at a higher cost.
    Cubic,
}

/// Orders of the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceName {
    /// Midpoint rule.
    Rk2,
    /// Third order.
    Rk3,
}

/// The six sides of the domain. Sides across a flat axis stay closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WallsSection {
    /// Left side.
    pub x_min: WallEntry,
    /// Right side.
    pub x_max: WallEntry,
    /// Floor.
    pub y_min: WallEntry,
    /// Ceiling.
    pub y_max: WallEntry,
    /// Back.
    pub z_min: WallEntry,
    /// Front.
    pub z_max: WallEntry,
}

impl Default for WallsSection {
    fn default() -> Self {
        let closed = WallEntry::Closed;
        Self { x_min: closed, x_max: closed, y_min: closed, y_max: closed, z_min: closed, z_max: closed }
    }
}

impl WallsSection {
    /// The sides with their key: lower and upper along each axis.
    pub fn sides(&self) -> [[(&'static str, WallEntry); 2]; 3] {
        [
            [("x_min", self.x_min), ("x_max", self.x_max)],
            [("y_min", self.y_min), ("y_max", self.y_max)],
            [("z_min", self.z_min), ("z_max", self.z_max)],
        ]
    }
}

/// One side of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WallEntry {
    /// Solid, free slip.
    Closed,
    /// Ambient pressure; air passes freely, and water leaves for good.
    Open,
    /// Air, or water over the whole side, enters at a given velocity: `{ inflow = { velocity = [1, 0, 0] } }`. One that
    /// points outwards takes out what is there, at that speed; where nothing passes, the side is closed.
    Inflow {
        /// Velocity of what enters, or leaves, m/s.
        velocity: [f64; 3],
        /// Smoke: density of what enters. Default: 0.
        #[schemars(range(min = 0.0))]
        density: Option<f64>,
        /// Smoke: its temperature, K above ambient. Default: 0.
        temperature: Option<f64>,
    },
}

/// The pressure solve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PressureSection {
    /// Which method.
    pub solver: SolverName,
    /// Stop when the residual has fallen to this fraction of the right-hand side.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub tolerance: f64,
    /// Stop after this many iterations, converged or not.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_iterations: i64,
    /// Stop after this many milliseconds, converged or not. Results then depend on the machine. Default: no limit.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub budget_ms: Option<f64>,
    /// End the run when a solve stops before it has converged.
    pub strict: bool,
    /// Go on when solids, sources or inflow push fluid into a closed region where nothing can take it, as a press does in a full box: what is
    /// too much then vanishes. Otherwise the run ends.
    pub allow_incompatible: bool,
}

impl Default for PressureSection {
    fn default() -> Self {
        let PressureParams { params, strict, allow_incompatible, .. } = PressureParams::default();
        Self {
            solver: SolverName::Multigrid,
            tolerance: params.tolerance,
            max_iterations: params.max_iterations as i64,
            budget_ms: None,
            strict,
            allow_incompatible,
        }
    }
}

/// Pressure solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SolverName {
    /// Conjugate gradients preconditioned by a multigrid cycle that knows the bodies.
    Multigrid,
    /// As in \[A18\], for comparison: a cycle for which bodies with `interface = "faces"` are air.
    #[serde(rename = "a18-p0")]
    A18P0,
    /// The same, corrected for the bodies once.
    #[serde(rename = "a18-p1")]
    A18P1,
    /// The same, corrected twice.
    #[serde(rename = "a18-p2")]
    A18P2,
    /// The same, corrected three times.
    #[serde(rename = "a18-p3")]
    A18P3,
    /// Conjugate gradients on pressures and impulses, preconditioned by incomplete Cholesky for the fluid and the diagonal for
    /// bodies.
    Icpcg,
    /// Plain conjugate gradients on pressures.
    CgSchur,
    /// Plain conjugate gradients on pressures and impulses.
    Cg,
    /// As in \[ZB17\], for comparison: conjugate gradients on pressures and velocities of elastic bodies, made definite; preconditioned
    /// by incomplete Cholesky. With rigid bodies or bubbles, `icpcg`.
    #[serde(rename = "zb17-spd")]
    Zb17Spd,
    /// The same system before that, by BiCGSTAB with incomplete LU.
    #[serde(rename = "zb17-indefinite")]
    Zb17Indefinite,
}

/// How solids and fluid find each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CouplingSection {
    /// How solids answer the fluid.
    pub scheme: SchemeName,
}

impl Default for CouplingSection {
    fn default() -> Self {
        Self { scheme: SchemeName::Monolithic }
    }
}

/// Ways of coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchemeName {
    /// Fluid and solids in one system: no body is too light or too stiff.
    Monolithic,
    /// Solids answer after the solve, which takes them for scripted. For comparison: light ones explode.
    Weak,
    /// Elastic bodies answer within the solve with their damping only, and with elasticity before it. For comparison.
    DampingOnly,
}

/// What a run writes besides its statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputSection {
    /// Write OpenVDB volumes of density, temperature and velocity, one file per frame. `bathtub render` needs them.
    pub volumes: bool,
    /// Which velocities the volumes hold.
    pub velocity: VelocityName,
    /// Densities up to this, and temperatures up to this many K, are not stored in volumes.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub threshold: f64,
    /// Write the solids' surfaces as PLY files: once for a solid that never moves, else one file per frame.
    pub meshes: bool,
    /// Write a liquid's particles as PLY files, with their velocities.
    pub particles: bool,
    /// Write a checkpoint after this many frames.
    #[schemars(range(min = 1))]
    pub checkpoint_frames: i64,
    /// Write a checkpoint at the first frame after this many seconds of computing.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub checkpoint_seconds: f64,
}

impl Default for OutputSection {
    fn default() -> Self {
        Self {
            volumes: true,
            velocity: VelocityName::Smoke,
            threshold: 1e-4,
            meshes: true,
            particles: false,
            checkpoint_frames: 10,
            checkpoint_seconds: 60.0,
        }
    }
}

/// Which velocities volumes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VelocityName {
    /// None.
    None,
    /// Those in and next to smoke: all that motion blur needs, at a fraction of the size.
    Smoke,
    /// Those of every cell where the air moves.
    Everywhere,
}
