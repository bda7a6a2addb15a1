//! Rows 36, 42 and 45: limits that the system sets become exit codes, whatever they are.

use crate::support::{Answer, Place, TINY};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// `bathtub` with these arguments under limits that `ulimit` sets.
fn limited(place: &Place, limit: &str, arguments: &str) -> Answer {
    let line = format!("ulimit {limit}; exec {} {arguments}", env!("CARGO_BIN_EXE_bathtub"));
    Command::new("sh").args(["-c", &line]).current_dir(place.root()).output().unwrap().into()
}

/// Row 42: too little address space is told before anything is computed, and never ends in an abort.
#[test]
fn too_little_address_space_is_a_resource_limit() {
    let place = Place::new();
    place.write("s.toml", "[grid]\ncells = [64, 64, 64]\ndx = 0.1\n[time]\nframes = 1\n");
    for limit in ["-v 80000", "-d 60000"] {
        let answer = limited(&place, limit, "run s.toml --no-preview -q --threads 1");
        answer.refuses(7, &["s.toml:2:9: grid.cells: 64 x 64 x 64 cells need about", "are available; use fewer cells"]);
        assert!(!place.path("out").exists());
    }
    limited(&place, "-v 30000", "run s.toml --threads 200").refuses(7, &["cannot start 200 threads", "--threads"]);

    // Just enough for some, too little for others; where the estimate is too low, memory ends on the way.
    place.write("t.toml", TINY);
    for mebibytes in (24..=64).step_by(4).chain([100, 140, 160, 200]) {
        let limit = format!("-v {}", 1024 * mebibytes);
        let answer = limited(&place, &limit, "run t.toml --no-preview -q --overwrite --out t");
        // The program itself has to fit, and what starts it: before its first line it can tell nothing. The loader ends with 127, if it can.
        if mebibytes < 32 && matches!(answer.code, None | Some(127)) {
            continue;
        }
        assert!(matches!(answer.code, Some(0 | 7)), "{mebibytes} MiB: {answer:?}");
    }
    limited(&place, "-v 400000", "run t.toml --no-preview -q --overwrite --out t").succeeds();
}

/// Row 36: a file that may not grow is an error of writing, not a signal; what was complete stays.
#[test]
fn files_that_may_not_grow_end_the_run_with_an_error() {
    let place = Place::new();
    place.write("s.toml", format!("{TINY}[render]\nsize = [64, 48]\nsamples = 1\n"));
    for blocks in [0, 1, 8, 16] {
        let answer = limited(&place, &format!("-f {blocks}"), &format!("run s.toml -q --out {blocks}"));
        answer.refuses(5, &["cannot write", "File too large"]);
        let files = std::fs::read_dir(place.path(&blocks.to_string())).unwrap();
        let names: Vec<String> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        assert!(names.iter().all(|name| !name.ends_with(".partial")), "{names:?}");
        place.bathtub(&["run", "s.toml", "-q", "--overwrite", "--out", &blocks.to_string()]).succeeds();
    }
}

/// Row 45: as many threads as the environment asks for, but not more than can help.
#[test]
fn threads_asked_for_by_the_environment_are_limited_too() {
    let place = Place::new();
    place.write("s.toml", TINY);
    let begun = Instant::now();
    for (threads, warns) in [("100000", true), ("257", true), ("3", false), ("0", false), ("many", false)] {
        for arguments in [&["check", "s.toml"][..], &["run", "s.toml", "--no-preview", "--overwrite"]] {
            let answer: Answer = place.command(arguments).env("RAYON_NUM_THREADS", threads).output().unwrap().into();
            assert_eq!(answer.succeeds().stderr.contains("threads are more than can help; using 256"), warns);
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(120));
    let answer: Answer =
        place.command(&["check", "s.toml"]).env("RAYON_NUM_THREADS", "99999999999999999999").output().unwrap().into();
    answer.succeeds();
}

/// Arguments that no scene could mean.
#[test]
fn arguments_that_are_no_text_or_no_key() {
    let place = Place::new();
    place.write("s.toml", TINY);
    for (options, value) in
        [(&[][..], &b"grid.dx=\xff\xfe"[..]), (&[], b"\xff=1"), (&["--out"], b"a"), (&["-q"], b"\xc0")]
    {
        let mut command = place.command(&["check", "s.toml"]);
        command.args(options).arg("--set").arg(OsStr::from_bytes(value));
        Answer::from(command.output().unwrap()).refuses(2, &[]);
    }
    let mut json = place.command(&["check", "s.toml", "--json-errors", "--set"]);
    let answer = Answer::from(json.arg(OsStr::from_bytes(b"a=\xff")).output().unwrap());
    let object: serde_json::Value = serde_json::from_str(&answer.stderr).unwrap();
    assert_eq!((object["code"].as_u64(), object["kind"].as_str()), (Some(2), Some("usage")));

    for key in ["a".repeat(66_000), "a.".repeat(40_000) + "a", "grid.".to_owned() + &"x".repeat(2000)] {
        let change = format!("{key}=[1]");
        let told = format!("the key has {} bytes", key.len());
        place.bathtub(&["check", "s.toml", "--set", &change]).refuses(2, &["--set #1", &told]);
    }
    place.bathtub(&["check", "s.toml", "--set", &format!("grid.{}=[1]", "x".repeat(300))]).refuses(3, &["unknown key"]);
}

/// A path need not be text.
#[test]
fn paths_that_are_no_text_work() {
    let place = Place::new();
    let name = OsStr::from_bytes(b"s\xff.toml");
    std::fs::write(place.root().join(name), TINY).unwrap();
    let mut command = place.command(&["run", "--no-preview", "-q", "--out"]);
    Answer::from(command.arg(OsStr::from_bytes(b"o\xfe")).arg(name).output().unwrap()).succeeds();
}
