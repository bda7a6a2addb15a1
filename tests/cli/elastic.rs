//! Elastic bodies: rows 6, 9, 10, 12 to 16 and 20 of the fault matrix, and what a run with them leaves.

use crate::support::{Answer, Place, TINY, check};
use std::fs;

/// A soft ball in the middle of the domain.
const BALL: &str = "[[elastic]]\nname = \"ball\"\nshape.sphere.radius = 0.2\nposition = [0, 0.6, 0]\n";

/// What it is made of.
const JELLY: &str = "density = 500\nyoungs_modulus = 5e3\n";

#[track_caller]
fn warns(answer: &Answer, fragment: &str) {
    let told = answer.succeeds().stderr.lines().any(|line| line.starts_with("warning: ") && line.contains(fragment));
    assert!(told, "{fragment:?} is not in {}", answer.stderr);
}

/// A body softer than the pressure of the water is told, with what would do; a harder one is not.
#[test]
fn a_body_that_water_would_crush_is_told() {
    let with = |modulus: &str| {
        check(format!("{TINY}{BALL}density = 500\nyoungs_modulus = {modulus}\n[[liquid]]\nlevel = 0.9\n"))
    };
    let answer = with("5e3");
    warns(&answer, "elastic.0: 8.829e3 Pa at the bottom of the water squeeze it by 212 %");
    warns(&answer, "a `youngs_modulus` of 2.6e4 Pa would do");
    warns(&answer, "of 5.0e3 Pa, is too soft");
    assert!(!with("3e4").succeeds().stderr.contains("squeeze"));
}

/// The same of its own weight, in water and out of it, with the larger of both moduli.
#[test]
fn a_body_that_its_own_weight_would_crush_is_told() {
    let with = |modulus: &str, fluid: &str| {
        let block =
            "[[elastic]]\nname = \"block\"\nshape = { box = { size = [0.3, 0.4, 0.3] } }\nposition = [0.0, 0.5, 0.0]\n";
        check(format!("{TINY}{block}density = 3000\npoisson_ratio = 0.4\nyoungs_modulus = {modulus}\n{fluid}"))
    };
    let pool = "[[liquid]]\nlevel = 0.5\n";
    for fluid in ["", pool] {
        let answer = with("1e4", fluid);
        warns(&answer, "elastic.0: 1.177e4 Pa of its own weight squeeze its bottom by 118 %");
        warns(
            &answer,
            "\"block\", of 1.0e4 Pa, is too soft to keep its shape; a `youngs_modulus` of 2.9e4 Pa would do",
        );
        assert!(!with("3e4", fluid).succeeds().stderr.contains("squeeze"));
    }
    warns(
        &with("1e3", pool),
        "of the water squeeze it by 294 %, 1.177e4 Pa of its own weight squeeze its bottom by 1177 %",
    );
}

/// Row 6, and rows 3 to 5 for the keys of elastic bodies.
#[test]
fn materials_that_are_none() {
    for (keys, fragments) in [
        ("density = 500", ["s.toml:6:1: elastic.0: missing key `youngs_modulus`", "Pa"]),
        ("youngs_modulus = 5e3", ["s.toml:6:1: elastic.0: missing key `density`", "kg/m³"]),
        ("density = 0\nyoungs_modulus = 5e3", ["s.toml:10:11: elastic.0.density: 0 is out of range", "≥ 1e-12"]),
        ("density = 5\nyoungs_modulus = 0", ["s.toml:11:18: elastic.0.youngs_modulus: 0 is out of range", "> 0"]),
        ("density = 5\nyoungs_modulus = -1", ["elastic.0.youngs_modulus: -1 is out of range", "> 0"]),
        ("density = 5\nyoungs_modulus = inf", ["elastic.0.youngs_modulus: inf is not a finite number", ""]),
    ] {
        check(format!("{TINY}{BALL}{keys}\n")).refuses(3, &fragments);
    }
    for (keys, fragments) in [
        ("poisson_ratio = 0.5", ["s.toml:12:17: elastic.0.poisson_ratio: 0.5 is out of range", "> -1 and < 0.5"]),
        ("poisson_ratio = -1", ["elastic.0.poisson_ratio: -1 is out of range", "> -1 and < 0.5"]),
        ("poisson_ratio = nan", ["elastic.0.poisson_ratio: nan is not a finite number", ""]),
        ("poisson_ration = 0.3", ["s.toml:12:1: elastic.0: unknown key `poisson_ration`", "mean `poisson_ratio`?"]),
        ("damping = { mass = -1 }", ["elastic.0.damping.mass: -1 is out of range", "≥ 0"]),
        ("damping.stiffness = -1e-9", ["elastic.0.damping.stiffness: -1e-9 is out of range", "≥ 0"]),
        ("stretch = [1, 0, 1]", ["elastic.0.stretch.1: 0 is out of range", "> 0"]),
        ("size = 0", ["elastic.0.size: 0 is out of range", "> 0"]),
        ("size = 0.001", ["s.toml:12:8: elastic.0.size: tetrahedra of size 0.001 m", "choose a size of at least"]),
        ("size = 1", ["elastic.0.size: tetrahedra of size 1.0 m are too coarse", "choose a size of at most"]),
        ("tetrahedra.path = \"a.msh\"", ["s.toml:12:1: elastic.0.tetrahedra: `shape` and", "give one of them"]),
    ] {
        check(format!("{TINY}{BALL}{JELLY}{keys}\n")).refuses(3, &fragments);
    }
    let shapeless = BALL.replace("shape.sphere.radius = 0.2\n", "");
    check(format!("{TINY}{shapeless}{JELLY}"))
        .refuses(3, &["s.toml:6:1: elastic.0: missing key `shape`", "`tetrahedra`"]);
}

