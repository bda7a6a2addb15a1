//! Pictures of made-up water, to judge the surface and the renderer and to time both without a simulation.
//!
//!     cargo run --release -p bathtub-output --example water -- DIRECTORY [CELLS] [NAME]

use bathtub_engine::cut::{CutCells, cut};
use bathtub_engine::geometry::{Pose, Shape, TriMesh};
use bathtub_engine::grid::{CellField, Grid};
use bathtub_output::frame::Surface;
use bathtub_output::picture::write_png;
use bathtub_output::render::{CameraSettings, RenderSettings, WaterScene, render_water};
use bathtub_output::surface::liquid_surface;
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("which directory?")?);
    let cells: usize = arguments.next().map_or(Ok(64), |n| n.parse())?;
    let only = arguments.next();
    std::fs::create_dir_all(&directory)?;
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);

    let scenes =
        [("crown", crown as Make), ("dam", dam), ("still", still), ("ball", ball), ("cup", cup), ("flat", flat)];
    for (name, make) in scenes.into_iter().filter(|(name, _)| wanted(name)) {
        let Made { grid, positions, surfaces } = make(cells);
        let open = open_cells(&grid, &surfaces);
        let volume = grid.dx.powi(3) / 8.0;
        let mesh = timed(&format!("{name}: surface of {} particles", positions.len()), || {
            liquid_surface(&positions, volume, &grid, open.as_ref())
        });
        let share = mesh.volume() / (positions.len() as f64 * volume);
        println!("  {} triangles, {share:.3} of the particles' volume", mesh.triangles.len());
        let settings = RenderSettings {
            size: (name != "flat").then_some([640, 480]),
            camera: CameraSettings { elevation: if name == "cup" { 38.0 } else { 20.0 }, ..Default::default() },
            ..Default::default()
        };
        let scene = WaterScene { grid: &grid, surfaces: &surfaces, water: &mesh };
        let image = timed("  picture", || render_water(&scene, &settings));
        write_png(&directory.join(format!("{name}.png")), &image)?;
    }
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
    result
}

/// Makes a scene of so many cells per metre.
type Make = fn(usize) -> Made;

/// A made-up scene.
struct Made {
    grid: Grid,
    positions: Vec<DVec3>,
    surfaces: Vec<Surface>,
}

/// A pool in waves, with the crown of a splash and its drops.
fn crown(cells: usize) -> Made {
    let grid = Grid::new([cells, cells * 3 / 4, cells], 1.0 / cells as f64, DVec3::new(-0.5, 0.0, -0.5));
    let height = |r: f64, x: f64| {
        0.22 + 0.035 * (-(r / 0.16).powi(2) * 0.5).exp() * (r * 30.0).cos() - 0.09 * (-(r / 0.12).powi(2)).exp()
            + 0.012 * (9.0 * x).sin()
            + 0.01 * (38.0 * r).sin() * (-3.0 * r).exp()
    };
    let mut positions = jittered(&grid, |p| {
        let r = p.x.hypot(p.z);
        let angle = p.z.atan2(p.x);
        // A thin wall that leans outwards, with a scalloped edge.
        let top = 0.40 + 0.025 * (11.0 * angle).sin() + 0.015 * (17.0 * angle + 1.0).cos();
        let lean = 0.15 + 0.35 * (p.y - 0.2).max(0.0).powf(1.3);
        let thickness = 0.75 * grid.dx * (1.0 + 2.5 * (-(p.y - 0.22).max(0.0) / 0.04).exp());
        p.y < height(r, p.x) || ((r - lean).abs() < thickness && p.y < top)
    });
    let mut random = random_numbers(3);
    for n in 0..60 {
        let angle = TAU * (n as f64 + random()) / 60.0;
        let out = 0.20 + 0.18 * random();
        let at = DVec3::new(out * angle.cos(), 0.36 + 0.22 * random(), out * angle.sin());
        let size = grid.dx * (0.35 + 0.9 * random().powi(2));
        positions.extend(ball_of_particles(&grid, at, size, &mut random));
    }
    Made { grid, positions, surfaces: vec![] }
}

