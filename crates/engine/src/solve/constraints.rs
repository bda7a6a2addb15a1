//! Faces that move with bodies, as unknown impulses: the full system of \[A18, eq. 17\].
//!
//! A constrained face lies between a fluid cell and one inside a body, or between two fluid cells with a thin body in between. An
//! impulse λ on it makes the fluid there as fast as the body. With m the mass of the fluid in the face's dual cell (½ where
//! only one of its cells is fluid, unlike β of \[A18, eq. 15\]: with all of it neutral bodies sink), G
//! the difference of pressure over the face and K Kᵀ = J M⁻¹ Jᵀ what the bodies give way,
//!
//! ```text
//! A11 = L + Gᵀ m⁻¹ G      A12 = −Gᵀ m⁻¹      A22 = m⁻¹ + K Kᵀ
//! ```
//!
//! A11 is the pressure operator of a world in which the bodies are air. Eliminating λ gives Σ = A11 − A12 A22⁻¹ A21 = L + C Cᵀ
//! (design eq. 1), which is in [`LowRank`]: the solver of choice never sees λ. The full system is here for the methods of the
//! paper, which are compared with it.

use super::conjugate_gradients::{Operator, Preconditioner};
use super::laplacian::{Laplacian, dot};
use super::low_rank::{Coupled, LowRank};
use super::multigrid::Multigrid;
use super::real::Real;
use super::yielding::Yielding;
use super::{IncompleteCholesky, SolveError};
use crate::grid::{Axis, CellField, FaceField};

/// A face that moves with a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstrainedFace {
    /// Normal of the face.
    pub axis: Axis,
    /// Storage index in that axis' array.
    pub index: usize,
    /// Mass of the fluid that moves with it, in units of ρ dx³.
    pub mass: f64,
}

/// What solids add to the pressure operator.
#[derive(Clone, Debug, Default)]
pub struct SolidTerms {
    /// C of the bodies in cut cells.
    pub cut: LowRank,
    /// C of the bodies with face constraints, the fluid on their faces included.
    pub faces: LowRank,
    /// The faces of these bodies.
    pub constrained: Vec<ConstrainedFace>,
    /// K of these bodies, rows by the number of the face.
    pub response: LowRank,
    /// Bodies of many freedoms.
    pub yielding: Vec<Yielding>,
}

impl SolidTerms {
    /// Whether there are no bodies.
    pub fn is_empty(&self) -> bool {
        self.cut.blocks.is_empty() && self.faces.blocks.is_empty() && self.yielding.is_empty()
    }

    /// C of all bodies, which are not there any more.
    pub(super) fn take_low_rank(&mut self) -> LowRank {
        let mut blocks = std::mem::take(&mut self.cut.blocks);
        blocks.append(&mut self.faces.blocks);
        LowRank { blocks }
    }

    /// C of all bodies.
    pub fn low_rank(&self) -> LowRank {
        LowRank { blocks: self.cut.blocks.iter().chain(&self.faces.blocks).cloned().collect() }
    }
}

/// The constrained faces of a system as the solver sees them: cells that are no unknowns are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints {
    /// Cells below and above each face, and 1 ÷ m.
    faces: Vec<([Option<u32>; 2], f64)>,
    response: LowRank,
    /// Kᵀ λ of the last direction.
    gathered: Vec<f64>,
}

impl Constraints {
    /// Take the constraints of `terms` between unknowns of `laplacian` (L), and add Gᵀ m⁻¹ G to the coefficients of L: A11.
    pub fn rebuild(
        &mut self,
        terms: &SolidTerms,
        laplacian: &Laplacian,
        faces: &mut FaceField<f64>,
        extra: &mut CellField<f64>,
    ) {
        self.faces.clear();
        for face in &terms.constrained {
            let (axis, a) = (face.axis, face.axis.index());
            let unknown = |cell: Option<usize>| cell.filter(|&c| laplacian.is_unknown(c)).map(|c| c as u32);
            let cells = faces.cells_beside(axis, face.index).map(unknown);
            // A face without fluid has no mass, and its impulse does nothing.
            let weight = if face.mass > 0.0 { 1.0 / face.mass } else { 0.0 };
            match cells {
                [Some(_), Some(_)] => faces.axes[a][face.index] += weight,
                [Some(c), None] | [None, Some(c)] => extra.data[c as usize] += weight,
                [None, None] => {}
            }
            self.faces.push((cells, weight));
        }
        self.response.clone_from(&terms.response);
    }

