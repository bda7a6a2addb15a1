//! What is committed and made from the source must be what the source makes.

use crate::support::Place;

#[test]
fn the_scene_reference_is_up_to_date() {
    let page = Place::new().bathtub(&["schema", "--markdown"]).stdout;
    let committed = include_str!("../../docs/scene-reference.md");
    assert!(page == committed, "refresh it with: cargo run -- schema --markdown > docs/scene-reference.md");
}

#[test]
fn the_command_page_knows_every_command_option_and_exit_code() {
    let page = include_str!("../../docs/cli.md");
    let place = Place::new();
    let help = place.bathtub(&["--help"]).stdout;
    let indented = |text: &str| -> Vec<String> {
        let words = text.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
        words.filter_map(|l| l.split_whitespace().next()).map(str::to_owned).collect()
    };
    let commands: Vec<String> =
        indented(&help).into_iter().filter(|w| w.chars().all(|c| c.is_ascii_lowercase())).collect();
    assert!(commands.iter().any(|c| c == "run") && commands.iter().any(|c| c == "schema"));
    for command in commands.iter().filter(|c| *c != "help") {
        assert!(page.contains(&format!("## `bathtub {command}")), "{command} is not on the page");
        let help = place.bathtub(&[command, "--help"]).stdout;
        for option in help.split_whitespace().filter(|w| w.starts_with("--")) {
            let option: String = option.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            assert!(page.contains(&format!("`{option}")), "{command} {option} is not on the page");
        }
    }
    for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143] {
        assert!(page.contains(&format!("| {code} |")), "exit code {code} is not on the page");
    }
}

#[test]
fn the_output_page_knows_the_checkpoint_format() {
    let page = include_str!("../../docs/output.md");
    let version = bathtub_output::checkpoint::FORMAT_VERSION;
    assert!(page.contains(&format!("| 4 | format version, {version} |")), "docs/output.md names another version");
}

#[test]
fn the_schema_is_a_schema() {
    let text = Place::new().bathtub(&["schema"]).stdout;
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["properties"]["grid"]["$ref"], "#/$defs/GridSection");
    assert_eq!(schema["additionalProperties"], false);
}
