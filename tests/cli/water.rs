//! Scenes of water: rows 5 to 7, 20 to 23, 28, 34, 42 and 50 of the fault matrix with a liquid.

use crate::support::{Answer, Place, TINY, check};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

const SCENE: &str = "\
[grid]
cells = [16, 12, 10]
size = 1.6
[time]
frames = 24
[water]
transfer = \"apic\"
[[liquid]]
name = \"pool\"
level = 0.2
[[liquid]]
name = \"block\"
shape.box.size = [0.4, 0.8, 0.5]
position = [-0.6, 0.4, 0]
[[source]]
name = \"jet\"
shape.sphere.radius = 0.16
position = [0.4, 0.9, 0]
velocity = [0, -1, 0]
end = 0.6
[[drain]]
name = \"hole\"
shape.sphere.radius = 0.2
position = [0.7, 0, 0]
start = 0.3
[[obstacle]]
name = \"pillar\"
shape.cylinder = { radius = 0.12, height = 1 }
position = [0.1, 0.5, 0.02]
[output]
checkpoint_frames = 3
";

fn last_line(place: &Place, run: &str) -> serde_json::Value {
    let stats = fs::read_to_string(place.path(run).join("stats.jsonl")).unwrap();
    serde_json::from_str(stats.lines().last().unwrap()).unwrap()
}

/// Smoke or water, and only the keys of one of them.
#[test]
fn a_scene_is_of_smoke_or_of_water() {
    let source = "[[source]]\nshape.sphere.radius = 0.2\nposition = [0, 0.3, 0]\n";
    for (text, fragments) in [
        ("[smoke]\n[water]\n".to_owned(), ["s.toml:6:1: smoke: ", "one of smoke or one of water"]),
        ("[smoke]\n[[liquid]]\nlevel = 0.5\n".to_owned(), ["s.toml:6:1: smoke: ", "remove [smoke]"]),
        (format!("{source}rate = 1\n"), ["s.toml:9:8: source.0.rate: ", "`rate` is for water"]),
        ("[[drain]]\nshape.sphere.radius = 1\n".to_owned(), ["s.toml:6:1: drain.0: ", "`drain` is for water"]),
        (format!("[water]\n{source}density = 1\n"), ["s.toml:10:11: source.0.density: ", "`density` is for smoke"]),
        (format!("[water]\n{source}temperature = 9\n"), ["source.0.temperature: ", "is for smoke"]),
        (format!("[water]\n{source}flicker = 0.1\n"), ["source.0.flicker: ", "is for smoke"]),
        (
            "[water]\n[walls]\nx_min = { inflow = { velocity = [1, 0, 0], density = 1 } }\n".to_owned(),
            ["walls.x_min.inflow.density: ", "is for smoke"],
        ),
    ] {
        check(format!("{TINY}{text}")).refuses(3, &fragments);
    }
    check(format!("{TINY}[watr]\n")).refuses(3, &["unknown key `watr`; did you mean `water`?"]);
    check(format!("{TINY}[water]\n{source}rate = 1e-3\n")).succeeds();
}

/// Rows 5 and 6.
#[test]
fn numbers_of_water_out_of_range() {
    for (text, fragments) in [
        ("[water]\ndensity = 0", ["water.density: 0 is out of range", "≥ 1e-12"]),
        ("[water]\nparticles = 5", ["water.particles: 5 is out of range", "≤ 4"]),
        ("[water]\nparticles = 0", ["water.particles: 0 is out of range", "≥ 1"]),
        ("[water]\nflip_ratio = 1.5\ntransfer = \"flip\"", ["water.flip_ratio: 1.5 is out of range", "≤ 1"]),
        ("[water]\nflip_ratio = 0.9", ["s.toml:7:14: water.flip_ratio", "is for transfer = \"flip\""]),
        ("[water]\ntransfer = \"pic\"", ["s.toml:7:12: water.transfer: unknown value \"pic\"", "`apic`"]),
        ("[water]\nshake = { amplitude = [1, 0, 0], frequency = -1 }", ["water.shake.frequency: -1 is", "> 0"]),
        ("[water]\nshake = { frequency = 1 }", ["water.shake: missing key `amplitude`", "m/s²"]),
        ("[[liquid]]\nlevel = nan", ["liquid.0.level: nan is not a finite number", ""]),
        ("[[liquid]]\nshape.sphere.radius = 0", ["liquid.0.shape.sphere.radius: 0 is", "> 0"]),
        ("[water]\n[[source]]\nshape.sphere.radius = 0.2\nrate = -1", ["source.0.rate: -1 is", "> 0"]),
        ("[water]\n[[drain]]\nshape.sphere.radius = 0.2\nstart = -1", ["drain.0.start: -1 is", "≥ 0"]),
        ("[water]\n[[drain]]\nshape.sphere.radius = 0.2\nstart = 2\nend = 1", ["drain.0.end: ", "not after the start"]),
    ] {
        check(format!("{TINY}{text}")).refuses(3, &fragments);
    }
}

