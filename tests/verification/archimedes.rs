//! Row C5 for bodies with flat faces, wherever they are in their cells: what is as heavy as the fluid stays, faces in planes of the
//! grid are faces like all others, and what is lighter leaves the floor.

use super::support::elastic::{elastic, material};
use super::support::{fixed_step, random, still_air, still_water};
use bathtub_engine::geometry::{Pose, Shape, TetMesh, TriMesh};
use bathtub_engine::report::BodyReport;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidBody};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};
use std::sync::Arc;

const G: f64 = 9.81;
const RHO: f64 = 1000.0;
const DT: f64 = 0.01;

fn body(shape: Shape, pose: Pose, ratio: f64) -> RigidBody {
    RigidBody {
        name: "body".into(),
        shape,
        mass: Mass::Density(RHO * ratio),
        interface: Interface::CutCells,
        pose,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }
}

fn wedge() -> Shape {
    let vertices = [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.35]].map(DVec3::from).to_vec();
    Shape::Mesh(Arc::new(TriMesh { vertices, triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]] }))
}

/// The body after the first step of a world.
fn first(params: WorldParams) -> BodyReport {
    let mut report = World::new(params).unwrap().step().unwrap();
    report.bodies.remove(0)
}

/// Full of water, up to the lid.
fn full(cells: usize) -> WorldParams {
    let mut params = still_water([cells; 3], 1.0 / cells as f64, 10.0);
    params.time = fixed_step(DT);
    params
}

#[test]
fn what_is_as_heavy_as_water_stays_wherever_it_is() {
    let shapes = [
        Shape::Box { size: DVec3::new(0.33125, 0.35, 0.35625) },
        Shape::Box { size: DVec3::new(0.25, 0.125, 0.375) },
        Shape::Cylinder { radius: 0.17, height: 0.3 },
        Shape::Torus { major: 0.2, minor: 0.08 },
        wedge(),
    ];
    let mut number = random(5);
    let mut worst = [0.0f64; 2];
    for shape in &shapes {
        for case in 0..4 {
            let aside = 0.03 * DVec3::new(number(), number(), number());
            let axis = DVec3::new(number(), number(), number()).normalize();
            // As it is, on the planes of the grid; beside them; and turned.
            let pose = match case {
                0 => Pose { position: DVec3::splat(0.5), rotation: DQuat::IDENTITY },
                1 => Pose { position: DVec3::splat(0.5) + aside, rotation: DQuat::IDENTITY },
                2 => Pose { position: DVec3::splat(0.5), rotation: DQuat::from_rotation_y(1e-5) },
                _ => {
                    Pose { position: DVec3::splat(0.5) + aside, rotation: DQuat::from_axis_angle(axis, 3.0 * number()) }
                }
            };
            let mut params = full(16);
            params.bodies = vec![body(shape.clone(), pose, 1.0)];
            let found = first(params);
            worst[0] = worst[0].max(found.velocity.length() / (DT * G));
            worst[1] = worst[1].max(found.angular_velocity.length() * 0.2 / (DT * G));
        }
    }
    println!("neutral bodies: {:e} g, turning {:e} g at 0.2 m", worst[0], worst[1]);
    assert!(worst[0] < 1e-5 && worst[1] < 1e-4, "{worst:?}");
}

/// How far a body reaches above its middle.
fn top(shape: &Shape, rotation: DQuat) -> f64 {
    let rotated = |axis: DVec3| (rotation * axis).y.abs();
    match *shape {
        Shape::Box { size } => 0.5 * size.dot(DVec3::from(DVec3::AXES.map(rotated))),
        Shape::Cylinder { radius, height } => {
            let along = rotated(DVec3::Y);
            0.5 * height * along + radius * (1.0 - along * along).max(0.0).sqrt()
        }
        Shape::Sphere { radius } => radius,
        _ => unreachable!("no such body is asked for"),
    }
}

