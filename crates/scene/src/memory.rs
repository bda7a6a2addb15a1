//! How much memory a run needs, told before any of it is allocated.

use crate::file::{ObstacleEntry, SceneFile, TransferName};
use crate::limits;
use bathtub_engine::geometry::{Bounds, TetMesh};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::elastic::Elastic;
use bathtub_output::render::{pixels, smoke_bytes};
use std::fs::read_to_string;

/// Bytes per cell of smoke at the peak of a step: fields, workspace, pressure hierarchy, and what is written of them. Measured, like all
/// that follows, as the peak of runs of the scenes in `scenes/` and of plain ones of 32³ to 128³ and 128² to 400² cells: see `Memory`.
const BYTES_PER_CELL: f64 = 355.0;

/// The same of water, without its particles.
const BYTES_PER_CELL_OF_WATER: f64 = 500.0;

/// More per cell where there are solids: cut cells and distances.
const BYTES_PER_CELL_OF_SOLIDS: f64 = 15.0;

/// More per cell where they move: the old boundary beside the new one, and gaps that arrays made anew in every step leave in the heap.
const BYTES_PER_CELL_OF_MOTION: f64 = 150.0;

/// The same where fluid and bodies answer each other in water.
const BYTES_PER_CELL_OF_MOTION_IN_WATER: f64 = 200.0;

/// More per cell with vorticity confinement: the vorticity.
const BYTES_PER_CELL_OF_CONFINEMENT: f64 = 40.0;

/// Cells of a flat scene count this often: they have two faces along the flat axis, and coarse levels a quarter of them, not an eighth.
const FLAT: f64 = 1.35;

/// And this often for what moves, in smoke and in water: small arrays leave more gaps.
const FLAT_MOTION: [f64; 2] = [4.5, 2.3];

/// More per cell of water that is flat; measured on 128² and 256² cells.
const BYTES_PER_CELL_OF_FLAT_WATER: f64 = 530.0;

/// Bytes of a loaded triangle: its share of vertices, indices and the search tree, and the clipped polygons it leaves.
const BYTES_PER_TRIANGLE: f64 = 400.0;

/// Bytes of a particle: two states, its place after a move, its order, the state as it goes into a checkpoint, and the lattice for the mesh
/// of the surface.
const BYTES_PER_PARTICLE: f64 = 430.0;

/// The same where particles carry no velocity gradients.
const BYTES_PER_PLAIN_PARTICLE: f64 = 250.0;

/// Arrays that grow leave gaps behind: more per byte of what particles that come in take, and where all of them do, this many bytes per cell and
/// at least. Measured while 16³ to 32³ cells with 8 to 64 particles filled through a side, by 0.5 and 2 m/s, and on `glass` and `basin`.
const GAPS_OF_GROWTH: f64 = 0.32;
const GAPS_OF_GROWTH_PER_CELL: f64 = 250.0;
const LEAST_GAPS_OF_GROWTH: f64 = 20e6;

/// Bytes of a tetrahedron: its shape functions, its share of vertices, stiffness and mass. Measured on cubes of 29,000 and 94,000 tetrahedra.
const BYTES_PER_TETRAHEDRON: f64 = 1450.0;

/// Bytes of the factor of a body's stiffness over the square of the vertices in a layer that divides it across its longest side: the growth of nested
/// dissection. Measured on boxes and balls of 4,000 to 33,000 tetrahedra, and a tenth more: contact takes up to a fifth.
const BYTES_PER_FACTOR: f64 = 3300.0;

/// Code, buffers and threads: of smoke, and of water.
const FIXED_BYTES: [f64; 2] = [15e6, 18e6];

/// A picture of a preview's size and the animation: of smoke, and of water, with the search tree of its surface.
const PICTURE_BYTES: [f64; 2] = [22e6, 50e6];

/// Pixels of that, and bytes of each that there are more, or less.
const PREVIEW_PIXELS: f64 = 420_000.0;
const BYTES_PER_PIXEL: f64 = 56.0;

/// Bytes per pixel of what is blurred.
const BYTES_PER_PIXEL_OF_BLUR: f64 = 30.0;