/// Liquids are either shapes or levels; names are unique; nothing moves along a flat axis.
#[test]
fn entries_of_water_that_contradict_themselves() {
    let ball = "shape.sphere.radius = 0.2\nposition = [0, 0.5, 0]\n";
    for (text, fragments) in [
        ("[[liquid]]\nname = \"a\"".to_owned(), ["s.toml:6:1: liquid.0: missing key `shape`", "or `level`"]),
        (format!("[[liquid]]\n{ball}level = 0.5"), ["liquid.0.level", "exclude each other"]),
        ("[[liquid]]\nlevel = 0.5\nposition = [0, 0, 0]".to_owned(), ["liquid.0.position", "places a `shape`"]),
        (format!("[water]\n[[source]]\n{ball}"), ["source.0: nothing flows out", "or a `rate`"]),
        (
            format!("[[liquid]]\nname = \"a\"\n{ball}[[liquid]]\nname = \"a\"\nlevel = 1"),
            ["liquid.1.name", "\"a\" is taken"],
        ),
    ] {
        check(format!("{TINY}{text}")).refuses(3, &fragments);
    }
    let flat = "[grid]\ncells = [8, 8, 1]\ndx = 0.1\n[[liquid]]\nlevel = 0.4\nvelocity = [1, 0, 2]\n";
    check(flat).refuses(3, &["s.toml:6:19: liquid.0.velocity.2: 2.0 m/s along an axis one cell thick"]);
}

/// Row 7: refused before anything is allocated, in 256 MB of address space.
#[test]
fn a_billion_particles_fit_into_no_machine() {
    let place = Place::new();
    place.write(
        "s.toml",
        "[grid]\ncells = [800, 800, 800]\ndx = 0.001\n[water]\nparticles = 4\n[[liquid]]\nlevel = 1\n",
    );
    let begun = Instant::now();
    for verb in ["check", "run"] {
        let limited = format!("ulimit -v 262144; exec {} {verb} s.toml", env!("CARGO_BIN_EXE_bathtub"));
        let output = Command::new("sh").args(["-c", &limited]).current_dir(place.root()).output().unwrap();
        Answer::from(output).refuses(7, &["need about", "bytes", "are available; use fewer"]);
    }
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(!place.path("out").exists());
}

/// Rows 20 and 28.
#[test]
fn water_where_there_can_be_none() {
    let solid = "[water]\n[[obstacle]]\nshape.sphere.radius = 0.3\nposition = [0, 0.6, 0]\n";
    for (entry, more) in [("liquid", ""), ("source", "rate = 1e-3\n"), ("drain", "")] {
        let at = |y: f64, r: f64| {
            format!("{TINY}{solid}[[{entry}]]\nname = \"w\"\nshape.sphere.radius = {r}\nposition = [0, {y}, 0]\n{more}")
        };
        let key = format!("s.toml:10:1: {entry}.0: \"w\"");
        check(at(0.6, 0.12)).refuses(3, &[&key, "lies entirely inside a solid"]);
        check(at(7.0, 0.12)).refuses(3, &[&key, "starts outside the domain"]);
        check(at(0.2, 0.001)).refuses(3, &[&key, "too small for a single particle"]);
        check(at(0.3, 0.12)).succeeds();
    }
}

