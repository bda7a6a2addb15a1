//! The last net: a panic anywhere becomes exit code 9 and a report file, never a half-printed backtrace.

use crate::exit::{Exit, Failure};
use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where reports go: the run's directory once there is one, the system's temporary directory before.
static DIRECTORY: Mutex<Option<PathBuf>> = Mutex::new(None);
/// What the first panic said and where its report is.
static REPORT: Mutex<Option<String>> = Mutex::new(None);

/// Whether there was a panic: an abort after one is its consequence.
pub static PANICKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Default::default);

/// Write reports of panics into `directory` from now on.
pub fn report_into(directory: &Path) {
    if let Ok(mut place) = DIRECTORY.lock() {
        *place = Some(directory.to_owned());
    }
}

/// Run `work`; a panic in it, on whatever thread, becomes a [`Failure`] with code 9.
pub fn guard<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    set_hook(Box::new(record));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let told = REPORT.lock().ok().and_then(|mut report| report.take());
        Err(Failure::new(Exit::Internal, told.unwrap_or_else(|| "a bug in Bathtub, without a report".into())))
    })
}

/// Write the report of the first panic; later ones are its consequences.
fn record(info: &PanicHookInfo) {
    PANICKED.store(true, Ordering::SeqCst);
    let Ok(mut report) = REPORT.lock() else { return };
    if report.is_some() {
        return;
    }
    let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
    let what = info.payload_as_str().unwrap_or("panic");
    let text = format!(
        "Bathtub {} stopped on a bug of its own.\n{what}\nat {place}\ncommand: {:?}\n\n{}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::args_os().collect::<Vec<_>>(),
        Backtrace::force_capture()
    );
    let where_to = match write_report(&text) {
        Ok(path) => format!("report in {}", path.display()),
        Err(error) => format!("no report could be written: {error}"),
    };
    *report = Some(format!("a bug in Bathtub at {place}: {what}; {where_to}"));
}

fn write_report(text: &str) -> std::io::Result<PathBuf> {
    let directory = DIRECTORY.lock().ok().and_then(|d| d.clone()).unwrap_or_else(std::env::temp_dir);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let path = directory.join(format!("bathtub-panic-{}-{now}.txt", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_line_and_a_report() {
        let dir = tempfile::tempdir().unwrap();
        report_into(dir.path());
        let failure = guard(|| -> Result<(), Failure> { panic!("two and two\nmade five") }).unwrap_err();
        let _ = std::panic::take_hook();
        assert_eq!(failure.exit, Exit::Internal);
        let line = failure.to_string();
        assert!(line.contains("src/panic.rs:") && line.contains("two and two made five"), "{line}");
        let report = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(report).unwrap();
        assert!(text.contains("two and two\nmade five") && text.contains("command:"));
    }
}
