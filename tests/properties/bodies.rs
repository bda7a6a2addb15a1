//! Steps with free and elastic bodies: their order does not matter, a mirror shows the mirror image, and those that fail leave all where it was.

use crate::support::elastic::{ball, elastic, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::geometry::{Pose, Shape, TetMesh, TriMesh};
use bathtub_engine::report::StepReport;
use bathtub_engine::solid::elastic::Elastic;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::solid::{Interface, Motion, Obstacle};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// A box of heavy air.
fn tank(gravity: DVec3) -> WorldParams {
    let mut params = still_air([16; 3], 1.0 / 16.0);
    let FluidParams::Smoke(smoke) = &mut params.fluid else { unreachable!("air") };
    (smoke.rho, smoke.gravity) = (1000.0, gravity);
    params.pressure.params.tolerance = 1e-12;
    params.time = fixed_step(0.01);
    params
}

fn rigid(name: &str, shape: Shape, position: DVec3, density: f64, interface: Interface) -> RigidBody {
    RigidBody {
        name: name.into(),
        shape,
        mass: Mass::Density(density),
        interface,
        pose: Pose { position, rotation: DQuat::IDENTITY },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }
}

/// A box turned in itself, as a mesh.
fn tilted_box() -> TriMesh {
    let tilt = DQuat::from_scaled_axis(DVec3::new(0.4, -0.3, 0.6));
    Shape::Box { size: DVec3::new(0.3, 0.17, 0.24) }.surface(1.0).mapped(|v| tilt * v)
}

fn run(params: WorldParams, steps: usize) -> StepReport {
    let mut world = World::new(params).unwrap();
    (1..steps).for_each(|_| drop(world.step().unwrap()));
    world.step().unwrap()
}

#[test]
fn the_order_of_bodies_does_not_matter() {
    let gravity = DVec3::new(0.5, -9.81, 0.7);
    let free = [
        rigid("box", Shape::Mesh(Arc::new(tilted_box())), DVec3::new(0.3, 0.3, 0.31), 200.0, Interface::CutCells),
        rigid("ball", Shape::Sphere { radius: 0.12 }, DVec3::new(0.7, 0.72, 0.3), 3000.0, Interface::Faces),
    ];
    let soft = [
        elastic("jelly", ball(0.13, DVec3::new(0.31, 0.7, 0.7), 0.07), material(3e4, 0.3, 300.0)),
        elastic("rubber", ball(0.15, DVec3::new(0.72, 0.31, 0.72), 0.08), material(1e6, 0.4, 1500.0)),
    ];
    let of_order = |free: Vec<RigidBody>, soft: Vec<Elastic>| {
        let mut bodies = run(WorldParams { bodies: free, elastic: soft, ..tank(gravity) }, 5).bodies;
        bodies.sort_by(|a, b| a.name.cmp(&b.name));
        bodies
    };
    let first = of_order(free.to_vec(), soft.to_vec());
    let other = of_order(free.iter().rev().cloned().collect(), soft.iter().rev().cloned().collect());
    for (a, b) in first.iter().zip(&other) {
        let apart = (a.velocity - b.velocity).length() + (a.angular_velocity - b.angular_velocity).length();
        assert!(a.velocity.length() > 1e-3 && a.name == b.name, "{} moves", a.name);
        assert!(apart < 1e-9 && (a.position - b.position).length() < 1e-10, "{}: {apart:e}", a.name);
    }
}

/// The mirror image of a mesh of tetrahedra.
fn mirrored(mesh: &TetMesh, image: impl Fn(DVec3) -> DVec3) -> TetMesh {
    let mut mirrored = mesh.mapped(image);
    mirrored.tetrahedra.iter_mut().for_each(|corners| corners.swap(2, 3));
    mirrored
}

#[test]
fn a_mirror_shows_a_free_and_an_elastic_body() {
    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
        let flip = DVec3::ONE - 2.0 * axis;
        let scene = |flip: DVec3| {
            let point = |p: DVec3| 0.5 + flip * (p - 0.5);
            let is_mirror = flip != DVec3::ONE;
            let mut shape = tilted_box().mapped(|v| flip * v);
            let mut soft = ball(0.14, DVec3::new(0.31, 0.63, 0.68), 0.07);
            if is_mirror {
                shape.flip();
                soft = mirrored(&soft, point);
            }
            let sign = if is_mirror { -1.0 } else { 1.0 };
            let mut params = tank(flip * DVec3::new(0.5, -9.81, 0.7));
            let place = point(DVec3::new(0.62, 0.4, 0.33));
            params.bodies = vec![RigidBody {
                velocity: flip * DVec3::new(0.4, 0.2, 0.3),
                // What turns goes the other way round in a mirror.
                spin: sign * (flip * DVec3::new(1.0, 2.0, -0.5)),
                ..rigid("box", Shape::Mesh(Arc::new(shape)), place, 200.0, Interface::CutCells)
            }];
            params.elastic = vec![Elastic {
                velocity: flip * DVec3::new(0.1, -0.3, 0.2),
                ..elastic("jelly", soft, material(3e4, 0.3, 300.0))
            }];
            run(params, 5).bodies
        };
        let (plain, image) = (scene(DVec3::ONE), scene(flip));
        for (a, b) in plain.iter().zip(&image) {
            let [speed, spin, place] = [
                flip * a.velocity - b.velocity,
                -(flip * a.angular_velocity) - b.angular_velocity,
                flip * (a.position - 0.5) - (b.position - 0.5),
            ]
            .map(DVec3::length);
            assert!(speed < 1e-9 && spin < 1e-8 && place < 1e-10, "{axis} {}: {speed:e} {spin:e} {place:e}", a.name);
        }
    }
}

