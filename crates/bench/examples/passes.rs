//! Processor time of the passes of one iteration.

use bathtub_bench::problems::{Problem, Rhs};
use bathtub_engine::solve::{Laplacian, Multigrid, Operator, Preconditioner, Regions};
use std::time::Instant;

fn time(name: &str, times: usize, mut pass: impl FnMut()) {
    pass();
    let start = Instant::now();
    for _ in 0..times {
        pass();
    }
    println!("{name:10} {:.2} ms", start.elapsed().as_secs_f64() * 1e3 / times as f64);
}

fn main() {
    let p = match std::env::args().nth(1).as_deref() {
        Some("balls") => Problem::balls(128, 20, true),
        _ => Problem::tank([128, 256, 128]),
    };
    let what = std::env::args().nth(2).unwrap_or_default();
    let mut r = p.rhs(Rhs::Random);
    let n = r.len();
    let mut l = Laplacian::new(&p.faces, &p.extra).unwrap();
    let mut m = Multigrid::<f32>::default();
    let (mut x, mut d, mut z) = (vec![0.0; n], vec![0.0; n], vec![0f32; n]);
    let mut regions = Regions::default();
    m.rebuild(&l, &p.faces, &p.extra);
    rayon::scope(|_| {
        if what.is_empty() || what == "build" {
            time("laplacian", 20, || l.rebuild(&p.faces, &p.extra).unwrap());
            time("regions", 20, || regions.rebuild(&l));
            time("hierarchy", 20, || m.rebuild(&l, &p.faces, &p.extra));
        }
        if what.is_empty() || what == "cycle" {
            time("cycle", 40, || {
                m.apply(&r, &mut z);
            });
        }
        if what == "f64" {
            let mut m = Multigrid::<f64>::default();
            m.rebuild(&l, &p.faces, &p.extra);
            let mut z = vec![0f64; n];
            time("cycle f64", 20, || {
                m.apply(&r, &mut z);
            });
        }
        if what.is_empty() {
            time("direct", 40, || {
                l.direct(&z, 0.5, &mut d);
            });
            time("advance", 40, || {
                l.advance(1e-3, &d, &mut x, &mut r);
            });
        }
    });
}
