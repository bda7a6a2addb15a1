//! Joints of each kind.

use crate::support::*;
use bathtub_engine::geometry::Shape;
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidError, RigidWarning, Rigids, Room};
use glam::DVec3;
use std::f64::consts::PI;

fn hung() -> Room {
    Room { gravity: DVec3::new(0.0, -G, 0.0), ..space() }
}

/// Period of a swing that starts at rest, from its crossings of the vertical.
fn period(scene: &mut Scene, dt: f64) -> f64 {
    let (mut last, mut crossings) = (scene.position(0).x, Vec::new());
    while crossings.len() < 5 {
        scene.step(dt);
        let x = scene.position(0).x;
        if last * x < 0.0 {
            crossings.push(scene.time - dt * x / (x - last));
        }
        last = x;
    }
    (crossings[4] - crossings[0]) / 2.0
}

/// Row E8. A small heavy ball on a point joint; its own inertia is part of the exact period 2π√((l² + 0.4r²)/(g l)).
#[test]
fn row_e8_pendulums_swing_with_the_exact_period() {
    let radius: f64 = 0.02;
    for (degrees, exact) in [(1.0, 2.006067), (90.0, 2.367842)] {
        let angle = f64::to_radians(degrees);
        let at = DVec3::new(angle.sin(), -angle.cos(), 0.0);
        let ball = body("bob", Shape::Sphere { radius }, at);
        let pivot = Joint { kind: JointKind::Point, body: 0, other: None, anchor: DVec3::ZERO };
        let mut scene = Scene::new(&[ball], &[pivot], &[], hung());
        let measured = period(&mut scene, 1e-3);
        println!("E8 at {degrees}°: {measured} s, exact {exact} s");
        assert!((measured / exact - 1.0).abs() < 0.01, "{degrees}°: {measured} s instead of {exact} s");
    }
    // A rod on a hinge: 2π√(I/(m g d)), I about the hinge.
    let rod = Shape::Box { size: DVec3::new(0.1, 1.0, 0.1) };
    let angle = f64::to_radians(2.0);
    let mut rod = body("rod", rod, 0.5 * DVec3::new(angle.sin(), -angle.cos(), 0.0));
    rod.pose.rotation = glam::DQuat::from_rotation_z(angle);
    let hinge = Joint { kind: JointKind::Hinge { axis: DVec3::Z }, body: 0, other: None, anchor: DVec3::ZERO };
    let mut scene = Scene::new(&[rod], &[hinge], &[], hung());
    let inertia = (1.0 + 0.01) / 12.0 + 0.25;
    let exact = 2.0 * PI * f64::sqrt(inertia / (G * 0.5));
    let measured = period(&mut scene, 1e-3);
    println!("E8 rod: {measured} s, exact {exact} s");
    assert!((measured / exact - 1.0).abs() < 0.01, "rod: {measured} s instead of {exact} s");
}

/// Row E9: a chain of ten links, kicked at random for 10⁴ steps.
#[test]
fn row_e9_a_kicked_chain_does_not_come_apart() {
    let length = 0.5;
    let link = Shape::Capsule { radius: 0.05, height: 0.3 };
    let links: Vec<_> = (0..10)
        .map(|i| body(&format!("link {i}"), link.clone(), DVec3::new(0.0, -length * (i as f64 + 0.5), 0.0)))
        .collect();
    let joints: Vec<_> = (0..10)
        .map(|i| Joint {
            kind: JointKind::Point,
            body: i,
            other: i.checked_sub(1),
            anchor: DVec3::new(0.0, -length * i as f64, 0.0),
        })
        .collect();
    let mut scene = Scene::new(&links, &joints, &[], hung());
    let mut r = random(3);
    let mut worst = [0.0f64; 2];
    for n in 0..10_000 {
        let dt = 1.0 / 240.0;
        scene.rigids.predict(&mut scene.state, 0.0, dt);
        if n % 10 == 0 {
            let kick = 0.5 * DVec3::new(r(), r(), r());
            scene.rigids.apply_impulse(&mut scene.state, (n / 10) % 10, kick, 0.01 * kick);
        }
        scene.rigids.advance(&mut scene.state, 0.0, dt).unwrap();
        let gap = scene.rigids.joint_gaps(&scene.state).into_iter().fold(0.0, f64::max);
        worst[n / 5000] = worst[n / 5000].max(gap);
    }
    println!("E9: gaps {worst:?} m of links of {length} m");
    assert!(worst.iter().all(|&gap| gap < 1e-3 * length), "{worst:?}");
    assert!(worst[1] < 3.0 * worst[0], "growing: {worst:?}");
    // Nothing is left of it a moment after the last kick.
    for _ in 0..20 {
        scene.step(1.0 / 240.0);
    }
    let gap = scene.rigids.joint_gaps(&scene.state).into_iter().fold(0.0, f64::max);
    assert!(gap < 1e-4 * length, "{gap}");
}

