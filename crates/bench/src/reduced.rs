//! `bench reduced`: what reduced bodies cost the pressure solve.

use crate::beside_plain::BesidePlain;
use crate::error::BenchError;
use crate::experiments::reduced_tank::ReducedTank;
use serde::Serialize;

/// Stiffness, Pa, and density ratios.
const MODULI: [f64; 2] = [1e4, 1e6];
const RATIOS: [f64; 2] = [0.3, 1.0];

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// How many bodies, and of how many modes.
    pub case: String,
    /// Cells along x, y, z.
    pub dims: [usize; 3],
    /// Pa.
    pub youngs_modulus: f64,
    /// Density of the bodies ÷ that of the water.
    pub density_ratio: f64,
    /// Columns of the bodies in the operator.
    pub columns: usize,
    /// What they cost.
    #[serde(flatten)]
    pub cost: BesidePlain,
}

/// Measure the tanks of \[LJF16\], soft and stiff, light and neutral; of `runs` runs the median counts. Rows are `told` as they come.
pub fn run(runs: usize, mut told: impl FnMut(&Row)) -> Result<(), BenchError> {
    for tank in ReducedTank::PAPER {
        for (youngs_modulus, density_ratio) in MODULI.into_iter().flat_map(|e| RATIOS.map(|ratio| (e, ratio))) {
            let system = tank.system(youngs_modulus, density_ratio)?;
            let (case, columns) = (tank.name(), system.terms.cut.columns());
            let cost = BesidePlain::measure(&case, &system, runs)?;
            told(&Row { case, dims: tank.dims, youngs_modulus, density_ratio, columns, cost });
        }
    }
    Ok(())
}
