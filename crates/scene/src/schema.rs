//! The scene tree against the JSON schema of the scene types.
//!
//! The schema comes from the types of [`mod@crate::file`] and carries their documentation, defaults and ranges. Checking
//! the tree against it, instead of leaving that to serde, gives every message its exact place and one wording.
//! Only the part of JSON Schema that schemars produces for those types is understood.

use crate::document::{Document, Entry, Node, Place, Value};
use crate::error::{ErrorKind, SceneError};
use crate::file::SceneFile;
use serde_json::Value as Json;

/// The JSON schema of scene files, for editors and for the reference page.
pub fn json_schema() -> Json {
    let mut schema = schemars::schema_for!(SceneFile).into();
    shorten_numbers(&mut schema);
    schema
}

/// Defaults of type f32 arrive with the digits of f64, as in 0.10000000149011612; write them as the source does.
fn shorten_numbers(value: &mut Json) {
    match value {
        Json::Number(number) => {
            let single =
                number.as_f64().map(|x| (x, x as f32)).filter(|(x, short)| f64::from(*short) == *x && x.fract() != 0.0);
            if let Some((_, short)) = single {
                *value = short.to_string().parse::<f64>().unwrap_or(f64::from(short)).into();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(shorten_numbers),
        Json::Object(entries) => entries.values_mut().for_each(shorten_numbers),
        _ => {}
    }
}

/// Refuse whatever in `document` the schema of scene files does not allow.
pub fn check(document: &Document) -> Result<(), SceneError> {
    let root = json_schema();
    Checker { document, root: &root }.node(&document.root, &root, "")
}

struct Checker<'a> {
    document: &'a Document,
    root: &'a Json,
}

type Checked = Result<(), SceneError>;

impl Checker<'_> {
    fn node(&self, node: &Node, schema: &Json, path: &str) -> Checked {
        if let Value::Float(x) = node.value
            && !x.is_finite()
        {
            let written = self.document.written(node.place);
            return self.refuse(node.place, path, format!("{written} is not a finite number; write a finite one"));
        }
        if let Some(reference) = schema["$ref"].as_str() {
            self.node(node, definition(self.root, reference), path)?;
        }
        for choices in ["anyOf", "oneOf"] {
            if let Some(branches) = schema[choices].as_array() {
                self.choice(node, branches, path)?;
            }
        }
        self.kind(node, schema, path)?;
        match &node.value {
            Value::Integer(i) => self.range(node, *i as f64, schema, path),
            Value::Float(x) => self.range(node, *x, schema, path),
            Value::Array(items) => self.array(node, items, schema, path),
            Value::Table(entries) if schema["properties"].is_object() => self.table(node, entries, schema, path),
            _ => Ok(()),
        }
    }

    /// The branch of an enum or of an optional value that `node` means.
    fn choice(&self, node: &Node, branches: &[Json], path: &str) -> Checked {
        let branches: Vec<&Json> = branches
            .iter()
            .filter(|b| b["type"] != "null")
            .map(|b| b["$ref"].as_str().map_or(b, |r| definition(self.root, r)))
            .collect();
        if let [only] = branches[..] {
            return self.node(node, only, path);
        }
        let names: Vec<&str> = branches.iter().flat_map(|b| variant_names(b)).collect();
        match &node.value {
            Value::String(s) if !names.is_empty() => {
                if branches.iter().any(|b| b["const"] == s.as_str() || in_enum(b, s)) {
                    return Ok(());
                }
                let hint = moved(path, s).unwrap_or_else(|| suggest(s, &names, "of"));
                self.refuse(node.place, path, format!("unknown value \"{s}\"{hint}"))
            }
            Value::Table(entries) if !names.is_empty() => {
                let [entry] = &entries[..] else {
                    let names = names.join("`, `");
                    return self.refuse(node.place, path, format!("give exactly one of `{names}`"));
                };
                match branches.iter().find(|b| b["properties"][&entry.key].is_object()) {
                    Some(branch) => self.node(node, branch, path),
                    None => {
                        let hint = suggest(&entry.key, &names, "of");
                        self.refuse(entry.place, path, format!("unknown kind `{}`{hint}", entry.key))
                    }
                }
            }
            _ => match branches.iter().find(|b| accepts(b, &node.value)) {
                Some(branch) => self.node(node, branch, path),
                None => {
                    let mut wanted: Vec<String> = branches.iter().map(|b| wanted_type(b)).collect();
                    wanted.dedup();
                    self.refuse(node.place, path, expected(&wanted.join(" or "), node))
                }
            },
        }
    }

    fn kind(&self, node: &Node, schema: &Json, path: &str) -> Checked {
        if schema["type"].is_null() || accepts(schema, &node.value) {
            return Ok(());
        }
        self.refuse(node.place, path, expected(&wanted_type(schema), node))
    }

    fn range(&self, node: &Node, value: f64, schema: &Json, path: &str) -> Checked {
        let limit = |name: &str| schema[name].as_f64();
        let inside = limit("minimum").is_none_or(|l| value >= l)
            && limit("exclusiveMinimum").is_none_or(|l| value > l)
            && limit("maximum").is_none_or(|l| value <= l)
            && limit("exclusiveMaximum").is_none_or(|l| value < l);
        if inside {
            return Ok(());
        }
        let written = self.document.written(node.place);
        self.refuse(node.place, path, format!("{written} is out of range; it must be {}", range_text(schema)))
    }

    fn array(&self, node: &Node, items: &[Node], schema: &Json, path: &str) -> Checked {
        let limit = |name: &str| schema[name].as_u64();
        let (least, most) = (limit("minItems").unwrap_or(0), limit("maxItems").unwrap_or(u64::MAX));
        let count = items.len() as u64;
        if count == 0 && least == 1 {
            return self.refuse(node.place, path, "an empty list says nothing; give a value or remove the key".into());
        }
        if count < least || count > most {
            let wanted = if least == most { format!("{least}") } else { format!("at least {least}") };
            let wanted = if count > most && least != most { format!("at most {most}") } else { wanted };
            return self.refuse(node.place, path, format!("expected {wanted} values, found {count}"));
        }
        for (i, item) in items.iter().enumerate() {
            self.node(item, &schema["items"], &join(path, &i.to_string()))?;
        }
        Ok(())
    }

    fn table(&self, node: &Node, entries: &[Entry], schema: &Json, path: &str) -> Checked {
        let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
        for Entry { key, place, node } in entries {
            match properties.get(key) {
                Some(schema) => self.node(node, schema, &join(path, key))?,
                None => {
                    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                    let hint = suggest(key, &names, "of");
                    return self.refuse(*place, path, format!("unknown key `{key}`{hint}"));
                }
            }
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if entries.iter().all(|e| e.key != name) {
                let about = properties[name]["description"].as_str().unwrap_or_default();
                let about = about.split(['.', ';', '\n']).next().unwrap_or_default();
                return self.refuse(node.place, path, format!("missing key `{name}` ({about})"));
            }
        }
        Ok(())
    }

    fn refuse(&self, place: Place, path: &str, message: String) -> Checked {
        Err(self.document.error(ErrorKind::Scene, place, path, message))
    }
}