/// A box that turns, a ball that floats and one that bends.
fn busy() -> WorldParams {
    let start = Pose { position: DVec3::new(0.3, 0.3, 0.3), rotation: DQuat::IDENTITY };
    let motion =
        Motion::Steady { start, velocity: DVec3::new(0.5, 0.0, 0.0), angular_velocity: DVec3::new(0.0, 2.0, 1.0) };
    WorldParams {
        obstacles: vec![Obstacle { name: "box".into(), shape: Shape::Box { size: DVec3::splat(0.2) }, motion }],
        bodies: vec![rigid(
            "ball",
            Shape::Sphere { radius: 0.12 },
            DVec3::new(0.7, 0.7, 0.3),
            300.0,
            Interface::CutCells,
        )],
        elastic: vec![elastic("jelly", ball(0.13, DVec3::new(0.31, 0.7, 0.7), 0.07), material(3e4, 0.3, 300.0))],
        ..tank(DVec3::new(0.0, -9.81, 0.0))
    }
}

/// Over a step without contact, what is led goes where the mean of the velocities before and after says, and what answers where those before do.
#[test]
fn surfaces_go_where_their_velocities_say() {
    let mut world = World::new(busy()).unwrap();
    (0..3).for_each(|_| drop(world.step().unwrap()));
    let before = world.surfaces();
    let dt = world.step().unwrap().dt;
    for (before, after) in before.iter().zip(world.surfaces()) {
        let of_old = if after.name == "box" { 0.5 } else { 1.0 };
        let far = |n: usize| {
            let went = after.mesh.vertices[n] - before.mesh.vertices[n];
            let velocity = after.velocities[n].lerp(before.velocities[n], of_old);
            (went - dt * velocity).length() / (dt * velocity.length())
        };
        assert_eq!(after.velocities.len(), after.mesh.vertices.len());
        let worst = (0..after.mesh.vertices.len()).map(far).fold(0.0, f64::max);
        assert!(worst < 0.05, "{}: {worst}", after.name);
    }
}

#[test]
fn states_of_other_scenes_and_steps_that_fail_leave_all_where_it_was() {
    let mut world = World::new(busy()).unwrap();
    (0..3).for_each(|_| drop(world.step().unwrap()));
    let mut hurried = busy();
    hurried.pressure.strict = true;
    hurried.pressure.params.max_iterations = 1;
    let mut other = World::new(hurried).unwrap();
    let start = other.surfaces();
    let foreign = World::new(WorldParams { elastic: Vec::new(), ..busy() }).unwrap().state().clone();
    assert!(other.restore(foreign).is_err());
    assert!(other.surfaces() == start, "a refused state moves nothing");
    other.restore(world.state().clone()).unwrap();
    assert!(other.surfaces() == world.surfaces() && other.surfaces() != start, "surfaces are where the state has them");
    other.step().unwrap_err();
    assert!(other.state() == world.state() && other.surfaces() == world.surfaces(), "a failed step moves nothing");
}
