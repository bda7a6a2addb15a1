//! Pictures of made-up smoke, to judge the renderer and time the writers without a simulation.
//!
//!     cargo run --release -p bathtub-output --example gallery -- DIRECTORY [CELLS]

use bathtub_engine::fluid::smoke::SmokeState;
use bathtub_engine::fluid::{FluidState, GridState};
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::{CellField, FaceField, Grid};
use bathtub_engine::solid::SolidState;
use bathtub_engine::world::State;
use bathtub_output::frame::{self, Frame, FrameSettings, SmokeFrame, Surface, VelocityOutput, Visible};
use bathtub_output::picture::{picture_path, write_animation, write_png};
use bathtub_output::render::{CameraSettings, RenderSettings, SmokeLook, render};
use bathtub_output::{checkpoint, run_dir};
use glam::{DVec2, DVec3};
use rayon::prelude::*;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("which directory?")?);
    let cells: usize = arguments.next().map_or(Ok(64), |n| n.parse())?;
    std::fs::create_dir_all(&directory)?;

    let around_sphere = plume(cells, 0.0, vec![sphere(DVec3::new(0.0, 0.62, 0.0), 0.16, 48)]);
    let pictures = [
        ("sphere", &around_sphere, RenderSettings::default()),
        ("knot", &plume(cells, 3.0, vec![knot(DVec3::new(0.0, 0.62, 0.0), 0.13)]), RenderSettings::default()),
        (
            "hot",
            &around_sphere,
            RenderSettings {
                smoke: SmokeLook { glow: 1.2, glow_scale: 4.0, colour: [0.5, 0.48, 0.46], ..Default::default() },
                ..Default::default()
            },
        ),
        (
            "close",
            &around_sphere,
            RenderSettings {
                size: Some([960, 540]),
                camera: CameraSettings { zoom: 1.9, elevation: 5.0, ..Default::default() },
                ..Default::default()
            },
        ),
        ("flat", &stirred(2 * cells), RenderSettings::default()),
    ];
    for (name, frame, settings) in &pictures {
        let image = timed(&format!("render {name} {:?}", frame.grid.dims), || render(frame, settings));
        write_png(&directory.join(format!("{name}.png")), &image)?;
    }
    write_files(&directory, &around_sphere)?;

    let mut frames = Vec::new();
    for n in 0..12 {
        let frame = plume(cells / 2, 0.15 * n as f64, vec![sphere(DVec3::new(0.0, 0.62, 0.0), 0.16, 24)]);
        frames.push((n, picture_path(&directory, n)));
        write_png(&frames[n as usize].1, &render(&frame, &RenderSettings::default()))?;
    }
    timed("animation", || write_animation(&directory.join("animation.gif"), &frames, 12.0))?;
    Ok(())
}

/// Time the writers and readers on a frame.
fn write_files(directory: &Path, frame: &Frame) -> Result<(), Box<dyn std::error::Error>> {
    for velocity in [VelocityOutput::Smoke, VelocityOutput::Everywhere] {
        let settings = FrameSettings { velocity, ..Default::default() };
        timed(&format!("frame files, velocity {velocity:?}"), || frame::write(directory, frame, "none", &settings))?;
        println!("  {} bytes", std::fs::metadata(directory.join(format!("smoke_{:04}.vdb", frame.index)))?.len());
    }
    let names: Vec<String> = frame.surfaces.iter().map(|s| s.name.clone()).collect();
    timed("read frame", || frame::read(directory, frame.index, "none", &names))?;

    let double = |field: &CellField<f32>| CellField {
        dims: field.dims,
        data: field.data.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(),
    };
    let Visible::Smoke(SmokeFrame { density, temperature }) = &frame.fluid else { unreachable!("made of smoke") };
    let state = State {
        time: frame.time,
        step: 1,
        frame: frame.index,
        fluid: GridState {
            velocity: FaceField::new(&frame.grid, 0.25),
            pressure: double(density),
            content: FluidState::Smoke(SmokeState { density: double(density), temperature: double(temperature) }),
        },
        solids: SolidState::default(),
    };
    let identity = checkpoint::Identity {
        build: "gallery".into(),
        scene_hash: run_dir::scene_hash("none"),
        thread_policy: "deterministic".into(),
    };
    timed("state hash", || checkpoint::state_hash(&state));
    timed("save checkpoint", || {
        let sections = checkpoint::to_sections(&state);
        checkpoint::save(directory, &checkpoint::Checkpoint { identity: identity.clone(), step: 1, sections })
    })?;
    timed("load checkpoint", || {
        let latest = checkpoint::latest_valid(directory, &identity)?;
        checkpoint::from_sections(&latest.checkpoint.sections, &frame.grid)
    })?;
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
    result
}

