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
//! never blocks the next. A directory that holds anything is refused unless it is to be resumed or overwritten, or holds no more than
//! the beginning of a run that was killed before its first frame. Resuming demands the same scene; overwriting deletes only what a
//! run wrote, and only where `run.json` shows that it was a run. `run.json` is the first file that a run writes and the
//! last that may go, so there is no moment at which a kill would leave a directory that nobody may use. What a run wrote is
//! known by exact names ([`crate::inventory`]).

use crate::atomic::{self, FileError};
use crate::checkpoint::{self, Checkpoint, CheckpointError, Identity, Latest};
use crate::inventory::{Contents, Found, Inventory, InventoryError, PARTS, Strange};
use crate::stats::{StatsCut, StatsLog};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const MARKER: &str = "run.json";
const LOCK: &str = ".lock";

/// Largest `run.json`, bytes.
const MAX_MARKER: u64 = 1 << 26;

/// What to do with a directory that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must be absent, empty, or left by a run that had hardly begun.
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
    /// Something in it has a run's name but is a link, a pipe, a device.
    #[error(transparent)]
    Strange(#[from] Strange),
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
    #[error("{} is damaged or not a run's: {problem}; delete it or choose another --out", path.display())]
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
    /// What it writes.
    #[serde(flatten)]
    pub contents: Contents,
}

/// A run's directory, locked for as long as this lives.
#[derive(Debug)]
pub struct RunDir {
    root: PathBuf,
    record: RunRecord,
    _lock: File,
}

impl RunDir {
    /// Take a directory for a run of a scene which will write `contents`. After this the directory has its parts, and unfinished
    /// files of a killed run are gone.
    pub fn open(root: &Path, mode: OpenMode, identity: &Identity, contents: Contents) -> Result<Self, RunDirError> {
        let record = RunRecord {
            bathtub: identity.build.clone(),
            scene_hash: blake3::Hash::from_bytes(identity.scene_hash).to_hex().to_string(),
            contents,
        };
        plan(root, mode, &record)?;
        fs::create_dir_all(root).map_err(FileError::new("create", root))?;
        let lock = take_lock(root)?;
        // Between the look and the lock another process may have started a run here.
        let Plan { continues, delete } = plan(root, mode, &record)?;
        for path in delete {
            fs::remove_file(&path).map_err(FileError::new("delete", &path))?;
        }
        if !continues {
            let text = serde_json::to_vec_pretty(&record).expect("plain strings always encode");
            atomic::write_bytes(&root.join(MARKER), &text)?;
        }
        for part in PARTS.map(|d| root.join(d)) {
            fs::create_dir_all(&part).map_err(FileError::new("create", &part))?;
        }
        Ok(Self { root: root.into(), record, _lock: lock })
    }

    /// Write the effective scene, after the mesh files it names: once it is there, the run can be resumed from the directory alone.
    pub fn write_scene<'a>(
        &self,
        scene_toml: &str,
        meshes: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<(), FileError> {
        for (path, bytes) in meshes {
            atomic::write_bytes(&self.root.join(path), bytes)?;
        }
        atomic::write_bytes(&self.root.join("scene.toml"), scene_toml.as_bytes())
    }

    /// Take the directory of a finished or interrupted run, to draw its frames again.
    pub fn open_existing(root: &Path) -> Result<Self, RunDirError> {
        let (_, record) = look(root, None)?;
        let record = record.ok_or_else(|| RunDirError::Missing(root.into()))??;
        let lock = take_lock(root)?;
        Ok(Self { root: root.into(), record, _lock: lock })
    }

