//! `--set key=value`: changes to a scene from the command line.
//!
//! A key is a dotted path; an element of a list is named by its number from 0 or by its `name`:
//! `grid.cells=[32,48,32]`, `obstacle.0.position=[0,1,0]`, `obstacle.ball.colour=[1,0,0]`. A value is TOML; a bare word
//! is taken as a string.

use crate::document::{Document, Entry, Node, Place, Value};
use crate::error::{ErrorKind, SceneError};
use crate::schema::suggest;

/// Longest key, bytes: names of bodies are part of it.
const LONGEST_KEY: usize = 1000;

/// Apply the `--set` arguments in order.
pub fn apply(document: &mut Document, arguments: &[String]) -> Result<(), SceneError> {
    for argument in arguments {
        let source = document.sources.len();
        document.sources.push((format!("--set #{source}"), argument.clone()));
        let place = Place { source, offset: 0 };
        let refuse = |document: &Document, offset, message: &str| {
            document.error(ErrorKind::Scene, Place { source, offset }, "", message)
        };
        let Some((path, written)) = argument.split_once('=') else {
            return Err(refuse(document, 0, "expected key=value, for example grid.cells=[32,48,32]"));
        };
        if path.len() > LONGEST_KEY {
            let message =
                format!("the key has {} bytes, no key of a scene has {LONGEST_KEY}; write key=value", path.len());
            return Err(document.error(ErrorKind::Usage, place, "", message));
        }
        if path.split('.').any(|segment| segment.trim().is_empty()) {
            return Err(refuse(document, 0, "the key is empty; write section.key=value, for example time.frames=10"));
        }
        let value = parse_value(document, source, path.len() + 1, written)?;
        insert(&mut document.root, path, 0, place, value).map_err(|(offset, why)| refuse(document, offset, &why))?;
    }
    Ok(())
}

/// The TOML value in the argument after `start`, with places in the argument.
fn parse_value(document: &mut Document, source: usize, start: usize, written: &str) -> Result<Node, SceneError> {
    let word = written.trim();
    let bare = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !["true", "false", "nan", "inf"].contains(&word);
    if bare {
        return Ok(Node { place: Place { source, offset: start }, value: Value::String(word.to_owned()) });
    }
    // The key is blanked out, not cut off, so that offsets stay those of the argument.
    let argument = document.sources[source].1.clone();
    document.sources[source].1 = format!("{:width$}={written}", "v", width = start - 1);
    let parsed = document.parse_source(source);
    document.sources[source].1 = argument;
    match parsed?.value {
        Value::Table(mut entries) if entries.len() == 1 => Ok(entries.remove(0).node),
        _ => Err(document.error(ErrorKind::Scene, Place { source, offset: start }, "", "expected one value")),
    }
}

/// Put `value` at the dotted path that starts at byte `from` of `path`; tables on the way are made if they are missing.
fn insert(node: &mut Node, path: &str, from: usize, place: Place, value: Node) -> Result<(), (usize, String)> {
    let segment = path[from..].split('.').next().unwrap_or_default();
    let rest = from + segment.len() + 1;
    let last = rest > path.len();
    let name = segment.trim();
    let slot = match &mut node.value {
        Value::Table(entries) => {
            let index = entries.iter().position(|e| e.key == name).unwrap_or_else(|| {
                let place = Place { offset: from, ..place };
                let node = Node { place, value: Value::Table(Vec::new()) };
                entries.push(Entry { key: name.to_owned(), place, node });
                entries.len() - 1
            });
            if last {
                entries[index].place = Place { offset: from, ..place };
            }
            &mut entries[index].node
        }
        Value::Array(items) => {
            let count = items.len();
            let index =
                name.parse::<usize>().ok().or_else(|| items.iter().position(|item| name_of(item) == Some(name)));
            let names: Vec<&str> = items.iter().filter_map(name_of).collect();
            let hint = if names.is_empty() { "; count from 0".into() } else { suggest(name, &names, "of") };
            let missing = (from, format!("no element `{name}` in this list of {count}{hint}"));
            index.and_then(|i| items.get_mut(i)).ok_or(missing)?
        }
        _ => return Err((from, format!("`{}` is a single value and has no key `{name}`", &path[..from.max(1) - 1]))),
    };
    if last {
        *slot = value;
        return Ok(());
    }
    insert(slot, path, rest, place, value)
}

/// What an element of a list is called.
fn name_of(node: &Node) -> Option<&str> {
    let Value::Table(entries) = &node.value else { return None };
    entries.iter().find(|e| e.key == "name").and_then(|e| match &e.node.value {
        Value::String(name) => Some(&name[..]),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[grid]\ncells = [4, 4, 4]\n[[obstacle]]\nname = \"ball\"\nposition = [0, 0, 0]\n";

    fn set(arguments: &[&str]) -> Result<serde_json::Value, String> {
        let mut document = Document::parse("s.toml", TEXT.into()).unwrap();
        let arguments: Vec<String> = arguments.iter().map(|s| s.to_string()).collect();
        apply(&mut document, &arguments).map_err(|e| e.to_string())?;
        Ok(document.root.to_json())
    }

    #[test]
    fn values_replace_and_add() {
        let scene =
            set(&["grid.cells.1=9", "grid.dx=0.5", "obstacle.ball.position=[1,2,3]", "pressure.solver=cg"]).unwrap();
        assert_eq!(scene["grid"]["cells"], serde_json::json!([4, 9, 4]));
        assert_eq!(scene["grid"]["dx"], 0.5);
        assert_eq!(scene["obstacle"][0]["position"], serde_json::json!([1, 2, 3]));
        assert_eq!(scene["pressure"]["solver"], "cg");
    }

    #[test]
    fn mistakes_are_located_in_the_argument() {
        assert_eq!(
            set(&["grid.dx=1", "grid.cells"]).unwrap_err(),
            "--set #2:1:1: expected key=value, for example grid.cells=[32,48,32]"
        );
        assert_eq!(set(&["grid.dx=[1,"]).unwrap_err(), "--set #1:1:12: TOML syntax: unclosed array, expected `]`");
        assert!(set(&["obstacle.bal.position=1"]).unwrap_err().ends_with("list of 1; did you mean `ball`?"));
        assert!(set(&["obstacle.cube.position=1"]).unwrap_err().starts_with("--set #1:1:10: no element `cube`"));
        assert!(set(&["grid.cells.0.x=1"]).unwrap_err().contains("`grid.cells.0` is a single value"));
        assert!(set(&["=1"]).unwrap_err().contains("the key is empty"));
    }

    #[test]
    fn a_key_of_any_length_is_answered() {
        for key in ["a".repeat(70_000), "a.".repeat(70_000) + "a", "a".repeat(1001)] {
            let error = set(&[&format!("{key}=[1]")]).unwrap_err();
            assert!(error.contains(&format!("the key has {} bytes", key.len())), "{error}");
        }
        assert!(set(&[&format!("grid.{}=1", "a".repeat(900))]).is_ok());
    }

    #[test]
    fn a_value_cannot_smuggle_in_further_keys() {
        assert!(set(&["grid.dx=1\nx=2"]).unwrap_err().contains("expected one value"));
    }
}
