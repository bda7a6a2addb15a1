//! Fault row 20 for elastic bodies: what leaves through an open side is told once, and takes no part any more.

use crate::support::elastic::{ball, elastic, material};
use crate::support::{film, fixed_step, still_air, still_water};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::solid::ElasticError;
use bathtub_engine::world::{BodyError, StepError, World, WorldParams};
use glam::DVec3;

const DX: f64 = 1.0 / 12.0;

/// All sides open, a ball on its way through each of them, and one that stays.
fn bursting() -> WorldParams {
    let mut params = still_air([12; 3], DX);
    params.walls = [[Wall::Open; 2]; 3];
    params.time = film();
    let mut throw = |name: &str, way: DVec3, speed: f64| {
        let centre = DVec3::splat(0.5) + 0.3 * way;
        let mut body = elastic(name, ball(0.1, centre, 0.05), material(1e4, 0.3, 2.0));
        (body.velocity, body.angular_velocity) = (speed * way, DVec3::new(1.0, 2.0, 3.0));
        params.elastic.push(body);
    };
    throw("stays", DVec3::ZERO, 0.0);
    for (name, way) in [("left", DVec3::NEG_X), ("down", DVec3::NEG_Y), ("back", DVec3::NEG_Z)] {
        throw(name, way, 10.0);
        throw(&format!("not {name}"), -way, 5.0);
    }
    params
}

#[test]
fn bodies_leave_through_every_side() {
    let mut world = World::new(bursting()).unwrap();
    let mut events = Vec::new();
    let mut saved = None;
    for _ in 0..40 {
        let report = world.step().unwrap();
        events.extend(report.events.clone());
        if (1..6).contains(&events.len()) && saved.is_none() {
            saved = Some(world.state().clone());
        }
        for (body, state) in report.bodies.iter().zip(&world.state().solids.elastic) {
            assert!(state.active || body.impulse == DVec3::ZERO, "{} is pushed though it has left", body.name);
        }
    }
    for name in ["left", "not left", "down", "not down", "back", "not back"] {
        let told = events.iter().filter(|event| event.starts_with(&format!("'{name}' left the domain"))).count();
        assert_eq!(told, 1, "{name}: {events:?}");
    }
    assert_eq!(events.len(), 6, "{events:?}");
    assert!(
        world.state().solids.elastic[0].active && world.state().solids.elastic.iter().skip(1).all(|body| !body.active)
    );
    // Where they left, and there they are.
    let last = world.state().solids.elastic.clone();
    let report = world.step().unwrap();
    assert!(world.state().solids.elastic[1..] == last[1..]);
    // At 5 m/s a step of two cells would be 33 ms.
    assert!(report.dt > 0.04, "{} s", report.dt);

    // After a restart with some of them gone, the same bits.
    let saved = saved.expect("some leave before others");
    let mut resumed = World::new(bursting()).unwrap();
    let from = saved.step;
    resumed.restore(saved).unwrap();
    (from..world.state().step).for_each(|_| _ = resumed.step().unwrap());
    assert!(resumed.state() == world.state());
}

/// A light ball shoots out of the water through the open top, and leaves it at rest.
#[test]
fn a_ball_that_left_the_water_is_gone() {
    let mut params = still_water([12; 3], DX, 6.0 * DX);
    params.walls[1][1] = Wall::Open;
    params.time = film();
    let mut body = elastic("ball", ball(0.12, DVec3::new(0.5, 0.75, 0.5), 0.08), material(1e4, 0.3, 300.0));
    body.velocity = 8.0 * DVec3::Y;
    params.elastic = vec![body];
    let mut world = World::new(params).unwrap();
    let told: Vec<u64> = (0..30).filter(|_| !world.step().unwrap().events.is_empty()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(world.step().unwrap().max_speed < 0.1, "the water is as still as before");
}

/// A body that is torn apart needs a box that no memory could hold: that is an error with a name, and the state the last good one.
#[test]
fn a_body_that_is_torn_apart_is_an_error() {
    let mut params = still_air([12; 3], DX);
    params.walls = [[Wall::Open; 2]; 3];
    params.time = fixed_step(0.01);
    params.elastic = vec![elastic("rag", ball(0.2, DVec3::splat(0.5), 0.1), material(1e2, 0.3, 2.0))];
    let mut world = World::new(params).unwrap();
    let mut state = world.state().clone();
    state.solids.elastic[0].positions.iter_mut().for_each(|x| *x = 0.5 + 20.0 * (*x - 0.5));
    world.restore(state).unwrap();
    let error = world.step().expect_err("it is torn apart");
    let is_strewn = |error: &StepError| {
        let StepError::Bodies { source: BodyError::Elastic { name, source }, .. } = error else { return false };
        name == "rag" && matches!(source, ElasticError::Strewn { .. })
    };
    assert!(is_strewn(&error) && error.to_string().len() <= 300, "{error}");
    assert!(world.state().solids.elastic[0].positions.iter().all(|x| x.is_finite()));
}
