//! Where fluids and solids meet; the only modules that know both.

pub mod contact;
pub mod elastic;
mod folds;
pub mod immersed;
pub mod rigid;
pub mod stop;
mod vertices;