/// Rows 23 and 28: a domain that is full and closed takes nothing more; one that is not full does, until it is.
#[test]
fn water_that_comes_into_a_full_domain() {
    let full = format!("{TINY}[[liquid]]\nlevel = 1.2\n");
    let spring = "[[source]]\nname = \"spring\"\nshape.sphere.radius = 0.2\nposition = [0, 0.3, 0]\nrate = 1e-2\n";
    check(format!("{full}{spring}"))
        .refuses(3, &["source.0: incompatible sources: 1.000e-2 m³/s enter a closed domain that is full"]);
    check(format!("{full}[walls]\nx_min = {{ inflow = {{ velocity = [0.5, 0, 0] }} }}\n"))
        .refuses(3, &["walls.x_min: incompatible sources: 4.800e-1 m³/s"]);
    check(format!("{full}[walls]\nx_min = {{ inflow = {{ velocity = [-0.5, 0, 0] }} }}\n"))
        .refuses(3, &["walls.x_min: incompatible sources: 4.800e-1 m³/s leave a closed domain that is full"]);
    check(format!("{full}{spring}[walls]\ny_max = \"open\"\n")).succeeds();
    check(format!("{full}{spring}[[drain]]\nshape.sphere.radius = 0.1\nposition = [0, 1, 0]\n")).succeeds();

    let place = Place::new();
    place.write("s.toml", full.replace("level = 1.2", "level = 1.1") + &spring.replace("1e-2", "1"));
    let answer = place.bathtub(&["run", "s.toml", "--no-preview"]);
    assert!(answer.stderr.contains("once full, it takes no more and the run ends"), "{}", answer.stderr);
    assert!(answer.stderr.contains("incompatible motion: source 0 pushes 1.000e0 m³/s"), "{}", answer.stderr);
    assert_eq!(answer.code, Some(6));
    let allowed = ["run", "s.toml", "--no-preview", "--overwrite", "--set", "pressure.allow_incompatible=true"];
    let answer = place.bathtub(&allowed);
    assert!(answer.stderr.contains("once full, it takes no more\n"), "{}", answer.stderr);
    answer.succeeds();
    let last = last_line(&place, "out/s");
    let volume = last["fluid"]["volume"].as_f64().unwrap();
    assert!((volume / 0.768 - 1.0).abs() < 0.02, "the domain is full: {volume} m³");
}

/// Levels beyond the domain are allowed, and probably not meant.
#[test]
fn odd_levels_are_told() {
    for (level, told) in [("-1", "holds no water"), ("0", "holds no water"), ("9", "fills the whole domain")] {
        let answer = check(format!("{TINY}[[liquid]]\nlevel = {level}\n"));
        assert!(
            answer.succeeds().stderr.contains(&format!("warning: liquid.0 \"liquid-0\" {told}")),
            "{}",
            answer.stderr
        );
    }
    let empty = check(format!("{TINY}[water]\n"));
    assert!(empty.succeeds().stderr.contains("there is no water in this scene"));
}

/// Row 21: no water, nothing but solid, nothing but water; and row 22 is the last one.
#[test]
fn trivial_scenes_of_water_run() {
    let place = Place::new();
    for (name, text) in [
        ("none", "[water]\n"),
        ("below", "[[liquid]]\nlevel = -1\n"),
        ("solid", "[[liquid]]\nlevel = 1\n[[obstacle]]\nshape.box.size = [9, 9, 9]\n"),
        ("full", "[[liquid]]\nlevel = 1.2\n"),
    ] {
        place.write(&format!("{name}.toml"), format!("{TINY}{text}"));
        place.bathtub(&["run", &format!("{name}.toml"), "--no-preview", "-q"]).succeeds();
    }
    assert_eq!(last_line(&place, "out/none")["fluid"]["particles"], 0);
    assert_eq!(last_line(&place, "out/solid")["fluid"]["particles"], 0);
    let full = last_line(&place, "out/full");
    assert_eq!((full["fluid"]["particles"].as_u64(), full["regions"].as_array().unwrap().len()), (Some(6144), 1));
}

