//! Order of accuracy of cut cells.

use bathtub_bench::experiments::cut_cell_order::{LEAST_ORDERS, REFERENCE_P_MAX_128, orders, solve};

/// Row A11. Orders are taken over both doublings, as single steps scatter with how the circle meets the grid.
#[test]
fn pressure_around_a_circle_converges_with_second_order() {
    let [coarse, fine] = [32, 128].map(|n| solve(n).unwrap());
    let orders = orders(&coarse, &fine, 4.0);
    println!("orders {orders:.2?}, at 128²: {fine:?}");
    // Two digits of the reference are given.
    assert!((fine.p_max / REFERENCE_P_MAX_128 - 1.0).abs() < 0.02, "{:e}", fine.p_max);
    assert!(orders.iter().zip(LEAST_ORDERS).all(|(order, least)| *order >= least), "{orders:?}");
}