    /// Number of impulses.
    pub fn len(&self) -> usize {
        self.faces.len()
    }

    /// Difference of `p` over a face.
    fn across<T: Real>(cells: [Option<u32>; 2], p: &[T]) -> f64 {
        let at = |cell: Option<u32>| cell.map_or(0.0, |cell| p[cell as usize].f64());
        at(cells[1]) - at(cells[0])
    }

    /// x ← x + Gᵀ (m⁻¹ `scale` λ).
    fn scatter(&self, scale: f64, lambda: &[f64], x: &mut [f64]) {
        for (&(cells, weight), lambda) in self.faces.iter().zip(lambda) {
            let push = scale * weight * lambda;
            if let Some(below) = cells[0] {
                x[below as usize] -= push;
            }
            if let Some(above) = cells[1] {
                x[above as usize] += push;
            }
        }
    }

    /// Row n of A21 p + A22 λ; `gathered` is Kᵀ λ.
    fn rows<'a>(&'a self, p: &'a [f64], lambda: &'a [f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.faces.iter().zip(lambda).map(|(&(cells, weight), l)| weight * (l - Self::across(cells, p))));
        self.response.scatter(&self.gathered, out);
    }

    /// Diagonal of A22; 1 for faces that have no fluid and no body to answer.
    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal: Vec<f64> = self.faces.iter().map(|face| face.1).collect();
        for (face, row) in self.response.blocks.iter().flat_map(|block| block.rows()) {
            diagonal[face] += row.iter().map(|k| k * k).sum::<f64>();
        }
        diagonal.iter().map(|&d| if d > 0.0 { d } else { 1.0 }).collect()
    }
}

/// The full system over pressures and impulses, one after the other in a vector.
pub(super) struct FullSystem<'a> {
    fluid: Coupled<'a>,
    constraints: &'a mut Constraints,
    cells: usize,
    /// A21 p + A22 λ of the last direction.
    product: Vec<f64>,
}

impl<'a> FullSystem<'a> {
    /// `laplacian` is A11, `cut` and `yielding` the bodies that have no constraints.
    pub fn new(
        laplacian: &'a mut Laplacian,
        cut: &'a LowRank,
        yielding: &'a [Yielding],
        constraints: &'a mut Constraints,
    ) -> Self {
        let cells = laplacian.len();
        let fluid = Coupled::new(laplacian, cut).with_yielding(yielding);
        Self { fluid, constraints, cells, product: Vec::new() }
    }

    /// `product` ← A21 p + A22 λ.
    fn multiply(&mut self, p: &[f64], lambda: &[f64]) {
        let constraints = &mut *self.constraints;
        let mut gathered = std::mem::take(&mut constraints.gathered);
        constraints.response.gather(lambda, &mut gathered);
        constraints.gathered = gathered;
        constraints.rows(p, lambda, &mut self.product);
    }
}

impl Operator for FullSystem<'_> {
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        let n = self.cells;
        self.fluid.residual(&b[..n], &x[..n], &mut r[..n]);
        self.multiply(&x[..n], &x[n..]);
        self.constraints.scatter(1.0, &x[n..], &mut r[..n]);
        for ((r, b), ax) in r[n..].iter_mut().zip(&b[n..]).zip(&self.product) {
            *r = b - ax;
        }
        dot(r, r)
    }

    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64 {
        let n = self.cells;
        let fluid = self.fluid.direct(&z[..n], beta, &mut p[..n]);
        p[n..].iter_mut().zip(&z[n..]).for_each(|(p, z)| *p = z.f64() + beta * *p);
        self.multiply(&p[..n], &p[n..]);
        // p·A12 λ once more: the product has it as λ·A21 p.
        let faces = self.constraints.faces.iter().zip(&p[n..]);
        let cross: f64 = faces.map(|(&(cells, weight), l)| -weight * l * Constraints::across(cells, &p[..n])).sum();
        fluid + cross + dot(&p[n..], &self.product)
    }

    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
        let n = self.cells;
        self.constraints.scatter(alpha, &p[n..], &mut r[..n]);
        let fluid = self.fluid.advance(alpha, &p[..n], &mut x[..n], &mut r[..n]);
        for (((x, r), p), ap) in x[n..].iter_mut().zip(&mut r[n..]).zip(&p[n..]).zip(&self.product) {
            *x += alpha * p;
            *r -= alpha * ap;
        }
        fluid + dot(&r[n..], &r[n..])
    }
}

