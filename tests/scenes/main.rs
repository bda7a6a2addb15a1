//! Every scene file under `scenes/` runs, keeps its books, and gives the numbers that are checked in.
//!
//! Large scenes run on a coarser grid. After a change that is meant to alter results, refresh the numbers with
//! `BATHTUB_UPDATE=1 cargo test --test scenes` and look at the difference.

#[path = "../support/mesh.rs"]
mod mesh;

use bathtub_engine::fluid::FluidParams;
use bathtub_engine::geometry::Shape;
use bathtub_engine::report::{BodyReport, StepReport};
use bathtub_engine::solid::RigidBody;
use bathtub_engine::world::{World, WorldParams};
use bathtub_scene::{LoadOptions, Scene, load};
use mesh::MeshCheck;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Steps of each scene: enough for sources to start and solids to move.
const STEPS: usize = 24;

/// Cells of a scene at most, so that all of them take seconds.
const CELLS: usize = 60_000;

/// Results are the same bits for any number of threads on one machine, but the sines and exponentials of another
/// machine's mathematical library may differ in the last digit, and two dozen steps of a flow around corners let that grow
/// a thousandfold or more. Anything that changes the method moves the numbers by much more than this.
const TOLERANCE: f64 = 1e-6;

/// Below this, SI, a number is as good as zero: scenes are about 1 m, 1 kg, 1 m/s in size, and solved to 1e-12 at best.
const ZERO: f64 = 1e-10;

/// A scene after its steps.
struct Run {
    scene: Scene,
    /// Name under `scenes/`, without `.toml`.
    name: String,
    /// Particles at the start.
    particles: u64,
    reports: Vec<StepReport>,
    /// Of water, the mesh after each step.
    meshes: Vec<MeshCheck>,
}

static RUNS: LazyLock<Vec<Run>> = LazyLock::new(|| files().into_par_iter().map(|path| run(&path)).collect());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes")
}

/// All scene files, by name.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|e| e == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn run(path: &Path) -> Run {
    let name = path.strip_prefix(root()).unwrap().with_extension("").display().to_string();
    let load = |set| load(path, &LoadOptions { set, ..LoadOptions::default() }).unwrap_or_else(|e| panic!("{e}"));
    let mut scene = load(Vec::new());
    let cells = scene.params.grid.dims;
    let coarsening = (1..).find(|f| coarse(cells, *f).iter().product::<usize>() <= CELLS).unwrap();
    let mut set = Vec::new();
    // A budget of time would let results depend on the machine.
    if scene.file.pressure.budget_ms.is_some() {
        set.push("pressure.budget_ms=1e9".into());
    }
    if coarsening > 1 {
        let [nx, ny, nz] = coarse(cells, coarsening);
        set.push(format!("grid.cells=[{nx},{ny},{nz}]"));
        if scene.file.grid.size.is_none() {
            set.push(format!("grid.dx={:?}", scene.params.grid.dx * coarsening as f64));
        }
    }
    if !set.is_empty() {
        scene = load(set);
    }
    let mut world = World::new(scene.params.clone()).unwrap();
    let particles = world.state().fluid.water().map_or(0, |water| water.particles.len() as u64);
    let mut reports = Vec::new();
    let mut meshes = Vec::new();
    let is_water = matches!(scene.params.fluid, FluidParams::Water(_));
    for _ in 0..STEPS {
        reports.push(world.step().unwrap_or_else(|error| panic!("{name}: {error}")));
        if is_water {
            meshes.push(MeshCheck::new(&world));
        }
    }
    Run { scene, name, particles, reports, meshes }
}

fn coarse(cells: [usize; 3], factor: usize) -> [usize; 3] {
    cells.map(|n| n.div_ceil(factor))
}

/// What is checked of a scene: totals that any change of the method would move.
fn scalars(run: &Run) -> Vec<(&'static str, f64)> {
    let last = run.reports.last().unwrap();
    let over_bodies = |size: fn(&BodyReport) -> f64| last.bodies.iter().map(size).fold(0.0, |sum, size| sum + size);
    let mut scalars = vec![
        ("t", last.t),
        ("max_speed", last.max_speed),
        ("volume", last.fluid.volume),
        ("momentum", last.fluid.momentum.length()),
        ("kinetic", last.fluid.kinetic),
        ("potential", last.fluid.potential),
        ("impulse", over_bodies(|body| body.impulse.length())),
        ("torque_impulse", over_bodies(|body| body.torque_impulse.length())),
    ];
    scalars.extend(match run.scene.params.fluid {
        FluidParams::Smoke(_) => vec![("smoke", last.fluid.smoke)],
        FluidParams::Water(_) => vec![
            ("particles", last.fluid.particles as f64),
            ("emitted", last.fluid.emitted),
            ("drained", last.fluid.drained),
        ],
    });
    scalars
}

