//! How the command ends: one code per kind of outcome, one line per failure.

use bathtub_bench::BenchError;
use bathtub_output::atomic::FileError;
use bathtub_output::checkpoint::CheckpointError;
use bathtub_output::run_dir::RunDirError;
use bathtub_scene::{ErrorKind, SceneError, one_line};
use std::fmt;

/// The process's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// A claim of an experiment does not hold.
    ClaimFailed = 1,
    /// The command line cannot be understood.
    Usage = 2,
    /// The scene is invalid.
    Scene = 3,
    /// A mesh is invalid.
    Geometry = 4,
    /// A file cannot be read or written.
    Io = 5,
    /// The simulation broke down: it diverged, the time step collapsed, a solve failed in strict mode, or fluid had nowhere to go.
    Numerical = 6,
    /// The machine does not have what the scene asks for.
    Resource = 7,
    /// A checkpoint is damaged or belongs to something else.
    Checkpoint = 8,
    /// A bug in Bathtub; a report was written.
    Internal = 9,
    /// Stopped by SIGINT, checkpoint written.
    Interrupted = 130,
    /// Stopped by SIGTERM, checkpoint written.
    Terminated = 143,
}

/// The exit codes, as `--help` shows them.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done                          6  the simulation broke down
  1  a claim does not hold         7  more memory or threads needed than there are
  2  wrong command line            8  damaged checkpoint, or one of another scene
  3  invalid scene                 9  a bug in Bathtub (a report was written)
  4  invalid mesh                130  stopped by SIGINT, checkpoint written
  5  cannot read or write        143  stopped by SIGTERM, checkpoint written";

impl Exit {
    /// Its name in `--json-errors`.
    fn kind(self) -> &'static str {
        match self {
            Exit::Ok => "ok",
            Exit::ClaimFailed => "claim",
            Exit::Usage => "usage",
            Exit::Scene => "scene",
            Exit::Geometry => "geometry",
            Exit::Io => "io",
            Exit::Numerical => "numerical",
            Exit::Resource => "resource",
            Exit::Checkpoint => "checkpoint",
            Exit::Internal => "internal",
            Exit::Interrupted => "interrupted",
            Exit::Terminated => "terminated",
        }
    }
}

/// Why the command could not do its work.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The code to end with.
    pub exit: Exit,
    message: String,
    scene: Option<Box<SceneError>>,
}

impl Failure {
    /// A failure that is not about a place in a scene file.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), scene: None }
    }

    /// One JSON object: code, kind, message, and file, line, column and key where they are known.
    pub fn to_json(&self) -> String {
        let mut object = serde_json::json!({
            "code": self.exit as u8,
            "kind": self.exit.kind(),
            "message": self.to_string(),
        });
        if let Some(scene) = &self.scene {
            object["file"] = scene.file.as_str().into();
            object["key"] = scene.key.as_str().into();
            if let Some((line, column)) = scene.position {
                object["line"] = line.into();
                object["column"] = column.into();
            }
        }
        object.to_string()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&one_line(&self.message))
    }
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        let exit = match error.kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Scene => Exit::Scene,
            ErrorKind::Geometry => Exit::Geometry,
            ErrorKind::Io => Exit::Io,
            ErrorKind::Resource => Exit::Resource,
        };
        Self { exit, message: error.to_string(), scene: Some(Box::new(error)) }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(Exit::Io, error.to_string())
    }
}

impl From<RunDirError> for Failure {
    fn from(error: RunDirError) -> Self {
        let exit = match error {
            RunDirError::OtherScene { .. } | RunDirError::Damaged { .. } => Exit::Checkpoint,
            _ => Exit::Io,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let exit = if matches!(error, BenchError::Peer { .. }) { Exit::Io } else { Exit::Numerical };
        Self::new(exit, error.to_string())
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        let exit = if matches!(error, CheckpointError::File(_)) { Exit::Io } else { Exit::Checkpoint };
        Self::new(exit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_error_keeps_its_place_in_json() {
        let error = SceneError {
            kind: ErrorKind::Geometry,
            file: "a.toml".into(),
            position: Some((2, 3)),
            key: "grid".into(),
            message: "no".into(),
        };
        let json: serde_json::Value = serde_json::from_str(&Failure::from(error).to_json()).unwrap();
        let expected = serde_json::json!({
            "code": 4, "kind": "geometry", "message": "a.toml:2:3: grid: no",
            "file": "a.toml", "key": "grid", "line": 2, "column": 3
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn help_lists_every_code() {
        let codes = [0u8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143];
        assert!(codes.iter().all(|code| EXIT_CODES.split_whitespace().any(|word| word == code.to_string())));
    }
}
