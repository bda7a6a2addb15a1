//! Beams and materials.

use bathtub_engine::geometry::TetMesh;
use bathtub_engine::solid::{ElasticBody, Material, Pin};
use bathtub_engine::solve::{SparseCholesky, SparseSymmetric};
use glam::{DMat3, DVec3};

/// Rubber of the beams of rows F4 to F6.
pub const RUBBER: Material =
    Material { youngs_modulus: 1e6, poisson_ratio: 0.3, density: 1000.0, mass_damping: 0.0, stiffness_damping: 0.0 };

/// A box from the origin to `size`, cut into cells, each cut into six tetrahedra around its diagonal (Kuhn).
pub fn kuhn(cells: [usize; 3], size: DVec3) -> TetMesh {
    let [nx, ny, nz] = cells;
    let mut mesh = TetMesh::default();
    let step = size / DVec3::new(nx as f64, ny as f64, nz as f64);
    for (z, y, x) in lattice([nz + 1, ny + 1, nx + 1]) {
        mesh.vertices.push(step * DVec3::new(x as f64, y as f64, z as f64));
    }
    for (z, y, x) in lattice([nz, ny, nx]) {
        let corner = |n: usize| (x + (n & 1)) + (nx + 1) * ((y + (n >> 1 & 1)) + (ny + 1) * (z + (n >> 2)));
        let paths = [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]];
        mesh.tetrahedra.extend(paths.map(|[a, b]| [0, a, b, 7].map(|n| corner(n) as u32)));
    }
    mesh
}

fn lattice([n, m, l]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..n).flat_map(move |i| (0..m).flat_map(move |j| (0..l).map(move |k| (i, j, k))))
}

/// A cube of 3³ cells and 1 m.
pub fn cube() -> TetMesh {
    kuhn([3; 3], DVec3::ONE)
}

/// The cantilever of row F4: 1 m long, 0.1 m high and wide.
pub fn cantilever(cells: [usize; 3]) -> TetMesh {
    kuhn(cells, DVec3::new(1.0, 0.1, 0.1))
}

pub fn body(mesh: TetMesh, material: Material) -> ElasticBody {
    ElasticBody::new(mesh, material, [false; 3]).expect("a good mesh")
}

/// Pins that hold the vertices at x = 0.
pub fn root(mesh: &TetMesh) -> Vec<Pin> {
    let at_root = |&(_, v): &(usize, &DVec3)| v.x == 0.0;
    let hold = |(vertex, _)| Pin { vertex, velocity: DVec3::ZERO };
    mesh.vertices.iter().enumerate().filter(at_root).map(hold).collect()
}

/// A vector for every vertex that looks like noise.
pub fn noise(n: usize, seed: f64) -> Vec<DVec3> {
    let wave = |i: usize| DVec3::new(12.9898, 78.233, 37.719) * (i as f64 + 1.0 + seed);
    (0..n)
        .map(|i| DVec3::from(wave(i).to_array().map(|a| 2.0 * (a.sin() * 43758.5453).rem_euclid(1.0) - 1.0)))
        .collect()
}

/// K of a body at rest.
pub fn rest_stiffness(body: &mut ElasticBody) -> SparseSymmetric {
    body.predict(1e-3, DVec3::ZERO, &[]).expect("at rest");
    body.stiffness().clone()
}

/// The matrix with the identity in place of held rows and columns, factorised.
pub fn held(mut matrix: SparseSymmetric, body: &ElasticBody) -> SparseCholesky {
    let free = body.movable();
    for i in 0..matrix.rows() {
        for k in matrix.row(i) {
            let j = matrix.columns()[k] as usize;
            matrix.blocks[k] = DMat3::from_diagonal(free[i]) * matrix.blocks[k] * DMat3::from_diagonal(free[j]);
        }
        let k = matrix.position(i, i).expect("diagonal");
        matrix.blocks[k] += DMat3::from_diagonal(DVec3::ONE - free[i]);
    }
    let mut cholesky = SparseCholesky::new(&matrix, &body.rest().vertices);
    cholesky.factorise(&matrix).expect("positive definite once held");
    cholesky
}

pub fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors.iter().flat_map(|v| v.to_array()).collect()
}

pub fn vectors(flat: &[f64]) -> Vec<DVec3> {
    flat.chunks_exact(3).map(DVec3::from_slice).collect()
}

pub fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}
