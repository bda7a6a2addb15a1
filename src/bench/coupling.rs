//! `bathtub bench coupling`: the measurement is `bathtub_bench::coupling`'s, this prints it.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::coupling::{self, Row};

/// Measure and print: a line a case, or a JSON object a case.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    for row in &coupling::run(args.runs as usize)? {
        say(&if args.json { serde_json::to_string(row).expect("a row always encodes") } else { line(row) });
    }
    Ok(Exit::Ok)
}

fn line(row: &Row) -> String {
    let [nx, ny, nz] = row.dims;
    let Row { bodies, interface, cost, .. } = row;
    cost.line(&format!("{bodies:2} bodies, {interface:9} {nx}x{ny}x{nz}"))
}
