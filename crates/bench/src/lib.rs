//! Measurements of the engine: beside known solutions, the machine's limits and other programs.

pub mod beside_plain;
mod blender;
pub mod coupling;
pub mod elastic;
mod error;
pub mod experiments;
pub mod machine;
pub mod pressure;
pub mod problems;
pub mod reduced;
pub mod smoke;
mod timing;
pub mod water;
pub mod worlds;

pub use error::BenchError;