/// Row 20: a body that rises through the open top is told once, takes no part any more, and its speed limits no step; a run resumed
/// thereafter knows.
#[test]
fn bodies_leave() {
    let place = Place::new();
    let light = "[[elastic]]\nname = \"b\"\nshape.box.size = [0.3, 0.3, 0.3]\nposition = [0, 0.5, 0]\ndensity = 0.12\nyoungs_modulus = 1e4\n";
    let scene =
        format!("[grid]\ncells = [12, 12, 12]\nsize = 1.0\n[time]\nframes = 26\n[walls]\ny_max = \"open\"\n{light}");
    // It is gone in frame 13: 20 frames see it leave, and six more are resumed without it.
    place.write("s.toml", scene.replace("frames = 26", "frames = 20"));
    warns(&place.bathtub(&["run", "s.toml", "--no-preview"]), "'b' left the domain at");
    place.write("s.toml", scene);
    let resumed = place.bathtub(&["run", "s.toml", "--no-preview", "--resume"]);
    assert!(!resumed.succeeds().stderr.contains("left the domain"), "{}", resumed.stderr);
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    assert_eq!(stats.lines().filter(|line| line.contains("\"events\":[\"'b' left the domain")).count(), 1);
    let last = stats.lines().last().unwrap();
    assert!(last.contains("\"frame\":26") && last.contains("\"impulse\":[0.0,0.0,0.0]"), "{last}");
    let height =
        |line: &str| line.split("\"position\":[").nth(1).and_then(|at| at.split(',').nth(1)?.parse::<f64>().ok());
    assert!(height(last).is_some_and(|y| y > 1.0 && y < 3.0), "{last}");
}

/// Row 20 and names.
#[test]
fn places_and_names_that_are_taken() {
    let at = |position: &str| format!("{TINY}{}{JELLY}", BALL.replace("[0, 0.6, 0]", position));
    check(at("[0, 3, 0]")).refuses(3, &["s.toml:6:1: elastic.0: \"ball\" starts outside the domain: it spans"]);
    check(at("[0, 0.1, 0]"))
        .refuses(3, &["s.toml:9:12: elastic.0.position: \"ball\" starts 1.0", "lower wall along y"]);
    check(format!("{}[walls]\ny_min = \"open\"\n", at("[0, 0.1, 0]"))).succeeds();
    check(format!("{}hold = [{{ shape.box.size = [9, 0.3, 9] }}]\n", at("[0, 0.1, 0]"))).succeeds();
    let copies = format!("{}at = [[0, 0, 0], [0, 0, 0.3]]\n", at("[0, 0.6, 0]"));
    check(copies).refuses(3, &["elastic.0.position: \"ball-1\" starts", "upper wall along z"]);

    let ball = format!("{BALL}{JELLY}");
    let rigid = "[[body]]\nname = \"ball\"\nshape.sphere.radius = 0.1\nposition = [0, 0.2, 0]\ndensity = 1\n";
    check(format!("{TINY}{ball}{ball}")).refuses(3, &["s.toml:13:8: elastic.1.name: the name \"ball\" is taken"]);
    check(format!("{TINY}{rigid}{ball}")).refuses(3, &["elastic.0.name: the name \"ball\" is taken"]);
    check(format!("{TINY}{}", ball.replace("\"ball\"", "\"water\"")))
        .refuses(3, &["elastic.0.name: \"water\" is what"]);
    let joint = "[[joint]]\ntype = \"fixed\"\nanchor = [0, 0.6, 0]\nbody = \"ball\"\n";
    check(format!("{TINY}{ball}{joint}")).refuses(3, &["joint.0.body: \"ball\" is elastic", "`hold`"]);
}

