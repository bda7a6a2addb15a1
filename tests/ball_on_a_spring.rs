//! A kind of solid that the engine does not know, in one file: balls on springs that let them move along one axis, coupled to the fluid
//! within the pressure solve.

use bathtub_bench::worlds::{still_air, still_water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::geometry::{Pose, RigidVelocity, Shape, SurfaceId, TetMesh};
use bathtub_engine::report::StepReport;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::elastic::{Elastic, Material};
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidBody};
use bathtub_engine::solid::{Attached, Family, Follow, Form, Freedoms, Outline, Place, Pushed, Response, Skin};
use bathtub_engine::world::{TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};

const RADIUS: f64 = 0.15;

/// A ball that a spring pulls back to where it hangs; it moves along an axis and does not turn.
struct Ball {
    shape: Shape,
    home: DVec3,
    axis: DVec3,
    /// kg/m³.
    density: f64,
    /// N/m.
    stiffness: f64,
    /// From home, m, and m/s.
    offset: f64,
    speed: f64,
}

impl Ball {
    fn new(home: DVec3, axis: DVec3, density: f64, stiffness: f64) -> Self {
        Self { shape: Shape::Sphere { radius: RADIUS }, home, axis, density, stiffness, offset: 0.0, speed: 0.0 }
    }

    fn mass(&self) -> f64 {
        self.density * 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3)
    }

    fn centre(&self) -> DVec3 {
        self.home + self.offset * self.axis
    }

    /// M̂ over a step: the spring answers within it.
    fn inertia(&self, dt: f64) -> f64 {
        self.mass() + dt * dt * self.stiffness
    }
}

struct Balls(Vec<Ball>);

impl Family for Balls {
    fn outlines(&self) -> Vec<Outline<'_>> {
        let form = |ball| Form::Posed { shape: ball, interface: Interface::CutCells };
        self.0.iter().map(|ball| Outline { name: "ball", kind: "spring", form: form(&ball.shape) }).collect()
    }

    fn skin(&self, solid: usize) -> Skin<'_> {
        let ball = &self.0[solid];
        let centre = ball.centre();
        let velocity = RigidVelocity { centre, linear: ball.speed * ball.axis, angular: DVec3::ZERO };
        Skin::Posed(Place { pose: Pose { position: centre, rotation: DQuat::IDENTITY }, velocity, is_there: true })
    }

    fn advance(&mut self, _time: f64, dt: f64) {
        self.0.iter_mut().for_each(|ball| ball.offset += dt * ball.speed);
    }

    fn predict(&mut self, _time: f64, dt: f64, gain: &dyn Fn(usize, f64) -> DVec3) {
        for (n, ball) in self.0.iter_mut().enumerate() {
            let momentum = ball.mass() * (ball.speed + gain(n, ball.density).dot(ball.axis));
            ball.speed = (momentum - dt * ball.stiffness * ball.offset) / ball.inertia(dt);
        }
    }

    fn freedoms(&self, surfaces: &[SurfaceId], dt: f64) -> Vec<Freedoms> {
        let unit = |(ball, &surface): (&Ball, &SurfaceId)| {
            let mut matrix = vec![0.0; 36];
            for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
                matrix[6 * i + j] = ball.axis[i] * ball.axis[j] / ball.inertia(dt);
            }
            let free = ball.inertia(dt).recip();
            let velocity = ball.speed * ball.axis;
            let follow = Follow::Rigid { centre: ball.centre() };
            Freedoms {
                surfaces: vec![Attached { surface, first: 0, follow, joined: Vec::new() }],
                velocity: vec![velocity.x, velocity.y, velocity.z, 0.0, 0.0, 0.0],
                response: Response::Dense { matrix, scale: vec![free, free, free, 0.0, 0.0, 0.0] },
            }
        };
        self.0.iter().zip(surfaces).map(unit).collect()
    }

    fn take(&mut self, unit: usize, pushed: &Pushed) {
        let ball = &mut self.0[unit];
        ball.speed += DVec3::from_slice(&pushed.change).dot(ball.axis);
    }

    fn state(&self) -> Vec<f64> {
        self.0.iter().flat_map(|ball| [ball.offset, ball.speed]).collect()
    }

    fn restore(&mut self, state: &[f64]) -> Result<(), String> {
        if let Some(far) = state.iter().step_by(2).find(|offset| offset.abs() > 10.0) {
            return Err(format!("a spring {far} m long"));
        }
        for (ball, state) in self.0.iter_mut().zip(state.chunks_exact(2)) {
            (ball.offset, ball.speed) = (state[0], state[1]);
        }
        Ok(())
    }

    fn energy(&self, solid: usize) -> Option<[f64; 2]> {
        let ball = &self.0[solid];
        Some([0.5 * ball.mass() * ball.speed * ball.speed, 0.5 * ball.stiffness * ball.offset * ball.offset])
    }
}

