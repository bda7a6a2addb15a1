//! `bench water`: frames of water, stage by stage, beside memory speed and, if asked, Blender's.
//!
//! Two scenes: a dam that breaks around a pillar, with the defaults of a scene file; and the column of the peer script
//! that collapses over a ball, in a closed cube of 2 m, with its settings: 24 frames a second, steps of CFL 4. The peer
//! takes at most four steps a frame, whatever the CFL number then is, and keeps particles only near the surface; ours
//! fill the liquid.

use crate::blender::{self, Kind};
use crate::error::BenchError;
use crate::machine;
use crate::timing::{Timing, as_map, mean, median, stages, timed_step};
use crate::worlds::{fixed, still_air, water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Cells along a side of the peer's cube.
const PEER_CELLS: usize = 128;
/// Frames before the clock runs: memory is touched, the water has begun to move.
const WARM_UP: usize = 2;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of each case; medians are over rounds.
    pub runs: usize,
    /// A script for `blender -b -P FILE -- LIQUID 128 8` that prints lines `BL LIQUID … frame N S.SSs`. It runs in turn
    /// with ours.
    pub peer: Option<PathBuf>,
    /// Whether to run other sizes too.
    pub all: bool,
}

/// A scene and how much of it is run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub problem: &'static str,
    /// The scene.
    pub params: WorldParams,
    /// Frames, those before the clock runs included.
    pub frames: usize,
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
    /// Particles at the end.
    pub particles: usize,
    /// Worker threads.
    pub threads: usize,
    /// Frames timed in a round.
    pub frames: usize,
    /// Steps timed in a round.
    pub steps: usize,
    /// Building the world: geometry cut, particles placed, memory allocated, s.
    pub setup_s: f64,
    /// A frame, mean of a round, ms.
    pub frame_ms: f64,
    /// A step, mean over all, ms.
    pub step_ms: f64,
    /// Its stages, means over all, ms; `account` is what is left: checks, totals, the length of the next step.
    #[serde(serialize_with = "as_map")]
    pub stages_ms: Vec<(String, f64)>,
    /// Part of the step that the pressure takes.
    pub pressure_share: f64,
    /// Particles that go through a step in a second.
    pub particles_per_s: f64,
    /// Pressure iterations of a step, mean over all.
    pub iterations: f64,
    /// Residual reached, relative, the largest of all steps.
    pub residual: f64,
    /// Cells crossed by the fastest fluid, the largest of all steps.
    pub cfl: f64,
    /// Change of the volume that the water fills, relative, from the first step to the last.
    pub volume_drift: f64,
    /// Peak resident memory of the process, MB.
    pub peak_mb: f64,
    /// That per particle, grid included, bytes.
    pub bytes_per_particle: f64,
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

/// The other program's time for the same frames, and how much longer it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Peer {
    /// Its frame, mean of a round, ms.
    pub peer_frame_ms: f64,
    /// Its frames of all rounds, ms; the first two of each are not counted.
    pub peer_frames_ms: Vec<f64>,
    /// Its version.
    pub peer_version: String,
    /// Its frame over ours.
    pub speedup: f64,
}

/// Measure: the dam break, then the peer's scene.
pub fn run(options: &Options) -> Result<Vec<Row>, BenchError> {
    let peer = options.peer.as_deref();
    blender::check(peer)?;
    let mut rows =
        vec![measure(&dam_break(64), options.runs, None)?, measure(&column_over_ball(PEER_CELLS), options.runs, peer)?];
    if options.all {
        rows.push(measure(&dam_break(32), options.runs, None)?);
        rows.push(measure(&column_over_ball(PEER_CELLS / 2), options.runs, None)?);
    }
    Ok(rows)
}

/// A tank of 2 × 1 × 1 m on 2n × n × n cells, the water ¾ m high behind a dam at ¾ m; for half a second, in which it
/// strikes a pillar and the wall behind it.
pub fn dam_break(n: usize) -> Case {
    let dims = [2 * n, n, n];
    // Only what lies in the tank counts.
    let mut params = pool(dims, 1.0 / n as f64, DVec3::ZERO, 2.0 * DVec3::new(0.75, 0.75, 1.0));
    params.pressure.params.tolerance = 1e-5;
    params.time.cfl = 2.0;
    let pillar = Shape::Box { size: DVec3::new(0.16, 2.0, 0.16) };
    params.obstacles = vec![fixed("pillar", pillar, DVec3::new(1.3, 0.5, 0.5), DQuat::IDENTITY)];
    Case { problem: "dam break", params, frames: 12 }
}

/// The peer's scene on `n`³ cells: y is its z, z its −y. Its outermost cells are wall, on which its column stands, 20 mm
/// from the sides of the cube; ours stands on the sides themselves.
pub fn column_over_ball(n: usize) -> Case {
    let mut params = pool([n; 3], 2.0 / n as f64, DVec3::new(-0.5, 0.5, 0.0), DVec3::new(1.0, 1.0, 1.9));
    params.grid.origin = DVec3::new(-1.0, 0.0, -1.0);
    params.pressure.params.tolerance = 1e-4;
    params.time.cfl = 4.0;
    let ball = Shape::Sphere { radius: 0.3 };
    params.obstacles = vec![fixed("ball", ball, DVec3::new(0.5, 0.4, 0.0), DQuat::IDENTITY)];
    Case { problem: "column over a ball", params, frames: 8 }
}

/// A closed tank with a block of water, every default of a scene file, 24 frames a second.
fn pool(dims: [usize; 3], dx: f64, centre: DVec3, size: DVec3) -> WorldParams {
    let region = Region::Shape(Shape::Box { size }, Pose { position: centre, rotation: DQuat::IDENTITY });
    let liquid = water(vec![Liquid { region, velocity: DVec3::ZERO }], dims);
    let mut params = WorldParams { fluid: FluidParams::Water(liquid), ..still_air(dims, dx) };
    params.time.fps = 24.0;
    params
}

