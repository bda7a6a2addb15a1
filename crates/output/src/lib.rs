//! What a run leaves on disk: volumes, meshes, pictures, statistics, checkpoints.

pub mod atomic;
pub mod checkpoint;
pub mod frame;
pub mod inventory;
pub mod picture;
pub mod ply;
pub mod render;
pub mod run_dir;
pub mod stats;
pub mod surface;
pub mod vdb;
