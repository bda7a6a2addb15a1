//! Bodies that joints hold, in fluid: what a joint forbids does not happen, however light the bodies are, and halves that are
//! welded are one body.

use super::support::{fixed_step, still_air, still_water};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidBody};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;
const RHO: f64 = 1000.0;
const DT: f64 = 0.01;

fn body(name: &str, shape: Shape, position: DVec3, ratio: f64, interface: Interface) -> RigidBody {
    RigidBody {
        name: name.into(),
        shape,
        mass: Mass::Density(RHO * ratio),
        interface,
        pose: Pose { position, rotation: DQuat::from_rotation_z(0.3) },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }
}

/// A closed box of 1 m, full of a fluid as heavy as water.
fn full(cells: usize, bodies: Vec<RigidBody>, joints: Vec<Joint>) -> WorldParams {
    let mut params = still_air([cells; 3], 1.0 / cells as f64);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (RHO, DVec3::NEG_Y * G);
    params.time = fixed_step(DT);
    WorldParams { bodies, joints, ..params }
}

/// The largest velocity that joints forbid, over `steps`, in parts of the fastest there is.
fn forbidden(params: WorldParams, steps: usize) -> f64 {
    let (rigids, _) = params.rigids().unwrap();
    let mut world = World::new(params).unwrap();
    let mut worst: f64 = 0.0;
    for _ in 0..steps {
        let report = world.step().unwrap();
        let state = &world.state().solids.rigid;
        let twist = |body: usize| rigids.velocity(state, body).twist();
        let speed = |body: usize| {
            let velocity = rigids.velocity(state, body);
            velocity.linear.length() + 0.1 * velocity.angular.length()
        };
        let fastest = (0..rigids.len()).map(speed).fold(report.max_speed.max(1e-3 * G * DT), f64::max);
        assert!(fastest < 100.0, "{fastest} m/s after {} steps", report.step);
        for row in rigids.joint_rows(state) {
            let ends = row.bodies.iter().zip(&row.jacobian).filter_map(|(body, jacobian)| {
                body.map(|body| jacobian.iter().zip(twist(body)).map(|(j, v)| j * v).sum::<f64>())
            });
            worst = worst.max(ends.sum::<f64>().abs() / fastest);
        }
    }
    worst
}

fn kinds() -> [JointKind; 4] {
    let axis = DVec3::new(0.2, 1.0, -0.4);
    [JointKind::Point, JointKind::Hinge { axis }, JointKind::Slider { axis }, JointKind::Fixed]
}

#[test]
fn nothing_moves_against_a_joint() {
    let ball = Shape::Sphere { radius: 0.13 };
    let block = Shape::Box { size: DVec3::new(0.25, 0.2, 0.22) };
    let (left, right) = (DVec3::new(0.31, 0.45, 0.52), DVec3::new(0.68, 0.55, 0.47));
    for interface in [Interface::CutCells, Interface::Faces] {
        for kind in kinds() {
            for ratios in [[1e-3, 1e-3], [1e-3, 1e3], [0.01, 1.0], [1e3, 1e3], [0.1, 10.0]] {
                let bodies = || {
                    let a = body("a", ball.clone(), left, ratios[0], interface);
                    vec![a, body("b", block.clone(), right, ratios[1], interface)]
                };
                let anchor = DVec3::new(0.5, 0.62, 0.45);
                let together = vec![Joint { kind, body: 0, other: Some(1), anchor }];
                let each = (0..2).map(|body| Joint { kind, body, other: None, anchor }).collect();
                for (to, joints) in [("each other", together), ("the world", each)] {
                    println!("{interface:?} {kind:?} to {to}, {ratios:?}");
                    let found = forbidden(full(12, bodies(), joints), 8);
                    assert!(found <= 1e-9, "{interface:?} {kind:?} to {to}, {ratios:?}: {found:e}");
                }
            }
        }
    }
}

