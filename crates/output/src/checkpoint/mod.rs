//! Checkpoints: one file from which a run continues to the same bits.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | magic |
//! | 4 | format version, little-endian like everything else |
//! | 4 | length of the header, H |
//! | 8 | length of the whole file |
//! | H | header: build id, scene hash, thread policy, step, and the section table (name, length, BLAKE3 of each) |
//! | … | the sections, in the order of the table |
//! | 32 | BLAKE3 of all bytes before the sections |
//!
//! Each section's hash stands in the header and the header's in the footer, so every byte is covered and the file
//! is complete exactly when the footer, which is written last, agrees. What sections mean is not the container's
//! business; `state` maps the engine's state to them, `generations` keeps the last few files of a run.

mod container;
mod generations;
mod state;

pub use container::{Checkpoint, CheckpointError, FORMAT_VERSION, Identity, read, write};
pub(crate) use generations::checkpoint_step;
pub use generations::{KEPT, Latest, discard_after, latest_valid, list, save};
pub use state::{from_sections, state_hash, state_of, to_sections};
