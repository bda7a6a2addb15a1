//! A typed scene → what the engine runs: the rules that involve more than one key.
//!
//! [`fill`] writes every default into the file first, and only then are the engine's parameters made, from the filled
//! file alone. So the effective scene that a run leaves behind gives the same parameters, bit for bit.

use crate::assets::{self, MeshAsset};
use crate::bodies::{self, Meshes};
use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::{AdvectionName, SceneFile, SolverName, TraceName, WallEntry};
use crate::memory::{Memory, size_text};
use crate::{hash, overrides, schema};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::advect::{Advection, Trace};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::fluid::smoke::{SmokeParams, Source};
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solve::{PressureSolver, SolveParams};
use bathtub_engine::world::{PressureParams, TimeParams, WorldParams};
use bathtub_output::render::RenderSettings;
use glam::DVec3;
use std::path::Path;

/// A scene that passed every check.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What it is called.
    pub name: String,
    /// The effective scene: as typed, changed by `--set`, defaults filled in.
    pub file: SceneFile,
    /// What starts the engine.
    pub params: WorldParams,
    /// How to draw it, with a colour for each of `params.obstacles`.
    pub render: RenderSettings,
    /// The mesh files, each once.
    pub meshes: Vec<MeshAsset>,
    /// What is allowed but probably not meant; one line each.
    pub warnings: Vec<String>,
    /// The memory that a run will need.
    pub memory: Memory,
    /// Identity of everything that the states depend on.
    pub hash: blake3::Hash,
}

/// How to load a scene.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `key=value` changes, in order.
    pub set: Vec<String>,
    /// Whether mesh files may lie outside the scene's directory.
    pub allow_outside: bool,
    /// Refuse a scene that needs more bytes than this.
    pub memory_limit: Option<f64>,
}

/// Read, check and build the scene in the file `path`.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Scene, SceneError> {
    let mut document = Document::read(path)?;
    overrides::apply(&mut document, &options.set)?;
    schema::check(&document)?;
    let mut written = document.root.to_json();
    default_render(&mut written["render"]);
    let mut file: SceneFile =
        serde_json::from_value(written).map_err(|error| document.error_at(ErrorKind::Scene, "", error.to_string()))?;

    check_memory(&document, &file, 0.0, options)?;
    fill(&document, &mut file, path)?;
    let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let meshes = Meshes::load(&document, &mut file, |written| assets::read(base, written, options.allow_outside))?;
    let grid = grid(&file);
    let memory = check_memory(&document, &file, bodies::triangles(&file, &meshes, grid.dx), options)?;
    let walls = walls(&document, &file, &grid)?;
    let mut warnings = meshes.warnings.clone();
    let sources = bodies::sources(&document, &file, &meshes, &grid)?;
    let obstacles = bodies::obstacles(&document, &file, &meshes, &grid, &mut warnings)?;
    let render = render(&document, &file)?;
    bodies::check_sources_are_free(&document, &sources, &obstacles, &grid)?;
    let params = WorldParams {
        grid,
        walls,
        fluid: FluidParams::Smoke(smoke(&file, sources)),
        obstacles,
        pressure: pressure(&file),
        time: time(&document, &file)?,
    };
    let hash = hash::hash(&file, &meshes.assets);
    let name = file.scene.name.clone().unwrap_or_default();
    Ok(Scene { name, file, params, render, meshes: meshes.assets, warnings, memory, hash })
}

impl Scene {
    /// The effective scene as TOML; loading it gives the same parameters. Its mesh paths are those of
    /// [`MeshAsset::path`]: the files must be copied next to it.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(&self.file).expect("a scene has a TOML form");
        format!("# The scene as it was run, every default filled in. Scene hash: {}\n\n{text}", self.hash)
    }

    /// Frames to simulate after frame 0.
    pub fn frames(&self) -> u64 {
        self.file.time.frames as u64
    }
}

/// Put what was written of `[render]` over its defaults. The lights share a type but not their defaults, so leaving this
/// to the type would give a half-written rim light the key light's direction.
fn default_render(written: &mut serde_json::Value) {
    fn merge(base: &mut serde_json::Value, over: serde_json::Value) {
        match (base, over) {
            (serde_json::Value::Object(base), serde_json::Value::Object(over)) => {
                over.into_iter().for_each(|(key, value)| merge(&mut base[&key], value));
            }
            (_, serde_json::Value::Null) => {}
            (base, over) => *base = over,
        }
    }
    let mut settings = serde_json::to_value(RenderSettings::default()).expect("plain settings always encode");
    merge(&mut settings, written.take());
    *written = settings;
}

