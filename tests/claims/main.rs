//! What the papers say of their scenes holds for ours, at the size they come in: `cargo test --test claims`.
//!
//! Each scene takes minutes, so these are not among the tests that run by default.

mod ljf16;
#[path = "../support/mod.rs"]
mod support;
mod zb17;

use bathtub_engine::report::{BodyReport, StepReport};
use bathtub_engine::world::World;
use bathtub_scene::{LoadOptions, load};
use std::path::Path;

/// Run a scene to its end and show the world `at_frame` after each frame; its reports are the lines of `stats.jsonl`.
fn play(name: &str, mut at_frame: impl FnMut(&World)) -> Vec<StepReport> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/papers").join(name).with_extension("toml");
    let scene = load(&path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(scene.params).unwrap();
    let mut reports: Vec<StepReport> = Vec::new();
    let mut frame = 0;
    while (frame as i64) < scene.file.time.frames {
        reports.push(world.step().unwrap_or_else(|error| panic!("{name}: {error}")));
        if world.state().frame > frame {
            frame = world.state().frame;
            at_frame(&world);
        }
    }
    let volume = |report: &StepReport| report.fluid.volume;
    let [first, last] = [reports.first().unwrap(), reports.last().unwrap()].map(volume);
    assert!((last / first - 1.0).abs() <= 0.02, "{name}: the water's volume goes from {first} to {last} m³");
    reports
}

/// What a body of a scene does: time and report of each step.
fn of<'a>(reports: &'a [StepReport], name: &str) -> Vec<(f64, &'a BodyReport)> {
    let body = |report: &'a StepReport| report.bodies.iter().find(|body| body.name == name).unwrap();
    reports.iter().map(|report| (report.t, body(report))).collect()
}
