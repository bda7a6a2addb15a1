//! Water that is thrown about keeps its volume and stays where water can be.

use crate::support::{film, still_air, water};
use bathtub_bench::experiments::volume::{TOLERANCE, dam_break, run, sloshing_tank};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

#[test]
fn a_dam_break_keeps_its_volume_and_stays_out_of_the_pillar() {
    let course = run(dam_break(24), 4.0, |_, _| ()).unwrap();
    println!("dam break: drift {:+.4}, deepest {:.2e}, {:.2} m/s", course.worst(), course.deepest, course.fastest);
    assert!(course.fastest > 2.0, "nothing happened: {} m/s", course.fastest);
    assert!(course.worst().abs() <= TOLERANCE, "volume off by {:+.4}", course.worst());
    assert!(course.deepest <= 1e-9, "a particle was {} cells inside a solid", course.deepest);
}

#[test]
fn a_violently_sloshing_tank_keeps_its_volume() {
    let course = run(sloshing_tank(32), 6.0, |_, _| ()).unwrap();
    println!("sloshing: drift {:+.4}, deepest {:.2e}, {:.2} m/s", course.worst(), course.deepest, course.fastest);
    assert!(course.fastest > 2.0, "nothing happened: {} m/s", course.fastest);
    assert!(course.worst().abs() <= TOLERANCE, "volume off by {:+.4}", course.worst());
    assert!(course.deepest <= 1e-9, "a particle was {} cells outside", course.deepest);
}

/// What falls freely neither crowds nor scatters, however thin it is, so no drift must be reported. (A cell counted as full beside one
/// that is not would be: the kernel spreads to neighbours across edges and corners as well.)
#[test]
fn falling_drops_and_jets_report_no_drift() {
    let dims = [24, 40, 24];
    let dx = 1.0 / 24.0;
    for (name, shape) in
        [("drop", Shape::Sphere { radius: 4.3 * dx }), ("jet", Shape::Cylinder { radius: 3.6 * dx, height: 20.0 * dx })]
    {
        let pose = Pose { position: DVec3::new(0.52, 1.0, 0.49), rotation: DQuat::from_rotation_z(0.2) };
        let initial = vec![Liquid { region: Region::Shape(shape, pose), velocity: DVec3::ZERO }];
        let fluid = FluidParams::Water(water(initial, dims));
        let mut world = World::new(WorldParams { fluid, time: film(), ..still_air(dims, dx) }).unwrap();
        let worst = (0..6).map(|_| world.step().unwrap().ledger.volume_error).fold(0.0, f64::max);
        println!("{name}: {worst:.5}");
        assert!(worst < 0.003, "{name}: {worst}");
    }
}