/// A region that holds nothing is told how far off it is.
#[test]
fn holds_that_hold_nothing() {
    let hold = |keys: &str| format!("{TINY}{BALL}{JELLY}hold = [{{ {keys} }}]\n");
    check(hold("shape.box.size = [1, 0.1, 1]")).refuses(
        3,
        &["s.toml:12:9: elastic.0.hold.0: no vertex of \"ball\" lies in this region, the nearest is 3.5", "e-1 m away"],
    );
    check(hold("shape.box.size = [1, 0.1, 1], position = [0, 0.8, 0]")).succeeds();
    let twice = "shape.sphere.radius = 1, position = [0, 0, 0], keyframes = [{ time = 0, position = [0, 0, 0] }]";
    check(hold(twice)).refuses(3, &["elastic.0.hold.0.position: `position` and `keyframes` exclude each other"]);
    check(hold("position = [0, 0, 0]")).refuses(3, &["elastic.0.hold.0: missing key `shape`"]);
    let back = "shape.sphere.radius = 1, keyframes = [{ time = 1, position = [0, 0.6, 0] }, { time = 1, position = [0, 0, 0] }]";
    check(hold(back)).refuses(3, &["elastic.0.hold.0.keyframes.1.time: 1.0 s is not after the key before it"]);
}

/// A cube of six tetrahedra, TetGen's way.
const NODE: &str = "8 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 1 1 0\n4 0 0 1\n5 1 0 1\n6 0 1 1\n7 1 1 1\n";
const ELE: &str = "6 4 0\n0 0 1 3 7\n1 0 3 2 7\n2 0 2 6 7\n3 0 6 4 7\n4 0 4 5 7\n5 0 5 1 7\n";

/// `bathtub check` on a scene with the tetrahedra of this file.
fn check_file(place: &Place, file: &str) -> Answer {
    let scene = "[[elastic]]\nname = \"cube\"\nposition = [-0.2, 0.4, -0.2]\n";
    place.check(format!("{TINY}{scene}{JELLY}tetrahedra = {{ {file} }}\n"))
}

/// Rows 9 and 10.
#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    let key = "s.toml:11:23: elastic.0.tetrahedra.path: ";
    let refused = |path: &str, code: i32, fragment: &str| {
        check_file(&place, &format!("path = \"{path}\"")).refuses(code, &[key, fragment]);
    };
    refused("absent.msh", 5, "cannot find \"absent.msh\": No such file");
    refused("../secret.msh", 5, "leads outside the scene's directory");
    fs::create_dir(place.path("directory.vtk")).unwrap();
    refused("directory.vtk", 5, "\"directory.vtk\" is not a regular file");
    place.write("half.node", NODE);
    refused("half.node", 5, "cannot find \"half.ele\"");
    refused("half.obj", 4, "\"half.obj\" is no .msh, .vtk, .node or .ele file");
}

