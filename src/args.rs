//! The command line as it is typed.

use crate::exit::EXIT_CODES;
use crate::frames::FrameList;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

/// Smoke and water that push solids and are pushed back, from one scene file.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print errors as one JSON object on standard error.
    #[arg(long, global = true)]
    pub json_errors: bool,
    /// Print nothing but errors and what was asked for.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scene.
    Run(RunArgs),
    /// Continue an interrupted run from its directory.
    Resume(ResumeArgs),
    /// Draw the frames of a run again, with another camera, size or look.
    Render(RenderArgs),
    /// Check a scene and say what it needs, without simulating.
    Check(CheckArgs),
    /// List the modes of a scene's reduced bodies, and write them.
    Modes(ModesArgs),
    /// Print the JSON schema of scene files.
    Schema {
        /// Print the reference page (docs/scene-reference.md) instead.
        #[arg(long)]
        markdown: bool,
    },
    /// List or run the experiments whose results are known, and compare.
    Reproduce(ReproduceArgs),
    /// List or run the benchmarks.
    Bench(BenchArgs),
}

/// Where a scene comes from.
#[derive(Args)]
pub struct SceneArgs {
    /// The scene file.
    pub scene: PathBuf,
    /// Change a key of the scene, as in time.frames=10 or obstacle.ball.shape.sphere.radius=0.2; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Let the scene name mesh files outside its own directory.
    #[arg(long)]
    pub allow_outside: bool,
}

/// `bathtub modes`.
#[derive(Args)]
pub struct ModesArgs {
    /// The scene.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Write the tetrahedra of each body with its modes as vectors to NAME.vtk here.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

/// `bathtub run`.
#[derive(Args)]
pub struct RunArgs {
    /// Which scene.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Directory of the run; out/NAME by default.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the run that is in the directory.
    #[arg(long, conflicts_with = "overwrite")]
    pub resume: bool,
    /// Delete the run that is in the directory and start again.
    #[arg(long)]
    pub overwrite: bool,
    /// How to go about it.
    #[command(flatten)]
    pub pace: PaceArgs,
}

/// `bathtub resume`.
#[derive(Args)]
pub struct ResumeArgs {
    /// Directory of the run.
    pub out: PathBuf,
    /// How to go about it.
    #[command(flatten)]
    pub pace: PaceArgs,
}

/// What a run may choose freely: none of it changes the states that are computed.
#[derive(Args)]
pub struct PaceArgs {
    /// Number of threads; all processors by default. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// Write only frames A to B, and stop after B; A or B may be left out.
    #[arg(long, value_name = "A..B")]
    pub frames: Option<FrameRange>,
    /// Draw no pictures.
    #[arg(long)]
    pub no_preview: bool,
    /// Draw only every Nth frame, as in every=4; the animation still plays at the right speed.
    #[arg(long, value_name = "every=N", value_parser = every, conflicts_with = "no_preview")]
    pub preview: Option<u64>,
    /// Write a hash of the whole state with every step, and print the last one.
    #[arg(long)]
    pub hash: bool,
}

/// `bathtub render`.
#[derive(Args)]
pub struct RenderArgs {
    /// Directory of the run.
    pub out: PathBuf,
    /// Width and height of the pictures, pixels.
    #[arg(long, value_name = "WxH", value_parser = picture_size)]
    pub size: Option<[u32; 2]>,
    /// Position of the camera, m; short for --set render.camera.from.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub camera: Option<String>,
    /// Change any key of the render section, as in render.camera.azimuth=120, or the look of a solid, as in body.ball.look=glass; may be
    /// repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Draw only these frames: numbers, ranges and ranges with a step, as in 3,7,20..30 or 0..60..10; ends may be left out.
    #[arg(long, value_name = "LIST")]
    pub frames: Option<FrameList>,
    /// Where the pictures go; OUT/preview by default.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Number of threads; all processors by default. The pictures do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
}

/// `bathtub check`.
#[derive(Args)]
pub struct CheckArgs {
    /// Which scene.
    #[command(flatten)]
    pub scene: SceneArgs,
}

/// `bathtub reproduce`.
#[derive(Args)]
pub struct ReproduceArgs {
    /// The experiment; without one, they are listed.
    pub name: Option<String>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// The full size of the reference, however long that takes.
    #[arg(long)]
    pub full: bool,
}

/// `bathtub bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// The benchmark; without one, they are listed.
    pub name: Option<String>,
    /// Print one JSON object a case instead of a line.
    #[arg(long)]
    pub json: bool,
    /// Every size and obstacle, not only the standard problem.
    #[arg(long)]
    pub all: bool,
    /// Runs of each case; the median counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Another program that solves the standard problem, run in turn with ours: for `smoke` and `water` a script for Blender.
    #[arg(long, value_name = "PROGRAM")]
    pub peer: Option<PathBuf>,
    /// Number of threads; all processors by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
}

/// Frames from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRange {
    /// First frame to write.
    pub first: u64,
    /// Last frame; the scene's last if not given.
    pub last: Option<u64>,
}

impl FromStr for FrameRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of frames; write A..B, A.. or ..B, as in 0..24");
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let number = |s: &str| s.parse::<u64>().map_err(|_| wrong());
        let first = if first.is_empty() { 0 } else { number(first)? };
        let last = if last.is_empty() { None } else { Some(number(last)?) };
        if last.is_some_and(|last| last < first) {
            return Err(wrong());
        }
        Ok(Self { first, last })
    }
}

fn every(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("every=").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    number
        .ok_or_else(|| format!("{text:?} does not say which frames; write every=N with N of at least 1, as in every=4"))
}

fn picture_size(text: &str) -> Result<[u32; 2], String> {
    let wrong = || format!("{text:?} is no size; write WxH, as in 1280x720");
    let (width, height) = text.split_once('x').ok_or_else(wrong)?;
    Ok([width.parse().map_err(|_| wrong())?, height.parse().map_err(|_| wrong())?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn ranges_of_frames() {
        let range = |text: &str| text.parse::<FrameRange>().map(|r| (r.first, r.last));
        assert_eq!(range("3..9"), Ok((3, Some(9))));
        assert_eq!(range("..9"), Ok((0, Some(9))));
        assert_eq!(range("3.."), Ok((3, None)));
        assert!(range("9..3").is_err() && range("3").is_err() && range("a..b").is_err() && range("-1..3").is_err());
    }
}
