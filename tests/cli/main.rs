//! The command from outside: bad input gets its message and exit code, a run leaves its files.
//!
//! Row numbers are those of the fault matrix in the validation catalogue.

mod breakdown;
mod domain;
mod elastic;
mod forged;
mod incompatible;
mod limits;
mod mesh_files;
mod messages;
mod pages;
mod pictures;
mod reproduce;
mod rigid;
mod rigid_breakdown;
mod run_directory;
mod scene_files;
mod signals;
mod support;
mod water;
