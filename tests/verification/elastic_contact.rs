//! An elastic body does not pass through itself.

use crate::support::elastic::{body_of, elastic, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::TetMesh;
use bathtub_engine::grid::Axis;
use bathtub_engine::world::World;
use glam::DVec3;
use std::f64::consts::PI;

/// Two arms of a horseshoe, thrown at each other in thin air, meet and part again; none of them is ever inside the other, and what
/// the one gives the other gets.
#[test]
fn the_arms_of_a_horseshoe_meet_and_part() {
    let dx = 1.0 / 16.0;
    let mut params = still_air([16; 3], dx);
    params.fluid.smoke_mut().unwrap().rho = 1e-6;
    params.walls[Axis::Y.index()][1] = Wall::Open;
    // A bar of 1.2 m whose middle third is bent to a half ring; both arms are 0.2 m apart.
    let (bend, width) = (0.4, 0.1);
    let radius = bend / PI;
    let shape = |x: DVec3| {
        let along = x.x.clamp(-0.5 * bend, 0.5 * bend);
        let (sin, cos) = (along / radius).sin_cos();
        let arm = x.x.abs() - 0.5 * bend;
        let round = DVec3::new((radius - x.y) * sin, (x.y - radius) * cos, x.z);
        round + DVec3::Y * arm.max(0.0)
    };
    let bar = TetMesh::block(DVec3::new(1.2, width, width), [24, 2, 2]);
    let rest = bar.mapped(|x| shape(x) + DVec3::new(0.5, 0.4, 0.5));
    params.elastic = vec![elastic("horseshoe", rest, material(2e4, 0.3, 1000.0))];
    params.time = fixed_step(0.004);
    let mut world = World::new(params).unwrap();
    let mut state = world.state().clone();
    let soft = &mut state.solids.elastic[0];
    for (x, v) in soft.positions.iter().zip(&mut soft.velocities) {
        v.x = -4.0 * (x.x - 0.5).signum() * (x.y - 0.4).max(0.0);
    }
    // Tetrahedra are not mirror images of one another, and their masses are so only nearly.
    let masses = body_of(&world, 0).masses().to_vec();
    let drift = masses.iter().zip(&soft.velocities).map(|(m, v)| *m * *v).sum::<DVec3>() / masses.iter().sum::<f64>();
    soft.velocities.iter_mut().for_each(|v| *v -= drift);
    world.restore(state).unwrap();
    // Vertices on the inner sides of the arms, each with the one across.
    let is_inner = |x: &DVec3| x.x > 0.35 && x.y > 0.49 * width;
    let across = |x: &DVec3| bar.vertices.iter().position(|v| v.distance(*x * DVec3::new(-1.0, 1.0, 1.0)) < 1e-9);
    let right = bar.vertices.iter().enumerate().filter(|(_, x)| is_inner(x));
    let pairs: Vec<(usize, usize)> = right.map(|(n, x)| (n, across(x).unwrap())).collect();
    let (mut narrowest, mut last, mut drift) = (f64::MAX, 0.0, 0.0_f64);
    for _ in 0..200 {
        let report = world.step().unwrap();
        drift = drift.max(report.bodies[0].velocity.length());
        let positions = &world.state().solids.elastic[0].positions;
        last = pairs.iter().map(|&(right, left)| positions[right].x - positions[left].x).fold(f64::MAX, f64::min);
        narrowest = narrowest.min(last);
    }
    assert!(narrowest < 0.1 * dx, "the arms never meet: {narrowest}");
    assert!(narrowest > -0.1 * dx, "the arms pass through each other: {narrowest}");
    assert!(last > dx, "the arms do not part: {last}");
    assert!(drift < 1e-6, "momentum from nowhere: {drift} m/s");
}