/// A column of smoke that parts around a ball of radius 0.16 at height 0.62 and curls above it.
fn plume(cells: usize, time: f64, surfaces: Vec<Surface>) -> Frame {
    let grid = Grid::new([cells, cells * 3 / 2, cells], 1.0 / cells as f64, DVec3::new(-0.5, 0.0, -0.5));
    let density_at = |p: DVec3| {
        let mut q = p;
        for octave in 0..5 {
            let frequency = 3.0 * 1.9f64.powi(octave);
            let strength = 0.10 * 0.56f64.powi(octave) * (p.y * 1.6).clamp(0.05, 1.0);
            q += strength * curl(frequency * q - DVec3::Y * (2.0 + time) * 0.6 + octave as f64 * 17.0);
        }
        let centre = DVec3::new(0.0, 0.62, 0.0);
        let near = (q - centre).length();
        let part = 0.21 * (-((q.y - 0.72) / 0.22).powi(2)).exp();
        let radius = DVec2::new(q.x, q.z).length();
        let around = (radius - part).abs();
        let width = 0.055 + 0.075 * q.y;
        let body = (1.0 - (around / width).powi(2)).max(0.0);
        let top = ((1.32 - q.y) / 0.25).clamp(0.0, 1.0);
        let solid = ((near - 0.165) / 0.01).clamp(0.0, 1.0);
        body.powf(1.3) * top * solid * (1.2 - 0.5 * q.y)
    };
    let density = field(&grid, |p| density_at(p) as f32);
    let temperature = CellField {
        dims: grid.dims,
        data: density
            .data
            .iter()
            .enumerate()
            .map(|(n, d)| d * (330.0 - 260.0 * grid.cell_centre(grid.cell_at(n)).y as f32))
            .collect(),
    };
    let velocity = field(&grid, |p| (DVec3::Y + curl(6.0 * p)).as_vec3().to_array());
    let fluid = Visible::Smoke(SmokeFrame { density, temperature });
    Frame { index: 1, time, grid, fluid, velocity, surfaces }
}

/// A two-dimensional box of ink around a disc.
fn stirred(cells: usize) -> Frame {
    let dx = 1.0 / cells as f64;
    let grid = Grid::new([cells * 3 / 2, cells, 1], dx, DVec3::new(-0.75, -0.5, -0.5 * dx));
    let wind = |p: DVec3| {
        let q = DVec3::new(p.x, p.y, 0.0);
        let mut v = DVec3::ZERO;
        for octave in 0..3 {
            let f = 5.0 * 1.8f64.powi(octave);
            v += DVec3::new(
                (f * q.y + 3.0 * octave as f64 + (f * q.x).sin()).sin(),
                (f * q.x + (f * q.y).cos()).sin(),
                0.0,
            ) / 1.7f64.powi(octave);
        }
        v
    };
    let density = field(&grid, |p| {
        let mut q = p;
        (0..40).for_each(|_| q -= 0.008 * wind(q));
        let stripe = (14.0 * q.x).sin() * (11.0 * q.y).cos();
        let solid = (p.length() > 0.14) as u8 as f64;
        (solid * (2.0 * stripe).clamp(0.0, 1.0)) as f32
    });
    let velocity = field(&grid, |p| wind(p).as_vec3().to_array());
    let temperature = CellField::new(&grid, 0.0);
    let mut disc = sphere(DVec3::ZERO, 0.13, 64);
    disc.mesh.vertices.iter_mut().for_each(|v| v.z *= 0.5);
    let fluid = Visible::Smoke(SmokeFrame { density, temperature });
    Frame { index: 1, time: 0.0, grid, fluid, velocity, surfaces: vec![disc] }
}

