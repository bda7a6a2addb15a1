//! Free slip: walls push, they do not hold.

use bathtub_bench::worlds::{fixed, still_water};
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::{TimeParams, World};
use glam::{DQuat, DVec3};

/// A sheet of water, 4 cells thick, on a plate tilted by θ gains speed with g sin θ, to 5 %, before it leaves the plate
/// (validation of [ZB17], "Thin 1").
#[test]
fn a_sheet_of_water_slides_down_a_plate_as_if_there_were_no_friction() {
    for degrees in [15.0f64, 30.0, 50.0] {
        let (dims, dx) = ([72, 56, 6], 1.0 / 64.0);
        let angle = degrees.to_radians();
        let rotation = DQuat::from_rotation_z(-angle);
        let (along, normal) = (rotation * DVec3::X, rotation * DVec3::Y);
        let mut params = still_water(dims, dx, 0.0);
        let middle = 0.5 * dx * DVec3::from(dims.map(|n| n as f64));
        params.obstacles = vec![fixed(
            "plate",
            Shape::Box { size: DVec3::new(2.0, 6.0 * dx, 1.0) },
            middle - 5.0 * dx * normal,
            rotation,
        )];
        let sheet = Shape::Box { size: DVec3::new(0.4, 4.0 * dx, 1.0) };
        let pose = Pose { position: middle - 0.1 * along, rotation };
        params.fluid.water().initial = vec![Liquid { region: Region::Shape(sheet, pose), velocity: DVec3::ZERO }];
        params.pressure.params.tolerance = 1e-6;
        params.time = TimeParams { fps: 100.0, cfl: 1.0, max_dt: 1.0, min_dt: 1e-9 };
        let mut world = World::new(params).unwrap();
        let mut slopes = Vec::new();
        while world.state().time < 0.25 {
            let report = world.step().unwrap();
            let speed = report.fluid.momentum.dot(along) / report.fluid.mass;
            slopes.push(speed / (report.t * 9.81 * angle.sin()));
        }
        let late = &slopes[slopes.len() / 4..];
        assert!(late.iter().all(|ratio| (ratio - 1.0).abs() <= 0.05), "{degrees}°: {slopes:.3?}");
    }
}
