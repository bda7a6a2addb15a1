//! The reference page of scene files, made from the JSON schema and hence from the types.

use crate::schema::{definition, json_schema, range_text, variant_names};
use serde_json::Value as Json;
use std::fmt::Write;

const OPENING: &str = "\
# Scene files

A scene is one TOML file. Unknown keys are refused, so a misspelt key never passes unnoticed. Lengths are in metres,
times in seconds, angles in degrees, temperatures in kelvin above ambient; y is up. `[grid]` is the only section that
must be there. A scene is one of smoke, unless a `[water]` section or a `[[liquid]]` makes it one of water. Editors that
know JSON Schema can use what `bathtub schema` prints.

This page is made from the source code: `bathtub schema --markdown` prints it.
";

/// The page, in Markdown.
pub fn reference_page() -> String {
    let root = json_schema();
    let mut page = Page { root: &root, text: OPENING.to_owned(), types: Vec::new() };
    for (name, property) in root["properties"].as_object().into_iter().flatten() {
        let list = property["type"] == "array";
        let section = if list { &property["items"] } else { property };
        let heading = if list { format!("`[[{name}]]`") } else { format!("`[{name}]`") };
        page.section(&heading, resolve(&root, section));
    }
    // Types that sections use; describing one may add more at the end.
    let mut next = 0;
    while next < page.types.len() {
        let name = page.types[next].clone();
        page.section(&title(&name), &root["$defs"][&name]);
        next += 1;
    }
    page.text
}

struct Page<'a> {
    root: &'a Json,
    text: String,
    types: Vec<String>,
}

impl Page<'_> {
    fn section(&mut self, heading: &str, schema: &Json) {
        self.line(&format!("\n## {heading}\n\n{}\n", description(schema)));
        match schema["oneOf"].as_array() {
            Some(branches) => branches.iter().for_each(|branch| self.variant(branch)),
            None => self.keys(schema),
        }
    }

    /// One choice of an enum: a bullet, and its keys if it has any.
    fn variant(&mut self, branch: &Json) {
        let names = variant_names(branch);
        let keys = names.first().map_or(&Json::Null, |name| resolve(self.root, &branch["properties"][*name]));
        self.line(&format!("- `{}`: {}", names.join("`, `"), description(branch)));
        for (key, property) in keys["properties"].as_object().into_iter().flatten() {
            let (kind, default, range) = (self.kind(property), self.default(keys, key), range(property));
            let limits = if range.is_empty() { String::new() } else { format!(", {range}") };
            self.line(&format!("  - `{key}` ({kind}{limits}; {default}): {}", description(property)));
        }
    }

    fn keys(&mut self, schema: &Json) {
        self.line("| key | type | default | range | meaning |\n|---|---|---|---|---|");
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let (kind, default, range) = (self.kind(property), self.default(schema, key), range(property));
            self.line(&format!("| `{key}` | {kind} | {default} | {range} | {} |", description(property)));
        }
    }

    /// The type of a property in words; types with a section of their own become links to it.
    fn kind(&mut self, property: &Json) -> String {
        let branches = property["anyOf"].as_array().into_iter().flatten();
        let reference = std::iter::once(property).chain(branches).find_map(|s| s["$ref"].as_str());
        if let Some(reference) = reference {
            let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
            let link = format!("[{}](#{})", title(&name), title(&name).to_lowercase().replace(' ', "-"));
            if !self.types.contains(&name) {
                self.types.push(name);
            }
            return link;
        }
        if let Some(branches) = property["anyOf"].as_array() {
            return branches.iter().map(|branch| self.kind(branch)).collect::<Vec<_>>().join(" or ");
        }
        let name = property["type"].as_array().map_or(&property["type"], |list| &list[0]);
        match name.as_str() {
            Some("boolean") => "true or false".into(),
            Some("array") => {
                let item = self.kind(&property["items"]);
                match property["minItems"].as_u64().filter(|n| property["maxItems"].as_u64() == Some(*n)) {
                    Some(count) => format!("{count} {item}s"),
                    None => format!("list of {item}"),
                }
            }
            Some(name) => name.into(),
            None => "value".into(),
        }
    }

    fn default(&self, schema: &Json, key: &str) -> String {
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == key));
        match &schema["properties"][key]["default"] {
            _ if required => "**required**".into(),
            Json::Null => "see text".into(),
            Json::Object(defaults) => self.table_default(&schema["properties"][key], defaults),
            Json::String(s) if s.is_empty() => "empty".into(),
            value => format!("`{}`", value.to_string().replace(',', ", ")),
        }
    }

    /// A section's default: nothing to say, unless it differs from the defaults of the section's own keys.
    fn table_default(&self, property: &Json, defaults: &serde_json::Map<String, Json>) -> String {
        let keys = &resolve(self.root, property)["properties"];
        let differs = |(key, value): &(&String, &Json)| !value.is_null() && keys[key.as_str()]["default"] != **value;
        let entry = |(key, value): (&String, &Json)| format!("{key} = {}", value.to_string().replace(',', ", "));
        let different: Vec<String> = defaults.iter().filter(differs).map(entry).collect();
        if different.is_empty() { "as below".into() } else { format!("`{}`", different.join(", ")) }
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("a string takes any text");
    }
}

/// The type behind a reference, which is one of two choices where the value may be left out.
fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let branches = schema["anyOf"].as_array().into_iter().flatten();
    let reference = std::iter::once(schema).chain(branches).find_map(|s| s["$ref"].as_str());
    reference.map_or(schema, |reference| definition(root, reference))
}

fn description(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// Limits of a number, or of the numbers in a list.
fn range(property: &Json) -> String {
    let item = &property["items"];
    [property, item, &property["anyOf"][0]]
        .map(range_text)
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// `WallEntry` → `Wall`, `PoseKey` → `Pose key`.
fn title(name: &str) -> String {
    let name = name.trim_end_matches("Section").trim_end_matches("Entry").trim_end_matches("Name");
    let mut text = String::new();
    for (i, c) in name.chars().enumerate() {
        match c {
            c if c.is_uppercase() && i > 0 => text.extend([' '].into_iter().chain(c.to_lowercase())),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_schema_is_on_the_page() {
        let page = reference_page();
        let mut keys = 0;
        let root = json_schema();
        for schema in root["$defs"].as_object().unwrap().values() {
            for key in schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
                assert!(
                    page.contains(&format!("| `{key}` |")) || page.contains(&format!("- `{key}` (")),
                    "{key} is missing"
                );
                keys += 1;
            }
        }
        assert!(keys > 50);
    }

    #[test]
    fn every_key_is_explained() {
        let root = json_schema();
        for (name, schema) in root["$defs"].as_object().unwrap() {
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{name}.{key} has no description");
            }
        }
    }
}
