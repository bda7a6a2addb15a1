//! Rows 34, 35 and 37: runs that are killed, that are asked to stop, or that lose their directory.

use crate::support::{Answer, Place};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCENE: &str = "\
[grid]
cells = [12, 16, 12]
size = 1.2
[time]
frames = 24
max_dt = 0.03
[walls]
y_max = \"open\"
[[source]]
shape.sphere.radius = 0.15
position = [0, 0.2, 0]
temperature = 100
[[obstacle]]
shape.sphere.radius = 0.12
keyframes = [{ time = 0, position = [0.05, 0.7, 0] }, { time = 0.5, position = [0.1, 0.6, 0] }]
[output]
checkpoint_frames = 3
";

fn start(place: &Place, out: &str, more: &[&str]) -> Child {
    let arguments = [&["run", "plume.toml", "--no-preview", "-q", "--hash", "--out", out], more].concat();
    place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn steps_of(place: &Place, out: &str) -> Vec<u64> {
    let text = fs::read_to_string(place.path(out).join("stats.jsonl")).unwrap();
    let step = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["step"].as_u64().unwrap();
    text.lines().map(step).collect()
}

/// Row 34: killed at ten moments spread over the run, it ends with the same bits and one line of statistics a step.
#[test]
fn a_killed_run_resumes_to_the_same_bits() {
    let place = Place::new();
    place.write("plume.toml", SCENE);
    let begun = Instant::now();
    let whole = Answer::from(start(&place, "whole", &[]).wait_with_output().unwrap());
    let duration = begun.elapsed();
    let (hash, steps) = (whole.succeeds().hash(), steps_of(&place, "whole"));
    assert_eq!(steps, (1..=steps.len() as u64).collect::<Vec<_>>());

    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for n in 0..10 {
        // xorshift64: the moments are scattered but always the same fractions of the run.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let fraction = (random >> 11) as f64 / (1u64 << 53) as f64;
        let out = format!("killed-{n}");
        let mut child = start(&place, &out, &[]);
        sleep(duration.mul_f64(fraction));
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = if place.path(&out).join("scene.toml").exists() {
            place.bathtub(&["resume", &out, "--no-preview", "-q", "--hash"])
        } else {
            place.bathtub(&["run", "plume.toml", "--no-preview", "-q", "--hash", "--out", &out])
        };
        assert_eq!(resumed.succeeds().hash(), hash, "killed at {fraction:.3} of the run");
        assert_eq!(steps_of(&place, &out), steps);
        let frames = fs::read_dir(place.path(&out).join("frames")).unwrap();
        let names: Vec<String> = frames.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        assert!(names.iter().all(|name| !name.ends_with(".partial")), "{names:?}");
        assert_eq!(names.iter().filter(|name| name.ends_with(".vdb")).count(), 25);
    }
}

/// Row 35.
#[test]
fn a_signal_ends_the_run_with_a_checkpoint() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new();
        place.write("plume.toml", SCENE);
        let endless = ["--set", "time.frames=1000000", "--set", "output.checkpoint_frames=1000000"];
        let mut child = start(&place, "out", &endless);
        let stats = place.path("out/stats.jsonl");
        let patience = Instant::now();
        while fs::metadata(&stats).map_or(0, |info| info.len()) < 5000 {
            assert!(patience.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(10));
        }
        let asked = Instant::now();
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let answer = Answer::from(child.wait_with_output().unwrap());
        assert!(asked.elapsed() < Duration::from_secs(5));
        assert_eq!(answer.code, Some(code), "{}", answer.stderr);
        let checkpoints: Vec<_> = fs::read_dir(place.path("out/checkpoints")).unwrap().collect();
        assert_eq!(checkpoints.len(), 1);
        let steps = steps_of(&place, "out");
        let name = checkpoints[0].as_ref().unwrap().file_name().into_string().unwrap();
        assert_eq!(name, format!("checkpoint_{:010}.btub", steps.len()), "the last step is in it");
    }
}

/// Row 37: the directory of a run is taken away under it.
#[test]
fn a_run_whose_directory_vanishes_ends_with_an_error() {
    let place = Place::new();
    place.write("plume.toml", SCENE);
    let mut child = start(&place, "out", &["--set", "time.frames=1000000"]);
    let patience = Instant::now();
    while !place.path("out/frames/smoke_0001.vdb").exists() {
        assert!(patience.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(10));
    }
    // Moved away as a whole: what it had written stays intact elsewhere.
    fs::rename(place.path("out"), place.path("elsewhere")).unwrap();
    let answer = Answer::from(child.wait_with_output().unwrap());
    answer.refuses(5, &["cannot write", "No such file or directory"]);
    assert!(place.path("elsewhere/frames/smoke_0001.vdb").exists());
}
