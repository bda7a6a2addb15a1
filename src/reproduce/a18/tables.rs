//! \[A18, Tables 1 and 2\]: iterations and seconds of all solvers on the two test problems.

use super::{MORE, MOST, P0, PARAMS, PLANE, solve, space};
use crate::exit::Failure;
use crate::reproduce::plot::{PlotAxis, Scale, Series};
use crate::reproduce::{Claim, Experiment, Plot, Report, Row, Size, Values};
use bathtub_bench::experiments::box_lift::{RATIOS, Solved, System, box_lift, several_boxes};
use bathtub_engine::solid::Interface;
use bathtub_engine::solve::{PressureSolve, PressureSolver, SolveParams};

/// Table 1.
pub const TABLE_1: Experiment = Experiment {
    name: "a18/table-1",
    summary: "iterations and time of every coupled solver for a light box [A18, Table 1 and Fig. 7]",
    run: |size| run("a18/table-1", &LIFT, size),
};

/// Table 2.
pub const TABLE_2: Experiment = Experiment {
    name: "a18/table-2",
    summary: "the same for eight boxes of various densities within walls [A18, Table 2 and Fig. 8]",
    run: |size| run("a18/table-2", &SEVERAL, size),
};

/// A test problem and what the paper found.
struct Problem {
    name: &'static str,
    make: fn([usize; 3], Interface) -> System,
    /// Iterations and seconds in the plane and in space, of the solvers of [`SOLVERS`].
    paper: [[Option<(f64, f64)>; 2]; 7],
}

const SOLVERS: [PressureSolver; 7] = [
    PressureSolver::Cg,
    PressureSolver::CgSchur,
    PressureSolver::Icpcg,
    PressureSolver::A18 { corrections: 0 },
    PressureSolver::A18 { corrections: 1 },
    PressureSolver::A18 { corrections: 2 },
    PressureSolver::A18 { corrections: 3 },
];

/// Number of solvers that are too slow in space: the paper leaves them out, and so do we.
const PLANE_ONLY: usize = 2;

const LIFT: Problem = Problem {
    name: "box lift",
    make: |dims, interface| box_lift(dims, 0.1, interface),
    paper: [
        [Some((2603.0, 0.3405)), None],
        [Some((799.0, 0.3694)), None],
        [Some((204.0, 0.1134)), Some((879.0, 78.5363))],
        [Some((47.0, 0.1444)), Some((47.0, 14.6466))],
        [Some((29.0, 0.1656)), Some((33.0, 19.6749))],
        [Some((25.0, 0.2161)), Some((27.0, 23.7428))],
        [Some((21.0, 0.2401)), Some((24.0, 28.3989))],
    ],
};

const SEVERAL: Problem = Problem {
    name: "eight boxes",
    make: |dims, interface| several_boxes(dims, 8, |n| RATIOS[n % RATIOS.len()], interface),
    paper: [
        [Some((3649.0, 0.4552)), None],
        [Some((944.0, 0.6121)), None],
        [Some((350.0, 0.1534)), Some((3023.0, 225.5956))],
        [Some((111.0, 0.1618)), Some((121.0, 149.1149))],
        [Some((78.0, 0.2153)), Some((85.0, 212.226))],
        [Some((71.0, 0.2962)), Some((70.0, 263.9951))],
        [Some((55.0, 0.2928)), Some((61.0, 306.6343))],
    ],
};

/// What all solvers did on one grid.
struct Grid {
    label: String,
    /// Of the paper's solvers; some are left out in space.
    paper: Vec<(PressureSolver, Solved)>,
    /// Ours, with either interface.
    ours: [(Interface, Solved); 2],
    /// Without bodies.
    plain: Solved,
}

impl Grid {
    fn new(problem: &Problem, dims: [usize; 3]) -> Result<Self, Failure> {
        let solvers = if dims[2] == 1 { &SOLVERS[..] } else { &SOLVERS[PLANE_ONLY..] };
        let faces = (problem.make)(dims, Interface::Faces);
        let cut = (problem.make)(dims, Interface::CutCells);
        let paper: Result<Vec<_>, Failure> = solvers.iter().map(|&s| Ok((s, solve(&faces, s)?))).collect();
        let plain = faces.without_bodies();
        let label =
            if dims[2] == 1 { format!("{}×{}", dims[0], dims[1]) } else { format!("{}²×{}", dims[0], dims[1]) };
        Ok(Self {
            label,
            paper: paper?,
            ours: [
                (Interface::Faces, solve(&faces, PressureSolver::Multigrid)?),
                (Interface::CutCells, solve(&cut, PressureSolver::Multigrid)?),
            ],
            plain: solve(&plain, PressureSolver::Multigrid)?,
        })
    }

    fn iterations(&self, solver: PressureSolver) -> f64 {
        self.solved(solver).info.iterations as f64
    }

    fn solved(&self, solver: PressureSolver) -> &Solved {
        &self.paper.iter().find(|(s, _)| *s == solver).expect("a solver of this grid").1
    }
}

