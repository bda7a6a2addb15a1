//! `bench coupling`: what rigid bodies cost the pressure solve.

use crate::beside_plain::BesidePlain;
use crate::error::BenchError;
use crate::experiments::box_lift::{RATIOS, System, box_lift, several_boxes};
use bathtub_engine::solid::Interface;
use serde::Serialize;

/// The grid of \[A18, Table 1\].
const DIMS: [usize; 3] = [128, 256, 128];

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Number of bodies.
    pub bodies: usize,
    /// `cut-cells` or `faces`.
    pub interface: &'static str,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// What they cost.
    #[serde(flatten)]
    pub cost: BesidePlain,
}

/// Measure one box and twenty, with either interface; of `runs` runs the median counts.
pub fn run(runs: usize) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for (bodies, make) in [
        (1, (|interface| box_lift(DIMS, 0.1, interface)) as fn(Interface) -> System),
        (20, |interface| several_boxes(DIMS, 20, |n| RATIOS[n % RATIOS.len()], interface)),
    ] {
        for (interface, name) in [(Interface::CutCells, "cut-cells"), (Interface::Faces, "faces")] {
            let cost = BesidePlain::measure(&format!("{bodies} bodies, {name}"), &make(interface), runs)?;
            rows.push(Row { bodies, interface: name, dims: DIMS, cost });
        }
    }
    Ok(rows)
}
