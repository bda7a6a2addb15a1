//! The last few checkpoints of a run, in one directory.

use super::container::{self, Checkpoint, CheckpointError, Identity};
use crate::atomic::{self, FileError};
use crate::inventory::number;
use std::fs;
use std::path::{Path, PathBuf};

/// Checkpoints kept: if the newest is damaged, there is one before it.
pub const KEPT: usize = 2;
const PREFIX: &str = "checkpoint_";
const SUFFIX: &str = ".btub";

/// The newest checkpoint that verifies, and what was passed over to find it.
#[derive(Debug)]
pub struct Latest {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its file.
    pub path: PathBuf,
    /// Newer files that cannot be used, and why.
    pub skipped: Vec<(PathBuf, CheckpointError)>,
}

/// Write a checkpoint durably, then delete all but the last [`KEPT`]. Returns its path.
pub fn save(directory: &Path, checkpoint: &Checkpoint) -> Result<PathBuf, CheckpointError> {
    let path = directory.join(format!("{PREFIX}{:010}{SUFFIX}", checkpoint.step));
    atomic::write(&path, |out| container::write(out, checkpoint))?;
    for (_, old) in list(directory)?.into_iter().skip(KEPT) {
        fs::remove_file(&old).map_err(FileError::new("delete", &old))?;
    }
    Ok(path)
}

/// Step and path of each checkpoint in `directory`, newest first.
pub fn list(directory: &Path) -> Result<Vec<(u64, PathBuf)>, CheckpointError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(FileError::new("read", directory))? {
        let path = entry.map_err(FileError::new("read", directory))?.path();
        if let Some(step) = path.file_name().and_then(|name| checkpoint_step(name.to_str()?)) {
            found.push((step, path));
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found)
}

/// The step of the checkpoint that has this file name.
pub(crate) fn checkpoint_step(name: &str) -> Option<u64> {
    number(name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?, 10)
}

/// Find the newest checkpoint that verifies and belongs to `expected`.
pub fn latest_valid(directory: &Path, expected: &Identity) -> Result<Latest, CheckpointError> {
    let mut skipped = Vec::new();
    for (step, path) in list(directory)? {
        let bytes = atomic::read(&path).map_err(CheckpointError::from);
        match bytes.and_then(|bytes| container::read(&bytes, expected)) {
            Ok(checkpoint) if checkpoint.step == step => return Ok(Latest { checkpoint, path, skipped }),
            Ok(checkpoint) => {
                let problem = format!("has step {}, the file's name has {step}", checkpoint.step);
                skipped.push((path, CheckpointError::Content { name: "clock".into(), problem }));
            }
            Err(error) => skipped.push((path, error)),
        }
    }
    // One reason is enough to act on; an error is one short line.
    let told = skipped.first().map(|(path, error)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}: {error}")
    });
    let directory = directory.display().to_string();
    Err(CheckpointError::None { directory, skipped: told.unwrap_or_default() })
}

/// Delete checkpoints of steps after `step`: a run that resumes from there has found them unusable.
pub fn discard_after(directory: &Path, step: u64) -> Result<(), CheckpointError> {
    for (_, path) in list(directory)?.into_iter().filter(|&(s, _)| s > step) {
        fs::remove_file(&path).map_err(FileError::new("delete", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::scratch::Scratch;

    fn identity() -> Identity {
        Identity { build: "test".into(), scene_hash: [1; 32], thread_policy: "deterministic".into() }
    }

    fn checkpoint(step: u64) -> Checkpoint {
        Checkpoint { identity: identity(), step, sections: vec![("clock".into(), step.to_le_bytes().repeat(500))] }
    }

    #[test]
    fn two_generations_are_kept_and_the_newest_is_found() {
        let dir = Scratch::new("generations");
        for step in [9, 10, 20, 100] {
            save(dir.path(), &checkpoint(step)).unwrap();
        }
        let steps: Vec<u64> = list(dir.path()).unwrap().into_iter().map(|(s, _)| s).collect();
        assert_eq!(steps, [100, 20]);
        let latest = latest_valid(dir.path(), &identity()).unwrap();
        assert_eq!(latest.checkpoint, checkpoint(100));
        assert!(latest.skipped.is_empty());
    }

    /// Row 38: a damaged newest file costs one generation and is named.
    #[test]
    fn a_damaged_newest_falls_back_to_the_one_before() {
        let dir = Scratch::new("generations-fallback");
        save(dir.path(), &checkpoint(10)).unwrap();
        let newest = save(dir.path(), &checkpoint(20)).unwrap();
        let good = fs::read(&newest).unwrap();
        let damages: [fn(&mut Vec<u8>); 4] = [|b| b[700] ^= 1, |b| b.truncate(300), |b| b.clear(), |b| b[24..].fill(0)];
        for damage in damages {
            let mut bad = good.clone();
            damage(&mut bad);
            fs::write(&newest, &bad).unwrap();
            let latest = latest_valid(dir.path(), &identity()).unwrap();
            assert_eq!(latest.checkpoint.step, 10);
            assert_eq!(latest.skipped.len(), 1);
            assert_eq!(latest.skipped[0].0, newest);
        }
        discard_after(dir.path(), 10).unwrap();
        assert!(latest_valid(dir.path(), &identity()).unwrap().skipped.is_empty());
    }

    /// Row 34: a process killed while it writes leaves only a temporary file, which nobody takes for a checkpoint.
    #[test]
    fn a_torn_temporary_file_is_not_a_checkpoint() {
        let dir = Scratch::new("generations-torn");
        let path = save(dir.path(), &checkpoint(10)).unwrap();
        let torn = &fs::read(&path).unwrap()[..1000];
        fs::write(atomic::temporary_path(&dir.path().join("checkpoint_0000000020.btub")), torn).unwrap();
        let latest = latest_valid(dir.path(), &identity()).unwrap();
        assert_eq!((latest.checkpoint.step, latest.skipped.len()), (10, 0));
    }

    #[test]
    fn nothing_usable_is_an_error_that_says_why() {
        let dir = Scratch::new("generations-none");
        assert!(matches!(latest_valid(dir.path(), &identity()), Err(CheckpointError::None { .. })));
        save(dir.path(), &checkpoint(10)).unwrap();
        let other = Identity { scene_hash: [2; 32], ..identity() };
        let error = latest_valid(dir.path(), &other).unwrap_err().to_string();
        assert!(error.contains("another scene") && error.contains("checkpoint_0000000010.btub"), "{error}");
    }
}
