//! What the command says: one line for every error, JSON where it was asked for, numbers of a readable length.

use crate::support::{Answer, Place, TINY, check};
use std::process::Command;

#[test]
fn a_wrong_command_line_gets_one_line() {
    let place = Place::new();
    place.write("s.toml", TINY);
    place.bathtub(&[]).refuses(2, &["a command is missing, one of run, resume, render, check", "see bathtub --help"]);
    place.bathtub(&["runn"]).refuses(2, &["unrecognized subcommand 'runn'; tip: ", "run"]);
    place.bathtub(&["run"]).refuses(2, &["required arguments were not provided: <SCENE>", "; see --help"]);
    place.bathtub(&["run", "s.toml", "--frmaes", "2"]).refuses(2, &["'--frmaes'", "'--frames'"]);
    place.bathtub(&["run", "s.toml", "--threads", "x"]).refuses(2, &["invalid value 'x' for '--threads <N>'"]);
    place.bathtub(&["run", "s.toml", "--threads", "0"]).refuses(2, &["--threads"]);
    place.bathtub(&["run", "s.toml", "--resume", "--overwrite"]).refuses(2, &["'--resume' cannot be used with"]);
    place.bathtub(&["run", "s.toml", "--frames", "9..3"]).refuses(2, &["no range of frames; write A..B"]);
    place.bathtub(&["render", "out", "--size", "3"]).refuses(2, &["is no size; write WxH"]);
    place.bathtub(&["bench", "nothing"]).refuses(2, &["there is no benchmark"]);
    for arguments in [&["--json-errors"][..], &["--json-errors", "run"], &["check", "--json-errors", "a", "b"]] {
        let told = place.bathtub(arguments);
        let object: serde_json::Value = serde_json::from_str(&told.stderr).unwrap();
        assert_eq!((told.code, object["code"].as_u64(), object["kind"].as_str()), (Some(2), Some(2), Some("usage")));
    }
}

#[test]
fn help_names_both_fluids() {
    let help = Place::new().bathtub(&["--help"]).succeeds().stdout.clone();
    assert!(help.starts_with("Smoke and water that push solids"), "{help}");
}

/// With `--json-errors` warnings are objects as well, wherever they come from; `--quiet` silences those of a run.
#[test]
fn warnings_are_json_where_errors_are() {
    let place = Place::new();
    let still = "[walls]\nx_min = { inflow = { velocity = [0, 1, 0] } }\n";
    let leaves = "[water]\n[[liquid]]\nlevel = 0.3\n[[body]]\nname = \"rocket\"\nshape.sphere.radius = 0.15\n\
        position = [0, 0.9, 0]\nvelocity = [0, 30, 0]\ndensity = 100\n";
    place.write("s.toml", format!("{TINY}{still}y_max = \"open\"\n{leaves}"));
    let objects = |answer: &Answer| -> Vec<serde_json::Value> {
        assert!(!answer.stderr.contains("warning:"), "{}", answer.stderr);
        answer.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let checked = objects(place.bathtub(&["check", "s.toml", "--json-errors"]).succeeds());
    assert_eq!(checked.len(), 1);
    assert_eq!(checked[0]["kind"], "warning");
    assert!(checked[0]["message"].as_str().unwrap().starts_with("walls.x_min: nothing passes"));
    let run = ["run", "s.toml", "--no-preview", "--json-errors", "--threads", "1000"];
    let warned = objects(place.bathtub(&run).succeeds());
    let tells =
        |text: &str| warned.iter().any(|w| w["kind"] == "warning" && w["message"].as_str().unwrap().contains(text));
    assert!(tells("nothing passes") && tells("1000 threads") && tells("rocket"), "{warned:?}");
    let plain = place.bathtub(&["check", "s.toml"]);
    assert!(plain.stderr.starts_with("warning: walls.x_min"), "{}", plain.stderr);
    assert_eq!(place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--out", "q", "--threads", "1000"]).stderr, "");
}

/// What was asked for and cannot be written is an error; a reader who stops reading is none.
#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("nothing checked: there is no /dev/full here");
        return;
    }
    let place = Place::new();
    place.write("s.toml", TINY);
    let bathtub = env!("CARGO_BIN_EXE_bathtub");
    for arguments in
        ["check s.toml", "schema", "schema --markdown", "--help", "run s.toml -q --no-preview --hash", "bench"]
    {
        let line = format!("{bathtub} {arguments} > /dev/full");
        let answer: Answer = Command::new("sh").args(["-c", &line]).current_dir(place.root()).output().unwrap().into();
        answer.refuses(5, &["cannot write to standard output: No space left on device"]);
    }
    assert!(place.path("out/s/frames/smoke_0003.vdb").exists(), "the run itself was complete");
    let read_a_line = format!("{{ {bathtub} schema; echo $? > code; }} | head -1");
    Command::new("sh").args(["-c", &read_a_line]).current_dir(place.root()).output().unwrap();
    assert_eq!(std::fs::read_to_string(place.path("code")).unwrap(), "0\n");
}