/// Run a case `runs` times, in turn with the peer.
pub fn measure(case: &Case, runs: usize, peer: Option<&Path>) -> Result<Row, BenchError> {
    let (mut setups, mut frames_ms, mut timings, mut theirs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut peak_mb, mut particles) = (0.0f64, 0);
    let timed = case.frames - WARM_UP;
    for _ in 0..runs.max(1) {
        machine::reset_peak();
        let start = Instant::now();
        let mut world = World::new(case.params.clone()).expect("no bodies that could be wrong");
        setups.push(start.elapsed().as_secs_f64());
        let mut round: Vec<Timing> = Vec::new();
        while world.state().frame < case.frames as u64 {
            let is_warm = world.state().frame >= WARM_UP as u64;
            let timing = timed_step(&mut world)?;
            if is_warm {
                round.push(timing);
            }
        }
        frames_ms.push(round.iter().map(|t| t.ms).sum::<f64>() / timed as f64);
        timings.extend(round);
        peak_mb = peak_mb.max(machine::peak_mb());
        particles = world.state().fluid.water().map_or(0, |water| water.particles.len());
        drop(world);
        if let Some(script) = peer {
            theirs.push(blender::run(script, Kind::Liquid, PEER_CELLS, case.frames)?);
        }
    }
    let (grid, all) = (&case.params.grid, |of: fn(&Timing) -> f64| timings.iter().map(of).collect::<Vec<f64>>());
    let largest = |of: fn(&Timing) -> f64| timings.iter().map(of).fold(0.0, f64::max);
    let (frame_ms, step_ms) = (median(frames_ms), mean(all(|t| t.ms)));
    let stages_ms = stages(&timings, mean);
    let pressure = stages_ms.iter().find(|(stage, _)| stage == "pressure").map_or(0.0, |(_, ms)| *ms);
    let volume = |t: Option<&Timing>| t.map_or(0.0, |t| t.report.fluid.volume);
    Ok(Row {
        problem: case.problem,
        dims: grid.dims,
        cells: grid.cells(),
        particles,
        threads: rayon::current_num_threads(),
        frames: timed,
        steps: timings.len() / runs.max(1),
        setup_s: median(setups),
        frame_ms,
        step_ms,
        stages_ms,
        pressure_share: pressure / step_ms,
        particles_per_s: particles as f64 / (1e-3 * step_ms),
        iterations: mean(all(|t| t.report.solver.iterations as f64)),
        residual: largest(|t| t.report.solver.residual),
        cfl: largest(|t| t.report.cfl),
        volume_drift: volume(timings.last()) / volume(timings.first()) - 1.0,
        peak_mb,
        bytes_per_particle: 1e6 * peak_mb / particles as f64,
        stream_gbs: machine::stream_gbs(),
        peer: compare(&theirs, frame_ms),
        commit: machine::commit(),
        cpu: machine::cpu(),
    })
}

fn compare(theirs: &[blender::Run], frame_ms: f64) -> Option<Peer> {
    let version = theirs.first()?.version.clone();
    let frame = |run: &blender::Run| 1e3 * mean(run.frames[WARM_UP..].to_vec());
    let peer_frame_ms = median(theirs.iter().map(frame).collect());
    Some(Peer {
        peer_frame_ms,
        peer_frames_ms: theirs.iter().flat_map(|run| &run.frames).map(|s| 1e3 * s).collect(),
        peer_version: version,
        speedup: peer_frame_ms / frame_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_frame_is_its_mean_after_two_and_the_median_of_rounds() {
        let run = |last: f64| blender::Run { frames: vec![0.4, 9.0, 2.0, last], version: "3.4.1".into() };
        let peer = compare(&[run(4.0), run(8.0), run(100.0)], 500.0).unwrap();
        assert_eq!((peer.peer_frame_ms, peer.speedup, peer.peer_frames_ms.len()), (5000.0, 10.0, 12));
        assert_eq!(compare(&[], 1.0), None);
    }

    /// Eight particles in every cell whose parts lie in the water.
    #[test]
    fn the_scenes_hold_the_water_they_should() {
        let particles = |case: Case| {
            World::new(case.params)
                .expect("no bodies that could be wrong")
                .state()
                .fluid
                .water()
                .unwrap()
                .particles
                .len()
        };
        assert_eq!(particles(dam_break(16)), 8 * 12 * 12 * 16);
        // 1 × 1 × 1.9 m less what the ball takes, which stands free of it.
        let [ours, wanted] = [particles(column_over_ball(32)) as f64, 8.0 * 1.9 * 16f64.powi(3)];
        assert!((ours / wanted - 1.0).abs() < 0.02, "{ours} of {wanted}");
    }

    #[test]
    fn a_small_case_accounts_for_the_whole_step() {
        let case = Case { frames: 6, ..dam_break(12) };
        let row = measure(&case, 1, None).unwrap();
        assert_eq!((row.cells, row.frames, row.peer.is_none()), (24 * 12 * 12, 4, true));
        assert!(row.steps >= row.frames && row.residual <= 1e-5 && row.iterations >= 1.0, "{row:?}");
        // The water moves, and stays.
        assert!(row.cfl > 0.1 && row.volume_drift.abs() < 0.05, "{row:?}");
        let total: f64 = row.stages_ms.iter().map(|s| s.1).sum();
        assert!((total / row.step_ms - 1.0).abs() < 1e-9 && row.stages_ms.len() > 8, "{row:?}");
        assert!(row.pressure_share > 0.0 && row.pressure_share < 1.0, "{row:?}");
    }
}