/// Scenes in which bodies pile up. Contact is soft, and meshes collide as convex parts: bodies overlap a little, and the cells that
/// they share do not close, by the part of the surface that is inside the other body. On the coarse grid of this test that
/// is up to a thousandth of what is exchanged.
const OVERLAPPING: [&str; 2] = ["papers/a18/budget", "papers/a18/rabbits"];

type Expected = BTreeMap<String, BTreeMap<String, f64>>;

#[test]
fn every_scene_gives_the_numbers_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenes/expected.toml");
    if std::env::var_os("BATHTUB_UPDATE").is_some() {
        std::fs::write(&path, expected_file()).unwrap();
    }
    let expected: Expected = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let refresh = "if that is meant, refresh with BATHTUB_UPDATE=1";
    let mut wrong = Vec::new();
    for run in RUNS.iter() {
        let Some(values) = expected.get(&run.name) else {
            wrong.push(format!("{}: not in tests/scenes/expected.toml", run.name));
            continue;
        };
        for (scalar, got) in scalars(run) {
            let wanted = values.get(scalar).copied().unwrap_or(f64::NAN);
            let agrees = (got - wanted).abs() <= TOLERANCE * wanted.abs() + ZERO;
            if !agrees {
                wrong.push(format!("{}: {scalar} is {got:?}, expected {wanted:?}", run.name));
            }
        }
    }
    let known: Vec<&String> = RUNS.iter().map(|run| &run.name).collect();
    wrong.extend(expected.keys().filter(|name| !known.contains(name)).map(|name| format!("{name}: no such scene")));
    assert!(wrong.is_empty(), "{}\n{refresh}", wrong.join("\n"));
}

fn expected_file() -> String {
    let mut text = format!(
        "# Totals after {STEPS} steps of every scene, SI; large scenes on a coarser grid. See main.rs for how to refresh them.\n"
    );
    for run in RUNS.iter() {
        text += &format!("\n[\"{}\"]\n", run.name);
        for (scalar, value) in scalars(run) {
            text += &format!("{scalar} = {value:?}\n");
        }
    }
    text
}

/// Row K1: what the pressure gives the fluid, the solids and the sides take, to round-off, converged or not, unless bodies overlap.
/// Row D12: what comes in goes out. That is the sum
/// of all cells' residuals, so the tolerance bounds it, with the factor of row K3. Water may fill what was air; there
/// every particle is accounted for instead.
#[test]
fn every_scene_keeps_its_books() {
    for Run { name, scene, particles, reports, .. } in RUNS.iter() {
        let tolerance = scene.params.pressure.params.tolerance;
        for StepReport { step, ledger, solver, fluid, .. } in reports {
            assert!(solver.converged && solver.residual <= tolerance, "{name}, step {step}: {solver:?}");
            let limit = if OVERLAPPING.contains(&name.as_str()) { 1e-2 } else { 1e-12 };
            assert!(ledger.momentum_error <= limit, "{name}, step {step}: {ledger:?}");
            match &scene.params.fluid {
                FluidParams::Smoke(_) => {
                    assert!(ledger.volume_error <= 10.0 * tolerance, "{name}, step {step}: {ledger:?}");
                }
                FluidParams::Water(water) => {
                    let each = volume_of_a_particle(scene);
                    let [now, emitted, drained] =
                        [fluid.mass / water.rho, fluid.emitted, fluid.drained].map(|v| (v / each).round() as u64);
                    assert_eq!(particles + emitted - drained, now, "{name}, step {step}: {fluid:?}");
                }
            }
        }
    }
}

