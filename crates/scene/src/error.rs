//! Why a scene was refused, in one line.

use std::fmt;

/// What is wrong, in the terms of the exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A change to the scene on the command line cannot be understood.
    Usage,
    /// The scene file contradicts its schema or itself.
    Scene,
    /// A mesh file's content is unusable.
    Geometry,
    /// A file cannot be read, or must not be.
    Io,
    /// The scene asks for more than the machine has.
    Resource,
}

/// A refused scene: what, where, the value, the limit, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SceneError {
    /// Class of the error.
    pub kind: ErrorKind,
    /// The file as it was named, or `--set #n`.
    pub file: String,
    /// Line, from 1, and column in characters, from 1.
    pub position: Option<(usize, usize)>,
    /// Dotted path of the key, empty if the error is about the file as a whole.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut text = shorten_front(&self.file, 100);
        if let Some((line, column)) = self.position {
            text += &format!(":{line}:{column}");
        }
        if !self.key.is_empty() {
            text += &format!(": {}", shorten_front(&self.key, 80));
        }
        f.write_str(&one_line(&format!("{text}: {}", self.message)))
    }
}

/// Longest error message, in characters.
const LONGEST: usize = 300;

/// `text` on one line of at most 300 characters, control characters escaped: what others wrote must not steer a terminal.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST - 1).collect();
        line.push('…');
    }
    line
}

/// A number as people write it, to four places; very large and very small ones with a power of ten.
pub fn short(x: f64) -> String {
    let is_plain = x == 0.0 || (1e-3..1e6).contains(&x.abs());
    if is_plain { format!("{x:.4}") } else { format!("{x:.3e}") }
}

/// The last `limit` characters of `text`; the end of a path says more than its beginning.
fn shorten_front(text: &str, limit: usize) -> String {
    let surplus = text.chars().count().saturating_sub(limit);
    if surplus == 0 { text.to_owned() } else { format!("…{}", text.chars().skip(surplus + 1).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_file_line_column_key_message() {
        let error = SceneError {
            kind: ErrorKind::Scene,
            file: "a.toml".into(),
            position: Some((3, 7)),
            key: "grid.dx".into(),
            message: "must be positive".into(),
        };
        assert_eq!(error.to_string(), "a.toml:3:7: grid.dx: must be positive");
    }

    #[test]
    fn a_hostile_message_stays_one_short_line() {
        let line = one_line(&format!("a\nb\x1b[2J{}", "x".repeat(1000)));
        assert!(line.starts_with("a b\\u{1b}[2Jxx"), "{line}");
        assert_eq!(line.chars().count(), LONGEST);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, -0.25, 1e308, 1e-7].map(short), ["0.0000", "-0.2500", "1.000e308", "1.000e-7"]);
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(shorten_front("abcdef", 4), "…def");
        assert_eq!(shorten_front("abc", 4), "abc");
    }
}
