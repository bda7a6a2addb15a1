//! TOML text → a tree of values that know where they were written.
//!
//! Positions survive here, and only here: the typed scene has none, so later gates name a key path and ask the
//! document where that is.

use crate::error::{ErrorKind, SceneError};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Largest scene file, bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// Where a value was written: in which text and at which byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 for the file, n for the n-th `--set`.
    pub source: usize,
    /// Byte offset.
    pub offset: usize,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    String(String),
    Date(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key, where it was written, and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

/// The scene as written, with every text it came from.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name and content of each text.
    pub sources: Vec<(String, String)>,
    pub root: Node,
}

impl Document {
    /// Read and parse a file; nothing larger than [`MAX_FILE`] and nothing but a regular file is opened.
    pub fn read(path: &Path) -> Result<Self, SceneError> {
        let name = path.display().to_string();
        let fail = |kind, message: String| SceneError {
            kind,
            file: name.clone(),
            position: None,
            key: String::new(),
            message,
        };
        let io = |error: std::io::Error| fail(ErrorKind::Io, format!("cannot read the scene file: {error}"));
        let info = std::fs::metadata(path).map_err(io)?;
        if !info.is_file() {
            return Err(fail(ErrorKind::Io, "a scene file must be a regular file".into()));
        }
        let too_large = |size: u64| {
            let fix = "a scene names its geometry, it does not contain it";
            fail(
                ErrorKind::Scene,
                format!("{size} bytes are too many for a scene file (limit {MAX_FILE} bytes); {fix}"),
            )
        };
        if info.len() > MAX_FILE {
            return Err(too_large(info.len()));
        }
        let mut bytes = Vec::new();
        File::open(path).and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes)).map_err(io)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(too_large(bytes.len() as u64));
        }
        Self::parse(&name, bytes)
    }

    /// Parse the content of a file called `name`. A leading byte order mark is accepted.
    pub fn parse(name: &str, bytes: Vec<u8>) -> Result<Self, SceneError> {
        let (text, broken) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(at))
            }
        };
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let root = Node { place: Place { source: 0, offset: 0 }, value: Value::Table(Vec::new()) };
        let mut document = Self { sources: vec![(name.to_owned(), text)], root };
        if let Some(offset) = broken {
            let message = "this byte is not UTF-8; save the file as UTF-8 text";
            return Err(document.error(ErrorKind::Scene, Place { source: 0, offset }, "", message));
        }
        document.root = document.parse_source(0)?;
        Ok(document)
    }

    /// Parse text number `source`.
    pub fn parse_source(&self, source: usize) -> Result<Node, SceneError> {
        let table = DeTable::parse(&self.sources[source].1).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.error(ErrorKind::Scene, Place { source, offset }, "", format!("TOML syntax: {}", error.message()))
        })?;
        Ok(Node { place: Place { source, offset: 0 }, value: convert_table(table.get_ref(), source) })
    }

    /// An error about what stands at `place`.
    pub fn error(&self, kind: ErrorKind, place: Place, key: &str, message: impl Into<String>) -> SceneError {
        let (name, text) = &self.sources[place.source];
        let before = &text[..text.floor_char_boundary(place.offset.min(text.len()))];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        SceneError {
            kind,
            file: name.clone(),
            position: Some((line, column)),
            key: key.to_owned(),
            message: message.into(),
        }
    }

    /// An error about the key at a dotted path such as `obstacle.2.shape`; about its nearest written ancestor if it has
    /// a default.
    pub fn error_at(&self, kind: ErrorKind, path: &str, message: impl Into<String>) -> SceneError {
        let mut node = &self.root;
        for segment in path.split('.') {
            let next = match &node.value {
                Value::Table(entries) => entries.iter().find(|e| e.key == segment).map(|e| &e.node),
                Value::Array(items) => segment.parse::<usize>().ok().and_then(|i| items.get(i)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        self.error(kind, node.place, path, message)
    }

    /// The token at `place` as it was written.
    pub fn written(&self, place: Place) -> &str {
        let text = &self.sources[place.source].1[place.offset..];
        text.split([' ', '\t', '\r', '\n', ',', ']', '}', '#']).next().unwrap_or(text)
    }
}

impl Node {
    /// The JSON value that serde reads; dates become strings.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Bool(b) => (*b).into(),
            Value::Integer(i) => (*i).into(),
            Value::Float(x) => (*x).into(),
            Value::String(s) | Value::Date(s) => s.as_str().into(),
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(entries) => entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect(),
        }
    }
}

/// The entries of a TOML table in the order in which they were written.
fn convert_table(table: &DeTable, source: usize) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            place: Place { source, offset: key.span().start },
            node: Node { place: Place { source, offset: value.span().start }, value: convert(value.get_ref(), source) },
        })
        .collect();
    entries.sort_by_key(|e| e.place.offset);
    Value::Table(entries)
}

/// One TOML value. Numbers too large for their type become infinite or floating-point; the schema refuses those.
fn convert(value: &DeValue, source: usize) -> Value {
    match value {
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Datetime(d) => Value::Date(d.to_string()),
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => Value::Float(i.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Array(items) => Value::Array(
            items
                .iter()
                .map(|v| Node { place: Place { source, offset: v.span().start }, value: convert(v.get_ref(), source) })
                .collect(),
        ),
        DeValue::Table(table) => convert_table(table, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Document, String> {
        Document::parse("s.toml", text.as_bytes().to_vec()).map_err(|e| e.to_string())
    }

    #[test]
    fn syntax_errors_have_positions() {
        assert_eq!(parse("[grid]\na = [1\n").unwrap_err(), "s.toml:2:7: TOML syntax: unclosed array, expected `]`");
        assert_eq!(parse("a = 1\na = 2").unwrap_err(), "s.toml:2:1: TOML syntax: duplicate key");
    }

    #[test]
    fn a_byte_order_mark_is_accepted_and_does_not_shift_columns() {
        assert_eq!(parse("\u{feff}a = 1\na = 2").unwrap_err(), "s.toml:2:1: TOML syntax: duplicate key");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_located() {
        let error = Document::parse("s.toml", b"a = 1\nb = \xff".to_vec()).unwrap_err();
        assert!(error.to_string().starts_with("s.toml:2:5: this byte is not UTF-8"), "{error}");
    }

    #[test]
    fn nesting_is_limited() {
        for text in ["a=".to_owned() + &"[".repeat(100_000), "a.".repeat(100_000) + "a=1", "[".repeat(100_000)] {
            assert!(parse(&text).is_err());
        }
    }

    #[test]
    fn a_path_is_located_as_far_as_it_was_written() {
        let document = parse("[grid]\ncells = [1,\n  2]\n").unwrap();
        let at = |path: &str| document.error_at(ErrorKind::Scene, path, "").position.unwrap();
        assert_eq!(at("grid.cells.1"), (3, 3));
        assert_eq!(at("grid.dx"), at("grid"));
    }
}
