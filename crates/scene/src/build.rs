//! A typed scene → what the engine runs: the rules that involve more than one key.
//!
//! `fill` writes every default into the file first, and only then are the engine's parameters made, from the filled
//! file alone. So the effective scene that a run leaves behind gives the same parameters, bit for bit.

use crate::assets::{self, MeshAsset};
use crate::bodies::{self, Meshes};
use crate::document::Document;
use crate::elastic::Room;
use crate::error::{ErrorKind, SceneError};
use crate::file::{SceneFile, SchemeName, SolverName, WallEntry};
use crate::fill::fill;
use crate::memory::{Contents, Memory, size_text};
use crate::pictures::Images;
use crate::tetrahedra::TetFiles;
use crate::water::{Filling, Setting};
use crate::{elastic, hash, overlaps, overrides, pictures, rigid, schema, smoke, water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solve::{PressureSolver, SolveParams};
use bathtub_engine::world::{CouplingParams, PressureParams, Scheme, TimeParams, WorldParams};
use bathtub_output::render::RenderSettings;
use glam::DVec3;
use std::collections::BTreeSet;
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
    /// How to draw it, with a material for each solid.
    pub render: RenderSettings,
    /// The files of meshes and images, each once.
    pub meshes: Vec<MeshAsset>,
    /// What is allowed but probably not meant; one line each.
    pub warnings: Vec<String>,
    /// The same of pictures.
    pub picture_warnings: Vec<String>,
    /// The memory that a run will need.
    pub memory: Memory,
    /// How much water there is, in a scene of water.
    pub filling: Option<Filling>,
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

/// Particles are numbered with 32 bits.
const MOST_PARTICLES: f64 = u32::MAX as f64;

/// Read, check and build the scene in the file `path`.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Scene, SceneError> {
    let mut document = Document::read(path)?;
    overrides::apply(&mut document, &options.set)?;
    schema::check(&document)?;
    let mut written = document.root.to_json();
    default_render(&mut written["render"]);
    let mut file: SceneFile =
        serde_json::from_value(written).map_err(|error| document.error_at(ErrorKind::Scene, "", error.to_string()))?;

    let mut contents = Contents::default();
    check_memory(&document, &file, contents, options)?;
    fill(&document, &mut file, path)?;
    elastic::check_geometry(&document, &file)?;
    let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let meshes = Meshes::load(&document, &mut file, |written| assets::read(base, written, options.allow_outside))?;
    let tetrahedra = TetFiles::load(&document, &mut file, |set| assets::read_set(base, set, options.allow_outside))?;
    let images = Images::load(&document, &mut file, |written| assets::read(base, written, options.allow_outside))?;
    let grid = grid(&file);
    elastic::fill_sizes(&document, &mut file, &meshes, &grid)?;
    contents.triangles = bodies::triangles(&file, &meshes, grid.dx);
    check_memory(&document, &file, contents, options)?;
    let mut warnings = [&meshes.warnings[..], &tetrahedra.warnings].concat();
    let walls = walls(&document, &file, &grid, &mut warnings)?;
    bodies::check_count(&document, &file)?;
    let mut names = BTreeSet::new();
    let obstacles = bodies::obstacles(&document, &file, &meshes, &grid, &mut names, &mut warnings)?;
    let free = rigid::bodies(&document, &file, &meshes, &grid, &mut names, &mut warnings)?;
    let room = Room { grid: &grid, walls: &walls };
    let soft = elastic::bodies(&document, &file, (&meshes, &tetrahedra), &room, &mut names, &mut warnings)?;
    warnings.extend(overlaps::warnings(&soft, &free, &obstacles, &grid));
    contents.add_elastic(&soft);
    check_memory(&document, &file, contents, options)?;
    let joints = rigid::joints(&document, &file, &free, &grid)?;
    let rest = |name: &str| {
        // As the engine divides shapes: into triangles of about a cell's size.
        let shapes = obstacles.iter().map(|o| (&o.name, &o.shape)).chain(free.iter().map(|b| (&b.name, &b.shape)));
        let rigid = shapes.into_iter().find(|(own, _)| *own == name).map(|(_, shape)| shape.surface(grid.dx));
        rigid.or_else(|| elastic::surface_at_rest(&file, soft.iter().find(|body| body.name == name)?))
    };
    let render = pictures::settings(&document, &file, (&images, &meshes), rest)?;
    let picture_warnings = pictures::warnings(&file, &render, &grid);
    let (fluid, filling) = match file.water {
        None => (FluidParams::Smoke(smoke::params(&document, &file, &meshes, &grid, &obstacles)?), None),
        Some(_) => {
            let setting = Setting { grid: &grid, walls: &walls, obstacles: &obstacles, bodies: &free, elastic: &soft };
            let (water, filling) = water::params(&document, &file, &meshes, &setting, &mut warnings)?;
            let each = water.particle_volume(&grid);
            contents.particles = filling.most / each;
            contents.arriving = 1.0 - filling.start / filling.most.max(filling.start).max(f64::MIN_POSITIVE);
            (FluidParams::Water(water), Some(filling))
        }
    };
    let memory = check_memory(&document, &file, contents, options)?;
    let (pressure, coupling) = (pressure(&file), coupling(&file));
    let time = time(&document, &file)?;
    let (elastic, reduced) = elastic::reduced(&document, &file, soft)?;
    let bodies = free;
    let params =
        WorldParams { grid, walls, fluid, obstacles, bodies, joints, elastic, reduced, pressure, coupling, time };
    warnings.extend(rigid::check(&document, &file, &params)?);
    let meshes = [meshes.assets, tetrahedra.assets, images.assets].concat();
    let hash = hash::hash(&file, &meshes);
    let name = file.scene.name.clone().unwrap_or_default();
    Ok(Scene { name, file, params, render, meshes, warnings, picture_warnings, memory, filling, hash })
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
                over.into_iter()
                    .for_each(|(key, value)| merge(base.entry(key).or_insert(serde_json::Value::Null), value));
            }
            (_, serde_json::Value::Null) => {}
            (base, over) => *base = over,
        }
    }
    let mut settings = serde_json::to_value(RenderSettings::default()).expect("plain settings always encode");
    merge(&mut settings, written.take());
    *written = settings;
}

