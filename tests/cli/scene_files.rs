//! Rows 1 to 6 and 8: what a scene file must not be.

use crate::support::{Place, TINY, check};
use std::time::{Duration, Instant};

/// Row 1.
#[test]
fn files_that_are_no_scenes() {
    check("").refuses(3, &["s.toml:1:1: missing key `grid`"]);
    check("[grid]\ncells = [8, 12").refuses(3, &["s.toml:2:15: TOML syntax: unclosed array"]);
    check(b"[grid]\ncells = \"\xff\xfe\"").refuses(3, &["s.toml:2:10: this byte is not UTF-8"]);
    check(format!("\u{feff}{TINY}")).succeeds();
    let place = Place::new();
    place.bathtub(&["check", "absent.toml"]).refuses(5, &["absent.toml: cannot read the scene file"]);
    place.bathtub(&["check", "."]).refuses(5, &["must be a regular file"]);
    place.bathtub(&["check", "/dev/zero"]).refuses(5, &["must be a regular file"]);
}

/// Row 1: refused by size, within a second and 256 MB of address space.
#[test]
fn a_gigabyte_is_refused_unread() {
    let place = Place::new();
    let file = std::fs::File::create(place.path("s.toml")).unwrap();
    file.set_len(1 << 30).unwrap();
    let begun = Instant::now();
    let limited = format!("ulimit -v 262144; exec {} check s.toml", env!("CARGO_BIN_EXE_bathtub"));
    let output = std::process::Command::new("sh").args(["-c", &limited]).current_dir(place.root()).output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1));
    crate::support::Answer::from(output).refuses(3, &["s.toml: 1073741824 bytes are too many for a scene file (limit"]);
}

/// Row 2.
#[test]
fn keys_that_do_not_exist_or_exist_twice() {
    check(format!("{TINY}framse = 3")).refuses(3, &["s.toml:6:1: time: unknown key `framse`; did you mean `frames`?"]);
    check(format!("{TINY}[smok]\n")).refuses(3, &["s.toml:6:2: unknown key `smok`; did you mean `smoke`?"]);
    check(format!("{TINY}[render.camera]\nform = [0, 1, 0]\n"))
        .refuses(3, &["render.camera: unknown key `form`", "`from`"]);
    check(format!("{TINY}frames = 3")).refuses(3, &["s.toml:6:1: TOML syntax: duplicate key"]);
    check(format!("{TINY}[grid]")).refuses(3, &["s.toml:6:2: TOML syntax: duplicate key"]);
    check(format!("{TINY}[[obstacle]]\nshape = {{ sphere = {{ radius = 0.1, raduis = 0.2 }} }}"))
        .refuses(3, &["s.toml:7:36: obstacle.0.shape.sphere: unknown key `raduis`; did you mean `radius`?"]);
}

/// Row 3.
#[test]
fn values_of_the_wrong_type() {
    check("[grid]\ncells = [8, 8, 8]\ndx = \"0.1\"")
        .refuses(3, &["s.toml:3:6: grid.dx: expected a number, found the string \"0.1\""]);
    check("[grid]\ncells = [8, 8]\ndx = 0.1").refuses(3, &["s.toml:2:9: grid.cells: expected 3 values, found 2"]);
    check("[grid]\ndx = 0.1").refuses(3, &["s.toml:1:1: grid: missing key `cells` (Number of cells along x, y and z)"]);
    check("[grid]\ncells = [8, 8, 8]").refuses(3, &["s.toml:1:1: grid: missing key `dx`"]);
    check("[grid]\ncells = [8, 8, 8]\ndx = null").refuses(3, &["s.toml:3:6: TOML syntax"]);
    check(format!("{TINY}[[source]]\nname = \"a\"")).refuses(3, &["s.toml:6:1: source.0: missing key `shape`"]);
}

/// Row 3: a choice that there is not.
#[test]
fn looks_of_obstacles() {
    let ball = |look: &str| format!("{TINY}[[obstacle]]\nshape = {{ sphere = {{ radius = 0.1 }} }}\nlook = {look}\n");
    check(ball("\"glass\"")).succeeds();
    check(ball("\"matte\"")).succeeds();
    check(ball("\"gless\"")).refuses(3, &["s.toml:8:8: obstacle.0.look:", "\"gless\"", "glass"]);
    check(ball("1")).refuses(3, &["s.toml:8:8: obstacle.0.look:"]);
}

