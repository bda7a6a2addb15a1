//! Closed forms and exact discrete references; row names are those of docs/verification.md.

#[path = "../support/mod.rs"]
mod support;

mod advection;
mod cut_cells;
mod hydrostatics;
mod leaks;
mod slip;
