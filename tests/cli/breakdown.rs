//! Rows 23, 29 to 31 and 50: simulations that cannot go on say so, and keep their last good state.

use crate::support::{Answer, Place};
use std::fs;

const SCENE: &str = "\
[grid]
cells = [8, 12, 8]
dx = 0.1
[time]
frames = 4
[walls]
y_max = \"open\"
[[source]]
name = \"vent\"
shape.sphere.radius = 0.2
position = [0, 0.3, 0]
temperature = 100
";

fn run(place: &Place, changes: &[&str]) -> Answer {
    place.write("s.toml", SCENE);
    let set = changes.iter().flat_map(|change| ["--set", change]);
    let arguments: Vec<&str> = ["run", "s.toml", "--no-preview", "-q", "--overwrite"].into_iter().chain(set).collect();
    place.bathtub(&arguments)
}

fn checkpoints(place: &Place) -> usize {
    fs::read_dir(place.path("out/s/checkpoints")).unwrap().count()
}

/// Row 30.
#[test]
fn a_collapsing_time_step_ends_the_run() {
    let place = Place::new();
    let answer = run(&place, &["source.vent.velocity=[0,1e7,0]"]);
    answer
        .refuses(6, &["step 1: the time step fell to", "of a source", "the last good state is in out/s/checkpoints/"]);
    assert_eq!(checkpoints(&place), 1);
    place.bathtub(&["resume", "out/s", "--no-preview", "-q"]).refuses(6, &["step 1: the time step fell to"]);
}

/// Rows 29 and 50: numbers that overflow on the way are named, whatever stage they appear in.
#[test]
fn numbers_that_overflow_end_the_run() {
    let place = Place::new();
    for change in ["scene.gravity=[0,-1e300,0]", "smoke.acceleration=[1e308,0,0]", "source.vent.temperature=1e308"] {
        let answer = run(&place, &[change, "time.frames=20"]);
        assert_eq!(answer.code, Some(6), "{change}: {}", answer.stderr);
        assert!(checkpoints(&place) > 0);
    }
}

/// Row 50: extreme but sensible scales run.
#[test]
fn extreme_scales_run() {
    let place = Place::new();
    for dx in ["1e-9", "1e9"] {
        let size: f64 = dx.parse().unwrap();
        let radius = format!("source.vent.shape.sphere.radius={:e}", 2.0 * size);
        let position = format!("source.vent.position=[0,{:e},0]", 4.0 * size);
        let answer = run(&place, &[&format!("grid.dx={dx}"), &radius, &position, "scene.gravity=[0,0,0]"]);
        answer.succeeds();
    }
}

/// Row 31: one iteration does not reach the tolerance; that ends the run only if it is told to be strict.
#[test]
fn an_unconverged_solve_ends_a_strict_run() {
    let place = Place::new();
    let lenient = ["pressure.solver=cg", "pressure.max_iterations=1", "pressure.tolerance=1e-12"];
    run(&place, &lenient).succeeds();
    let stats = fs::read_to_string(place.path("out/s/stats.jsonl")).unwrap();
    assert!(stats.contains("\"converged\":false"));
    let strict = [&lenient[..], &["pressure.strict=true"]].concat();
    run(&place, &strict)
        .refuses(6, &["pressure solve: not converged: residual", "after 1 iterations (tolerance 1.0e-12)"]);
}
