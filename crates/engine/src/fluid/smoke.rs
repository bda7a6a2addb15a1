//! Smoke: what it is made of, where it comes from, how it fades.

use super::Step;
use super::advect::{Advection, Advector, Flow, Trace};
use super::boundary::{Boundary, Wall};
use super::forces::{Confinement, add_buoyancy};
use super::noise::noise;
use crate::clock::Stages;
use crate::geometry::{Pose, Shape, SignedDistance};
use crate::grid::{Axis, CellField, FaceField, Grid, unravel};
use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What kind of smoke and how it is computed.
#[derive(Clone, Debug)]
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
    /// What emits smoke.
    pub sources: Vec<Source>,
}

impl Default for SmokeParams {
    /// Air under gravity, in which hot smoke rises; nothing emits any.
    fn default() -> Self {
        Self {
            rho: 1.2,
            gravity: DVec3::new(0.0, -9.81, 0.0),
            weight: 0.0,
            expansion: 1.0 / 293.0,
            acceleration: DVec3::ZERO,
            confinement: 0.0,
            dissipation: 0.0,
            cooling: 0.0,
            advection: Advection::MacCormack,
            trace: Trace::Rk3,
            sources: Vec::new(),
        }
    }
}

/// What the air carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmokeState {
    /// Smoke density.
    pub density: CellField,
    /// Temperature above ambient, K.
    pub temperature: CellField,
}

impl SmokeState {
    /// Clear air at ambient temperature.
    pub fn new(grid: &Grid) -> Self {
        Self { density: CellField::new(grid, 0.0), temperature: CellField::new(grid, 0.0) }
    }
}

/// Moves smoke; keeps its arrays from step to step.
pub(crate) struct Smoke {
    params: SmokeParams,
    emitters: Vec<Emitter>,
    advector: Advector,
    confinement: Confinement,
}

impl Smoke {
    /// Find what the sources reach.
    pub fn new(params: &SmokeParams, grid: &Grid) -> Self {
        Self {
            params: params.clone(),
            emitters: params.sources.iter().map(|source| Emitter::new(source, grid)).collect(),
            advector: Advector::default(),
            confinement: Confinement::default(),
        }
    }

    /// Carry velocity, density and temperature along with the divergence-free velocity of the last step.
    pub(crate) fn advect(
        &mut self,
        step: &Step,
        (velocity, smoke): (&FaceField, &SmokeState),
        (next_velocity, next): (&mut FaceField, &mut SmokeState),
        clock: &mut Stages,
    ) {
        let SmokeParams { advection: scheme, trace, .. } = self.params;
        let flow = Flow { grid: step.grid, boundary: step.boundary, velocity, dt: step.dt, scheme, trace };
        self.advector.trace(&flow);
        clock.lap("trace");
        self.advector.advect_velocity(&flow, next_velocity);
        clock.lap("advect velocity");
        self.advector.advect_cells(&flow, &smoke.density, &mut next.density, Wall::density);
        self.advector.advect_cells(&flow, &smoke.temperature, &mut next.temperature, Wall::temperature);
        clock.lap("advect smoke");
    }

    /// Everything but pressure: sources, fading, buoyancy, confinement → u*.
    pub fn predict(&mut self, step: &Step, velocity: &mut FaceField, smoke: &mut SmokeState) {
        let (params, dt) = (&self.params, step.dt);
        let SmokeState { density, temperature } = smoke;
        for emitter in &self.emitters {
            emitter.emit(step.time, density, temperature, velocity);
        }
        fade(density, params.dissipation, dt);
        fade(temperature, params.cooling, dt);
        let (weight, lift) = ((&*density, params.weight), (&*temperature, params.expansion));
        add_buoyancy(velocity, weight, lift, params.gravity, params.acceleration, dt);
        if params.confinement > 0.0 {
            self.confinement.add(step.grid, velocity, params.confinement, dt);
        }
    }

    /// Continue the new fields into the solids, for the traces of the next step.
    pub fn extend(&self, boundary: &Boundary, velocity: &mut FaceField, smoke: &mut SmokeState) {
        boundary.extend_velocity(velocity);
        boundary.extend_cells(&mut smoke.density);
        boundary.extend_cells(&mut smoke.temperature);
    }

    /// Fastest velocity that a source sets, m/s.
    pub fn source_speed(&self) -> f64 {
        self.emitters.iter().map(Emitter::speed).fold(0.0, f64::max)
    }
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
    /// How much all of that varies in space and time, as a fraction: 0 is steady.
    pub flicker: f64,
    /// Makes this source's flicker its own.
    pub seed: u64,
}

