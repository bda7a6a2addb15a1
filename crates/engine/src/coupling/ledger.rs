//! Where momentum goes in a coupled solve (row K1): what fluid, solids and walls got must add up to nothing.
//!
//! What is counted is what was done: the velocities of the fluid before and after, and the impulses that solids were given, not the pressures that
//! were to do it. A wrong row of B shows, and so does a velocity that was not changed as it should. Contact and joints have no part in it.
//!
//! Whatever does not answer has no velocity that would tell, and takes what the pressure does to it: closed sides, scripted solids, what holds
//! vertices, and the floor beneath a film of fluid.

use super::immersed::Immersed;
use super::interface::SurfaceRows;
use super::monolithic::SurfacePush;
use crate::fluid::boundary::Boundary;
use crate::fluid::projection::theta;
use crate::geometry::SurfaceId;
use crate::grid::{
    Axis, CellField, FaceField, Grid,
    parallel::{Sums, sum_rows},
    strides,
};
use glam::DVec3;
use std::collections::BTreeMap;

/// Momentum of the fluid is known to its round-off: this part of what moves counts as exchanged.
const MOVING: f64 = 1e-3;

/// What the fluid has on the faces that pressure drives, in units of ρ dx³, m/s: momentum, and the sum of its sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    momentum: DVec3,
    size: f64,
}

/// What the fluid has now. Where the surface of a liquid crosses a face, only the part on its side counts: that is what the pressure there moves.
pub fn carried(grid: &Grid, boundary: &Boundary, liquid: Option<&CellField>, velocity: &FaceField) -> Carried {
    let mut carried = Carried::default();
    for axis in Axis::ALL {
        let (a, dims, stride) = (axis.index(), grid.face_dims(axis), strides(grid.dims)[axis.index()]);
        let (open, free, u) = (&boundary.open.axes[a], &boundary.free.axes[a], &velocity.axes[a]);
        let Sums([momentum, size]) = sum_rows(dims, |j, k| {
            let mut sums = Sums::default();
            for i in 0..dims[0] {
                let (face, at) = (i + dims[0] * (j + dims[1] * k), [i, j, k][a]);
                if !free[face] {
                    continue;
                }
                let part = match liquid {
                    Some(distance) if at > 0 && at < grid.dims[a] => {
                        let cell = i + grid.dims[0] * (j + grid.dims[1] * k);
                        across(distance.data[cell - stride], distance.data[cell])
                    }
                    _ => 1.0,
                };
                let own = part * open[face] * u[face];
                sums = Sums([sums.0[0] + own, sums.0[1] + own.abs()]);
            }
            sums
        });
        carried.momentum[a] = momentum;
        carried.size += size;
    }
    carried
}

/// How much of the way between two cells is liquid, as far as pressure is concerned.
fn across(below: f64, above: f64) -> f64 {
    match (below < 0.0, above < 0.0) {
        (true, false) => theta(below, above),
        (false, true) => theta(above, below),
        _ => 1.0,
    }
}

/// What a solve did.
pub struct Exchange<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// kg/m³.
    pub rho: f64,
    /// Openings.
    pub boundary: &'a Boundary,
    /// The solids.
    pub immersed: &'a Immersed,
    /// p = Δt·pressure/(ρ dx), m/s.
    pub pressure: &'a CellField,
    /// The fluid before and after.
    pub carried: [Carried; 2],
    /// What fluid on faces that solids take along has gained, in units of ρ dx³, m/s.
    pub taken_along: DVec3,
    /// What the solids got.
    pub pushes: &'a [SurfacePush],
}

impl Exchange<'_> {
    /// What is left of all that was exchanged, relative to it.
    pub fn error(&self, rows: &BTreeMap<SurfaceId, SurfaceRows>) -> f64 {
        let (p, unit) = (&self.pressure.data, self.rho * self.grid.dx.powi(3));
        let [before, after] = self.carried;
        let mut net = after.momentum - before.momentum + self.taken_along;
        net += self.pushes.iter().map(|push| push.impulse[0] - push.lift[0]).sum::<DVec3>() / unit;
        for (cell, area) in rows.values().flat_map(|rows| &rows.unmet) {
            net -= p[*cell as usize] * *area;
        }
        for (cell, area) in self.immersed.areas(|surface| rows.contains_key(&surface)) {
            net -= p[cell] * area / (self.grid.dx * self.grid.dx);
        }
        for face in self.boundary.given.iter().filter(|face| face.body.is_none_or(|body| !rows.contains_key(&body))) {
            let [lower, upper] = self.grid.cells_beside(face.axis, face.index).map(|cell| cell.map_or(0.0, |c| p[c]));
            net += self.boundary.open.axes[face.axis.index()][face.index] * (lower - upper) * face.axis.unit();
        }
        let all = self.pushed() + MOVING * (before.size + after.size);
        if all > 0.0 { net.abs().element_sum() / all } else { 0.0 }
    }

    /// Σ |open Δp| over all faces.
    fn pushed(&self) -> f64 {
        let (grid, p) = (self.grid, &self.pressure.data);
        let of_axis = |axis: Axis| {
            let (a, dims, stride) = (axis.index(), grid.face_dims(axis), strides(grid.dims)[axis.index()]);
            let open = &self.boundary.open.axes[a];
            sum_rows(dims, |j, k| {
                let of_face = |i: usize| {
                    let (at, cell) = ([i, j, k][a], i + grid.dims[0] * (j + grid.dims[1] * k));
                    let upper = if at < grid.dims[a] { p[cell] } else { 0.0 };
                    let lower = if at > 0 { p[cell - stride] } else { 0.0 };
                    (open[i + dims[0] * (j + dims[1] * k)] * (lower - upper)).abs()
                };
                (0..dims[0]).map(of_face).sum::<f64>()
            })
        };
        Axis::ALL.into_iter().map(of_axis).sum()
    }
}
