//! Fluids: what is carried, what pushes it, and the projection that keeps its volume.

pub mod advect;
pub mod boundary;
pub mod forces;
mod noise;
pub mod projection;
pub mod smoke;