/// The schema that `#/$defs/Name` stands for.
pub fn definition<'a>(root: &'a Json, reference: &str) -> &'a Json {
    &root["$defs"][reference.rsplit('/').next().unwrap_or_default()]
}

/// The names by which a scene chooses this branch of an enum: a string, or the one key of a table.
pub fn variant_names(branch: &Json) -> Vec<&str> {
    let listed = branch["enum"].as_array().into_iter().flatten();
    let strings = listed.chain([&branch["const"]]).filter_map(Json::as_str);
    let keys = branch["required"].as_array().filter(|r| r.len() == 1).into_iter().flatten().filter_map(Json::as_str);
    strings.chain(keys).collect()
}

/// The limits of a number in words.
pub fn range_text(schema: &Json) -> String {
    let limits = [("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")];
    let number =
        |l: f64| if l.abs() >= 1e9 { format!("{l:e}") } else { format!("{l:?}").trim_end_matches(".0").to_owned() };
    let part = |(name, sign): &(&str, &str)| schema[*name].as_f64().map(|l| format!("{sign} {}", number(l)));
    limits.iter().filter_map(part).collect::<Vec<_>>().join(" and ")
}

/// Where a value went that a key had once.
fn moved(path: &str, value: &str) -> Option<String> {
    let is_scheme = path == "pressure.solver" && ["weak", "damping-only"].contains(&value);
    is_scheme
        .then(|| format!("; how solids answer is no matter of the solver: set coupling.scheme = \"{value}\" instead"))
}

fn in_enum(branch: &Json, s: &str) -> bool {
    branch["enum"].as_array().is_some_and(|names| names.iter().any(|n| n == s))
}

fn accepts(schema: &Json, value: &Value) -> bool {
    let types = &schema["type"];
    let is = |name: &str| types == name || types.as_array().is_some_and(|list| list.iter().any(|t| t == name));
    match value {
        Value::Bool(_) => is("boolean"),
        Value::Integer(_) => is("integer") || is("number"),
        Value::Float(_) => is("number"),
        Value::String(_) => is("string"),
        Value::Date(_) => false,
        Value::Array(_) => is("array"),
        Value::Table(_) => is("object"),
    }
}

fn wanted_type(schema: &Json) -> String {
    let name = schema["type"].as_array().map_or(&schema["type"], |list| &list[0]);
    match name.as_str() {
        Some("boolean") => "true or false".into(),
        Some("integer") => "an integer".into(),
        Some("number") => "a number".into(),
        Some("string") => "a string".into(),
        Some("array") => "an array".into(),
        _ => "a table".into(),
    }
}

