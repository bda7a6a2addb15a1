//! What the system lets this process have, told by Linux; elsewhere nothing is known.

use std::fs::read_to_string;

/// Bytes that this process may still take of its address space and of its data (`ulimit -v`, `ulimit -d`), whichever are fewer.
/// `None` where neither is limited.
pub fn address_space() -> Option<f64> {
    let (limits, status) = (read_to_string("/proc/self/limits").ok()?, read_to_string("/proc/self/status").ok()?);
    let kinds = [("Max address space", "VmSize:"), ("Max data size", "VmData:")];
    kinds.iter().filter_map(|(limit, used)| left(&limits, limit, &status, used)).reduce(f64::min)
}

fn left(limits: &str, limit: &str, status: &str, used: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
    let most: f64 = line.split_whitespace().next()?.parse().ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(used))?;
    let taken: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some((most - 1024.0 * taken).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_limit_less_what_is_taken() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max data size             unlimited            unlimited            bytes     \n\
            Max address space         268435456            unlimited            bytes     \n";
        let status = "VmPeak:\t  200000 kB\nVmSize:\t  131072 kB\nVmData:\t   1000 kB\n";
        assert_eq!(left(limits, "Max address space", status, "VmSize:"), Some(134_217_728.0));
        assert_eq!(left(limits, "Max data size", status, "VmData:"), None);
        assert_eq!(left(&limits.replace("268435456", "1000"), "Max address space", status, "VmSize:"), Some(0.0));
    }
}
