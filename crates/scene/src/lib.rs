//! Scene files: TOML → a validated scene → what the engine runs.
//!
//! [`load`] is the only way in. A scene passes four gates, each in its own file:
//!
//! 1. `document`: bytes → a tree of values, each knowing where it was written (a place in the file, or a `--set`).
//! 2. `schema`: the tree against the JSON schema derived from the types of [`mod@file`]: unknown and missing keys, wrong
//!    types, numbers out of range. The schema is the one statement of these rules; `bathtub schema` prints it, the
//!    reference page is made from it.
//! 3. serde: the tree → [`SceneFile`], defaults filled in. What is written here is the *effective* scene.
//! 4. `build`: the rules between keys, meshes, the domain → [`Scene`], whose `params` start a `World`.
//!
//! Every refusal is a [`SceneError`]: one line with file, line, column, key, value, limit and what to do.

mod assets;
mod bodies;
mod build;
mod document;
mod elastic;
mod error;
pub mod file;
mod fill;
mod hash;
mod limits;
mod memory;
mod overlaps;
mod overrides;
mod pictures;
mod placement;
mod reference;
mod regions;
mod rigid;
mod schema;
mod smoke;
mod tetrahedra;
mod water;

pub use assets::MeshAsset;
pub use build::{LoadOptions, Scene, load};
pub use error::{ErrorKind, SceneError, one_line, short};
pub use file::SceneFile;
pub use memory::{Contents, Memory, available_memory};
pub use reference::reference_page;
pub use schema::json_schema;
pub use water::Filling;