/// Row 4: in a number here and there; the rule is one for all of them.
#[test]
fn numbers_that_are_none() {
    for (head, key) in [
        ("[grid]\ncells = [8, 8, 8]\ndx = ", "grid.dx"),
        ("[grid]\ncells = [8, 8, 8]\ndx = 0.1\n[time]\nfps = ", "time.fps"),
        ("[grid]\ncells = [8, 8, 8]\ndx = 0.1\n[scene]\ngravity = [0, 0, ", "scene.gravity.2"),
    ] {
        let close = if head.ends_with(", ") { "]" } else { "" };
        for bad in ["nan", "inf", "-inf", "1e400", "-1e400"] {
            check(format!("{head}{bad}{close}")).refuses(3, &[&format!("{key}: {bad} is not a finite number")]);
        }
    }
    for fine in ["-0.0", "5e-324", "-5e-324", "1e300"] {
        check(format!("{TINY}[smoke]\nweight = {fine}")).succeeds();
    }
}

/// Rows 5 and 6: each number has its range.
#[test]
fn numbers_out_of_range() {
    let grid = "[grid]\ncells = [8, 8, 8]\ndx = 0.1\n";
    for (text, key, limit) in [
        ("[grid]\ncells = [8, 8, 8]\ndx = 0", "grid.dx: 0 is", "≥ 1e-12"),
        ("[grid]\ncells = [8, 8, 8]\ndx = -0.1", "grid.dx: -0.1 is", "≥ 1e-12"),
        ("[grid]\ncells = [8, 8, 8]\nsize = -1", "grid.size: -1 is", "≥ 1e-12"),
        ("[grid]\ncells = [8, 0, 8]\ndx = 0.1", "grid.cells.1: 0 is", "≥ 1"),
        ("[grid]\ncells = [8, 8, -3]\ndx = 0.1", "grid.cells.2: -3 is", "≥ 1"),
        ("[time]\nfps = 0", "time.fps: 0 is", "> 0"),
        ("[time]\ncfl = 0", "time.cfl: 0 is", "> 0"),
        ("[time]\ncfl = -2", "time.cfl: -2 is", "> 0"),
        ("[time]\nmax_dt = 0", "time.max_dt: 0 is", "> 0"),
        ("[time]\nmin_dt = -1e-3", "time.min_dt: -1e-3 is", "> 0"),
        ("[time]\nframes = -1", "time.frames: -1 is", "≥ 0"),
        ("[smoke]\nair_density = 0", "smoke.air_density: 0 is", "≥ 1e-12"),
        ("[smoke]\nconfinement = -1", "smoke.confinement: -1 is", "≥ 0"),
        ("[smoke]\ndissipation = -1", "smoke.dissipation: -1 is", "≥ 0"),
        ("[smoke]\ncooling = -1", "smoke.cooling: -1 is", "≥ 0"),
        ("[pressure]\ntolerance = 0", "pressure.tolerance: 0 is", "> 0"),
        ("[pressure]\ntolerance = 1.5", "pressure.tolerance: 1.5 is", "< 1"),
        ("[pressure]\nmax_iterations = 0", "pressure.max_iterations: 0 is", "≥ 1"),
        ("[pressure]\nbudget_ms = 0", "pressure.budget_ms: 0 is", "> 0"),
        ("[[source]]\nshape.sphere.radius = 0", "source.0.shape.sphere.radius: 0 is", "> 0"),
        ("[[source]]\ndensity = -1\nshape.sphere.radius = 1", "source.0.density: -1 is", "≥ 0"),
        ("[[obstacle]]\nshape.sphere.radius = -0.1", "obstacle.0.shape.sphere.radius: -0.1 is", "> 0"),
        ("[[obstacle]]\nshape.box.size = [1, 0, 1]", "obstacle.0.shape.box.size.1: 0 is", "> 0"),
        ("[[obstacle]]\nshape.cylinder = { radius = 1, height = -1 }", "cylinder.height: -1 is", "> 0"),
        ("[[obstacle]]\nshape.mesh = { path = \"a\", scale = 0 }", "shape.mesh.scale: 0 is", "> 0"),
        ("[output]\ncheckpoint_frames = 0", "output.checkpoint_frames: 0 is", "≥ 1"),
    ] {
        let text = if text.starts_with("[grid]") { text.to_owned() } else { format!("{grid}{text}") };
        check(text).refuses(3, &[key, "out of range; it must be", limit]);
    }
    check(format!("{grid}[scene]\ngravity = [0, 3, 0]")).succeeds();
    check(format!("{grid}[scene]\ngravity = [0, 0, 0]")).succeeds();
}