/// A picture of flat smoke, and bytes per cell of one of flat water; measured on 128² and 256² cells.
const FLAT_PICTURE_BYTES: f64 = 12e6;
const PICTURE_BYTES_PER_CELL_OF_FLAT_WATER: f64 = 2400.0;

/// Bytes per cell for the light in a picture of smoke, less what the step has given back by then.
const BYTES_PER_CELL_OF_LIGHT: f64 = 20.0;

/// Bytes per cell for the velocities of what is blurred: those near the fluid, and the lattice that rays ask.
const BYTES_PER_CELL_OF_BLUR: f64 = 28.0;

/// Smoke in more cells is drawn as it is; their number may be more than any integer.
const MOST_REFINED: f64 = 24e6;

/// What a scene holds besides cells; floating-point numbers because it may be more than any integer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contents {
    /// Triangles of all solids; curved shapes are divided into triangles of about a cell's size.
    pub triangles: f64,
    /// Bytes of elastic bodies, their triangles apart.
    pub elastic: f64,
    /// Particles of water, when they are most.
    pub particles: f64,
    /// Which part of these come in after the start.
    pub arriving: f64,
}

impl Contents {
    /// Count these bodies as well.
    pub fn add_elastic(&mut self, bodies: &[Elastic]) {
        for body in bodies {
            self.triangles += body.rest.surface().triangles.len() as f64;
            // With the mass of the fluid on its faces there is another factor.
            let factors = if body.interface == Interface::Faces { 2.0 } else { 1.0 };
            self.elastic += BYTES_PER_TETRAHEDRON * body.rest.tetrahedra.len() as f64
                + factors * BYTES_PER_FACTOR * dividing_layer(&body.rest).powi(2);
        }
    }
}

/// Vertices that divide a mesh in two halves: those of a layer as thick as they are apart, across its longest side.
fn dividing_layer(mesh: &TetMesh) -> f64 {
    let Bounds { min, max } = mesh.bounds();
    let longest = (max - min).max_position();
    let mut along: Vec<f64> = mesh.vertices.iter().map(|vertex| vertex[longest]).collect();
    along.sort_unstable_by(f64::total_cmp);
    let apart = (mesh.volume() / along.len() as f64).cbrt();
    let middle = along[along.len() / 2];
    // Of several layers, since vertices often lie in planes.
    let near = along.iter().filter(|at| (*at - middle).abs() < 0.5 * LAYERS * apart).count();
    near as f64 / LAYERS
}

/// How many layers are counted together.
const LAYERS: f64 = 4.0;

/// An estimate of the peak of a run that writes and draws everything, good to 20 %.
///
/// A step, a checkpoint and a frame have their peaks at different times; `cells` times bytes holds the largest of them. The picture of smoke
/// comes on top: it needs light, and the density as fine as the pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// What there is besides cells.
    pub contents: Contents,
    /// Bytes at the peak.
    pub bytes: f64,
    /// The same without pictures.
    pub undrawn: f64,
}

