use bathtub_bench::experiments::box_lift::*;
use bathtub_engine::solid::rigid::Interface;
use bathtub_engine::solve::*;
fn main() {
    let args: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let dims = [args[0], args[1], args[2]];
    let which = args[3];
    let params = SolveParams { tolerance: 1e-6, max_iterations: 20000, budget_seconds: None };
    let mut solvers = vec![PressureSolver::Multigrid];
    if which < 4 {
        for c in 0..4 {
            solvers.push(PressureSolver::A18 { corrections: c });
        }
    }
    if which & 1 == 1 {
        solvers.push(PressureSolver::Icpcg);
    }
    if which & 2 == 2 {
        solvers.push(PressureSolver::CgSchur);
        solvers.push(PressureSolver::Cg);
    }
    for (name, make) in [
        ("lift", Box::new(|i| box_lift(dims, 0.1, i)) as Box<dyn Fn(Interface) -> System>),
        ("eight", Box::new(|i| several_boxes(dims, 8, |n| RATIOS[n % 4], i))),
        ("twenty", Box::new(|i| several_boxes(dims, 20, |n| RATIOS[n % 4], i))),
    ] {
        for interface in [Interface::CutCells, Interface::Faces] {
            let system = make(interface);
            let mut solve = PressureSolve::new();
            let plain = system.without_bodies();
            plain.solve(&mut solve, PressureSolver::Multigrid, &params).unwrap();
            let p = plain.solve(&mut solve, PressureSolver::Multigrid, &params).unwrap();
            println!("{name} {interface:?} plain: {} its, {:.4}+{:.4}", p.info.iterations, p.setup, p.solve);
            let mut first: Option<Vec<f64>> = None;
            for &s in &solvers {
                if interface == Interface::CutCells && s != PressureSolver::Multigrid {
                    continue;
                }
                system.solve(&mut solve, s, &SolveParams { max_iterations: 2, ..params }).unwrap();
                match system.solve(&mut solve, s, &params) {
                    Ok(r) => {
                        let f = first.get_or_insert(r.pressure.clone());
                        let d = f.iter().zip(&r.pressure).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                        let m = f.iter().map(|a| a.abs()).fold(0.0, f64::max);
                        println!(
                            "  {}: {} its, {:.4}+{:.4}, total/plain {:.2}, diff {:.1e}",
                            s.name(),
                            r.info.iterations,
                            r.setup,
                            r.solve,
                            r.total() / p.total(),
                            d / m
                        );
                    }
                    Err(e) => println!("  {}: {e}", s.name()),
                }
            }
        }
    }
}