const HOME: DVec3 = DVec3::new(0.51, 0.43, 0.52);

fn steps_of(dt: f64) -> TimeParams {
    TimeParams { fps: 1.0, cfl: 1e12, max_dt: dt, min_dt: 1e-12 }
}

/// Water up to 0.8 m in a tank of a metre.
fn tank() -> WorldParams {
    WorldParams { time: steps_of(0.01), ..still_water([16; 3], 1.0 / 16.0, 0.8) }
}

fn world(params: WorldParams, balls: Vec<Ball>) -> World {
    World::with(params, vec![Box::new(Balls(balls))]).unwrap()
}

/// Without its spring, it is a rigid body on a slider.
#[test]
fn a_ball_without_a_spring_is_a_rigid_one_on_a_slider() {
    for (axis, ratio) in [(DVec3::Y, 0.2), (DVec3::Y, 3.0), (DVec3::new(0.6, 0.8, 0.0), 0.5)] {
        let density = 1000.0 * ratio;
        let mut own = world(tank(), vec![Ball::new(HOME, axis, density, 0.0)]);
        let mut params = tank();
        params.bodies = vec![RigidBody {
            name: "ball".into(),
            shape: Shape::Sphere { radius: RADIUS },
            mass: Mass::Density(density),
            interface: Interface::CutCells,
            pose: Pose { position: HOME, rotation: DQuat::IDENTITY },
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            friction: 0.0,
            restitution: 0.0,
        }];
        params.joints = vec![Joint { kind: JointKind::Slider { axis }, body: 0, other: None, anchor: HOME }];
        let mut rigid = World::new(params).unwrap();
        for step in 0..10 {
            let (one, other) = (own.step().unwrap(), rigid.step().unwrap());
            let (one, other) = (&one.bodies[0], &other.bodies[0]);
            let apart = [one.velocity - other.velocity, one.position - other.position].map(DVec3::length);
            assert!(apart[0] < 1e-9 && apart[1] < 1e-9, "{axis}, {ratio}, step {step}: {apart:?}");
            assert_eq!((one.kind.as_str(), other.kind.as_str()), ("spring", "free"));
        }
        assert!(own.state().solids.families[0][1].abs() > 0.05, "it moves");
    }
}

/// What touches it pushes it as it pushes the rigid one on its slider, though contact knows of neither: both give their freedoms. A block of rubber is
/// thrown at the ball in air, from aside. Contact of rigid bodies also expects what the air did in the last step, 3e-4 of what the block does.
#[test]
fn a_block_that_hits_it_pushes_it_like_the_one_on_a_slider() {
    let scene = || {
        let mut params = still_air([16; 3], 1.0 / 16.0);
        params.time = steps_of(0.01);
        let rest = TetMesh::block(DVec3::splat(0.25), [4; 3]).mapped(|x| x + HOME - DVec3::new(0.32, 0.05, 0.0));
        params.elastic = vec![Elastic::new("block", rest, Material::new(1e5, 0.3, 500.0)).moving([1.5, 0.0, 0.0])];
        params
    };
    let axis = DVec3::new(0.8, 0.6, 0.0);
    let mut own = world(scene(), vec![Ball::new(HOME, axis, 400.0, 0.0)]);
    let mut params = scene();
    params.bodies = vec![RigidBody::new("ball", Shape::Sphere { radius: RADIUS }, 400.0).at(HOME)];
    params.joints = vec![Joint { kind: JointKind::Slider { axis }, body: 0, other: None, anchor: HOME }];
    let mut rigid = World::new(params).unwrap();
    let named = |report: &StepReport, name: &str| {
        report.bodies.iter().find(|body| body.name == name).map(|body| [body.velocity, body.position]).unwrap()
    };
    let mut fastest = 0.0f64;
    for step in 0..12 {
        let (one, other) = (own.step().unwrap(), rigid.step().unwrap());
        for name in ["ball", "block"] {
            let apart = (0..2).map(|n| (named(&one, name)[n] - named(&other, name)[n]).length()).fold(0.0, f64::max);
            assert!(apart < 5e-4, "{name}, step {step}: {apart:e}");
        }
        fastest = fastest.max(named(&one, "ball")[0].length());
    }
    assert!(fastest > 0.5, "it was hit: {fastest} m/s");
}

