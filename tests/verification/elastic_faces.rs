//! Elastic bodies that meet the fluid at faces, and those that are led through it.

use crate::elastic_stiff::{pool, tank};
use crate::support::elastic::{elastic, material};
use crate::support::{fixed_step, still_water};
use bathtub_engine::geometry::{Pose, Shape, TetMesh};
use bathtub_engine::report::StepReport;
use bathtub_engine::solid::elastic::Hold;
use bathtub_engine::solid::{Interface, Motion, Obstacle, RigidBody};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;
const RHO: f64 = 1000.0;
const SIZE: DVec3 = DVec3::new(0.26, 0.22, 0.3);
const CELLS: [usize; 3] = [4, 4, 5];
const STEPS: usize = 4;

/// The pool of a metre, nearly full.
fn deep(dt: f64) -> WorldParams {
    let mut params = still_water([16; 3], 1.0 / 16.0, 0.875);
    params.pressure.params.tolerance = 1e-11;
    params.time = fixed_step(dt);
    params
}

fn with_soft(params: WorldParams, material: (f64, f64), at: Pose, interface: Interface) -> World {
    with_spinning(params, material, (at, DVec3::ZERO), interface)
}

fn with_spinning(
    mut params: WorldParams,
    (youngs_modulus, ratio): (f64, f64),
    (at, spin): (Pose, DVec3),
    interface: Interface,
) -> World {
    let mesh = TetMesh::block(SIZE, CELLS).mapped(|x| at.apply(x));
    let mut body = elastic("body", mesh, material(youngs_modulus, 0.3, ratio * RHO));
    body.interface = interface;
    body.angular_velocity = spin;
    params.elastic = vec![body];
    World::new(params).unwrap()
}

fn with_hard(mut params: WorldParams, ratio: f64, (at, spin): (Pose, DVec3)) -> World {
    let body = RigidBody::new("body", Shape::Box { size: SIZE }, ratio * RHO);
    params.bodies = vec![RigidBody { pose: at, spin, interface: Interface::Faces, ..body }];
    World::new(params).unwrap()
}

fn motion(report: &StepReport) -> [DVec3; 2] {
    [report.bodies[0].velocity, report.bodies[0].angular_velocity]
}

fn tilted(at: [f64; 3]) -> Pose {
    let rotation = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 25f64.to_radians());
    Pose { position: at.into(), rotation }
}

/// Both take the same faces along, with the fluid on them: stiff bodies move like rigid ones, in a full box and at a free surface, from rest and spinning. A face moves
/// with where the surface crosses the line of the cell centres beside it: along that line a turn of the body moves both alike. (The nearest point of the surface turned
/// otherwise, by up to 85 % where the fluid hardly turns the body.) The body's own answer to what its faces took is a difference of numbers that
/// are A/M ≈ Δt² E/(ρ h²) ≈ 1e5 to 1e7 times as large, and so is round-off in the ledger.
#[test]
fn stiff_bodies_move_like_rigid_ones_with_faces() {
    for (name, at) in [("full", [0.41, 0.36, 0.54]), ("surface", [0.43, 0.47, 0.52])] {
        let scene = |dt: f64| if name == "full" { tank(dt) } else { pool(dt) };
        let spin = DVec3::new(1.0, -2.0, 2.0);
        for (ratio, dt, spin) in [
            (0.01, 0.01, DVec3::ZERO),
            (0.1, 0.01, DVec3::ZERO),
            (0.5, 0.02, DVec3::ZERO),
            (3.0, 1.0 / 24.0, DVec3::ZERO),
            (0.3, 0.01, spin),
            (3.0, 0.01, spin),
        ] {
            let start = (tilted(at), spin);
            let (mut soft, mut hard) =
                (with_spinning(scene(dt), (1e8, ratio), start, Interface::Faces), with_hard(scene(dt), ratio, start));
            let (mut off, mut error) = ([0.0f64; 2], 0.0f64);
            for _ in 0..STEPS {
                let (a, b) = (soft.step().unwrap(), hard.step().unwrap());
                error = error.max(a.ledger.momentum_error);
                let apart = motion(&a).into_iter().zip(motion(&b)).map(|(a, b)| (a - b).length());
                off.iter_mut().zip(apart).for_each(|(off, apart)| *off = off.max(apart));
            }
            let fall = STEPS as f64 * dt * G;
            let [slide, turn] = [off[0] / fall, off[1] * 0.5 * SIZE.max_element() / fall];
            println!("{name}, ratio {ratio}: {slide:.1e} and {turn:.1e} of {fall:.3} m/s, ledger {error:.1e}");
            assert!(slide < 0.01 && turn < 0.01, "{name} {ratio}: {slide} {turn}");
            assert!(error < 1e-8, "{name} {ratio}: {error:e}");
        }
    }
}