    /// Refuse a directory in which a run's files are not files; one that is not there is fine.
    pub fn check(root: &Path) -> Result<(), RunDirError> {
        look(root, None).map(|_| ())
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

/// What is to be done with a directory.
struct Plan {
    /// Whether the run in it goes on.
    continues: bool,
    /// Files that must go first, in this order.
    delete: Vec<PathBuf>,
}

/// What to do with a directory for a run like `wanted`, or why it is refused.
fn plan(root: &Path, mode: OpenMode, wanted: &RunRecord) -> Result<Plan, RunDirError> {
    let (inventory, record) = look(root, Some(&wanted.contents))?;
    let is_marked = matches!(record, Some(Ok(_)));
    let keep = [LOCK, MARKER];
    let files = inventory.files.iter();
    let all = || files.clone().filter(|f| !keep.contains(&f.name.as_str()) || !f.is_complete);
    let paths = |delete: Vec<&Found>| delete.into_iter().map(|f| f.path.clone()).collect();
    let anew = || Ok(Plan { continues: false, delete: paths(all().collect()) });
    match (mode, record) {
        (OpenMode::Resume, _) if !root.is_dir() => Err(RunDirError::Missing(root.into())),
        (OpenMode::Resume, Some(record)) => {
            check_scene(root, &record?, wanted)?;
            Ok(Plan { continues: true, delete: paths(files.filter(|f| !f.is_complete).collect()) })
        }
        (OpenMode::Overwrite, Some(record)) => record.and_then(|_| anew()),
        _ if inventory.is_beginning(is_marked) => anew(),
        (OpenMode::Fresh, _) => Err(RunDirError::NotEmpty(root.into())),
        (OpenMode::Overwrite, None) => Err(RunDirError::NotARun(root.into())),
        (OpenMode::Resume, None) => Err(RunDirError::Missing(root.into())),
    }
}

/// What a directory says about the run in it: its record, if there is a `run.json`, whether that is legible or not.
type Record = Option<Result<RunRecord, RunDirError>>;

/// What is in a directory, and of which run; `more` is what else may be a run's.
fn look(root: &Path, more: Option<&Contents>) -> Result<(Inventory, Record), RunDirError> {
    // Only files in known places first: these tell what the others are called.
    let is_marked = Inventory::take(root, &[])?.has(MARKER);
    let record = is_marked.then(|| read_record(root));
    let written = record.as_ref().and_then(|record| record.as_ref().ok()).map(|record| &record.contents);
    let contents: Vec<&Contents> = written.into_iter().chain(more).collect();
    Ok((Inventory::take(root, &contents)?, record))
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
    let damaged = |problem: String| RunDirError::Damaged { path: path.clone(), problem };
    let length = fs::metadata(&path).map_err(FileError::new("read", &path))?.len();
    if length > MAX_MARKER {
        return Err(damaged(format!("{length} bytes (limit {MAX_MARKER})")));
    }
    let bytes = atomic::read(&path)?;
    serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))
}

fn check_scene(root: &Path, found: &RunRecord, expected: &RunRecord) -> Result<(), RunDirError> {
    if found.scene_hash == expected.scene_hash {
        return Ok(());
    }
    let short = |hash: &str| hash.chars().take(12).collect();
    let (found, expected) = (short(&found.scene_hash), short(&expected.scene_hash));
    Err(RunDirError::OtherScene { path: root.into(), found, expected })
}