/// Row E11 with joints: an articulated set in space keeps its momentum.
#[test]
fn row_e11_an_articulated_set_keeps_momentum() {
    let mut links: Vec<_> =
        (0..4).map(|i| body(&format!("{i}"), cube(0.4), DVec3::new(0.5 * i as f64, 0.0, 0.0))).collect();
    links[0].velocity = DVec3::new(0.3, 1.0, -0.5);
    links[3].spin = DVec3::new(1.0, 2.0, 4.0);
    links[2].mass = Mass::Total(3.0);
    let at = |i: f64| DVec3::new(0.5 * i + 0.25, 0.0, 0.0);
    let joints = [
        Joint { kind: JointKind::Point, body: 0, other: Some(1), anchor: at(0.0) },
        Joint { kind: JointKind::Hinge { axis: DVec3::Y }, body: 1, other: Some(2), anchor: at(1.0) },
        Joint { kind: JointKind::Slider { axis: DVec3::X }, body: 2, other: Some(3), anchor: at(2.0) },
    ];
    let mut scene = Scene::new(&links, &joints, &[], space());
    let (p0, l0) = scene.momentum();
    for _ in 0..2000 {
        scene.step(1.0 / 240.0);
    }
    let (p, l) = scene.momentum();
    assert!((p - p0).length() < 1e-12 * p0.length() && (l - l0).length() < 1e-12 * l0.length(), "{p} {p0}, {l} {l0}");
}

/// What each kind leaves free moves, what it holds does not.
#[test]
fn each_kind_holds_what_it_should() {
    let kinds =
        [JointKind::Point, JointKind::Hinge { axis: DVec3::Z }, JointKind::Slider { axis: DVec3::X }, JointKind::Fixed];
    for kind in kinds {
        let mut block = body("block", cube(0.4), DVec3::new(0.5, 0.0, 0.0));
        block.velocity = DVec3::new(1.0, 0.0, 0.0);
        block.spin = DVec3::new(2.0, 1.0, 3.0);
        let joint = Joint { kind, body: 0, other: None, anchor: DVec3::ZERO };
        let mut scene = Scene::new(&[block], &[joint], &[], space());
        for _ in 0..400 {
            scene.step(1.0 / 240.0);
        }
        let (at, v) = (scene.position(0), scene.rigids.velocity(&scene.state, 0));
        let gap = scene.rigids.joint_gaps(&scene.state)[0];
        assert!(gap < 1e-3, "{kind:?}: gap {gap}");
        match kind {
            JointKind::Point => assert!((at.length() - 0.5).abs() < 1e-3 && v.angular.length() > 0.5, "{v:?}"),
            JointKind::Hinge { .. } => {
                // Its own spin about z is shared out over the moment about the hinge.
                let own = 0.4 * 0.4 / 6.0;
                let exact = 3.0 * own / (own + 0.25);
                assert!(
                    at.z.abs() < 1e-3
                        && v.angular.truncate().length() < 1e-3
                        && (v.angular.z / exact - 1.0).abs() < 1e-3,
                    "{at} {v:?}"
                )
            }
            JointKind::Slider { .. } => {
                assert!((at.x - 0.5 - 400.0 / 240.0).abs() < 1e-2 && at.y.abs() < 1e-3, "{at} {v:?}");
                assert!(v.angular.length() < 1e-3, "{v:?}");
            }
            JointKind::Fixed => {
                assert!(at.distance(DVec3::new(0.5, 0.0, 0.0)) < 1e-3 && v.linear.length() < 1e-3, "{at} {v:?}")
            }
        }
    }
}

/// Twists that fulfil the rows are those the joint allows.
#[test]
fn rows_tell_which_twists_a_joint_allows() {
    let blocks = [body("a", cube(0.4), DVec3::ZERO), body("b", cube(0.4), DVec3::new(1.0, 0.0, 0.0))];
    let axis = DVec3::new(1.0, 2.0, 2.0) / 3.0;
    let anchor = DVec3::new(0.5, 0.1, 0.0);
    let hinge = Joint { kind: JointKind::Hinge { axis }, body: 0, other: Some(1), anchor };
    let scene = Scene::new(&blocks, &[hinge], &[], space());
    let rows = scene.rigids.joint_rows(&scene.state);
    assert_eq!(rows.len(), 5);
    // a turns with ω about the origin; b with it, and on top about the hinge.
    let (w, relative) = (DVec3::new(0.3, -0.2, 0.9), 1.7 * axis);
    let twist = |v: DVec3, w: DVec3| [v.x, v.y, v.z, w.x, w.y, w.z];
    let b = DVec3::new(1.0, 0.0, 0.0);
    let allowed = [twist(DVec3::ZERO, w), twist(w.cross(b) + relative.cross(b - anchor), w + relative)];
    let value = |twists: &[[f64; 6]; 2], row: &bathtub_engine::solid::rigid::JointRow| -> f64 {
        let dot = |a: &[f64; 6], b: &[f64; 6]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        dot(&row.jacobian[0], &twists[0]) + dot(&row.jacobian[1], &twists[1])
    };
    assert!(rows.iter().all(|row| value(&allowed, row).abs() < 1e-14 && row.bodies == [Some(0), Some(1)]));
    let forbidden = [twist(DVec3::ZERO, DVec3::ZERO), twist(DVec3::Y, DVec3::ZERO)];
    assert!(rows.iter().any(|row| value(&forbidden, row).abs() > 0.1));
}

