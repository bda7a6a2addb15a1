//! `bathtub bench smoke`: the measurement is `bathtub_bench::smoke`'s, this prints it.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::smoke::{self, Options, Row};

/// Measure and print: a table a case, or a JSON object a case.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let options = Options { runs: args.runs as usize, peer: args.peer.clone(), all: args.all };
    for row in smoke::run(&options)? {
        say(&if args.json { serde_json::to_string(&row).expect("a row always encodes") } else { table(&row) });
    }
    Ok(Exit::Ok)
}

fn table(row: &Row) -> String {
    let Row { problem, step_ms, iterations, residual, cfl, peak_mb, stream_gbs, .. } = row;
    let [nx, ny, nz] = row.dims;
    let millions = row.cells_per_s / 1e6;
    let mut text = format!("{problem} {nx}x{ny}x{nz}: a step {step_ms:.1} ms, {millions:.1} million cells/s\n");
    for (stage, ms) in &row.stages_ms {
        text += &format!("  {stage:16} {ms:8.1} ms {:4.0} %\n", 100.0 * ms / step_ms);
    }
    text += &format!("  {iterations} pressure iterations to {residual:.1e}, CFL up to {cfl:.1}, ");
    text += &format!("{peak_mb:.0} MB, memory at {stream_gbs:.1} GB/s");
    if let Some(peer) = &row.peer {
        let (version, ms, speedup) = (&peer.peer_version, peer.peer_step_ms, peer.speedup);
        text += &format!("\n  Blender {version}: fastest substep {ms:.0} ms, {speedup:.2} times ours");
    }
    text
}
