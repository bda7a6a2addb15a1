//! What tests share; each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

pub mod elastic;

pub use bathtub_bench::worlds::{face_samples, fixed, still_air, still_water, water, with_velocity};
use bathtub_engine::fluid::water::Particles;
use bathtub_engine::geometry::{Shape, TriMesh};
use bathtub_engine::grid::{Axis, CellField, FaceField};
use bathtub_engine::world::{TimeParams, World};
use glam::DVec3;
use std::sync::Arc;

/// Largest difference between two face fields.
pub fn largest_difference(a: &FaceField, b: &FaceField) -> f64 {
    let pairs = a.axes.iter().flatten().zip(b.axes.iter().flatten());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Random numbers in [−1, 1), the same for the same seed (splitmix64).
pub fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Steps of `dt` (s), however fast the fluid is.
pub fn fixed_step(dt: f64) -> TimeParams {
    TimeParams { fps: 1.0, cfl: 1e12, max_dt: dt, min_dt: 1e-12 }
}

/// 24 frames per second and steps of at most two cells.
pub fn film() -> TimeParams {
    TimeParams { fps: 24.0, cfl: 2.0, max_dt: f64::INFINITY, min_dt: 1e-12 }
}

/// A box with a spherical hole, as one closed surface: the box larger than the unit domain, the hole's
/// triangles turned inside out.
pub fn hollow_sphere(radius: f64) -> Shape {
    let outer = Shape::Box { size: DVec3::splat(1.5) }.surface(1.0);
    let inner = Shape::Sphere { radius }.surface(0.05);
    let offset = outer.vertices.len() as u32;
    let hole = inner.triangles.iter().map(|&[a, b, c]| [a + offset, c + offset, b + offset]);
    Shape::Mesh(Arc::new(TriMesh {
        vertices: outer.vertices.iter().chain(&inner.vertices).copied().collect(),
        triangles: outer.triangles.iter().copied().chain(hole).collect(),
    }))
}

/// Fastest face that the pressure drives beside a cell of the liquid, m/s.
pub fn fastest_beside(liquid: &CellField, driven: &FaceField<bool>, u: &FaceField) -> f64 {
    let mut fastest = 0.0f64;
    for axis in Axis::ALL {
        let (a, [nx, ny, nz]) = (axis.index(), u.face_dims(axis));
        for at in (0..nx * ny * nz).map(|index| [index % nx, index / nx % ny, index / (nx * ny)]) {
            let mut below = at;
            below[a] = at[a].wrapping_sub(1);
            let is_liquid = |at: [usize; 3]| at[a] < liquid.dims[a] && liquid[at] < 0.0;
            if driven[(axis, at)] && (is_liquid(at) || is_liquid(below)) {
                fastest = fastest.max(u[(axis, at)].abs());
            }
        }
    }
    fastest
}

/// Fastest face beside the liquid of a world of water, m/s.
pub fn fastest_in_liquid(world: &World) -> f64 {
    let state = world.state();
    fastest_beside(&state.fluid.water().unwrap().distance, &world.boundary().driven, &state.fluid.velocity)
}

/// The liquid of a world of water.
pub fn particles(world: &World) -> &Particles {
    &world.state().fluid.water().unwrap().particles
}
