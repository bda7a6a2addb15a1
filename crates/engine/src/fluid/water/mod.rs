//! Water: a liquid with a free surface, carried by particles.
//!
//! Particles are the liquid: its volume is their number times the volume each stands for, and nothing else. Every step
//! they are moved with the velocity of the last one and sorted by cell; their density at the cell centres tells where
//! the surface is (`surface`); their velocity is gathered on the faces (`transfer`), forces and pressure change it
//! there, and the particles take the change back. What crowding remains after that is spread out without touching any
//! velocity (`crowding`), which is how the water keeps its volume.
//!
//! Air has no mass: its pressure is zero and it is not computed, unless pockets of it keep their volume (`bubbles`).

mod bubbles;
mod crowding;
mod flatten;
mod narrowed;
mod particles;
mod rim;
mod room;
mod seeding;
mod settle;
pub mod surface;
mod transfer;

pub use bubbles::{Bubble, Bubbles};
pub use particles::Particles;
pub use seeding::{Drain, Liquid, Region, WaterSource};

use super::advect::{Advection, Advector, Flow, Trace};
use super::boundary::{Boundary, Wall};
use super::projection::Projection;
use super::{Shake, Step};
use crate::clock::Stages;
use crate::geometry::{Pose, Shape};
use crate::grid::parallel::{for_each_row, sum_rows};
use crate::grid::{Axis, CellField, Extension, FaceField, Grid, VelocityLattice, strides, unravel};
use crate::solve::SolveError;
use crowding::Crowding;
use glam::DVec3;
use particles::{CHUNK, Moved, Sorter};
use rayon::prelude::*;
use rim::continue_to_rim;
use seeding::{Seeding, Start};
use serde::{Deserialize, Serialize};
use settle::settle;
use surface::Surface;
use transfer::{Flight, Gather};

/// What kind of liquid and how it is computed.
#[derive(Clone, Debug)]
pub struct WaterParams {
    /// kg/m³.
    pub rho: f64,
    /// m/s².
    pub gravity: DVec3,
    /// Shakes the box, if it is shaken.
    pub shake: Option<Shake>,
    /// How velocity goes from step to step.
    pub transfer: Transfer,
    /// For the paths of the particles.
    pub trace: Trace,
    /// Particles of a full cell along each axis that is not flat: 2 makes 8.
    pub particles_per_axis: usize,
    /// Whether crowded particles are spread out, so that the liquid keeps its volume.
    pub hold_volume: bool,
    /// Which pockets of air keep their volume.
    pub bubbles: Bubbles,
    /// Places the particles within their cells.
    pub seed: u64,
    /// The liquid at the start.
    pub initial: Vec<Liquid>,
    /// Air amid that liquid.
    pub air: Vec<(Shape, Pose)>,
    /// Where liquid comes in.
    pub sources: Vec<WaterSource>,
    /// Where it goes.
    pub drains: Vec<Drain>,
}

impl WaterParams {
    /// Water under gravity, in a grid of so many cells; there is none yet.
    pub fn new(cells: [usize; 3]) -> Self {
        Self {
            rho: 1000.0,
            gravity: DVec3::new(0.0, -9.81, 0.0),
            shake: None,
            transfer: Transfer::Apic,
            trace: Trace::Rk3,
            // As many a cell as it takes to tell a surface.
            particles_per_axis: if cells.contains(&1) { 3 } else { 2 },
            hold_volume: true,
            bubbles: Bubbles::Off,
            seed: 0,
            initial: Vec::new(),
            air: Vec::new(),
            sources: Vec::new(),
            drains: Vec::new(),
        }
    }
}

/// How velocity goes from one step to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transfer {
    /// Particles carry velocity and its gradient (Jiang et al. 2015): smooth, and angular momentum is kept.
    Apic,
    /// Particles take the change of the grid's velocity (Zhu and Bridson 2005): lively and noisy.
    Flip {
        /// Part of the grid's own velocity mixed in at every step, which calms the noise.
        pic: f64,
    },
    /// The grid carries velocity, particles only mark the liquid \[ZB17\].
    Grid(Advection),
}

