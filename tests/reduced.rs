//! Reduced bodies in fluids: elastic ones that move in a few modes, coupled within the pressure solve.

use bathtub_bench::experiments::box_lift::System;
use bathtub_bench::experiments::reduced_tank::{Kind, ReducedTank};
use bathtub_bench::worlds::{still_air, still_water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, Shape, TetMesh};
use bathtub_engine::grid::Axis;
use bathtub_engine::report::BodyReport;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::elastic::{Elastic, Material};
use bathtub_engine::solid::reduced::Reduced;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveParams};
use bathtub_engine::world::{TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};
use std::sync::Arc;

fn steps_of(dt: f64) -> TimeParams {
    TimeParams { fps: 1.0, cfl: 1e12, max_dt: dt, min_dt: 1e-12 }
}

/// Water up to 0.7 m in a tank of a metre.
fn tank(cells: usize) -> WorldParams {
    WorldParams { time: steps_of(0.01), ..still_water([cells; 3], 1.0 / cells as f64, 0.7) }
}

fn block(size: DVec3, at: DVec3, turn: DQuat) -> TetMesh {
    TetMesh::block(size, [4, 3, 3]).mapped(|x| at + turn * x)
}

fn step(world: &mut World) -> Vec<BodyReport> {
    let report = world.step().unwrap();
    assert!(report.ledger.momentum_error < 1e-9, "row K1: {:e}", report.ledger.momentum_error);
    report.bodies
}

/// Row J2: without modes, it is a rigid body.
#[test]
fn a_body_without_modes_is_a_rigid_one() {
    let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, -0.2));
    let (size, at) = (DVec3::new(0.35, 0.2, 0.25), DVec3::new(0.5, 0.45, 0.5));
    for (density, interface) in [
        (300.0, Interface::CutCells),
        (2500.0, Interface::CutCells),
        (20.0, Interface::CutCells),
        (600.0, Interface::Faces),
    ] {
        let rest = block(size, at, turn);
        let mut elastic = Elastic::new("body", rest.clone(), Material::new(1e5, 0.3, density));
        (elastic.interface, elastic.angular_velocity) = (interface, DVec3::new(0.4, -1.0, 0.7));
        let mut reduced = World::new(tank(16).with_reduced(Reduced::new(elastic, 0))).unwrap();
        let centre = rest.mass_properties().centroid;
        let surface = rest.mapped(|x| x - centre).surface();
        let mut params = tank(16);
        params.bodies = vec![RigidBody {
            name: "body".into(),
            shape: Shape::Mesh(Arc::new(surface)),
            mass: Mass::Density(density),
            interface,
            pose: Pose { position: centre, rotation: DQuat::IDENTITY },
            velocity: DVec3::ZERO,
            spin: DVec3::new(0.4, -1.0, 0.7),
            friction: 0.0,
            restitution: 0.0,
        }];
        let mut rigid = World::new(params).unwrap();
        for n in 0..15 {
            let (one, other) = (&step(&mut reduced)[0], &step(&mut rigid)[0]);
            let apart = (one.position - other.position).length().max((one.velocity - other.velocity).length());
            assert!(apart < 1e-8, "{density}, {interface:?}, step {n}: {apart:e}");
            assert!((one.angular_velocity - other.angular_velocity).length() < 1e-7);
        }
    }
}

/// What is left of a gap under a body that falls on the floor is a film with the pressure of the cells around, as under a rigid one: without it, the air there left at 116 m/s.
#[test]
fn it_lands_in_air_like_a_rigid_one() {
    let fastest = |modes: usize, fall: f64| {
        let mut params = WorldParams { time: steps_of(1.0 / 24.0), ..still_air([24; 3], 1.0 / 24.0) };
        params.fluid.smoke_mut().unwrap().gravity = DVec3::NEG_Y * 9.81;
        let rest = block(DVec3::new(0.3, 0.2, 0.3), DVec3::new(0.5, 0.5, 0.5), DQuat::IDENTITY);
        let mut elastic = Elastic::new("body", rest, Material::new(1e5, 0.3, 500.0));
        elastic.velocity = DVec3::NEG_Y * fall;
        let mut world = World::new(params.with_reduced(Reduced::new(elastic, modes))).unwrap();
        let mut fastest = 0.0_f64;
        while world.state().time < 0.6 {
            fastest = fastest.max(world.step().unwrap().max_speed);
        }
        fastest
    };
    for fall in [1.0, 6.0] {
        let (rigid, soft) = (fastest(0, fall), fastest(10, fall));
        println!("falling at {fall} m/s: {rigid:.1} m/s around the rigid one, {soft:.1} around the soft one");
        assert!(soft < 1.5 * rigid, "{soft} m/s, {rigid} around the rigid one");
    }
}

