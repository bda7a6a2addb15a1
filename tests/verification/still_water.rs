//! Water carried by particles comes to rest where it should, stays there, and keeps its volume.

use crate::support::{fastest_in_liquid, film, fixed, fixed_step, hollow_sphere, particles, still_water};
use bathtub_engine::fluid::water::{Liquid, Region, Transfer};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::solid::{Keyframe, Motion, Obstacle};
use bathtub_engine::world::{World, WorldParams};
use glam::{DQuat, DVec3};

const FLIP: Transfer = Transfer::Flip { pic: 0.05 };

/// What the water is in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Container {
    /// The spherical one of rows B2 and B3, full.
    FullSphere,
    /// The same, half full.
    HalfSphere,
    /// The domain, half full.
    HalfBox,
}

impl Container {
    /// Water at rest in it, gravity along `direction`.
    fn params(self, n: usize, direction: DVec3, transfer: Transfer) -> WorldParams {
        let mut params = still_water([n; 3], 1.0 / n as f64, 1.0);
        if self != Self::HalfBox {
            params.obstacles = vec![fixed("container", hollow_sphere(0.42), DVec3::splat(0.5), DQuat::IDENTITY)];
        }
        params.time = film();
        let water = params.fluid.water_mut().unwrap();
        water.gravity = 9.81 * direction;
        water.transfer = transfer;
        if self != Self::FullSphere {
            let rotation = DQuat::from_rotation_arc(DVec3::NEG_Y, direction);
            let pose = Pose { position: DVec3::splat(0.5) + 1.5 * direction, rotation };
            water.initial[0].region = Region::Shape(Shape::Box { size: DVec3::splat(3.0) }, pose);
        }
        params
    }

    /// √(gH), m/s.
    fn speed(self) -> f64 {
        let depth = match self {
            Self::FullSphere => 0.84,
            Self::HalfSphere => 0.42,
            Self::HalfBox => 0.5,
        };
        (9.81f64 * depth).sqrt()
    }
}

/// Row B4: five seconds in a container, at most 0.02 √(gH) and 1 % of the volume. Full, nothing ever moves, and neither
/// does a surface along the grid in a box.
#[test]
fn water_with_a_surface_along_the_grid_stays_at_rest() {
    let oblique = DVec3::new(0.3, -0.8, 0.52).normalize();
    check(Container::FullSphere, 16, DVec3::NEG_Y, Transfer::Apic, 0.0, [0.02, 0.01]);
    check(Container::FullSphere, 16, oblique, FLIP, 0.0, [0.02, 0.01]);
    check(Container::FullSphere, 24, oblique, Transfer::Apic, 0.0, [0.02, 0.01]);
    for transfer in [Transfer::Apic, FLIP] {
        check(Container::HalfBox, 16, DVec3::NEG_Y, transfer, 0.0, [0.02, 0.01]);
        check(Container::HalfSphere, 16, DVec3::NEG_Y, transfer, 0.5, [0.02, 0.01]);
    }
}

/// Wherever the level lies between the layers of particles, what these tell of it is even: in the first step pressure leaves little to fall. (Noise of
/// the particles would leave a tenth of what gravity gives, and less only where the level lies between two layers.)
#[test]
fn still_water_starts_still_at_any_level() {
    let mut worst = 0.0f64;
    for (n, particles) in [(12, 2), (16, 2), (16, 3)] {
        for level in [0.41, 0.438, 0.45, 0.47, 0.5, 0.517, 0.53, 0.55, 0.58, 0.6] {
            let mut params = still_water([n; 3], 1.0 / n as f64, level);
            params.time = fixed_step(0.02);
            params.fluid.water_mut().unwrap().particles_per_axis = particles;
            let mut world = World::new(params).unwrap();
            world.step().unwrap();
            let fastest = fastest_in_liquid(&world) / (0.02 * 9.81);
            println!("{n}³, {particles} particles along an axis, level {level}: {fastest:.1e} of what gravity gives");
            worst = worst.max(fastest);
        }
    }
    assert!(worst < 0.02, "{worst}");
}

/// Row B4 with surfaces oblique to the grid and to the wall. The particles of the start are placed by chance where these
/// cut cells; what that sets off is gone after three seconds.
/// A level through the centres of cells, where noise alone tells which are air, about a cell below a lid across the whole tank: two seconds later all is at rest.
#[test]
fn still_water_stays_still_where_its_level_runs_through_centres_below_a_lid() {
    for (dims, dx, level, low, thick) in
        [([12, 12, 6], 0.0625, 5.5, 6.5, 2.0), ([16, 16, 1], 0.0625, 5.5, 6.5, 2.0), ([16, 12, 1], 0.1, 6.5, 7.0, 2.9)]
    {
        let mut params = still_water(dims, dx, level * dx);
        let width = 2.0 * dx * dims[0] as f64;
        let lid = Shape::Box { size: DVec3::new(width, thick * dx, width) };
        let middle = DVec3::new(0.0, (low + 0.5 * thick) * dx, 0.0);
        params.obstacles = vec![fixed("lid", lid, middle, DQuat::IDENTITY)];
        params.time = fixed_step(1.0 / 60.0);
        let mut world = World::new(params).unwrap();
        let first = world.step().unwrap().max_speed / (9.81 / 60.0);
        let last = (1..120).map(|_| world.step().unwrap().max_speed).last().unwrap() / (9.81 * level * dx).sqrt();
        println!(
            "level in the middle of cells below a lid {low}: first step {first:.1e} g dt, then {last:.1e} of a wave"
        );
        assert!(first < 0.03 && last < 0.02, "{dims:?}: {first} {last}");
    }
}

