//! Fluid at rest stays at rest: a linear pressure balances a uniform force on every face, cut or not.

use crate::support::{face_samples, fastest_beside, fixed, fixed_step, hollow_sphere, still_air};
use bathtub_engine::fluid::projection::Projection;
use bathtub_engine::grid::CellField;
use bathtub_engine::solve::{PressureSolver, SolveParams};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

fn fastest_open(world: &World) -> f64 {
    let (u, boundary) = (&world.state().fluid.velocity, world.boundary());
    let faces = u.axes.iter().flatten().zip(boundary.driven.axes.iter().flatten());
    faces.filter(|(_, free)| **free).map(|(u, _)| u.abs()).fold(0.0, f64::max)
}

/// Row B1: a closed box under a tilted gravity.
#[test]
fn a_closed_box_of_fluid_does_not_feel_gravity() {
    let mut params = still_air([12, 9, 14], 0.05);
    params.fluid.smoke_mut().unwrap().acceleration = DVec3::new(1.0, 2.0, 3.0) / 14f64.sqrt() * 9.81;
    params.pressure.params.tolerance = 1e-12;
    let (grid, g, rho) =
        (params.grid, params.fluid.smoke_mut().unwrap().acceleration, params.fluid.smoke_mut().unwrap().rho);
    let mut world = World::new(WorldParams { time: fixed_step(0.01), ..params }).unwrap();
    let report = world.step().unwrap();
    assert!(report.max_speed <= 1e-9 * 9.81 * 0.01, "{}", report.max_speed);
    // p = ρ g·x + c, and the wall of the box takes the fluid's weight.
    let p = &world.state().fluid.pressure.data;
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
            params.fluid.smoke_mut().unwrap().acceleration = 9.81 * direction;
            params.pressure.params.tolerance = 1e-12;
            params.obstacles = vec![fixed("container", hollow_sphere(0.42), DVec3::splat(0.5), DQuat::IDENTITY)];
            let mut world = World::new(WorldParams { time: fixed_step(0.01), ..params }).unwrap();
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

/// Row B3: the container half full, with a plane surface across gravity: through the projection alone. The surface is nowhere
/// nearer to a cell centre than the projection can tell.
#[test]
fn a_half_full_spherical_container_does_not_feel_gravity() {
    let dt = 0.01;
    for n in [16, 32] {
        let mut params = still_air([n; 3], 1.0 / n as f64);
        params.obstacles = vec![fixed("container", hollow_sphere(0.42), DVec3::splat(0.5), DQuat::IDENTITY)];
        let (grid, world) = (params.grid, World::new(params).unwrap());
        let boundary = world.boundary();
        let directions = [DVec3::NEG_Y, DVec3::X, DVec3::new(0.3, -0.8, 0.52), DVec3::new(-0.2, 0.1, 0.97)];
        for direction in directions.map(DVec3::normalize) {
            for offset in [0.0, 0.013, -0.21, 0.3, -0.37] {
                let mut distance = CellField::new(&grid, 0.0);
                for c in 0..grid.cells() {
                    distance.data[c] = -direction.dot(grid.cell_centre(grid.cell_at(c)) - 0.5) + offset;
                }
                let mut u = face_samples(&grid, |_| 9.81 * dt * direction);
                boundary.impose(&mut u);
                let mut projection = Projection::new(&grid, boundary, PressureSolver::Multigrid);
                projection.set_liquid(&grid, boundary, &distance, &[]);
                let solve = SolveParams { tolerance: 1e-12, max_iterations: 500, budget_seconds: None };
                let mut p = CellField::new(&grid, 0.0);
                let projected = projection.project(boundary, Some(&distance), &[], &solve, &mut u, &mut p).unwrap();
                let speed = fastest_beside(&distance, &boundary.driven, &u) / (9.81 * dt);
                println!("{n} {direction:.2} {offset}: {speed:.2e} {:?}", projected.info);
                assert!(speed <= 1e-8, "{n}³ along {direction}, offset {offset}: {speed:.2e} g Δt");
            }
        }
    }
}
