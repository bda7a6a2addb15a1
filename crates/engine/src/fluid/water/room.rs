//! Room for crowded water within a step.
//!
//! Water below a body that falls on the floor cannot leave at the speed that it had when the step began: particles end up crowded, and those below a body that
//! comes to lie there in cells with no room at all. Spread by the next step (`crowding`), they would be missing until then; so where they are many, it is done at once.

use super::particles::{CHUNK, Moved, Particles};
use super::{KeepOut, MOST_CROWDED, Sides, Water, WaterState, Way, plan_extension};
use crate::fluid::Step;
use crate::fluid::boundary::Boundary;
use crate::fluid::projection::Projection;
use crate::grid::{Axis, FaceField, Grid, VelocityLattice, strides};
use crate::solve::{SolidTerms, SolveError};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What part of the water may be crowded or scattered after a step; how often it is spread to get there, as long as each time leaves no more than a part, or
/// more than twice what is tolerable is left. Up to 5 % was crowded without; at 0.3 %, and four rounds in any case, poured water cost half as much again.
const TOLERABLE: f64 = 0.005;
const MOST_ROUNDS: usize = 4;
const LEFT: f64 = 0.75;

/// A cell in which solids have left next to no room for the particles in it.
struct Trapped {
    /// How many may stay.
    room: usize,
    /// Where the others go: the nearest cell with room.
    way_out: usize,
}

/// Cells with less room than this trap particles, if there are more than this many times as many as fit; and how far away, in cells, there may be room for them.
/// Choices: without, up to 3 % of shallow water stayed below a box that came to lie on it (tests/mended).
const TIGHT: f64 = 0.25;
const PACKED: f64 = 2.0;
const FARTHEST: usize = 16;

impl Water {
    /// Where more of the water is crowded than the next step should find, as where a body falls on the floor, spread it at once.
    pub(super) fn make_room(
        &mut self,
        step: &Step,
        keep_out: &KeepOut,
        projection: &mut Projection,
        velocity: &FaceField,
        next: &mut WaterState,
    ) -> Result<(), SolveError> {
        let (grid, boundary) = (step.grid, step.boundary);
        let per_cell = self.params.particles_per_cell(grid);
        let mut crowded = f64::INFINITY;
        for round in 0.. {
            self.crowding.find(boundary, &self.surface, &next.distance);
            let before = crowded;
            crowded = self.crowding.net(boundary, &self.surface).abs();
            let tolerable = TOLERABLE * next.particles.len() as f64 / per_cell as f64;
            let is_worth_it = crowded <= LEFT * before || crowded > 2.0 * tolerable;
            if crowded <= tolerable || round == MOST_ROUNDS || !is_worth_it {
                break;
            }
            projection.set_bodies(SolidTerms::default());
            projection.set_liquid(grid, boundary, &next.distance, &[]);
            let plans = plan_extension(grid, boundary, &next.distance, velocity, step.dt);
            self.crowding.spread(step, projection, &next.distance, &[], &plans, &mut next.drift)?;

            let (drift, sides) = (VelocityLattice::new(&next.drift), Sides::new(grid, boundary));
            let starts = self.sorter.starts();
            let trapped = trapped(grid, boundary, starts, per_cell);
            let apart = |(n, (&x, &velocity)): (usize, (&DVec3, &DVec3))| {
                let p = (x - grid.origin) / grid.dx;
                let cell = grid.cell_around(p);
                let place = |cell: usize| DVec3::from(grid.cell_at(cell).map(|i| i as f64));
                // All go straight, so that they pass through nothing.
                let wanted = match trapped.get(&cell) {
                    Some(trapped) if n - starts[cell] as usize >= trapped.room => {
                        p - place(cell) + place(trapped.way_out)
                    }
                    _ => p + drift.linear(p) / grid.dx,
                };
                let mut end = sides.clamp(wanted);
                let solids = boundary.distance.as_ref().map(|solids| solids.data[grid.cell_around(end)]);
                if solids.is_some_and(|distance| distance < end.distance(p) + 1.0) {
                    let kept = keep_out(Way::AtEnd, x, grid.origin + grid.dx * end);
                    end = sides.clamp((kept - grid.origin) / grid.dx);
                }
                Moved { position: if sides.contains(end) { grid.origin + grid.dx * end } else { x }, velocity }
            };
            std::mem::swap(&mut self.unsorted, &mut next.particles);
            let Particles { position, velocity, .. } = &self.unsorted;
            let particles = (position, velocity).into_par_iter().enumerate().with_min_len(CHUNK);
            particles.map(apart).collect_into_vec(&mut self.moved);
            let (moved, capacity) = ((&self.unsorted, &self.moved[..]), MOST_CROWDED * per_cell);
            next.bank += self.sorter.sort(grid, moved, &[], capacity, self.has_affine(), &mut next.particles);
            self.find_surface(grid, boundary, next);
        }
        Ok(())
    }
}

/// All of them, where a full cell has `per_cell` particles and `starts` tells the first in every cell.
fn trapped(grid: &Grid, boundary: &Boundary, starts: &[u32], per_cell: usize) -> BTreeMap<usize, Trapped> {
    let open = &boundary.volume.data;
    let find = |cell: usize| {
        let room = (PACKED * open[cell] * per_cell as f64).ceil() as usize;
        if open[cell] >= TIGHT || (starts[cell + 1] - starts[cell]) as usize <= room {
            return None;
        }
        way_out(grid, boundary, cell).map(|way_out| (cell, Trapped { room, way_out }))
    };
    (0..grid.cells()).into_par_iter().with_min_len(CHUNK).filter_map(find).collect::<Vec<_>>().into_iter().collect()
}

/// The nearest cell that is at least half open, from one to the next through open faces: what is beyond a plate is no way out.
fn way_out(grid: &Grid, boundary: &Boundary, from: usize) -> Option<usize> {
    let (mut ring, mut seen) = (vec![from], BTreeSet::from([from]));
    for _ in 0..FARTHEST {
        let mut next = Vec::new();
        for cell in ring {
            let at = grid.cell_at(cell);
            for axis in Axis::ALL {
                let (a, stride) = (axis.index(), strides(grid.dims)[axis.index()]);
                let mut upper = at;
                upper[a] += 1;
                let is_open = |face: [usize; 3]| boundary.open[(axis, face)] > 0.0;
                let below = (at[a] > 0 && is_open(at)).then(|| cell - stride);
                let above = (upper[a] < grid.dims[a] && is_open(upper)).then_some(cell + stride);
                next.extend(below.into_iter().chain(above).filter(|&other| seen.insert(other)));
            }
        }
        if let Some(&found) = next.iter().find(|&&cell| boundary.volume.data[cell] >= 0.5) {
            return Some(found);
        }
        ring = next;
    }
    None
}