/// A hinged plank that is pushed: the coupled solve's answer, M⁻¹ − M⁻¹Cᵀ(CM⁻¹Cᵀ)⁻¹CM⁻¹ applied to the push, is what
/// happens when it moves, and the answer is not counted twice.
#[test]
fn an_impulse_on_a_hinged_body_turns_it_as_its_rows_say() {
    let mut plank = body("plank", Shape::Box { size: DVec3::new(1.0, 0.1, 0.4) }, DVec3::new(0.3, 0.0, 0.0));
    plank.mass = Mass::Total(2.0);
    let hinge = Joint { kind: JointKind::Hinge { axis: DVec3::Z }, body: 0, other: None, anchor: DVec3::ZERO };
    let mut scene = Scene::new(&[plank], &[hinge], &[], space());
    let (push, twist, dt) = (DVec3::new(0.2, 1.0, 0.5), DVec3::new(0.1, -0.2, 0.3), 1e-3);
    scene.rigids.predict(&mut scene.state, 0.0, dt);
    scene.rigids.apply_impulse(&mut scene.state, 0, push, twist);
    let p = *scene.rigids.properties(0);
    let moment = p.inertia.z_axis.z + p.mass * 0.09;
    let spin = (twist.z + 0.3 * push.y) / moment;
    // Gauss–Seidel over the rows converges to the eliminated system.
    let inverse = p.inverse_inertia(scene.state.bodies[0].rotation);
    for _ in 0..2000 {
        for row in scene.rigids.joint_rows(&scene.state) {
            let [a, b, c, d, e, f] = row.jacobian[0];
            let (linear, angular) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
            let v = scene.rigids.velocity(&scene.state, 0);
            let rate = linear.dot(v.linear) + angular.dot(v.angular);
            let size = linear.length_squared() / p.mass + angular.dot(inverse * angular);
            let lambda = -rate / size;
            scene.rigids.apply_reaction(&mut scene.state, 0, lambda * linear, lambda * angular);
        }
    }
    let solved = scene.rigids.velocity(&scene.state, 0);
    assert!(
        (solved.angular - DVec3::new(0.0, 0.0, spin)).length() < 1e-9 && (solved.linear.y - 0.3 * spin).abs() < 1e-9
    );
    scene.rigids.advance(&mut scene.state, 0.0, dt).unwrap();
    let moved = scene.rigids.velocity(&scene.state, 0);
    assert!((moved.angular - solved.angular).length() < 2e-3 * spin, "{moved:?} {solved:?}");
}

/// Row 27.
#[test]
fn row_27_redundant_joints_are_dropped_and_impossible_ones_refused() {
    let bodies = [body("a", cube(0.4), DVec3::ZERO), body("b", cube(0.4), DVec3::new(1.0, 0.0, 0.0))];
    let point = |anchor| Joint { kind: JointKind::Point, body: 0, other: Some(1), anchor };
    let joints = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(point);
    let scene = Scene::new(&bodies, &joints, &[], space());
    // Three points hold a pair as a fixed joint would (3 + 2 + 1 constraints); the fourth holds nothing new.
    assert_eq!(
        scene.rigids.warnings(),
        [
            RigidWarning::PartlyRedundantJoint { joint: 1, rows: 1, of: 3 },
            RigidWarning::PartlyRedundantJoint { joint: 2, rows: 2, of: 3 },
            RigidWarning::RedundantJoint { joint: 3 },
        ]
    );
    assert_eq!(scene.rigids.joint_gaps(&scene.state).len(), 3);
    let refuse = |joint, room| Rigids::new(&bodies, &[joint], &[], room).map(|_| ()).unwrap_err();
    let itself = Joint { other: Some(0), ..point(DVec3::ZERO) };
    assert!(matches!(refuse(itself, space()), RigidError::Itself { joint: 0, .. }));
    let missing = Joint { other: Some(7), ..point(DVec3::ZERO) };
    assert!(matches!(refuse(missing, space()), RigidError::Missing { body: 7, bodies: 2, .. }));
    let no_axis = Joint { kind: JointKind::Hinge { axis: DVec3::ZERO }, ..point(DVec3::ZERO) };
    assert!(matches!(refuse(no_axis, space()), RigidError::Geometry { what: "axis", .. }));
    let nowhere = point(DVec3::new(f64::NAN, 0.0, 0.0));
    assert!(matches!(refuse(nowhere, space()), RigidError::Geometry { what: "anchor", .. }));
    let plane = Room { flat: [false, false, true], ..space() };
    let tilted = Joint { kind: JointKind::Hinge { axis: DVec3::X }, ..point(DVec3::ZERO) };
    assert!(matches!(refuse(tilted, plane), RigidError::OutOfPlane { .. }));
}
