//! Scenes of [ZB17, Table 1] and what section 8 of the paper says of each. Its stability scene is an experiment of its own.

use super::support::elastic::body_of;
use super::{of, play};
use bathtub_engine::world::World;
use glam::DVec3;
use std::process::Command;

/// "The beam deforms as it is subjected to the accelerating liquid's momentum": downstream; then it swings back past where it hung.
#[test]
fn a_dam_break_bends_the_beam_downstream_and_it_comes_back() {
    let reports = play("zb17/beam", |_| ());
    let beam = of(&reports, "beam");
    let start = beam[0].1.position.x;
    let (far, place) =
        beam.iter().map(|(t, b)| (b.position.x, *t)).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    // Its middle, which moves 0.4 times as far as its end.
    assert!(far > start + 0.1, "bent by {} m only", far - start);
    let back = beam.iter().filter(|(t, _)| *t > place).map(|(_, b)| b.position.x).fold(f64::MAX, f64::min);
    assert!(back < start, "back to {} m of where it hung", back - start);
}

/// "The lightest solid is realistically propelled out of the liquid body, while the heaviest one sinks rapidly to the bottom …
/// The neutrally buoyant ball … finally sinks to the bottom as compression induced by liquid pressure gives it a slightly higher
/// density."
#[test]
fn a_light_ball_is_thrown_out_a_heavy_one_sinks_and_a_neutral_one_follows() {
    const RADIUS: f64 = 0.12;
    let reports = play("zb17/balls", |_| ());
    let [light, neutral, heavy] = ["light", "neutral", "heavy"].map(|name| of(&reports, name));
    let level = 0.6 + reports[0].bodies.iter().map(|b| b.volume).sum::<f64>() / 1.5;
    let deepest =
        light.iter().map(|(t, b)| (b.position.y, *t)).fold((f64::MAX, 0.0), |a, b| if b.0 < a.0 { b } else { a });
    let thrown = light.iter().filter(|(t, _)| *t > deepest.1).map(|(_, b)| b.position.y).fold(0.0, f64::max);
    assert!(thrown > level + RADIUS, "the light ball comes to {thrown} m, the level is {level} m");
    let lands = heavy.iter().find(|(_, b)| b.position.y < 1.1 * RADIUS).expect("the heavy ball never lands").0;
    assert!(lands < 0.6, "the heavy ball lands at {lands} s");
    let (_, end) = neutral.last().unwrap();
    assert!(end.position.y < 1.2 * RADIUS, "the neutral ball ends at {} m", end.position.y);
    assert!(end.volume < 0.98 * neutral[0].1.volume, "the neutral ball is not pressed together: {} m³", end.volume);
}

/// "This solid is compressed to an eighth of its rest volume; however, elastic forces cause it to rapidly recover its original size …
/// the initially compact solid begins to sink slightly …, only to be pushed to the surface as expansion lowers its density."
#[test]
fn a_squashed_cube_sinks_then_swells_and_rises() {
    const REST: f64 = 0.3 * 0.3 * 0.3;
    let reports = play("zb17/compression", |_| ());
    let cube = of(&reports, "cube");
    let start = 0.4;
    let swollen = cube.iter().find(|(_, b)| b.volume >= 0.9 * REST).map(|(t, _)| *t);
    let swollen = swollen.expect("the cube never comes to 90 % of its volume");
    assert!(cube[0].1.volume < 0.5 * REST, "it begins with {} of its volume", cube[0].1.volume / REST);
    let lowest = cube.iter().filter(|(t, _)| *t <= swollen).map(|(_, b)| b.position.y).fold(f64::MAX, f64::min);
    assert!(lowest < start - 0.003, "it sinks by {} m", start - lowest);
    let (_, end) = cube.last().unwrap();
    assert!(end.volume >= 0.95 * REST, "it ends with {} of its volume", end.volume / REST);
    assert!(end.position.y > start + 0.1, "it ends at {} m", end.position.y);
}

/// "The fluid deforms the object … the liquid then starts freely flowing down its slope … As the fluid flows off the object's surface,
/// the solid elastically rebounds and gradually returns to equilibrium."
#[test]
fn water_slides_off_a_panel_and_the_panel_springs_back() {
    let mut leaked = 0.0_f64;
    let mut places = Vec::new();
    let reports = play("zb17/panel", |world| {
        let time = world.state().time;
        // Later, water comes back from the wall below the panel.
        if time < 0.6 {
            leaked = leaked.max(fraction_below(world));
        }
        places.push((time, centre(world).x));
    });
    assert!(leaked <= 0.005, "{leaked} of the water is below the panel");
    let panel = of(&reports, "panel");
    let bent = panel.iter().map(|(_, b)| b.elastic.unwrap()).fold(0.0, f64::max);
    let (_, end) = panel.last().unwrap();
    let left = end.elastic.unwrap();
    assert!(left < 0.1 * bent, "{bent} J at most, {left} J in the end");
    let lowest = panel.iter().map(|(_, b)| b.position.y).fold(f64::MAX, f64::min);
    assert!(end.position.y > lowest + 0.02, "it comes back by {} m", end.position.y - lowest);
    let [start, gone] = [places[0].1, places.iter().find(|(t, _)| *t > 0.8).unwrap().1];
    assert!(gone > start + 0.3, "the water moved by {} m", gone - start);
}

