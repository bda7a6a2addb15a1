//! Fluids.

pub mod smoke;
