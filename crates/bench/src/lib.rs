//! Measurements of the engine beside the machine's limits and other programs.

pub mod machine;
pub mod pressure;
pub mod problems;
