//! Row B2 for elastic bodies: still water around a body as dense as water.
//!
//! With u = 0 and p = ρ g·x + c the stress in the body is −p: its weight is carried, and it shrinks by the strain −p/3K, K = E/3(1 − 2ν).
//! So nothing rests exactly in the first step: fluid follows the surface, with velocities that fall as 1/E. Under an open top the body ends with
//! the volume V (1 − p/K), p at its centre; in a closed box full of fluid it cannot lose volume at all, and c follows from that.

use crate::support::elastic::{ball, body_of, elastic, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::TetMesh;
use bathtub_engine::grid::Axis;
use bathtub_engine::world::{World, WorldParams};
use glam::DVec3;

const G: f64 = 9.81;
const RHO: f64 = 1000.0;
const DX: f64 = 1.0 / 64.0;
const DT: f64 = 0.01;

fn full_box(cells: usize, mesh: TetMesh, youngs_modulus: f64, direction: DVec3) -> WorldParams {
    let mut params = still_air([cells; 3], DX);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.acceleration) = (RHO, G * direction);
    params.elastic = vec![elastic("body", mesh, material(youngs_modulus, 0.3, RHO))];
    params.pressure.params.tolerance = 1e-12;
    params.time = fixed_step(DT);
    params
}

fn fastest(world: &World) -> f64 {
    world.state().fluid.velocity.axes.iter().flatten().fold(0.0, |most: f64, u| most.max(u.abs()))
}

/// A cube in line with the grid is carried exactly (row C5), so that compliance alone moves anything: speeds fall as 1/E, whatever
/// the direction of gravity. The limit is rest, and the pressure is linear.
#[test]
fn stiff_cubes_hold_still_water_still() {
    let centre = DVec3::splat(8.0 * DX);
    let cube = TetMesh::block(DVec3::splat(6.0 * DX), [4; 3]).mapped(|v| v + centre);
    for direction in [DVec3::NEG_Y, DVec3::new(1.0, 2.0, 3.0).normalize()] {
        let speeds = [1e7, 1e8, 1e9].map(|youngs_modulus| {
            let mut world = World::new(full_box(16, cube.clone(), youngs_modulus, direction)).unwrap();
            world.step().unwrap();
            let (grid, p) = (world.params().grid, &world.state().fluid.pressure);
            let off = (0..grid.cells()).filter(|&cell| world.boundary().volume.data[cell] == 1.0).map(|cell| {
                let from_centre = grid.cell_centre(grid.cell_at(cell)) - centre;
                p.data[cell] - RHO * G * direction.dot(from_centre)
            });
            let (low, high) = off.fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p), high.max(p)));
            let curved = (high - low) / (RHO * G * 16.0 * DX);
            println!(
                "g along {direction:.2}, E = {youngs_modulus:.0e}: {:.1e} g Δt, p off by {curved:.1e}",
                fastest(&world) / (G * DT)
            );
            [fastest(&world) / (G * DT), curved]
        });
        for pair in speeds.windows(2) {
            for (softer, stiffer) in pair[0].iter().zip(pair[1]) {
                let slope = softer / stiffer;
                assert!((slope - 10.0).abs() < 0.5, "falls by {slope} and not 10: {speeds:?}");
            }
        }
    }
}

/// Under an open top a ball ends with the volume V (1 − p/K).
#[test]
fn a_settled_ball_has_shrunk_by_the_pressure() {
    let (cells, radius, youngs_modulus) = (24, 6.0 * DX, 1e6);
    let centre = DVec3::splat(12.0 * DX);
    let mut params = full_box(cells, ball(radius, centre, DX), youngs_modulus, DVec3::NEG_Y);
    params.walls[Axis::Y.index()][1] = Wall::Open;
    params.time = fixed_step(0.02);
    let mut world = World::new(params).unwrap();
    let volume = body_of(&world, 0).volume();
    for _ in 0..8 {
        world.step().unwrap();
    }
    let body = body_of(&world, 0);
    // Outside p is zero where the cell above the top would have its centre.
    let depth = (cells as f64 + 0.5) * DX - body.centre().y;
    let expected = -RHO * G * depth * 3.0 * (1.0 - 2.0 * 0.3) / youngs_modulus;
    let found = body.volume() / volume - 1.0;
    println!("volume changed by {found:.4e}, p/K is {expected:.4e}: {:+.2} %", 100.0 * (found / expected - 1.0));
    assert!((found / expected - 1.0).abs() < 0.01, "{found} and not {expected}");
}

/// In a closed box the fluid leaves no room: a soft ball keeps its volume, which would lose p/K ≈ 15 % under an open top. What is left comes
/// from steps along straight lines, of order Δt, and from cells with no face as open as a thousandth, whose share of the push is not
/// seen by the pressure.
#[test]
fn in_a_closed_box_a_soft_ball_keeps_its_volume() {
    let changes = [10, 20].map(|steps| {
        let mut params = full_box(16, ball(4.0 * DX, DVec3::splat(8.0 * DX), 1.5 * DX), 1e4, DVec3::NEG_Y);
        params.time = fixed_step(0.04 / steps as f64);
        let mut world = World::new(params).unwrap();
        let start = body_of(&world, 0);
        (0..steps).for_each(|_| _ = world.step().unwrap());
        let end = body_of(&world, 0);
        let ways = start.positions().iter().zip(end.positions()).map(|(a, b)| a.distance(*b));
        let (way, change) = (ways.fold(0.0, f64::max), end.volume() / start.volume() - 1.0);
        println!("{steps} steps: moved by {:.2} cells, volume by {change:.1e}", way / DX);
        change.abs()
    });
    let lost = RHO * G * 8.0 * DX * 3.0 * (1.0 - 2.0 * 0.3) / 1e4;
    assert!(changes[0] < 2e-3 * lost && changes[1] < changes[0], "{changes:?} of {lost}");
}
