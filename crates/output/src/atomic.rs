//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name beside its destination, flushed to the disk, and renamed; then the
//! directory entry itself is flushed. Whatever moment the process or the machine dies at, the final name holds
//! the old file, the new file, or nothing, never a part. Temporary files that a dead process left behind carry
//! [`TEMPORARY_SUFFIX`] and may be deleted by whoever holds the run's lock. Nothing is written through a symbolic link: the
//! temporary file must be new, and a rename replaces the link itself.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
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
    let file = make_way(&temporary).and_then(|()| File::create_new(&temporary));
    let file = file.map_err(FileError::new("write", &temporary))?;
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let written = fill(&mut out).and_then(|()| out.flush()).and_then(|()| out.get_ref().sync_all());
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

/// The content of a regular file; links are not followed. Memory for it is asked for before it is read.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let read = || {
        let info = fs::symlink_metadata(path)?;
        if !info.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut bytes = Vec::new();
        let length = usize::try_from(info.len()).map_err(io::Error::other)?;
        bytes.try_reserve_exact(length).map_err(io::Error::other)?;
        File::open(path)?.take(info.len()).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(FileError::new("read", path))
}

/// Delete what a killed process left in a temporary file's place; anything but a file stays there, and is an error.
pub(crate) fn make_way(temporary: &Path) -> io::Result<()> {
    match fs::symlink_metadata(temporary) {
        Ok(info) if info.is_file() => fs::remove_file(temporary),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something that is not a file is in the way")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
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
    fn a_leftover_of_a_killed_process_is_replaced() {
        let dir = Scratch::new("atomic-leftover");
        let path = dir.path().join("b.ply");
        fs::write(temporary_path(&path), b"torn").unwrap();
        write_bytes(&path, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), temporary_path(&path).exists()), (b"new".to_vec(), false));
    }

    /// A link in the temporary file's place is not written through.
    #[test]
    fn what_stands_in_the_way_is_left_alone() {
        let dir = Scratch::new("atomic-way");
        let (path, elsewhere) = (dir.path().join("b.ply"), dir.path().join("elsewhere"));
        fs::write(&elsewhere, b"mine").unwrap();
        std::os::unix::fs::symlink(&elsewhere, temporary_path(&path)).unwrap();
        let error = write_bytes(&path, b"new").unwrap_err().to_string();
        // One word for all that goes wrong on the way to a file, as for those that cannot be written later on; what counts is that the link stops it.
        assert!(error.contains("cannot write") && error.contains("b.ply.partial"), "{error}");
        fs::remove_file(temporary_path(&path)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not a regular file"));
        write_bytes(&path, b"new").unwrap();
        assert_eq!(fs::read(&elsewhere).unwrap(), b"mine");
        assert_eq!(read(&path).unwrap(), b"new");
    }
}
