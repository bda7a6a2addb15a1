//! A block with a spherical hole, as an OBJ file: a round container when it is larger than the domain.
//!
//! ```text
//! cargo run --release -p bathtub-engine --example container > scenes/verification/meshes/container.obj
//! ```
//!
//! The block is a cube with edges of 1.5 m, the hole a ball of radius 0.42 m in its middle, its triangles turned
//! inside out.

use bathtub_engine::geometry::Shape;
use glam::DVec3;

fn main() {
    let block = Shape::Box { size: DVec3::splat(1.5) }.surface(1.0);
    let hole = Shape::Sphere { radius: 0.42 }.surface(0.08);
    println!("# A block with a spherical hole; made by crates/engine/examples/container.rs");
    println!("o container");
    for v in block.vertices.iter().chain(&hole.vertices) {
        println!("v {:.6} {:.6} {:.6}", v.x, v.y, v.z);
    }
    for [a, b, c] in &block.triangles {
        println!("f {} {} {}", a + 1, b + 1, c + 1);
    }
    let first = block.vertices.len() as u32 + 1;
    for [a, b, c] in &hole.triangles {
        println!("f {} {} {}", a + first, c + first, b + first);
    }
}