/// The front of a broken dam just past a pillar.
fn dam(cells: usize) -> Made {
    let grid = Grid::new([2 * cells, cells, cells], 1.0 / cells as f64, DVec3::ZERO);
    let pillar = Shape::Box { size: DVec3::new(0.16, 0.7, 0.22) };
    let pose = Pose { position: DVec3::new(1.25, 0.35, 0.5), rotation: DQuat::IDENTITY };
    let inside = |p: DVec3| {
        let q = (p - pose.position).abs();
        q.x < 0.08 && q.y < 0.35 && q.z < 0.11
    };
    let mut positions = jittered(&grid, |p| {
        let slope = 0.52 - 0.30 * (p.x - 0.1) + 0.02 * (11.0 * p.x + 3.0 * p.z).sin() + 0.015 * (17.0 * p.z).sin();
        let front = if p.x < 1.75 + 0.05 * (9.0 * p.z).sin() { slope.max(0.07) } else { 0.0 };
        // Water piles up before the pillar and leaves a wake behind it.
        let beside = (p.z - 0.5) / 0.17;
        let pile = 0.30 * (-((p.x - 1.14) / 0.05).powi(2) - beside * beside).exp();
        let wake = 0.10 * (-((p.x - 1.42) / 0.10).powi(2) - (1.6 * beside).powi(2)).exp();
        !inside(p) && p.y < front + pile - wake
    });
    let mut random = random_numbers(5);
    for _ in 0..90 {
        let at = DVec3::new(1.0 + 0.3 * random(), 0.32 + 0.42 * random() * random(), 0.5 + 0.5 * (random() - 0.5));
        if !inside(at) {
            positions.extend(ball_of_particles(&grid, at, grid.dx * (0.3 + 0.8 * random().powi(2)), &mut random));
        }
    }
    let surfaces = vec![Surface {
        name: "pillar".into(),
        mesh: pillar.surface(0.1).posed(&pose),
        velocities: vec![],
        moves: false,
    }];
    Made { grid, positions, surfaces }
}

/// A tank filled to the half, a ball on its floor and one half in the water.
fn still(cells: usize) -> Made {
    let grid = Grid::new([cells, cells * 3 / 4, cells], 1.0 / cells as f64, DVec3::ZERO);
    let balls = [(DVec3::new(0.3, 0.121, 0.62), 0.12), (DVec3::new(0.68, 0.39, 0.36), 0.11)];
    let positions = jittered(&grid, |p| p.y < 0.375 && balls.iter().all(|&(c, r)| (p - c).length() > r));
    let surfaces = balls.iter().enumerate().map(|(n, &(position, radius))| {
        let mesh = Shape::Sphere { radius }.surface(0.01).posed(&Pose { position, rotation: DQuat::IDENTITY });
        Surface { name: format!("ball {n}"), mesh, velocities: vec![], moves: false }
    });
    Made { grid, positions, surfaces: surfaces.collect() }
}

/// A sphere of water falling towards a shallow pool.
fn ball(cells: usize) -> Made {
    let grid = Grid::new([cells, cells, cells], 1.0 / cells as f64, DVec3::ZERO);
    let positions = jittered(&grid, |p| {
        let fall = (p - DVec3::new(0.5, 0.55, 0.5)) * DVec3::new(1.0, 1.05, 1.0);
        fall.length() < 0.2 || p.y < 0.12 + 0.004 * (20.0 * p.x).sin()
    });
    Made { grid, positions, surfaces: vec![] }
}

/// A thin-walled cup with water, in the open.
fn cup(cells: usize) -> Made {
    let grid = Grid::new([cells; 3], 1.0 / cells as f64, DVec3::ZERO);
    let (outer, wall, floor, height) = (0.27, 1.6 * grid.dx, 0.06, 0.42);
    let mut profile = vec![(0.0, 0.0), (outer, 0.0), (outer, height), (outer - wall, height), (outer - wall, floor)];
    profile.push((0.0, floor));
    let mesh = turned(&profile, 96).mapped(|v| v + DVec3::new(0.5, 0.1, 0.5));
    let positions = jittered(&grid, |p| {
        let q = p - DVec3::new(0.5, 0.1, 0.5);
        q.x.hypot(q.z) < outer - wall && q.y > floor && q.y < 0.30 + 0.03 * (12.0 * q.x).sin()
    });
    Made { grid, positions, surfaces: vec![Surface { name: "cup".into(), mesh, velocities: vec![], moves: false }] }
}

