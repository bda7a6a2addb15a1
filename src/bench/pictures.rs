//! `bathtub bench pictures`: processor time that pictures of frames take, beside that of another build.
//!
//! Scenes are run once, without pictures, by this program; then this program and the other one draw the same saved frames in turn, as `bathtub render` does.
//! What counts is the processor time of those processes, reading the frames and writing the PNG files included.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::machine;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Scenes, and the frames that are drawn of each: amid what happens.
const SCENES: [(&str, &str, [u64; 2]); 5] = [
    ("float", include_str!("../../scenes/start/float.toml"), [20, 23]),
    ("dam-break", include_str!("../../scenes/water/dam-break.toml"), [24, 27]),
    ("glass", include_str!("../../scenes/water/glass.toml"), [40, 43]),
    ("plume", include_str!("../../scenes/start/plume.toml"), [40, 43]),
    ("beam", include_str!("../../scenes/papers/zb17/beam.toml"), [20, 23]),
];

/// The mesh that one of them names.
const GLASS: (&str, &[u8]) = ("meshes/glass.obj", include_bytes!("../../scenes/water/meshes/glass.obj"));

/// One scene.
#[derive(Serialize)]
struct Row {
    scene: &'static str,
    /// Pictures that were drawn in one go.
    frames: u64,
    /// Processor seconds a picture.
    cpu_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_cpu_s: Option<f64>,
    /// How many times as long the other program takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    threads: usize,
    commit: String,
    cpu: String,
}

/// Measure and print: a line a scene, or a JSON object a scene.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let scratch = std::env::temp_dir().join(format!("bathtub-pictures-{}", std::process::id()));
    let rows = measure(args, &scratch);
    let _ = std::fs::remove_dir_all(&scratch);
    rows.map(|()| Exit::Ok)
}

fn measure(args: &BenchArgs, scratch: &Path) -> Result<(), Failure> {
    if let Some(peer) = args.peer.as_ref().filter(|peer| !peer.exists()) {
        return Err(failed(format!("peer program {}: no such file", peer.display())));
    }
    let own = std::env::current_exe().map_err(|error| failed(format!("cannot find this program: {error}")))?;
    let unwritable = |error: std::io::Error| failed(format!("{}: {error}", scratch.display()));
    std::fs::create_dir_all(scratch.join("meshes")).map_err(unwritable)?;
    std::fs::write(scratch.join(GLASS.0), GLASS.1).map_err(unwritable)?;
    for (scene, text, [first, last]) in SCENES {
        let (file, out) = (scratch.join(format!("{scene}.toml")), scratch.join(scene));
        std::fs::write(&file, text).map_err(unwritable)?;
        let frames = format!("{first}..{last}");
        let to_last = format!("..{last}");
        call(
            &own,
            &[
                "run".into(),
                file,
                "--out".into(),
                out.clone(),
                "--no-preview".into(),
                "--frames".into(),
                to_last.into(),
                // Meshes with velocities are new: the other program may not know them.
                "--set".into(),
                "output.velocity=none".into(),
            ],
        )?;
        let draw = |program: &Path| {
            let to = scratch.join("pictures");
            let before = cpu_of_children();
            call(
                program,
                &["render".into(), out.clone(), "--frames".into(), frames.clone().into(), "--to".into(), to],
            )?;
            Ok::<f64, Failure>((cpu_of_children() - before) / (last - first + 1) as f64)
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..args.runs.max(1) {
            ours.push(draw(&own)?);
            if let Some(peer) = &args.peer {
                theirs.push(draw(peer)?);
            }
        }
        let cpu_s = median(&mut ours);
        let peer_cpu_s = args.peer.is_some().then(|| median(&mut theirs));
        let row = Row {
            scene,
            frames: last - first + 1,
            cpu_s,
            peer_cpu_s,
            ratio: peer_cpu_s.map(|theirs| theirs / cpu_s),
            threads: rayon::current_num_threads(),
            commit: machine::commit(),
            cpu: machine::cpu(),
        };
        say(&if args.json { serde_json::to_string(&row).expect("a row always encodes") } else { line(&row) });
    }
    Ok(())
}

fn line(row: &Row) -> String {
    let ours = format!("{:10} {:.2} s of processor time a picture", row.scene, row.cpu_s);
    match (row.peer_cpu_s, row.ratio) {
        (Some(theirs), Some(ratio)) => format!("{ours}; the other program {theirs:.2} s, {ratio:.1} times as long"),
        _ => ours,
    }
}

fn call(program: &Path, arguments: &[PathBuf]) -> Result<(), Failure> {
    let done = Command::new(program).arg("-q").args(arguments).stdin(Stdio::null()).output();
    match done {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(failed(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr).trim()))),
        Err(error) => Err(failed(format!("{}: {error}", program.display()))),
    }
}

fn failed(message: String) -> Failure {
    Failure::new(Exit::Io, message)
}

/// Processor time of all children that have ended, s; see proc_pid_stat(5). Linux counts it in hundredths of a second.
fn cpu_of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields after the name, which is in brackets: the fourteenth and fifteenth.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(13).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
