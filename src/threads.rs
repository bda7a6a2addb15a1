//! How many threads work.

use crate::exit::{Exit, Failure};
use crate::terminal::warn;
use std::hint::black_box;

/// More threads than this help nobody.
const MAX_THREADS: usize = 256;

/// Start the global pool: as many threads as asked for here, or else by `RAYON_NUM_THREADS`, or else as there are processors. All
/// are started before anything is done, so that the memory they take is known when a scene asks how much there is.
pub fn start(asked: Option<u32>) -> Result<(), Failure> {
    let by_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.trim().parse().ok().filter(|&n: &usize| n > 0);
    let processors = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let wanted = asked.map(|n| n as usize).or_else(by_environment).unwrap_or_else(processors);
    let threads = wanted.min(MAX_THREADS);
    if threads < wanted {
        warn(&format!("{wanted} threads are more than can help; using {threads}"));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| {
        let message = format!("cannot start {threads} threads: {error}; use fewer, with --threads");
        Failure::new(Exit::Resource, message)
    })?;
    // The first allocation of a thread reserves address space for all that follow.
    rayon::broadcast(|_| drop(black_box(vec![0u8; 64])));
    Ok(())
}