/// Refuse a grid that does not fit, before anything of it is allocated.
fn check_memory(
    document: &Document,
    file: &SceneFile,
    triangles: f64,
    options: &LoadOptions,
) -> Result<Memory, SceneError> {
    let [nx, ny, nz] = file.grid.cells;
    let memory = Memory::estimate(file, triangles);
    let limit = options.memory_limit.unwrap_or(f64::INFINITY).min(isize::MAX as f64);
    if memory.bytes <= limit {
        return Ok(memory);
    }
    let needs = format!("about {:.2e} bytes ({}), {} are available", memory.bytes, memory.text(), size_text(limit));
    let of_cells = Memory::estimate(file, 0.0).bytes > limit;
    let (key, message) = match of_cells {
        true => ("grid.cells", format!("{nx} x {ny} x {nz} cells need {needs}; use fewer cells")),
        false => ("obstacle", format!("{triangles:.1e} triangles of a cell's size need {needs}; use smaller bodies")),
    };
    Err(document.error_at(ErrorKind::Resource, key, message))
}

/// Write every default that depends on other keys into the file.
fn fill(document: &Document, file: &mut SceneFile, path: &Path) -> Result<(), SceneError> {
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().chars().map(portable).collect::<String>();
    let name = file.scene.name.get_or_insert_with(stem);
    check_name(document, "scene.name", name)?;

    let grid = &mut file.grid;
    let [nx, ny, nz] = grid.cells.map(|n| n as f64);
    let dx = match (grid.dx, grid.size) {
        (Some(dx), None) => dx,
        (None, Some(size)) => size / nx.max(ny).max(nz),
        (Some(_), Some(_)) => {
            let message = "`dx` and `size` say the same thing; give one of them";
            return Err(document.error_at(ErrorKind::Scene, "grid.size", message));
        }
        (None, None) => {
            let message = "missing key `dx` (edge of a cell, m) or `size` (longest side of the domain, m)";
            return Err(document.error_at(ErrorKind::Scene, "grid", message));
        }
    };
    grid.origin.get_or_insert([-0.5 * nx * dx, 0.0, -0.5 * nz * dx]);

    let frame = 1.0 / file.time.fps;
    file.time.max_dt.get_or_insert(frame);
    file.time.min_dt.get_or_insert(1e-4 * frame);

    for (i, source) in file.source.iter_mut().enumerate() {
        let name = source.name.get_or_insert_with(|| format!("source-{i}"));
        check_name(document, &format!("source.{i}.name"), name)?;
    }
    for (i, obstacle) in file.obstacle.iter_mut().enumerate() {
        let name = obstacle.name.get_or_insert_with(|| format!("obstacle-{i}"));
        check_name(document, &format!("obstacle.{i}.name"), name)?;
        if obstacle.keyframes.is_empty() {
            obstacle.position.get_or_insert([0.0; 3]);
        }
    }
    Ok(())
}

/// Names become parts of file names.
fn check_name(document: &Document, path: &str, name: &str) -> Result<(), SceneError> {
    let length = name.chars().count();
    if (1..=64).contains(&length) && name.chars().all(|c| portable(c) == c) {
        return Ok(());
    }
    let message = format!("\"{name}\" is no usable name; write 1 to 64 letters, digits, `_` or `-`");
    Err(document.error_at(ErrorKind::Scene, path, message))
}

fn portable(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}

fn grid(file: &SceneFile) -> Grid {
    let dims = file.grid.cells.map(|n| n as usize);
    let longest = file.grid.cells.map(|n| n as f64).into_iter().fold(0.0, f64::max);
    let dx = file.grid.dx.unwrap_or_else(|| file.grid.size.unwrap_or_default() / longest);
    Grid::new(dims, dx, DVec3::from(file.grid.origin.unwrap_or_default()))
}

