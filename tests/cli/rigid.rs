//! Rigid bodies and joints: rows 17 to 20, 27 and 34 of the fault matrix.

use crate::support::{Answer, Place, TINY, check};
use std::fs;
use std::time::Instant;

/// A ball in the middle of the domain, its mass still to be told.
const BALL: &str = "[[body]]\nname = \"ball\"\nshape.sphere.radius = 0.15\nposition = [0, 0.6, 0]\n";

/// Two balls side by side.
const PAIR: &str = "\
[[body]]
name = \"left\"
shape.sphere.radius = 0.15
position = [-0.2, 0.6, 0]
density = 500
[[body]]
name = \"right\"
shape.sphere.radius = 0.15
position = [0.2, 0.6, 0]
density = 500
";

#[track_caller]
fn warns(answer: &Answer, fragment: &str) {
    let told = answer.succeeds().stderr.lines().any(|line| line.starts_with("warning: ") && line.contains(fragment));
    assert!(told, "{fragment:?} is not in {}", answer.stderr);
}

/// Row 17.
#[test]
fn bodies_without_a_usable_mass() {
    for (mass, fragments) in [
        ("", ["s.toml:6:1: body.0: missing key `density`", "or `mass`"]),
        ("density = 1\nmass = 1", ["s.toml:11:8: body.0.mass: `density` and `mass`", "give one of them"]),
        ("density = 0", ["s.toml:10:11: body.0.density: 0 is out of range", "≥ 1e-12"]),
        ("density = -2.5", ["body.0.density: -2.5 is out of range", "≥ 1e-12"]),
        ("density = inf", ["body.0.density: inf is not a finite number", ""]),
        ("density = 1e13", ["body.0.density: 1e13 is out of range", "≤ 1e12"]),
        ("mass = 0", ["s.toml:10:8: body.0.mass: 0 is out of range", "> 0"]),
        ("mass = nan", ["body.0.mass: nan is not a finite number", ""]),
        ("mass = 1e-310", ["s.toml:10:8: body.0.mass: body 'ball': a mass of", "positive finite"]),
        ("density = 1\nfriction = -1", ["body.0.friction: -1 is out of range", "≥ 0"]),
        ("density = 1\nrestitution = 1.1", ["body.0.restitution: 1.1 is out of range", "≤ 1"]),
    ] {
        check(format!("{TINY}{BALL}{mass}\n")).refuses(3, &fragments);
    }
    let needle = BALL.replace("shape.sphere.radius = 0.15", "shape.cylinder = { radius = 1e-8, height = 0.3 }");
    check(format!("{TINY}{needle}density = 1\n")).refuses(3, &["s.toml:8:", "body.0.shape: ", "moments of inertia"]);
    check(format!("{TINY}{BALL}mass = 1\n")).succeeds();
}

/// Row 18: told, and the run stays finite.
#[test]
fn a_body_thinner_than_a_cell_is_told() {
    let place = Place::new();
    let sheet =
        "[[body]]\nname = \"sheet\"\nshape.box.size = [0.4, 0.02, 0.4]\nposition = [0, 0.5, 0]\ndensity = 300\n";
    place.write("s.toml", format!("{TINY}[[liquid]]\nlevel = 0.45\n{sheet}"));
    let answer = place.bathtub(&["run", "s.toml", "--no-preview"]);
    warns(&answer, "body.0 \"sheet\" is thinner than a cell (1.000e-1 m)");
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(stats.lines().last().unwrap()).unwrap();
    assert_eq!(last["bodies"][0]["kind"], "free");
    assert!(last["bodies"][0]["velocity"][1].as_f64().is_some_and(|v| v.abs() < 10.0), "{last}");
}

/// Row 19: told, and they part by at most a cell per step, without a speed that lasts.
#[test]
fn bodies_that_overlap_are_told_and_part() {
    let place = Place::new();
    let closer = PAIR.replace("-0.2", "-0.1").replace("[0.2", "[0.1");
    place.write("s.toml", format!("{TINY}[scene]\ngravity = [0, 0, 0]\n{closer}"));
    let answer = place.bathtub(&["run", "s.toml", "--no-preview"]);
    warns(&answer, "'left' and 'right' overlap by 0.09");
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    let mut apart = 0.2;
    for line in stats.lines() {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        let [left, right] = [0, 1].map(|body| step["bodies"][body]["position"][0].as_f64().unwrap());
        let way = right - left - apart;
        assert!((-1e-9..=0.1 + 1e-9).contains(&way), "{way} m in step {}", step["step"]);
        assert!(step["bodies"][0]["velocity"][0].as_f64().unwrap().abs() < 0.1 / step["dt"].as_f64().unwrap());
        apart += way;
    }
    assert!(apart > 0.25, "{apart} m apart");
    check(format!("{TINY}{PAIR}")).succeeds();
    let on = "[[obstacle]]\nname = \"shelf\"\nshape.box.size = [0.3, 0.2, 0.3]\nposition = [0.2, 0.42, 0]\n";
    warns(&check(format!("{TINY}{PAIR}{on}")), "'right' and 'shelf' overlap");
}

