//! What the machine is and what it can do.

use rayon::prelude::*;
use std::time::Instant;

/// Name of the processor, as the system reports it.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| "unknown".into(), |(_, name)| name.trim().to_string())
}

/// The commit of the working directory, or "unknown".
pub fn commit() -> String {
    let output = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let text = output.ok().filter(|o| o.status.success()).and_then(|o| String::from_utf8(o.stdout).ok());
    text.map_or_else(|| "unknown".into(), |t| t.trim().to_string())
}

/// Largest resident size of this process since [`reset_peak`], MB; zero where the system does not tell.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}

/// Start a new peak. Where the system refuses, peaks only grow.
pub fn reset_peak() {
    // The value that resets the peak resident size, see proc_pid_clear_refs(5).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Memory speed by STREAM's triad a = b + s·c on 128 MB arrays with all threads, GB/s: median of 7, three arrays counted.
pub fn stream_gbs() -> f64 {
    let n = 16 << 20;
    let (mut a, b, c) = (vec![0.0_f64; n], vec![1.0_f64; n], vec![2.0_f64; n]);
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            let parts = a.par_chunks_mut(1 << 16).zip(b.par_chunks(1 << 16)).zip(c.par_chunks(1 << 16));
            parts.for_each(|((a, b), c)| {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = b + 3.0 * c;
                }
            });
            start.elapsed().as_secs_f64()
        })
        .collect();
    assert_eq!(a[n / 2], 7.0);
    times.sort_by(f64::total_cmp);
    24.0 * n as f64 / times[3] / 1e9
}
