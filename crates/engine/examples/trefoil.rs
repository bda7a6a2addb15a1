//! A trefoil knot for smoke to rise through, as an OBJ file:
//!
//! ```text
//! cargo run --release -p bathtub-engine --example trefoil > scenes/start/meshes/trefoil.obj
//! ```
//!
//! A round tube about the curve (sin t + 2 sin 2t, −sin 3t, cos t − 2 cos 2t), scaled to fit a ball of radius 1 m, its
//! axis along y.

use glam::DVec3;
use std::f64::consts::TAU;

/// Rings along the curve and corners around it.
const RINGS: usize = 240;
const CORNERS: usize = 16;
/// Thickness of the tube relative to the curve, whose outermost point is at distance 3.
const TUBE: f64 = 0.42;
/// Points at which the curve's length is measured.
const FINE: usize = 1 << 14;

fn curve(t: f64) -> DVec3 {
    DVec3::new(t.sin() + 2.0 * (2.0 * t).sin(), -(3.0 * t).sin(), t.cos() - 2.0 * (2.0 * t).cos())
}

fn tangent(t: f64) -> DVec3 {
    DVec3::new(t.cos() + 4.0 * (2.0 * t).cos(), -3.0 * (3.0 * t).cos(), -t.sin() + 4.0 * (2.0 * t).sin()).normalize()
}

/// Across the curve, towards the inside of its bend.
fn normal(t: f64) -> DVec3 {
    let bend = DVec3::new(-t.sin() - 8.0 * (2.0 * t).sin(), 9.0 * (3.0 * t).sin(), -t.cos() + 8.0 * (2.0 * t).cos());
    bend.reject_from_normalized(tangent(t)).normalize()
}

/// Parameters of `RINGS` points equally far apart along the curve.
fn even_parameters() -> Vec<f64> {
    let at = |i: usize| TAU * i as f64 / FINE as f64;
    let mut lengths = vec![0.0];
    for i in 0..FINE {
        lengths.push(lengths[i] + curve(at(i)).distance(curve(at(i + 1))));
    }
    let ring = |r: usize| {
        let wanted = lengths[FINE] * r as f64 / RINGS as f64;
        let i = lengths.partition_point(|&length| length <= wanted) - 1;
        at(i) + TAU / FINE as f64 * (wanted - lengths[i]) / (lengths[i + 1] - lengths[i])
    };
    (0..RINGS).map(ring).collect()
}

fn main() {
    println!("# Trefoil knot, {} triangles; made by crates/engine/examples/trefoil.rs", 2 * RINGS * CORNERS);
    println!("o trefoil");
    for t in even_parameters() {
        let (across, up) = (normal(t), tangent(t).cross(normal(t)));
        for c in 0..CORNERS {
            let (sin, cos) = (TAU * c as f64 / CORNERS as f64).sin_cos();
            let v = (curve(t) + TUBE * (cos * across + sin * up)) / (3.0 + TUBE);
            println!("v {:.5} {:.5} {:.5}", v.x, v.y, v.z);
        }
    }
    for r in 0..RINGS {
        for c in 0..CORNERS {
            let vertex = |r: usize, c: usize| 1 + (r % RINGS) * CORNERS + c % CORNERS;
            let [a, b, d, e] = [vertex(r, c), vertex(r, c + 1), vertex(r + 1, c), vertex(r + 1, c + 1)];
            println!("f {a} {b} {e}\nf {a} {e} {d}");
        }
    }
}
