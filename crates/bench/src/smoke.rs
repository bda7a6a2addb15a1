//! `bench smoke`: a step of smoke rising around a ball, stage by stage, beside memory speed and, if asked, Blender's.
//!
//! The scene is that of the peer script: a cube of 2 m with open sides, a source of radius 0.3 m low in it, a ball
//! of radius 0.3 m above; MacCormack advection of velocity and smoke, buoyancy and confinement, pressure residual ÷ 10⁴.

use crate::blender::{self, Kind};
use crate::error::BenchError;
use crate::machine;
use crate::timing::{as_map, median, stages, timed_step};
use crate::worlds::{fixed, still_air};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::fluid::smoke::Source;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Cells along a side of the standard problem.
const STANDARD: usize = 128;
/// Steps before the clock runs: memory is touched, the flow has begun.
const WARM_UP: usize = 4;
/// Steps timed in a round.
const STEPS: usize = 8;
/// Frames that the peer computes; its first two are its warm-up.
const PEER_FRAMES: usize = 8;
const PEER_WARM_UP: usize = 2;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of a dozen steps; medians are over all of them.
    pub runs: usize,
    /// A script for `blender -b -P FILE -- GAS 128 8` that prints lines `BL GAS … frame N S.SSs`. It runs in turn with ours.
    pub peer: Option<PathBuf>,
    /// Whether to run other sizes too.
    pub all: bool,
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The scene.
    pub problem: &'static str,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// Number of cells.
    pub cells: usize,
    /// Worker threads.
    pub threads: usize,
    /// Steps timed.
    pub steps: usize,
    /// Building the world: geometry cut, memory allocated, s.
    pub setup_s: f64,
    /// A whole step, median, ms.
    pub step_ms: f64,
    /// Its stages, medians, ms; `account` is what is left: checks, totals, the length of the next step.
    #[serde(serialize_with = "as_map")]
    pub stages_ms: Vec<(String, f64)>,
    /// Cells per second of a step.
    pub cells_per_s: f64,
    /// Pressure iterations of a step, median.
    pub iterations: usize,
    /// Residual reached, relative, the largest of all steps.
    pub residual: f64,
    /// Cells crossed by the fastest fluid, the largest of all steps.
    pub cfl: f64,
    /// Peak resident memory of the process, MB.
    pub peak_mb: f64,
    /// That per cell, bytes.
    pub bytes_per_cell: f64,
    /// Memory speed of this machine, GB/s.
    pub stream_gbs: f64,
    /// The other program on the same scene, if one was given.
    #[serde(flatten)]
    pub peer: Option<Peer>,
    /// Commit measured.
    pub commit: String,
    /// Processor.
    pub cpu: String,
}

/// The other program's time, and how much longer it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Peer {
    /// Its substep, ms: its fastest frame after the first two of all rounds. A frame is one substep or several, so this
    /// never overstates its time.
    pub peer_step_ms: f64,
    /// Its frames of all rounds, ms.
    pub peer_frames_ms: Vec<f64>,
    /// Its version.
    pub peer_version: String,
    /// Its substep over our step.
    pub speedup: f64,
}

/// Measure; rows come in the order of the cases, the standard one first.
pub fn run(options: &Options) -> Result<Vec<Row>, BenchError> {
    blender::check(options.peer.as_deref())?;
    let mut rows = vec![measure(STANDARD, options.runs, options.peer.as_deref())?];
    if options.all {
        for n in [32, 64, 192] {
            rows.push(measure(n, options.runs, None)?);
        }
    }
    Ok(rows)
}

/// The scene on `n`³ cells.
pub fn scene(n: usize) -> WorldParams {
    let mut params = still_air([n; 3], 2.0 / n as f64);
    params.grid.origin = DVec3::new(-1.0, 0.0, -1.0);
    params.walls = [[Wall::Open; 2]; 3];
    params.fluid.smoke_mut().unwrap().gravity = DVec3::new(0.0, -9.81, 0.0);
    params.fluid.smoke_mut().unwrap().expansion = 1.0 / 293.0;
    params.fluid.smoke_mut().unwrap().confinement = 0.1;
    params.pressure.params.tolerance = 1e-4;
    params.time.fps = 24.0;
    params.time.cfl = 4.0;
    let ball = Shape::Sphere { radius: 0.3 };
    params.fluid.smoke_mut().unwrap().sources = vec![Source {
        name: "source".into(),
        shape: ball.clone(),
        pose: Pose { position: DVec3::new(0.0, 0.4, 0.0), rotation: DQuat::IDENTITY },
        start: 0.0,
        end: f64::INFINITY,
        density: 1.0,
        temperature: 300.0,
        velocity: None,
        flicker: 0.0,
        seed: 0,
    }];
    params.obstacles = vec![fixed("ball", ball, DVec3::new(0.0, 1.2, 0.0), DQuat::IDENTITY)];
    params
}

