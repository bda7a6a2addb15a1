//! A temporary directory with a scene in it, and the command run on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A complete scene that runs in a moment.
pub const TINY: &str = "\
[grid]
cells = [8, 12, 8]
dx = 0.1
[time]
frames = 3
";

/// What the command said and how it ended.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// The command must have failed with `code`, in one line that contains every fragment.
    #[track_caller]
    pub fn refuses(&self, code: i32, fragments: &[&str]) {
        let Answer { stderr, .. } = self;
        assert_eq!(self.code, Some(code), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "one line: {stderr}");
        assert!(stderr.chars().count() <= 310, "a short line: {stderr}");
        assert!(stderr.starts_with("error: "), "{stderr}");
        for fragment in fragments {
            assert!(stderr.contains(fragment), "{fragment:?} is not in {stderr}");
        }
    }

    /// The command must have succeeded.
    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// What `--hash` printed.
    #[track_caller]
    pub fn hash(&self) -> String {
        let line = self.stdout.lines().find_map(|line| line.strip_prefix("state hash: "));
        line.unwrap_or_else(|| panic!("no hash in {self:?}")).to_owned()
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command speaks UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A directory of its own for each test.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// `bathtub` with these arguments, in this directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bathtub"));
        command.args(arguments).current_dir(self.dir.path());
        command
    }

    pub fn bathtub(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).output().expect("the command starts").into()
    }

    /// The memory that `bathtub check` announces for a scene and the peak of a run, MiB; it must announce less than a GiB. Nothing where
    /// the system does not tell the peak: then it says so.
    pub fn memory(&self, scene: &str) -> Option<[f64; 2]> {
        let told = self.bathtub(&["check", scene]).stdout;
        let line =
            told.lines().find_map(|line| line.trim().strip_prefix("memory     about ")).expect("it is announced");
        let announced = line.split(" MiB").next().and_then(|n| n.parse().ok()).expect("a number of MiB");
        if !Path::new("/proc/self/status").exists() {
            eprintln!("skipped: only Linux tells the peak of a process, in /proc");
            return None;
        }
        let mut child = self.command(&["run", scene, "-q"]).spawn().expect("the command starts");
        let mut peak = 0.0;
        while child.try_wait().expect("it can be asked").is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let high = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
            peak = high.map_or(peak, |kib| kib.trim().parse::<f64>().expect("a number of KiB") / 1024.0);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Some([announced, peak])
    }

    /// `bathtub check` on a scene of this content, called `s.toml`.
    pub fn check(&self, content: impl AsRef<[u8]>) -> Answer {
        self.write("s.toml", content);
        self.bathtub(&["check", "s.toml"])
    }
}

/// `bathtub check` on a scene of this content.
pub fn check(content: impl AsRef<[u8]>) -> Answer {
    Place::new().check(content)
}
