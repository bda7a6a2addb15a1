//! Rows C1 and C5 for elastic balls: stiff ones are released like rigid ones.

use crate::support::elastic::{ball, elastic, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::geometry::{Pose, Shape, TetMesh};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};
use std::sync::Arc;

const G: f64 = 9.81;
const RHO: f64 = 1000.0;
const DX: f64 = 1.0 / 64.0;
const DT: f64 = 0.01;

fn closed_box(cells: usize) -> WorldParams {
    let mut params = still_air([cells; 3], DX);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (RHO, DVec3::NEG_Y * G);
    params.time = fixed_step(DT);
    params
}

fn middle(cells: usize) -> DVec3 {
    DVec3::splat(0.5 * cells as f64 * DX)
}

/// Acceleration of the centre of mass in the first step, in units of g upwards.
fn first_acceleration(params: WorldParams) -> f64 {
    let mut world = World::new(params).unwrap();
    let report = world.step().unwrap();
    assert_eq!(report.dt, DT);
    report.bodies[0].velocity.y / (DT * G)
}

/// Of an elastic body in a closed box.
fn elastic_acceleration(cells: usize, mesh: &TetMesh, youngs_modulus: f64, ratio: f64) -> f64 {
    let mut params = closed_box(cells);
    params.elastic = vec![elastic("ball", mesh.clone(), material(youngs_modulus, 0.3, ratio * RHO))];
    first_acceleration(params)
}

/// Of a rigid body with the same surface.
fn rigid_acceleration(cells: usize, mesh: &TetMesh, ratio: f64) -> f64 {
    let mut params = closed_box(cells);
    let surface = mesh.mapped(|v| v - middle(cells)).surface();
    params.bodies = vec![RigidBody {
        name: "ball".into(),
        shape: Shape::Mesh(Arc::new(surface)),
        mass: Mass::Density(ratio * RHO),
        interface: Interface::CutCells,
        pose: Pose { position: middle(cells), rotation: DQuat::IDENTITY },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }];
    first_acceleration(params)
}

/// Row C1 for stiff balls (E = 10⁸ Pa) of tetrahedra as large as cells: first acceleration (1 − M)/(M + C), a/L = 1/4: C = 0.622820, and
/// a/L = 1/8: C = 0.514326. A rigid body with the same surface is what they become as E → ∞.
#[test]
fn stiff_balls_feel_buoyancy_and_added_mass() {
    let mut wrong = false;
    for (cells, radius, added, tolerance) in
        [(16, 4, 0.622820, 0.04), (32, 8, 0.622820, 0.015), (32, 4, 0.514326, 0.04)]
    {
        let mesh = ball(radius as f64 * DX, middle(cells), DX);
        for ratio in [0.1, 0.5, 2.0] {
            let expected = (1.0 - ratio) / (ratio + added);
            let found = elastic_acceleration(cells, &mesh, 1e8, ratio);
            let rigid = rigid_acceleration(cells, &mesh, ratio);
            let (off, from_rigid) = (found / expected - 1.0, found / rigid - 1.0);
            println!(
                "R={radius} L={cells} M={ratio}: {found:.5}, exact {expected:.5}, {:+.2} %; rigid {rigid:.5}, {from_rigid:+.1e}",
                100.0 * off
            );
            wrong |= off.abs() > tolerance || from_rigid.abs() > 1e-3;
        }
    }
    assert!(!wrong, "beyond tolerance, see above");
}

/// What is left between an elastic and a rigid ball is compliance: it falls as 1/E.
#[test]
fn the_difference_to_a_rigid_ball_falls_with_stiffness() {
    let mesh = ball(4.0 * DX, middle(16), DX);
    let rigid = rigid_acceleration(16, &mesh, 0.5);
    let differences =
        [1e5, 1e6, 1e7].map(|youngs_modulus| elastic_acceleration(16, &mesh, youngs_modulus, 0.5) / rigid - 1.0);
    println!("E = 1e5, 1e6, 1e7 Pa: {differences:?} from the rigid ball");
    for pair in differences.windows(2) {
        let slope = pair[0] / pair[1];
        assert!((slope - 10.0).abs() < 1.0, "falls by {slope}, {differences:?}");
    }
}

/// Acceleration in the first step, in units of g, with the whole weight of fluid and body and the pressure that carries it.
fn held(mesh: TetMesh, youngs_modulus: f64) -> DVec3 {
    let mut params = closed_box(24);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.gravity, smoke.acceleration) = (DVec3::ZERO, DVec3::NEG_Y * G);
    params.pressure.params.tolerance = 1e-13;
    params.elastic = vec![elastic("body", mesh, material(youngs_modulus, 0.3, RHO))];
    World::new(params).unwrap().step().unwrap().bodies[0].velocity / (DT * G)
}

/// Row C5: a neutral ball stays but for 0.3 (Δ/R)² g; row B5 tells why.
#[test]
fn neutral_balls_stay() {
    for radius in [4.0, 8.0] {
        let found = held(ball(radius * DX, middle(24), DX), 1e9);
        println!("neutral ball R={radius}: {:.1e} g", found.length());
        assert!(found.length() <= 0.3 / (radius * radius), "R={radius}: {found} g");
    }
}

/// Row C5: a cube in line with the grid is carried exactly. What moves its centre is that its lower half shrinks more, by c/E, and that is
/// taken off here.
#[test]
fn neutral_cubes_stay() {
    let cube = TetMesh::block(DVec3::splat(8.0 * DX), [6; 3]).mapped(|v| v + middle(24));
    let [soft, stiff] = [1e8, 1e9].map(|youngs_modulus| held(cube.clone(), youngs_modulus));
    let rigid = (10.0 * stiff - soft) / 9.0;
    println!("cube: {:.1e} g at 10⁸ Pa, {:.1e} g at 10⁹, {:.1e} g at ∞", soft.length(), stiff.length(), rigid.length());
    assert!(rigid.length() <= 1e-9, "cube: {rigid} g");
}