#[test]
fn a_check_tells_how_much_water_there_is() {
    let answer = check(SCENE);
    answer.succeeds();
    for fragment in ["sources    1", "drains     1", "water      0.4", "particles, at most", "transfer   Apic"] {
        assert!(answer.stdout.contains(fragment), "{fragment:?} is not in {}", answer.stdout);
    }
}

/// Every way to carry velocity runs, and the effective scene gives the same bits on any number of threads.
#[test]
fn the_effective_scene_of_water_gives_the_same_bits() {
    let place = Place::new();
    place.write("s.toml", SCENE);
    for transfer in ["apic", "flip", "semi-lagrangian", "maccormack", "cubic"] {
        let set = format!("water.transfer={transfer}");
        let (a, b) = (format!("{transfer}-a"), format!("{transfer}-b"));
        let more = ["--no-preview", "-q", "--hash", "--frames", "0..6", "--threads"];
        let first = place.bathtub(&[&["run", "s.toml", "--set", &set, "--out", &a], &more[..], &["1"]].concat());
        let effective = format!("{a}/scene.toml");
        let again = place.bathtub(&[&["run", &effective, "--out", &b], &more[..], &["2"]].concat());
        assert_eq!(first.succeeds().hash(), again.succeeds().hash(), "{transfer}");
        let [a, b] = [a, b].map(|run| fs::read_to_string(place.path(&run).join("scene.toml")).unwrap());
        assert_eq!(a, b);
    }
}

/// Row 34: killed in mid-splash, it ends with the same bits.
#[test]
fn a_killed_run_of_water_resumes_to_the_same_bits() {
    let place = Place::new();
    place.write("s.toml", SCENE);
    let arguments = |out: &'static str| ["run", "s.toml", "--no-preview", "-q", "--hash", "--out", out];
    let begun = Instant::now();
    let whole = place.bathtub(&arguments("whole")).succeeds().hash();
    let duration = begun.elapsed();
    let fluid = &last_line(&place, "whole")["fluid"];
    assert!(fluid["emitted"].as_f64() > Some(0.0) && fluid["drained"].as_f64() > Some(0.0), "{fluid}");
    for (out, fraction) in [("killed-0", 0.35), ("killed-1", 0.6), ("killed-2", 0.85)] {
        let mut child = place.command(&arguments(out)).spawn().unwrap();
        std::thread::sleep(duration.mul_f64(fraction));
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = place.bathtub(&["run", "s.toml", "--resume", "--no-preview", "-q", "--hash", "--out", out]);
        assert_eq!(resumed.succeeds().hash(), whole, "killed at {fraction} of the run");
    }
}

/// Row 50: extreme but sensible scales run; numbers that overflow end the run.
#[test]
fn extreme_scales_of_water() {
    let place = Place::new();
    for (dx, gravity) in [(1e-9, 9.81e-9), (1e9, 9.81e9), (0.1, 1e6), (0.1, 0.0)] {
        let scene = format!(
            "[grid]\ncells = [8, 12, 8]\ndx = {dx:e}\n[time]\nframes = 2\nmin_dt = 1e-9\n[scene]\ngravity = [0, {:e}, 0]\n\
             [[liquid]]\nshape.sphere.radius = {:e}\nposition = [0, {:e}, 0]\n[[liquid]]\nlevel = {:e}\n",
            -gravity,
            2.0 * dx,
            7.0 * dx,
            3.0 * dx
        );
        place.write("s.toml", scene);
        place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--overwrite"]).succeeds();
        let fluid = &last_line(&place, "out/s")["fluid"];
        assert!(fluid["kinetic"].as_f64().is_some_and(f64::is_finite), "{fluid}");
    }
    for density in ["1e-12", "1e12"] {
        place.write("s.toml", format!("{TINY}[water]\ndensity = {density}\n[[liquid]]\nlevel = 0.5\n"));
        place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--overwrite"]).succeeds();
    }
    for change in ["scene.gravity=[0,-1e300,0]", "liquid.0.velocity=[1e308,0,0]", "water.shake.amplitude=[1e308,0,0]"] {
        place.write(
            "s.toml",
            format!("{TINY}[water]\nshake = {{ amplitude = [1, 0, 0], frequency = 1 }}\n[[liquid]]\nlevel = 0.5\n"),
        );
        let answer = place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--overwrite", "--set", change]);
        assert_eq!(answer.code, Some(6), "{change}: {}", answer.stderr);
    }
}

