//! Bathtub's physics: grids, solvers, fluids, solids and what couples them. No terminal, no files.
//!
//! A [`World`](world::World) is made from [`WorldParams`](world::WorldParams) and stepped; every step returns a
//! [`StepReport`](report::StepReport), and [`World::state`](world::World::state) is all that changes. SI units everywhere; y is up by convention,
//! gravity is whatever the parameters say. What is not said has the default of scene files.
//!
//! ```
#![doc = include_str!("../examples/falling_ball.rs")]
//! ```
//!
//! ```
#![doc = include_str!("../examples/smoke_and_bar.rs")]
//! ```
//!
//! A kind of solid that the engine does not know is a [`Family`](solid::Family): it tells how its surfaces follow its freedoms and how these answer, and
//! [`World::with`](world::World::with) couples it.
//!
//! For speed, build with the instructions of the machine: kernels are written for 256-bit vectors, which `x86-64-v3` has. A crate that depends on this one says so
//! in its own `.cargo/config.toml`, as this workspace does: `[target.x86_64-unknown-linux-gnu] rustflags = ["-C", "target-cpu=x86-64-v3"]`.

mod clock;
pub mod coupling;
pub mod cut;
pub mod fluid;
pub mod geometry;
pub mod grid;
pub mod prelude;
pub mod report;
pub mod solid;
pub mod solve;
pub mod world;