impl Source {
    /// Smoke of density 1 at ambient temperature that comes out of a shape around the origin, always.
    pub fn new(name: &str, shape: Shape) -> Self {
        Self {
            name: name.into(),
            shape,
            pose: Pose::IDENTITY,
            start: 0.0,
            end: f64::INFINITY,
            density: 1.0,
            temperature: 0.0,
            velocity: None,
            flicker: 0.0,
            seed: 0,
        }
    }

    /// The same around another point, m.
    pub fn at(self, position: impl Into<DVec3>) -> Self {
        Self { pose: Pose { position: position.into(), ..self.pose }, ..self }
    }

    /// The same, hotter than the air by so much, K.
    pub fn hot(self, temperature: f64) -> Self {
        Self { temperature, ..self }
    }

    /// The same, blown out with a velocity, m/s.
    pub fn blowing(self, velocity: impl Into<DVec3>) -> Self {
        Self { velocity: Some(velocity.into()), ..self }
    }
}

/// Features of the flicker across the source's smallest width.
/// A choice of looks.
const FLICKER_FEATURES: f64 = 3.0;

/// Features of the flicker per second.
/// A choice of looks.
const FLICKER_RATE: f64 = 8.0;

/// The cells and faces a source reaches.
struct Emitter {
    source: Source,
    cells: Vec<ReachedSample>,
    faces: [Vec<ReachedSample>; 3],
}

/// A sample within a source.
struct ReachedSample {
    index: usize,
    /// The part of its neighbourhood that the source fills.
    share: f64,
    /// Where it is, in features of the flicker.
    place: DVec3,
}

impl Emitter {
    /// Find what `source` reaches.
    fn new(source: &Source, grid: &Grid) -> Self {
        // Share of a cell-sized neighbourhood inside the shape, from the distance of its centre.
        let distance = SignedDistance::new(&source.shape);
        let share = |p: DVec3| (0.5 - distance.at(source.pose.invert(p)) / grid.dx).clamp(0.0, 1.0);
        let feature = source.shape.bounds().size().min_element() / FLICKER_FEATURES;
        let reached = |dims: [usize; 3], position: &(dyn Fn([usize; 3]) -> DVec3 + Sync)| -> Vec<ReachedSample> {
            let reach = |index: usize| {
                let p = position(unravel(dims, index));
                let share = share(p);
                (share > 0.0).then(|| ReachedSample { index, share, place: (p - source.pose.position) / feature })
            };
            (0..dims.iter().product()).into_par_iter().filter_map(reach).collect()
        };
        let faces = Axis::ALL.map(|axis| match source.velocity {
            Some(_) if !grid.is_flat(axis) => reached(grid.face_dims(axis), &|at| grid.face_centre(axis, at)),
            _ => Vec::new(),
        });
        Self { source: source.clone(), cells: reached(grid.dims, &|at| grid.cell_centre(at)), faces }
    }

    /// Raise density and temperature to the source's values and set its velocity, if active at `time`.
    fn emit(&self, time: f64, density: &mut CellField, temperature: &mut CellField, velocity: &mut FaceField) {
        let source = &self.source;
        if time < source.start || time >= source.end {
            return;
        }
        let strength = |at: &ReachedSample| {
            let [x, y, z] = at.place.to_array();
            match source.flicker {
                0.0 => 1.0,
                flicker => 1.0 + flicker * noise([x, y, z, FLICKER_RATE * time], source.seed),
            }
        };
        for at in &self.cells {
            let part = at.share * strength(at);
            let (density, temperature) = (&mut density.data[at.index], &mut temperature.data[at.index]);
            *density = density.max(part * source.density);
            *temperature = temperature.max(part * source.temperature);
        }
        let Some(target) = source.velocity else { return };
        for axis in Axis::ALL {
            for at in &self.faces[axis.index()] {
                let u = &mut velocity.axes[axis.index()][at.index];
                *u += at.share * (target[axis.index()] * strength(at) - *u);
            }
        }
    }

    /// Fastest velocity the source sets, m/s.
    fn speed(&self) -> f64 {
        self.source.velocity.map_or(0.0, |v| v.abs().max_element() * (1.0 + self.source.flicker))
    }
}

/// Let a quantity fade at `rate` (1/s) over `dt`: q ← q e^{−rate·Δt}.
fn fade(field: &mut CellField, rate: f64, dt: f64) {
    if rate > 0.0 {
        let factor = (-rate * dt).exp();
        field.data.par_iter_mut().for_each(|q| *q *= factor);
    }
}
