//! Reduced bodies: elastic ones that move as a whole and in a few modes \[LJF16\].
//!
//! Modes are found once for a shape (modes.rs), what copies share of it is a [`Basis`], a [`ReducedBody`] is a place, a turn and a few numbers that
//! swing. To the fluid it is six freedoms and as many more as it has modes (family.rs).

mod basis;
mod body;
mod drive;
mod family;
mod modes;

pub use basis::{Basis, Moments};
pub use body::{ReducedBody, ReducedState};
pub use drive::{Drive, Wave};
pub use family::{BodyCopy, Reduced, ReducedBodies};
pub use modes::Modes;