/// Incomplete Cholesky for the fluid and the diagonal for the impulses \[A18, §6, after EQYF13\].
pub(super) struct BlockDiagonal<'a> {
    cholesky: &'a mut IncompleteCholesky,
    cells: usize,
    inverse: Vec<f64>,
}

impl<'a> BlockDiagonal<'a> {
    /// `cholesky` is that of A11, which has `cells` rows.
    pub fn new(cholesky: &'a mut IncompleteCholesky, cells: usize, constraints: &Constraints) -> Self {
        let inverse = constraints.diagonal().iter().map(|d| d.recip()).collect();
        Self { cholesky, cells, inverse }
    }
}

impl Preconditioner for BlockDiagonal<'_> {
    type Scalar = f64;

    fn apply(&mut self, r: &mut [f64], z: &mut [f64]) -> f64 {
        let n = self.cells;
        let fluid = self.cholesky.apply(&mut r[..n], &mut z[..n]);
        z[n..].iter_mut().zip(&r[n..]).zip(&self.inverse).for_each(|((z, r), inverse)| *z = inverse * r);
        fluid + dot(&r[n..], &z[n..])
    }
}

/// P(s) of \[A18, eq. 10\]: a multigrid cycle V for A11, and s corrections for what the bodies are more than air,
///
/// ```text
/// z = V r,   s times:  z = V (r + A12 A22⁻¹ A21 z)
/// ```
///
/// where A12 A22⁻¹ A21 = A11 − Σ is known: Gᵀ m⁻¹ G less C Cᵀ of the constrained bodies. Unlike \[A18, §6\], every cycle starts from zero.
pub(super) struct Corrected<'a> {
    pub cycle: &'a mut Multigrid<f32>,
    pub constraints: &'a Constraints,
    pub faces: &'a LowRank,
    /// s.
    pub corrections: usize,
    work: Vec<f64>,
    /// (A11 − Σ) z where it is not zero.
    change: Vec<(usize, f64)>,
}

impl<'a> Corrected<'a> {
    /// `cycle` is one for A11, `faces` is C of the constrained bodies.
    pub fn new(
        cycle: &'a mut Multigrid<f32>,
        constraints: &'a Constraints,
        faces: &'a LowRank,
        corrections: usize,
    ) -> Self {
        Self { cycle, constraints, faces, corrections, work: Vec::new(), change: Vec::new() }
    }

    /// `change` ← `scale` (A11 − Σ) z.
    fn find_change(&mut self, scale: f64, z: &[f32]) {
        self.change.clear();
        for &(cells, weight) in &self.constraints.faces {
            let push = scale * weight * Constraints::across(cells, z);
            for (cell, sign) in cells.into_iter().zip([-1.0, 1.0]) {
                self.change.extend(cell.map(|cell| (cell as usize, sign * push)));
            }
        }
        self.faces.gather(z, &mut self.work);
        let mut gathered = &self.work[..];
        for block in &self.faces.blocks {
            for (cell, row) in block.rows() {
                let push: f64 = row.iter().zip(gathered).map(|(c, g)| c * g).sum();
                self.change.push((cell, -scale * push));
            }
            gathered = &gathered[block.columns..];
        }
    }
}

impl Preconditioner for Corrected<'_> {
    type Scalar = f32;

    fn apply(&mut self, r: &mut [f64], z: &mut [f32]) -> f64 {
        let mut product = self.cycle.apply(r, z);
        for _ in 0..self.corrections {
            self.find_change(1.0 / self.cycle.factor(), z);
            let saved: Vec<f64> = self.change.iter().map(|&(cell, _)| r[cell]).collect();
            self.change.iter().for_each(|&(cell, more)| r[cell] += more);
            product = self.cycle.apply(r, z);
            for (&(cell, more), saved) in self.change.iter().zip(saved).rev() {
                product -= more * f64::from(z[cell]);
                r[cell] = saved;
            }
        }
        product
    }
}

/// A11 with its cycle or factors needs the coefficients that L was made from, and more.
pub(super) fn fluid_alone(
    terms: &SolidTerms,
    laplacian: &Laplacian,
    faces: &FaceField<f64>,
    extra: &CellField<f64>,
    constraints: &mut Constraints,
) -> Result<(Laplacian, FaceField<f64>, CellField<f64>), SolveError> {
    let (mut faces, mut extra) = (faces.clone(), extra.clone());
    constraints.rebuild(terms, laplacian, &mut faces, &mut extra);
    Ok((Laplacian::new(&faces, &extra)?, faces, extra))
}