/// Hydrostatic pressure carries a neutral body as it is, and not as its voxels are: they are off by up to a fifth of its volume. What is left of
/// a stiff one is what the surface of the water does by itself in the same step, 1.6 mm/s; soft ones are compressed as in cut cells.
#[test]
fn neutral_bodies_are_carried_alike() {
    let aligned = Pose { position: DVec3::splat(0.5), rotation: DQuat::IDENTITY };
    for at in [tilted([0.41, 0.36, 0.54]), aligned, tilted([0.47, 0.44, 0.51])] {
        for (youngs_modulus, bound) in [(1e5, 0.05), (1e7, 2e-3), (1e9, 2e-3)] {
            let [faces, cut] = [Interface::Faces, Interface::CutCells].map(|interface| {
                let mut world = with_soft(deep(0.01), (youngs_modulus, 1.0), at, interface);
                motion(&world.step().unwrap())[0] / (0.01 * G)
            });
            println!("{} E {youngs_modulus:e}: {faces:.4} g, in cut cells {cut:.4} g", at.position);
            assert!((faces - cut).length() < bound, "E {youngs_modulus:e}: {faces} and {cut}");
            assert!(youngs_modulus < 1e9 || faces.length() < bound, "{faces}");
        }
    }
}

/// In a closed box that is full of water, which no preconditioner for bodies that give way knows how to spread around bodies that do not. What rises or sinks
/// does so at no more than the speed of free fall over the time.
#[test]
fn full_boxes_of_water_are_no_trouble() {
    let (dt, steps) = (1.0 / 24.0, 6);
    for ratio in [0.01, 0.5, 3.0] {
        for youngs_modulus in [1e4, 1e8] {
            let mut params = still_water([12; 3], 1.0 / 12.0, 1.0);
            params.time = fixed_step(dt);
            let aligned = Pose { position: DVec3::splat(0.5), rotation: DQuat::IDENTITY };
            let mut world = with_soft(params, (youngs_modulus, ratio), aligned, Interface::Faces);
            for _ in 0..steps {
                let report = world.step().unwrap_or_else(|error| panic!("{ratio} {youngs_modulus:e}: {error}"));
                let speed = motion(&report)[0].length();
                assert!(speed < f64::from(steps) * dt * G, "{ratio} {youngs_modulus:e}: {speed} m/s");
                // The cycle has to know what faces do to a body: without, single solves took all that they may.
                let solver = report.solver;
                assert!(solver.converged && solver.iterations < 40, "{ratio} {youngs_modulus:e}: {solver:?}");
                assert!(report.ledger.momentum_error < 1e-8, "{:e}", report.ledger.momentum_error);
            }
        }
    }
}

/// A body that is led everywhere pushes the fluid like an obstacle on the same path: B has what moves as it is told.
#[test]
fn led_bodies_push_like_obstacles() {
    let at = Pose { position: DVec3::new(0.41, 0.5, 0.54), rotation: DQuat::IDENTITY };
    let velocity = DVec3::new(0.3, 0.0, 0.1);
    let path = || Motion::Steady { start: at, velocity, angular_velocity: DVec3::ZERO };
    let mut params = tank(0.01);
    let shape = Shape::Box { size: SIZE };
    params.obstacles = vec![Obstacle { name: "led".into(), shape, motion: path() }];
    let mut scripted = World::new(params).unwrap();
    for interface in [Interface::CutCells, Interface::Faces] {
        let mut params = tank(0.01);
        let mesh = TetMesh::block(SIZE, CELLS).mapped(|x| at.apply(x));
        let mut body = elastic("led", mesh, material(1e5, 0.3, RHO));
        body.interface = interface;
        body.holds = vec![Hold { vertices: (0..body.rest.vertices.len()).collect(), motion: path() }];
        params.elastic = vec![body];
        let mut led = World::new(params).unwrap();
        let first = led.state().solids.elastic[0].velocities.iter().map(|v| v.distance(velocity)).fold(0.0, f64::max);
        assert!(first < 1e-12, "it begins as its path does: {first:e} m/s off");
        let (a, b) = (led.step().unwrap(), scripted.step().unwrap());
        println!("{interface:?}: {:?} {:?}, momentum error {:e}", a.max_speed, b.max_speed, a.ledger.momentum_error);
        assert!(a.ledger.momentum_error < 1e-9, "{:e}", a.ledger.momentum_error);
        let [own, other] = [&led, &scripted].map(|world| world.state().fluid.velocity.axes.concat());
        let off = own.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("off by {off:e}");
        assert!(a.max_speed > 0.2, "{}", a.max_speed);
        if interface == Interface::CutCells {
            assert!(off < 1e-9, "{off:e}");
        }
        scripted = World::new(scripted.params().clone()).unwrap();
    }
}