/// What water carries from step to step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaterState {
    /// The liquid, sorted by cell.
    pub particles: Particles,
    /// Signed distance of cell centres from the surface, m, negative in the liquid; cut off one cell away.
    pub distance: CellField,
    /// How far crowding moves the particles in the next step, m.
    pub drift: FaceField,
    /// Pockets of air that keep their volume.
    pub bubbles: Vec<Bubble>,
    /// Particles taken out of overfull cells and not yet put back elsewhere.
    pub bank: u64,
    /// Particles let in by sources since the start.
    pub emitted: u64,
    /// Particles lost through drains and open sides since the start.
    pub drained: u64,
}

impl WaterState {
    /// Volume that the liquid fills, m³: a cell with liquid all around it counts with its open volume (in cells), any
    /// other with what particles fill of it (in cells).
    ///
    /// Unlike the particles' number, this changes if the particles crowd or scatter. All around means all 26 neighbours: the kernel
    /// takes from a cell what it gives to the others that share a corner with it, air included, and that must not count twice.
    pub(crate) fn filled_volume(&self, grid: &Grid, open: &CellField, filled: &CellField) -> f64 {
        let d = &self.distance.data;
        let (dims, cell_volume) = (grid.dims, grid.dx.powi(3));
        let is_air = |c: usize| d[c] >= 0.0 && open.data[c] > 0.0;
        let touches_air = |at: [usize; 3]| {
            let [x, y, z] = [0, 1, 2].map(|a| at[a].saturating_sub(1)..(at[a] + 2).min(dims[a]));
            z.into_iter().any(|k| {
                y.clone().any(|j| {
                    let row = dims[0] * (j + dims[1] * k);
                    (row + x.start..row + x.end).any(is_air)
                })
            })
        };
        sum_rows(dims, |j, k| {
            let cell = |i: usize| {
                let c = i + dims[0] * (j + dims[1] * k);
                match is_air(c) || touches_air([i, j, k]) {
                    true => cell_volume * filled.data[c],
                    false => cell_volume * open.data[c],
                }
            };
            (0..dims[0]).map(cell).sum::<f64>()
        })
    }
}

/// When a particle goes from one point to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// While the solids move from where they were before the step to where they are after it.
    OverStep,
    /// After they have moved.
    AtEnd,
}

/// Where a particle ends that is taken from one point to another: not inside a solid, not through one. m.
pub type KeepOut<'a> = dyn Fn(Way, DVec3, DVec3) -> DVec3 + Sync + 'a;

/// Moves water; keeps its arrays from step to step.
pub(crate) struct Water {
    params: WaterParams,
    seeding: Seeding,
    sorter: Sorter,
    surface: Surface,
    finder: bubbles::Finder,
    gather: Gather,
    crowding: Crowding,
    advector: Advector,
    /// The particles after they have moved, in their old order.
    moved: Vec<Moved>,
    /// Particles that are to be sorted once more.
    unsorted: Particles,
    /// Velocity before forces and pressure, afterwards what these changed.
    change: FaceField,
}

/// Layers of velocity continued beyond the liquid, in addition to the cells that a step may cross.
/// Interpolation at the end of a path reads one farther; the other is to spare.
const EXTRA_LAYERS: f64 = 2.0;

/// A face less open than this lets through what it must, but its velocity says little about the liquid around it: it is
/// continued from the others.
/// A choice, raised from 0.1.
const LEAST_OPEN: f64 = 0.5;

/// Most layers; beyond them velocity is zero.
/// A guard: at the usual CFL number of 2 there are four.
const MOST_LAYERS: f64 = 16.0;

/// How near, in cells, particles come to closed sides of the domain.
/// A choice: beyond round-off, and little beside the half cell that particles are apart.
const MARGIN: f64 = 0.01;

/// What is nearer to the surface than this, in cells, is air. Where a level surface runs through the centres of cells, noise would tell some of them to be
/// air and others liquid, and pressure knows no level between.
/// A choice: above what particles leave of a level that was asked for.
const TIE: f64 = 3e-3;

