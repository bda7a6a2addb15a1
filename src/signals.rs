//! SIGINT and SIGTERM: the first asks the run to stop after its step and a checkpoint, the second ends the process.

use crate::exit::{Exit, Failure};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether, and by what, the run was asked to stop.
pub struct Stop {
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Start listening.
    pub fn listen() -> Result<Self, Failure> {
        let signal = Arc::new(AtomicUsize::new(0));
        let asked = Arc::new(AtomicBool::new(false));
        for (number, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
            // In this order: the second signal finds `asked` set by the first and leaves at once.
            flag::register_conditional_shutdown(number, exit as i32, Arc::clone(&asked))
                .and_then(|_| flag::register(number, Arc::clone(&asked)))
                .and_then(|_| flag::register_usize(number, Arc::clone(&signal), number as usize))
                .map_err(|error| Failure::new(Exit::Resource, format!("cannot listen to signals: {error}")))?;
        }
        Ok(Self { signal })
    }

    /// The code to end with, if the run was asked to stop.
    pub fn asked(&self) -> Option<Exit> {
        match self.signal.load(Ordering::SeqCst) as i32 {
            SIGINT => Some(Exit::Interrupted),
            SIGTERM => Some(Exit::Terminated),
            _ => None,
        }
    }
}
