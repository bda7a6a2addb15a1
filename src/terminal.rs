//! Words to the user. A closed pipe or terminal is no reason to stop a simulation; but what was asked for and could not be
//! written, on a full disk say, is an error in the end.

use crate::exit::{Exit, Failure};
use bathtub_scene::one_line;
use std::io::{self, ErrorKind, Write, stderr, stdout};
use std::sync::{Mutex, OnceLock};

/// How to speak.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// Errors and warnings as JSON.
    pub json: bool,
    /// No warnings.
    pub quiet: bool,
}

static MANNER: OnceLock<Manner> = OnceLock::new();
/// Why a line of standard output was lost, if one was.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// From now on, speak like this.
pub fn speak(manner: Manner) {
    let _ = MANNER.set(manner);
}

/// A line on standard output: what was asked for.
pub fn say(text: &str) {
    keep(writeln!(stdout(), "{text}"));
}

/// A line on standard error: progress, errors.
pub fn complain(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// A warning on standard error, unless nobody wants to hear it.
pub fn warn(text: &str) {
    if !manner().quiet {
        complain(&warning(text));
    }
}

/// A warning as a line of its own.
pub fn warning(text: &str) -> String {
    let text = one_line(text);
    match manner().json {
        true => serde_json::json!({ "kind": "warning", "message": text }).to_string(),
        false => format!("warning: {text}"),
    }
}

/// Whether all that was said has arrived; a reader who went away did so knowingly.
pub fn finish() -> Result<(), Failure> {
    keep(stdout().flush());
    match LOST.lock().ok().and_then(|mut lost| lost.take()) {
        Some(error) => Err(Failure::new(Exit::Io, format!("cannot write to standard output: {error}"))),
        None => Ok(()),
    }
}

fn manner() -> Manner {
    MANNER.get().copied().unwrap_or_default()
}

/// Remember the first failure to write.
fn keep(written: io::Result<()>) {
    if let (Err(error), Ok(mut lost)) = (written, LOST.lock())
        && error.kind() != ErrorKind::BrokenPipe
    {
        lost.get_or_insert(error);
    }
}