/// Tell on which side of the surface cells are that are nearer to it than `tie`, m: all in the air, but for those upon a body that takes its faces along and
/// with no liquid beside them. Else nothing would press on what is a cell below a level.
fn break_ties(tie: f64, boundary: &Boundary, distance: &mut CellField) {
    let is_tie = |d: f64| d.abs() < tie;
    let leads_to_liquid = |cell: usize| {
        let at = unravel(distance.dims, cell);
        let leads = |axis: Axis, is_upper: bool| {
            let mut face = at;
            face[axis.index()] += usize::from(is_upper);
            let index = boundary.driven.face(axis, face);
            let mut beside = boundary.driven.cells_beside(axis, index).into_iter().flatten();
            boundary.driven.axes[axis.index()][index] && beside.any(|other| distance.data[other] <= -tie)
        };
        Axis::ALL.into_iter().any(|axis| leads(axis, false) || leads(axis, true))
    };
    let taken_along = boundary.constrained.iter().flat_map(|face| {
        let beside = boundary.driven.cells_beside(face.axis, face.index).into_iter().zip(face.is_wet);
        beside.filter_map(|(cell, is_wet)| cell.filter(|_| is_wet))
    });
    let upon: Vec<usize> = taken_along.filter(|&c| is_tie(distance.data[c]) && !leads_to_liquid(c)).collect();
    distance.data.par_iter_mut().filter(|d| is_tie(**d)).for_each(|d| *d = d.abs());
    upon.into_iter().for_each(|c| distance.data[c] = -tie);
}

impl Water {
    /// Find what sources and drains reach.
    pub fn new(params: &WaterParams, grid: &Grid, walls: &[[Wall; 2]; 3]) -> Self {
        Self {
            seeding: Seeding::new(params, grid, walls),
            sorter: Sorter::default(),
            surface: Surface::new(grid, params.parts(grid)),
            finder: bubbles::Finder::default(),
            gather: Gather::default(),
            crowding: Crowding::new(grid),
            advector: Advector::default(),
            moved: Vec::new(),
            unsorted: Particles::default(),
            change: FaceField::new(grid, 0.0),
            params: params.clone(),
        }
    }

    /// The liquid at the start; its velocity goes to the faces as well.
    pub fn initial(
        &mut self,
        grid: &Grid,
        boundary: &Boundary,
        keep_out: &KeepOut,
        velocity: &mut FaceField,
    ) -> WaterState {
        self.surface.set_room(grid, boundary);
        let Start { wanted, mut seeds } = self.seeding.initial(&self.params, grid, &self.surface, keep_out);
        let kept = |x: DVec3, p: DVec3| {
            let p = p.max(DVec3::splat(MARGIN)).min(DVec3::from(grid.dims.map(|n| n as f64)) - MARGIN);
            let is_near = boundary.distance.as_ref().is_some_and(|solids| solids.data[grid.cell_around(p)] < 1.5);
            let end = grid.origin + grid.dx * p;
            if is_near { keep_out(Way::OverStep, x, end) } else { end }
        };
        let volume = 1.0 / self.params.particles_per_cell(grid) as f64;
        settle(grid, &self.surface, &wanted, volume, kept, &mut seeds);
        let mut state = WaterState {
            particles: Particles::default(),
            distance: CellField::new(grid, grid.dx),
            drift: FaceField::new(grid, 0.0),
            bubbles: Vec::new(),
            bank: 0,
            emitted: 0,
            drained: 0,
        };
        let nothing = (&Particles::default(), &[][..]);
        self.sorter.sort(grid, nothing, &seeds, usize::MAX, self.has_affine(), &mut state.particles);
        self.find_surface(grid, boundary, &mut state);
        if self.params.bubbles != Bubbles::Off {
            state.bubbles = self.finder.first(grid, boundary, &state.distance, self.params.bubbles);
        }
        self.gather.velocity(grid, &state.particles, self.sorter.starts(), velocity);
        state
    }

    /// The solids have moved.
    pub fn set_boundary(&mut self, grid: &Grid, boundary: &Boundary) {
        self.surface.set_room(grid, boundary);
    }

    fn has_affine(&self) -> bool {
        self.params.transfer == Transfer::Apic
    }

