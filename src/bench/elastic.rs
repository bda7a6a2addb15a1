//! `bathtub bench elastic`: the measurement is `bathtub_bench::elastic`'s, this prints it.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::elastic::{self, Row};

/// Measure and print: a line a case, or a JSON object a case.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    for row in &elastic::run(args.runs as usize)? {
        say(&if args.json { serde_json::to_string(row).expect("a row always encodes") } else { line(row) });
    }
    Ok(Exit::Ok)
}

fn line(row: &Row) -> String {
    let Row { youngs_modulus, density_ratio, tolerance, vertices, setup_s, solve_s, iterations, .. } = row;
    let case =
        format!("{youngs_modulus:.0e} Pa, density ratio {density_ratio:4}, {vertices} vertices, {tolerance:.0e}");
    let ours = format!("setup {setup_s:.3} s, solve {solve_s:.3} s, {iterations} iterations");
    let plain = format!(
        "without the body {:.3} s, {:.3} s, {} iterations",
        row.plain_setup_s, row.plain_solve_s, row.plain_iterations
    );
    let ratio = format!("{:.2} times as long", row.ratio);
    let step = format!("{:.2} with the body's own step of {:.3} s", row.ratio_with_step, row.body_step_s);
    format!("{case}: {ours}; {plain}; {ratio}, {step}")
}
