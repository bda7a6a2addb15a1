//! `stats.jsonl`: one JSON object per step, appended as the run goes.
//!
//! A line is handed to the operating system whole, but a crash of the machine may still tear the last one. So a run that
//! resumes keeps the lines up to its checkpoint's step and cuts off everything after, torn or not; together
//! with [`StatsLog::sync`] before each checkpoint, every step then has exactly one line.

use crate::atomic::FileError;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The open log of a run.
#[derive(Debug)]
pub struct StatsLog {
    path: PathBuf,
    file: File,
}

/// What [`StatsLog::resume`] kept and cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsCut {
    /// Lines kept.
    pub kept: u64,
    /// Bytes after them that were removed.
    pub removed_bytes: u64,
}

/// All that is needed from a line to place it in time.
#[derive(Deserialize)]
struct Line {
    step: u64,
}

impl StatsLog {
    /// Start a new, empty log.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let file = File::create(path).map_err(FileError::new("create", path))?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// Continue a log after `step`, removing all lines of later steps; a missing log starts empty.
    pub fn resume(path: &Path, step: u64) -> Result<(Self, StatsCut), FileError> {
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = open.map_err(FileError::new("open", path))?;
        let cut = (|| {
            let length = file.metadata()?.len();
            let (mut kept, mut end) = (0, 0);
            let mut reader = BufReader::new(&file);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line)? > 0 {
                let whole = line.ends_with(b"\n");
                let known = serde_json::from_slice::<Line>(&line).is_ok_and(|l| l.step <= step);
                if !(whole && known) {
                    break;
                }
                kept += 1;
                end += line.len() as u64;
                line.clear();
            }
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            Ok(StatsCut { kept, removed_bytes: length - end })
        })();
        let cut = cut.map_err(FileError::new("resume", path))?;
        Ok((Self { path: path.to_path_buf(), file }, cut))
    }

    /// Append one line.
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), FileError> {
        let mut line = serde_json::to_vec(record).map_err(|e| FileError::new("write", &self.path)(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(FileError::new("write", &self.path))
    }

    /// Make all lines durable; to be called before a checkpoint that counts on them.
    pub fn sync(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(FileError::new("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::scratch::Scratch;
    use bathtub_engine::report::StepReport;
    use std::fs;

    fn report(step: u64) -> StepReport {
        StepReport { step, t: step as f64 * 0.01, ..Default::default() }
    }

    #[test]
    fn a_resumed_log_has_one_line_per_step_whatever_the_tear() {
        let dir = Scratch::new("stats");
        let path = dir.path().join("stats.jsonl");
        let mut whole = StatsLog::create(&path).unwrap();
        (1..=6).for_each(|s| whole.append(&report(s)).unwrap());
        let reference = fs::read(&path).unwrap();
        let after_three = reference.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(2).unwrap().0 + 1;

        // Cut anywhere at or after the checkpoint's line, also inside a line, and go on from step 3.
        for length in after_three..=reference.len() {
            fs::write(&path, &reference[..length]).unwrap();
            let (mut log, cut) = StatsLog::resume(&path, 3).unwrap();
            assert_eq!(cut, StatsCut { kept: 3, removed_bytes: (length - after_three) as u64 });
            (4..=6).for_each(|s| log.append(&report(s)).unwrap());
            assert_eq!(fs::read(&path).unwrap(), reference);
        }
    }

    #[test]
    fn zeros_at_the_end_are_cut() {
        let dir = Scratch::new("stats-zeros");
        let path = dir.path().join("stats.jsonl");
        let mut log = StatsLog::create(&path).unwrap();
        log.append(&report(1)).unwrap();
        let line = fs::read(&path).unwrap();
        fs::write(&path, [&line[..], &[0; 50]].concat()).unwrap();
        let (_, cut) = StatsLog::resume(&path, 1).unwrap();
        assert_eq!(cut, StatsCut { kept: 1, removed_bytes: 50 });
    }
}