/// In a tank with a surface, as in a chain of light and heavy links that hangs from above.
#[test]
fn a_chain_in_water_holds() {
    for (interface, light) in [(Interface::CutCells, 1e-3), (Interface::CutCells, 0.3), (Interface::Faces, 0.05)] {
        let mut params = still_water([12; 3], 1.0 / 12.0, 0.7);
        params.time = fixed_step(1.0 / 48.0);
        let link = |n: usize| {
            let shape = Shape::Box { size: DVec3::new(0.16, 0.18, 0.17) };
            let ratio = if n.is_multiple_of(2) { light } else { 7.0 };
            body(&format!("link {n}"), shape, DVec3::new(0.18 + 0.21 * n as f64, 0.6, 0.5), ratio, interface)
        };
        params.bodies = (0..4).map(link).collect();
        let between = |n: usize| Joint {
            kind: if n == 1 { JointKind::Hinge { axis: DVec3::Z } } else { JointKind::Point },
            body: n,
            other: Some(n + 1),
            anchor: DVec3::new(0.285 + 0.21 * n as f64, 0.6, 0.5),
        };
        params.joints = (0..3).map(between).collect();
        let found = forbidden(params, 24);
        assert!(found <= 1e-9, "{interface:?} {light}: {found:e}");
    }
}

/// Two halves of a box, welded, start as the whole box does: velocity and spin.
#[test]
fn welded_halves_are_one_body() {
    for (interface, angle, offset) in
        [(Interface::CutCells, 0.5, 0.013), (Interface::CutCells, 0.0, 0.0), (Interface::Faces, 0.5, 0.013)]
    {
        for ratio in [1e-3, 0.1, 3.0] {
            let rotation = DQuat::from_rotation_z(angle);
            let (middle, size) = (DVec3::new(0.5 + offset, 0.46, 0.53), DVec3::new(0.375, 0.1875, 0.25));
            let half = |name: &str, side: f64| {
                let shape = Shape::Box { size: size * DVec3::new(0.5, 1.0, 1.0) };
                let position = middle + rotation * (side * 0.25 * size.x * DVec3::X);
                let half = body(name, shape, position, ratio, interface);
                RigidBody { pose: Pose { position, rotation }, ..half }
            };
            let whole = RigidBody {
                pose: Pose { position: middle, rotation },
                ..body("whole", Shape::Box { size }, middle, ratio, interface)
            };
            let weld = Joint { kind: JointKind::Fixed, body: 0, other: Some(1), anchor: middle };
            let start = |bodies: Vec<RigidBody>, joints: Vec<Joint>| {
                let mut params = full(16, bodies, joints);
                // Shaken, so that it is also turned: its middle is not that of the tank.
                params.fluid.smoke_mut().unwrap().acceleration = DVec3::new(3.0, 0.0, 1.0);
                let (rigids, _) = params.rigids().unwrap();
                let mut world = World::new(params).unwrap();
                world.step().unwrap();
                let velocity = rigids.velocity(&world.state().solids.rigid, 0);
                (velocity.at(middle), velocity.angular)
            };
            let (v, w) = start(vec![whole], vec![]);
            let (v2, w2) = start(vec![half("left", -1.0), half("right", 1.0)], vec![weld]);
            assert!(v.distance(v2) <= 0.02 * v.length(), "{interface:?} {angle} {ratio}: {v} {v2}");
            // Spin that is small beside the velocity at the ends is not compared with itself.
            let scale = w.length().max(0.1 * v.length() / size.x);
            assert!(w.distance(w2) <= 0.02 * scale, "{interface:?} {angle} {ratio}: {w} {w2}");
        }
    }
}

/// A buoy that slides along a pole rises as a free one does.
#[test]
fn a_light_body_on_a_slider_is_as_stable_as_a_free_one() {
    for ratio in [1e-3, 0.1] {
        let rise = |joints: Vec<Joint>| {
            let ball =
                body("buoy", Shape::Sphere { radius: 0.15 }, DVec3::new(0.5, 0.3, 0.5), ratio, Interface::CutCells);
            let mut world = World::new(full(16, vec![ball], joints)).unwrap();
            (0..12).map(|_| world.step().unwrap().bodies[0].velocity.y).collect::<Vec<_>>()
        };
        let kind = JointKind::Slider { axis: DVec3::Y };
        let (free, held) =
            (rise(vec![]), rise(vec![Joint { kind, body: 0, other: None, anchor: DVec3::new(0.6, 0.4, 0.5) }]));
        println!("{ratio}: free {free:?}, held {held:?}");
        for (free, held) in free.iter().zip(&held) {
            assert!((held / free - 1.0).abs() < 0.05, "{ratio}: {held} {free}");
        }
    }
}