    /// Move the particles, let liquid in and out, find the surface, and gather the velocity on the faces.
    pub fn advect(
        &mut self,
        step: &Step,
        keep_out: &KeepOut,
        projection: &mut Projection,
        (velocity, now): (&FaceField, &WaterState),
        (next_velocity, next): (&mut FaceField, &mut WaterState),
        clock: &mut Stages,
    ) -> Result<(), SolveError> {
        let (grid, boundary) = (step.grid, step.boundary);
        self.move_particles(step, keep_out, velocity, now);
        let drained = self.seeding.drain(step, &mut self.moved);
        clock.lap("move particles");

        let mut seeds = self.seeding.emit(step, keep_out, velocity, &self.moved, now.emitted);
        let emitted = seeds.len() as u64;
        seeds.extend(self.seeding.refill(grid, velocity, &self.moved, now.bank));
        let spent = seeds.len() as u64 - emitted;
        let capacity = MOST_CROWDED * self.params.particles_per_cell(grid);
        let moved = (&now.particles, &self.moved[..]);
        let dropped = self.sorter.sort(grid, moved, &seeds, capacity, self.has_affine(), &mut next.particles);
        self.seeding.set_velocity(step, self.gain(step), self.sorter.starts(), &mut next.particles);
        next.bank = now.bank + dropped - spent;
        (next.emitted, next.drained) = (now.emitted + emitted, now.drained + drained);
        clock.lap("sort particles");

        self.find_surface(grid, boundary, next);
        if self.params.hold_volume {
            self.make_room(step, keep_out, projection, velocity, next)?;
        }
        if self.params.bubbles != Bubbles::Off {
            next.bubbles =
                self.finder.next(grid, boundary, &now.distance, &now.bubbles, &mut next.distance, self.params.bubbles);
        }
        clock.lap("surface");

        if let Transfer::Grid(scheme) = self.params.transfer {
            let flow = Flow { grid, boundary, velocity, dt: step.dt, scheme, trace: self.params.trace };
            self.advector.trace(&flow);
            self.advector.advect_velocity(&flow, next_velocity);
            self.seeding.set_face_velocity(step, self.gain(step), next_velocity);
        } else {
            self.gather.velocity(grid, &next.particles, self.sorter.starts(), next_velocity);
        }
        if let Transfer::Flip { .. } = self.params.transfer {
            self.change.clone_from(next_velocity);
        }
        // In free flight nothing falls through the rim, and it costs spin.
        if self.params.bubbles == Bubbles::Off && self.gain(step) != DVec3::ZERO {
            continue_to_rim(grid, boundary, &next.distance, next_velocity);
        }
        clock.lap("gather velocity");
        Ok(())
    }

    /// Where every particle goes; NaN for those that leave.
    fn move_particles(&mut self, step: &Step, keep_out: &KeepOut, velocity: &FaceField, now: &WaterState) {
        let (grid, boundary) = (step.grid, step.boundary);
        self.surface.mark_near(&now.distance);
        let (flow, drift) = (VelocityLattice::new(velocity), VelocityLattice::new(&now.drift));
        let solids = &boundary.distance;
        let sides = Sides::new(grid, boundary);
        let (near, trace, h) = (&self.surface.near, self.params.trace, step.dt / grid.dx);
        // Unless it is FLIP's, a particle's velocity is the flow's where it is, which saves the first sample.
        let knows_flow = !matches!(self.params.transfer, Transfer::Flip { .. });
        let per_cell = 1.0 / grid.dx;
        let follow = |(&x, &v): (&DVec3, &DVec3)| {
            let p = (x - grid.origin) * per_cell;
            let is_carried = near[grid.cell_around(p)];
            // First apart, then along; spray flies on its own.
            let wanted = if is_carried {
                let apart = p + per_cell * drift.linear(p);
                apart + displacement(&flow, if knows_flow { v } else { flow.linear(p) }, apart, h, trace)
            } else {
                p + h * v
            };
            let mut end = sides.clamp(wanted);
            if let Some(solids) = &solids {
                // Distance changes by at most one per cell, and within a cell by less than one from its centre.
                let reach = end.distance(p) + step.solid_reach + 1.0;
                if solids.data[grid.cell_around(end)] < reach {
                    let kept = keep_out(Way::OverStep, x, grid.origin + grid.dx * end);
                    end = sides.clamp((kept - grid.origin) * per_cell);
                }
            }
            let position = if sides.contains(end) { grid.origin + grid.dx * end } else { DVec3::NAN };
            // What hits something keeps the velocity with which it slides along.
            let velocity = if is_carried || end == wanted { v } else { (position - x) / step.dt };
            Moved { position, velocity }
        };
        let particles = (&now.particles.position, &now.particles.velocity);
        particles.into_par_iter().with_min_len(CHUNK).map(follow).collect_into_vec(&mut self.moved);
    }

