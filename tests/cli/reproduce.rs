//! `bathtub reproduce` and `bathtub bench` from outside.

use crate::support::Place;

#[test]
fn experiments_are_listed() {
    let place = Place::new();
    let list = place.bathtub(&["reproduce"]).succeeds().stdout.clone();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let expected = [
        "taylor-green",
        "cut-cell-order",
        "martin-moyce",
        "volume",
        "a18/table-1",
        "a18/table-2",
        "a18/fig-9",
        "a18/fig-10",
        "zb17/table-2",
        "zb17/stability",
    ];
    assert_eq!(names, expected);
    place
        .bathtub(&["reproduce", "taylor"])
        .refuses(2, &["no experiment \"taylor\"", "taylor-green, cut-cell-order, martin-moyce, volume"]);
}

/// {name, rows: [{case, reference: {…}, ours: {…}}], claims: [{claim, holds}]}, and a plot.
#[test]
fn an_experiment_is_one_json_object_and_a_plot() {
    for (name, cases, claims) in [("cut-cell-order", 4, 5), ("taylor-green", 9, 12), ("martin-moyce", 6, 12)] {
        let place = Place::new();
        let answer = place.bathtub(&["reproduce", name, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&answer.succeeds().stdout).unwrap();
        let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let list = |key: &str| json[key].as_array().unwrap().clone();
        assert_eq!(keys(&json), ["name", "rows", "claims"]);
        assert_eq!((json["name"].as_str(), list("rows").len(), list("claims").len()), (Some(name), cases, claims));
        for row in list("rows") {
            assert_eq!(keys(&row), ["case", "reference", "ours"]);
            let ours = row["ours"].as_object().unwrap();
            assert!(!ours.is_empty() && ours.values().all(serde_json::Value::is_number), "{row}");
        }
        for claim in list("claims") {
            assert_eq!(keys(&claim), ["claim", "holds"]);
            assert_eq!(claim["holds"], true, "{claim}");
        }
        let svg = std::fs::read_to_string(place.path(&format!("out/reproduce/{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(place.path(&format!("out/reproduce/{name}-picture.svg")).is_file(), name == "martin-moyce");
    }
}

#[test]
fn an_experiment_is_a_table_in_words() {
    let place = Place::new();
    let text = place.bathtub(&["reproduce", "cut-cell-order"]).succeeds().stdout.clone();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "cut-cell-order");
    assert!(lines[1].contains("reference p_max") && lines[1].contains("ours p_max"), "{text}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("holds: ")).count(), 5, "{text}");
    assert_eq!(*lines.last().unwrap(), "plot: out/reproduce/cut-cell-order.svg");
}

#[test]
fn benchmarks_are_listed_and_a_missing_peer_is_refused_at_once() {
    let place = Place::new();
    let list = place.bathtub(&["bench"]).succeeds().stdout.clone();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    // All there are, in their order; a new benchmark belongs here, as `reduced` did when reduced bodies came.
    assert_eq!(names, ["pressure", "coupling", "elastic", "reduced", "smoke", "water", "pictures"]);
    for name in ["smoke", "water", "pictures"] {
        place.bathtub(&["bench", name, "--peer", "no.py"]).refuses(5, &["peer program no.py: no such file"]);
    }
}