/// One case on `n`³ cells; the peer always runs the standard size.
pub fn measure(n: usize, runs: usize, peer: Option<&Path>) -> Result<Row, BenchError> {
    let mut setups = Vec::new();
    let mut timings = Vec::new();
    let mut theirs = Vec::new();
    let mut peak_mb = 0.0f64;
    for _ in 0..runs.max(1) {
        machine::reset_peak();
        let start = Instant::now();
        let mut world = World::new(scene(n)).expect("no bodies that could be wrong");
        setups.push(start.elapsed().as_secs_f64());
        for step in 0..WARM_UP + STEPS {
            let timing = timed_step(&mut world)?;
            if step >= WARM_UP {
                timings.push(timing);
            }
        }
        peak_mb = peak_mb.max(machine::peak_mb());
        drop(world);
        if let Some(script) = peer {
            theirs.push(blender::run(script, Kind::Gas, STANDARD, PEER_FRAMES)?);
        }
    }
    let step_ms = median(timings.iter().map(|t| t.ms).collect());
    let cells = n.pow(3);
    Ok(Row {
        problem: "smoke around a ball",
        dims: [n; 3],
        cells,
        threads: rayon::current_num_threads(),
        steps: timings.len(),
        setup_s: median(setups),
        step_ms,
        stages_ms: stages(&timings, median),
        cells_per_s: cells as f64 / (1e-3 * step_ms),
        iterations: median(timings.iter().map(|t| t.report.solver.iterations as f64).collect()) as usize,
        residual: timings.iter().map(|t| t.report.solver.residual).fold(0.0, f64::max),
        cfl: timings.iter().map(|t| t.report.cfl).fold(0.0, f64::max),
        peak_mb,
        bytes_per_cell: 1e6 * peak_mb / cells as f64,
        stream_gbs: machine::stream_gbs(),
        peer: compare(&theirs, step_ms),
        commit: machine::commit(),
        cpu: machine::cpu(),
    })
}

fn compare(theirs: &[blender::Run], step_ms: f64) -> Option<Peer> {
    let counted = theirs.iter().flat_map(|run| run.frames.iter().skip(PEER_WARM_UP));
    let fastest = counted.copied().min_by(f64::total_cmp)?;
    Some(Peer {
        peer_step_ms: 1e3 * fastest,
        peer_frames_ms: theirs.iter().flat_map(|run| &run.frames).map(|s| 1e3 * s).collect(),
        peer_version: theirs[0].version.clone(),
        speedup: 1e3 * fastest / step_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_substep_is_its_fastest_frame_after_two() {
        let run = blender::Run { frames: vec![0.44, 3.0, 3.61, 7.02, 3.5], version: "3.4.1".into() };
        let peer = compare(&[run.clone(), run], 350.0).unwrap();
        assert_eq!((peer.peer_step_ms, peer.speedup, peer.peer_frames_ms.len()), (3500.0, 10.0, 10));
        assert_eq!(compare(&[], 1.0), None);
    }

    #[test]
    fn a_small_case_accounts_for_the_whole_step() {
        let row = measure(24, 1, None).unwrap();
        assert_eq!((row.cells, row.steps, row.peer.is_none()), (24 * 24 * 24, STEPS, true));
        assert!(row.residual <= 1e-4 && (1..=9).contains(&row.iterations), "{row:?}");
        // The smoke moves: a step of air at rest would cost less.
        assert!(row.cfl > 0.1, "{}", row.cfl);
        let wanted = ["solids", "trace", "advect velocity", "advect smoke", "forces", "pressure", "extend", "account"];
        assert_eq!(row.stages_ms.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(), wanted);
        assert!(row.stages_ms.iter().all(|s| s.1 >= 0.0) && row.step_ms > 0.0, "{row:?}");
    }

    #[test]
    fn a_missing_script_is_named_before_anything_is_measured() {
        let options = Options { runs: 1, peer: Some("no/such.py".into()), all: false };
        let error = run(&options).unwrap_err().to_string();
        assert!(error.starts_with("peer program no/such.py: no such file; give a script"), "{error}");
    }
}
