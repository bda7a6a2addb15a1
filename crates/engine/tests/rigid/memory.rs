//! A state that is written and read back goes on with the same bits.

use crate::support::*;
use bathtub_engine::geometry::Shape;
use bathtub_engine::solid::rigid::{Joint, JointKind, RigidBody, RigidState};
use glam::{DQuat, DVec3};

fn pile() -> (Vec<RigidBody>, Vec<Joint>) {
    let mut r = random(11);
    let shapes = [
        cube(0.4),
        Shape::Sphere { radius: 0.25 },
        Shape::Torus { major: 0.3, minor: 0.1 },
        Shape::Cylinder { radius: 0.2, height: 0.5 },
    ];
    let mut bodies: Vec<_> = (0..12)
        .map(|i| body(&format!("{i}"), shapes[i % 4].clone(), DVec3::new(0.1 * r(), 0.5 + 0.7 * i as f64, 0.1 * r())))
        .collect();
    for b in &mut bodies {
        b.pose.rotation = DQuat::from_scaled_axis(DVec3::new(r(), r(), r()));
        b.restitution = 0.2;
    }
    let anchor = 0.5 * (bodies[4].pose.position + bodies[5].pose.position);
    (bodies, vec![Joint { kind: JointKind::Point, body: 4, other: Some(5), anchor }])
}

#[test]
fn restored_in_the_middle_of_a_collision_it_goes_on_with_the_same_bits() {
    let (bodies, joints) = pile();
    let dt = 1.0 / 120.0;
    let mut whole = Scene::new(&bodies, &joints, &[], floor());
    // A checkpoint between predict and advance, while the pile falls together.
    let mut halfway = None;
    for n in 0..240 {
        whole.rigids.predict(&mut whole.state, 0.0, dt);
        if n == 100 {
            halfway = Some(postcard::to_stdvec(&whole.state).unwrap());
        }
        whole.rigids.advance(&mut whole.state, 0.0, dt).unwrap();
    }
    let halfway = halfway.unwrap();
    println!("checkpoint of 12 bodies: {} bytes", halfway.len());
    let mut resumed = Scene::new(&bodies, &joints, &[], floor());
    resumed.state = postcard::from_bytes::<RigidState>(&halfway).unwrap();
    for n in 100..240 {
        if n > 100 {
            resumed.rigids.predict(&mut resumed.state, 0.0, dt);
        }
        resumed.rigids.advance(&mut resumed.state, 0.0, dt).unwrap();
    }
    assert_eq!(whole.state.bodies, resumed.state.bodies);
    assert!(whole.state == resumed.state);
    let moving = whole.state.bodies.iter().any(|b| b.velocity.length() > 1e-3);
    assert!(moving, "nothing left to compare");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (bodies, joints) = pile();
            let mut scene = Scene::new(&bodies, &joints, &[], floor());
            for _ in 0..100 {
                scene.step(1.0 / 120.0);
            }
            scene.state
        })
    };
    assert!(run(1) == run(2));
}
