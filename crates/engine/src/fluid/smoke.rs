//! Smoke: density, temperature and velocity.

use super::advect::{Advection, Trace};
use crate::geometry::{Pose, Shape};
use glam::DVec3;
use serde::{Deserialize, Serialize};

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
