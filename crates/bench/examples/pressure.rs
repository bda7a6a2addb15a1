use bathtub_bench::problems::{Problem, Rhs};
use bathtub_engine::solve::{PressureSolve, SolveParams};
use bathtub_engine::world::PressureSolver;
use std::time::Instant;

fn main() {
    let arg = std::env::args().nth(1).unwrap_or("tank".into());
    let list: Vec<Problem> = match arg.as_str() {
        "tank" => vec![Problem::tank([128, 256, 128])],
        "small" => vec![Problem::tank([64, 128, 64])],
        "sizes" => [32, 64, 128, 256].iter().map(|&n| Problem::tank([n; 3])).collect(),
        "odd" => [[31, 31, 31], [33, 65, 17], [97, 101, 103], [512, 512, 1], [1, 300, 200], [64, 8, 8], [7, 5, 3]]
            .iter()
            .map(|&n| Problem::tank(n))
            .collect(),
        _ => vec![
            Problem::balls(64, 20, false),
            Problem::balls(64, 20, true),
            Problem::balls(128, 20, false),
            Problem::balls(128, 20, true),
        ],
    };
    for p in list {
        let mut s = PressureSolve::new();
        for rhs in [Rhs::Random, Rhs::Physical] {
            let b = p.rhs(rhs);
            for _ in 0..3 {
                let mut x = vec![0.0; b.len()];
                let t0 = Instant::now();
                s.build(PressureSolver::Multigrid, &p.faces, &p.extra).unwrap();
                let t1 = Instant::now();
                let info = s.iterate(PressureSolver::Multigrid, &b, &mut x, &SolveParams::default()).unwrap();
                let t2 = Instant::now();
                println!(
                    "{:20} {:?} {:9} setup {:.4} solve {:.4} it {} res {:.2e} ms/it {:.2} B/cell {:.1}",
                    p.name,
                    p.grid.dims,
                    rhs.name(),
                    (t1 - t0).as_secs_f64(),
                    (t2 - t1).as_secs_f64(),
                    info.iterations,
                    info.residual,
                    (t2 - t1).as_secs_f64() * 1e3 / info.iterations as f64,
                    s.bytes() as f64 / b.len() as f64
                );
            }
        }
    }
}