/// Numbers too large or too small to write out are written with a power of ten.
#[test]
fn no_number_is_printed_in_full() {
    let tank = format!("{TINY}[water]\n[[liquid]]\nlevel = 0.3\n");
    let ball = "[[body]]\nshape.sphere.radius = 0.2\nposition = [0, 0.6, 0]\ndensity = 100\n";
    let jelly = "[[elastic]]\nshape.sphere.radius = 0.2\nposition = [0, 0.8, 0]\ndensity = 100\nyoungs_modulus = 1e4\n";
    let scene = format!("{tank}{ball}{jelly}");
    let place = Place::new();
    place.write("s.toml", &scene);
    let keys = [
        "grid.dx",
        "grid.origin.0",
        "time.fps",
        "time.max_dt",
        "time.min_dt",
        "scene.gravity.1",
        "water.density",
        "liquid.0.level",
        "body.0.position.1",
        "body.0.density",
        "body.0.shape.sphere.radius",
        "body.0.velocity.0",
        "elastic.0.position.1",
        "elastic.0.size",
        "elastic.0.shape.sphere.radius",
        "elastic.0.youngs_modulus",
        "elastic.0.stretch.0",
        "pressure.tolerance",
        "render.exposure",
    ];
    for key in keys {
        for value in ["1e308", "-1e308", "1e-308", "123456789012345678901234567890.0"] {
            let answer = place.bathtub(&["check", "s.toml", "--set", &format!("{key}={value}")]);
            assert!(matches!(answer.code, Some(0 | 3 | 7)), "{key}={value}: {answer:?}");
            let text = answer.stdout + &answer.stderr;
            let longest = text.replace(value, "").split(|c: char| !c.is_ascii_digit()).map(str::len).max();
            // A hash has runs of digits, but none so long.
            assert!(longest < Some(25), "{key}={value}: {text}");
        }
    }
}

/// A step that only gravity makes short does not speak of a source.
#[test]
fn a_step_too_short_for_gravity_is_told_as_such() {
    let place = Place::new();
    place.write("s.toml", format!("{TINY}[water]\n[[liquid]]\nlevel = 0.3\n"));
    let run = ["run", "s.toml", "--no-preview", "-q", "--set", "scene.gravity=[0,-1e20,0]"];
    place.bathtub(&run).refuses(6, &["the time step fell to", "m/s of what falls freely"]);
}

#[test]
fn lists_that_say_nothing_are_refused() {
    let ball = "[[obstacle]]\nshape.sphere.radius = 0.2\n";
    let told = "an empty list says nothing; give a value or remove the key";
    check(format!("{TINY}{ball}keyframes = []\n")).refuses(3, &["s.toml:8:13: obstacle.0.keyframes: ", told]);
    check(format!("{TINY}{ball}position = [0, 0.6, 0]\nat = []\n")).refuses(3, &["obstacle.0.at: ", told]);
    let body = "[[body]]\nshape.sphere.radius = 0.2\nposition = [0, 0.6, 0]\ndensity = 10\nat = []\n";
    check(format!("{TINY}{body}")).refuses(3, &["body.0.at: ", told]);
    let jelly = "[[elastic]]\nshape.sphere.radius = 0.2\nposition = [0, 0.6, 0]\ndensity = 9\nyoungs_modulus = 1e4\n";
    check(format!("{TINY}{jelly}at = []\n")).refuses(3, &["elastic.0.at: ", told]);
    let hold = "[[elastic.hold]]\nshape.sphere.radius = 0.1\nkeyframes = []\n";
    check(format!("{TINY}{jelly}{hold}")).refuses(3, &["elastic.0.hold.0.keyframes: ", told]);
    check(format!("{TINY}[render]\nsolids = []\n")).refuses(3, &["render.solids: ", told]);
}