fn expected(wanted: &str, node: &Node) -> String {
    let found = match &node.value {
        Value::Bool(b) => format!("{b}"),
        Value::Integer(i) => format!("the integer {i}"),
        Value::Float(x) => format!("the number {x:?}"),
        Value::String(s) => format!("the string \"{}\"", s.chars().take(40).collect::<String>()),
        Value::Date(d) => format!("the date {d}"),
        Value::Array(items) => format!("an array of {} values", items.len()),
        Value::Table(_) => "a table".into(),
    };
    format!("expected {wanted}, found {found}")
}

/// The nearest name, and the list of them all where even that is far.
pub fn suggest(wrong: &str, names: &[&str], list: &str) -> String {
    match names.iter().map(|name| (distance(wrong, name), *name)).min() {
        Some((d, name)) if d <= 1 + wrong.chars().count() / 3 => format!("; did you mean `{name}`?"),
        Some((_, name)) => format!("; nearest is `{name}`, {list} `{}`", names.join("`, `")),
        None => "; nothing may be written here".into(),
    }
}

/// Edit distance: insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, case ignored.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|s| s.to_lowercase().chars().take(64).collect::<Vec<char>>());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: &str = "[grid]\ncells = [4, 4, 4]\ndx = 0.1\n";

    fn refusal(text: &str) -> String {
        let document = Document::parse("s.toml", text.as_bytes().to_vec()).unwrap();
        check(&document).unwrap_err().to_string()
    }

    #[test]
    fn distances() {
        assert_eq!(distance("desnity", "density"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("Color", "colour"), 1);
    }

    #[test]
    fn a_complete_scene_passes() {
        let text = format!("{GRID}[walls]\ny_max = \"open\"\nx_min = {{ inflow = {{ velocity = [1, 0, 0] }} }}\n");
        check(&Document::parse("s.toml", text.into_bytes()).unwrap()).unwrap();
    }

    #[test]
    fn a_misspelt_key_gets_the_nearest_one() {
        let text = format!("{GRID}[smoke]\n  air_desnity = 1");
        assert_eq!(refusal(&text), "s.toml:5:3: smoke: unknown key `air_desnity`; did you mean `air_density`?");
        assert!(
            refusal(&format!("{GRID}[smoke]\nabc = 1"))
                .contains("unknown key `abc`; nearest is `trace`, of `air_density`")
        );
        let wall = format!("{GRID}[walls]\nx_min = \"clsed\"");
        assert_eq!(refusal(&wall), "s.toml:5:9: walls.x_min: unknown value \"clsed\"; did you mean `closed`?");
        let shape = format!("{GRID}[[source]]\nshape = {{ spere = {{ radius = 1 }} }}");
        assert_eq!(refusal(&shape), "s.toml:5:11: source.0.shape: unknown kind `spere`; did you mean `sphere`?");
    }

    #[test]
    fn wrong_types_name_both_types() {
        assert_eq!(refusal("[grid]\ncells = 4"), "s.toml:2:9: grid.cells: expected an array, found the integer 4");
        assert_eq!(refusal("[grid]\ncells = [4, 4]"), "s.toml:2:9: grid.cells: expected 3 values, found 2");
        assert_eq!(
            refusal("[grid]\ncells = [4, 4, 1.5]"),
            "s.toml:2:16: grid.cells.2: expected an integer, found the number 1.5"
        );
        assert_eq!(refusal("grid = \"a\""), "s.toml:1:8: grid: expected a table, found the string \"a\"");
        let scale = format!("{GRID}[[obstacle]]\nshape.mesh = {{ path = \"a\", scale = true }}");
        assert!(refusal(&scale).ends_with("scale: expected a number or an array, found true"), "{}", refusal(&scale));
    }

    #[test]
    fn missing_keys_are_explained() {
        assert_eq!(refusal(""), "s.toml:1:1: missing key `grid` (The domain and its resolution)");
        let shape = format!("{GRID}[[source]]\nshape = {{ sphere = {{ }} }}");
        assert_eq!(refusal(&shape), "s.toml:5:20: source.0.shape.sphere: missing key `radius` (Radius, m)");
    }

    #[test]
    fn numbers_are_finite_and_in_range() {
        for bad in ["nan", "inf", "-inf", "1e400", "-1e400"] {
            let text = format!("[grid]\ncells = [4, 4, 4]\ndx = {bad}");
            assert!(refusal(&text).contains(&format!("grid.dx: {bad} is not a finite number")), "{}", refusal(&text));
        }
        for bad in ["0", "-0", "-0.0", "-1", "5e-324"] {
            let text = format!("[grid]\ncells = [4, 4, 4]\ndx = {bad}");
            assert!(refusal(&text).contains(&format!("grid.dx: {bad} is out of range; it must be ≥ 1e-12")));
        }
        let text = format!("{GRID}[time]\ncfl = 0");
        assert_eq!(refusal(&text), "s.toml:5:7: time.cfl: 0 is out of range; it must be > 0");
    }
}