/// Row 42: what `check` announces is what a run takes.
#[test]
fn the_announced_memory_of_water_is_needed() {
    let place = Place::new();
    place.write(
        "s.toml",
        "[grid]\ncells = [64, 64, 64]\ndx = 0.01\n[time]\nframes = 3\n[output]\ncheckpoint_frames = 1\n[render]\nsamples = 1\n[[liquid]]\nlevel = 0.32\n",
    );
    let Some([announced, peak]) = place.memory("s.toml") else { return };
    assert!((announced / peak - 1.0).abs() < 0.2, "announced {announced} MiB, taken {peak} MiB");
}

/// The same where all of it comes in, which leaves gaps behind.
#[test]
fn the_announced_memory_of_an_inflow_is_needed() {
    let place = Place::new();
    place.write(
        "s.toml",
        "[grid]\ncells = [16, 16, 16]\nsize = 1\n[time]\nframes = 24\n[render]\nsamples = 1\n[water]\nparticles = 4\n[walls]\nx_min = { inflow = { velocity = [2, 0, 0] } }\ny_max = \"open\"\n",
    );
    let Some([announced, peak]) = place.memory("s.toml") else { return };
    assert!((announced / peak - 1.0).abs() < 0.2, "announced {announced} MiB, taken {peak} MiB");
}

/// Row 28: a side with an inflow through which nothing enters lets water out, or nothing through.
#[test]
fn sides_through_which_nothing_enters() {
    let place = Place::new();
    let pool = format!("{TINY}[[liquid]]\nlevel = 0.6\n");
    let run = |text: String| {
        place.write("s.toml", text);
        let answer = place.bathtub(&["run", "s.toml", "--no-preview", "--overwrite", "--set", "time.frames=12"]);
        let stats = std::fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(stats.lines().last().unwrap()).unwrap();
        let warning = answer.succeeds().stderr.lines().find(|line| line.starts_with("warning")).map(str::to_owned);
        (last["fluid"]["mass"].as_f64().unwrap(), last["fluid"]["drained"].as_f64().unwrap(), warning)
    };
    let wall = |velocity: &str| format!("{pool}[walls]\nx_min = {{ inflow = {{ velocity = {velocity} }} }}\n");
    let (still, _, _) = run(pool.clone());
    for along in ["[0, 0, 0]", "[0, 3, 0]", "[-0.0, 0, 1]"] {
        let (mass, drained, warning) = run(wall(along));
        assert_eq!((mass, drained), (still, 0.0), "{along}");
        assert!(warning.is_some_and(|w| w.contains("walls.x_min: nothing passes at velocity")), "{along}");
    }
    // 0.4 m/s through 0.8 m × the depth, which falls from 0.6 m: e^(−0.4 t / 0.8) of it are left after 0.5 s.
    let (mass, drained, warning) = run(wall("[-0.4, 0, 0]"));
    assert!((drained - (still - mass) / 1000.0).abs() < 1e-12, "what left is counted");
    let left = (-0.4 * 0.5 / 0.8_f64).exp();
    assert!((mass / still - left).abs() < 0.05, "{} of the water is left, not {left}", mass / still);
    assert_eq!(warning, None);
    // As fast along the side as nothing in the domain: only what passes sets the step.
    assert_eq!(run(wall("[-0.4, 1e6, 0]")), (mass, drained, None));
    // Water that is only passed on.
    let full = format!("{TINY}[[liquid]]\nlevel = 1.2\n[walls]\n");
    let side = |side: &str| format!("{side} = {{ inflow = {{ velocity = [0.5, 0, 0] }} }}\n");
    let (mass, _, _) = run(format!("{full}{}{}", side("x_min"), side("x_max")));
    // A jet fills its cells anew, one of eight along the way, before crowding spreads what is too much.
    assert!((mass / 768.0 - 1.0).abs() < 0.05, "{mass} kg in 0.768 m³");
}
