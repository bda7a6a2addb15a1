//! The directory of a run: who may use it, what is in it, where.
//!
//! ```text
//! run.json        which scene the directory belongs to (a hash), and who made it
//! scene.toml      the effective scene
//! meshes/         copies of the mesh files that it names
//! stats.jsonl     one line per step
//! frames/         volumes and meshes
//! preview/        pictures
//! checkpoints/    the last two checkpoints
//! .lock           locked by the process that uses the directory
//! ```
//!
//! The lock is the operating system's: it ends with the process that holds it, however that ends, so a killed run
//! never blocks the next. A directory that holds anything is refused unless it is to be resumed or overwritten;
//! resuming demands the same scene; overwriting deletes only what a run wrote, and only where `run.json`
//! shows that it was a run.

use crate::atomic::{self, FileError};
use crate::checkpoint::{self, Checkpoint, CheckpointError, Identity, Latest};
use crate::stats::{StatsCut, StatsLog};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const MARKER: &str = "run.json";
const LOCK: &str = ".lock";
const DIRECTORIES: [&str; 4] = ["meshes", "frames", "preview", "checkpoints"];

/// What to do with a directory that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must be absent or empty.
    Fresh,
    /// Delete the run in it and start again.
    Overwrite,
    /// Continue the run in it; it must be of the same scene.
    Resume,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is a file of that name.
    #[error("{} is not a directory; choose another --out", .0.display())]
    NotADirectory(PathBuf),
    /// It holds something.
    #[error("{} is not empty; continue with --resume, replace with --overwrite, or choose another --out", .0.display())]
    NotEmpty(PathBuf),
    /// It holds something, but not a run.
    #[error("{} holds files but no run of Bathtub (no run.json), so nothing in it is touched; choose another --out", .0.display())]
    NotARun(PathBuf),
    /// There is no run to continue or draw.
    #[error("{} holds no run; start one without --resume", .0.display())]
    Missing(PathBuf),
    /// The run in it is of another scene.
    #[error("{} belongs to another scene (hash {found}, this scene has {expected}); choose another --out or --overwrite", path.display())]
    OtherScene {
        /// The directory.
        path: PathBuf,
        /// In the directory, shortened.
        found: String,
        /// Of the scene, shortened.
        expected: String,
    },
    /// Another process is using it.
    #[error("{} is in use by another process; wait for it or choose another --out", .0.display())]
    Locked(PathBuf),
    /// `run.json` does not say what it should.
    #[error("{} is damaged: {problem}; --overwrite starts again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// The content of `run.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Build of the engine that started the run.
    pub bathtub: String,
    /// Hash of the scene, in hexadecimal.
    pub scene_hash: String,
}

/// A run's directory, locked for as long as this lives.
#[derive(Debug)]
pub struct RunDir {
    root: PathBuf,
    record: RunRecord,
    _lock: File,
}

impl RunDir {
    /// Take a directory for a run of the scene whose effective text is `scene_toml`. After this the directory has
    /// its parts, `scene.toml` is written, and unfinished files of a killed run are gone.
    pub fn open(root: &Path, mode: OpenMode, identity: &Identity, scene_toml: &str) -> Result<Self, RunDirError> {
        let record = RunRecord {
            bathtub: identity.build.clone(),
            scene_hash: blake3::Hash::from_bytes(identity.scene_hash).to_hex().to_string(),
        };
        let occupied = inspect(root)?;
        let is_run = root.join(MARKER).is_file();
        match mode {
            OpenMode::Fresh if occupied => return Err(RunDirError::NotEmpty(root.into())),
            OpenMode::Overwrite if occupied && !is_run => return Err(RunDirError::NotARun(root.into())),
            OpenMode::Resume if !is_run => return Err(RunDirError::Missing(root.into())),
            _ => fs::create_dir_all(root).map_err(FileError::new("create", root))?,
        }

        let lock = take_lock(root)?;
        match mode {
            OpenMode::Resume => check_scene(root, &read_record(root)?, &record)?,
            // Between the look and the lock another process may have started a run here.
            OpenMode::Fresh if inspect(root)? => return Err(RunDirError::NotEmpty(root.into())),
            OpenMode::Fresh => {}
            OpenMode::Overwrite => delete_run(root)?,
        }
        for part in DIRECTORIES.map(|d| root.join(d)) {
            fs::create_dir_all(&part).map_err(FileError::new("create", &part))?;
            atomic::remove_leftovers(&part)?;
        }
        atomic::remove_leftovers(root)?;
        if mode != OpenMode::Resume {
            let text = serde_json::to_vec_pretty(&record).expect("two strings always encode");
            atomic::write_bytes(&root.join(MARKER), &text)?;
        }
        atomic::write_bytes(&root.join("scene.toml"), scene_toml.as_bytes())?;
        Ok(Self { root: root.into(), record, _lock: lock })
    }

