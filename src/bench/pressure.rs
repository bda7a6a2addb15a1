//! `bathtub bench pressure`: the measurement is `bathtub_bench::pressure`'s, this prints it.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::pressure::{self, Options, Row};

/// Measure and print: a line a case, or a JSON object a case.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let options = Options { runs: args.runs as usize, peer: args.peer.clone(), all: args.all };
    let rows = pressure::run(&options)?;
    for row in &rows {
        say(&if args.json { serde_json::to_string(row).expect("a row always encodes") } else { line(row) });
    }
    Ok(Exit::Ok)
}

fn line(row: &Row) -> String {
    let Row { problem, rhs, setup_s, solve_s, iterations, residual, bytes_per_cell, achieved_gbs, stream_gbs, .. } =
        row;
    let [nx, ny, nz] = row.dims;
    let ours = format!("{problem:22} {nx}x{ny}x{nz} {rhs:8} setup {setup_s:.4} s, solve {solve_s:.4} s");
    let work = format!("{iterations} iterations to {residual:.1e}, {bytes_per_cell:.0} bytes per cell");
    let speed = format!("{achieved_gbs:.1} of {stream_gbs:.1} GB/s");
    let peer = row.peer.map(|p| {
        let (setup, solve, iterations) = (p.peer_setup_s, p.peer_solve_s, p.peer_iterations);
        format!("; peer: {setup:.4} s, {solve:.4} s, {iterations} iterations, {:.2} times ours", p.speedup)
    });
    format!("{ours}, {work}, {speed}{}", peer.unwrap_or_default())
}
