//! What a run leaves behind, and rows 37 and 41: where it may leave it.

use crate::support::{Answer, Place, TINY};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SCENE: &str = "\
[grid]
cells = [8, 12, 8]
size = 1.2
[time]
frames = 4
fps = 30
[walls]
y_max = \"open\"
[[source]]
shape.cylinder = { radius = 0.2, height = 0.2 }
position = [0, 0.15, 0]
temperature = 100
[[obstacle]]
shape.sphere.radius = 0.2
position = [0.1, 0.7, 0]
spin = { axis = [1, 1, 0], degrees_per_second = 77.7 }
";

fn steps(place: &Place, run: &str) -> Vec<u64> {
    let text = fs::read_to_string(place.path(run).join("stats.jsonl")).unwrap();
    let line = |l: &str| serde_json::from_str::<serde_json::Value>(l).unwrap()["step"].as_u64().unwrap();
    text.lines().map(line).collect()
}

#[test]
fn a_run_writes_everything_it_should() {
    let place = Place::new();
    place.write("plume.toml", SCENE);
    let answer = place.bathtub(&["run", "plume.toml", "--hash", "--no-preview"]);
    answer.succeeds();
    assert_eq!(answer.hash().len(), 64);
    let out = place.path("out/plume");
    for frame in 0..=4 {
        assert!(out.join(format!("frames/smoke_{frame:04}.vdb")).is_file());
    }
    let lines = fs::read_to_string(out.join("stats.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["frame"], 4);
    assert_eq!(last["state_hash"], answer.hash());
    let steps = steps(&place, "out/plume");
    assert_eq!(steps, (1..=steps.len() as u64).collect::<Vec<_>>());
}

/// The effective scene is complete: it alone gives the same bits, in whatever directory, on however many threads.
#[test]
fn the_effective_scene_gives_the_same_bits() {
    let place = Place::new();
    place.write("plume.toml", SCENE);
    let changes = ["--set", "smoke.confinement=0.1", "--set", "obstacle.0.position=[0.1, 0.6, 0.0333]"];
    let arguments =
        [&["run", "plume.toml", "--hash", "--no-preview", "--out", "a", "--threads", "1"], &changes[..]].concat();
    let first = place.bathtub(&arguments).succeeds().hash();
    let again = place.bathtub(&["run", "a/scene.toml", "--hash", "--no-preview", "--out", "b", "--threads", "2"]);
    assert_eq!(again.succeeds().hash(), first);
    let [a, b] = ["a", "b"].map(|run| fs::read_to_string(place.path(run).join("scene.toml")).unwrap());
    assert_eq!(a, b);
    let other =
        place.bathtub(&["run", "plume.toml", "--hash", "--no-preview", "--out", "c", "--set", "time.max_dt=0.01"]);
    assert_ne!(other.succeeds().hash(), first);
}

/// Row 37.
#[test]
fn directories_that_cannot_be_used() {
    let place = Place::new();
    place.write("s.toml", TINY);
    place.write("file", "mine");
    place.write("full/thesis.tex", "years of work");
    let run = |out: &str, more: &[&str]| {
        place.bathtub(&[&["run", "s.toml", "--no-preview", "-q", "--out", out], more].concat())
    };
    run("file", &[]).refuses(5, &["file is not a directory; choose another --out"]);
    run("file/below", &[]).refuses(5, &["file/below"]);
    run("full", &[]).refuses(5, &["full is not empty"]);
    run("full", &["--overwrite"]).refuses(5, &["full holds files but no run of Bathtub"]);
    run("absent", &["--resume"]).refuses(5, &["absent holds no run"]);
    run("/proc/bathtub", &[]).refuses(5, &["/proc/bathtub"]);
    run("run", &[]).succeeds();
    run("run", &[]).refuses(5, &["run is not empty; continue with --resume, replace with --overwrite"]);
    run("run", &["--resume"]).succeeds();
    run("run", &["--overwrite"]).succeeds();
    run("run", &["--overwrite", "--resume"]).code.into_iter().for_each(|code| assert_eq!(code, 2));
    assert_eq!(fs::read_to_string(place.path("full/thesis.tex")).unwrap(), "years of work");
}

/// Row 34: what is left of a run that was killed before its first frame is no obstacle to starting it again.
#[test]
fn a_run_that_had_hardly_begun_starts_over() {
    let place = Place::new();
    place.write("s.toml", TINY);
    let lay_out = |files: &[&str]| {
        let _ = fs::remove_dir_all(place.path("run"));
        for part in ["checkpoints", "frames", "meshes", "preview"] {
            fs::create_dir_all(place.path("run").join(part)).unwrap();
        }
        files.iter().for_each(|name| drop(place.write(&format!("run/{name}"), "")));
    };
    for left in [&[][..], &[".lock"], &[".lock", "run.json.partial"]] {
        for mode in [&[][..], &["--resume"], &["--overwrite"]] {
            lay_out(left);
            let run = [&["run", "s.toml", "--no-preview", "-q", "--out", "run"], mode].concat();
            place.bathtub(&run).succeeds();
            assert!(place.path("run/frames/smoke_0003.vdb").is_file() && !place.path("run/run.json.partial").exists());
        }
        lay_out(left);
        place
            .bathtub(&["resume", "run"])
            .refuses(5, &["run holds no run that has begun", "bathtub run SCENE --out run"]);
    }
    // With its run.json but no frame.
    place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--out", "whole"]).succeeds();
    for scene in [false, true] {
        lay_out(&[".lock"]);
        fs::copy(place.path("whole/run.json"), place.path("run/run.json")).unwrap();
        if scene {
            fs::copy(place.path("whole/scene.toml"), place.path("run/scene.toml")).unwrap();
        }
        place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--out", "run", "--set", "smoke.weight=1"]).succeeds();
        place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--out", "run"]).refuses(5, &["run is not empty"]);
    }
}

/// Somebody else prepared the directory: nothing is done through links, nothing is waited for, nothing else is deleted.
#[test]
fn a_directory_that_somebody_prepared() {
    let place = Place::new();
    place.write("s.toml", format!("{TINY}[render]\nsize = [32, 24]\nsamples = 1\n"));
    place.bathtub(&["run", "s.toml", "-q", "--out", "whole"]).succeeds();
    let commands: [&[&str]; 4] = [
        &["resume", "run", "-q"],
        &["run", "s.toml", "--out", "run", "--resume", "-q"],
        &["run", "s.toml", "--out", "run", "--overwrite", "-q"],
        &["render", "run", "-q"],
    ];
    let copy = || {
        let _ = fs::remove_dir_all(place.path("run"));
        let copied = Command::new("cp").args(["-r", "whole", "run"]).current_dir(place.root()).status();
        assert!(copied.unwrap().success());
    };
    let names = [".lock", "run.json", "scene.toml", "stats.jsonl", "frames/smoke_0001.vdb", "preview/frame_0000.png"];
    for name in names.into_iter().chain(["checkpoints/checkpoint_0000000003.btub", "stats.jsonl.partial", "frames"]) {
        for (kind, told) in
            [("pipe", "a pipe, socket or device"), ("zero", "a symbolic link"), ("link", "a symbolic link")]
        {
            copy();
            let path = place.path("run").join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            match kind {
                "pipe" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                "zero" => symlink("/dev/zero", &path).unwrap(),
                _ => symlink(place.write("mine", "mine"), &path).unwrap(),
            }
            for arguments in commands {
                let begun = Instant::now();
                let answer = within(Duration::from_secs(10), place.command(arguments));
                answer.refuses(5, &[&format!("run/{name} is {told}, not "), "remove it"]);
                assert!(begun.elapsed() < Duration::from_secs(5));
            }
            assert!(kind != "link" || fs::read_to_string(place.path("mine")).unwrap() == "mine");
        }
    }
    copy();
    let mine =
        ["a.partial", "frames/b.partial", "frames/notes.txt", "frames/smoke_1.vdb", "checkpoints/checkpoint_5.btub"];
    mine.iter().for_each(|name| drop(place.write(&format!("run/{name}"), "mine")));
    for arguments in commands {
        place.bathtub(arguments).succeeds();
        for name in mine {
            assert_eq!(fs::read_to_string(place.path("run").join(name)).unwrap(), "mine", "{name} after {arguments:?}");
        }
    }
}

/// What a command says, which must not take longer than this.
fn within(patience: Duration, mut command: Command) -> Answer {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > patience {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap().into()
}

/// An ffmpeg that cannot do it costs the MP4 and nothing else.
#[test]
fn a_run_does_not_fail_over_ffmpeg() {
    let place = Place::new();
    place.write("s.toml", format!("{TINY}[render]\nsize = [32, 24]\nsamples = 1\n"));
    let ffmpeg = place.write("bin/ffmpeg", "#!/bin/sh\necho \"Unknown encoder 'libx264'\" >&2\nexit 8\n");
    fs::set_permissions(&ffmpeg, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut run = place.command(&["run", "s.toml"]);
    let answer =
        Answer::from(run.env("PATH", format!("{}:/usr/bin:/bin", place.path("bin").display())).output().unwrap());
    let told = "warning: no animation.mp4, ffmpeg failed: Unknown encoder 'libx264'";
    assert!(answer.succeeds().stderr.contains(told), "{}", answer.stderr);
    assert!(place.path("out/s/preview/animation.gif").is_file());
    let left = fs::read_dir(place.path("out/s/preview")).unwrap().filter(|e| {
        let name = e.as_ref().unwrap().file_name().into_string().unwrap();
        name.contains("mp4")
    });
    assert_eq!(left.count(), 0);
}

/// Row 40: the frames of one scene are never continued with another.
#[test]
fn a_run_is_resumed_with_its_own_scene_only() {
    let place = Place::new();
    place.write("s.toml", TINY);
    place.bathtub(&["run", "s.toml", "--no-preview"]).succeeds();
    let other = ["run", "s.toml", "--no-preview", "--resume", "--set", "smoke.weight=1"];
    place.bathtub(&other).refuses(8, &["belongs to another scene"]);
    let longer = ["run", "s.toml", "--no-preview", "--resume", "--set", "time.frames=5"];
    place.bathtub(&longer).succeeds();
    assert!(place.path("out/s/frames/smoke_0005.vdb").is_file(), "more frames are the same scene");
}

#[test]
fn a_part_of_the_frames() {
    let place = Place::new();
    place.write("s.toml", TINY);
    let whole = place.bathtub(&["run", "s.toml", "--no-preview", "--hash", "--out", "whole"]).succeeds().hash();
    place.bathtub(&["run", "s.toml", "--no-preview", "--out", "part", "--frames", "1..2"]).succeeds();
    let written = |frame: u64| place.path(&format!("part/frames/smoke_{frame:04}.vdb")).exists();
    assert_eq!([0, 1, 2, 3].map(written), [false, true, true, false]);
    let rest = place.bathtub(&["resume", "part", "--no-preview", "--hash"]);
    assert_eq!(rest.succeeds().hash(), whole);
    assert!(written(3));
    place.bathtub(&["run", "s.toml", "-q", "--frames", "0..9"]).refuses(2, &["the scene has 3 frames"]);
    assert_eq!(place.bathtub(&["run", "s.toml", "--frames", "9..0"]).code, Some(2));
}

/// Row 43: nobody needs to listen.
#[test]
fn closed_pipes_do_not_matter() {
    let place = Place::new();
    place.write("s.toml", TINY);
    let bathtub = env!("CARGO_BIN_EXE_bathtub");
    for (i, closed) in [">&-", "2>&-", ">&- 2>&- <&-", "| true", "2>&1 | true"].iter().enumerate() {
        let line = format!("{{ {bathtub} run s.toml --no-preview --hash --out {i}; echo $? > code; }} {closed}");
        Command::new("sh").args(["-c", &line]).current_dir(place.root()).status().unwrap();
        assert_eq!(fs::read_to_string(place.path("code")).unwrap(), "0\n", "{closed}");
        assert!(place.path(&format!("{i}/frames/smoke_0003.vdb")).is_file(), "{closed}");
    }
}

/// Row 45.
#[test]
fn any_number_of_threads_will_do() {
    let place = Place::new();
    place.write("plume.toml", SCENE);
    let run = |n: &str| place.bathtub(&["run", "plume.toml", "--no-preview", "--hash", "--out", n, "--threads", n]);
    let one = run("1").succeeds().hash();
    let many = run("1000");
    assert!(many.stderr.contains("warning: 1000 threads are more than can help; using 256"));
    assert_eq!(many.succeeds().hash(), one);
    assert_eq!(run("0").code, Some(2));
}

#[test]
fn pictures_are_drawn_and_drawn_again() {
    let place = Place::new();
    place.write("s.toml", format!("{TINY}[render]\nsize = [64, 48]\nsamples = 1\n"));
    place.bathtub(&["run", "s.toml"]).succeeds();
    let size = |path: &str| {
        let bytes = fs::read(place.path(path)).unwrap();
        assert_eq!(&bytes[1..4], b"PNG");
        [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
    };
    for frame in 0..=3 {
        assert_eq!(size(&format!("out/s/preview/frame_{frame:04}.png")), [64, 48]);
    }
    assert!(fs::read(place.path("out/s/preview/animation.gif")).unwrap().starts_with(b"GIF89a"));
    let changes =
        ["--size", "32x20", "--camera", "-2,1,3", "--set", "render.smoke.colour=[0, 0, 1]", "--frames", "1..2"];
    let again = [&["render", "out/s", "--to", "blue"], &changes[..]].concat();
    place.bathtub(&again).succeeds();
    assert_eq!(size("blue/frame_0002.png"), [32, 20]);
    assert!(!place.path("blue/frame_0003.png").exists());
    place.bathtub(&["render", "out/s", "--set", "grid.dx=2"]).refuses(2, &["only keys of [render]"]);
    place
        .bathtub(&["render", "out/s", "--set", "render.smok.colour=2"])
        .refuses(3, &["unknown key `smok`; did you mean `smoke`?"]);
    place.bathtub(&["render", "absent"]).refuses(5, &["absent/scene.toml: cannot read"]);
}
