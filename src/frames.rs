//! Which of the saved frames are drawn: `3,7,20..30`, `0..60..10`.

use std::str::FromStr;

/// Stretches of frames, as they are typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameList(Vec<Stretch>);

/// Frames from `first` to `last`, both included, in steps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    written: String,
    first: Option<u64>,
    last: Option<u64>,
    step: u64,
}

/// What a list means where some frames are there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those to draw, rising.
    pub frames: Vec<u64>,
    /// What part of the list goes beyond what is there, each with what is there.
    pub short: Vec<String>,
}

impl FrameList {
    /// Those of the frames that are there which the list names; an error if one of its parts names none.
    pub fn select(&self, there: &[u64]) -> Result<Selection, String> {
        let mut selection = Selection::default();
        for stretch in &self.0 {
            let first = stretch.first.or(there.first().copied()).unwrap_or_default();
            let last = stretch.last.or(there.last().copied()).unwrap_or_default();
            let is_meant =
                |frame: &&u64| (first..=last).contains(*frame) && (**frame - first).is_multiple_of(stretch.step);
            let found: Vec<u64> = there.iter().filter(is_meant).copied().collect();
            let meant = last.checked_sub(first).map_or(0, |length| length / stretch.step + 1);
            let told = || format!("--frames {}: there are frames {}", stretch.written, ranges(there));
            if found.is_empty() {
                return Err(format!("{}, none of these", told()));
            }
            if (found.len() as u64) < meant {
                selection.short.push(format!("{}, {} of these {meant}", told(), found.len()));
            }
            selection.frames.extend(found);
        }
        selection.frames.sort_unstable();
        selection.frames.dedup();
        Ok(selection)
    }
}

impl FromStr for FrameList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} are no frames; write numbers, A..B or A..B..STEP, as in 3,7,20..30 or 0..60..10");
        let number = |s: &str| s.parse::<u64>().map_err(|_| wrong());
        let end = |s: &str| if s.is_empty() { Ok(None) } else { number(s).map(Some) };
        let stretch = |part: &str| {
            let (first, last, step) = match part.split("..").collect::<Vec<_>>()[..] {
                [only] => (Some(number(only)?), Some(number(only)?), 1),
                [first, last] => (end(first)?, end(last)?, 1),
                [first, last, step] => (end(first)?, end(last)?, number(step)?),
                _ => return Err(wrong()),
            };
            let is_backward = matches!((first, last), (Some(first), Some(last)) if last < first);
            if is_backward || step == 0 {
                Err(wrong())
            } else {
                Ok(Stretch { written: part.into(), first, last, step })
            }
        };
        text.split(',').map(|part| stretch(part.trim())).collect::<Result<_, _>>().map(Self)
    }
}

/// Rising numbers in words: `0..48`, `0..8, 20 and 3 more`.
fn ranges(numbers: &[u64]) -> String {
    const MOST: usize = 6;
    let mut runs: Vec<[u64; 2]> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(run) if run[1] + 1 == n => run[1] = n,
            _ => runs.push([n, n]),
        }
    }
    let told = runs.iter().take(MOST).map(|[a, b]| if a == b { a.to_string() } else { format!("{a}..{b}") });
    let told = told.collect::<Vec<_>>().join(", ");
    let rest: u64 = runs.iter().skip(MOST).map(|[a, b]| b - a + 1).sum();
    if rest == 0 { told } else { format!("{told} and {rest} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(list: &str, there: &[u64]) -> Result<Vec<u64>, String> {
        list.parse::<FrameList>()?.select(there).map(|selection| selection.frames)
    }

    #[test]
    fn lists_ranges_and_steps() {
        let there: Vec<u64> = (0..=60).collect();
        assert_eq!(select("0..60..10", &there).unwrap(), [0, 10, 20, 30, 40, 50, 60]);
        assert_eq!(select("3,7,20..23", &there).unwrap(), [3, 7, 20, 21, 22, 23]);
        assert_eq!(select("22..24, 7, 23", &there).unwrap(), [7, 22, 23, 24]);
        assert_eq!(select("58..", &there).unwrap(), [58, 59, 60]);
        assert_eq!(select("..2", &there).unwrap(), [0, 1, 2]);
        assert_eq!(select("....30", &there).unwrap(), [0, 30, 60]);
        assert_eq!(select("5..5", &there).unwrap(), [5]);
        for wrong in ["", "a", "3,", "9..3", "0..9..0", "-1", "1..2..3..4", "1.5", "..x"] {
            assert!(wrong.parse::<FrameList>().unwrap_err().contains("are no frames"), "{wrong}");
        }
    }

    #[test]
    fn frames_that_are_not_there_are_told() {
        let there = [0, 1, 2, 3, 8, 10, 11];
        assert_eq!(select("5", &there).unwrap_err(), "--frames 5: there are frames 0..3, 8, 10..11, none of these");
        assert_eq!(
            select("3,12..20", &there).unwrap_err(),
            "--frames 12..20: there are frames 0..3, 8, 10..11, none of these"
        );
        let selection = "2..12..2".parse::<FrameList>().unwrap().select(&there).unwrap();
        assert_eq!(selection.frames, [2, 8, 10]);
        assert_eq!(selection.short, ["--frames 2..12..2: there are frames 0..3, 8, 10..11, 3 of these 6"]);
        assert_eq!(ranges(&[0, 2, 4, 6, 8, 10, 12, 13]), "0, 2, 4, 6, 8, 10 and 2 more");
        assert_eq!(
            select("18446744073709551615", &there).unwrap_err().split(':').next(),
            Some("--frames 18446744073709551615")
        );
        assert!(select("0..18446744073709551615..18446744073709551615", &there).is_ok());
    }
}