/// Row 20: not outside, not in a wall; through an open side bodies stick out and leave.
#[test]
fn bodies_outside_and_in_walls() {
    let at = |position: &str| format!("{TINY}{}density = 500\n", BALL.replace("[0, 0.6, 0]", position));
    check(at("[0, 3, 0]")).refuses(3, &["s.toml:6:1: body.0: \"ball\" starts outside the domain: it spans"]);
    check(at("[0, 0.1, 0]"))
        .refuses(3, &["s.toml:9:12: body.0.position: body 'ball' starts 0.0", "m deep in the lower wall along y"]);
    check(at("[0.3, 0.6, 0]")).refuses(3, &["body.0.position: ", "upper wall along x"]);
    let copies = format!("{}at = [[0, 0, 0], [0, 0, 0.3]]\n", at("[0, 0.6, 0]"));
    check(copies).refuses(3, &["body.0.position: body 'ball-1' starts"]);

    let place = Place::new();
    let leaving = format!("{}velocity = [30, 0, 0]\n[walls]\nx_max = \"open\"\n", at("[0.3, 0.6, 0]"));
    place.write("s.toml", leaving);
    let answer = place.bathtub(&["run", "s.toml", "--no-preview"]);
    warns(&answer, "'ball' left the domain at");
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    assert_eq!(stats.lines().filter(|line| line.contains("\"events\":[\"'ball' left the domain")).count(), 1);
    for frame in 0..=3 {
        assert!(place.path(&format!("out/s/frames/ball_{frame:04}.ply")).is_file());
    }
}

/// Names are unique over all solids, and none is a file of the fluid.
#[test]
fn names_of_bodies() {
    let ball = format!("{BALL}density = 500\n");
    let pillar = "[[obstacle]]\nname = \"ball\"\nshape.sphere.radius = 0.1\nposition = [0, 0.2, 0]\n";
    check(format!("{TINY}{ball}{ball}")).refuses(3, &["s.toml:12:8: body.1.name: the name \"ball\" is taken"]);
    check(format!("{TINY}{pillar}{ball}")).refuses(3, &["s.toml:11:8: body.0.name: the name \"ball\" is taken"]);
    check(format!("{TINY}{}", ball.replace("\"ball\"", "\"water\""))).refuses(3, &["body.0.name: \"water\" is what"]);
    let far = 1e9;
    check(format!("{TINY}[[body]]\nshape.sphere.radius = {far}\ndensity = 1\n"))
        .refuses(7, &["s.toml:6:1: body: 2.5e21 triangles"]);
}

/// Row 27.
#[test]
fn joints_that_hold_nothing_or_too_much() {
    let joint = |kind: &str, more: &str| format!("[[joint]]\ntype = \"{kind}\"\nanchor = [0, 0.6, 0]\n{more}\n");
    let to = "body = \"left\"\nother = \"right\"";
    for (text, fragments) in [
        (
            joint("point", "body = \"left\"\nother = \"left\""),
            ["s.toml:20:9: joint.0.other: joint 0 ties", "'left' to itself"],
        ),
        (joint("point", "body = \"lefd\""), ["s.toml:19:8: joint.0.body: no body is called \"lefd\"", "mean `left`?"]),
        (joint("fixed", "body = \"left\"\nother = \"x\""), ["joint.0.other: no body is called \"x\"", "`right`"]),
        (joint("point", "body = \"left\"\nother = \"shelf\""), ["joint.0.other: \"shelf\" is an obstacle", "`other`"]),
        (joint("hinge", to), ["s.toml:16:1: joint.0: missing key `axis`", "hinge"]),
        (joint("slider", &format!("{to}\naxis = [0, 0, 0]")), ["joint.0.axis: joint 0: axis", "is no direction"]),
        (joint("fixed", &format!("{to}\naxis = [0, 0, 1]")), ["joint.0.axis: only a hinge and a slider", "remove it"]),
        (joint("weld", to), ["joint.0.type: unknown value \"weld\"", "`fixed`"]),
    ] {
        let shelf = "[[obstacle]]\nname = \"shelf\"\nshape.box.size = [0.3, 0.1, 0.3]\nposition = [0, 0.2, 0]\n";
        check(format!("{TINY}{PAIR}{text}{shelf}")).refuses(3, &fragments);
    }
    let twice = joint("fixed", to) + &joint("point", to);
    let answer = check(format!("{TINY}{PAIR}{twice}"));
    warns(&answer, "joint 1 is redundant and was dropped");
    assert!(answer.stdout.contains("joints     2"), "{}", answer.stdout);
    let hinged = joint("hinge", &format!("{to}\naxis = [0, 0, 1]")) + &joint("fixed", to);
    warns(&check(format!("{TINY}{PAIR}{hinged}")), "joint 1 is partly redundant: 5 of its 6");
}

