//! `bathtub bench reduced`: the measurement is `bathtub_bench::reduced`'s, this prints it.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::reduced::{self, Row};

/// Measure and print: a line a case, or a JSON object a case.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let json = |row: &Row| serde_json::to_string(row).expect("a row always encodes");
    reduced::run(args.runs as usize, |row| say(&if args.json { json(row) } else { line(row) }))?;
    Ok(Exit::Ok)
}

fn line(row: &Row) -> String {
    let [nx, ny, nz] = row.dims;
    let Row { case, youngs_modulus, density_ratio, columns, cost, .. } = row;
    cost.line(&format!("{case}, {nx}x{ny}x{nz}, E {youngs_modulus:.0e} Pa, density {density_ratio}, {columns} columns"))
}
