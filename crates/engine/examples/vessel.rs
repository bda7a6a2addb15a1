//! Vessels for water, as OBJ files:
//!
//! ```text
//! cargo run --release -p bathtub-engine --example vessel glass > scenes/water/meshes/glass.obj
//! cargo run --release -p bathtub-engine --example vessel basin > scenes/water/meshes/basin.obj
//! ```
//!
//! A profile turned about the y axis, as on a lathe: up the outside from the middle of the foot, over the rim, and down
//! the inside to the middle of the bottom. Dimensions in metres; each stands on y = 0.

use std::f64::consts::TAU;

/// Corners around the axis.
const CORNERS: usize = 96;

/// Steps along the half circle of the rim.
const RIM: usize = 8;

/// A vessel with straight walls.
struct Vessel {
    name: &'static str,
    /// Outer radius at the foot and at the rim.
    foot: f64,
    rim: f64,
    height: f64,
    /// Thickness of the wall and of the bottom.
    wall: f64,
    bottom: f64,
    /// How far the inner edge of the bottom is rounded.
    round: f64,
    /// Factors along x and z.
    stretch: [f64; 2],
}

const VESSELS: [Vessel; 2] = [
    Vessel {
        name: "glass",
        foot: 0.038,
        rim: 0.045,
        height: 0.12,
        wall: 0.005,
        bottom: 0.01,
        round: 0.008,
        stretch: [1.0, 1.0],
    },
    Vessel {
        name: "basin",
        foot: 0.28,
        rim: 0.34,
        height: 0.24,
        wall: 0.034,
        bottom: 0.04,
        round: 0.09,
        stretch: [1.25, 0.85],
    },
];

impl Vessel {
    /// Radius and height of the profile's points between the two on the axis.
    fn profile(&self) -> Vec<[f64; 2]> {
        let half = 0.5 * self.wall;
        // The middle of the rim; the walls lean outwards with the same slope inside and outside.
        let (middle, top) = (self.rim - half, self.height - half);
        let slope = (self.rim - self.foot) / top;
        let outer = |y: f64| self.rim - slope * (top - y);
        let inner = |y: f64| outer(y) - self.wall;
        // Rings where the walls' curved ends begin keep the shading of these ends off the walls.
        let near_rim = top - self.wall;
        let mut points = vec![[self.foot, 0.0], [outer(near_rim), near_rim]];
        points.extend((0..=RIM).map(|i| {
            let (sin, cos) = (0.5 * TAU * i as f64 / RIM as f64).sin_cos();
            [middle + half * cos, top + half * sin]
        }));
        let near_bottom = self.bottom + self.round + self.wall;
        points.extend([near_rim, near_bottom].map(|y| [inner(y), y]));
        points.extend((0..=RIM).map(|i| {
            let (sin, cos) = (0.25 * TAU * i as f64 / RIM as f64).sin_cos();
            let y = self.bottom + self.round * (1.0 - sin);
            [inner(y) - self.round * (1.0 - cos), y]
        }));
        points
    }

    fn print(&self) {
        let rings = self.profile();
        println!("# A {} about the y axis; made by crates/engine/examples/vessel.rs", self.name);
        println!("o {}", self.name);
        for [r, y] in &rings {
            for c in 0..CORNERS {
                let (sin, cos) = (TAU * c as f64 / CORNERS as f64).sin_cos();
                println!("v {:.5} {:.5} {:.5}", self.stretch[0] * r * cos, y, self.stretch[1] * r * sin);
            }
        }
        println!("v 0 0 0\nv 0 {:.5} 0", self.bottom);
        let vertex = |ring: usize, c: usize| 1 + ring * CORNERS + c % CORNERS;
        let (foot, bottom) = (1 + rings.len() * CORNERS, 2 + rings.len() * CORNERS);
        for c in 0..CORNERS {
            println!("f {foot} {} {}", vertex(0, c), vertex(0, c + 1));
            println!("f {bottom} {} {}", vertex(rings.len() - 1, c + 1), vertex(rings.len() - 1, c));
            for ring in 1..rings.len() {
                let [a, b] = [vertex(ring - 1, c), vertex(ring - 1, c + 1)];
                let [d, e] = [vertex(ring, c), vertex(ring, c + 1)];
                println!("f {a} {d} {e}\nf {a} {e} {b}");
            }
        }
    }
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    match VESSELS.iter().find(|vessel| vessel.name == wanted) {
        Some(vessel) => vessel.print(),
        None => eprintln!("name one of: {}", VESSELS.map(|vessel| vessel.name).join(", ")),
    }
}