/// In a flat scene bodies are slices of prisms, and stay in their plane.
#[test]
fn bodies_of_flat_scenes() {
    let flat = "[grid]\ncells = [12, 12, 1]\ndx = 0.1\n[time]\nframes = 2\n[[liquid]]\nlevel = 0.5\n";
    let body = |more: &str| format!("{flat}[[body]]\nname = \"b\"\nposition = [0, 0.7, 0]\ndensity = 500\n{more}\n");
    let plank = "shape.box.size = [0.4, 0.2, 1]";
    let answer = check(body(plank));
    // 500 kg/m³ over 0.4 m × 0.2 m × one cell.
    assert!(answer.succeeds().stdout.contains("bodies     1 (4.0000 to 4.0000 kg)"), "{}", answer.stdout);
    for (more, fragments) in [
        ("shape.sphere.radius = 0.2".to_owned(), ["body.0.shape: \"b\" is no prism", "cylinder along it"]),
        ("shape.box.size = [0.4, 0.2, 0.05]".to_owned(), ["body.0: \"b\" spans", "must reach across the cell"]),
        (format!("{plank}\nvelocity = [0, 0, 1]"), ["body.0.velocity.2: 1.0 m/s along an axis one cell thick", ""]),
        (
            format!("{plank}\nspin = {{ axis = [1, 0, 0], degrees_per_second = 9 }}"),
            ["body.0.spin.axis: in a flat scene", "flat axis"],
        ),
    ] {
        check(body(&more)).refuses(3, &fragments);
    }
    let hinge = "[[joint]]\ntype = \"hinge\"\nbody = \"b\"\nanchor = [0, 0.7, 0]\naxis = [1, 0, 0]\n";
    check(format!("{}{hinge}", body(plank))).refuses(3, &["joint.0.axis: ", "contradicts the plane"]);

    let place = Place::new();
    place.write(
        "s.toml",
        body("shape.cylinder = { radius = 0.15, height = 1 }\nrotation = { axis = [1, 0, 0], degrees = 90 }"),
    );
    place.bathtub(&["run", "s.toml", "--no-preview", "-q"]).succeeds();
}

/// Bodies stand where water would: `check` and the run agree on how much there is.
#[test]
fn water_leaves_room_for_bodies() {
    let place = Place::new();
    let scene = format!(
        "{TINY}[[liquid]]\nlevel = 1.0\n[[body]]\nshape.box.size = [0.4, 0.4, 0.4]\nposition = [0, 0.6, 0]\ndensity = 1000\n"
    );
    let answer = place.check(scene);
    // 0.8 × 1.0 × 0.8 m³ less a cube of 0.4 m.
    assert!(answer.succeeds().stdout.contains("water      0.5760 m³"), "{}", answer.stdout);
    place.bathtub(&["run", "s.toml", "--no-preview", "-q"]).succeeds();
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(stats.lines().next().unwrap()).unwrap();
    let mass = first["fluid"]["mass"].as_f64().unwrap();
    assert!((mass / 576.0 - 1.0).abs() < 0.02, "{mass} kg");
}

/// Row 34: killed in mid-splash, with contacts and a joint, it ends with the same bits.
#[test]
fn a_killed_run_with_bodies_resumes_to_the_same_bits() {
    let place = Place::new();
    let scene = "\
[grid]
cells = [16, 12, 10]
size = 1.6
[time]
frames = 20
[[liquid]]
level = 0.5
[[body]]
name = \"ball\"
shape.sphere.radius = 0.15
position = [-0.5, 0.75, 0]
density = 300
at = [[0, 0, 0], [0.35, 0, 0.05]]
[[body]]
name = \"stone\"
shape.box.size = [0.25, 0.25, 0.25]
position = [0.3, 0.7, 0]
rotation = { axis = [1, 2, 0], degrees = 30 }
density = 2500
[[body]]
name = \"paddle\"
shape.box.size = [0.15, 0.5, 0.5]
position = [0.65, 0.6, 0]
density = 600
[[joint]]
type = \"hinge\"
body = \"paddle\"
anchor = [0.65, 0.9, 0]
axis = [0, 0, 1]
[output]
checkpoint_frames = 3
";
    place.write("s.toml", scene);
    let arguments = |out: &'static str| ["run", "s.toml", "--no-preview", "-q", "--hash", "--out", out];
    let begun = Instant::now();
    let whole = place.bathtub(&arguments("whole")).succeeds().hash();
    let duration = begun.elapsed();
    for (out, fraction) in [("killed-0", 0.3), ("killed-1", 0.6)] {
        let mut child = place.command(&arguments(out)).spawn().unwrap();
        std::thread::sleep(duration.mul_f64(fraction));
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = place.bathtub(&["run", "s.toml", "--resume", "--no-preview", "-q", "--hash", "--out", out]);
        assert_eq!(resumed.succeeds().hash(), whole, "killed at {fraction} of the run");
    }
    let effective = place.bathtub(&["run", "whole/scene.toml", "--no-preview", "-q", "--hash", "--out", "again"]);
    assert_eq!(effective.succeeds().hash(), whole);
}