fn field<T: Copy + Send>(grid: &Grid, value: impl Fn(DVec3) -> T + Sync) -> CellField<T> {
    let data = (0..grid.cells()).into_par_iter().map(|n| value(grid.cell_centre(grid.cell_at(n)))).collect();
    CellField { dims: grid.dims, data }
}

/// Smooth noise without divergence: the curl of three noises.
fn curl(p: DVec3) -> DVec3 {
    let e = 0.05;
    let potential = |p: DVec3| DVec3::new(noise(p), noise(p + 31.3), noise(p - 17.7));
    let d = |axis: DVec3| (potential(p + e * axis) - potential(p - e * axis)) / (2.0 * e);
    let (x, y, z) = (d(DVec3::X), d(DVec3::Y), d(DVec3::Z));
    DVec3::new(y.z - z.y, z.x - x.z, x.y - y.x)
}

fn noise(p: DVec3) -> f64 {
    let cell = p.floor();
    let f = p - cell;
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let value = |corner: DVec3| {
        let q = cell + corner;
        let mut h = (q.x as i64 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (q.y as i64 as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ (q.z as i64 as u64).wrapping_mul(0x1656_67b1_9e37_79f9);
        h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (h >> 40) as f64 / (1 << 24) as f64
    };
    let mut sum = 0.0;
    for n in 0..8 {
        let corner = DVec3::new((n & 1) as f64, (n >> 1 & 1) as f64, (n >> 2) as f64);
        let weight = (corner * w + (1.0 - corner) * (1.0 - w)).element_product();
        sum += weight * value(corner);
    }
    sum
}

fn sphere(centre: DVec3, radius: f64, rings: u32) -> Surface {
    let mut mesh = TriMesh::default();
    let around = 2 * rings;
    for j in 0..=rings {
        for i in 0..around {
            let (a, b) = (TAU * f64::from(i) / f64::from(around), TAU * f64::from(j) / f64::from(2 * rings));
            mesh.vertices.push(centre + radius * DVec3::new(b.sin() * a.cos(), b.cos(), b.sin() * a.sin()));
        }
    }
    grid_triangles(&mut mesh, around, rings);
    Surface { name: "sphere".into(), mesh, velocities: vec![], moves: false }
}

/// A trefoil of a thick tube.
fn knot(centre: DVec3, size: f64) -> Surface {
    let (around, along) = (24u32, 240u32);
    let curve = |s: f64| {
        let t = TAU * s;
        size * DVec3::new(t.sin() + 2.0 * (2.0 * t).sin(), t.cos() - 2.0 * (2.0 * t).cos(), -1.3 * (3.0 * t).sin())
            * 0.6
    };
    let mut mesh = TriMesh::default();
    for j in 0..=along {
        let s = f64::from(j) / f64::from(along);
        let tangent = (curve(s + 1e-4) - curve(s - 1e-4)).normalize();
        let side = tangent.cross(curve(s)).normalize();
        let other = tangent.cross(side);
        for i in 0..around {
            let a = TAU * f64::from(i) / f64::from(around);
            mesh.vertices.push(centre + curve(s) + 0.34 * size * (a.cos() * side + a.sin() * other));
        }
    }
    grid_triangles(&mut mesh, around, along);
    Surface { name: "knot".into(), mesh, velocities: vec![], moves: false }
}

/// Triangles between rows of vertices that close around.
fn grid_triangles(mesh: &mut TriMesh, around: u32, rows: u32) {
    for j in 0..rows {
        for i in 0..around {
            let next = (i + 1) % around;
            let [a, b, c, d] = [j * around + i, j * around + next, (j + 1) * around + i, (j + 1) * around + next];
            mesh.triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
}