/// Rows 11 to 16.
#[test]
fn files_with_broken_tetrahedra() {
    let place = Place::new();
    let answer = |node: &str, ele: &str, more: &str| {
        place.write("cube.node", node);
        place.write("cube.ele", ele);
        check_file(&place, &format!("path = \"cube.ele\", scale = 0.4{more}"))
    };
    let refused = |node: &str, ele: &str, fragment: &str| {
        answer(node, ele, "").refuses(4, &["s.toml:11:23: elastic.0.tetrahedra.path: cube.ele: ", fragment]);
    };
    let sound = answer(NODE, ELE, "");
    let told = "elastic    cube: 32.0000 kg, 8 vertices, 6 tetrahedra, ";
    assert!(sound.succeeds().stdout.contains(told) && sound.stderr.is_empty(), "{sound:?}");
    // Row 11.
    refused(NODE, &ELE.replace("6 4 0", "9999999999 4 0"), "9999999999");
    // Row 12.
    refused(NODE, &ELE.replace("1 0 3 2 7", "1 0 3 2 8"), "tetrahedron 1: there is no vertex 8");
    refused(NODE, &ELE.replace("1 0 3 2 7", "1 0 3 -2 7"), "tetrahedron 1: there is no vertex -2");
    refused(NODE, &ELE.replace("1 0 3 2 7", "1 0 3 3 7"), "tetrahedron 1 uses vertex 3 more than once");
    refused(&NODE.replace("7 1 1 1", "7 nan 1 1"), ELE, "vertex 7 has a non-finite coordinate");
    // Row 13: two tetrahedra on the same side of the triangle that they share.
    let doubled = ELE.replace("6 4 0", "7 4 0") + "6 0 1 3 4\n";
    refused(NODE, &doubled, "belongs to tetrahedra 0, 6");
    // Rows 14 and 15.
    let inverted = ELE.replace("1 0 3 2 7", "1 0 2 3 7");
    refused(NODE, &inverted, "1 tetrahedra are inside out: number 1");
    warns(
        &answer(NODE, &inverted, ", repair = true"),
        "cube.ele: 1 tetrahedra were inside out and were turned: number 1",
    );
    let flat = ELE.replace("6 4 0", "7 4 0") + "6 0 1 2 3\n";
    refused(NODE, &flat, "number 6");
    warns(&answer(NODE, &flat, ", repair = true"), "cube.ele: 1 flat tetrahedra were dropped: number 6");
    let mirrored: String = ELE
        .lines()
        .map(|l| l.split(' ').collect::<Vec<_>>())
        .map(|w| match w[..] {
            [n, a, b, c, d] => format!("{n} {a} {c} {b} {d}\n"),
            _ => w.join(" ") + "\n",
        })
        .collect();
    warns(&answer(NODE, &mirrored, ""), "cube.ele: all tetrahedra were inside out and were turned");
    // Row 16.
    let loose = NODE.replace("8 3 0 0", "9 3 0 0") + "8 5 5 5\n";
    warns(&answer(&loose, ELE, ""), "cube.ele: 1 vertices belong to no tetrahedron and were dropped");
    let repeated = ELE.replace("6 4 0", "7 4 0") + "6 0 1 3 7\n";
    warns(&answer(NODE, &repeated, ""), "cube.ele: 1 tetrahedra were repeated and were dropped: number 6");
    let apart = answer(NODE, "2 4 0\n0 0 1 3 7\n1 0 2 6 7\n", "");
    warns(&apart, "cube.ele: the solid has 2 parts that no side joins");
    // Slivers.
    let squashed = answer(&NODE.replace(" 1\n", " 0.02\n"), ELE, "");
    warns(&squashed, "elastic.0: badly shaped tetrahedra make it slow and inexact: 6 tetrahedra, radius ratio");
}