/// The mesh of the water of every scene, after each step: see docs/output.md for what is promised of it. Areas differ from step to step by what the liquid does:
/// by up to a fifth where a few cells of it splash or strike something (`hollow`), by more only where a source has just begun and a
/// step doubles what there is. A mesh that collapses for a frame loses about half.
#[test]
fn every_mesh_is_closed_and_holds_its_water() {
    for Run { name, scene, meshes, .. } in RUNS.iter() {
        let mut before: Option<MeshCheck> = None;
        for (step, mesh) in meshes.iter().enumerate() {
            let what = format!("{name}, step {}: {mesh:?}", step + 1);
            mesh.hold(scene.params.grid.dx, &what);
            if let Some(before) = before {
                let (grown, more) = (mesh.area / before.area - 1.0, (mesh.liquid / before.liquid - 1.0).abs());
                assert!(grown.abs() < 0.2 + 2.0 * more, "{what}: area was {} m²", before.area);
            }
            before = Some(*mesh);
        }
    }
}

/// m³.
fn volume_of_a_particle(scene: &Scene) -> f64 {
    let grid = scene.params.grid;
    scene.params.fluid.clone().water_mut().unwrap().particle_volume(&grid)
}

fn verification(name: &str) -> &'static Run {
    let name = format!("verification/{name}");
    RUNS.iter().find(|run| run.name == name).unwrap_or_else(|| panic!("there is no scenes/{name}.toml"))
}

/// Rows B1 and B2: the first step leaves speeds of at most 1e-9·a·Δt, and they do not grow to anything later.
#[test]
fn fluid_at_rest_stays_at_rest() {
    for name in ["still-box", "spherical-container", "isolated-cells"] {
        let Run { scene, reports, .. } = verification(name);
        let acceleration = scene.params.fluid.clone().smoke_mut().unwrap().acceleration.length();
        assert!(reports[0].max_speed <= 1e-9 * acceleration * reports[0].dt, "{name}: {}", reports[0].max_speed);
        assert!(reports.iter().all(|report| report.max_speed <= 1e-6), "{name}");
    }
}

/// Row D11: the stream has its energy, ½ ρ U² V, from the first step to the last.
#[test]
fn a_uniform_stream_stays_uniform() {
    let Run { scene, reports, .. } = verification("uniform-stream");
    let speed = 0.9;
    for report in reports {
        let energy = 0.5 * scene.params.fluid.rho() * speed * speed * report.fluid.volume;
        assert!((report.max_speed - speed).abs() <= 1e-11, "{}", report.max_speed);
        assert!((report.fluid.kinetic / energy - 1.0).abs() <= 1e-11, "{}", report.fluid.kinetic / energy);
    }
}

/// Row D12, with a ball at rest and with a piston that moves.
#[test]
fn channels_let_out_what_goes_in() {
    for name in ["channel", "piston"] {
        let worst = verification(name).reports.iter().map(|report| report.ledger.volume_error).fold(0.0, f64::max);
        assert!(worst <= 1e-9, "{name}: {worst:e}");
    }
}

/// The air in front of a piston moves with it as one.
#[test]
fn a_piston_takes_its_column_along() {
    for report in &verification("piston").reports {
        let (speed, momentum) = (report.bodies[0].velocity.x, report.fluid.momentum.x);
        assert!((momentum - report.fluid.mass * speed).abs() <= 1e-9 * momentum, "{momentum}");
        assert!((report.max_speed - speed).abs() <= 1e-9, "{} of {speed}", report.max_speed);
    }
}

/// A body that moves inside a closed box displaces as much as it leaves behind: of the 0.02 m³/s that the paddle pushes,
/// only what the slivers take that are no unknowns is missing.
#[test]
fn a_paddle_pushes_nothing_into_its_closed_box() {
    for report in &verification("paddle").reports {
        assert_eq!(report.regions.len(), 1);
        assert!(report.regions[0].incompatible_flux.abs() <= 1e-6, "{:?}", report.regions);
        assert!(report.max_speed > 0.1, "it moves the air");
    }
}

/// Rows 21 and 24: no fluid at all, and fluid that is walled in.
#[test]
fn solid_domains_and_isolated_cells_are_handled() {
    let solid = verification("solid-domain").reports.last().unwrap();
    assert_eq!((solid.fluid.volume, solid.max_speed, solid.solver.iterations), (0.0, 0.0, 0));
    let isolated = verification("isolated-cells").reports.last().unwrap();
    let cells: Vec<f64> = isolated.regions.iter().map(|region| (region.volume / 0.25f64.powi(3)).round()).collect();
    // 256 cells, 18 of them solid; the single cell is no unknown and so in no region.
    assert_eq!(cells, [235.0, 2.0]);
}

