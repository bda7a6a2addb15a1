//! Words to the user. A closed pipe or terminal is no reason to stop a simulation, so errors of writing are dropped.

use std::io::{Write, stderr, stdout};

/// A line on standard output: what was asked for.
pub fn say(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}

/// A line on standard error: progress, warnings, errors.
pub fn complain(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}
