//! Transport along the flow: ∂q/∂t + u·∇q = 0 over one step.
//!
//! Every sample is traced back to where it came from (its *foot*) and takes the value there: Stam's
//! semi-Lagrangian step, stable for any Δt. MacCormack's variant (Selle et al. 2008) carries the result
//! forward again (to the *head*), which shows twice the error that was made, removes it, and keeps the
//! outcome within the values around the foot, so that nothing overshoots. Velocity next to a solid is left uncorrected: the field
//! that is continued into the solid has a kink at its surface, which is no error of the step. To take it for one fed a moving ball
//! and the fluid around it 1 to 3 % of their energy in 100 steps (row K4).
//!
//! Traces end at solid surfaces and closed sides. What comes in through an open side or an inflow has the
//! value given for it. All positions are in index space (see `grid::sample`).

use super::boundary::{Boundary, Wall};
use crate::grid::sample::{max, min};
use crate::grid::{Axis, CellField, FaceField, Grid, Lattice, VelocityLattice};
use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How values are carried along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Advection {
    /// Trace back, interpolate linearly: smooth and diffusive.
    SemiLagrangian,
    /// Trace back, interpolate with a monotone cubic: sharper, at four times the cost.
    Cubic,
    /// Two linear traces cancel the first error term; limited to the values around the foot point.
    MacCormack,
}

/// Runge–Kutta order of the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trace {
    /// Midpoint rule.
    Rk2,
    /// Ralston's third-order rule.
    Rk3,
}

/// The flow that carries, and what stops it.
#[derive(Clone, Copy)]
pub struct Flow<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides and solids.
    pub boundary: &'a Boundary,
    /// The carrying velocity, m/s.
    pub velocity: &'a FaceField,
    /// Step, s.
    pub dt: f64,
    /// The scheme.
    pub scheme: Advection,
    /// Order of the traces.
    pub trace: Trace,
}

/// Carries fields along; keeps its arrays from step to step.
///
/// The flow is traced once per cell centre. A face moves with the mean of its two cells' displacements: that is
/// second order, as the interpolation is, and a quarter of the work of tracing every face.
#[derive(Default)]
pub struct Advector {
    /// Where the cell centres come from and where they go, relative to them.
    back: Vec<DVec3>,
    forth: Vec<DVec3>,
    carried: Vec<f64>,
    range: Vec<[f64; 2]>,
}

/// Values beyond the lower and upper side along each axis; `None` continues the field.
type Outside = [[Option<f64>; 2]; 3];

impl Advector {
    /// Find where the flow takes the cell centres; what is carried afterwards moves with it.
    pub fn trace(&mut self, flow: &Flow) {
        let tracer = Tracer::new(flow);
        let dims = flow.grid.dims;
        let Self { back, forth, .. } = self;
        back.resize(flow.grid.cells(), DVec3::ZERO);
        forth.resize(flow.grid.cells(), DVec3::ZERO);
        (back.par_chunks_mut(dims[0]), forth.par_chunks_mut(dims[0]))
            .into_par_iter()
            .with_min_len(MIN_ROWS)
            .enumerate()
            .for_each(|(row, (back, forth))| {
                let start = DVec3::new(0.0, (row % dims[1]) as f64, (row / dims[1]) as f64) + 0.5;
                for (i, (back, forth)) in back.iter_mut().zip(forth).enumerate() {
                    let p = start + DVec3::X * i as f64;
                    let here = tracer.velocity.linear(p);
                    *back = tracer.displacement(p, here, -flow.dt);
                    if flow.scheme == Advection::MacCormack {
                        *forth = tracer.displacement(p, here, flow.dt);
                    }
                }
            });
    }

    /// Carry a cell field along; `entering` is its value in what comes in through a side.
    pub fn advect_cells(&mut self, flow: &Flow, before: &CellField, after: &mut CellField, entering: fn(&Wall) -> f64) {
        let outside = flow.boundary.walls.map(|sides| sides.map(|wall| Some(entering(&wall))));
        self.carry(flow, Lattice::cells(before), None, &outside, &mut after.data);
    }

    /// Carry the flow's own velocity along, into `after`.
    pub fn advect_velocity(&mut self, flow: &Flow, after: &mut FaceField) {
        for axis in Axis::ALL.into_iter().filter(|&axis| !flow.grid.is_flat(axis)) {
            let a = axis.index();
            let outside = flow.boundary.walls.map(|sides| {
                sides.map(|wall| match wall {
                    Wall::Inflow { velocity, .. } => Some(velocity[a]),
                    Wall::Open | Wall::Closed => None,
                })
            });
            self.carry(flow, Lattice::faces(flow.velocity, axis), Some(axis), &outside, &mut after.axes[a]);
        }
    }

