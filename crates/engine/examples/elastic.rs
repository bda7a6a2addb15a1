//! How long an elastic body takes: assembling, factorising and solving, for beams of growing size.
//!
//!     cargo run --release -p bathtub-engine --example elastic

use bathtub_engine::geometry::TetMesh;
use bathtub_engine::solid::{ElasticBody, Material};
use bathtub_engine::solve::SparseCholesky;
use glam::{DVec3, UVec3};
use std::time::Instant;

/// A box of unit cubes, each cut into six tetrahedra around its diagonal.
fn block(size: UVec3) -> TetMesh {
    let [nx, ny, nz] = size.to_array();
    let at = |x: u32, y: u32, z: u32| x + (nx + 1) * (y + (ny + 1) * z);
    let mut mesh = TetMesh::default();
    for (z, y, x) in grid(nz + 1, ny + 1, nx + 1) {
        mesh.vertices.push(DVec3::new(x as f64, y as f64, z as f64));
    }
    for (z, y, x) in grid(nz, ny, nx) {
        let corner = |n: u32| at(x + (n & 1), y + (n >> 1 & 1), z + (n >> 2 & 1));
        let paths = [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]];
        mesh.tetrahedra.extend(paths.map(|[a, b]| [0, a, b, 7].map(corner)));
    }
    mesh
}

fn grid(nz: u32, ny: u32, nx: u32) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..nz).flat_map(move |z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (z, y, x))))
}

/// The least time of several, ms.
fn least(times: usize, mut what: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        what();
        1e3 * start.elapsed().as_secs_f64()
    };
    (0..times).map(once).fold(f64::INFINITY, f64::min)
}

fn main() {
    let material = Material {
        youngs_modulus: 1e5,
        poisson_ratio: 0.3,
        density: 1000.0,
        mass_damping: 0.0,
        stiffness_damping: 0.01,
    };
    println!("vertices   tets  factor entries  new ms  predict ms  factor ms  solve ms  energy ms");
    for [x, y, z] in [[8, 8, 8], [14, 6, 6], [13, 13, 13], [20, 21, 20]] {
        let mesh = block(UVec3::new(x, y, z));
        let (vertices, tetrahedra) = (mesh.vertices.len(), mesh.tetrahedra.len());
        let start = Instant::now();
        let mut body = ElasticBody::new(mesh, material, [false; 3]).expect("a box");
        let new = 1e3 * start.elapsed().as_secs_f64();
        let predict = least(5, || {
            body.predict(0.01, DVec3::NEG_Y, &[]).expect("soft");
            body.advance(0.01);
        });
        let mut cholesky = SparseCholesky::new(body.system(), &body.rest().vertices);
        let factor = least(5, || cholesky.factorise(body.system()).expect("positive definite"));
        let mut x = vec![1.0; 3 * vertices];
        let solve = least(20, || body.respond(&mut x));
        let energy = least(5, || assert!(body.elastic_energy() >= 0.0));
        println!(
            "{vertices:8} {tetrahedra:6} {:15} {new:7.1} {predict:11.2} {factor:10.2} {solve:9.3} {energy:10.3}",
            body.factor().entries()
        );
    }
}