    /// Density of the particles, signed distance of the surface.
    fn find_surface(&mut self, grid: &Grid, boundary: &Boundary, state: &mut WaterState) {
        let volume = 1.0 / self.params.particles_per_cell(grid) as f64;
        let (positions, starts) = (&state.particles.position, self.sorter.starts());
        transfer::density(grid, positions, starts, |_| volume, &mut self.surface.filled);
        self.surface.find(grid, boundary, &mut state.distance);
        // The sides of small bubbles are no planes.
        match self.params.bubbles {
            Bubbles::Off => self.surface.flatten(grid, boundary, &mut state.distance),
            _ => bubbles::snap(grid, &mut state.distance),
        }
        break_ties(TIE * grid.dx, boundary, &mut state.distance);
    }

    /// Gravity.
    pub fn predict(&mut self, step: &Step, velocity: &mut FaceField) {
        let gain = self.gain(step);
        for axis in Axis::ALL.into_iter().filter(|&axis| !step.grid.is_flat(axis)) {
            velocity.axes[axis.index()].par_iter_mut().for_each(|u| *u += gain[axis.index()]);
        }
    }

    /// Velocity that gravity and shaking give in this step, along axes that are not flat, m/s.
    fn gain(&self, step: &Step) -> DVec3 {
        let mut gain = self.params.gain(step.time, step.dt);
        for axis in Axis::ALL.into_iter().filter(|&axis| step.grid.is_flat(axis)) {
            gain[axis.index()] = 0.0;
        }
        gain
    }

    /// Volume that springs push into cells, in units of dx², m/s, with the number of the source.
    pub fn pushed(&self, step: &Step) -> Vec<(usize, f64, usize)> {
        self.seeding.pushed(step)
    }

    /// After the projection: continue the velocity beyond the liquid, hand it to the particles, and find out how
    /// crowding will move them.
    pub fn finish(
        &mut self,
        step: &Step,
        projection: &mut Projection,
        velocity: &mut FaceField,
        state: &mut WaterState,
        clock: &mut Stages,
    ) -> Result<(), SolveError> {
        let (grid, boundary) = (step.grid, step.boundary);
        let plans = extend(step, &state.distance, velocity);
        if let Transfer::Flip { .. } = self.params.transfer {
            let changes = self.change.axes.par_iter_mut().zip(&velocity.axes);
            changes.zip(&plans).for_each(|((change, u), plan)| {
                change.iter_mut().zip(u).for_each(|(change, u)| *change = u - *change);
                plan.apply(change);
            });
        }
        clock.lap("extend");

        self.surface.mark_near(&state.distance);
        let flight = Flight { near: &self.surface.near, gain: self.gain(step) };
        transfer::to_particles(grid, self.params.transfer, velocity, &self.change, &flight, &mut state.particles);
        clock.lap("update particles");

        if self.params.hold_volume {
            if self.params.bubbles != Bubbles::Off {
                // They have shifted the surface since.
                self.crowding.find(boundary, &self.surface, &state.distance);
            }
            self.crowding.spread(step, projection, &state.distance, &state.bubbles, &plans, &mut state.drift)?;
            clock.lap("spread");
        }
        Ok(())
    }

    /// Share of each cell that particles fill after the last step.
    pub fn filled(&self) -> &CellField {
        &self.surface.filled
    }

    /// Fastest velocity that a source sets, m/s.
    pub fn source_speed(&self) -> f64 {
        self.seeding.speed()
    }
}

/// How far the flow, of velocity `k1` at the start, takes a point of index space in `h` = Δt/dx.
#[inline(always)]
fn displacement(flow: &VelocityLattice, k1: DVec3, p: DVec3, h: f64, trace: Trace) -> DVec3 {
    let k2 = flow.linear(p + 0.5 * h * k1);
    match trace {
        Trace::Rk2 => h * k2,
        Trace::Rk3 => {
            let k3 = flow.linear(p + 0.75 * h * k2);
            h / 9.0 * (2.0 * k1 + 3.0 * k2 + 4.0 * k3)
        }
    }
}

/// Continue the velocity of the liquid beyond it; how it was done, for other fields.
pub(crate) fn extend(step: &Step, distance: &CellField, velocity: &mut FaceField) -> Vec<Extension> {
    let plans = plan_extension(step.grid, step.boundary, distance, velocity, step.dt);
    velocity.axes.par_iter_mut().zip(&plans).for_each(|(u, plan)| plan.apply(u));
    step.boundary.impose(velocity);
    plans
}

