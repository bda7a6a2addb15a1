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
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Draw one frame into `directory`.
pub fn draw(directory: &Path, frame: &Frame, settings: &RenderSettings) -> Result<(), Failure> {
    Ok(write_png(&picture_path(directory, frame.index), &render(frame, settings))?)
}

/// Draws frames beside the simulation, in their order: one is being drawn while another waits, and who brings a third waits, too.
pub struct Painter {
    /// None once it has stopped.
    frames: Option<SyncSender<Order>>,
    worker: Option<JoinHandle<Result<(), Failure>>>,
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
        let work = move || {
            for order in orders {
                match order {
                    Order::Draw(frame) => draw(&directory, &frame, &settings)?,
                    // Whoever asked may have gone.
                    Order::Tell(done) => drop(done.send(())),
                }
            }
            Ok(())
        };
        Self { frames: Some(frames), worker: Some(std::thread::spawn(work)) }
    }

    /// Draw a frame soon.
    pub fn draw(&mut self, frame: Frame) -> Result<(), Failure> {
        self.order(Order::Draw(Box::new(frame)))
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
    let (Some(&first), true) = (frames.first(), frames.len() > 1) else { return Ok(()) };
    let pictures: Vec<PathBuf> = frames.iter().map(|frame| picture_path(directory, *frame)).collect();
    write_animation(&directory.join("animation.gif"), &pictures, fps)?;
    if let Video::Failed(why) = write_mp4(&directory.join("animation.mp4"), directory, first, fps)? {
        warn(&format!("no animation.mp4, ffmpeg failed: {why}"));
    }
    Ok(())
}

/// `bathtub render`.
pub fn redraw(args: &RenderArgs, quiet: bool) -> Result<Exit, Failure> {
    let mut set = args.set.clone();
    if let Some(change) = set.iter().find(|change| !change.trim_start().starts_with("render.")) {
        let message = format!("--set {change}: only keys of [render] can change what was computed already");
        return Err(Failure::new(Exit::Usage, message));
    }
    set.extend(args.size.map(|[width, height]| format!("render.size=[{width},{height}]")));
    set.extend(args.camera.as_ref().map(|position| format!("render.camera.from=[{position}]")));
    RunDir::check(&args.out)?;
    let source = SceneArgs { scene: args.out.join("scene.toml"), set, allow_outside: false };
    let scene = check::load(&source)?;

    let directory = RunDir::open_existing(&args.out)?;
    let to = args.to.clone().unwrap_or_else(|| directory.preview());
    std::fs::create_dir_all(&to).map_err(FileError::new("create", &to))?;
    let mut frames = frame::list(&directory.frames())?;
    if let Some(range) = args.frames {
        frames.retain(|frame| *frame >= range.first && range.last.is_none_or(|last| *frame <= last));
    }
    if frames.is_empty() {
        let message = format!("no saved volumes to draw in {}", directory.frames().display());
        return Err(Failure::new(Exit::Io, message));
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

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        let exit = if matches!(error, FrameError::OtherScene { .. }) { Exit::Checkpoint } else { Exit::Io };
        Failure::new(exit, error.to_string())
    }
}
