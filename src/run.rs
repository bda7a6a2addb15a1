//! `bathtub run` and `bathtub resume`: the loop from a scene to its directory.
//!
//! Frame 0 is the initial state. After each frame its files are written, then perhaps a checkpoint; so whatever a
//! checkpoint counts on is on disk, and a killed run loses the frames since the last one and nothing else.

use crate::args::{PaceArgs, ResumeArgs, RunArgs, SceneArgs};
use crate::exit::{Exit, Failure};
use crate::pictures::{self, Drawn, Painter};
use crate::progress::Progress;
use crate::signals::Stop;
use crate::terminal::{complain, say, warn, warning};
use crate::{check, panic};
use bathtub_engine::report::StepReport;
use bathtub_engine::world::{SolidSurface, World};
use bathtub_output::checkpoint::{self, Checkpoint, Identity, state_hash};
use bathtub_output::frame::{self, Frame, FrameSettings, Surface, VelocityOutput};
use bathtub_output::inventory::Contents;
use bathtub_output::picture::picture_path;
use bathtub_output::run_dir::{OpenMode, RunDir};
use bathtub_output::stats::StatsLog;
use bathtub_scene::file::VelocityName;
use bathtub_scene::{MeshAsset, Scene};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// `bathtub run`.
pub fn start(args: &RunArgs, quiet: bool) -> Result<Exit, Failure> {
    let scene = check::load(&args.scene)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("out").join(&scene.name));
    let mode = match (args.resume, args.overwrite) {
        (true, _) => OpenMode::Resume,
        (false, true) => OpenMode::Overwrite,
        (false, false) => OpenMode::Fresh,
    };
    simulate(scene, &out, mode, &args.pace, quiet)
}

/// `bathtub resume`.
pub fn resume(args: &ResumeArgs, quiet: bool) -> Result<Exit, Failure> {
    RunDir::check(&args.out)?;
    let scene = SceneArgs { scene: args.out.join("scene.toml"), set: Vec::new(), allow_outside: false };
    if args.out.is_dir() && !scene.scene.exists() {
        let out = args.out.display();
        let message =
            format!("{out} holds no run that has begun (no scene.toml); start it with: bathtub run SCENE --out {out}");
        return Err(Failure::new(Exit::Io, message));
    }
    simulate(check::load(&scene)?, &args.out, OpenMode::Resume, &args.pace, quiet)
}

/// A run in progress and where it goes.
struct Run<'a> {
    scene: &'a Scene,
    pace: &'a PaceArgs,
    identity: Identity,
    directory: RunDir,
    stats: StatsLog,
    world: World,
    /// Draws frames, if that is wanted.
    painter: Option<Painter>,
    /// Frame and time of the last checkpoint.
    saved: (u64, Instant),
}

fn simulate(scene: Scene, out: &Path, mode: OpenMode, pace: &PaceArgs, quiet: bool) -> Result<Exit, Failure> {
    let pictures = scene.picture_warnings.iter().filter(|_| !pace.no_preview);
    scene.warnings.iter().chain(pictures).for_each(|warning| warn(warning));
    let last = last_frame(&scene, pace)?;
    let stop = Stop::listen()?;
    let mut run = Run::open(&scene, out, mode, pace, quiet)?;
    let first = run.world.state().frame;
    let mut progress = Progress::new(quiet, scene.params.grid.cells(), first, last);
    let end = run.advance(last, &stop, &mut progress);
    progress.finish();
    let exit = end?;
    if pace.hash {
        say(&format!("state hash: {}", state_hash(run.world.state())));
    }
    if !quiet {
        let (state, took) = (run.world.state(), progress.summary(run.drawn()));
        let (frame, step) = (state.frame, state.step);
        let told = match exit {
            Exit::Ok => format!("done: frame {frame}, step {step}, {took}; everything is in {}", out.display()),
            _ => format!("stopped at frame {frame}, step {step}; continue with: bathtub resume {}", out.display()),
        };
        complain(&told);
    }
    Ok(exit)
}