/// With it, what is lighter than water leaves the floor, with modes as without.
#[test]
fn it_rises_from_the_floor() {
    let risen = [0, 8].map(|modes| {
        let rest = block(DVec3::new(0.3, 0.2, 0.3), DVec3::new(0.5, 0.1, 0.5), DQuat::IDENTITY);
        let elastic = Elastic::new("body", rest, Material::new(1e6, 0.3, 800.0));
        let mut world = World::new(tank(16).with_reduced(Reduced::new(elastic, modes))).unwrap();
        let heights: Vec<f64> = (0..60).map(|_| step(&mut world)[0].position.y).collect();
        heights[59] - 0.1
    });
    println!("risen by {risen:.3?} m");
    // Not glued to the floor. They leave it some steps apart, and ½ a t² with t of 60 steps grows by a thirtieth with each.
    assert!(risen[0] > 0.05 && (risen[1] / risen[0] - 1.0).abs() < 0.2, "{risen:?} m");
}

/// Row Q8, with the ball's own modes of n = 2 instead of rⁿP_n, a radius of 4 cells and the density of the fluid: it starts slower than in vacuum, by 1/(1 + m_a/m). The
/// potential of a surface that moves like P_n is 1/(n + 1) of radius × normal velocity, so that m_a = ρ a/3 ∮ (s·n)².
#[test]
fn modes_carry_the_fluid_with_them() {
    let cells = 32;
    let radius = 0.25;
    let (rest, _) = TetMesh::stuff(&Shape::Sphere { radius }, 0.05).unwrap();
    let rest = rest.mapped(|x| x + DVec3::splat(1.0) + DVec3::new(0.01, 0.02, 0.013));
    let mut params = still_air([cells; 3], 2.0 / cells as f64);
    let FluidParams::Smoke(smoke) = &mut params.fluid else { unreachable!("air") };
    smoke.rho = 1000.0;
    let dt = 1e-5;
    params.time = steps_of(dt);
    let ball = Reduced::new(Elastic::new("ball", rest, Material::new(1e5, 0.3, 1000.0)), 10);
    let dry = ball.basis([false; 3]).unwrap();
    let mut world = World::new(params.with_reduced(ball)).unwrap();
    let count = dry.count;
    let modes: Vec<usize> = (5..10).collect();
    for &k in &modes {
        let mut state = world.state().clone();
        let own = &mut state.solids.families[0];
        own[14..14 + 3 * count].fill(0.0);
        own[14 + k] = 1e-4;
        world.restore(state).unwrap();
        step(&mut world);
        let rate = world.state().solids.families[0][14 + count + k];
        // In vacuum M_r q̇ = −Δt Λ q.
        let alone = -dt * dry.squares[k] * 1e5 / 1000.0 * 1e-4;
        // ∮ φ ∂φ/∂n = a/(n + 1) ∮ (s·n)² of a field with n = 2, and M_r = m.
        let surface = &dry.surface;
        let normal: f64 = surface
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| surface.vertices[v as usize]);
                let area = 0.5 * (b - a).cross(c - a);
                let s = t.map(|v| dry.directions[count * v as usize + k]).into_iter().sum::<DVec3>() / 3.0;
                s.dot(area).powi(2) / area.length()
            })
            .sum();
        let added = radius / 3.0 * normal / dry.volume;
        let (found, exact) = (rate / alone, 1.0 / (1.0 + added));
        println!("mode {k}: {found:.4} as fast as in vacuum, exact {exact:.4}");
        assert!((found / exact - 1.0).abs() < 0.05, "{k}: {found} {exact}");
        let others =
            (0..count).filter(|l| !modes.contains(l)).map(|l| world.state().solids.families[0][14 + count + l]);
        assert!(others.fold(0.0, |most: f64, other| most.max(other.abs())) < 0.02 * rate.abs(), "{k}");
    }
}

/// It floats as deep as its density says, and comes to rest.
#[test]
fn it_floats_as_deep_as_it_weighs() {
    for density in [150.0, 500.0] {
        let size = DVec3::new(0.4, 0.24, 0.4);
        let depth = density / 1000.0 * size.y;
        let rest = block(size, DVec3::new(0.5, 0.7 + 0.5 * size.y - depth + 0.03, 0.5), DQuat::IDENTITY);
        let elastic =
            Elastic::new("block", rest, Material { stiffness_damping: 5e-3, ..Material::new(1e5, 0.3, density) });
        let mut world = World::new(tank(24).with_reduced(Reduced::new(elastic, 12))).unwrap();
        let mut height = Vec::new();
        for _ in 0..300 {
            height.push(step(&mut world)[0].position.y);
        }
        let mean = height[150..].iter().sum::<f64>() / 150.0;
        // It begins 3 cm higher than it floats, and then displaces so much more of a square metre of water.
        let expected = 0.7 + 0.03 * size.x * size.z + 0.5 * size.y - depth;
        println!("{density}: {mean} for {expected}, one cell is {}", 1.0 / 24.0);
        assert!((mean - expected).abs() < 0.75 / 24.0, "{density}: {mean} for {expected}");
    }
}