/// The sides of the domain; without an opening, what is blown in must be sucked out.
fn walls(document: &Document, file: &SceneFile, grid: &Grid) -> Result<[[Wall; 2]; 3], SceneError> {
    let mut walls = [[Wall::Closed; 2]; 3];
    let (mut net, mut total) = (0.0, 0.0);
    let mut last_inflow = "";
    for (axis, sides) in Axis::ALL.into_iter().zip(file.walls.sides()) {
        let area: f64 = axis.others().iter().map(|a| grid.dx * grid.dims[a.index()] as f64).product();
        for (upper, (key, wall)) in sides.into_iter().enumerate() {
            if grid.is_flat(axis) && wall != WallEntry::Closed {
                let message =
                    "this side lies across an axis one cell thick, along which nothing moves; it must be closed";
                return Err(document.error_at(ErrorKind::Scene, &format!("walls.{key}"), message));
            }
            walls[axis.index()][upper] = match wall {
                WallEntry::Closed => Wall::Closed,
                WallEntry::Open => Wall::Open,
                WallEntry::Inflow { velocity, density, temperature } => {
                    let inward = if upper == 0 { velocity[axis.index()] } else { -velocity[axis.index()] };
                    (net, total, last_inflow) = (net + inward * area, total + (inward * area).abs(), key);
                    Wall::Inflow { velocity: DVec3::from(velocity), density, temperature }
                }
            };
        }
    }
    let closed = walls.iter().flatten().all(|wall| *wall != Wall::Open);
    if closed && net.abs() > 1e-9 * total {
        let message =
            format!("incompatible sources: {net:.3e} m³/s enter a domain without an opening; open another side");
        return Err(document.error_at(ErrorKind::Scene, &format!("walls.{last_inflow}"), message));
    }
    Ok(walls)
}

fn smoke(file: &SceneFile, sources: Vec<Source>) -> SmokeParams {
    let smoke = &file.smoke;
    SmokeParams {
        rho: smoke.air_density,
        gravity: DVec3::from(file.scene.gravity),
        weight: smoke.weight,
        expansion: smoke.expansion,
        acceleration: DVec3::from(smoke.acceleration),
        confinement: smoke.confinement,
        dissipation: smoke.dissipation,
        cooling: smoke.cooling,
        advection: match smoke.advection {
            AdvectionName::SemiLagrangian => Advection::SemiLagrangian,
            AdvectionName::Maccormack => Advection::MacCormack,
            AdvectionName::Cubic => Advection::Cubic,
        },
        trace: match smoke.trace {
            TraceName::Rk2 => Trace::Rk2,
            TraceName::Rk3 => Trace::Rk3,
        },
        sources,
    }
}

fn pressure(file: &SceneFile) -> PressureParams {
    let pressure = &file.pressure;
    PressureParams {
        solver: match pressure.solver {
            SolverName::Multigrid => PressureSolver::Multigrid,
            SolverName::Icpcg => PressureSolver::Icpcg,
            SolverName::Cg => PressureSolver::Cg,
        },
        params: SolveParams {
            tolerance: pressure.tolerance,
            max_iterations: pressure.max_iterations as usize,
            budget_seconds: pressure.budget_ms.map(|ms| 1e-3 * ms),
        },
        strict: pressure.strict,
    }
}

fn time(document: &Document, file: &SceneFile) -> Result<TimeParams, SceneError> {
    let time = &file.time;
    let (max_dt, min_dt) = (time.max_dt.unwrap_or_default(), time.min_dt.unwrap_or_default());
    if min_dt > max_dt {
        let message = format!("{min_dt:?} s is longer than the longest step, max_dt = {max_dt:?} s; make it shorter");
        return Err(document.error_at(ErrorKind::Scene, "time.min_dt", message));
    }
    Ok(TimeParams { fps: time.fps, cfl: time.cfl, max_dt, min_dt })
}

/// The picture's settings, with one colour for each body.
fn render(document: &Document, file: &SceneFile) -> Result<RenderSettings, SceneError> {
    let mut render = file.render.clone();
    for (key, direction) in [
        ("render.camera.up", render.camera.up),
        ("render.key.direction", render.key.direction),
        ("render.rim.direction", render.rim.direction),
    ] {
        if direction.try_normalize().is_none() {
            return Err(document.error_at(ErrorKind::Scene, key, "a direction must not be zero"));
        }
    }
    if render.camera.from.is_some() && render.camera.from == render.camera.at {
        let message = "the camera looks at the point where it is; move one of `from` and `at`";
        return Err(document.error_at(ErrorKind::Scene, "render.camera.at", message));
    }
    let mut palette = file.render.solids.iter().cycle();
    let bodies = file.obstacle.iter().flat_map(|o| std::iter::repeat_n(o.colour, o.at.len().max(1)));
    let colours: Vec<[f32; 3]> = bodies.zip(&mut palette).map(|(own, next)| own.unwrap_or(*next)).collect();
    if !colours.is_empty() {
        render.solids = colours;
    }
    Ok(render)
}
