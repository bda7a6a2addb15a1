//! Rows 22, 25, 29 to 31 and 50 with free bodies: what cannot go on says so and keeps its last good state, all else stays finite.

use crate::support::{Answer, Place};
use serde_json::Value;
use std::fs;

/// A ball in water.
const SCENE: &str = "\
[grid]
cells = [8, 12, 8]
dx = 0.1
[time]
frames = 4
[[liquid]]
level = 0.6
[[body]]
name = \"ball\"
shape.sphere.radius = 0.15
position = [0, 0.6, 0]
density = 500
";

const INTERFACES: [&str; 2] = ["cut-cells", "faces"];

fn run(place: &Place, scene: &str, changes: &[&str]) -> Answer {
    place.write("s.toml", scene);
    let set = changes.iter().flat_map(|change| ["--set", change]);
    let arguments: Vec<&str> = ["run", "s.toml", "--no-preview", "-q", "--overwrite"].into_iter().chain(set).collect();
    place.bathtub(&arguments)
}

fn steps(place: &Place) -> Vec<Value> {
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    stats.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn checkpoints(place: &Place) -> usize {
    fs::read_dir(place.path("out/s/checkpoints")).unwrap().count()
}

/// No number of a step is missing: JSON writes those that are not finite as null.
#[track_caller]
fn is_finite(step: &Value) {
    for body in step["bodies"].as_array().unwrap() {
        for key in ["position", "velocity", "angular_velocity", "impulse", "torque_impulse"] {
            assert!(body[key].as_array().unwrap().iter().all(|v| v.as_f64().is_some_and(f64::is_finite)), "{step}");
        }
    }
    for number in [&step["max_speed"], &step["div_inf"], &step["fluid"]["kinetic"]] {
        assert!(number.as_f64().is_some_and(f64::is_finite), "{step}");
    }
}

/// Row 22: a box full of water has no surface, with a body in it neither: told, and it runs.
#[test]
fn a_full_box_with_a_body_is_a_closed_region() {
    let place = Place::new();
    for interface in INTERFACES {
        let scene = format!("{}interface = \"{interface}\"\n", SCENE.replace("level = 0.6", "level = 1.2"));
        run(&place, &scene, &[]).succeeds();
        for step in steps(&place) {
            is_finite(&step);
            let regions = step["regions"].as_array().unwrap();
            assert!(!regions.is_empty(), "{interface}: {step}");
            assert!(step["solver"]["converged"].as_bool().unwrap(), "{interface}: {step}");
        }
    }
}

/// Row 25: half a cell of water between a body and a wall, and between two bodies.
#[test]
fn narrow_gaps_stay_finite() {
    let place = Place::new();
    for interface in INTERFACES {
        let cube = |name: &str, x: f64| {
            format!(
                "[[body]]\nname = \"{name}\"\nshape.box.size = [0.25, 0.3, 0.3]\nposition = [{x}, 0.4, 0]\ndensity = 800\ninterface = \"{interface}\"\n"
            )
        };
        let tank = SCENE.split("[[body]]").next().unwrap();
        // The wall is at −0.4 m: gaps of 0.05 m, half a cell.
        let scene = format!("{tank}{}{}", cube("left", -0.225), cube("right", 0.075));
        run(&place, &scene, &[]).succeeds();
        for step in steps(&place) {
            is_finite(&step);
            assert!(step["max_speed"].as_f64().unwrap() < 20.0, "{interface}: {step}");
        }
    }
}

/// Rows 29 and 30: a body too fast for any time step, and a weight that makes it so, end the run; the last good state is kept.
#[test]
fn explosive_bodies_end_the_run() {
    let place = Place::new();
    for interface in INTERFACES {
        let scene = format!("{SCENE}interface = \"{interface}\"\n");
        for change in ["body.ball.velocity=[0,1e12,0]", "scene.gravity=[0,-1e20,0]"] {
            let answer = run(&place, &scene, &[change, "time.frames=20"]);
            assert_eq!(answer.code, Some(6), "{interface}, {change}: {}", answer.stderr);
            assert!(answer.stderr.contains("the last good state is in out/s/checkpoints/"), "{}", answer.stderr);
            assert!(checkpoints(&place) > 0);
            steps(&place).iter().for_each(|step| is_finite(step));
        }
        run(&place, &scene, &["body.ball.velocity=[0,1e12,0]"])
            .refuses(6, &["step 1: the time step fell to", "of solid \"ball\""]);
    }
}

/// Row 31.
#[test]
fn an_unconverged_coupled_solve_ends_a_strict_run() {
    let place = Place::new();
    for interface in INTERFACES {
        let scene = format!("{SCENE}interface = \"{interface}\"\n");
        for solver in ["multigrid", "cg", "cg-schur", "icpcg", "a18-p1"] {
            let solver = format!("pressure.solver={solver}");
            let lenient = [&solver, "pressure.max_iterations=1", "pressure.tolerance=1e-12", "time.frames=2"];
            run(&place, &scene, &lenient).succeeds();
            let steps = steps(&place);
            assert!(steps.iter().any(|step| step["solver"]["converged"] == false), "{solver}");
            steps.iter().for_each(|step| is_finite(step));
            let strict = [&lenient[..], &["pressure.strict=true"]].concat();
            run(&place, &scene, &strict).refuses(6, &["pressure solve: not converged: residual", "after 1 iterations"]);
        }
    }
}

/// Row 50: tiny and huge cells, light and heavy bodies, no weight and a million m/s².
#[test]
fn extreme_scales_stay_finite_or_end_the_run() {
    let place = Place::new();
    for interface in INTERFACES {
        for dx in [1e-6, 1e6] {
            let scene = format!(
                "[scene]\ngravity = [0, 0, 0]\n[grid]\ncells = [8, 12, 8]\ndx = {dx:e}\n[time]\nframes = 2\n[[liquid]]\nlevel = {:e}\n\
                 [[body]]\nname = \"ball\"\nshape.sphere.radius = {:e}\nposition = [0, {:e}, 0]\nvelocity = [0, {:e}, 0]\n\
                 density = 500\ninterface = \"{interface}\"\n",
                6.0 * dx,
                1.5 * dx,
                6.0 * dx,
                dx,
            );
            run(&place, &scene, &[]).succeeds();
            steps(&place).iter().for_each(|step| is_finite(step));
        }
        let scene = format!("{SCENE}interface = \"{interface}\"\n");
        for (density, gravity) in [("1e-3", "-9.81"), ("1e12", "-9.81"), ("500", "0"), ("500", "-1e6")] {
            let changes = [format!("body.ball.density={density}"), format!("scene.gravity=[0,{gravity},0]")];
            let answer = run(&place, &scene, &[&changes[0], &changes[1], "time.frames=2", "time.fps=1000"]);
            assert!(matches!(answer.code, Some(0 | 6)), "{interface}, {changes:?}: {}", answer.stderr);
            steps(&place).iter().for_each(|step| is_finite(step));
        }
    }
}

/// Once a body has left through an open side its speed limits no step.
#[test]
fn a_body_that_has_left_costs_no_steps() {
    let place = Place::new();
    let tank = SCENE.split("[[liquid]]").next().unwrap();
    for interface in INTERFACES {
        let ball = "[[body]]\nname = \"ball\"\nshape.sphere.radius = 0.15\nposition = [0.2, 0.6, 0]\nvelocity = [30, 0, 0]\ndensity = 500\n";
        let scene = format!("{tank}[walls]\nx_max = \"open\"\n{ball}interface = \"{interface}\"\n");
        run(&place, &scene, &["time.frames=8"]).succeeds();
        let steps = steps(&place);
        let left = steps.iter().position(|step| step["events"].to_string().contains("left the domain")).unwrap();
        let longest = steps[left + 1..].iter().map(|step| step["dt"].as_f64().unwrap()).fold(0.0, f64::max);
        // Two cells at 30 m/s take 6.7 ms.
        assert!(longest > 0.01, "{interface}: {longest} s");
    }
}
