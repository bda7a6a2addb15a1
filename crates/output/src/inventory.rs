//! What of a directory is a run's: its files, by their exact names.
//!
//! A directory may have been prepared by somebody else, or hold files of the user's. So only what has a name that a run gives is
//! ever opened or deleted, and it must be a regular file in a real directory: a symbolic link would lead out of the directory, a
//! pipe would be waited for, a device would never end.

use crate::atomic::{FileError, TEMPORARY_SUFFIX};
use crate::checkpoint::checkpoint_step;
use crate::frame::file_stem;
use crate::picture::is_picture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// The directories in a run's directory.
pub const PARTS: [&str; 4] = ["checkpoints", "frames", "meshes", "preview"];

/// The files beside them.
pub(crate) const FILES: [&str; 4] = ["run.json", "scene.toml", "stats.jsonl", ".lock"];

/// What the names of some of a run's files are made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The names of its solids.
    #[serde(default)]
    pub solids: Vec<String>,
    /// The file names of its mesh copies.
    #[serde(default)]
    pub meshes: Vec<String>,
}

/// A file that has a name which a run gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub path: PathBuf,
    /// The directory in the run's, or nothing.
    pub part: &'static str,
    /// Its name once it is complete.
    pub name: String,
    pub is_complete: bool,
}

/// All that is in a run's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inventory {
    pub files: Vec<Found>,
    /// Whether there is anything else, but for empty directories of a run.
    pub has_others: bool,
}

/// Something that should be a file or directory of a run, but is neither.
#[derive(Debug, thiserror::Error)]
#[error("{} is {found}, not {wanted} that a run made; remove it, or use another directory", path.display())]
pub struct Strange {
    path: PathBuf,
    found: &'static str,
    wanted: &'static str,
}

/// Why there is no inventory.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InventoryError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Strange(#[from] Strange),
}

impl Inventory {
    /// Look through a directory; one that is not there is empty.
    pub fn take(root: &Path, contents: &[&Contents]) -> Result<Self, InventoryError> {
        let solids: BTreeSet<String> = contents.iter().flat_map(|c| &c.solids).map(|name| file_stem(name)).collect();
        let is_mesh = |name: &str| contents.iter().any(|c| c.meshes.iter().any(|mesh| mesh == name));
        let mut inventory = Self::default();
        inventory.add(root, "", |name| FILES.contains(&name))?;
        for part in PARTS {
            let belongs = |name: &str| match part {
                "checkpoints" => checkpoint_step(name).is_some(),
                "frames" => is_frame(name, &solids),
                "meshes" => is_mesh(name),
                _ => is_picture(name),
            };
            inventory.add(&root.join(part), part, belongs)?;
        }
        // Whoever deletes them in this order leaves no checkpoint without its statistics.
        inventory.files.sort_by_key(|file| file.part.is_empty());
        Ok(inventory)
    }

    /// Whether there is a complete file of this name beside the directories.
    pub fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.part.is_empty() && file.name == name && file.is_complete)
    }

    /// Whether this is no more than what a run leaves that was killed before its first frame, and nobody's but the run's:
    /// first its directories, then `run.json`, which must be there (`is_marked`) for anything else to be the run's.
    pub fn is_beginning(&self, is_marked: bool) -> bool {
        let is_early = |file: &Found| match (file.part, file.name.as_str()) {
            ("", ".lock") => true,
            ("", "run.json") => is_marked || !file.is_complete,
            _ if !is_marked => false,
            ("", "stats.jsonl") => fs::symlink_metadata(&file.path).is_ok_and(|info| info.len() == 0),
            ("" | "meshes", _) => true,
            _ => !file.is_complete,
        };
        !self.has_others && self.files.iter().all(is_early)
    }

    fn add(
        &mut self,
        directory: &Path,
        part: &'static str,
        belongs: impl Fn(&str) -> bool,
    ) -> Result<(), InventoryError> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(FileError::new("read", directory))?,
        };
        for entry in entries {
            let entry = entry.map_err(FileError::new("read", directory))?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(FileError::new("read", &path))?;
            let name = name.to_str().unwrap_or_default();
            let complete = name.strip_suffix(TEMPORARY_SUFFIX).unwrap_or(name);
            if part.is_empty() && PARTS.contains(&name) {
                expect(&path, kind, kind.is_dir(), "a directory")?;
            } else if belongs(complete) {
                expect(&path, kind, kind.is_file(), "a file")?;
                let is_complete = complete.len() == name.len();
                self.files.push(Found { path, part, name: complete.to_owned(), is_complete });
            } else {
                self.has_others = true;
            }
        }
        Ok(())
    }
}

fn expect(path: &Path, kind: FileType, holds: bool, wanted: &'static str) -> Result<(), Strange> {
    let found = match kind {
        _ if holds => return Ok(()),
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_file() => "a file",
        _ => "a pipe, socket or device",
    };
    Err(Strange { path: path.into(), found, wanted })
}

/// Whether a run with these solids gives a file in `frames` this name.
fn is_frame(name: &str, solids: &BTreeSet<String>) -> bool {
    let Some((stem, rest)) = name.rsplit_once('_') else { return false };
    let is_numbered = |suffix: &str| rest.strip_suffix(suffix).is_some_and(|digits| number(digits, 4).is_some());
    match stem {
        "smoke" | "water" if is_numbered(".vdb") => true,
        "water" | "particles" if is_numbered(".ply") => true,
        _ => solids.contains(stem) && (is_numbered(".ply") || rest == "static.ply"),
    }
}

/// The number that a run writes like this, with at least `width` digits.
pub(crate) fn number(digits: &str, width: usize) -> Option<u64> {
    digits.parse().ok().filter(|n: &u64| format!("{n:0width$}") == digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_a_runs() {
        let solids = BTreeSet::from(["ball".to_owned(), "a%2eb_c".to_owned()]);
        for name in ["smoke_0000.vdb", "water_12345.vdb", "water_0001.ply", "particles_0001.ply", "ball_static.ply"] {
            assert!(is_frame(name, &solids), "{name}");
        }
        assert!(is_frame("a%2eb_c_0003.ply", &solids));
        for name in ["smoke_1.vdb", "smoke_00001.vdb", "smoke_+001.vdb", "smoke_0001.ply", "cup_0001.ply", "ball.ply"] {
            assert!(!is_frame(name, &solids), "{name}");
        }
        for name in ["smoke_0001.vdb.bak", "Smoke_0001.vdb", "notes.txt", "", "_", "ball_0001.vdb"] {
            assert!(!is_frame(name, &solids), "{name}");
        }
        assert!(is_picture("frame_0001.png") && is_picture("animation.gif") && !is_picture("frame_1.png"));
        assert_eq!(checkpoint_step("checkpoint_0000000012.btub"), Some(12));
        assert_eq!(checkpoint_step("checkpoint_12.btub"), None);
    }
}