/// The same one cell and more below a surface, wherever that lies between the layers of particles, step after step.
#[test]
fn what_is_as_heavy_as_water_stays_below_a_surface() {
    let mut number = random(11);
    let mut worst = [0.0f64; 2];
    for case in 0..72 {
        let n = [12, 14, 16, 20][case % 4];
        let interface = [Interface::CutCells, Interface::Faces][case / 4 % 2];
        let size = DVec3::new(number(), number(), number()) * 0.05 + 0.25;
        let shape = match case % 3 {
            0 => Shape::Box { size },
            1 => Shape::Cylinder { radius: 0.5 * size.x, height: size.y },
            _ => Shape::Sphere { radius: 0.5 * size.x },
        };
        let axis = DVec3::new(number(), number(), number()).normalize();
        let turn = if case % 24 < 12 { 0.0 } else { 3.0 * number() };
        let rotation = DQuat::from_axis_angle(axis, turn);
        let level = 0.77 + 0.06 * number();
        let below = [1.0, 1.3, 2.0][case / 24] / n as f64 + top(&shape, rotation);
        let position = DVec3::new(0.5 + 0.1 * number(), level - below, 0.5 + 0.1 * number());
        let mut params = still_water([n; 3], 1.0 / n as f64, level);
        params.time = fixed_step(DT);
        params.pressure.params.tolerance = 1e-8;
        let there = body(shape, Pose { position, rotation }, 1.0);
        params.bodies = vec![RigidBody { interface, ..there }];
        let mut world = World::new(params).unwrap();
        let mut last = DVec3::ZERO;
        for step in 0..4 {
            let velocity = world.step().unwrap().bodies[0].velocity;
            let worst = &mut worst[step.min(1)];
            *worst = worst.max(velocity.distance(last) / (DT * G));
            last = velocity;
        }
    }
    println!("neutral bodies below a surface: {:e} g in the first step, {:e} g after", worst[0], worst[1]);
    assert!(worst[0] < 5e-4 && worst[1] < 1e-3, "{worst:?}");
}

/// The same with faces, level and top a cell apart, both through the centres of cells or next to that: no cell of water needs to be between.
#[test]
fn what_is_as_heavy_as_water_stays_a_cell_below_a_surface_through_centres() {
    let (n, dx) = (12, 0.1);
    for (level, gap) in [(6.50001, 1.0), (6.5, 1.001), (6.502, 1.002), (6.5, 1.2), (6.49, 1.0)] {
        for width in [[0.3, 0.4], [0.33, 0.27]] {
            let size = DVec3::new(width[0], 0.2, width[1]);
            let position = DVec3::new(0.61, dx * (level - gap) - 0.1, 0.57);
            let mut params = still_water([n; 3], dx, dx * level);
            params.time = fixed_step(DT);
            let there = body(Shape::Box { size }, Pose { position, rotation: DQuat::IDENTITY }, 1.0);
            params.bodies = vec![RigidBody { interface: Interface::Faces, ..there }];
            let mut world = World::new(params).unwrap();
            let mut last = DVec3::ZERO;
            for step in 0..8 {
                let velocity = world.step().unwrap().bodies[0].velocity;
                let gained = velocity.distance(last) / (DT * G);
                assert!(gained < 2e-3, "{level} {gap} {width:?}, step {step}: {gained} g");
                last = velocity;
            }
        }
    }
}

#[test]
fn an_elastic_box_as_heavy_as_water_stays() {
    for (aside, turn) in
        [(DVec3::ZERO, 0.0), (DVec3::new(0.011, -0.02, 0.007), 0.0), (DVec3::new(0.0, 0.013, 0.0), 0.7)]
    {
        let rotation = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -1.0).normalize(), turn);
        let mesh = TetMesh::block(DVec3::new(0.3, 0.26, 0.34), [4; 3]);
        let mut params = full(16);
        params.elastic =
            vec![elastic("box", mesh.mapped(|v| rotation * v + DVec3::splat(0.5) + aside), material(1e9, 0.3, RHO))];
        // Water presses it together, by a part of ρ g h/E; it does not move as a whole.
        let found = first(params);
        assert!(found.velocity.length() < 1e-4 * DT * G, "{aside} {turn}: {} m/s", found.velocity);
    }
}

