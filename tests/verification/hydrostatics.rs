//! Fluid at rest stays at rest: a linear pressure balances a uniform force on every face, cut or not.

use crate::support::{fixed, still_air};
use bathtub_engine::geometry::{Shape, TriMesh};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};
use std::sync::Arc;

fn fastest_open(world: &World) -> f64 {
    let (u, boundary) = (&world.state().velocity, world.boundary());
    let faces = u.axes.iter().flatten().zip(boundary.free.axes.iter().flatten());
    faces.filter(|(_, free)| **free).map(|(u, _)| u.abs()).fold(0.0, f64::max)
}

/// Row B1: a closed box under a tilted gravity.
#[test]
fn a_closed_box_of_fluid_does_not_feel_gravity() {
    let mut params = still_air([12, 9, 14], 0.05);
    params.fluid.smoke().acceleration = DVec3::new(1.0, 2.0, 3.0) / 14f64.sqrt() * 9.81;
    params.pressure.params.tolerance = 1e-12;
    let (grid, g, rho) = (params.grid, params.fluid.smoke().acceleration, params.fluid.smoke().rho);
    let mut world = World::new(WorldParams { time: fixed_step(0.01), ..params });
    let report = world.step().unwrap();
    assert!(report.max_speed <= 1e-9 * 9.81 * 0.01, "{}", report.max_speed);
    // p = ρ g·x + c, and the wall of the box takes the fluid's weight.
    let p = &world.state().pressure.data;
    let at = |index: usize| p[index] - rho * g.dot(grid.cell_centre(grid.cell_at(index)));
    let spread = (0..grid.cells()).map(|i| (at(i) - at(0)).abs()).fold(0.0, f64::max);
    assert!(spread <= 1e-8 * rho * 9.81, "{spread}");
}

/// Row B2: a spherical container of cut cells, full, any gravity, one step and a thousand.
#[test]
fn a_spherical_container_of_fluid_does_not_feel_gravity() {
    for n in [16, 32] {
        for direction in [DVec3::NEG_Y, DVec3::new(0.3, -0.8, 0.52)] {
            let dx = 1.0 / n as f64;
            let mut params = still_air([n, n, n], dx);
            params.fluid.smoke().acceleration = 9.81 * direction;
            params.pressure.params.tolerance = 1e-12;
            params.obstacles = vec![fixed("container", hollow_sphere(0.42), DVec3::splat(0.5), DQuat::IDENTITY)];
            let mut world = World::new(WorldParams { time: fixed_step(0.01), ..params });
            world.step().unwrap();
            let speed = fastest_open(&world);
            assert!(speed <= 1e-9 * 9.81 * 0.01, "{n}³ along {direction}: {speed:.2e}");
            if n == 16 {
                for _ in 1..1000 {
                    world.step().unwrap();
                }
                let speed = fastest_open(&world);
                assert!(speed <= 1e-6, "after 1000 steps: {speed:.2e}");
            }
        }
    }
}

fn fixed_step(dt: f64) -> bathtub_engine::world::TimeParams {
    bathtub_engine::world::TimeParams { fps: 1.0, cfl: 1e12, max_dt: dt, min_dt: 1e-12 }
}

/// A box with a spherical hole, as one closed surface: the box larger than the unit domain, the hole's
/// triangles turned inside out.
fn hollow_sphere(radius: f64) -> Shape {
    let outer = Shape::Box { size: DVec3::splat(1.5) }.surface(1.0);
    let inner = Shape::Sphere { radius }.surface(0.05);
    let offset = outer.vertices.len() as u32;
    let hole = inner.triangles.iter().map(|&[a, b, c]| [a + offset, c + offset, b + offset]);
    Shape::Mesh(Arc::new(TriMesh {
        vertices: outer.vertices.iter().chain(&inner.vertices).copied().collect(),
        triangles: outer.triangles.iter().copied().chain(hole).collect(),
    }))
}