/// A pendulum hangs from a point outside of it; but a joint far from everything is a mistake.
#[test]
fn anchors_far_from_everything_are_refused() {
    let body = "[[body]]\nname = \"bob\"\nshape.sphere.radius = 0.1\nposition = [0, 0.5, 0]\ndensity = 3000\n";
    let at = |anchor: &str| format!("{TINY}{body}[[joint]]\ntype = \"point\"\nbody = \"bob\"\nanchor = {anchor}\n");
    check(at("[0, 1.1, 0]")).succeeds();
    for anchor in ["[0, 13, 0]", "[0, 1e300, 0]", "[0, -0.1, 0]"] {
        check(at(anchor))
            .refuses(3, &["joint.0.anchor: ", "is outside the domain, [-0.4000, 0.0000, -0.4000] to", "in no body"]);
    }
    let hold = "[[elastic]]\nshape.sphere.radius = 0.2\nposition = [0, 0.6, 0]\ndensity = 9\nyoungs_modulus = 1e4\n\
        [[elastic.hold]]\nshape.sphere.radius = 0.05\nposition = [0.3, 0.6, 0]\n";
    check(format!("{TINY}{hold}")).refuses(3, &["elastic.0.hold.0: no vertex of \"elastic-0\" lies in this region"]);
}

/// Row 13: two boxes in one mesh that pass through each other.
#[test]
fn a_mesh_that_passes_through_itself_is_warned_of() {
    let place = Place::new();
    let cube = |x: f64, first: usize| {
        let corner = |n: usize| [n & 1, n >> 1 & 1, n >> 2].map(|bit| bit as f64 * 0.2);
        let vertices: String =
            (0..8).map(corner).map(|[a, b, c]| format!("v {} {} {}\n", a + x, b + 0.5 * x, c + 0.3 * x)).collect();
        let faces = [[1, 3, 4, 2], [5, 6, 8, 7], [1, 2, 6, 5], [3, 7, 8, 4], [1, 5, 7, 3], [2, 4, 8, 6]];
        let face = |f: [usize; 4]| format!("f {}\n", f.map(|v| (v + first).to_string()).join(" "));
        vertices + &faces.map(face).concat()
    };
    place.write("apart.obj", cube(0.0, 0) + &cube(0.25, 8));
    place.write("across.obj", cube(0.0, 0) + &cube(0.1, 8));
    for (path, warns) in [("apart.obj", false), ("across.obj", true)] {
        let scene = format!("{TINY}[[obstacle]]\nposition = [0, 0.5, 0]\nshape.mesh.path = \"{path}\"\n");
        let told = place.check(scene).succeeds().stderr.clone();
        assert_eq!(told.contains("the surface passes through itself: "), warns, "{told}");
        assert!(!warns || told.contains("pairs of triangles cross, the first are"), "{told}");
    }
}

/// Row 19: elastic bodies that start inside others are named; those that touch, and what is held, are not.
#[test]
fn elastic_bodies_that_start_inside_others_are_warned_of() {
    let jelly = |name: &str, x: f64| {
        format!(
            "[[elastic]]\nname = \"{name}\"\nshape.box.size = [0.2, 0.2, 0.2]\nposition = [{x}, 0.5, 0]\ndensity = 900\n\
             youngs_modulus = 1e5\n"
        )
    };
    let ball = |kind: &str, x: f64, more: &str| {
        format!("[[{kind}]]\nname = \"ball\"\nshape.sphere.radius = 0.1\nposition = [{x}, 0.5, 0]\n{more}")
    };
    let told = |solids: String| check(format!("{TINY}{solids}")).succeeds().stderr.clone();
    let overlap = told(jelly("a", -0.1) + &jelly("b", 0.05));
    assert!(overlap.contains("\"a\" and \"b\" overlap by 5.0") && overlap.contains("e-2 m at the start"), "{overlap}");
    assert!(told(jelly("a", 0.0) + &jelly("b", 0.0)).contains("\"a\" and \"b\" overlap by"), "in the same place");
    assert_eq!(told(jelly("a", -0.1) + &jelly("b", 0.1)), "", "they touch");
    assert!(told(jelly("a", 0.0) + &ball("body", 0.15, "density = 9\n")).contains("\"a\" and \"ball\" overlap by"));
    assert!(told(jelly("a", 0.0) + &ball("obstacle", 0.05, "")).contains("\"a\" and \"ball\" overlap by"));
    let held = "[[elastic.hold]]\nshape.box.size = [0.5, 0.5, 0.5]\nposition = [0, 0.5, 0]\n";
    assert_eq!(told(jelly("a", 0.0) + held + &ball("obstacle", 0.13, "")), "", "what is held may be in a wall");
}
