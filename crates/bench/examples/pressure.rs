//! Prints the rows of `bench pressure`: `pressure [--all] [PEER]`.

use bathtub_bench::pressure::{Options, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let peer = arguments.iter().find(|a| *a != "--all").map(Into::into);
    for row in run(&Options { runs: 3, peer, all: arguments.iter().any(|a| a == "--all") })? {
        let [nx, ny, nz] = row.dims;
        println!(
            "{:22} {nx}x{ny}x{nz} {:8} setup {:.4} solve {:.4} s, {} iterations, residual {:.1e}, {:.0} B/cell, {:.0} MB, {:.1} of {:.1} GB/s",
            row.problem,
            row.rhs,
            row.setup_s,
            row.solve_s,
            row.iterations,
            row.residual,
            row.bytes_per_cell,
            row.peak_mb,
            row.achieved_gbs,
            row.stream_gbs
        );
        if let Some(peer) = row.peer {
            println!(
                "  peer: setup {:.4} solve {:.4} s, {} iterations: {:.2} times ours",
                peer.peer_setup_s, peer.peer_solve_s, peer.peer_iterations, peer.speedup
            );
        }
    }
    Ok(())
}
