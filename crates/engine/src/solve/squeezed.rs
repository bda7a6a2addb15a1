//! Closed regions around bodies that are all but too stiff to be squeezed.
//!
//! A constant pressure in such a region does nothing to the fluid, and next to nothing to the bodies: with Z the constants on the regions,
//! L Z = 0, and of Σ Z only w = ρ dx³ B A⁻¹ Bᵀ Z is left, which may be a millionth of all else. A cycle in single precision takes that for
//! round-off, and may end as indefinite. Then it is found apart, exactly:
//!
//! ```text
//! Σ̃ = Σ − w E⁻¹ wᵀ,    E = Zᵀ w,         Σ̃ y = b − w E⁻¹ Zᵀ b,    p = y + Z E⁻¹ (Zᵀ b − wᵀ y)
//! ```
//!
//! Σ̃ is what the bodies would be if nothing could squeeze them, and Σ̃ Z = 0: for y the regions are closed, as they are around rigid bodies.

use super::dense::Cholesky;
use super::low_rank::Block;
use super::real::Real;
use super::regions::Regions;
use super::yielding::Yielding;
use std::collections::BTreeMap;

/// Bodies none of whose ties is more than this, of a diagonal of 6, are too stiff for their ties to matter.
/// A choice: asked only where a solve has failed, and what follows is exact (docs/pressure-solver.md, *Around stiff bodies*).
const WEAK: f64 = 1e-3;

/// w and E of the regions around such bodies.
#[derive(Clone, Debug)]
pub(super) struct Squeezed {
    /// Their numbers among the closed ones.
    regions: Vec<usize>,
    /// Cells with the entries of w, one a region.
    rows: Vec<(usize, Vec<f64>)>,
    /// Factor of E.
    matrix: Cholesky,
}

/// Whether all bodies are stiff.
pub(super) fn are_stiff(bodies: &[Yielding]) -> bool {
    !bodies.is_empty() && bodies.iter().all(|body| body.ties.iter().all(|tie| *tie < WEAK))
}

impl Squeezed {
    /// What stiff bodies do to the closed `regions`, if they touch any.
    pub fn new(regions: &Regions, bodies: &[Yielding]) -> Option<Self> {
        // Bᵀ Z and A⁻¹ Bᵀ Z, body by body and region by region.
        let pressed: Vec<Vec<Vec<f64>>> = bodies.iter().map(|body| regions.pressed(body)).collect();
        let is_touched = |region: &usize| pressed.iter().any(|pressed| pressed[*region].iter().any(|g| *g != 0.0));
        let touched: Vec<usize> = (0..regions.closed().len()).filter(is_touched).collect();
        if touched.is_empty() {
            return None;
        }
        let n = touched.len();
        let (mut rows, mut matrix) = (BTreeMap::<usize, Vec<f64>>::new(), vec![0.0; n * n]);
        for (body, pressed) in bodies.iter().zip(&pressed) {
            for (l, region) in touched.iter().enumerate() {
                let mut answer = pressed[*region].clone();
                body.step.factor.solve_in_place(&mut answer);
                body.step.supports.resist(&mut answer);
                answer.iter_mut().for_each(|v| *v *= body.unit());
                body.push.scatter(&answer, |cell, push| rows.entry(cell).or_insert_with(|| vec![0.0; n])[l] += push);
                for (k, other) in touched.iter().enumerate() {
                    matrix[n * k + l] += pressed[*other].iter().zip(&answer).map(|(g, v)| g * v).sum::<f64>();
                }
            }
        }
        Some(Self { regions: touched, rows: rows.into_iter().collect(), matrix: Cholesky::new(n, matrix) })
    }

    /// E⁻¹ wᵀ x.
    pub fn gather<T: Real>(&self, x: &[T]) -> Vec<f64> {
        let mut sums = vec![0.0; self.regions.len()];
        for (cell, row) in &self.rows {
            sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += w * x[*cell].f64());
        }
        self.matrix.solve(&mut sums);
        sums
    }

    /// wᵀ x · constants.
    pub fn product(&self, x: &[f64], constants: &[f64]) -> f64 {
        self.rows.iter().map(|(cell, row)| x[*cell] * dot(row, constants)).sum()
    }

    /// r ← r + scale · w constants.
    pub fn add(&self, scale: f64, constants: &[f64], r: &mut [f64]) {
        self.rows.iter().for_each(|(cell, row)| r[*cell] += scale * dot(row, constants));
    }

    /// E⁻¹ Zᵀ b.
    pub fn needed(&self, regions: &Regions, b: &[f64]) -> Vec<f64> {
        let sums = regions.sums(b);
        let mut needed: Vec<f64> = self.regions.iter().map(|&region| sums[region]).collect();
        self.matrix.solve(&mut needed);
        needed
    }

    /// Means of `p` over the regions.
    pub fn means(&self, regions: &Regions, p: &[f64]) -> Vec<f64> {
        let sums = regions.sums(p);
        self.regions.iter().map(|&region| sums[region] / regions.unknowns(region) as f64).collect()
    }

    /// ‖w constants‖.
    pub fn norm(&self, constants: &[f64]) -> f64 {
        self.rows.iter().map(|(_, row)| dot(row, constants).powi(2)).sum::<f64>().sqrt()
    }

    /// p ← p + Z constants.
    pub fn raise(&self, regions: &Regions, constants: &[f64], p: &mut [f64]) {
        let mut by_region = vec![0.0; regions.closed().len()];
        self.regions.iter().zip(constants).for_each(|(&region, constant)| by_region[region] = *constant);
        regions.raise(&by_region, p);
    }
}

/// Leave to the preconditioner what stiff bodies do as a whole, without a change of any region's volume.
pub(super) fn stiffen(regions: &Regions, bodies: &mut [Yielding]) {
    for body in bodies {
        body.modes.blocks.iter_mut().for_each(|block| balance(regions, block));
        body.ties.fill(0.0);
        body.coarse_ties.fill(0.0);
    }
}

/// Make the rows of every closed region add up to zero.
fn balance(regions: &Regions, block: &mut Block) {
    let columns = block.columns;
    let of_rows: Vec<Option<usize>> = block.cells.iter().map(|&cell| regions.region_of(cell as usize)).collect();
    let mut sums = vec![(0.0, 0.0); regions.closed().len() * columns];
    for ((_, row), region) in block.rows().zip(&of_rows) {
        let Some(region) = region else { continue };
        let sums = sums[columns * region..].iter_mut().zip(row);
        sums.for_each(|((sum, size), c)| (*sum, *size) = (*sum + c, *size + c.abs()));
    }
    for (row, region) in block.values.chunks_exact_mut(columns.max(1)).zip(&of_rows) {
        let Some(region) = region else { continue };
        for (c, (sum, size)) in row.iter_mut().zip(&sums[columns * region..]) {
            *c -= if *size > 0.0 { c.abs() * sum / size } else { 0.0 };
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