/// A light cube rises from rest; ÷ g, and how it turns, 1/s².
fn rise(cells: usize, size: f64, aside: DVec3, is_elastic: bool) -> (DVec3, DVec3) {
    let mut params = still_air([cells; 3], 1.0 / cells as f64);
    let smoke = params.fluid.smoke_mut().unwrap();
    (smoke.rho, smoke.gravity) = (RHO, DVec3::NEG_Y * G);
    params.time = fixed_step(DT);
    params.pressure.params.tolerance = 1e-12;
    let (shape, position) =
        (Shape::Box { size: DVec3::splat(size) }, DVec3::new(0.5, 0.25, 0.5) + aside / cells as f64);
    if is_elastic {
        let mesh = TetMesh::block(DVec3::splat(size), [4; 3]);
        params.elastic = vec![elastic("cube", mesh.mapped(|v| v + position), material(1e8, 0.3, 0.1 * RHO))];
    } else {
        params.bodies = vec![body(shape, Pose { position, rotation: DQuat::IDENTITY }, 0.1)];
    }
    let found = first(params);
    (found.velocity / (DT * G), found.angular_velocity / DT)
}

#[test]
fn faces_in_planes_of_the_grid_are_faces_like_all_others() {
    for cells in [16, 32] {
        let (on, spin) = rise(cells, 0.25, DVec3::ZERO, false);
        let (beside, _) = rise(cells, 0.25 * 1.000001, DVec3::ZERO, false);
        assert!(on.x.abs().max(on.z.abs()) < 1e-9 && spin.length() < 1e-9, "{cells}: {on} {spin}");
        assert!((on.y / beside.y - 1.0).abs() < 1e-4, "{cells}: {on} {beside}");
    }
    // And as good as there: mirror images, and nothing that jumps.
    let (on, _) = rise(16, 0.25, DVec3::ZERO, false);
    for aside in [1e-9, 1e-7, 1e-5, 5e-4] {
        for axes in [DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::ONE, DVec3::new(1.0, 0.0, -1.0)] {
            let (there, spin) = rise(16, 0.25, aside * axes, false);
            let (mirrored, turned) = rise(16, 0.25, aside * axes * DVec3::new(-1.0, 1.0, -1.0), false);
            let mirror = DVec3::new(-1.0, 1.0, -1.0);
            assert!(there.distance(mirror * mirrored) < 1e-9, "{aside} {axes}: {there} {mirrored}");
            assert!(spin.distance(mirror * turned) < 1e-7, "{aside} {axes}: {spin} {turned}");
            assert!(there.distance(on) < 1e-4 && spin.length() < 0.3, "{aside} {axes}: {there} {spin}");
        }
    }
    let [(on, _), (beside, _)] = [0.25, 0.25 * 1.000001].map(|size| rise(16, size, DVec3::ZERO, true));
    assert!((on.y / beside.y - 1.0).abs() < 1e-4 && on.x.abs().max(on.z.abs()) < 1e-5, "elastic: {on} {beside}");
}

/// It goes on straight: what is beside faces in planes of the grid is not decided by round-off in later steps, either. Nor is it for one that is barely
/// off them (the last number, in cells): what that does to it grows a hundredfold while it rises, and no more.
#[test]
fn a_box_in_planes_of_the_grid_rises_straight() {
    for (cells, size, ratio, off) in
        [(12, 1.0 / 6.0, 0.01, 0.0), (16, 0.25, 0.1, 0.0), (16, 0.25, 0.5, 0.0), (16, 0.25, 0.1, 1e-7)]
    {
        let mut params = still_air([cells; 3], 1.0 / cells as f64);
        let smoke = params.fluid.smoke_mut().unwrap();
        (smoke.rho, smoke.gravity) = (RHO, DVec3::NEG_Y * G);
        params.time = fixed_step(1.0 / 60.0);
        params.pressure.params.tolerance = 1e-11;
        let pose = Pose { position: DVec3::new(0.5 + off / cells as f64, size, 0.5), rotation: DQuat::IDENTITY };
        params.bodies = vec![body(Shape::Box { size: DVec3::splat(size) }, pose, ratio)];
        let mut world = World::new(params).unwrap();
        let (mut aside, mut turning, mut fastest) = (0.0_f64, 0.0_f64, 0.0_f64);
        for _ in 0..30 {
            let found = world.step().unwrap().bodies.remove(0);
            let v = found.velocity;
            (aside, fastest) = (aside.max(v.x.abs()).max(v.z.abs()), fastest.max(v.y.abs()));
            turning = turning.max(found.angular_velocity.length());
        }
        println!("{cells} cells, {ratio}, {off}: {aside:.1e} m/s aside of {fastest:.2}, {turning:.1e} rad/s");
        let grown = 100.0 * off;
        let is_straight = aside < (1e-7 + grown) * fastest && turning * size < (1e-6 + grown) * fastest;
        assert!(is_straight, "{aside} m/s aside, {turning} rad/s");
    }
}

