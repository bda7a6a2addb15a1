//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name beside its destination, flushed to the disk, and renamed; then the
//! directory entry itself is flushed. Whatever moment the process or the machine dies at, the final name holds
//! the old file, the new file, or nothing, never a part. Temporary files that a dead process left behind carry
//! [`TEMPORARY_SUFFIX`] and may be deleted by whoever holds the run's lock ([`remove_leftovers`]).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What the name of an unfinished file ends in.
pub const TEMPORARY_SUFFIX: &str = ".partial";

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// `create`, `write`, `read`, …
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

impl FileError {
    /// For `map_err`: the error of doing `action` to `path`.
    pub fn new(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
        move |source| FileError { action, path: path.to_path_buf(), source }
    }
}

/// Create or replace `path` with what `fill` writes. On any error `path` is as it was and no temporary file stays.
pub fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), FileError> {
    let temporary = temporary_path(path);
    let written = File::create(&temporary).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 18, file);
        fill(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&temporary, path)).and_then(|()| sync_directory(path));
    placed.map_err(|source| {
        // The first error is the one to tell; the leftover, if any, is harmless.
        let _ = fs::remove_file(&temporary);
        FileError { action: "write", path: path.to_path_buf(), source }
    })
}

/// Create or replace `path` with these bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write(path, |out| out.write_all(bytes))
}

/// Delete the unfinished files that a killed process left in `directory`.
pub fn remove_leftovers(directory: &Path) -> Result<(), FileError> {
    for entry in fs::read_dir(directory).map_err(FileError::new("read", directory))? {
        let path = entry.map_err(FileError::new("read", directory))?.path();
        if path.to_string_lossy().ends_with(TEMPORARY_SUFFIX) {
            fs::remove_file(&path).map_err(FileError::new("delete", &path))?;
        }
    }
    Ok(())
}

/// The name a file has until it is complete.
pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(TEMPORARY_SUFFIX);
    PathBuf::from(name)
}

/// Make the entry of `path` in its directory durable; only Unix lets a directory be flushed.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// An empty directory of its own for a test, deleted when dropped.
#[cfg(test)]
pub(crate) mod scratch {
    use std::path::{Path, PathBuf};

    pub struct Scratch(PathBuf);

    impl Scratch {
        pub fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bathtub-output-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        pub fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{scratch::Scratch, *};

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_leftover() {
        let dir = Scratch::new("atomic");
        let path = dir.path().join("frame.vdb");
        write_bytes(&path, b"old").unwrap();
        let failed = write(&path, |out| {
            out.write_all(b"half of the n")?;
            Err(io::Error::new(io::ErrorKind::StorageFull, "disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_final_name_never_shows_a_part() {
        let dir = Scratch::new("atomic-part");
        let path = dir.path().join("a.ply");
        write(&path, |out| {
            out.write_all(&[0; 1 << 20])?;
            assert!(!path.exists() && temporary_path(&path).exists());
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_and_nothing_else() {
        let dir = Scratch::new("atomic-leftovers");
        write_bytes(&dir.path().join("keep.ply"), b"x").unwrap();
        fs::write(dir.path().join("b.ply.partial"), b"torn").unwrap();
        remove_leftovers(dir.path()).unwrap();
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["keep.ply"]);
    }
}
