//! Transport: kinetic energy of a steady vortex, a uniform stream, a channel, the order in time.

use crate::support::{face_samples, fixed, largest_difference, still_air, with_velocity};
use bathtub_bench::experiments::taylor_green::{self, Kept, REFERENCES, SLACK, energy_kept};
use bathtub_engine::fluid::advect::Advection;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::Shape;
use bathtub_engine::world::WorldParams;
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;

/// Row D10: what an independent code of the same scheme keeps, less 0.02; never more than there was.
#[test]
fn taylor_green_vortices_keep_their_energy_as_well_as_the_scheme_allows() {
    for (scheme, n, half_reference, full_reference) in REFERENCES {
        let Kept { half, full } = energy_kept(scheme, n).unwrap();
        println!("{scheme:?} {n}: {half:.4} {full:.4} (reference {full_reference})");
        assert!(full >= full_reference - SLACK, "{scheme:?} at {n}²: kept {full}, reference {full_reference}");
        assert!(half >= half_reference.unwrap_or(0.0) - SLACK, "{scheme:?} at {n}²: kept {half} after ½ s");
        assert!(full <= half && half <= 1.0 + 1e-6, "{scheme:?} at {n}²: energy grew to {half}, {full}");
    }
    // The cubic is not in the catalogue; it must beat the linear interpolation it replaces.
    let cubic = energy_kept(Advection::Cubic, 64).unwrap().full;
    println!("Cubic 64: {cubic:.4}");
    assert!(cubic > 0.658, "kept {cubic}");
}

/// Row D11: a uniform stream stays as it is, through every kind of side that lets it.
#[test]
fn a_uniform_stream_is_unchanged_by_every_kind_of_side() {
    let stream = DVec3::new(0.7, -0.4, 0.3);
    let inflow = Wall::Inflow { velocity: stream, density: 0.0, temperature: 0.0 };
    let along_x = DVec3::new(0.9, 0.0, 0.0);
    let inflow_x = Wall::Inflow { velocity: along_x, density: 0.0, temperature: 0.0 };
    let closed = [Wall::Closed; 2];
    let cases = [
        (stream, [[Wall::Open; 2]; 3]),
        (stream, [[inflow, Wall::Open], [Wall::Open, inflow], [inflow, Wall::Open]]),
        (stream, [[inflow; 2]; 3]),
        (along_x, [[inflow_x, Wall::Open], closed, closed]),
        (along_x, [[inflow_x, inflow_x], closed, closed]),
    ];
    for scheme in [Advection::SemiLagrangian, Advection::Cubic, Advection::MacCormack] {
        for (u, walls) in cases {
            let mut params = WorldParams { walls, ..still_air([8, 12, 10], 0.1) };
            params.fluid.smoke_mut().unwrap().advection = scheme;
            params.time.max_dt = 0.07;
            let grid = params.grid;
            let mut world = with_velocity(params, |_| u);
            for _ in 0..10 {
                world.step().unwrap();
            }
            let error = largest_difference(&world.state().fluid.velocity, &face_samples(&grid, |_| u));
            assert!(error <= 1e-12, "{scheme:?} {walls:?}: {error:.2e}");
        }
    }
}

/// Row D12: what goes into a channel comes out, every step, around a sphere.
#[test]
fn a_channel_with_an_obstacle_lets_out_what_goes_in() {
    let velocity = DVec3::new(1.0, 0.0, 0.0);
    let inflow = Wall::Inflow { velocity, density: 1.0, temperature: 0.0 };
    let mut params = still_air([32, 16, 16], 1.0 / 16.0);
    params.walls[0] = [inflow, Wall::Open];
    params.obstacles.push(fixed("ball", Shape::Sphere { radius: 0.23 }, DVec3::new(0.6, 0.52, 0.47), DQuat::IDENTITY));
    params.time.fps = 10.0;
    let mut world = with_velocity(params, |_| velocity);
    for _ in 0..30 {
        let report = world.step().unwrap();
        assert!(report.ledger.volume_error <= 1e-9, "{:?}", report.ledger);
        assert!(report.ledger.momentum_error <= 1e-12, "{:?}", report.ledger);
        assert!(report.max_speed < 3.0, "speed {}", report.max_speed);
    }
}

/// Row J15: halving the step halves the error in time. The error of the splitting is measured as the
/// difference between successive refinements on one grid, at steps long enough that it, and not the
/// interpolation (whose error *grows* with the number of steps), decides.
#[test]
fn the_step_is_first_order_in_time() {
    let run = |dt: f64| {
        let mut params = still_air([48, 48, 1], 1.0 / 48.0);
        params.fluid.smoke_mut().unwrap().advection = Advection::Cubic;
        params.fluid.smoke_mut().unwrap().trace = bathtub_engine::fluid::advect::Trace::Rk3;
        params.time.fps = 5.0;
        params.time.cfl = 1e9;
        params.time.max_dt = dt;
        let start = |p: DVec3| {
            let (x, y) = (TAU / 2.0 * p.x, TAU / 2.0 * p.y);
            taylor_green::velocity(p) * 0.3 + DVec3::new(x.sin() * y.cos(), -x.cos() * y.sin(), 0.0) * 0.7
        };
        let mut world = with_velocity(params, start);
        while world.step().unwrap().frame < 1 {}
        world.state().fluid.velocity.clone()
    };
    let [a, b, c] = [0.1, 0.05, 0.025].map(run);
    let norm = |u: &bathtub_engine::grid::FaceField, w: &bathtub_engine::grid::FaceField| {
        let pairs = u.axes.iter().flatten().zip(w.axes.iter().flatten());
        pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    };
    let ratio = norm(&a, &b) / norm(&b, &c);
    println!("ratio {ratio:.3}");
    assert!((1.6..=2.4).contains(&ratio), "ratio {ratio}");
}
