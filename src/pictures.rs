//! Pictures of frames: while a run goes, and again from the files of a finished one (`bathtub render`).

use crate::args::{RenderArgs, SceneArgs};
use crate::check;
use crate::exit::{Exit, Failure};
use crate::terminal::{complain, warn};
use bathtub_output::atomic::FileError;
use bathtub_output::frame::{self, Frame, FrameError};
use bathtub_output::picture::{Video, picture_path, write_animation, write_mp4, write_png};
use bathtub_output::render::{RenderSettings, render};
use bathtub_output::run_dir::RunDir;
use bathtub_scene::file::Appearance;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Draw one frame into `directory`.
pub fn draw(directory: &Path, frame: &Frame, settings: &RenderSettings) -> Result<(), Failure> {
    Ok(write_png(&picture_path(directory, frame.index), &render(frame, settings))?)
}

/// Draws frames beside the simulation, in their order: one is being drawn while another waits, and who brings a third waits, too.
pub struct Painter {
    /// None once it has stopped.
    frames: Option<SyncSender<Order>>,
    worker: Option<JoinHandle<Result<(), Failure>>>,
    /// Pictures, and nanoseconds that they took.
    account: Arc<[AtomicU64; 2]>,
}

/// What was drawn.
#[derive(Clone, Copy, Default)]
pub struct Drawn {
    /// Frames.
    pub frames: u64,
    /// Time that they took, beside the simulation.
    pub seconds: f64,
}

enum Order {
    Draw(Box<Frame>),
    /// Tell when everything before is drawn.
    Tell(SyncSender<()>),
}

impl Painter {
    /// One that draws into `directory`.
    pub fn new(directory: PathBuf, settings: RenderSettings) -> Self {
        let (frames, orders) = sync_channel(1);
        let account = Arc::new([const { AtomicU64::new(0) }; 2]);
        let counted = Arc::clone(&account);
        let work = move || {
            for order in orders {
                match order {
                    Order::Draw(frame) => {
                        let begun = Instant::now();
                        draw(&directory, &frame, &settings)?;
                        counted[0].fetch_add(1, Relaxed);
                        counted[1].fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
                    }
                    // Whoever asked may have gone.
                    Order::Tell(done) => drop(done.send(())),
                }
            }
            Ok(())
        };
        Self { frames: Some(frames), worker: Some(std::thread::spawn(work)), account }
    }

    /// Draw a frame soon.
    pub fn draw(&mut self, frame: Frame) -> Result<(), Failure> {
        self.order(Order::Draw(Box::new(frame)))
    }

    /// What was drawn so far.
    pub fn drawn(&self) -> Drawn {
        let [frames, nanoseconds] = [0, 1].map(|n| self.account[n].load(Relaxed));
        Drawn { frames, seconds: 1e-9 * nanoseconds as f64 }
    }

    /// Wait until all frames are drawn.
    pub fn wait(&mut self) -> Result<(), Failure> {
        let (done, told) = sync_channel(1);
        self.order(Order::Tell(done))?;
        // If it could not go on, its end says why.
        told.recv().or_else(|_| self.finish())
    }

    /// Draw what waits, and stop.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.frames = None;
        match self.worker.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(end)) => end,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    fn order(&mut self, order: Order) -> Result<(), Failure> {
        let sent = self.frames.as_ref().is_some_and(|frames| frames.send(order).is_ok());
        if sent { Ok(()) } else { self.finish() }
    }
}

/// What waits is drawn even if the run ends with an error.
impl Drop for Painter {
    fn drop(&mut self) {
        self.frames = None;
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// Join the pictures of these frames into an animation; nothing to do if there are fewer than two.
pub fn animate(directory: &Path, frames: &[u64], fps: f64) -> Result<(), Failure> {
    if frames.len() < 2 {
        return Ok(());
    }
    let pictures: Vec<(u64, PathBuf)> = frames.iter().map(|&frame| (frame, picture_path(directory, frame))).collect();
    write_animation(&directory.join("animation.gif"), &pictures, fps)?;
    if let Video::Failed(why) = write_mp4(&directory.join("animation.mp4"), &pictures, fps)? {
        warn(&format!("no animation.mp4, ffmpeg failed: {why}"));
    }
    Ok(())
}

/// `bathtub render`.
pub fn redraw(args: &RenderArgs, quiet: bool) -> Result<Exit, Failure> {
    let mut set = args.set.clone();
    if let Some(change) = set.iter().find(|change| !is_of_pictures(change)) {
        let keys = Appearance::KEYS.join(", ");
        let message = format!(
            "--set {change}: only keys of [render], and {keys} of a solid, can change what was computed already"
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    set.extend(args.size.map(|[width, height]| format!("render.size=[{width},{height}]")));
    set.extend(args.camera.as_ref().map(|position| format!("render.camera.from=[{position}]")));
    RunDir::check(&args.out)?;
    let source = SceneArgs { scene: args.out.join("scene.toml"), set, allow_outside: false };
    let scene = check::load(&source)?;
    scene.picture_warnings.iter().for_each(|warning| warn(warning));

    let directory = RunDir::open_existing(&args.out)?;
    let to = args.to.clone().unwrap_or_else(|| directory.preview());
    std::fs::create_dir_all(&to).map_err(FileError::new("create", &to))?;
    let mut frames = frame::list(&directory.frames())?;
    if frames.is_empty() {
        let message = format!("no saved volumes to draw in {}", directory.frames().display());
        return Err(Failure::new(Exit::Io, message));
    }
    if let Some(list) = &args.frames {
        let chosen = list.select(&frames).map_err(|message| Failure::new(Exit::Io, message))?;
        chosen.short.iter().for_each(|message| warn(message));
        frames = chosen.frames;
    }
    let names = scene.params.solid_names().filter(|_| scene.file.output.meshes);
    let bodies: Vec<String> = names.map(str::to_owned).collect();
    for index in &frames {
        let frame = frame::read(&directory.frames(), *index, directory.scene_hash(), &bodies)?;
        draw(&to, &frame, &scene.render)?;
        if !quiet {
            complain(&format!("{}", picture_path(&to, *index).display()));
        }
    }
    animate(&to, &frames, scene.params.time.fps)?;
    Ok(Exit::Ok)
}

/// Whether a change is one of pictures only: of `[render]`, or of what a solid looks like.
fn is_of_pictures(change: &str) -> bool {
    let key: Vec<&str> = change.split('=').next().unwrap_or_default().split('.').map(str::trim).collect();
    match key[..] {
        ["render", _, ..] => true,
        ["obstacle" | "body" | "elastic", _, key, ..] => Appearance::KEYS.contains(&key),
        _ => false,
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        let exit = if matches!(error, FrameError::OtherScene { .. }) { Exit::Checkpoint } else { Exit::Io };
        Failure::new(exit, error.to_string())
    }
}