/// A buoy at the surface, on a joint that is not above it, swings up and comes to rest: the fluid pushes it with a thousand times its weight
/// through the joint, and where it goes on the way the joint bears that no more. Steps are those of frames; a free buoy reaches 3 m/s, and stones swing one up to 3.6.
#[test]
fn light_buoys_on_joints_go_where_the_fluid_lets_them() {
    for (kind, other) in [
        (JointKind::Point, None),
        (JointKind::Hinge { axis: DVec3::new(1.0, 0.2, -0.5) }, None),
        (JointKind::Point, Some(1)),
        (JointKind::Hinge { axis: DVec3::new(1.0, 0.2, -0.5) }, Some(1)),
    ] {
        let mut params = still_water([16; 3], 1.0 / 16.0, 0.5);
        params.time = fixed_step(1.0 / 24.0);
        let ball = Shape::Sphere { radius: 0.09 };
        params.bodies = vec![body("buoy", ball.clone(), DVec3::new(0.41, 0.4863, 0.45), 1e-3, Interface::CutCells)];
        if other.is_some() {
            params.bodies.push(body("stone", ball, DVec3::new(0.64, 0.61, 0.67), 3.0, Interface::CutCells));
        }
        params.joints = vec![Joint { kind, body: 0, other, anchor: DVec3::new(0.5246, 0.5484, 0.559) }];
        let mut world = World::new(params).unwrap();
        let (mut fastest, mut gap) = (0.0_f64, 0.0_f64);
        let (rigids, _) = world.params().rigids().unwrap();
        while world.state().frame < 24 {
            let report = world.step().unwrap();
            fastest = report.bodies.iter().map(|body| body.velocity.length()).fold(fastest, f64::max);
            gap = rigids.joint_gaps(&world.state().solids.rigid).into_iter().fold(gap, f64::max);
        }
        println!("{kind:?} {other:?}: {fastest:.2} m/s, joint open by {gap:.1e} m");
        assert!(fastest < 4.0 && gap < 0.01 / 16.0, "{kind:?} {other:?}: {fastest} m/s, {gap} m");
    }
}

/// Both sides of a body thinner than a cell push the same cells, and what a slider leaves of it pushes nothing into any: a closed box around it does
/// not give way to round-off.
#[test]
fn a_thin_body_on_a_joint_is_no_piston() {
    for (kind, size) in [
        (JointKind::Slider { axis: DVec3::Y }, DVec3::new(0.5, 0.06, 0.06)),
        (JointKind::Slider { axis: DVec3::Y }, DVec3::new(0.31, 0.05, 0.27)),
        (JointKind::Hinge { axis: DVec3::Z }, DVec3::splat(0.06)),
    ] {
        let mut params = still_air([12; 3], 1.0 / 12.0);
        params.fluid.smoke_mut().unwrap().gravity = DVec3::NEG_Y * G;
        params.time = fixed_step(1.0 / 24.0);
        let position = DVec3::new(0.51, 0.79, 0.54);
        let pose = Pose { position, rotation: DQuat::IDENTITY };
        let plate = RigidBody { pose, ..body("plate", Shape::Box { size }, position, 0.1, Interface::CutCells) };
        params.bodies = vec![plate];
        params.joints = vec![Joint { kind, body: 0, other: None, anchor: position - 0.2 * DVec3::X }];
        let mut world = World::new(params).unwrap();
        for _ in 0..8 {
            // Free fall, or less.
            let report = world.step().unwrap();
            assert!(report.bodies[0].velocity.length() < 1.1 * G * report.t, "{kind:?} {}", report.bodies[0].velocity);
        }
    }
}

/// Of the velocity that light bodies come with nothing is left once they have met the fluid: what remains of the right-hand side may be
/// round-off, and nothing can be solved to a part of that.
#[test]
fn light_boxes_side_by_side_can_be_solved_for() {
    for ratio in [1e-3, 0.01] {
        let shape = || Shape::Box { size: DVec3::new(0.2, 0.16, 0.18) };
        let at = |x: f64| Pose { position: DVec3::new(x, 0.4, 0.51), rotation: DQuat::IDENTITY };
        let beside = |x: f64| RigidBody {
            pose: at(x),
            ..body(&format!("at {x}"), shape(), at(x).position, ratio, Interface::CutCells)
        };
        let mut params = full(16, vec![beside(0.398), beside(0.628)], vec![]);
        params.time = fixed_step(1.0 / 24.0);
        let mut world = World::new(params).unwrap();
        for _ in 0..6 {
            let report = world.step().unwrap();
            assert!(report.bodies.iter().all(|body| body.velocity.length() < 3.0), "{ratio}");
        }
    }
}
