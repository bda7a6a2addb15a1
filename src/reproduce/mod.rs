//! `bathtub reproduce`: experiments whose results are known, ours beside the reference's.

mod a18;
mod cut_cell_order;
mod martin_moyce;
mod panels;
mod plot;
mod taylor_green;
mod volume;
mod zb17;

pub use panels::Panels;
pub use plot::Plot;

use crate::args::ReproduceArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::path::Path;

/// An experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    /// Do it: in minutes, or at the reference's full size.
    pub run: fn(Size) -> Result<Report, Failure>,
}

/// How large an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// In seconds to minutes.
    Quick,
    /// As the reference did it.
    Full,
}

/// Every experiment there is.
pub const ALL: &[Experiment] = &[
    taylor_green::EXPERIMENT,
    cut_cell_order::EXPERIMENT,
    martin_moyce::EXPERIMENT,
    volume::EXPERIMENT,
    a18::TABLE_1,
    a18::TABLE_2,
    a18::FIG_9,
    a18::FIG_10,
    zb17::TABLE_2,
    zb17::STABILITY,
];

/// What an experiment found.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Report {
    /// The experiment.
    pub name: &'static str,
    /// The table.
    pub rows: Vec<Row>,
    /// What the reference claims.
    pub claims: Vec<Claim>,
    /// The table as a diagram.
    #[serde(skip)]
    pub plot: Option<Plot>,
    /// What it looks like.
    #[serde(skip)]
    pub picture: Option<Panels>,
}

/// One case: the reference's values and ours.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// Which case.
    pub case: String,
    /// What the reference says.
    pub reference: Values,
    /// What we get.
    pub ours: Values,
}

/// Named numbers, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub Vec<(&'static str, f64)>);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// A statement of the reference, and whether it holds here.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Claim {
    /// The statement, with the numbers it is about.
    pub claim: String,
    /// Whether it holds.
    pub holds: bool,
}

/// List the experiments of `all`, or run one: exit code 0 only if every claim holds.
pub fn reproduce(args: &ReproduceArgs, all: &[Experiment]) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        all.iter().for_each(|e| say(&format!("{:20} {}", e.name, e.summary)));
        return Ok(Exit::Ok);
    };
    let known = || all.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
    let unknown = || Failure::new(Exit::Usage, format!("there is no experiment \"{name}\"; there are: {}", known()));
    let experiment = all.iter().find(|e| e.name == name).ok_or_else(unknown)?;
    let report = (experiment.run)(if args.full { Size::Full } else { Size::Quick })?;
    let directory = Path::new("out/reproduce");
    let mut drawn = Vec::new();
    if let Some(plot) = &report.plot {
        drawn.push(("plot", plot.write(directory, report.name)?));
    }
    if let Some(picture) = &report.picture {
        drawn.push(("picture", picture.write(directory, &format!("{}-picture", report.name))?));
    }
    if args.json {
        say(&serde_json::to_string(&report).expect("a report always encodes"));
    } else {
        say(&table(&report));
        drawn.iter().for_each(|(what, path)| say(&format!("{what}: {}", path.display())));
    }
    let holds = report.claims.iter().all(|claim| claim.holds);
    Ok(if holds { Exit::Ok } else { Exit::ClaimFailed })
}

