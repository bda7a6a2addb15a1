//! Where fluids and solids meet; the only modules that know both.

pub mod contact;
mod dense;
pub mod elastic;
pub mod family;
mod film;
mod folds;
pub mod immersed;
pub mod incompatible;
pub mod interface;
pub mod leaning;
mod ledger;
pub mod monolithic;
pub mod rigid;
mod sparse;
pub mod stop;
mod vertices;

use crate::grid::CellField;
use glam::DVec3;

/// The fluid that solids meet.
#[derive(Clone, Copy)]
pub struct Medium<'a> {
    /// kg/m³.
    pub rho: f64,
    /// Distance from the surface of a liquid, negative inside; none of a fluid that is everywhere.
    pub liquid: Option<&'a CellField>,
    /// What its weight added to all of u*, m/s.
    pub gain: DVec3,
}

impl Medium<'_> {
    /// A fluid without weight, everywhere.
    pub fn weightless(rho: f64) -> Self {
        Self { rho, liquid: None, gain: DVec3::ZERO }
    }

    /// Whether it is in a cell.
    pub fn is_in(&self, cell: usize) -> bool {
        self.liquid.is_none_or(|distance| distance.data[cell] < 0.0)
    }
}
