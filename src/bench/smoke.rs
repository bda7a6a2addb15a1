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

#[cfg(test)]
mod tests {
    use super::*;
    use bathtub_bench::smoke::{Peer, measure};

    #[test]
    fn a_row_has_every_figure_in_json_and_in_words() {
        let mut row = measure(12, 1, None).unwrap();
        let json = serde_json::to_value(&row).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let own = ["problem", "dims", "cells", "threads", "steps", "setup_s", "step_ms", "stages_ms", "cells_per_s"];
        let work = ["iterations", "residual", "cfl", "peak_mb", "bytes_per_cell", "stream_gbs", "commit", "cpu"];
        assert_eq!(keys, own.into_iter().chain(work).collect::<Vec<_>>());
        assert!(json["stages_ms"]["pressure"].as_f64().unwrap() > 0.0);

        let (peer_step_ms, speedup) = (3500.0, 5.0);
        let peer = Peer { peer_step_ms, speedup, peer_frames_ms: vec![3500.0], peer_version: "3.4.1".into() };
        row.peer = Some(peer);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!((&json["peer_step_ms"], &json["speedup"]), (&3500.0.into(), &5.0.into()));
        let text = table(&row);
        assert!(text.contains("12x12x12") && text.contains("pressure "), "{text}");
        assert!(text.ends_with("Blender 3.4.1: fastest substep 3500 ms, 5.00 times ours"), "{text}");
    }
}
