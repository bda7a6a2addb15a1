//! \[A18, Fig. 10\]: iterations while the density of the solids goes from 10⁻³ to 10³ times that of the fluid.

use super::{MORE, MOST, P0, PLANE, solve, space};
use crate::exit::Failure;
use crate::reproduce::plot::{PlotAxis, Scale, Series};
use crate::reproduce::{Claim, Experiment, Plot, Report, Row, Size, Values};
use bathtub_bench::experiments::box_lift::{System, box_lift, several_boxes};
use bathtub_engine::solid::Interface;
use bathtub_engine::solve::PressureSolver;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "a18/fig-10",
    summary: "iterations over seven decades of density, one box and twenty [A18, Fig. 10]",
    run,
};

/// Powers of ten.
const DECADES: std::ops::RangeInclusive<i32> = -3..=3;

/// The paper's solver may vary by this factor.
const FLAT: f64 = 2.0;

/// Iterations for one problem over all densities.
struct Sweep {
    name: String,
    /// Without bodies.
    plain: usize,
    /// Density ratio, P(0), ours with face constraints, ours with cut cells.
    counts: Vec<(f64, [usize; 3])>,
}

impl Sweep {
    fn new(name: String, make: impl Fn(f64, Interface) -> System) -> Result<Self, Failure> {
        let mut counts = Vec::new();
        let mut plain = 0;
        for ratio in DECADES.map(|n| 10f64.powi(n)) {
            let (faces, cut) = (make(ratio, Interface::Faces), make(ratio, Interface::CutCells));
            plain = solve(&faces.without_bodies(), PressureSolver::Multigrid)?.info.iterations;
            let ours = PressureSolver::Multigrid;
            let [a, b, c] = [solve(&faces, P0)?, solve(&faces, ours)?, solve(&cut, ours)?].map(|s| s.info.iterations);
            counts.push((ratio, [a, b, c]));
        }
        Ok(Self { name, plain, counts })
    }

    fn claims(&self) -> Vec<Claim> {
        let p0 = || self.counts.iter().map(|(_, counts)| counts[0]);
        let (least, most) = (p0().min().unwrap_or(1), p0().max().unwrap_or(1));
        let worst = self.counts.iter().flat_map(|(_, [_, faces, cut])| [*faces, *cut]).max().unwrap_or(0);
        vec![
            Claim {
                claim: format!("{}: P(0) takes {least} to {most} iterations, a factor of at most {FLAT}", self.name),
                holds: most as f64 <= FLAT * least as f64,
            },
            Claim {
                claim: format!(
                    "{}: ours takes at most {worst} iterations, without bodies {}; at most {MORE} more, and {MOST} in all",
                    self.name, self.plain
                ),
                holds: worst <= self.plain + MORE && worst <= MOST,
            },
        ]
    }
}

fn run(size: Size) -> Result<Report, Failure> {
    let space = space(size);
    let mut sweeps = Vec::new();
    for dims in [PLANE, space] {
        let label =
            if dims[2] == 1 { format!("{}×{}", dims[0], dims[1]) } else { format!("{}²×{}", dims[0], dims[1]) };
        sweeps.push(Sweep::new(format!("{label}, 1 box"), |ratio, interface| box_lift(dims, ratio, interface))?);
        let twenty = |ratio: f64, interface| several_boxes(dims, 20, |_| ratio, interface);
        sweeps.push(Sweep::new(format!("{label}, 20 boxes"), twenty)?);
    }
    let rows = sweeps.iter().flat_map(|sweep| {
        sweep.counts.iter().map(|(ratio, [p0, faces, cut])| Row {
            case: format!("{}, density {ratio:.0e}", sweep.name),
            reference: Values::default(),
            ours: Values(vec![
                ("P(0)", *p0 as f64),
                ("faces", *faces as f64),
                ("cut cells", *cut as f64),
                ("no bodies", sweep.plain as f64),
            ]),
        })
    });
    Ok(Report {
        name: EXPERIMENT.name,
        rows: rows.collect(),
        claims: sweeps.iter().flat_map(Sweep::claims).collect(),
        plot: Some(plot(&sweeps)),
        picture: None,
    })
}

fn plot(sweeps: &[Sweep]) -> Plot {
    let curve = |sweep: &Sweep, name: &str, which: usize| Series {
        name: format!("{name}, {}", sweep.name),
        points: sweep.counts.iter().map(|(ratio, counts)| (*ratio, counts[which] as f64)).collect(),
        reference: Vec::new(),
    };
    Plot {
        title: "Iterations over the density of the solids".into(),
        subtitle: "residual ÷ 10⁶; the paper's P(0) and our multigrid, both with face constraints".into(),
        x: PlotAxis { name: "density of solids ÷ density of fluid".into(), scale: Scale::Logarithmic },
        y: PlotAxis { name: "iterations".into(), scale: Scale::Logarithmic },
        series: sweeps.iter().flat_map(|sweep| [curve(sweep, "P(0)", 0), curve(sweep, "ours", 1)]).collect(),
        guides: Vec::new(),
    }
}
