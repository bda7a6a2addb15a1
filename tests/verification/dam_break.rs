//! A column of water that is let go.

use bathtub_bench::experiments::martin_moyce::{SLOPES, collapse, tolerance};
use bathtub_engine::fluid::advect::Advection;
use bathtub_engine::fluid::water::Transfer;

/// Row D2: the front of the column runs along the floor as it did in Martin and Moyce's experiment, n² = 2; a bound of
/// 10 % with 16 cells along the column's width and 7 % with 32, as the digitised points scatter and the gate took time.
#[test]
fn a_collapsing_column_runs_as_far_as_the_measured_one() {
    let transfers = [Transfer::Apic, Transfer::Flip { pic: 0.05 }, Transfer::Grid(Advection::MacCormack)];
    for cells in [16, 32] {
        for transfer in transfers {
            let found = collapse(transfer, cells).unwrap().agreement();
            println!("{transfer:?} {cells}: {found:?}");
            assert!(found.rms <= tolerance(cells), "{transfer:?} with {cells} cells: {found:?}");
            assert!((SLOPES[0]..=SLOPES[1]).contains(&found.slope), "{transfer:?} with {cells} cells: {found:?}");
        }
    }
}