/// A two-dimensional wave around a disc.
fn flat(cells: usize) -> Made {
    let dx = 1.0 / cells as f64;
    let grid = Grid::new([cells * 2, cells, 1], dx, DVec3::ZERO);
    let (centre, radius) = (DVec3::new(1.3, 0.3, 0.5 * dx), 0.14);
    let mut positions = jittered(&grid, |p| {
        let fill = 0.42 + 0.22 * (-((p.x - 0.4) / 0.22).powi(2)).exp() + 0.03 * (9.0 * p.x).sin();
        p.y < fill && (p - centre).truncate().length() > radius
    });
    let mut random = random_numbers(9);
    for _ in 0..25 {
        positions.push(DVec3::new(0.3 + 0.8 * random(), 0.7 + 0.25 * random(), 0.5 * dx));
    }
    let pose = Pose { position: centre, rotation: DQuat::from_rotation_x(0.25 * TAU) };
    let mesh = Shape::Cylinder { radius, height: 3.0 * dx }.surface(0.02).posed(&pose);
    Made { grid, positions, surfaces: vec![Surface { name: "disc".into(), mesh, velocities: vec![], moves: false }] }
}

/// The part of each cell outside the solids.
fn open_cells(grid: &Grid, surfaces: &[Surface]) -> Option<CellField> {
    let mut cells = CutCells::new(grid);
    surfaces.iter().for_each(|s| cells.add(&cut(grid, &s.mesh), |_| DVec3::ZERO));
    (!surfaces.is_empty()).then_some(cells.volume)
}

/// A closed outline in (radius, height) turned about y; its ends lie on the axis.
fn turned(profile: &[(f64, f64)], around: u32) -> TriMesh {
    let mut mesh = TriMesh { vertices: vec![DVec3::Y * profile[0].1], triangles: vec![] };
    let rings = profile.len() as u32 - 2;
    for &(r, y) in &profile[1..profile.len() - 1] {
        for n in 0..around {
            let angle = TAU * f64::from(n) / f64::from(around);
            mesh.vertices.push(DVec3::new(r * angle.cos(), y, r * angle.sin()));
        }
    }
    mesh.vertices.push(DVec3::Y * profile[profile.len() - 1].1);
    let last = mesh.vertices.len() as u32 - 1;
    for n in 0..around {
        let at = |ring: u32, n: u32| 1 + ring * around + n % around;
        mesh.triangles.push([0, at(0, n), at(0, n + 1)]);
        for ring in 0..rings - 1 {
            let [a, b, c, d] = [at(ring, n), at(ring, n + 1), at(ring + 1, n), at(ring + 1, n + 1)];
            mesh.triangles.extend([[a, c, b], [b, c, d]]);
        }
        mesh.triangles.push([last, at(rings - 1, n + 1), at(rings - 1, n)]);
    }
    mesh
}

fn random_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Eight particles per cell, each at random in its eighth, where `inside` says so.
fn jittered(grid: &Grid, inside: impl Fn(DVec3) -> bool) -> Vec<DVec3> {
    let mut random = random_numbers(1);
    let mut positions = Vec::new();
    for cell in 0..grid.cells() {
        let corner = grid.node(grid.cell_at(cell));
        for eighth in 0..8 {
            let low = DVec3::from([0, 1, 2].map(|a| f64::from(eighth >> a & 1)));
            let p = corner + 0.5 * grid.dx * (low + DVec3::new(random(), random(), random()));
            if inside(p) {
                positions.push(p);
            }
        }
    }
    positions
}

/// As many particles as a ball's volume holds, at least one, at random in it.
fn ball_of_particles(grid: &Grid, centre: DVec3, radius: f64, random: &mut impl FnMut() -> f64) -> Vec<DVec3> {
    let count = (8.0 * 2.0 / 3.0 * TAU * (radius / grid.dx).powi(3)).round().max(1.0) as usize;
    let mut positions = vec![centre];
    while positions.len() < count {
        let offset = 2.0 * DVec3::new(random(), random(), random()) - 1.0;
        if offset.length() < 1.0 {
            positions.push(centre + radius * offset);
        }
    }
    positions
}