    /// Carry the samples of one lattice, at cell centres or on the faces across `axis`.
    fn carry(&mut self, flow: &Flow, old: Lattice, axis: Option<Axis>, outside: &Outside, new: &mut [f64]) {
        let Self { back, forth, carried, range } = self;
        let (tracer, row_length) = (Tracer::new(flow), old.dims()[0]);
        let domain = tracer.domain;
        if flow.scheme != Advection::MacCormack {
            new.par_chunks_mut(row_length).with_min_len(MIN_ROWS).enumerate().for_each(|(row, values)| {
                let feet = tracer.ends(&old, axis, row, back);
                for (i, value) in values.iter_mut().enumerate() {
                    let foot = feet.at(i);
                    *value = entering(foot, domain, outside).unwrap_or_else(|| match flow.scheme {
                        Advection::Cubic => old.cubic(foot),
                        _ => old.linear(foot),
                    });
                }
            });
            return;
        }

        // Back: the value at the foot and the range it must stay in; what comes from outside is not corrected.
        carried.resize(new.len(), 0.0);
        range.resize(new.len(), [0.0; 2]);
        (carried.par_chunks_mut(row_length), range.par_chunks_mut(row_length))
            .into_par_iter()
            .with_min_len(MIN_ROWS)
            .enumerate()
            .for_each(|(row, (values, ranges))| {
                let feet = tracer.ends(&old, axis, row, back);
                for (i, (value, range)) in values.iter_mut().zip(ranges).enumerate() {
                    let foot = feet.at(i);
                    if let Some(given) = entering(foot, domain, outside) {
                        (*value, *range) = (given, [given; 2]);
                    } else {
                        let (mid, low, high) = old.linear_with_range(foot);
                        (*value, *range) = (mid, [low, high]);
                    }
                }
            });

        // Forth: what the carried values make of the start shows twice the error.
        let carried = old.with_data(carried);
        (new.par_chunks_mut(row_length), range.par_chunks(row_length))
            .into_par_iter()
            .with_min_len(MIN_ROWS)
            .enumerate()
            .for_each(|(row, (values, ranges))| {
                let samples = row * row_length..(row + 1) * row_length;
                let (starts, carried_here) = (&old.data()[samples.clone()], &carried.data()[samples]);
                let heads = tracer.ends(&old, axis, row, forth);
                for i in 0..row_length {
                    let head = heads.at(i);
                    let part = axis.map_or(1.0, |axis| part_beside(tracer.face_clearance(axis, i, row)));
                    if part == 0.0 {
                        values[i] = carried_here[i];
                        continue;
                    }
                    let again = if is_inside(head, domain) { carried.linear(head) } else { starts[i] };
                    let corrected = carried_here[i] + 0.5 * part * (starts[i] - again);
                    values[i] = min(max(corrected, ranges[i][0]), ranges[i][1]);
                }
            });
    }
}

/// How far, in cells, a trace may go into a solid: enough that samples on its surface are not stuck there.
/// A choice: ARCHITECTURE.md, *Solids continue the fluid*, tells what a hard stop would do.
const SKIN: f64 = 0.1;

/// How near to a solid, in cells, a trace back reads the kink at its surface.
/// Interpolation reads that far. Corrected there, the energy of row K4 grew.
const KINK: f64 = 1.0;

/// Over so many cells more the correction sets in. A choice: faces before a solid in a plane of the grid are just 1 away, and with a step there round-off decided
/// on which sides of a box they were corrected, which pushed it aside.
const SETS_IN: f64 = 0.25;

/// The part of the correction that is made so far from a solid, in cells.
#[inline(always)]
fn part_beside(clearance: f64) -> f64 {
    ((clearance - KINK) / SETS_IN).clamp(0.0, 1.0)
}

/// Rows of samples handed to a thread at once.
const MIN_ROWS: usize = 16;

#[inline(always)]
fn is_inside(p: DVec3, domain: DVec3) -> bool {
    (p.x >= 0.0) & (p.y >= 0.0) & (p.z >= 0.0) & (p.x <= domain.x) & (p.y <= domain.y) & (p.z <= domain.z)
}

/// The value given for what comes from beyond a side, if `foot` lies there and the side has one.
#[inline(always)]
fn entering(foot: DVec3, domain: DVec3, outside: &Outside) -> Option<f64> {
    if is_inside(foot, domain) {
        return None;
    }
    (0..3).find_map(|a| match foot[a] {
        x if x < 0.0 => outside[a][0],
        x if x > domain[a] => outside[a][1],
        _ => None,
    })
}

/// Follows the flow from a point over some time.
struct Tracer<'a> {
    velocity: VelocityLattice<'a>,
    distance: Option<Lattice<'a>>,
    cells: [usize; 3],
    domain: DVec3,
    per_cell: f64,
    order: Trace,
    /// The box that traces cannot leave: unbounded towards open sides.
    low: DVec3,
    high: DVec3,
}

