//! Row C9: a floating box that heaves.

use crate::support::still_water;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidBody};
use bathtub_engine::world::{TimeParams, World};
use glam::{DQuat, DVec3};

const G: f64 = 9.81;

/// Frequency of a box that floats half under water and is let go `amplitude` (m) above its rest, in units of √(g/draft): from the
/// time it takes from its highest to its lowest point.
fn heave(interface: Interface, amplitude: f64) -> f64 {
    let (n, width, height) = (64, 0.25, 0.25);
    let (dx, draft) = (1.0 / n as f64, 0.5 * height);
    let mut params = still_water([n, 48, 1], dx, 0.4);
    params.time = TimeParams { fps: 60.0, cfl: 2.0, max_dt: 1.0 / 120.0, min_dt: 1e-9 };
    params.pressure.params.tolerance = 1e-6;
    let size = DVec3::new(width, height, dx * (1.0 + 1e-6));
    let at = DVec3::new(0.5, 0.4 + 0.5 * height - draft + amplitude, 0.5 * dx);
    params.bodies = vec![RigidBody {
        name: "box".into(),
        shape: Shape::Box { size },
        mass: Mass::Density(500.0),
        interface,
        pose: Pose { position: at, rotation: DQuat::IDENTITY },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }];
    params.joints = vec![Joint { kind: JointKind::Slider { axis: DVec3::Y }, body: 0, other: None, anchor: at }];
    let mut world = World::new(params).unwrap();
    // From the highest point to the lowest is half a period.
    let (mut lowest, mut tilted) = ((at.y, 0.0), 0.0f64);
    loop {
        let report = world.step().unwrap();
        let y = report.bodies[0].position.y;
        let tilt = report.bodies[0].rotation.to_scaled_axis().length();
        tilted = tilted.max(tilt);
        assert!(tilt < 1e-3 && report.t < 2.0, "tilted by {tilt:.1e} at {} s", report.t);
        if y < lowest.0 {
            lowest = (y, report.t);
        } else if report.t > lowest.1 + 0.05 {
            break;
        }
    }
    println!("{interface:?}: fell from {:.4} to {:.4} m in {:.3} s, tilt {tilted:.1e}", at.y, lowest.0, lowest.1);
    std::f64::consts::PI / lowest.1 / (G / draft).sqrt()
}

/// Row C9: the water that moves along makes a floating box slower than its own mass would.
#[test]
fn a_floating_box_heaves_slower_than_alone() {
    for (interface, cells) in [(Interface::CutCells, 2.0), (Interface::Faces, 3.0)] {
        let found = heave(interface, cells / 64.0);
        println!("{interface:?}: {found:.3} of √(g/draft)");
        assert!((0.55..=0.95).contains(&found), "{interface:?}: {found:.3}");
    }
}
