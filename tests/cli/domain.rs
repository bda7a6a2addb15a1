//! Rows 7, 20, 21 and 28: what fits into the machine and into the domain.

use crate::support::{Answer, Place, TINY, check};
use std::process::Command;

/// Row 7: refused before anything is allocated, in 256 MB of address space.
#[test]
fn grids_that_fit_into_no_machine() {
    let place = Place::new();
    for cells in ["[100000, 100000, 100000]", "[9223372036854775807, 9223372036854775807, 9223372036854775807]"] {
        place.write("s.toml", format!("[grid]\ncells = {cells}\ndx = 0.1"));
        for verb in ["check", "run"] {
            let limited = format!("ulimit -v 262144; exec {} {verb} s.toml", env!("CARGO_BIN_EXE_bathtub"));
            let output = Command::new("sh").args(["-c", &limited]).current_dir(place.root()).output().unwrap();
            Answer::from(output)
                .refuses(7, &["s.toml:2:9: grid.cells: ", "cells need about", "bytes", "use fewer cells"]);
        }
    }
    assert!(!place.path("out").exists());
}

/// A curved body is divided into triangles of a cell's size: too many of those are refused like too many cells.
#[test]
fn bodies_that_fit_into_no_machine() {
    check(format!("{TINY}[[obstacle]]\nshape.sphere.radius = 1e9"))
        .refuses(7, &["s.toml:6:1: obstacle: 2.5e21 triangles of a cell's size need about"]);
}

/// Row 20: the domain spans x and z from −0.4 to 0.4 m, y from 0 to 1.2 m.
#[test]
fn bodies_outside_the_domain() {
    for body in [
        "position = [0.6, 0.5, 0]\nshape.sphere.radius = 0.1",
        "position = [0, -0.2, 0]\nshape.box.size = [1, 0.2, 1]",
        "position = [0, 9, 0]\nshape.capsule = { radius = 0.1, height = 0.3 }",
        "shape.sphere.radius = 0.1\nkeyframes = [{ time = 0, position = [9, 0, 0] }, { time = 1, position = [0, 0, 0] }]",
        "shape.sphere.radius = 0.1\nposition = [0, 0.5, 0]\nat = [[0, 0, 0], [0, 0, 3]]",
    ] {
        check(format!("{TINY}[[obstacle]]\nname = \"b\"\n{body}"))
            .refuses(3, &["s.toml:6:1: obstacle.0: \"b", "starts outside the domain: it spans", "move it inside"]);
    }
}

/// Row 20: sticking out is fine, and so is leaving.
#[test]
fn bodies_that_stick_out_or_leave() {
    let place = Place::new();
    let body = "[[obstacle]]\nshape.sphere.radius = 0.2\nposition = [0.4, 0, 0]\nvelocity = [50, 0, 0]\n";
    place.write("s.toml", format!("{TINY}{body}"));
    place.bathtub(&["run", "s.toml", "--no-preview"]).succeeds();
}

/// Row 21: nothing but solid, no solid, no source.
#[test]
fn trivial_scenes_run() {
    let place = Place::new();
    place.write("empty.toml", TINY);
    let solid = "[[obstacle]]\nshape.box.size = [9, 9, 9]\n";
    place.write("solid.toml", format!("{TINY}{solid}"));
    place.bathtub(&["run", "empty.toml", "--no-preview"]).succeeds();
    place.bathtub(&["run", "solid.toml", "--no-preview"]).succeeds();
}

/// Row 28.
#[test]
fn sources_that_can_emit_nothing() {
    let solid = "[[obstacle]]\nshape.sphere.radius = 0.3\nposition = [0, 0.6, 0]\n";
    let source = |y: f64| {
        format!("{TINY}{solid}[[source]]\nname = \"vent\"\nshape.sphere.radius = 0.12\nposition = [0, {y}, 0]")
    };
    check(source(0.6)).refuses(3, &["s.toml:9:1: source.0: \"vent\" lies entirely inside a solid"]);
    check(source(7.0)).refuses(3, &["source.0: \"vent\" starts outside the domain"]);
    check(source(0.3)).succeeds();
}

#[test]
fn a_check_tells_what_the_scene_needs() {
    let answer = check(TINY);
    answer.succeeds();
    for fragment in [
        "s: a valid scene",
        "8 x 12 x 8 = 768 cells",
        "memory     about",
        "frames     3 at 24 per second",
        "solver     Multigrid",
    ] {
        assert!(answer.stdout.contains(fragment), "{fragment:?} is not in {}", answer.stdout);
    }
}

/// Row 42: what `check` announces is what a run takes.
#[test]
fn the_announced_memory_is_needed() {
    let place = Place::new();
    place.write(
        "s.toml",
        "[grid]\ncells = [96, 96, 96]\ndx = 0.01\n[time]\nframes = 3\n[output]\ncheckpoint_frames = 1\n[render]\nsamples = 1\n",
    );
    let Some([announced, peak]) = place.memory("s.toml") else { return };
    assert!((announced / peak - 1.0).abs() < 0.2, "announced {announced} MiB, taken {peak} MiB");
}

/// Row 42: smoke that is drawn, around a solid that turns.
#[test]
fn the_announced_memory_of_pictures_is_needed() {
    let place = Place::new();
    let scene = "[grid]\ncells = [48, 64, 48]\nsize = 1.0\n[time]\nframes = 4\n[render]\nsamples = 1\n\
                 [[source]]\nshape.box.size = [0.6, 0.6, 0.6]\nposition = [0, 0.4, 0]\n\
                 [[obstacle]]\nshape.box.size = [0.3, 0.1, 0.2]\nposition = [0, 0.8, 0]\n\
                 spin = { axis = [0, 0, 1], degrees_per_second = 90 }\n";
    place.write("s.toml", scene);
    let Some([announced, peak]) = place.memory("s.toml") else { return };
    assert!((announced / peak - 1.0).abs() < 0.2, "announced {announced} MiB, taken {peak} MiB");
}

/// A flat scene is a scene like any other.
#[test]
fn a_flat_scene_runs() {
    let place = Place::new();
    let body = "[[obstacle]]\nshape.box.size = [0.3, 0.05, 1]\nposition = [0, 0.4, 0]\nspin = { axis = [0, 0, 1], degrees_per_second = 90 }\n";
    let source = "[[source]]\nshape.sphere.radius = 0.1\nposition = [0.2, 0.2, 0]\n";
    let scene = format!(
        "[grid]\ncells = [16, 16, 1]\nsize = 0.8\n[time]\nframes = 2\n[render]\nsize = [64, 64]\n{body}{source}"
    );
    place.write("flat.toml", scene);
    place.bathtub(&["run", "flat.toml"]).succeeds();
    assert!(place.path("out/flat/preview/frame_0002.png").is_file());
}