impl Run<'_> {
    /// Take the directory and put the world into its first state: the scene's, or the newest checkpoint's.
    fn open<'a>(
        scene: &'a Scene,
        out: &Path,
        mode: OpenMode,
        pace: &'a PaceArgs,
        quiet: bool,
    ) -> Result<Run<'a>, Failure> {
        let identity = Identity {
            build: env!("CARGO_PKG_VERSION").into(),
            scene_hash: *scene.hash.as_bytes(),
            thread_policy: "deterministic".into(),
        };
        let directory = RunDir::open(out, mode, &identity, contents(scene))?;
        panic::report_into(directory.root());
        directory.write_scene(&scene.to_toml(), scene.meshes.iter().map(|mesh| (&*mesh.path, &*mesh.bytes)))?;
        let world = World::new(scene.params.clone());
        let mut world = world.map_err(|error| Failure::new(Exit::Scene, error.to_string()))?;
        let painter = (!pace.no_preview).then(|| Painter::new(directory.preview(), scene.render.clone()));
        let saved = (0, Instant::now());
        if mode != OpenMode::Resume || checkpoint::list(&directory.checkpoints())?.is_empty() {
            let stats = directory.create_stats()?;
            let mut run = Run { scene, pace, identity, directory, stats, world, painter, saved };
            run.write_frame()?;
            return Ok(run);
        }
        let latest = directory.latest_checkpoint(&identity)?;
        for (path, why) in &latest.skipped {
            warn(&format!("skipped {}: {why}", path.display()));
        }
        let build = &latest.checkpoint.identity.build;
        if *build != identity.build {
            let ours = &identity.build;
            warn(&format!(
                "the checkpoint is of build {build}, this is {ours}: only the same build promises the same bits"
            ));
        }
        if !quiet {
            complain(&format!("resuming from {}", latest.path.display()));
        }
        let restored = checkpoint::state_of(&latest.checkpoint, &scene.params.grid)
            .and_then(|state| Ok(world.restore(state)?))
            .map_err(|error| Failure::new(Exit::Checkpoint, format!("{}: {error}", latest.path.display())));
        restored?;
        let (stats, _) = directory.rewind_to(world.state().step)?;
        let saved = (world.state().frame, Instant::now());
        Ok(Run { scene, pace, identity, directory, stats, world, painter, saved })
    }

    /// Step up to frame `last`, writing what each step and frame leaves behind.
    fn advance(&mut self, last: u64, stop: &Stop, progress: &mut Progress) -> Result<Exit, Failure> {
        while self.world.state().frame < last {
            let frame = self.world.state().frame;
            let begun = Instant::now();
            let report = match self.world.step() {
                Ok(report) => report,
                Err(error) => {
                    let path = self.save_checkpoint()?;
                    let message = format!("{error}; the last good state is in {}", path.display());
                    return Err(Failure::new(Exit::Numerical, message));
                }
            };
            let time = begun.elapsed();
            let hash = self.pace.hash.then(|| state_hash(self.world.state()));
            self.stats.append(&StatsLine { report: &report, state_hash: hash })?;
            progress.step(&report, time, self.drawn());
            for event in &report.events {
                progress.note(&warning(&format!("step {}: {event}", report.step)));
            }
            if self.world.state().frame > frame {
                self.write_frame()?;
                progress.frame(self.world.state().frame, self.world.state().time, self.drawn());
                if self.checkpoint_is_due() {
                    self.save_checkpoint()?;
                }
            }
            if let Some(exit) = stop.asked() {
                let path = self.save_checkpoint()?;
                progress.note(&format!("checkpoint written: {}", path.display()));
                return Ok(exit);
            }
        }
        self.save_checkpoint()?;
        if let Some(painter) = &mut self.painter {
            painter.finish()?;
            let drawn = |frame: &u64| picture_path(&self.directory.preview(), *frame).exists();
            let every = self.pace.preview.unwrap_or(1);
            let frames: Vec<u64> = (0..=last).filter(|frame| frame % every == 0).filter(drawn).collect();
            pictures::animate(&self.directory.preview(), &frames, self.scene.params.time.fps)?;
        }
        Ok(Exit::Ok)
    }

    /// The files of the current frame, if it is one that was asked for.
    fn write_frame(&mut self) -> Result<(), Failure> {
        let state = self.world.state();
        if self.pace.frames.is_some_and(|range| state.frame < range.first) {
            return Ok(());
        }
        let output = &self.scene.file.output;
        let moves = |name: &str| {
            let obstacle = self.scene.params.obstacles.iter().find(|o| o.name == name);
            obstacle.is_none_or(|o| !o.motion.is_static())
        };
        let with_velocity = output.velocity != VelocityName::None;
        let surfaces = self.world.surfaces().into_iter().map(|SolidSurface { name, mesh, velocities }| {
            let moves = moves(&name);
            Surface { name, mesh, velocities: if moves && with_velocity { velocities } else { Vec::new() }, moves }
        });
        let frame = Frame::new(&self.world, surfaces.collect());
        let settings = FrameSettings {
            volumes: output.volumes,
            meshes: output.meshes,
            particles: output.particles,
            threshold: output.threshold as f32,
            velocity: match output.velocity {
                VelocityName::None => VelocityOutput::None,
                VelocityName::Smoke => VelocityOutput::Smoke,
                VelocityName::Everywhere => VelocityOutput::Everywhere,
            },
        };
        frame::write(&self.directory.frames(), &frame, self.directory.scene_hash(), &settings)?;
        let is_drawn = frame.index.is_multiple_of(self.pace.preview.unwrap_or(1));
        self.painter.as_mut().filter(|_| is_drawn).map_or(Ok(()), |painter| painter.draw(frame))
    }

    /// What of this run was drawn so far, if anything is to be.
    fn drawn(&self) -> Option<Drawn> {
        self.painter.as_ref().map(Painter::drawn)
    }

    fn checkpoint_is_due(&self) -> bool {
        let (frame, time) = self.saved;
        let output = &self.scene.file.output;
        self.world.state().frame - frame >= output.checkpoint_frames as u64
            || time.elapsed().as_secs_f64() >= output.checkpoint_seconds
    }

    /// Keep the state, once everything that belongs to it is there: who goes on from it draws no picture of a frame before.
    fn save_checkpoint(&mut self) -> Result<PathBuf, Failure> {
        self.painter.as_mut().map_or(Ok(()), Painter::wait)?;
        let state = self.world.state();
        let (identity, sections) = (self.identity.clone(), checkpoint::to_sections(state));
        self.saved = (state.frame, Instant::now());
        let checkpoint = Checkpoint { identity, step: state.step, sections };
        Ok(self.directory.save_checkpoint(&self.stats, &checkpoint)?)
    }
}

/// What the names of a scene's files are made from.
fn contents(scene: &Scene) -> Contents {
    let solids = scene.params.solid_names().map(str::to_owned).collect();
    let file_name = |mesh: &MeshAsset| mesh.path.rsplit('/').next().unwrap_or_default().to_owned();
    Contents { solids, meshes: scene.meshes.iter().map(file_name).collect() }
}

/// A line of `stats.jsonl`.
#[derive(Serialize)]
struct StatsLine<'a> {
    #[serde(flatten)]
    report: &'a StepReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_hash: Option<String>,
}

fn last_frame(scene: &Scene, pace: &PaceArgs) -> Result<u64, Failure> {
    let last = pace.frames.and_then(|range| range.last).unwrap_or(scene.frames());
    let first = pace.frames.map_or(0, |range| range.first);
    if last.max(first) > scene.frames() {
        let frames = scene.frames();
        let message =
            format!("--frames {first}..{last}: the scene has {frames} frames; raise time.frames to run longer");
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(last)
}
