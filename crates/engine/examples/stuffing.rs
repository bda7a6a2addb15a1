//! How long it takes to fill shapes with tetrahedra, and how good they are (docs/methods/tetrahedra.md):
//! `cargo run --release -p bathtub-engine --example stuffing`.

use bathtub_engine::geometry::{Shape, TetMesh};
use glam::{DQuat, DVec3};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let ball = Shape::Sphere { radius: 0.5 };
    let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, 0.2));
    let cube = Shape::Box { size: DVec3::ONE }.surface(1.0).mapped(|v| turn * v);
    let lumps = ball.surface(0.008).mapped(|v| {
        let waves = (14.0 * v + DVec3::new(1.0, 2.0, 3.0)).to_array().map(f64::sin);
        v * (1.0 + 0.4 * waves.iter().product::<f64>())
    });
    println!("the lumpy ball has {} triangles", lumps.triangles.len());
    let shapes = [
        ("ball", ball),
        ("ring", Shape::Torus { major: 0.5, minor: 0.2 }),
        ("cylinder", Shape::Cylinder { radius: 0.4, height: 0.9 }),
        ("turned cube", Shape::Mesh(Arc::new(cube))),
        ("lumpy ball", Shape::Mesh(Arc::new(lumps))),
    ];
    for (name, shape) in shapes {
        for size in [0.16, 0.08, 0.04, 0.02] {
            let start = Instant::now();
            match TetMesh::stuff(&shape, size) {
                Ok((mesh, warnings)) => {
                    let seconds = start.elapsed().as_secs_f64();
                    let error = 100.0 * (mesh.volume() / shape.volume() - 1.0);
                    println!("{name}, {size} m: {}, volume {error:+.3} %, {seconds:.3} s", mesh.quality());
                    warnings.iter().for_each(|warning| println!("  {warning}"));
                }
                Err(error) => println!("{name}, {size} m: {error}"),
            }
        }
    }
}
