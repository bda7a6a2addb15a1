//! `bathtub bench`: timed problems, each measured the same way every time.

mod coupling;
mod elastic;
mod pictures;
mod pressure;
mod reduced;
mod smoke;
mod water;

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal::say;

/// A benchmark.
pub struct Bench {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// Measure and print.
    pub run: fn(&BenchArgs) -> Result<Exit, Failure>,
}

/// Every benchmark there is.
pub const ALL: &[Bench] = &[
    Bench {
        name: "pressure",
        summary: "set-up and solve of the pressure system, beside memory speed and another program",
        run: pressure::run,
    },
    Bench {
        name: "coupling",
        summary: "the pressure system with one body and with twenty, beside the same grid without bodies",
        run: coupling::run,
    },
    Bench {
        name: "elastic",
        summary: "the pressure system with an elastic ball, soft to stiff and light to heavy, beside the same water without it",
        run: elastic::run,
    },
    Bench {
        name: "reduced",
        summary: "the pressure system with 5 to 150 reduced bodies, beside the same grid without them",
        run: reduced::run,
    },
    Bench {
        name: "smoke",
        summary: "a step of smoke around a ball and each of its stages, beside Blender's",
        run: smoke::run,
    },
    Bench {
        name: "water",
        summary: "frames of a dam break and of a column over a ball, and each stage of a step, beside Blender's",
        run: water::run,
    },
    Bench {
        name: "pictures",
        summary: "processor time of pictures of five scenes, beside another build of this program",
        run: pictures::run,
    },
];

/// List the benchmarks, or run one.
pub fn bench(args: &BenchArgs, all: &[Bench]) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        all.iter().for_each(|b| say(&format!("{:20} {}", b.name, b.summary)));
        return Ok(Exit::Ok);
    };
    let known = || all.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let unknown = || Failure::new(Exit::Usage, format!("there is no benchmark \"{name}\"; there are: {}", known()));
    let bench = all.iter().find(|b| b.name == name).ok_or_else(unknown)?;
    (bench.run)(args)
}
