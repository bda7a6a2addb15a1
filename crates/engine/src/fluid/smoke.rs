//! Smoke: what it is made of, where it comes from, how it fades.

use super::advect::{Advection, Trace};
use crate::geometry::{Pose, Shape, SignedDistance};
use crate::grid::{Axis, CellField, FaceField, Grid};
use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What kind of smoke and how it is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmokeParams {
    /// Density of the air, kg/m³.
    pub rho: f64,
    /// m/s².
    pub gravity: DVec3,
    /// Weight of smoke of density 1, as a fraction of the air's: acceleration `gravity · weight · density`.
    pub weight: f64,
    /// Buoyancy per kelvin: acceleration `−gravity · expansion · temperature` (1/T₀ for an ideal gas).
    pub expansion: f64,
    /// Uniform acceleration of all fluid, m/s² (a shaken box, or gravity in a closed one).
    pub acceleration: DVec3,
    /// Vorticity confinement strength ε, dimensionless.
    pub confinement: f64,
    /// Rate at which density fades, 1/s.
    pub dissipation: f64,
    /// Rate at which temperature falls towards ambient, 1/s.
    pub cooling: f64,
    /// For velocity, density and temperature.
    pub advection: Advection,
    /// For the traces.
    pub trace: Trace,
}

/// A region that emits smoke.
#[derive(Clone, Debug)]
pub struct Source {
    /// Unique name.
    pub name: String,
    /// Region, in its own frame.
    pub shape: Shape,
    /// Where the region is.
    pub pose: Pose,
    /// Active from this time, s.
    pub start: f64,
    /// Active until this time, s.
    pub end: f64,
    /// Smoke density kept up inside while active.
    pub density: f64,
    /// Temperature above ambient kept up inside, K.
    pub temperature: f64,
    /// Velocity kept up inside, m/s, if any.
    pub velocity: Option<DVec3>,
}

/// The cells and faces a source reaches, with the share of each that it fills.
pub struct Emitter {
    start: f64,
    end: f64,
    density: f64,
    temperature: f64,
    velocity: Option<DVec3>,
    cells: Vec<(usize, f64)>,
    faces: [Vec<(usize, f64)>; 3],
}

impl Emitter {
    /// Find what `source` reaches.
    pub fn new(source: &Source, grid: &Grid) -> Self {
        // Share of a cell-sized neighbourhood inside the shape, from the distance of its centre.
        let distance = SignedDistance::new(&source.shape);
        let share = |p: DVec3| (0.5 - distance.at(source.pose.invert(p)) / grid.dx).clamp(0.0, 1.0);
        let reached = |dims: [usize; 3], place: &(dyn Fn([usize; 3]) -> DVec3 + Sync)| -> Vec<(usize, f64)> {
            (0..dims.iter().product())
                .into_par_iter()
                .map(|i| (i, share(place([i % dims[0], i / dims[0] % dims[1], i / (dims[0] * dims[1])]))))
                .filter(|&(_, share)| share > 0.0)
                .collect()
        };
        let faces = Axis::ALL.map(|axis| match source.velocity {
            Some(_) if !grid.is_flat(axis) => reached(grid.face_dims(axis), &|at| grid.face_centre(axis, at)),
            _ => Vec::new(),
        });
        Self {
            start: source.start,
            end: source.end,
            density: source.density,
            temperature: source.temperature,
            velocity: source.velocity,
            cells: reached(grid.dims, &|at| grid.cell_centre(at)),
            faces,
        }
    }

    /// Raise density and temperature to the source's values and set its velocity, if active at `time`.
    pub fn emit(&self, time: f64, density: &mut CellField, temperature: &mut CellField, velocity: &mut FaceField) {
        if time < self.start || time >= self.end {
            return;
        }
        for &(cell, share) in &self.cells {
            density.data[cell] = density.data[cell].max(share * self.density);
            temperature.data[cell] = temperature.data[cell].max(share * self.temperature);
        }
        if let Some(target) = self.velocity {
            for axis in Axis::ALL {
                for &(face, share) in &self.faces[axis.index()] {
                    let u = &mut velocity.axes[axis.index()][face];
                    *u += share * (target[axis.index()] - *u);
                }
            }
        }
    }

    /// Fastest velocity the source sets, m/s.
    pub fn speed(&self) -> f64 {
        self.velocity.map_or(0.0, |v| v.abs().max_element())
    }
}

/// Let a quantity fade at `rate` (1/s) over `dt`: q ← q e^{−rate·Δt}.
pub fn fade(field: &mut CellField, rate: f64, dt: f64) {
    if rate > 0.0 {
        let factor = (-rate * dt).exp();
        field.data.par_iter_mut().for_each(|q| *q *= factor);
    }
}