/// How to continue a face field from the faces of liquid cells, as far as a particle may get in a step.
fn plan_extension(
    grid: &Grid,
    boundary: &Boundary,
    distance: &CellField,
    velocity: &FaceField,
    dt: f64,
) -> Vec<Extension> {
    let d = &distance.data;
    let known_across = |axis: Axis| {
        let a = axis.index();
        let (dims, stride) = (grid.face_dims(axis), strides(grid.dims)[a]);
        let open = &boundary.open.axes[a];
        let mut known = vec![false; open.len()];
        for_each_row(&mut known, dims, |j, k, row| {
            let (face, cell) = (dims[0] * (j + dims[1] * k), grid.dims[0] * (j + grid.dims[1] * k));
            for (i, known) in row.iter_mut().enumerate() {
                let (c, at) = (cell + i, [i, j, k][a]);
                let beside = at < grid.dims[a] && d[c] < 0.0 || at > 0 && d[c - stride] < 0.0;
                *known = beside && open[face + i] > LEAST_OPEN;
            }
        });
        let speed = known.iter().zip(&velocity.axes[a]).filter(|(known, _)| **known).map(|(_, u)| u.abs());
        let speed = speed.fold(0.0, f64::max);
        (known, speed)
    };
    let known: Vec<(Vec<bool>, f64)> = Axis::ALL.into_par_iter().map(known_across).collect();
    let crossed = known.iter().map(|(_, speed)| *speed).fold(0.0, f64::max) * dt / grid.dx;
    let layers = (crossed.ceil() + EXTRA_LAYERS).min(MOST_LAYERS) as u8;
    let plan = |(axis, (known, _)): (Axis, &(Vec<bool>, f64))| Extension::new(grid.face_dims(axis), known, layers);
    Axis::ALL.into_par_iter().zip(&known).map(plan).collect()
}

/// The sides of the domain, as particles see them.
struct Sides {
    low: DVec3,
    high: DVec3,
    domain: DVec3,
}

impl Sides {
    fn new(grid: &Grid, boundary: &Boundary) -> Self {
        let domain = DVec3::from(grid.dims.map(|n| n as f64));
        let bound = |side: usize, closed: DVec3, unbounded: f64| {
            DVec3::from([0, 1, 2].map(|a| if boundary.walls[a][side] == Wall::Closed { closed[a] } else { unbounded }))
        };
        Self {
            low: bound(0, DVec3::splat(MARGIN), f64::NEG_INFINITY),
            high: bound(1, domain - MARGIN, f64::INFINITY),
            domain,
        }
    }

    /// Not through closed sides.
    #[inline(always)]
    fn clamp(&self, p: DVec3) -> DVec3 {
        p.max(self.low).min(self.high)
    }

    /// Whether a point is in the domain.
    #[inline(always)]
    fn contains(&self, p: DVec3) -> bool {
        p.cmpge(DVec3::ZERO).all() && p.cmple(self.domain).all()
    }
}

impl WaterParams {
    /// Velocity that gravity and shaking give over a step from `time` to `time + dt` (s), m/s.
    pub(super) fn gain(&self, time: f64, dt: f64) -> DVec3 {
        dt * self.gravity + self.shake.map_or(DVec3::ZERO, |shake| shake.impulse(time, dt))
    }

    /// Particles of a full cell.
    pub fn particles_per_cell(&self, grid: &Grid) -> usize {
        self.parts(grid).iter().product()
    }

    /// Parts of a cell along each axis, with one particle each.
    fn parts(&self, grid: &Grid) -> [usize; 3] {
        Axis::ALL.map(|axis| if grid.is_flat(axis) { 1 } else { self.particles_per_axis })
    }

    /// Volume that a particle stands for, m³.
    pub fn particle_volume(&self, grid: &Grid) -> f64 {
        grid.dx.powi(3) / self.particles_per_cell(grid) as f64
    }
}

/// Cells never have more than this many times their fill; what is too much waits for room elsewhere.
/// Raised from 3 together with the tests of thin moving walls (tests/verification/leaks.rs).
const MOST_CROWDED: usize = 8;
