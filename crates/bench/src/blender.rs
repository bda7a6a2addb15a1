//! Blender's fluid simulation, Mantaflow, run by a script: the other program of the smoke and water benchmarks.

use crate::error::{BenchError, last_line};
use std::path::Path;
use std::process::Command;

/// Which simulation the script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gas,
    Liquid,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// Time that each frame took, s.
    pub frames: Vec<f64>,
    /// Of Blender.
    pub version: String,
}

impl Kind {
    /// As the script calls it.
    fn word(self) -> &'static str {
        match self {
            Kind::Gas => "GAS",
            Kind::Liquid => "LIQUID",
        }
    }
}

/// Whether there is a script at all: Blender goes on without a word about one that is not there.
pub(crate) fn check(script: Option<&Path>) -> Result<(), BenchError> {
    match script.filter(|script| !script.is_file()) {
        Some(script) => Err(failed(script, "no such file")),
        None => Ok(()),
    }
}

/// `blender -b -P SCRIPT -- KIND RESOLUTION FRAMES`.
pub(crate) fn run(script: &Path, kind: Kind, resolution: usize, frames: usize) -> Result<Run, BenchError> {
    let mut command = Command::new("blender");
    command.args(["-b", "--factory-startup", "-P"]).arg(script);
    command.args(["--", kind.word(), &resolution.to_string(), &frames.to_string()]);
    let output = command.output().map_err(|error| failed(script, &format!("cannot start blender: {error}")))?;
    let run = parse(kind, &String::from_utf8_lossy(&output.stdout)).filter(|run| run.frames.len() == frames);
    run.ok_or_else(|| failed(script, &last_line(&output.stderr)))
}

fn failed(script: &Path, reason: &str) -> BenchError {
    let wanted = "a script for an installed Blender such as peers/blender_fluid.py";
    BenchError::Peer { path: script.to_path_buf(), reason: reason.into(), wanted }
}

/// Lines `BL KIND res 128 frame N S.SSs`, then `BLSUM … version V files N`.
fn parse(kind: Kind, text: &str) -> Option<Run> {
    let frame = |line: &str| {
        let rest = line.strip_prefix("BL ")?.strip_prefix(kind.word())?;
        rest.split_whitespace().last()?.strip_suffix('s')?.parse().ok()
    };
    let frames: Vec<f64> = text.lines().filter_map(frame).collect();
    let summary = text.lines().find(|line| line.starts_with("BLSUM "))?;
    let version = summary.split_whitespace().skip_while(|word| *word != "version").nth(1)?.to_string();
    Some(Run { frames, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Blender 3.4.1\nBL GAS res 128 frame 1 0.44s\nBL GAS res 128 frame 2 3.00s\n\
        BLSUM GAS res 128 frames 2 mean(after2) 4.710 s/frame median 3.610 min 3.500 max 7.020 dim (128, 128, 128) \
        version 3.4.1 files 15\n";

    #[test]
    fn the_script_is_understood() {
        assert_eq!(parse(Kind::Gas, TEXT), Some(Run { frames: vec![0.44, 3.0], version: "3.4.1".into() }));
        assert_eq!(parse(Kind::Liquid, TEXT).unwrap().frames, []);
        assert_eq!(parse(Kind::Gas, "BL GAS res 128 frame 1 0.44s\nError: out of memory"), None);
        let liquid = TEXT.replace("GAS", "LIQUID");
        assert_eq!(parse(Kind::Liquid, &liquid).unwrap().frames, [0.44, 3.0]);
    }
}
