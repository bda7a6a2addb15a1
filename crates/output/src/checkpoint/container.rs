//! The container: named sections of bytes with checksums, read with suspicion.

use bathtub_engine::world::StateError;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Version of the layout described in the parent module, and of the sections' encoding.
pub const FORMAT_VERSION: u32 = 7;

/// The first byte is no text, and a line-end conversion breaks the rest.
const MAGIC: [u8; 8] = *b"\x89BTUB\r\n\x1a";
const PREAMBLE: usize = 24;
const HASH: usize = 32;

/// What a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Version and commit of the engine that wrote it.
    pub build: String,
    /// BLAKE3 of what defines the physics of the scene.
    pub scene_hash: [u8; 32],
    /// What the bits depend on: `deterministic` promises the same for any number of threads.
    pub thread_policy: String,
}

/// A checkpoint in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Who wrote it, for which scene.
    pub identity: Identity,
    /// Steps done.
    pub step: u64,
    /// Name and content of each section.
    pub sections: Vec<(String, Vec<u8>)>,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It could not be read or written at all.
    #[error(transparent)]
    File(#[from] crate::atomic::FileError),
    /// The first bytes are not a checkpoint's.
    #[error("not a Bathtub checkpoint: wrong magic number")]
    Magic,
    /// Another version of the format.
    #[error(
        "the checkpoint has format version {found}, this build reads version {expected}; resume it with the build that wrote it"
    )]
    Version {
        /// In the file.
        found: u32,
        /// In this build.
        expected: u32,
    },
    /// Too short or too long.
    #[error("the checkpoint is cut off or padded: {found} bytes of {expected}")]
    Length {
        /// According to the file.
        expected: u64,
        /// On disk.
        found: u64,
    },
    /// The header does not match the footer.
    #[error("the checkpoint's header or footer is damaged")]
    Header,
    /// A section does not match its checksum.
    #[error("the checkpoint's section \"{name}\" is damaged")]
    Section {
        /// Which.
        name: String,
    },
    /// Sections are intact, but not what the engine needs.
    #[error("the checkpoint's section \"{name}\" {problem}")]
    Content {
        /// Which.
        name: String,
        /// `is missing`, `does not decode`, …
        problem: String,
    },
    /// They decode to a state that cannot be one of the scene.
    #[error("the checkpoint holds no state of this scene: {0}")]
    State(#[from] StateError),
    /// It belongs to another scene.
    #[error(
        "the checkpoint belongs to another scene (hash {found}, this scene has {expected}); use another --out or --overwrite"
    )]
    OtherScene {
        /// In the file, shortened.
        found: String,
        /// Of the scene, shortened.
        expected: String,
    },
    /// It was written under another promise about threads.
    #[error("the checkpoint was written with thread policy \"{found}\", this run uses \"{expected}\"")]
    OtherThreadPolicy {
        /// In the file.
        found: String,
        /// Of the run.
        expected: String,
    },
    /// There is none to resume from.
    #[error("no usable checkpoint in {directory}{}", if skipped.is_empty() { String::new() } else { format!(": {skipped}") })]
    None {
        /// Where.
        directory: String,
        /// Files that were there, and what is wrong with them.
        skipped: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    identity: Identity,
    step: u64,
    sections: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    length: u64,
    hash: [u8; HASH],
}

/// Write a checkpoint.
pub fn write(out: &mut impl Write, checkpoint: &Checkpoint) -> io::Result<()> {
    let entry = |(name, bytes): &(String, Vec<u8>)| Entry {
        name: name.clone(),
        length: bytes.len() as u64,
        hash: *blake3::hash(bytes).as_bytes(),
    };
    let sections: Vec<Entry> = checkpoint.sections.par_iter().map(entry).collect();
    let content: u64 = sections.iter().map(|s| s.length).sum();
    let header = Header { identity: checkpoint.identity.clone(), step: checkpoint.step, sections };
    let header = postcard::to_stdvec(&header).expect("a header of plain values always encodes");

    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    head.extend_from_slice(&(header.len() as u32).to_le_bytes());
    head.extend_from_slice(&((PREAMBLE + header.len() + HASH) as u64 + content).to_le_bytes());
    head.extend_from_slice(&header);
    out.write_all(&head)?;
    for (_, bytes) in &checkpoint.sections {
        out.write_all(bytes)?;
    }
    out.write_all(blake3::hash(&head).as_bytes())
}

