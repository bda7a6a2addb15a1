//! `bathtub bench water`: the measurement is `bathtub_bench::water`'s, this prints it.

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_bench::water::{self, Options, Row};

/// Measure and print: a table a case, or a JSON object a case.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let options = Options { runs: args.runs as usize, peer: args.peer.clone(), all: args.all };
    for row in water::run(&options)? {
        say(&if args.json { serde_json::to_string(&row).expect("a row always encodes") } else { table(&row) });
    }
    Ok(Exit::Ok)
}

fn table(row: &Row) -> String {
    let Row { problem, frame_ms, step_ms, iterations, residual, cfl, peak_mb, stream_gbs, .. } = row;
    let [nx, ny, nz] = row.dims;
    let (thousands, millions) = (row.particles as f64 / 1e3, row.particles_per_s / 1e6);
    let mut text = format!("{problem} {nx}x{ny}x{nz}, {thousands:.0} thousand particles: a frame {frame_ms:.0} ms, ");
    text += &format!("a step {step_ms:.1} ms, {millions:.2} million particles/s\n");
    for (stage, ms) in &row.stages_ms {
        text += &format!("  {stage:16} {ms:8.1} ms {:4.0} %\n", 100.0 * ms / step_ms);
    }
    text += &format!("  {:.1} steps a frame, CFL up to {cfl:.1}, ", row.steps as f64 / row.frames as f64);
    text += &format!("{iterations:.1} pressure iterations to {residual:.1e}, ");
    text += &format!("volume changed by {:.2} %\n", 100.0 * row.volume_drift);
    text += &format!("  {peak_mb:.0} MB, {:.0} bytes a particle, ", row.bytes_per_particle);
    text += &format!("memory at {stream_gbs:.1} GB/s");
    if let Some(peer) = &row.peer {
        let (version, ms, speedup) = (&peer.peer_version, peer.peer_frame_ms, peer.speedup);
        text += &format!("\n  Blender {version}: a frame {ms:.0} ms, {speedup:.2} times ours");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathtub_bench::water::{Case, Peer, dam_break, measure};

    #[test]
    fn a_row_has_every_figure_in_json_and_in_words() {
        let mut row = measure(&Case { frames: 3, ..dam_break(8) }, 1, None).unwrap();
        let json = serde_json::to_value(&row).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let own =
            ["problem", "dims", "cells", "particles", "threads", "frames", "steps", "setup_s", "frame_ms", "step_ms"];
        let work = ["stages_ms", "pressure_share", "particles_per_s", "iterations", "residual", "cfl", "volume_drift"];
        let machine = ["peak_mb", "bytes_per_particle", "stream_gbs", "commit", "cpu"];
        assert_eq!(keys, own.into_iter().chain(work).chain(machine).collect::<Vec<_>>());
        assert!(json["stages_ms"]["pressure"].as_f64().unwrap() > 0.0);

        let (peer_frame_ms, speedup) = (15000.0, 5.0);
        let peer = Peer { peer_frame_ms, speedup, peer_frames_ms: vec![15000.0], peer_version: "3.4.1".into() };
        row.peer = Some(peer);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!((&json["peer_frame_ms"], &json["speedup"]), (&15000.0.into(), &5.0.into()));
        let text = table(&row);
        assert!(text.contains("dam break 16x8x8") && text.contains("  pressure "), "{text}");
        assert!(text.ends_with("Blender 3.4.1: a frame 15000 ms, 5.00 times ours"), "{text}");
    }
}