    /// Take the directory of a finished or interrupted run, to draw its frames again.
    pub fn open_existing(root: &Path) -> Result<Self, RunDirError> {
        inspect(root)?;
        if !root.join(MARKER).is_file() {
            return Err(RunDirError::Missing(root.into()));
        }
        let lock = take_lock(root)?;
        Ok(Self { root: root.into(), record: read_record(root)?, _lock: lock })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Hash of the scene it belongs to, in hexadecimal.
    pub fn scene_hash(&self) -> &str {
        &self.record.scene_hash
    }

    /// Volumes and meshes.
    pub fn frames(&self) -> PathBuf {
        self.root.join("frames")
    }

    /// Pictures.
    pub fn preview(&self) -> PathBuf {
        self.root.join("preview")
    }

    /// Checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// The text of the effective scene.
    pub fn scene_toml(&self) -> Result<String, FileError> {
        let path = self.root.join("scene.toml");
        fs::read_to_string(&path).map_err(FileError::new("read", &path))
    }

    /// Start an empty log of statistics.
    pub fn create_stats(&self) -> Result<StatsLog, FileError> {
        StatsLog::create(&self.root.join("stats.jsonl"))
    }

    /// The newest usable checkpoint.
    pub fn latest_checkpoint(&self, expected: &Identity) -> Result<Latest, CheckpointError> {
        checkpoint::latest_valid(&self.checkpoints(), expected)
    }

    /// Go back to the state after `step`: cut the statistics there and delete the unusable later checkpoints.
    /// Later frames stay until they are written again, with the same content.
    pub fn rewind_to(&self, step: u64) -> Result<(StatsLog, StatsCut), CheckpointError> {
        checkpoint::discard_after(&self.checkpoints(), step)?;
        Ok(StatsLog::resume(&self.root.join("stats.jsonl"), step)?)
    }

    /// Make the statistics durable, then the checkpoint that counts on them.
    pub fn save_checkpoint(&self, stats: &StatsLog, checkpoint: &Checkpoint) -> Result<PathBuf, CheckpointError> {
        stats.sync()?;
        checkpoint::save(&self.checkpoints(), checkpoint)
    }
}

/// The hash that ties a directory and its checkpoints to a scene.
pub fn scene_hash(physics: &str) -> [u8; 32] {
    *blake3::hash(physics.as_bytes()).as_bytes()
}

/// Whether there is anything in the directory besides a lock; absent counts as empty.
fn inspect(root: &Path) -> Result<bool, RunDirError> {
    match fs::read_dir(root) {
        Ok(mut entries) => Ok(entries.any(|e| e.map_or(true, |e| e.file_name() != LOCK))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => Err(RunDirError::NotADirectory(root.into())),
        Err(e) => Err(FileError::new("read", root)(e).into()),
    }
}

fn take_lock(root: &Path) -> Result<File, RunDirError> {
    let path = root.join(LOCK);
    let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let lock = open.map_err(FileError::new("create", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(RunDirError::Locked(root.into())),
        Err(TryLockError::Error(e)) => Err(FileError::new("lock", &path)(e).into()),
    }
}

fn read_record(root: &Path) -> Result<RunRecord, RunDirError> {
    let path = root.join(MARKER);
    let bytes = fs::read(&path).map_err(FileError::new("read", &path))?;
    serde_json::from_slice(&bytes).map_err(|e| RunDirError::Damaged { path, problem: e.to_string() })
}

fn check_scene(root: &Path, found: &RunRecord, expected: &RunRecord) -> Result<(), RunDirError> {
    if found.scene_hash == expected.scene_hash {
        return Ok(());
    }
    let short = |hash: &str| hash.chars().take(12).collect();
    let (found, expected) = (short(&found.scene_hash), short(&expected.scene_hash));
    Err(RunDirError::OtherScene { path: root.into(), found, expected })
}

/// Delete what a run writes and nothing else; the marker last, so that an interrupted deletion can be repeated.
fn delete_run(root: &Path) -> Result<(), FileError> {
    let gone = |result: io::Result<()>| match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    for path in DIRECTORIES.map(|d| root.join(d)) {
        gone(fs::remove_dir_all(&path)).map_err(FileError::new("delete", &path))?;
    }
    for path in ["stats.jsonl", "scene.toml", MARKER].map(|f| root.join(f)) {
        gone(fs::remove_file(&path)).map_err(FileError::new("delete", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::scratch::Scratch;

    fn identity(scene: &str) -> Identity {
        Identity { build: "0.1.0".into(), scene_hash: scene_hash(scene), thread_policy: "deterministic".into() }
    }

    fn open(root: &Path, mode: OpenMode, scene: &str) -> Result<RunDir, RunDirError> {
        RunDir::open(root, mode, &identity(scene), scene)
    }

    #[test]
    fn a_fresh_run_lays_out_its_directory() {
        let dir = Scratch::new("run-fresh");
        let root = dir.path().join("deep/plume");
        let run = open(&root, OpenMode::Fresh, "a = 1").unwrap();
        assert!(run.frames().is_dir() && run.preview().is_dir() && run.checkpoints().is_dir());
        assert_eq!(run.scene_toml().unwrap(), "a = 1");
        assert_eq!(run.scene_hash().len(), 64);
    }

    /// Row 37.
    #[test]
    fn an_occupied_directory_is_refused_unless_told_otherwise() {
        let dir = Scratch::new("run-occupied");
        drop(open(dir.path(), OpenMode::Fresh, "a").unwrap());
        assert!(matches!(open(dir.path(), OpenMode::Fresh, "a"), Err(RunDirError::NotEmpty(_))));
        fs::write(dir.path().join("frames/smoke_0001.vdb"), b"x").unwrap();
        fs::write(dir.path().join("notes.txt"), b"mine").unwrap();
        drop(open(dir.path(), OpenMode::Resume, "a").unwrap());
        assert!(dir.path().join("frames/smoke_0001.vdb").exists());
        drop(open(dir.path(), OpenMode::Overwrite, "b").unwrap());
        assert!(!dir.path().join("frames/smoke_0001.vdb").exists());
        assert!(dir.path().join("notes.txt").exists(), "a user's file is never deleted");
    }

    /// Row 37: what is no run is not touched, what is a file is no directory, what is not there cannot be resumed.
    #[test]
    fn strange_places_are_refused() {
        let dir = Scratch::new("run-strange");
        fs::write(dir.path().join("thesis.tex"), b"years of work").unwrap();
        assert!(matches!(open(dir.path(), OpenMode::Overwrite, "a"), Err(RunDirError::NotARun(_))));
        let file = dir.path().join("thesis.tex");
        assert!(matches!(open(&file, OpenMode::Fresh, "a"), Err(RunDirError::NotADirectory(_))));
        let absent = dir.path().join("absent");
        assert!(matches!(open(&absent, OpenMode::Resume, "a"), Err(RunDirError::Missing(_))));
        assert!(!absent.exists());
        assert!(matches!(RunDir::open_existing(&absent), Err(RunDirError::Missing(_))));
    }

    /// Row 37: a directory that vanishes is an error of the next write, not a new directory.
    #[test]
    fn a_vanished_directory_is_an_error() {
        let dir = Scratch::new("run-vanished");
        let root = dir.path().join("out");
        let run = open(&root, OpenMode::Fresh, "a").unwrap();
        fs::remove_dir_all(&root).unwrap();
        let checkpoint = Checkpoint { identity: identity("a"), step: 1, sections: vec![] };
        assert!(matches!(checkpoint::save(&run.checkpoints(), &checkpoint), Err(CheckpointError::File(_))));
        assert!(!root.exists());
    }

    /// Row 40.
    #[test]
    fn frames_of_two_scenes_are_never_mixed() {
        let dir = Scratch::new("run-mixed");
        drop(open(dir.path(), OpenMode::Fresh, "a").unwrap());
        let error = open(dir.path(), OpenMode::Resume, "b").unwrap_err();
        assert!(matches!(error, RunDirError::OtherScene { .. }), "{error}");
        fs::write(dir.path().join(MARKER), b"{").unwrap();
        assert!(matches!(open(dir.path(), OpenMode::Resume, "a"), Err(RunDirError::Damaged { .. })));
    }

    /// Row 41; a lock file without a living owner, as SIGKILL leaves it, does not count.
    #[test]
    fn two_users_exclude_each_other_and_the_dead_block_nobody() {
        let dir = Scratch::new("run-lock");
        let first = open(dir.path(), OpenMode::Fresh, "a").unwrap();
        assert!(matches!(open(dir.path(), OpenMode::Resume, "a"), Err(RunDirError::Locked(_))));
        assert!(matches!(open(dir.path(), OpenMode::Overwrite, "a"), Err(RunDirError::Locked(_))));
        assert!(matches!(RunDir::open_existing(dir.path()), Err(RunDirError::Locked(_))));
        drop(first);
        assert!(dir.path().join(LOCK).exists());
        open(dir.path(), OpenMode::Resume, "a").unwrap();
    }

    #[test]
    fn rewinding_cuts_statistics_and_later_checkpoints() {
        let dir = Scratch::new("run-rewind");
        let run = open(dir.path(), OpenMode::Fresh, "a").unwrap();
        let mut stats = run.create_stats().unwrap();
        for step in 1..=4u64 {
            stats.append(&serde_json::json!({ "step": step })).unwrap();
            let sections = vec![("clock".into(), vec![step as u8; 64])];
            run.save_checkpoint(&stats, &Checkpoint { identity: identity("a"), step, sections }).unwrap();
        }
        let newest = checkpoint::list(&run.checkpoints()).unwrap()[0].1.clone();
        fs::write(&newest, b"garbage").unwrap();
        let latest = run.latest_checkpoint(&identity("a")).unwrap();
        assert_eq!((latest.checkpoint.step, latest.skipped.len()), (3, 1));
        let (_, cut) = run.rewind_to(3).unwrap();
        assert_eq!(cut.kept, 3);
        assert!(!newest.exists());
    }
}