/// Rules between keys.
#[test]
fn keys_that_contradict_each_other() {
    let body = "[[obstacle]]\nshape.sphere.radius = 0.1\nposition = [0, 0.5, 0]\n";
    for (text, fragments) in [
        ("[[obstacle]]\nshape.torus = { major = 0.1, minor = 0.2 }", ["shape.torus.minor", "smaller than the ring's"]),
        ("[time]\nmin_dt = 1", ["time.min_dt", "longer than the longest step"]),
        ("[scene]\nname = \"a/b\"", ["scene.name", "is no usable name"]),
        (
            "[[obstacle]]\nname = \"water\"\nshape.sphere.radius = 0.1",
            ["obstacle.0.name", "is what files of the fluid are called"],
        ),
        ("[[obstacle]]\nshape = {}", ["obstacle.0.shape", "give exactly one of `box`, `sphere`"]),
        (
            "[walls]\nx_min = { inflow = { velocity = [2, 0, 0] } }",
            ["walls.x_min", "incompatible sources: 1.280e0 m³/s enter"],
        ),
    ] {
        let tiny = TINY.replace("[time]\nframes = 3\n", "").replace("[8, 12, 8]", "[8, 8, 8]");
        check(format!("{tiny}{text}")).refuses(3, &fragments);
    }
    for (text, fragments) in [
        ("rotation = { axis = [0, 0, 0], degrees = 3 }", ["obstacle.0.rotation.axis", "needs a direction"]),
        ("keyframes = [{ time = 0, position = [0, 0, 0] }]", ["obstacle.0.position", "exclude each other"]),
        (body, ["obstacle.1.name", ""]),
    ] {
        let name = if text == body { "name = \"obstacle-1\"\n" } else { "" };
        let code = check(format!("{TINY}{body}{name}{text}"));
        code.refuses(3, &fragments);
    }
    check(format!("{TINY}[[obstacle]]\nshape.sphere.radius = 0.1\nkeyframes = [{{ time = 1, position = [0, 0, 0] }}, {{ time = 1, position = [0, 1, 0] }}]"))
        .refuses(3, &["obstacle.0.keyframes.1.time", "not after the key before it"]);
    let flat = "[grid]\ncells = [8, 8, 1]\ndx = 0.1\n[walls]\nz_max = \"open\"";
    check(flat).refuses(3, &["walls.z_max", "it must be closed"]);
    check("[grid]\ncells = [8, 8, 8]\ndx = 0.1\nsize = 1").refuses(3, &["s.toml:4:8: grid.size: `dx` and `size`"]);
}

/// Row 8: depth and number.
#[test]
fn monsters_are_refused_quickly() {
    let begun = Instant::now();
    for deep in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a.".repeat(100_000) + "a = 1",
        "a=".to_owned() + &"{a=".repeat(100_000),
    ] {
        check(deep).refuses(3, &["TOML syntax"]);
    }
    let many = format!("{TINY}[[obstacle]]\nshape.sphere.radius = 0.1\nat = [{}]", "[0,0,0],".repeat(100_000));
    check(many).refuses(7, &["obstacle: 100000 bodies are too many (limit 10000)"]);
    let entries = format!("{TINY}{}", "[[obstacle]]\nshape.sphere.radius = 0.1\n".repeat(1_000_000));
    check(entries).refuses(3, &["bytes are too many for a scene file"]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn changes_from_the_command_line_are_checked_like_the_file() {
    let place = Place::new();
    place.write("s.toml", TINY);
    let set = |changes: &[&str]| {
        let arguments: Vec<&str> =
            ["check", "s.toml"].into_iter().chain(changes.iter().flat_map(|c| ["--set", c])).collect();
        place.bathtub(&arguments)
    };
    assert!(set(&["grid.cells=[4,6,4]", "time.frames=7"]).succeeds().stdout.contains("4 x 6 x 4 = 96 cells"));
    set(&["grid.cels=[4,6,4]"]).refuses(3, &["--set #1:1:6: grid: unknown key `cels`; did you mean `cells`?"]);
    set(&["time.frames=1", "grid.dx=-1"]).refuses(3, &["--set #2:1:9: grid.dx: -1 is out of range"]);
    set(&["grid.dx=[1"]).refuses(3, &["--set #1:1:11: TOML syntax: unclosed array"]);
    set(&["grid.dx"]).refuses(3, &["--set #1:1:1: expected key=value"]);
    set(&["pressure.solver=multigird"]).refuses(3, &["--set #1:1:17: pressure.solver: unknown value", "`multigrid`"]);
}

#[test]
fn errors_can_be_read_by_programs() {
    let place = Place::new();
    place.write("s.toml", format!("{TINY}framse = 3"));
    let answer = place.bathtub(&["check", "s.toml", "--json-errors"]);
    let error: serde_json::Value = serde_json::from_str(&answer.stderr).unwrap();
    assert_eq!(answer.code, Some(3));
    let fields = ["code", "kind", "file", "line", "column", "key"].map(|f| error[f].clone());
    assert_eq!(serde_json::json!(fields), serde_json::json!([3, "scene", "s.toml", 6, 1, "time"]));
    assert!(error["message"].as_str().unwrap().contains("did you mean `frames`?"));
    let usage = place.bathtub(&["chekc", "--json-errors"]);
    let error: serde_json::Value = serde_json::from_str(&usage.stderr).unwrap();
    assert_eq!((usage.code, error["code"].as_i64()), (Some(2), Some(2)));
}