#[test]
fn water_with_an_oblique_surface_comes_to_rest() {
    let directions = [DVec3::new(0.3, -0.8, 0.52), DVec3::new(1.0, 2.0, 3.0), DVec3::new(-1.0, -1.0, 0.0)];
    // At 32³ the worst of the three stands for all: they take long.
    for (n, directions) in [(16, &directions[..]), (24, &directions[..]), (32, &directions[..1])] {
        for direction in directions.iter().map(|direction| direction.normalize()) {
            for transfer in [Transfer::Apic, FLIP] {
                check(Container::HalfSphere, n, direction, transfer, 3.0, [0.02, 0.01]);
            }
        }
    }
}

/// Five seconds of rest: speeds after the first `settled` seconds up to `most[0]` √(gH), volume within `most[1]`.
fn check(container: Container, n: usize, direction: DVec3, transfer: Transfer, settled: f64, most: [f64; 2]) {
    let mut world = World::new(container.params(n, direction, transfer)).unwrap();
    let (mut fastest, mut drift) = (0.0f64, 0.0f64);
    while world.state().time < 5.0 {
        let report = world.step().unwrap();
        drift = drift.max((report.fluid.volume * 1000.0 / report.fluid.mass - 1.0).abs());
        if report.t > settled {
            fastest = fastest.max(fastest_in_liquid(&world) / container.speed());
        }
    }
    let case = format!("{container:?} {n}³ along {direction:.1}, {transfer:?}");
    println!("{case}: {fastest:.4} √(gH), volume {drift:.4}");
    assert!(fastest <= most[0], "{case}: {fastest} √(gH), limit {}", most[0]);
    assert!(drift <= most[1], "{case}: volume off by {drift}, limit {}", most[1]);
}

/// Levels on both sides of a wall that does not reach the floor, m: what stands there over its width, and the same on the
/// other side.
fn levels(world: &World, wall: [f64; 2]) -> [f64; 2] {
    let grid = &world.params().grid;
    let each = grid.dx.powi(3) / if grid.dims[2] == 1 { 9.0 } else { 8.0 };
    let depth = grid.upper().z - grid.origin.z;
    let x = || particles(world).position.iter().map(|p| p.x);
    let left = x().filter(|&x| x < wall[0]).count() as f64 * each / (wall[0] * depth);
    let right = x().filter(|&x| x > wall[1]).count() as f64 * each / ((grid.upper().x - wall[1]) * depth);
    [left, right]
}

/// Row B7: two vessels of different widths that are joined below, in the plane and in space. The water swings
/// between them, ever less; the levels are means over the last eight seconds, some five swings.
#[test]
fn communicating_vessels_come_to_the_same_level() {
    for (dims, wall) in [([48, 48, 1], [0.3, 0.4]), ([24, 24, 8], [0.55, 0.7])] {
        let dx = 1.0 / dims[0] as f64;
        let mut params = still_water(dims, dx, 0.35);
        params.time = film();
        let block = |low: DVec3, high: DVec3| {
            Region::Shape(
                Shape::Box { size: high - low },
                Pose { position: 0.5 * (low + high), rotation: DQuat::IDENTITY },
            )
        };
        let column = block(DVec3::new(-1.0, -1.0, -1.0), DVec3::new(wall[0], 0.75, 2.0));
        params.fluid.water_mut().unwrap().initial.push(Liquid { region: column, velocity: DVec3::ZERO });
        let divider = Shape::Box { size: DVec3::new(wall[1] - wall[0], 2.0, 3.0) };
        params.obstacles =
            vec![fixed("wall", divider, DVec3::new(0.5 * (wall[0] + wall[1]), 1.2, 0.0), DQuat::IDENTITY)];
        let mut world = World::new(params).unwrap();
        let start = levels(&world, wall);
        assert!(start[0] - start[1] > 0.3, "{start:?}");
        let (mut sums, mut count) = ([0.0; 2], 0.0);
        while world.state().time < 14.0 {
            world.step().unwrap();
            if world.state().time > 6.0 {
                let now = levels(&world, wall);
                sums.iter_mut().zip(now).for_each(|(sum, level)| *sum += level);
                count += 1.0;
            }
        }
        let [left, right] = sums.map(|sum| sum / count);
        println!(
            "{dims:?}: {start:.3?} to {left:.4} {right:.4}, {:.3} cells, {:.4} m/s",
            (left - right) / dx,
            fastest_in_liquid(&world)
        );
        assert!((left - right).abs() <= 0.5 * dx, "{dims:?}: levels {left} and {right}, cells of {dx}");
    }
}

/// Row D13: a ball bobs half immersed in a calm tank for 20 seconds.
#[test]
fn a_tank_with_a_bobbing_ball_keeps_its_volume() {
    let mut params = still_water([24, 20, 24], 1.0 / 24.0, 0.45);
    params.time = film();
    params.pressure.params.tolerance = 1e-6;
    let key = |n: i32| {
        let position = DVec3::new(0.5, 0.45 + if n % 2 == 0 { 0.04 } else { -0.04 }, 0.5);
        Keyframe { time: n as f64, pose: Pose { position, rotation: DQuat::IDENTITY } }
    };
    let motion = Motion::Keyframes((0..=20).map(key).collect());
    params.obstacles = vec![Obstacle { name: "ball".into(), shape: Shape::Sphere { radius: 0.2 }, motion }];
    let mut world = World::new(params).unwrap();
    let mut drift = 0.0f64;
    while world.state().time < 20.0 {
        let report = world.step().unwrap();
        drift = drift.max((report.fluid.volume * 1000.0 / report.fluid.mass - 1.0).abs());
    }
    println!("bobbing: volume {drift:.4}");
    assert!(drift <= 0.01, "volume off by {drift}");
}