/// The fluid swings with it: ω² = k/(m + m'), with the added mass m' that the first step shows.
#[test]
fn it_swings_with_its_added_mass() {
    for ratio in [1e-6, 0.3, 5.0] {
        let mut params = still_air([16; 3], 1.0 / 16.0);
        let FluidParams::Smoke(smoke) = &mut params.fluid else { unreachable!("air") };
        smoke.rho = 1000.0;
        let (stiffness, dt) = (4000.0, 0.002);
        params.time = steps_of(dt);
        let mut ball = Ball::new(HOME, DVec3::X, 1000.0 * ratio, stiffness);
        ball.offset = 0.004;
        let mass = ball.mass();
        let mut world = world(params, vec![ball]);
        let offset = |world: &World| world.state().solids.families[0][0];
        let start = offset(&world);
        world.step().unwrap();
        // (m + m' + Δt² k) v = −Δt k x after a step from rest.
        let speed = world.state().solids.families[0][1];
        let added = -dt * stiffness * start / speed - mass - dt * dt * stiffness;
        let displaced = 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3);
        assert!((added / displaced - 0.5).abs() < 0.2, "{ratio}: added {} of what it displaces", added / displaced);
        let expected = std::f64::consts::PI * ((mass + added) / stiffness).sqrt();
        let mut before = offset(&world);
        let quarter = (2..10_000).find_map(|step| {
            world.step().unwrap();
            let now = offset(&world);
            // A step begins with the way of the velocity found last: after so many, one less has moved it.
            let crossed = (now <= 0.0).then(|| (f64::from(step - 1) - now / (now - before)) * dt);
            before = now;
            crossed
        });
        // From rest at its farthest to the middle is a quarter of a period.
        let quarter = quarter.expect("it swings");
        println!(
            "density {ratio}: added mass {:.4}, quarter {quarter:.5} s for {:.5}",
            added / displaced,
            0.5 * expected
        );
        assert!((quarter / (0.5 * expected) - 1.0).abs() < 0.01, "{ratio}: {quarter} s, expected {}", 0.5 * expected);
    }
}

/// Two balls push each other through the water; however many threads there are and after a checkpoint, with the same bits.
#[test]
fn its_state_is_kept_and_foreign_ones_are_refused() {
    let make = || {
        let side = DVec3::new(0.0, 0.0, 0.17);
        let mut first = Ball::new(HOME - side, DVec3::Y, 300.0, 500.0);
        first.speed = 0.5;
        world(tank(), vec![first, Ball::new(HOME + side, DVec3::X, 30.0, 200.0)])
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = make();
            (0..6).for_each(|_| drop(world.step().unwrap()));
            world
        })
    };
    let whole = run(1);
    assert!([2, 5].map(run).iter().all(|world| world.state() == whole.state()), "bits depend on threads");
    let mut first = make();
    (0..3).for_each(|_| drop(first.step().unwrap()));
    let mut second = make();
    second.restore(first.state().clone()).unwrap();
    (0..3).for_each(|_| drop(second.step().unwrap()));
    assert!(second.state() == whole.state(), "bits depend on checkpoints");
    let moved = second.state().clone();
    let spoils: [fn(&mut Vec<f64>); 3] = [|s| s.truncate(3), |s| s[2] = 11.0, |s| s[1] = f64::NAN];
    for spoil in spoils {
        let mut state = first.state().clone();
        spoil(&mut state.solids.families[0]);
        assert!(second.restore(state).unwrap_err().to_string().contains("families"));
        assert!(*second.state() == moved);
    }
    second.step().unwrap();
}