impl Memory {
    /// For a scene with these contents.
    pub fn estimate(file: &SceneFile, contents: Contents) -> Self {
        let cells: f64 = file.grid.cells.iter().map(|&n| n as f64).product();
        let is_flat = file.grid.cells.contains(&1);
        let is_water = file.water.is_some() || !file.liquid.is_empty();
        let answers = !file.body.is_empty() || !file.elastic.is_empty();
        let mut per_cell = if is_water { BYTES_PER_CELL_OF_WATER } else { BYTES_PER_CELL };
        if !file.obstacle.is_empty() || answers {
            per_cell += BYTES_PER_CELL_OF_SOLIDS;
        }
        let moves = |obstacle: &ObstacleEntry| {
            let is_pushed = obstacle.velocity.is_some_and(|velocity| velocity != [0.0; 3]);
            is_pushed
                || obstacle.spin.as_ref().is_some_and(|spin| spin.degrees_per_second != 0.0)
                || !obstacle.keyframes.is_empty()
        };
        if answers || file.obstacle.iter().any(moves) {
            let motion = if is_water { BYTES_PER_CELL_OF_MOTION_IN_WATER } else { BYTES_PER_CELL_OF_MOTION };
            per_cell += if is_flat { FLAT_MOTION[usize::from(is_water)] / FLAT * motion } else { motion };
        }
        if file.smoke.as_ref().is_some_and(|smoke| smoke.confinement > 0.0) {
            per_cell += BYTES_PER_CELL_OF_CONFINEMENT;
        }
        let carries_gradients = file.water.as_ref().is_none_or(|water| water.transfer == TransferName::Apic);
        let per_particle = if carries_gradients { BYTES_PER_PARTICLE } else { BYTES_PER_PLAIN_PARTICLE };
        let Contents { triangles, elastic, particles, arriving } = contents;
        let of_cells = LEAST_GAPS_OF_GROWTH.max(GAPS_OF_GROWTH_PER_CELL * cells);
        let gaps = arriving * (of_cells + GAPS_OF_GROWTH * particles * per_particle);
        let others = triangles * BYTES_PER_TRIANGLE + elastic + particles * per_particle + gaps;
        let counted = if is_flat { FLAT * cells } else { cells };
        let of_flat_water = if is_flat && is_water { BYTES_PER_CELL_OF_FLAT_WATER * cells } else { 0.0 };
        let step = FIXED_BYTES[usize::from(is_water)] + counted * per_cell + of_flat_water + others;
        let drawn = if is_water || is_flat {
            step
        } else {
            let is_known = file.grid.dx.or(file.grid.size).is_some() && cells < MOST_REFINED;
            let grid = is_known.then(|| crate::build::grid(file));
            let density = grid.map_or(8.0 * cells, |grid| smoke_bytes(&grid, &file.render));
            step + density + BYTES_PER_CELL_OF_LIGHT * cells
        };
        let pixels = pixels(&file.render);
        let picture = match (is_flat, is_water) {
            (true, true) => PICTURE_BYTES_PER_CELL_OF_FLAT_WATER * cells,
            (true, false) => FLAT_PICTURE_BYTES,
            (false, _) => (PICTURE_BYTES[usize::from(is_water)] + BYTES_PER_PIXEL * (pixels - PREVIEW_PIXELS)).max(0.0),
        };
        let blur = match file.render.motion_blur > 0.0 && !is_flat {
            true => BYTES_PER_CELL_OF_BLUR * cells + BYTES_PER_PIXEL_OF_BLUR * pixels,
            false => 0.0,
        };
        Self { contents, bytes: drawn + picture + blur, undrawn: step }
    }

    /// The bytes in words.
    pub fn text(&self) -> String {
        size_text(self.bytes)
    }

    /// Those without pictures in words.
    pub fn undrawn_text(&self) -> String {
        size_text(self.undrawn)
    }
}

/// `1.5 GiB`.
pub fn size_text(bytes: f64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB"];
    let power = ((bytes.max(1.0).log2() / 10.0) as usize).min(3);
    let number = bytes / 1024f64.powi(power as i32);
    if number < 1e9 { format!("{number:.1} {}", units[power]) } else { format!("{number:.1e} {}", units[power]) }
}

/// Bytes that this process may still take: the machine's available memory, or less where a control group or a limit of the process
/// says so. `None` where none of them can be read.
pub fn available_memory() -> Option<f64> {
    let number = |path: &str| read_to_string(path).ok()?.trim().parse::<f64>().ok();
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? * 1024.0)
    });
    let group = number("/sys/fs/cgroup/memory.max")
        .zip(number("/sys/fs/cgroup/memory.current"))
        .map(|(most, used)| (most - used).max(0.0));
    // Code and threads, which every estimate counts, have taken their part of this one already.
    let process = limits::address_space().map(|left| left + FIXED_BYTES[0]);
    [machine, group, process].into_iter().flatten().reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_grids_do_not_overflow() {
        let max = i64::MAX;
        let file = serde_json::json!({ "grid": { "cells": [max, max, max] } });
        let memory = Memory::estimate(&serde_json::from_value(file).unwrap(), Contents::default());
        assert!(memory.bytes.is_finite() && memory.bytes > 1e50);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(size_text(512.0), "512.0 bytes");
        assert_eq!(size_text(1.5 * 1024.0 * 1024.0), "1.5 MiB");
        assert_eq!(size_text(2e15), "1862645.1 GiB");
        assert_eq!(size_text(2e64), "1.9e55 GiB");
    }
}
