//! Transport along the flow: ∂q/∂t + u·∇q = 0 over one step.
//!
//! Every sample is traced back to where it came from (its *foot*) and takes the value there: Stam's
//! semi-Lagrangian step, stable for any Δt. MacCormack's variant (Selle et al. 2008) carries the result
//! forward again (to the *head*), which shows twice the error that was made, removes it, and keeps the
//! outcome within the values around the foot, so that nothing overshoots.
//!
//! Traces end at solid surfaces and closed sides. What comes in through an open side or an inflow has the
//! value given for it. All positions are in index space (see `grid::sample`).

use super::boundary::{Boundary, Wall};
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
#[derive(Default)]
pub struct Advector {
    feet: Vec<DVec3>,
    heads: Vec<DVec3>,
    carried: Vec<f64>,
    range: Vec<[f64; 2]>,
}

/// Values beyond the lower and upper side along each axis; `None` continues the field.
type Outside = [[Option<f64>; 2]; 3];

impl Advector {
    /// Carry cell fields along: each as (before, after, its value in what enters through a side).
    pub fn advect_cells(&mut self, flow: &Flow, fields: [(&CellField, &mut CellField, fn(&Wall) -> f64); 2]) {
        self.trace(flow, flow.grid.dims, [0.5; 3]);
        for (before, after, entering) in fields {
            let outside = flow.boundary.walls.map(|sides| sides.map(|wall| Some(entering(&wall))));
            self.carry(flow, Lattice::cells(before), &outside, &mut after.data);
        }
    }

    /// Carry the flow's own velocity along, into `after`.
    pub fn advect_velocity(&mut self, flow: &Flow, after: &mut FaceField) {
        for axis in Axis::ALL {
            if flow.grid.is_flat(axis) {
                continue;
            }
            let a = axis.index();
            let lattice = Lattice::faces(flow.velocity, axis);
            let outside = flow.boundary.walls.map(|sides| {
                sides.map(|wall| match wall {
                    Wall::Inflow { velocity, .. } => Some(velocity[a]),
                    Wall::Open | Wall::Closed => None,
                })
            });
            self.trace(flow, flow.grid.face_dims(axis), lattice.first());
            self.carry(flow, lattice, &outside, &mut after.axes[a]);
        }
    }

    /// Find where the samples of a lattice come from and, for MacCormack, where they go.
    fn trace(&mut self, flow: &Flow, dims: [usize; 3], first: [f64; 3]) {
        let tracer = Tracer::new(flow);
        let Self { feet, heads, .. } = self;
        feet.resize(dims.iter().product(), DVec3::ZERO);
        heads.resize(dims.iter().product(), DVec3::ZERO);
        let with_heads = flow.scheme == Advection::MacCormack;
        (feet.par_chunks_mut(dims[0]), heads.par_chunks_mut(dims[0]))
            .into_par_iter()
            .with_min_len(16)
            .enumerate()
            .for_each(|(row, (feet, heads))| {
                let start = DVec3::from(first) + DVec3::new(0.0, (row % dims[1]) as f64, (row / dims[1]) as f64);
                for (i, (foot, head)) in feet.iter_mut().zip(heads).enumerate() {
                    let p = start + DVec3::X * i as f64;
                    let here = tracer.velocity.linear(p);
                    *foot = tracer.follow(p, here, -flow.dt);
                    if with_heads {
                        *head = tracer.follow(p, here, flow.dt);
                    }
                }
            });
    }

