//! Bathtub's physics: grids, solvers, fluids, solids and what couples them. No terminal, no files.
//!
//! SI units everywhere; y is up by convention, gravity is whatever the scene says.

mod clock;
pub mod coupling;
pub mod cut;
pub mod fluid;
pub mod geometry;
pub mod grid;
pub mod report;
pub mod solid;
pub mod solve;
pub mod world;