/// Row B4: once its particles, scattered at random, have settled for a second, the speeds of water at rest are below 2 % of
/// √(g H). Its volume stays.
#[test]
fn still_water_stays_still() {
    let Run { reports, .. } = verification("still-water");
    let last = reports.last().unwrap();
    assert!(last.t >= 1.0 && last.max_speed <= 0.02 * (9.81f64 * 0.5).sqrt(), "{} m/s", last.max_speed);
    for StepReport { t, fluid, .. } in reports {
        assert!((fluid.volume / 0.5 - 1.0).abs() <= 0.01, "{} m³ after {t} s", fluid.volume);
    }
}

/// Row 22: no surface, one closed region, no motion but what the tolerance of 1e-5 leaves of g Δt = 0.4 m/s.
#[test]
fn a_container_full_of_water_is_at_rest() {
    for report in &verification("full-container").reports {
        assert_eq!(report.regions.len(), 1);
        assert!(report.max_speed <= 1e-5, "{}", report.max_speed);
        let hole = 0.31034;
        assert!((report.fluid.volume / hole - 1.0).abs() <= 1e-3, "{}", report.fluid.volume);
    }
}

/// Before they meet, the pool rests and the ball, 0.0243 m³ large, falls freely; the volume stays.
#[test]
fn a_ball_of_water_falls_freely() {
    let Run { scene, reports, .. } = verification("two-liquids");
    let volume = reports[0].fluid.mass / scene.params.fluid.rho();
    for StepReport { t, fluid, .. } in reports {
        assert!((fluid.volume / volume - 1.0).abs() <= 0.01, "{} m³ after {t} s", fluid.volume);
        // It strikes when it has fallen 0.27 m.
        if 1.0 * t + 0.5 * 9.81 * t * t < 0.25 {
            let momentum = -(1.0 + 9.81 * t) * 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.18f64.powi(3);
            assert!((fluid.momentum.y / momentum - 1.0).abs() <= 0.02, "{} kg m/s of {momentum}", fluid.momentum.y);
        }
    }
}

/// Row B7: the water in vessels of different width swings about one level, y = 0.5 m; over some swings the mean level of
/// each is that to half a cell. The volume stays.
#[test]
fn communicating_vessels_have_one_level() {
    let scene = &verification("communicating-vessels").scene;
    let (grid, each) = (scene.params.grid, volume_of_a_particle(scene));
    let mut world = World::new(scene.params.clone()).unwrap();
    // Above the joint: the left vessel is 0.25 m wide, the right one 0.5 m.
    let level = |world: &World, side: fn(f64) -> bool, width: f64| {
        let positions = &world.state().fluid.water().unwrap().particles.position;
        let count = positions.iter().filter(|x| x.y > 0.25 && side(x.x)).count() as f64;
        0.25 + count * each / (width * grid.dx)
    };
    let (mut left, mut right, mut time) = (0.0, 0.0, 0.0);
    while world.state().time < 8.0 {
        let report = world.step().unwrap();
        assert!((report.fluid.volume / (0.4375 * grid.dx) - 1.0).abs() <= 0.01, "{} m³", report.fluid.volume);
        if report.t > 3.0 {
            left += report.dt * level(&world, |x| x < -0.2, 0.25);
            right += report.dt * level(&world, |x| x > -0.05, 0.5);
            time += report.dt;
        }
    }
    for mean in [left / time, right / time] {
        assert!((mean - 0.5).abs() <= 0.5 * grid.dx, "mean level {mean} m");
    }
}

/// What a scene file does not say is as the library has it.
#[test]
fn scene_files_and_the_library_have_the_same_defaults() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("defaults.toml");
    let params = |text: &str| {
        std::fs::write(&path, text).unwrap();
        format!("{:#?}", load(&path, &LoadOptions::default()).unwrap().params)
    };
    let grid = "[grid]\ncells = [8, 10, 8]\nsize = 1.0\n";
    assert_eq!(params(grid), format!("{:#?}", WorldParams::smoke([8, 10, 8], 1.0)));
    let water = format!("{grid}[[liquid]]\nlevel = 0.5\n");
    let body =
        "[[body]]\nname = \"ball\"\ndensity = 300\nposition = [0, 0.7, 0]\nshape = { sphere = { radius = 0.2 } }\n";
    let ball = RigidBody::new("ball", Shape::Sphere { radius: 0.2 }, 300.0).at([0.0, 0.7, 0.0]);
    let expected = WorldParams::water([8, 10, 8], 1.0, 0.5).with_body(ball);
    assert_eq!(params(&format!("{water}{body}")), format!("{expected:#?}"));
}