/// Read and verify a checkpoint; `expected` is what the run that wants it is. A different build is allowed
/// (the caller may want to warn), a different scene or thread policy is not.
pub fn read(bytes: &[u8], expected: &Identity) -> Result<Checkpoint, CheckpointError> {
    // The preamble: is it ours, do we know the version, is it all there?
    let cut_off = |expected| CheckpointError::Length { expected, found: bytes.len() as u64 };
    let start = &bytes[..bytes.len().min(MAGIC.len())];
    if start != &MAGIC[..start.len()] {
        return Err(CheckpointError::Magic);
    }
    let preamble = bytes.get(..PREAMBLE).ok_or(cut_off(PREAMBLE as u64))?;
    let version = u32::from_le_bytes(preamble[8..12].try_into().expect("four bytes"));
    if version != FORMAT_VERSION {
        return Err(CheckpointError::Version { found: version, expected: FORMAT_VERSION });
    }
    let header_length = u32::from_le_bytes(preamble[12..16].try_into().expect("four bytes")) as usize;
    let file_length = u64::from_le_bytes(preamble[16..24].try_into().expect("eight bytes"));
    if file_length != bytes.len() as u64 {
        return Err(cut_off(file_length));
    }

    // The header, against the footer.
    let content_at = PREAMBLE.saturating_add(header_length);
    let content_end = bytes.len().checked_sub(HASH).filter(|&end| end >= content_at).ok_or(CheckpointError::Header)?;
    if blake3::hash(&bytes[..content_at]).as_bytes() != &bytes[content_end..] {
        return Err(CheckpointError::Header);
    }
    let header: Header = postcard::from_bytes(&bytes[PREAMBLE..content_at]).map_err(|_| CheckpointError::Header)?;
    let short = |hash: &[u8; 32]| blake3::Hash::from_bytes(*hash).to_hex()[..12].to_string();
    let identity = header.identity;
    if identity.scene_hash != expected.scene_hash {
        let (found, expected) = (short(&identity.scene_hash), short(&expected.scene_hash));
        return Err(CheckpointError::OtherScene { found, expected });
    }
    if identity.thread_policy != expected.thread_policy {
        let expected = expected.thread_policy.clone();
        return Err(CheckpointError::OtherThreadPolicy { found: identity.thread_policy, expected });
    }

    // The sections, against the header; of several that are damaged, the first is named.
    let mut rest = &bytes[content_at..content_end];
    let mut parts = Vec::with_capacity(header.sections.len());
    for entry in header.sections {
        let (part, after) = usize::try_from(entry.length)
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or(CheckpointError::Header)?;
        rest = after;
        parts.push((entry, part));
    }
    if !rest.is_empty() {
        return Err(CheckpointError::Header);
    }
    let hashes: Vec<_> = parts.par_iter().map(|(_, part)| blake3::hash(part)).collect();
    if let Some(damaged) = parts.iter().zip(&hashes).position(|((entry, _), hash)| hash.as_bytes() != &entry.hash) {
        return Err(CheckpointError::Section { name: parts.swap_remove(damaged).0.name });
    }
    let sections = parts.into_par_iter().map(|(entry, part)| (entry.name, part.to_vec())).collect();
    Ok(Checkpoint { identity, step: header.step, sections })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { build: "0.1.0-abc".into(), scene_hash: [7; 32], thread_policy: "deterministic".into() }
    }

    fn checkpoint() -> Checkpoint {
        let section = |name: &str, seed: usize| {
            (name.to_string(), (0..4000).map(|i| ((i * i + seed) % 251) as u8).collect::<Vec<u8>>())
        };
        let sections = vec![section("clock", 1), section("velocity", 2), section("density", 3)];
        Checkpoint { identity: identity(), step: 42, sections }
    }

    fn bytes() -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, &checkpoint()).unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(read(&bytes(), &identity()).unwrap(), checkpoint());
        let newer_build = Identity { build: "0.2.0".into(), ..identity() };
        assert_eq!(read(&bytes(), &newer_build).unwrap().identity.build, "0.1.0-abc");
    }

    /// Row 38: no flipped bit goes unnoticed, wherever it is.
    #[test]
    fn every_flipped_bit_is_noticed() {
        let good = bytes();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(read(&bad, &identity()).is_err(), "byte {at} of {}", good.len());
        }
    }

    /// Row 38: each class of byte gives its own error.
    #[test]
    fn damage_is_named() {
        let good = bytes();
        let flip = |at: usize| {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            read(&bad, &identity()).unwrap_err()
        };
        let sections_at = good.len() - HASH - 3 * 4000;
        assert!(matches!(flip(3), CheckpointError::Magic));
        assert!(matches!(flip(8), CheckpointError::Version { found: 71, expected: 7 }));
        assert!(matches!(flip(12), CheckpointError::Header));
        assert!(matches!(flip(16), CheckpointError::Length { .. }));
        assert!(matches!(flip(PREAMBLE + 3), CheckpointError::Header));
        assert!(matches!(flip(sections_at + 10), CheckpointError::Section { name } if name == "clock"));
        assert!(matches!(flip(good.len() - HASH - 1), CheckpointError::Section { name } if name == "density"));
        assert!(matches!(flip(good.len() - 1), CheckpointError::Header));
    }

    #[test]
    fn truncation_zeros_and_swaps_are_noticed() {
        let good = bytes();
        for end in [0, 4, 8, 23, 24, 100, good.len() - HASH, good.len() - 1] {
            let error = read(&good[..end], &identity()).unwrap_err();
            assert!(matches!(error, CheckpointError::Length { .. }), "{end}: {error}");
        }
        let mut longer = good.clone();
        longer.push(0);
        assert!(matches!(read(&longer, &identity()).unwrap_err(), CheckpointError::Length { .. }));

        let sections_at = good.len() - HASH - 3 * 4000;
        let mut zeroed = good.clone();
        zeroed[sections_at + 4000..sections_at + 8000].fill(0);
        assert!(matches!(read(&zeroed, &identity()), Err(CheckpointError::Section { name }) if name == "velocity"));
        assert!(matches!(read(&vec![0; good.len()], &identity()), Err(CheckpointError::Magic)));

        let mut swapped = good.clone();
        let (a, b) = swapped[sections_at..sections_at + 8000].split_at_mut(4000);
        a.swap_with_slice(b);
        assert!(matches!(read(&swapped, &identity()), Err(CheckpointError::Section { name }) if name == "clock"));
    }

    /// Row 39: another scene, another thread policy, another version.
    #[test]
    fn other_owners_are_refused() {
        let other_scene = Identity { scene_hash: [8; 32], ..identity() };
        let error = read(&bytes(), &other_scene).unwrap_err();
        assert!(matches!(error, CheckpointError::OtherScene { .. }));
        assert!(error.to_string().contains("070707070707") && error.to_string().contains("080808080808"));
        let other_policy = Identity { thread_policy: "fast".into(), ..identity() };
        assert!(matches!(read(&bytes(), &other_policy), Err(CheckpointError::OtherThreadPolicy { .. })));
        let mut newer = bytes();
        newer[8] = 8;
        assert!(read(&newer, &identity()).unwrap_err().to_string().contains("version 8, this build reads version 7"));
    }
}
