//! Where the documentation says that nothing is allocated, nothing is.

use bathtub_engine::grid::{CellField, FaceField, Grid};
use bathtub_engine::solve::{Bodies, PressureSolve, PressureSolver, SolidTerms, SolveParams};
use glam::DVec3;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Threads may hand each other a little.
const LITTLE: usize = 4096;

/// After the first solve of a size, set-up keeps nothing more and iterations allocate nothing.
#[test]
fn later_solves_keep_no_more_memory() {
    let n = 48;
    let grid = Grid::new([n; 3], 1.0, DVec3::ZERO);
    let faces = FaceField::new(&grid, 1.0);
    let mut extra = CellField::new(&grid, 0.0);
    (0..n * n).for_each(|top| extra.data[n * n * n - 1 - top] = 1.0);
    let rhs: Vec<f64> = (0..grid.cells()).map(|c| ((c * 37) % 101) as f64 - 50.0).collect();
    let (mut solve, params) = (PressureSolve::new(), SolveParams::default());
    let mut p = vec![0.0; rhs.len()];
    for run in 0..4 {
        p.fill(0.0);
        let region = Region::new(COUNTED);
        solve.build(PressureSolver::Multigrid, &faces, &extra, SolidTerms::default()).unwrap();
        let built = region.change();
        let region = Region::new(COUNTED);
        let info = solve.iterate(PressureSolver::Multigrid, Bodies::Answering, &rhs, &mut p, &params).unwrap();
        let iterated = region.change();
        assert!(info.converged && info.iterations > 3);
        let kept = built.bytes_allocated.saturating_sub(built.bytes_deallocated);
        if run == 0 {
            assert!(kept > 8 * rhs.len() && iterated.bytes_allocated > 8 * rhs.len(), "{built:?} {iterated:?}");
        } else {
            assert!(kept < LITTLE && iterated.bytes_allocated < LITTLE, "run {run}: {built:?} {iterated:?}");
        }
    }
}
