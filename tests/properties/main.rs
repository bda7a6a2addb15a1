//! What must hold whatever the scene: adjointness, symmetry, independence of threads and of order, restart.

#[path = "../support/mod.rs"]
mod support;

mod adjointness;
mod bodies;
mod coupled_step;
mod determinism;
mod solvers;
mod symmetry;
mod water;