/// The report as text: a column per value, the reference's first, then the claims.
fn table(report: &Report) -> String {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for row in &report.rows {
        let named = |side, values: &Values| values.0.iter().map(|(name, _)| (side, *name)).collect::<Vec<_>>();
        for column in named("reference", &row.reference).into_iter().chain(named("ours", &row.ours)) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    // Both sides in the order of ours, as the reference need not have every value.
    let place = |name| report.rows.iter().find_map(|row| row.ours.0.iter().position(|(n, _)| *n == name));
    columns.sort_by_key(|(side, name)| (*side == "ours", place(*name)));
    let mut lines =
        vec![[String::from("case")].into_iter().chain(columns.iter().map(|(s, n)| format!("{s} {n}"))).collect()];
    for row in &report.rows {
        let cell = |(side, name): &(&str, &str)| {
            let values = if *side == "ours" { &row.ours } else { &row.reference };
            values.0.iter().find(|(n, _)| n == name).map_or(String::new(), |(_, value)| number(*value))
        };
        lines.push([row.case.clone()].into_iter().chain(columns.iter().map(cell)).collect::<Vec<_>>());
    }
    let widths: Vec<usize> =
        (0..=columns.len()).map(|c| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = format!("{}\n", report.name);
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate();
        let padded = cells.map(|(c, (cell, w))| if c == 0 { format!("{cell:<w$}") } else { format!("{cell:>w$}") });
        text += &format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    for claim in &report.claims {
        text += &format!("{} {}\n", if claim.holds { "holds:" } else { "FAILS:" }, claim.claim);
    }
    text.trim_end().to_owned()
}

/// Five digits, without an exponent where that reads well.
fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == value.round() && size < 1e6 => format!("{value}"),
        _ if (1e-3..1e5).contains(&size) => {
            format!("{value:.*}", (4 - size.log10().floor() as i32).clamp(0, 8) as usize)
        }
        _ => format!("{value:.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halving(size: Size) -> Result<Report, Failure> {
        let steps = if size == Size::Full { 3 } else { 2 };
        let values: Vec<f64> = (0..steps).map(|i| 0.5f64.powi(i)).collect();
        let row = |(i, value): (usize, &f64)| Row {
            case: format!("step {i}"),
            reference: Values(vec![("value", 1.0 / (1 << i) as f64)]),
            ours: Values(vec![("value", *value), ("error", 0.0)]),
        };
        let rows: Vec<Row> = values.iter().enumerate().map(row).collect();
        let claims = vec![Claim { claim: format!("{steps} values halve"), holds: size == Size::Quick }];
        Ok(Report { name: "halving", rows, claims, plot: None, picture: None })
    }

    const EXPERIMENTS: &[Experiment] = &[Experiment { name: "halving", summary: "halves", run: halving }];

    fn args(name: &str, full: bool) -> ReproduceArgs {
        ReproduceArgs { name: Some(name.into()), json: true, full }
    }

    #[test]
    fn the_exit_code_says_whether_every_claim_holds() {
        assert_eq!(reproduce(&args("halving", false), EXPERIMENTS).unwrap(), Exit::Ok);
        assert_eq!(reproduce(&args("halving", true), EXPERIMENTS).unwrap(), Exit::ClaimFailed);
        let failure = reproduce(&args("other", false), EXPERIMENTS).unwrap_err();
        assert_eq!(failure.to_string(), "there is no experiment \"other\"; there are: halving");
        assert_eq!(failure.exit, Exit::Usage);
    }

    #[test]
    fn the_json_has_rows_and_claims() {
        let json = serde_json::to_value(halving(Size::Quick).unwrap()).unwrap();
        let expected = serde_json::json!({
            "name": "halving",
            "rows": [
                { "case": "step 0", "reference": { "value": 1.0 }, "ours": { "value": 1.0, "error": 0.0 } },
                { "case": "step 1", "reference": { "value": 0.5 }, "ours": { "value": 0.5, "error": 0.0 } },
            ],
            "claims": [{ "claim": "2 values halve", "holds": true }],
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn the_table_lines_up() {
        let text = table(&halving(Size::Full).unwrap());
        let expected = "halving\n  \
            case    reference value  ours value  ours error\n  \
            step 0                1           1           0\n  \
            step 1          0.50000     0.50000           0\n  \
            step 2          0.25000     0.25000           0\n\
            FAILS: 3 values halve";
        assert_eq!(text, expected);
    }

    #[test]
    fn numbers_read_well() {
        let texts = [1234.5678, 0.012345678, 1.5e-9, 42.0, 9.999999].map(number);
        assert_eq!(texts, ["1234.6", "0.012346", "1.5000e-9", "42", "10.0000"]);
    }
}
