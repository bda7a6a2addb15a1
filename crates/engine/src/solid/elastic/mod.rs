//! Elastic bodies of tetrahedra: linear corotational elasticity with implicit steps [Müller & Gross 2004], \[ZB17, §4\].
//!
//! `M ẍ + D ẋ + K (x − x₀) = f` \[ZB17, eq. 3\] with lumped mass M, K turned with every element, and D = τm M + τk K. A body here knows
//! nothing of the fluid: it predicts its velocity (eq. 6 without pressure) and answers impulses, with elasticity and damping over the
//! step included.
//!
//! Unlike \[ZB17\]: masses have the solid's moments of inertia (lumped.rs), what nothing holds turns along arcs instead of by eq. 6 and 34 (frame.rs), and
//! elements resist collapse (barrier.rs).
//!
//! What it does not do: strain hardening, plasticity, fracture, or a cure for the locking of linear tetrahedra at ν → ½ (docs/methods/elastic.md).

mod barrier;
mod body;
mod element;
mod error;
mod frame;
mod graph;
mod lumped;
mod material;
mod measure;
mod rotation;
mod scene;

pub use body::{ElasticBody, ElasticState, Pin, Prediction};
pub use element::{Element, Warped};
pub use error::ElasticError;
pub(crate) use frame::inverse_inertia;
pub use material::Material;
pub use rotation::{Rotation, nearest_rotation};
pub use scene::{Elastic, Hold};