impl<'a> Tracer<'a> {
    fn new(flow: &Flow<'a>) -> Self {
        let domain = DVec3::from(flow.grid.dims.map(|n| n as f64));
        let bound = |side: usize, closed: DVec3, unbounded: f64| {
            DVec3::from(Axis::ALL.map(|axis| match flow.boundary.walls[axis.index()][side] {
                Wall::Closed => closed[axis.index()],
                Wall::Open | Wall::Inflow { .. } => unbounded,
            }))
        };
        Self {
            velocity: VelocityLattice::new(flow.velocity),
            distance: flow.boundary.distance.as_ref().map(Lattice::cells),
            cells: flow.grid.dims,
            domain,
            per_cell: 1.0 / flow.grid.dx,
            order: flow.trace,
            low: bound(0, DVec3::ZERO, f64::NEG_INFINITY),
            high: bound(1, domain, f64::INFINITY),
        }
    }

    /// Where the flow takes the point `p`, with velocity `k1` there, in `dt` (backwards if negative), relative to `p`.
    #[inline(always)]
    fn displacement(&self, p: DVec3, k1: DVec3, dt: f64) -> DVec3 {
        let h = dt * self.per_cell;
        let k2 = self.velocity.linear(p + 0.5 * h * k1);
        match self.order {
            Trace::Rk2 => h * k2,
            Trace::Rk3 => {
                let k3 = self.velocity.linear(p + 0.75 * h * k2);
                h / 9.0 * (2.0 * k1 + 3.0 * k2 + 4.0 * k3)
            }
        }
    }

    /// Distance from a face to the nearest solid, in cells: face `i` of a row of those across `axis`.
    #[inline(always)]
    fn face_clearance(&self, axis: Axis, i: usize, row: usize) -> f64 {
        let Some(distance) = &self.distance else { return f64::INFINITY };
        let [nx, ny, nz] = self.cells;
        let rows = if axis == Axis::Y { ny + 1 } else { ny };
        let mut below = [i, row % rows, row / rows];
        let above = [below[0].min(nx - 1), below[1].min(ny - 1), below[2].min(nz - 1)];
        below[axis.index()] = below[axis.index()].saturating_sub(1);
        let at = |[i, j, k]: [usize; 3]| distance.data()[i + nx * (j + ny * k)];
        0.5 * (at(below) + at(above))
    }

    /// Where the samples of one row of a lattice come to lie, not through solids or closed sides.
    ///
    /// `displacements` are those of the cell centres; a face takes the mean of its two cells'.
    fn ends<'b>(&'b self, lattice: &Lattice, axis: Option<Axis>, row: usize, displacements: &'b [DVec3]) -> Ends<'b>
    where
        'a: 'b,
    {
        let (dims, [nx, ny, nz]) = (lattice.dims(), self.cells);
        let [j, k] = [row % dims[1], row / dims[1]];
        let cells = |j: usize, k: usize| {
            let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
            start..start + nx
        };
        let back = |along: Axis, index: usize| if axis == Some(along) { index.saturating_sub(1) } else { index };
        Ends {
            tracer: self,
            lower: &displacements[cells(back(Axis::Y, j), back(Axis::Z, k))],
            upper: &displacements[cells(j, k)],
            clearance: self.distance.as_ref().map_or(&[][..], |distance| &distance.data()[cells(j, k)]),
            shift: usize::from(axis == Some(Axis::X)),
            start: DVec3::from(lattice.first()) + DVec3::new(0.0, j as f64, k as f64),
        }
    }
}

/// See [`Tracer::ends`].
struct Ends<'a> {
    tracer: &'a Tracer<'a>,
    /// Displacements of the cells before and behind the samples.
    lower: &'a [DVec3],
    upper: &'a [DVec3],
    clearance: &'a [f64],
    shift: usize,
    /// The first sample.
    start: DVec3,
}

impl Ends<'_> {
    // Nothing is called oftener; whether it is inlined must not depend on what else the crate has.
    #[inline(always)]
    fn at(&self, i: usize) -> DVec3 {
        let (tracer, p) = (self.tracer, self.start + DVec3::X * i as f64);
        let own = i.min(self.upper.len() - 1);
        let mean = 0.5 * (self.lower[i.saturating_sub(self.shift)] + self.upper[own]);
        let mut end = p + mean;
        if !is_inside(end, tracer.domain) {
            end = end.max(tracer.low).min(tracer.high);
        }
        // Distance changes by at most one per cell, so most paths are too short to meet anything. The margin is
        // from the cell centre to the sample, and from the end to the samples that its distance is made of.
        match &tracer.distance {
            Some(distance) if self.clearance[own] <= mean.abs().element_sum() + 0.5 + 3f64.sqrt() => {
                clip_at_solid(distance, p, end)
            }
            _ => end,
        }
    }
}

/// Shorten the path from `p` to `end` to where it meets a solid, to first order in its length.
#[inline(never)]
fn clip_at_solid(distance: &Lattice, p: DVec3, end: DVec3) -> DVec3 {
    let at_end = distance.linear(end);
    if at_end >= 0.0 {
        return end;
    }
    // A sample may itself lie inside (the centre of a cut face or cell): it may go a little deeper, not through.
    let at_start = distance.linear(p);
    let allowed = at_start.max(0.0) + SKIN;
    p + (end - p) * (allowed / (at_start - at_end).max(allowed))
}
