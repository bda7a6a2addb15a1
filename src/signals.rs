//! SIGINT and SIGTERM: the first asks the run to stop after its step and a checkpoint, the second ends the process. And signals that
//! tell of a limit: they become exit codes.

use crate::exit::{Exit, Failure};
use crate::panic::PANICKED;
use signal_hook::consts::{SIGABRT, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Let limits of the system end the command with a code of its own. A file that may not grow (SIGXFSZ) becomes an error of writing.
/// Where memory is refused, the standard library says how much was asked for and aborts, and no code can come in between: that
/// becomes [`Exit::Resource`], unless the abort is the end of a panic.
pub fn soften() -> Result<(), Failure> {
    let heard = Arc::new(AtomicBool::new(false));
    flag::register(SIGXFSZ, heard)
        .and_then(|_| flag::register_conditional_shutdown(SIGABRT, Exit::Internal as i32, Arc::clone(&PANICKED)))
        .and_then(|_| {
            flag::register_conditional_shutdown(SIGABRT, Exit::Resource as i32, Arc::new(AtomicBool::new(true)))
        })
        .map(|_| ())
        .map_err(|error| Failure::new(Exit::Resource, format!("cannot listen to signals: {error}")))
}

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
