//! Times of the passes of one iteration.
use bathtub_bench::problems::{Problem, Rhs};
use bathtub_engine::solve::*;
use std::time::Instant;

fn main() {
    let p = Problem::tank([128, 256, 128]);
    let b = p.rhs(Rhs::Random);
    let n = b.len();
    let mut l = Laplacian::new(&p.faces, &p.extra).unwrap();
    let mut m = Multigrid::<f32>::default();
    m.rebuild(&p.faces, &p.extra, l.largest());
    let (mut x, mut r, mut d, mut z) = (vec![0.0; n], b.clone(), vec![0.0; n], vec![0f32; n]);
    let mut regions = Regions::default();
    rayon::scope(|_| {
        if std::env::args().nth(1).is_some() {
            let t = Instant::now();
            for _ in 0..40 {
                m.apply(&r, &mut z);
            }
            println!("cycle {:.2} ms", t.elapsed().as_secs_f64() * 1e3 / 40.0);
            return;
        }
        for _ in 0..5 {
            let t = Instant::now();
            l.rebuild(&p.faces, &p.extra).unwrap();
            print!("build {:.2} ", t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            regions.rebuild(&l);
            print!("regions {:.2} ", t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            m.rebuild(&p.faces, &p.extra, l.largest());
            print!("mg build {:.2} ", t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            m.apply(&r, &mut z);
            print!("cycle {:.2} ", t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            l.direct(&z, 0.5, &mut d);
            print!("direct {:.2} ", t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            l.advance(1e-3, &d, &mut x, &mut r);
            println!("advance {:.2}", t.elapsed().as_secs_f64() * 1e3);
        }
    });
}