/// "As the system settles into equilibrium, the liquid collects into a pool at the center of its deformable enclosure."
#[test]
fn water_collects_in_the_middle_of_a_soft_platform() {
    let mut leaked = 0.0_f64;
    let mut last = (DVec3::ZERO, 0.0);
    let reports = play("zb17/platform", |world| {
        leaked = leaked.max(fraction_below(world));
        let middle = centre(world);
        let spread = |x: &DVec3| (*x - middle).reject_from(DVec3::Y).length_squared();
        let positions = &world.state().fluid.water().unwrap().particles.position;
        last = (middle, (positions.iter().map(spread).sum::<f64>() / positions.len() as f64).sqrt());
    });
    assert!(leaked <= 0.005, "{leaked} of the water is below the platform");
    let (middle, spread) = last;
    assert!(middle.reject_from(DVec3::Y).length() < 0.05, "the pool is at {middle} m");
    // Spread over the whole platform it would be 0.41 m.
    assert!(spread < 0.3, "the pool reaches {spread} m (rms)");
    let platform = of(&reports, "platform");
    assert!(platform.last().unwrap().1.position.y < 0.57, "it does not sag");
}

/// "The sphere is propelled to one side and bounces off a side wall as a result of the liquid's motion within it."
#[test]
fn water_carries_a_hollow_ball_to_the_wall_and_it_comes_back() {
    let mut outside = 0.0_f64;
    let reports = play("zb17/hollow", |world| {
        let body = body_of(world, 0);
        let centre = body.centre();
        let reach = body.positions().iter().map(|x| (*x - centre).length()).fold(0.0, f64::max);
        let positions = &world.state().fluid.water().unwrap().particles.position;
        let gone = positions.iter().filter(|x| (**x - centre).length() > reach).count();
        outside = outside.max(gone as f64 / positions.len() as f64);
    });
    assert!(outside <= 0.001, "{outside} of the water is outside");
    let ball = of(&reports, "ball");
    let mass = 300.0 * ball[0].1.volume;
    let along = |n: usize| reports[n].fluid.momentum.x + mass * ball[n].1.velocity.x;
    // The ball is 0.25 m in radius; it flies until it meets the floor, and the wall is at 0.7 m.
    let flight = ball.iter().position(|(_, b)| b.position.y < 0.3).expect("the ball never falls");
    for n in 0..flight {
        // What fluid and ball exchange is exact; what particles hand to faces inside the ball as they strike it is not.
        assert!(reports[n].ledger.momentum_error < 1e-10, "{:?}", reports[n].ledger);
        assert!((along(n) / along(0) - 1.0).abs() < 0.05, "momentum along x: {} then {} N s", along(0), along(n));
    }
    let hits = ball.iter().position(|(_, b)| b.position.x > 0.4).expect("the ball never comes to the wall");
    let back = ball[hits..].iter().map(|(_, b)| b.velocity.x).fold(f64::MAX, f64::min);
    assert!(back < -0.2, "it comes back with {back} m/s");
}

/// "A light dinosaur-shaped toy … the motion of the water distinctly impacting the toy's trajectory": it is carried off, and floats.
#[test]
fn a_light_toy_is_carried_off_and_floats() {
    let reports = play("zb17/toy", |_| ());
    let toy = of(&reports, "toy");
    let carried = toy.iter().map(|(_, b)| (b.position.x - toy[0].1.position.x).abs()).fold(0.0, f64::max);
    assert!(carried > 0.15, "it is carried {carried} m");
    // 0.42 m³ of water stand 0.2625 m high in the tank.
    let late = toy.iter().filter(|(t, _)| *t > 2.5);
    for (t, b) in late {
        assert!(b.position.y > 0.15, "it is at {} m at {t} s", b.position.y);
        assert!((b.volume / toy[0].1.volume - 1.0).abs() < 0.1, "its volume is {} m³ at {t} s", b.volume);
    }
}

/// The weak coupling fails, damping alone is wrong, elasticity in the solve is fine, damped or not.
#[test]
fn only_the_full_coupling_is_stable() {
    let out = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_bathtub"))
        .current_dir(out.path())
        .args(["reproduce", "zb17/stability"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}

fn centre(world: &World) -> DVec3 {
    let positions = &world.state().fluid.water().unwrap().particles.position;
    positions.iter().sum::<DVec3>() / positions.len() as f64
}

/// The part of the water that is below the first elastic body, a sheet: lower than the lower side of what is nearest in plan. Two cells
/// along the edges do not count, where water may fall past.
fn fraction_below(world: &World) -> f64 {
    let body = body_of(world, 0);
    let dx = world.params().grid.dx;
    let corners = |pick: fn(DVec3, DVec3) -> DVec3| body.positions().iter().copied().reduce(pick).unwrap();
    let (low, high) = (corners(DVec3::min) + 2.0 * dx, corners(DVec3::max) - 2.0 * dx);
    // Nearest in plan: two vertices, of the upper and the lower side; the lower one is what counts.
    let is_below = |x: &DVec3| {
        let plan = |v: &DVec3| (*v - *x).reject_from(DVec3::Y).length();
        let nearest = body.positions().iter().map(plan).fold(f64::MAX, f64::min);
        let beside = body.positions().iter().filter(|v| plan(v) <= nearest + 0.5 * dx);
        beside.map(|v| v.y).fold(f64::MAX, f64::min) > x.y + 0.5 * dx
    };
    let is_within = |x: &DVec3| x.x > low.x && x.x < high.x && x.z > low.z && x.z < high.z;
    let positions = &world.state().fluid.water().unwrap().particles.position;
    positions.iter().filter(|x| is_within(x) && is_below(x)).count() as f64 / positions.len() as f64
}