/// It falls onto the floor, onto a rigid block and another of its kind, and stays there.
#[test]
fn it_comes_to_rest_on_what_is_there() {
    let mut params = still_air([20, 20, 20], 0.05).with_wall(Axis::Y, 1, Wall::Open);
    params.time = steps_of(0.005);
    let FluidParams::Smoke(smoke) = &mut params.fluid else { unreachable!("air") };
    smoke.gravity = DVec3::new(0.0, -9.81, 0.0);
    let material = Material { stiffness_damping: 4e-3, ..Material::new(2e5, 0.3, 800.0) };
    let cube = |name: &str, at: DVec3| {
        Reduced::new(Elastic::new(name, block(DVec3::splat(0.2), at, DQuat::IDENTITY), material), 10)
    };
    let mut world = World::new(
        params
            .with_body(
                RigidBody::new("stone", Shape::Box { size: DVec3::new(0.4, 0.1, 0.4) }, 2500.0)
                    .at(DVec3::new(0.3, 0.052, 0.5)),
            )
            .with_reduced(cube("on-stone", DVec3::new(0.3, 0.25, 0.5)))
            .with_reduced(cube("below", DVec3::new(0.75, 0.15, 0.5)))
            .with_reduced(cube("above", DVec3::new(0.76, 0.42, 0.51))),
    )
    .unwrap();
    let mut last = Vec::new();
    for _ in 0..260 {
        last = step(&mut world);
    }
    let find = |name: &str| last.iter().find(|body| body.name == name).unwrap();
    let heights = ["on-stone", "below", "above"].map(|name| find(name).position.y);
    let fastest = last.iter().map(|body| body.velocity.length()).fold(0.0, f64::max);
    println!("{heights:?}, {fastest} m/s");
    for (height, expected) in heights.into_iter().zip([0.2, 0.1, 0.3]) {
        assert!((height - expected).abs() < 0.02, "{heights:?}");
    }
    assert!(fastest < 0.05, "{fastest} m/s");
}

/// The same bits for any number of threads, and after a checkpoint.
#[test]
fn its_state_is_kept() {
    let make = || {
        let turn = DQuat::from_scaled_axis(DVec3::new(0.2, 0.1, 0.4));
        let rest = block(DVec3::new(0.3, 0.2, 0.25), DVec3::new(0.5, 0.6, 0.5), turn);
        World::new(tank(12).with_reduced(Reduced::new(Elastic::new("block", rest, Material::new(2e4, 0.3, 400.0)), 6)))
            .unwrap()
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = make();
            (0..6).for_each(|_| drop(step(&mut world)));
            world
        })
    };
    let whole = run(1);
    assert!([2, 5].map(run).iter().all(|world| world.state() == whole.state()), "bits depend on threads");
    let mut first = make();
    (0..3).for_each(|_| drop(step(&mut first)));
    let mut second = make();
    second.restore(first.state().clone()).unwrap();
    (0..3).for_each(|_| drop(step(&mut second)));
    assert!(second.state() == whole.state(), "bits depend on checkpoints");
}

/// The cycle knows only those columns of many bodies that the fluid feels, and takes at most three iterations more than without bodies; soft to stiff, light to heavy.
#[test]
fn many_bodies_take_about_as_many_iterations_as_none() {
    let tank = ReducedTank { kind: Kind::Rings, count: 9, modes: 10, dims: [72, 24, 72] };
    let params = SolveParams { tolerance: 1e-6, ..SolveParams::default() };
    for (youngs_modulus, ratio) in [(1e3, 1e-3), (1e4, 0.3), (1e4, 1.0), (1e6, 0.3), (1e8, 1.0), (1e4, 1e3)] {
        let system = tank.system(youngs_modulus, ratio).unwrap();
        assert!(system.terms.cut.columns() > 64, "{} columns", system.terms.cut.columns());
        let solve =
            |system: &System| system.solve(&mut PressureSolve::new(), PressureSolver::Multigrid, &params).unwrap();
        let [with, without] = [&system, &system.without_bodies()].map(|system| solve(system).info);
        println!("E {youngs_modulus}, density {ratio}: {} iterations, {} without", with.iterations, without.iterations);
        assert!(with.converged && with.iterations <= without.iterations + 3, "{with:?} {without:?}");
    }
}
