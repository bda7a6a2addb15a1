//! Where fluids and solids meet; the only modules that know both.

pub mod contact;
pub mod elastic;
mod folds;
pub mod immersed;
pub mod incompatible;
pub mod rigid;
mod vertices;
