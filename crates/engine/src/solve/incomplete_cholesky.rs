//! Incomplete Cholesky factorisation without fill-in, as a preconditioner.
//!
//! L ≈ (E + F) E⁻¹ (E + Fᵀ) with F the strict lower triangle of the operator and E diagonal, chosen so that both have the same
//! diagonal. (The modified variant [Gustafsson 1978], which moves dropped fill-in to the diagonal, takes a third fewer iterations,
//! but is not what \[A18\] compares with.) Sweeps are sequential by nature: this solver is here for comparison with published
//! tables, not for speed.

use super::conjugate_gradients::Preconditioner;
use super::laplacian::{Laplacian, dot};

/// Below this share of the diagonal a pivot is replaced by the diagonal.
/// The safety constant of Bridson, Fluid Simulation for Computer Graphics.
const SAFE: f64 = 0.25;

/// The factorisation.
#[derive(Clone, Debug, Default)]
pub struct IncompleteCholesky {
    dims: [usize; 3],
    /// Coefficients towards x−, y−, z− of every cell.
    lower: [Vec<f64>; 3],
    /// 1 ÷ √pivot; zero where there is no unknown.
    root: Vec<f64>,
}

impl IncompleteCholesky {
    /// Factorise `laplacian`, reusing the memory.
    pub fn rebuild(&mut self, laplacian: &Laplacian) {
        let [nx, ny, nz] = laplacian.dims;
        self.dims = laplacian.dims;
        self.root.resize(laplacian.len(), 0.0);
        for lower in &mut self.lower {
            lower.resize(laplacian.len(), 0.0);
        }
        let mut row: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; nx]);
        for n in 0..ny * nz {
            laplacian.lower_row(n % ny, n / ny, &mut row);
            for (lower, row) in self.lower.iter_mut().zip(&row) {
                lower[n * nx..(n + 1) * nx].copy_from_slice(row);
            }
            self.root[n * nx..(n + 1) * nx].copy_from_slice(&row[3]);
        }
        // Pivots in storage order; `root` is the diagonal until a cell's turn comes.
        let strides = [1, nx, nx * ny];
        for c in 0..self.root.len() {
            let diagonal = self.root[c];
            if diagonal == 0.0 {
                continue;
            }
            let mut pivot = diagonal;
            for (lower, stride) in self.lower.iter().zip(strides) {
                let coefficient = lower[c];
                if coefficient > 0.0 {
                    let nb = c - stride;
                    pivot -= (coefficient * self.root[nb]).powi(2);
                }
            }
            if pivot < SAFE * diagonal {
                pivot = diagonal;
            }
            self.root[c] = 1.0 / pivot.sqrt();
        }
    }

    /// Scale an unknown that the operator does not know by its own diagonal: one with no neighbours in the grid.
    pub fn set_alone(&mut self, cell: usize, diagonal: f64) {
        self.root[cell] = if diagonal > 0.0 { 1.0 / diagonal.sqrt() } else { 0.0 };
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        8 * (self.root.capacity() + self.lower.iter().map(Vec::capacity).sum::<usize>())
    }
}

impl Preconditioner for IncompleteCholesky {
    type Scalar = f64;

    fn apply(&mut self, r: &mut [f64], z: &mut [f64]) -> f64 {
        let strides = [1, self.dims[0], self.dims[0] * self.dims[1]];
        for c in 0..r.len() {
            let mut t = r[c];
            for (lower, stride) in self.lower.iter().zip(strides) {
                if lower[c] > 0.0 {
                    t += lower[c] * self.root[c - stride] * z[c - stride];
                }
            }
            z[c] = t * self.root[c];
        }
        for c in (0..r.len()).rev() {
            let mut t = z[c];
            for (lower, stride) in self.lower.iter().zip(strides) {
                if lower.get(c + stride).is_some_and(|&a| a > 0.0) {
                    t += lower[c + stride] * self.root[c] * z[c + stride];
                }
            }
            z[c] = t * self.root[c];
        }
        dot(r, z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{CellField, FaceField, Grid};
    use glam::DVec3;

    /// Along a line there is no fill-in to drop: the factorisation is exact, z = L⁻¹ r.
    #[test]
    fn a_line_of_cells_is_factorised_exactly() {
        let grid = Grid::new([9, 1, 1], 1.0, DVec3::ZERO);
        let mut extra = CellField::new(&grid, 0.0);
        extra.data[8] = 2.0;
        let laplacian = Laplacian::new(&FaceField::new(&grid, 1.0), &extra).unwrap();
        let mut cholesky = IncompleteCholesky::default();
        cholesky.rebuild(&laplacian);
        let p: Vec<f64> = (0..9).map(|i| (i * i) as f64 - 7.0).collect();
        let (mut r, mut z) = (vec![0.0; 9], vec![0.0; 9]);
        laplacian.apply(&p, &mut r);
        cholesky.apply(&mut r, &mut z);
        assert!(z.iter().zip(&p).all(|(z, p)| (z - p).abs() < 1e-11), "{z:?}");
    }
}