/// Boxes on the floor of a tank, with what is left of their weight pressing them down; contact and film included.
#[test]
fn boxes_lighter_than_water_leave_the_floor() {
    let dx = 1.0 / 14.0;
    let cases = [(2.0, 0.75, 0.0), (2.0, 0.95, 0.3), (4.0, 0.95, 0.0), (6.0, 0.9, 0.4), (3.5, 0.999, 0.2)];
    for ((height, ratio, aside), interface) in
        cases.into_iter().flat_map(|case| [Interface::CutCells, Interface::Faces].map(|interface| (case, interface)))
    {
        let mut params = still_water([14, 14, 14], dx, 0.7);
        params.time = fixed_step(1.0 / 24.0);
        let size = dx * DVec3::new(4.0, height, 3.0);
        let position = DVec3::new(0.5 + aside * dx, 0.5 * size.y, 0.5 - aside * dx);
        let there = body(Shape::Box { size }, Pose { position, rotation: DQuat::IDENTITY }, ratio);
        params.bodies = vec![RigidBody { interface, ..there }];
        let mut world = World::new(params).unwrap();
        // With faces, a layer of cells opens beneath it at once when it is half a cell up, which throws it back: it takes longer.
        let seconds = if interface == Interface::Faces { 2 } else { 1 };
        let rises = (0..24 * seconds).map(|_| world.step().unwrap().bodies[0].position.y - position.y);
        let risen = rises.last().unwrap();
        // Alone in a wide tank it would have an added mass of about its own and rise with half of what lifts it.
        let least = 0.05 * (1.0 / ratio - 1.0) * G;
        println!("{height} cells high, {ratio}, {interface:?}: {risen:.5} m after {seconds} s, at least {least:.5}");
        assert!(risen > least, "{height} cells, {ratio}, {interface:?}: {risen} m, less than {least}");
    }
}

/// The gap below a wide box is liquid as far as it goes, though there is no room for particles: were the middle of it air, that would hold the box. The
/// water that has to come in weighs ten times as much as the box, so that it is slow at first.
#[test]
fn wide_boxes_leave_the_floor_too() {
    for (width, gap) in [(0.6, 0.0), (0.6, 0.03), (0.8, 0.0)] {
        let mut params = still_water([16; 3], 1.0 / 16.0, 0.7);
        params.time = fixed_step(1.0 / 24.0);
        let size = DVec3::new(width, 0.15, width);
        let position = DVec3::new(0.513, 0.075 + gap, 0.5);
        params.bodies = vec![body(Shape::Box { size }, Pose { position, rotation: DQuat::IDENTITY }, 0.75)];
        let mut world = World::new(params).unwrap();
        let rises: Vec<f64> = (0..40).map(|_| world.step().unwrap().bodies[0].position.y - position.y).collect();
        println!("{width} m wide, {gap} m above the floor: {:.3} m after 40 steps", rises[39]);
        assert!(rises[39] > 0.08 && rises.iter().all(|rise| *rise > -0.01), "{width} {gap}: {rises:?}");
    }
}

/// With faces that move with it, a box that a joint holds to the floor is lifted by what it displaces, its lower face by the film.
#[test]
fn a_held_box_on_the_floor_is_lifted() {
    for kind in [JointKind::Fixed, JointKind::Slider { axis: DVec3::X }] {
        let mut params = still_water([10; 3], 0.1, 0.6);
        params.time = fixed_step(1.0 / 30.0);
        let position = DVec3::new(0.47, 0.1001, 0.52);
        let size = DVec3::new(0.3, 0.2, 0.3);
        let held = body(Shape::Box { size }, Pose { position, rotation: DQuat::IDENTITY }, 0.3);
        params.bodies = vec![RigidBody { interface: Interface::Faces, ..held }];
        params.joints = vec![Joint { kind, body: 0, other: None, anchor: position }];
        let lifted = first(params).impulse.y * 30.0 / (RHO * G * size.element_product());
        println!("{kind:?}: {lifted} of what it displaces");
        assert!((lifted - 1.0).abs() < 0.01, "{kind:?}: {lifted} of what it displaces");
    }
}
