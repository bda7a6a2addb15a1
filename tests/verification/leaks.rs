//! Thin walls hold water: what is in a cup stays in it, however the cup moves.

use bathtub_bench::worlds::still_water;
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape, TriMesh};
use bathtub_engine::solid::{Keyframe, Motion, Obstacle};
use bathtub_engine::world::{TimeParams, World};
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Cells along the unit domain.
const CELLS: usize = 40;
const DX: f64 = 1.0 / CELLS as f64;

/// The closed surface of revolution about y of a closed curve (radius, height), counter-clockwise; points with radius 0
/// are poles.
fn lathe(profile: &[(f64, f64)], around: usize) -> TriMesh {
    let mut mesh = TriMesh { vertices: Vec::new(), triangles: Vec::new() };
    let rings: Vec<Vec<u32>> = profile
        .iter()
        .map(|&(radius, height)| {
            let first = mesh.vertices.len() as u32;
            let count = if radius == 0.0 { 1 } else { around };
            mesh.vertices.extend((0..count).map(|n| {
                let angle = TAU * n as f64 / around as f64;
                DVec3::new(radius * angle.cos(), height, -radius * angle.sin())
            }));
            (0..around as u32).map(|n| first + n % count as u32).collect()
        })
        .collect();
    for (low, high) in rings.iter().zip(rings.iter().cycle().skip(1)) {
        for n in 0..around {
            let m = (n + 1) % around;
            for triangle in [[low[n], low[m], high[m]], [low[n], high[m], high[n]]] {
                if triangle[0] != triangle[1] && triangle[1] != triangle[2] && triangle[2] != triangle[0] {
                    mesh.triangles.push(triangle);
                }
            }
        }
    }
    mesh
}

/// Carry a cup with water along `keys` in steps of `dt`, or shorter ones that keep the water to `cfl` cells per step;
/// after every step all particles are there, and none gets `outside` (in the cup's frame) but over the `rim` (its height
/// there). The most cells that the cup moved in a step.
fn carried(
    cup: &TriMesh,
    keys: &[Keyframe],
    (dt, cfl): (f64, f64),
    water: (Shape, DVec3),
    (outside, rim): (impl Fn(DVec3) -> bool, f64),
) -> f64 {
    let end = keys.last().unwrap().time;
    let mut params = still_water([CELLS; 3], DX, 0.0);
    let start = keys[0].pose;
    let pose = Pose { position: start.apply(water.1), rotation: start.rotation };
    params.fluid.water_mut().unwrap().initial =
        vec![Liquid { region: Region::Shape(water.0, pose), velocity: DVec3::ZERO }];
    params.pressure.params.tolerance = 1e-6;
    params.time = TimeParams { fps: 1.0 / dt, cfl, max_dt: dt, min_dt: 1e-9 };
    let motion = Motion::Keyframes(keys.to_vec());
    params.obstacles =
        vec![Obstacle { name: "cup".into(), shape: Shape::Mesh(Arc::new(cup.clone())), motion: motion.clone() }];
    let mut world = World::new(params).unwrap();
    let before = world.state().fluid.water().unwrap().particles.len();
    assert!(before > 5000, "{before} particles");
    let (mut fastest, mut left) = (0.0f64, 0);
    while world.state().time < end {
        let report = world.step().unwrap();
        let velocity = motion.velocity(report.t - report.dt, report.dt);
        fastest = fastest.max(velocity.linear.length() * report.dt / DX);
        let pose = motion.pose(report.t);
        let water = world.state().fluid.water().unwrap();
        assert_eq!(water.particles.len() as u64 + water.bank, before as u64, "t = {}", report.t);
        let local = || water.particles.position.iter().map(|x| pose.invert(*x)).filter(|p| outside(*p));
        let (now_outside, above) = (local().count(), local().filter(|p| p.y > rim).count());
        // What is outside anew came over the rim, and is above it still.
        let lost = now_outside.saturating_sub(left);
        assert!(lost <= above, "{lost} of {before} particles, {above} above the rim, at t = {}", report.t);
        left = now_outside;
    }
    fastest
}

/// Walls of 1.5 cells.
const WALL: f64 = 1.5 * DX;

fn key(time: f64, x: f64, y: f64, z: f64, tilt: DQuat) -> Keyframe {
    Keyframe { time, pose: Pose { position: DVec3::new(x, y, z), rotation: tilt } }
}

#[test]
fn an_open_cup_carried_and_tilted_loses_nothing_through_its_wall() {
    let (radius, height) = (0.16, 0.5);
    let (r, h, w) = (radius, 0.5 * height, WALL);
    let profile = [(0.0, -h), (r + w, -h), (r + w, h), (r, h), (r, -h + w), (0.0, -h + w)];
    let cup = lathe(&profile, 48);
    let (level, depth) = (-h + w, 0.16);
    let water = (Shape::Cylinder { radius, height: depth }, DVec3::Y * (level + 0.5 * depth));
    // Two cells in a step at its fastest.
    let tilt = |degrees: f64| DQuat::from_axis_angle(DVec3::new(0.3, 0.0, 1.0).normalize(), degrees.to_radians());
    let keys = vec![
        key(0.0, 0.25, 0.35, 0.5, DQuat::IDENTITY),
        key(0.6, 0.55, 0.4, 0.55, tilt(-12.0)),
        key(1.2, 0.72, 0.55, 0.5, tilt(18.0)),
        key(1.8, 0.4, 0.5, 0.4, tilt(-20.0)),
        key(2.4, 0.3, 0.4, 0.5, tilt(0.0)),
    ];
    let outside = |p: DVec3| p.y < -h || p.x.hypot(p.z) > r + 0.5 * w;
    carried(&cup, &keys, (0.07, 2.0), water.clone(), (outside, h));
    let fastest = carried(&cup, &keys, (0.07, f64::INFINITY), water, (outside, h));
    assert!((1.8..2.2).contains(&fastest), "{fastest} cells per step");
}

#[test]
fn a_closed_shell_thrown_about_loses_nothing() {
    let (r, w) = (0.22, WALL);
    let ball = |radius: f64| Shape::Sphere { radius }.surface(0.7 * DX);
    let (mut shell, mut inner) = (ball(r + w), ball(r));
    inner.flip();
    let first = shell.vertices.len() as u32;
    shell.vertices.extend(inner.vertices);
    shell.triangles.extend(inner.triangles.iter().map(|t| t.map(|v| v + first)));
    let water = (Shape::Sphere { radius: 0.85 * r }, DVec3::NEG_Y * 0.1 * r);
    let turn = |degrees: f64| DQuat::from_axis_angle(DVec3::new(1.0, 0.5, 0.7).normalize(), degrees.to_radians());
    let keys = vec![
        key(0.0, 0.35, 0.35, 0.5, DQuat::IDENTITY),
        key(0.3, 0.65, 0.65, 0.5, turn(100.0)),
        key(0.6, 0.35, 0.65, 0.35, turn(250.0)),
        key(0.9, 0.6, 0.35, 0.6, turn(80.0)),
        key(1.2, 0.4, 0.4, 0.4, turn(-50.0)),
    ];
    let outside = |p: DVec3| p.length() > r + 0.5 * w;
    carried(&shell, &keys, (0.024, 2.0), water.clone(), (outside, f64::INFINITY));
    let fastest = carried(&shell, &keys, (0.024, f64::INFINITY), water, (outside, f64::INFINITY));
    assert!((1.8..2.5).contains(&fastest), "{fastest} cells per step");
}
