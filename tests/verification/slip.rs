//! Free slip: walls push, they do not hold.

use crate::support::elastic::{elastic, material};
use bathtub_bench::worlds::{fixed, still_water};
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape, TetMesh};
use bathtub_engine::solid::Motion;
use bathtub_engine::solid::elastic::{Elastic, Hold};
use bathtub_engine::world::{TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};

/// A sheet of water, 4 cells thick, on a plate tilted by θ gains speed with g sin θ, to 5 %, before it leaves the plate
/// (validation of [ZB17], "Thin 1").
#[test]
fn a_sheet_of_water_slides_down_a_plate_as_if_there_were_no_friction() {
    for degrees in [15.0, 30.0, 50.0] {
        slide(degrees, |params, middle, rotation| {
            let size = DVec3::new(2.0, 6.0 * DX, 1.0);
            let position = middle - 5.0 * DX * (rotation * DVec3::Y);
            params.obstacles = vec![fixed("plate", Shape::Box { size }, position, rotation)];
        });
    }
}

/// The same on a sheet of stiff rubber, two cells thick and held along the sides that slope.
#[test]
fn a_sheet_of_water_slides_down_an_elastic_panel_as_if_there_were_no_friction() {
    slide(25.0, |params, middle, rotation| {
        let size = DVec3::new(1.0, 2.0 * DX, 10.0 * DX);
        let panel = TetMesh::block(size, [32, 1, 5]);
        let held = |v: &usize| panel.vertices[*v].z.abs() > 0.45 * size.z;
        let motion = Motion::Static(Pose { position: DVec3::ZERO, rotation: DQuat::IDENTITY });
        let hold = Hold { vertices: (0..panel.vertices.len()).filter(held).collect(), motion };
        let place = |x: DVec3| middle + rotation * (x - 3.0 * DX * DVec3::Y);
        let rest = panel.mapped(place);
        params.elastic = vec![Elastic { holds: vec![hold], ..elastic("panel", rest, material(1e7, 0.3, 1000.0)) }];
    });
}

const DX: f64 = 1.0 / 64.0;

/// Let a sheet of water go on a plate tilted by an angle, whose upper side is two cells below the middle of the sheet.
fn slide(degrees: f64, plate: impl Fn(&mut WorldParams, DVec3, DQuat)) {
    let dims = [72, 56, 6];
    let angle = degrees.to_radians();
    let rotation = DQuat::from_rotation_z(-angle);
    let along = rotation * DVec3::X;
    let mut params = still_water(dims, DX, 0.0);
    let middle = 0.5 * DX * DVec3::from(dims.map(|n| n as f64));
    plate(&mut params, middle, rotation);
    let sheet = Shape::Box { size: DVec3::new(0.4, 4.0 * DX, 1.0) };
    let pose = Pose { position: middle - 0.1 * along, rotation };
    params.fluid.water_mut().unwrap().initial =
        vec![Liquid { region: Region::Shape(sheet, pose), velocity: DVec3::ZERO }];
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
