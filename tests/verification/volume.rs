//! Water that is thrown about keeps its volume and stays where water can be.

use bathtub_bench::experiments::volume::{TOLERANCE, dam_break, run, sloshing_tank};

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
