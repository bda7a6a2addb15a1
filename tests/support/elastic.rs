//! Elastic bodies to test with.

use bathtub_engine::geometry::{Shape, TetMesh, TriMesh};
use bathtub_engine::solid::elastic::Elastic;
use bathtub_engine::solid::{ElasticBody, Material};
use bathtub_engine::world::World;
use glam::DVec3;
use std::sync::Arc;

/// A material without damping: Young's modulus (Pa), Poisson's ratio, density (kg/m³).
pub fn material(youngs_modulus: f64, poisson_ratio: f64, density: f64) -> Material {
    Material { youngs_modulus, poisson_ratio, density, mass_damping: 0.0, stiffness_damping: 0.0 }
}

/// A body at rest in the shape of a mesh.
pub fn elastic(name: &str, rest: TetMesh, material: Material) -> Elastic {
    Elastic::new(name, rest, material)
}

/// A ball of tetrahedra with edges of about `size` (m).
pub fn ball(radius: f64, centre: DVec3, size: f64) -> TetMesh {
    TetMesh::stuff(&Shape::Sphere { radius }, size).unwrap().0.mapped(|v| v + centre)
}

/// What is between two balls about one centre.
pub fn shell(inner: f64, outer: f64, centre: DVec3, size: f64) -> TetMesh {
    let [inside, outside] = [inner, outer].map(|radius| Shape::Sphere { radius }.surface(size));
    let offset = outside.vertices.len() as u32;
    let hole = inside.triangles.iter().map(|&[a, b, c]| [a + offset, c + offset, b + offset]);
    let surface = TriMesh {
        vertices: outside.vertices.iter().chain(&inside.vertices).copied().collect(),
        triangles: outside.triangles.iter().copied().chain(hole).collect(),
    };
    TetMesh::stuff(&Shape::Mesh(Arc::new(surface)), size).unwrap().0.mapped(|v| v + centre)
}

/// An elastic body of a world as it is now.
pub fn body_of(world: &World, number: usize) -> ElasticBody {
    let mut body = world.params().elastic[number].body([false; 3]).unwrap();
    body.restore(&world.state().solids.elastic[number]).unwrap();
    body
}

/// Elastic energy where the velocities will have taken the body `dt` (s) later, J: it is there that backward Euler balances it with
/// the kinetic energy of these velocities.
pub fn energy_ahead(body: &mut ElasticBody, dt: f64) -> f64 {
    let state = body.state();
    body.advance(dt);
    let energy = body.elastic_energy();
    body.restore(&state).unwrap();
    energy
}