/// A tank with a soft ball in it and a strip that is held at one end and shaken at the other.
const TANK: &str = "\
[grid]
cells = [16, 16, 16]
size = 1.6
[time]
frames = 3
[[liquid]]
level = 0.8
[[elastic]]
name = \"ball\"
shape.sphere.radius = 0.25
position = [-0.3, 0.9, 0]
density = 500
youngs_modulus = 5e3
velocity = [0, -1, 0]
[[elastic]]
name = \"strip\"
tetrahedra = { path = \"cube.node\", scale = [0.2, 0.6, 0.2] }
position = [0.3, 0.3, 0]
rotation = { axis = [0, 1, 0], degrees = 20 }
density = 1100
youngs_modulus = 2e4
damping.stiffness = 0.01
stretch = [1, 1.1, 1]
hold = [
  { shape.box.size = [2, 0.3, 2], position = [0.3, 0.2, 0] },
  { shape.box.size = [2, 0.3, 2], keyframes = [
    { time = 0, position = [0.3, 1, 0] },
    { time = 0.1, position = [0.35, 1, 0] },
  ] },
]
";

/// Every frame has its own surface, and the effective scene, a resumed run and any number of threads give the same bits.
#[test]
fn runs_with_elastic_bodies_repeat_themselves() {
    let place = Place::new();
    place.write("cube.node", NODE);
    place.write("cube.ele", ELE);
    place.write("s.toml", TANK);
    let run = |scene: &str, out: &str, more: &[&str]| {
        place.bathtub(&[&["run", scene, "--no-preview", "-q", "--hash", "--out", out], more].concat()).succeeds().hash()
    };
    let whole = run("s.toml", "whole", &["--threads", "1"]);
    assert_eq!(run("s.toml", "two", &["--threads", "2"]), whole);
    run("s.toml", "part", &["--frames", "0..1"]);
    assert_eq!(run("s.toml", "part", &["--resume"]), whole);
    ["cube.node", "cube.ele"].iter().for_each(|name| fs::remove_file(place.path(name)).unwrap());
    assert_eq!(run("whole/scene.toml", "again", &[]), whole);
    let [a, b] = ["whole", "again"].map(|out| fs::read_to_string(place.path(out).join("scene.toml")).unwrap());
    assert_eq!(a, b);
    assert!(a.contains("size = 0.125") && a.contains("poisson_ratio = 0.3"), "{a}");

    let surface = |frame: u64| fs::read(place.path(&format!("whole/frames/ball_{frame:04}.ply"))).unwrap();
    let surfaces = [0, 1, 2, 3].map(surface);
    let header = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
    let count = |bytes: &[u8], what: &str| -> usize {
        let text = header(bytes);
        let line = text.lines().find_map(|line| line.strip_prefix(what)).expect("a header");
        line.trim().parse().expect("a number")
    };
    for pair in surfaces.windows(2) {
        assert!(pair[0] != pair[1], "the ball moves");
    }
    // A closed surface like a sphere's: V − E + F = 2 with 2 E = 3 F; vertices inside would be too many.
    let (vertices, faces) = (count(&surfaces[0], "element vertex"), count(&surfaces[0], "element face"));
    assert_eq!(vertices, 2 + faces / 2);

    let stats = fs::read_to_string(place.path("whole/stats.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(stats.lines().last().unwrap()).unwrap();
    let ball = &last["bodies"][0];
    assert_eq!([&ball["name"], &ball["kind"]], ["ball", "elastic"]);
    for energy in ["kinetic", "elastic"] {
        assert!(ball[energy].as_f64().is_some_and(|joules| joules > 0.0), "{ball}");
    }
    // The strip is held at both ends, one of them led 5 cm along x: the centre goes half of the way.
    let centre = |line: &str| -> f64 {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        step["bodies"][1]["position"][0].as_f64().unwrap()
    };
    let way = centre(stats.lines().last().unwrap()) - centre(stats.lines().next().unwrap());
    assert!((0.01..0.03).contains(&way), "{way} m");
}

/// Elastic bodies stand where water would.
#[test]
fn water_leaves_room_for_elastic_bodies() {
    let cube = "[[elastic]]\nname = \"cube\"\nshape.box.size = [0.4, 0.4, 0.4]\nposition = [0, 0.6, 0]\n";
    let answer = check(format!("{TINY}[[liquid]]\nlevel = 1.0\n{cube}{JELLY}"));
    // 0.8 × 1.0 × 0.8 m³ less a cube of 0.4 m.
    assert!(answer.succeeds().stdout.contains("water      0.5760 m³"), "{}", answer.stdout);
    assert!(answer.stdout.contains("elastic    cube: 32.0000 kg, 125 vertices, 384 tetrahedra"), "{}", answer.stdout);
    let buried = "[[liquid]]\nshape.box.size = [0.2, 0.2, 0.2]\nposition = [0, 0.6, 0]\n";
    check(format!("{TINY}{buried}{cube}{JELLY}")).refuses(3, &["liquid.0: ", "lies entirely inside a solid"]);
}

/// In a flat scene they are boxes right across the plane.
#[test]
fn elastic_bodies_of_flat_scenes() {
    let flat = "[grid]\ncells = [12, 12, 1]\ndx = 0.1\n[time]\nframes = 2\n[[liquid]]\nlevel = 0.5\n";
    let body = |more: &str| format!("{flat}[[elastic]]\nname = \"b\"\nposition = [0, 0.7, 0]\n{JELLY}{more}\n");
    let plank = "shape.box.size = [0.4, 0.2, 1]";
    let answer = check(body(plank));
    // 500 kg/m³ over 0.4 m × 0.2 m × one cell.
    assert!(answer.succeeds().stdout.contains("elastic    b: 4.0000 kg"), "{}", answer.stdout);
    check(body("shape.sphere.radius = 0.2")).refuses(3, &["elastic.0: \"b\" is no box; in a flat scene"]);
    check(body("shape.box.size = [0.4, 0.2, 0.05]")).refuses(3, &["\"b\" spans", "must reach across the cell"]);
    check(body(&format!("{plank}\nstretch = [1, 1, 2]")))
        .refuses(3, &["elastic.0.stretch.2: 2.0 along an axis one cell"]);
    let place = Place::new();
    place.write("s.toml", body(plank));
    place.bathtub(&["run", "s.toml", "--no-preview", "-q"]).succeeds();
}