impl From<InventoryError> for RunDirError {
    fn from(error: InventoryError) -> Self {
        match error {
            InventoryError::File(error) if error.source.kind() == io::ErrorKind::NotADirectory => {
                Self::NotADirectory(error.path)
            }
            InventoryError::File(error) => error.into(),
            InventoryError::Strange(strange) => strange.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::scratch::Scratch;

    fn identity(scene: &str) -> Identity {
        Identity { build: "0.1.0".into(), scene_hash: scene_hash(scene), thread_policy: "deterministic".into() }
    }

    fn open(root: &Path, mode: OpenMode, scene: &str) -> Result<RunDir, RunDirError> {
        let contents = Contents { solids: vec!["ball".into()], meshes: vec!["0123-ball.obj".into()] };
        let run = RunDir::open(root, mode, &identity(scene), contents)?;
        run.write_scene(scene, [("meshes/0123-ball.obj", &b"v"[..])])?;
        Ok(run)
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
        fs::write(dir.path().join("frames/smoke_0001.vdb"), b"x").unwrap();
        assert!(matches!(open(dir.path(), OpenMode::Fresh, "a"), Err(RunDirError::NotEmpty(_))));
        let mine = ["notes.txt", "x.partial", "frames/smoke_1.vdb", "frames/cup_0001.ply", "meshes/cup.obj"];
        mine.iter().for_each(|name| fs::write(dir.path().join(name), b"mine").unwrap());
        drop(open(dir.path(), OpenMode::Resume, "a").unwrap());
        assert!(dir.path().join("frames/smoke_0001.vdb").exists());
        for name in ["frames/ball_0003.ply", "preview/frame_0000.png", "frames/water_0001.vdb.partial"] {
            fs::write(dir.path().join(name), b"x").unwrap();
        }
        drop(open(dir.path(), OpenMode::Overwrite, "b").unwrap());
        for name in ["frames/smoke_0001.vdb", "frames/ball_0003.ply", "preview/frame_0000.png"] {
            assert!(!dir.path().join(name).exists(), "{name}");
        }
        assert!(!dir.path().join("frames/water_0001.vdb.partial").exists());
        for name in mine {
            assert!(dir.path().join(name).exists(), "a user's {name} is never deleted");
        }
    }

    /// Row 34: a kill at any moment before the first frame leaves a directory in which a run starts over, however it is
    /// started. The moments are those between two changes to the directory.
    #[test]
    fn a_run_killed_before_its_first_frame_starts_over() {
        let dir = Scratch::new("run-killed");
        let record = {
            let run = open(&dir.path().join("whole"), OpenMode::Fresh, "a").unwrap();
            fs::read(run.root().join(MARKER)).unwrap()
        };
        let changes = [
            ".lock",
            "run.json.partial",
            "run.json",
            "checkpoints/",
            "frames/",
            "meshes/",
            "preview/",
            "meshes/0123-ball.obj.partial",
            "meshes/0123-ball.obj",
            "scene.toml.partial",
            "scene.toml",
            "stats.jsonl",
            "frames/ball_static.ply.partial",
            "frames/smoke_0000.vdb.partial",
        ];
        let lay_out = |root: &Path, moments: usize| {
            let _ = fs::remove_dir_all(root);
            fs::create_dir_all(root).unwrap();
            for change in &changes[..moments] {
                let path = root.join(change);
                match change.strip_suffix('/') {
                    Some(_) => fs::create_dir(&path).unwrap(),
                    None if *change == MARKER => fs::write(&path, &record).unwrap(),
                    None => fs::write(&path, b"").unwrap(),
                }
                // A file that is complete was renamed.
                let _ = fs::remove_file(atomic::temporary_path(&path));
            }
        };
        let root = dir.path().join("run");
        for moments in 0..=changes.len() {
            for mode in [OpenMode::Fresh, OpenMode::Overwrite, OpenMode::Resume] {
                lay_out(&root, moments);
                let run = open(&root, mode, "a").unwrap_or_else(|e| panic!("{:?} {mode:?}: {e}", &changes[..moments]));
                assert!(Inventory::take(&root, &[&run.record.contents]).unwrap().files.iter().all(|f| f.is_complete));
                assert_eq!(run.scene_toml().unwrap(), "a");
            }
            lay_out(&root, moments);
            fs::write(root.join("notes.txt"), b"mine").unwrap();
            assert!(open(&root, OpenMode::Fresh, "a").is_err(), "{moments}: with a file of somebody else's");
        }
        lay_out(&root, changes.len());
        fs::write(root.join("frames/smoke_0000.vdb"), b"x").unwrap();
        assert!(matches!(open(&root, OpenMode::Fresh, "a"), Err(RunDirError::NotEmpty(_))), "a frame is worth keeping");
        lay_out(&root, changes.len());
        fs::write(root.join("stats.jsonl"), b"{}\n").unwrap();
        assert!(matches!(open(&root, OpenMode::Fresh, "a"), Err(RunDirError::NotEmpty(_))), "so are statistics");
    }

    /// Links, pipes and directories in the place of a run's files are refused, and nothing is done through them.
    #[test]
    fn a_prepared_directory_is_refused() {
        use std::os::unix::fs::symlink;
        let dir = Scratch::new("run-prepared");
        let (root, outside) = (dir.path().join("run"), dir.path().join("outside"));
        let files = [
            "run.json",
            "scene.toml",
            "stats.jsonl",
            ".lock",
            "frames/smoke_0000.vdb",
            "frames/ball_0001.ply.partial",
            "preview/animation.gif",
            "checkpoints/checkpoint_0000000001.btub",
            "meshes/0123-ball.obj",
        ];
        for name in files.into_iter().chain(PARTS) {
            for target in ["file", "directory", "absent", ""] {
                let _ = fs::remove_dir_all(dir.path());
                fs::create_dir_all(outside.join("directory")).unwrap();
                fs::write(outside.join("file"), b"mine").unwrap();
                drop(open(&root, OpenMode::Fresh, "a").unwrap());
                let path = root.join(name);
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                match target {
                    "" if PARTS.contains(&name) => fs::write(&path, b"").unwrap(),
                    "" => fs::create_dir(&path).unwrap(),
                    target => symlink(outside.join(target), &path).unwrap(),
                }
                for mode in [OpenMode::Fresh, OpenMode::Overwrite, OpenMode::Resume] {
                    let error = open(&root, mode, "a").unwrap_err();
                    assert!(matches!(error, RunDirError::Strange(_)), "{name} {target} {mode:?}: {error}");
                }
                assert!(RunDir::open_existing(&root).is_err() && RunDir::check(&root).is_err(), "{name} {target}");
                assert_eq!(fs::read(outside.join("file")).unwrap(), b"mine");
                assert!(
                    !outside.join("absent").exists() && fs::read_dir(outside.join("directory")).unwrap().count() == 0
                );
            }
        }
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
        for other in ["{", "{}", "[]", "{\"name\": \"somebody else's\"}"] {
            fs::write(dir.path().join(MARKER), other).unwrap();
            assert!(matches!(open(dir.path(), OpenMode::Resume, "a"), Err(RunDirError::Damaged { .. })));
            assert!(matches!(open(dir.path(), OpenMode::Overwrite, "a"), Err(RunDirError::Damaged { .. })));
            assert_eq!(fs::read_to_string(dir.path().join(MARKER)).unwrap(), other);
        }
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