/// Refuse a scene that does not fit, before anything of it is allocated.
fn check_memory(
    document: &Document,
    file: &SceneFile,
    contents: Contents,
    options: &LoadOptions,
) -> Result<Memory, SceneError> {
    let memory = Memory::estimate(file, contents);
    let limit = options.memory_limit.unwrap_or(f64::INFINITY).min(isize::MAX as f64);
    let Contents { triangles, elastic, particles, .. } = contents;
    if memory.bytes <= limit && particles < MOST_PARTICLES {
        return Ok(memory);
    }
    let needs = format!("about {:.2e} bytes ({}), {} are available", memory.bytes, memory.text(), size_text(limit));
    let [nx, ny, nz] = file.grid.cells;
    let fits = |contents: Contents| Memory::estimate(file, contents).bytes <= limit;
    let (key, message) = if !fits(Contents::default()) {
        ("grid.cells", format!("{nx} x {ny} x {nz} cells need {needs}; use fewer cells"))
    } else if !fits(Contents { elastic, ..Contents::default() }) {
        ("elastic", format!("the tetrahedra of elastic bodies need {needs}; choose a larger `size` for them"))
    } else if !fits(Contents { particles: 0.0, arriving: 0.0, ..contents }) {
        let key = if file.obstacle.is_empty() { "body" } else { "obstacle" };
        (key, format!("{triangles:.1e} triangles of a cell's size need {needs}; use smaller bodies"))
    } else {
        ("water.particles", format!("{particles:.1e} particles need {needs}; use fewer of them, or fewer cells"))
    };
    Err(document.error_at(ErrorKind::Resource, key, message))
}

pub(crate) fn grid(file: &SceneFile) -> Grid {
    let dims = file.grid.cells.map(|n| n as usize);
    let longest = file.grid.cells.map(|n| n as f64).into_iter().fold(0.0, f64::max);
    let dx = file.grid.dx.unwrap_or_else(|| file.grid.size.unwrap_or_default() / longest);
    Grid::new(dims, dx, DVec3::from(file.grid.origin.unwrap_or_default()))
}

/// The sides of the domain; without an opening, what is blown in must be sucked out, unless there is air to give way.
/// A side through which nothing passes is closed, whatever it is called.
fn walls(
    document: &Document,
    file: &SceneFile,
    grid: &Grid,
    warnings: &mut Vec<String>,
) -> Result<[[Wall; 2]; 3], SceneError> {
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
                WallEntry::Inflow { velocity, .. } if velocity[axis.index()] == 0.0 => {
                    let across = ["x", "y", "z"][axis.index()];
                    warnings.push(format!(
                        "walls.{key}: nothing passes at velocity {velocity:?} m/s, whose {across} is 0: taken as a closed side"
                    ));
                    Wall::Closed
                }
                WallEntry::Inflow { velocity, density, temperature } => {
                    let inward = if upper == 0 { velocity[axis.index()] } else { -velocity[axis.index()] };
                    (net, total, last_inflow) = (net + inward * area, total + (inward * area).abs(), key);
                    let (density, temperature) = (density.unwrap_or_default(), temperature.unwrap_or_default());
                    Wall::Inflow { velocity: DVec3::from(velocity), density, temperature }
                }
            };
        }
    }
    let closed = walls.iter().flatten().all(|wall| *wall != Wall::Open);
    if file.water.is_none() && closed && net.abs() > 1e-9 * total {
        let message =
            format!("incompatible sources: {net:.3e} m³/s enter a domain without an opening; open another side");
        return Err(document.error_at(ErrorKind::Scene, &format!("walls.{last_inflow}"), message));
    }
    Ok(walls)
}

fn pressure(file: &SceneFile) -> PressureParams {
    let pressure = &file.pressure;
    PressureParams {
        solver: match pressure.solver {
            SolverName::Multigrid => PressureSolver::Multigrid,
            SolverName::A18P0 => PressureSolver::A18 { corrections: 0 },
            SolverName::A18P1 => PressureSolver::A18 { corrections: 1 },
            SolverName::A18P2 => PressureSolver::A18 { corrections: 2 },
            SolverName::A18P3 => PressureSolver::A18 { corrections: 3 },
            SolverName::CgSchur => PressureSolver::CgSchur,
            SolverName::Icpcg => PressureSolver::Icpcg,
            SolverName::Cg => PressureSolver::Cg,
            SolverName::Zb17Spd => PressureSolver::Zb17Spd,
            SolverName::Zb17Indefinite => PressureSolver::Zb17Indefinite,
        },
        params: SolveParams {
            tolerance: pressure.tolerance,
            max_iterations: pressure.max_iterations as usize,
            budget_seconds: pressure.budget_ms.map(|ms| 1e-3 * ms),
        },
        strict: pressure.strict,
        allow_incompatible: pressure.allow_incompatible,
    }
}

fn coupling(file: &SceneFile) -> CouplingParams {
    let scheme = match file.coupling.scheme {
        SchemeName::Monolithic => Scheme::Monolithic,
        SchemeName::Weak => Scheme::Weak,
        SchemeName::DampingOnly => Scheme::DampingOnly,
    };
    CouplingParams { scheme }
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
