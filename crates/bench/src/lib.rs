//! Measurements of the engine beside the machine's limits and other programs.

pub mod problems;