    /// The new values of the array whose traces are in `feet` and `heads`.
    fn carry(&mut self, flow: &Flow, old: Lattice, outside: &Outside, new: &mut [f64]) {
        let Self { feet, heads, carried, range } = self;
        let domain = DVec3::from(flow.grid.dims.map(|n| n as f64));
        if flow.scheme != Advection::MacCormack {
            new.par_iter_mut().zip(feet.par_iter()).with_min_len(MIN_LEN).for_each(|(value, &foot)| {
                *value = entering(foot, domain, outside).unwrap_or_else(|| match flow.scheme {
                    Advection::Cubic => old.cubic(foot),
                    _ => old.linear(foot),
                });
            });
            return;
        }

        // Back: the value at the foot and the range it must stay in; what comes from outside is not corrected.
        carried.resize(feet.len(), 0.0);
        range.resize(feet.len(), [0.0; 2]);
        (carried.par_iter_mut(), range.par_iter_mut(), feet.par_iter()).into_par_iter().with_min_len(MIN_LEN).for_each(
            |(value, range, &foot)| match entering(foot, domain, outside) {
                Some(given) => (*value, *range) = (given, [given; 2]),
                None => {
                    let (mid, low, high) = old.linear_with_range(foot);
                    (*value, *range) = (mid, [low, high]);
                }
            },
        );

        // Forth: what the carried values make of the start shows twice the error.
        let forth = old.with_data(carried);
        (new.par_iter_mut(), old.data().par_iter(), carried.par_iter(), range.par_iter(), heads.par_iter())
            .into_par_iter()
            .with_min_len(MIN_LEN)
            .for_each(|(new, &start, &carried, &[low, high], &head)| {
                let error = if is_inside(head, domain) { 0.5 * (forth.linear(head) - start) } else { 0.0 };
                *new = (carried - error).max(low).min(high);
            });
    }
}

/// Samples handed to a thread at once.
const MIN_LEN: usize = 2048;

fn is_inside(p: DVec3, domain: DVec3) -> bool {
    p.cmpge(DVec3::ZERO).all() && p.cmple(domain).all()
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
    per_cell: f64,
    order: Trace,
    /// The box that traces cannot leave: unbounded towards open sides.
    low: DVec3,
    high: DVec3,
}

impl<'a> Tracer<'a> {
    fn new(flow: &Flow<'a>) -> Self {
        let bound = |side: usize, closed: DVec3, unbounded: f64| {
            DVec3::from(Axis::ALL.map(|axis| match flow.boundary.walls[axis.index()][side] {
                Wall::Closed => closed[axis.index()],
                Wall::Open | Wall::Inflow { .. } => unbounded,
            }))
        };
        Self {
            velocity: VelocityLattice::new(flow.velocity),
            distance: flow.boundary.distance.as_ref().map(Lattice::cells),
            per_cell: 1.0 / flow.grid.dx,
            order: flow.trace,
            low: bound(0, DVec3::ZERO, f64::NEG_INFINITY),
            high: bound(1, DVec3::from(flow.grid.dims.map(|n| n as f64)), f64::INFINITY),
        }
    }

    /// Where the flow takes the point `p`, with velocity `k1` there, in `dt` (backwards if negative), not
    /// through solids.
    #[inline(always)]
    fn follow(&self, p: DVec3, k1: DVec3, dt: f64) -> DVec3 {
        let h = dt * self.per_cell;
        let k2 = self.velocity.linear(p + 0.5 * h * k1);
        let end = match self.order {
            Trace::Rk2 => p + h * k2,
            Trace::Rk3 => {
                let k3 = self.velocity.linear(p + 0.75 * h * k2);
                p + h / 9.0 * (2.0 * k1 + 3.0 * k2 + 4.0 * k3)
            }
        };
        let end = end.max(self.low).min(self.high);
        match &self.distance {
            Some(distance) => clip_at_solid(distance, p, end),
            None => end,
        }
    }
}

/// Shorten the path from `p` to `end` to where it meets a solid, to first order in its length.
#[inline(always)]
fn clip_at_solid(distance: &Lattice, p: DVec3, end: DVec3) -> DVec3 {
    let at_end = distance.linear(end);
    if at_end >= 0.0 {
        return end;
    }
    let at_start = distance.linear(p);
    if at_start > 0.0 {
        p + (end - p) * (at_start / (at_start - at_end))
    } else if at_end < at_start {
        // A sample inside the solid, heading further in.
        p
    } else {
        end
    }
}
