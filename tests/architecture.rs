//! ARCHITECTURE.md draws which modules of the engine use which: as the code has it, and without cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// All Rust files below a directory.
fn sources(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Which modules name which as `crate::…`, tests apart.
fn used() -> Graph {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/engine/src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut graph = Graph::new();
    for file in files {
        let first = file.strip_prefix(&root).unwrap().components().next().unwrap();
        let module = first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let uses = graph.entry(module.clone()).or_default();
        for part in code.split("crate::").skip(1) {
            let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if name != module {
                uses.insert(name);
            }
        }
    }
    graph
}

/// The lines `module: what it uses` under the heading, in their order.
fn drawn() -> Vec<(String, BTreeSet<String>)> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).unwrap();
    let section = page.split("## Modules").nth(1).expect("a heading \"Modules\"").split("\n## ").next().unwrap();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(':'));
    let names = |list: &str| list.split_whitespace().map(str::to_owned).collect();
    lines.map(|(module, uses)| (module.trim().to_owned(), names(uses))).collect()
}

#[test]
fn modules_use_what_is_drawn() {
    let found = used();
    let drawn = drawn();
    for (module, uses) in &drawn {
        assert_eq!(found.get(module), Some(uses), "{module}: ARCHITECTURE.md is not what the code has");
    }
    let listed: BTreeSet<&String> = drawn.iter().map(|(module, _)| module).collect();
    assert_eq!(listed, found.keys().collect(), "modules that ARCHITECTURE.md does not draw");
}

/// Every module uses only those drawn above it.
#[test]
fn there_are_no_cycles() {
    let mut above = BTreeSet::new();
    for (module, uses) in drawn() {
        let ahead: Vec<&String> = uses.difference(&above).collect();
        assert!(ahead.is_empty(), "{module} uses {ahead:?}, which are drawn below it");
        above.insert(module);
    }
    assert!(above.len() > 5, "{above:?}");
}