fn run(name: &'static str, problem: &Problem, size: Size) -> Result<Report, Failure> {
    let grids = [Grid::new(problem, PLANE)?, Grid::new(problem, space(size))?];
    let mut claims = Vec::new();
    for grid in &grids {
        claims.extend(claims_about(grid));
    }
    let [plane, space] = &grids;
    let (p0, p0_space) = (plane.iterations(P0), space.iterations(P0));
    if problem.name == LIFT.name {
        claims.push(claim(format!("P(0) in the plane: {p0} iterations, from 15 to 80"), (15.0..=80.0).contains(&p0)));
        let text = format!("P(0) in space: {p0_space} iterations, at most 1.5 times those in the plane");
        claims.push(claim(text, p0_space <= 1.5 * p0));
        for (grid, least) in [(plane, 2.5), (space, if size == Size::Full { 10.0 } else { 5.0 })] {
            let ratio = grid.iterations(PressureSolver::Icpcg) / grid.iterations(P0);
            let text = format!("{}: ICPCG takes {ratio:.1} times the iterations of P(0), at least {least}", grid.label);
            claims.push(claim(text, ratio >= least));
        }
    } else {
        let lift = solve(&(LIFT.make)(PLANE, Interface::Faces), P0)?.info.iterations as f64;
        let text = format!("P(0) takes {p0} iterations, and {lift} for one box: at most four times as many");
        claims.push(claim(text, p0 <= 4.0 * lift));
    }
    let (slow, fast) = (space.solved(PressureSolver::Icpcg).total(), space.solved(P0).total());
    claims.push(claim(format!("in space P(0) takes {fast:.2} s, ICPCG {slow:.2} s"), fast < slow));
    Ok(Report {
        name,
        rows: grids.iter().enumerate().flat_map(|(n, grid)| rows(problem, n, grid)).collect(),
        claims,
        plot: Some(plot(problem)?),
        picture: None,
    })
}

fn claim(claim: String, holds: bool) -> Claim {
    Claim { claim, holds }
}

fn rows(problem: &Problem, column: usize, grid: &Grid) -> Vec<Row> {
    let ours =
        |solved: &Solved| Values(vec![("iterations", solved.info.iterations as f64), ("seconds", solved.total())]);
    let reference = |solver: PressureSolver| {
        let place = SOLVERS.iter().position(|s| *s == solver).expect("a solver of the table");
        let (iterations, seconds) = problem.paper[place][column]?;
        Some(Values(vec![("iterations", iterations), ("seconds", seconds)]))
    };
    let mut rows: Vec<Row> = grid
        .paper
        .iter()
        .map(|(solver, solved)| Row {
            case: format!("{} {}", grid.label, solver.name()),
            reference: reference(*solver).unwrap_or_default(),
            ours: ours(solved),
        })
        .collect();
    for (interface, solved) in &grid.ours {
        let case = format!("{} multigrid, {}", grid.label, interface_name(*interface));
        rows.push(Row { case, reference: Values::default(), ours: ours(solved) });
    }
    let case = format!("{} without bodies", grid.label);
    rows.push(Row { case, reference: Values::default(), ours: ours(&grid.plain) });
    rows
}

fn interface_name(interface: Interface) -> &'static str {
    match interface {
        Interface::Faces => "face constraints",
        Interface::CutCells => "cut cells",
    }
}

/// The orderings of the paper, the same answer by all, and what ours must reach.
fn claims_about(grid: &Grid) -> Vec<Claim> {
    let mut claims = Vec::new();
    let counts: Vec<String> =
        grid.paper.iter().map(|(solver, solved)| format!("{} {}", solver.name(), solved.info.iterations)).collect();
    let holds = grid.paper.windows(2).all(|pair| {
        let [a, b] = [&pair[0], &pair[1]].map(|(_, solved)| solved.info.iterations);
        let is_corrected = matches!(pair[0].0, PressureSolver::A18 { .. });
        if is_corrected { a >= b } else { a > b }
    });
    claims.push(claim(format!("{}: fewer and fewer iterations: {}", grid.label, counts.join(", ")), holds));
    let [(_, faces), _] = &grid.ours;
    let largest = faces.pressure.iter().fold(0.0, |m: f64, p| m.max(p.abs()));
    let off = grid.paper.iter().flat_map(|(_, solved)| solved.pressure.iter().zip(&faces.pressure));
    let off = off.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
    claims.push(claim(format!("{}: all find the same pressure, within {off:.0e}", grid.label), off <= 1e-4));
    let plain = grid.plain.info.iterations;
    for (interface, solved) in &grid.ours {
        let found = solved.info.iterations;
        let text = format!(
            "{}: ours takes {found} iterations with {}, at most {MORE} more than without bodies ({plain}) and at most {MOST}",
            grid.label,
            interface_name(*interface)
        );
        claims.push(claim(text, found <= plain + MORE && found <= MOST));
    }
    claims
}

/// Iterations to reach each power of ten, in the plane.
fn plot(problem: &Problem) -> Result<Plot, Failure> {
    let system = (problem.make)(PLANE, Interface::Faces);
    let mut series = Vec::new();
    for solver in [PressureSolver::Multigrid].into_iter().chain(SOLVERS) {
        let mut points = vec![(1.0, 1.0)];
        for decade in 1..=6 {
            let params = SolveParams { tolerance: 10f64.powi(-decade), ..PARAMS };
            let solved = system
                .solve(&mut PressureSolve::new(), solver, &params)
                .map_err(|e| Failure::new(crate::exit::Exit::Numerical, e.to_string()))?;
            points.push(((solved.info.iterations as f64).max(1.0), solved.info.residual));
        }
        series.push(Series { name: solver.name(), points, reference: Vec::new() });
    }
    Ok(Plot {
        title: format!("Convergence, {} {}×{}", problem.name, PLANE[0], PLANE[1]),
        subtitle: "residual ÷ right-hand side, face constraints; marks at powers of ten".into(),
        x: PlotAxis { name: "iterations".into(), scale: Scale::Logarithmic },
        y: PlotAxis { name: "residual".into(), scale: Scale::Logarithmic },
        series,
        guides: Vec::new(),
    })
}
