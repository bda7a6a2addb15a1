//! Σ = L + C Cᵀ + Σ ρ dx³ B A⁻¹ Bᵀ, the pressure operator with all that solids and pockets of air add (design eq. 1), and the iteration on it.

use super::conjugate_gradients::{self as cg, Operator, Preconditioner, Vectors};
use super::laplacian::dot;
use super::low_rank::{Coupled, Easing, LowRank};
use super::patches::Patches;
use super::pockets::{Pocket, spare_nodes};
use super::squeezed::{self, Squeezed};
use super::yielding::Yielding;
use super::{Laplacian, Regions, SolveError, SolveInfo, SolveParams};
use crate::grid::{CellField, FaceField};

/// The operator of one solve.
#[derive(Clone, Debug, Default)]
pub(super) struct Sigma {
    pub laplacian: Laplacian,
    /// C of bodies of few freedoms.
    pub low_rank: LowRank,
    /// CᵀC of its blocks.
    squares: Vec<Vec<f64>>,
    /// What `low_rank` is when bodies are left out: nothing.
    pub nothing: LowRank,
    /// Bodies of many freedoms.
    pub yielding: Vec<Yielding>,
    pub pockets: Vec<Pocket>,
    pub regions: Regions,
    /// Closed regions around bodies that are hardly squeezed, if they are treated apart.
    squeezed: Option<Squeezed>,
}

/// A right-hand side, and its size.
pub(super) type Rhs<'a> = (&'a [f64], f64);

/// Bodies whose CᵀC is this many times the diagonal of L (balls about 10⁻⁴ as dense as the fluid) need double precision: what
/// rounding leaves in Cᵀz comes back that many times larger.
/// A choice: 6e-8 of single precision comes back as 6e-5. With less, more scenes pay for double precision.
const STIFF: f64 = 1e3;

/// No residual is less than this part of the right-hand side: what light bodies leave of it may be all round-off.
/// Some hundred roundings.
const REACHABLE: f64 = 1e-13;

/// Bodies are light if this part of the right-hand side is left once they have given way to it.
/// A choice: docs/pressure-solver.md, *Bodies that answer*, has the iterations.
const LIGHT: f64 = 0.1;

/// As many columns of vertices are worth their dense factorisation.
/// Doubled when set-up became faster. Bodies beyond it take up to twice the iterations (docs/methods/elastic.md, *Limits*).
const MOST_PATCHES: usize = 1536;

/// A guess that leaves this many times as much as none would is dropped: beside a right-hand side that is all but zero (what round-off leaves
/// where bodies are left out), the pressure of the step before is beyond the numbers of a preconditioner in single precision.
/// A choice: more than the seven digits of those. With less, guesses would go that are merely bad.
const WORTHLESS: f64 = 1e8;

impl Sigma {
    /// Take the coefficients, ties of pockets included, and what solids add to them.
    pub fn take(
        &mut self,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        low_rank: LowRank,
        yielding: Vec<Yielding>,
    ) -> Result<(), SolveError> {
        self.laplacian.rebuild(faces, extra)?;
        self.low_rank = low_rank;
        self.low_rank.mask(&self.laplacian, &self.pockets);
        self.yielding = yielding;
        self.yielding.iter_mut().for_each(|body| body.mask(&self.laplacian, &self.pockets));
        self.squeezed = None;
        let mut room = MOST_PATCHES;
        // Bodies whose vertices are too many are left ties.
        for patches in self.yielding.iter_mut().map(|body| &mut body.patches) {
            match room.checked_sub(patches.columns) {
                Some(rest) => room = rest,
                None => *patches = Patches::default(),
            }
        }
        Ok(())
    }

    /// Find the constant pressures of closed regions around stiff bodies apart, if there are any; then regions are known. `atmosphere` are ties without those of
    /// pockets.
    pub fn set_apart(&mut self, atmosphere: &CellField<f64>) -> bool {
        if !squeezed::are_stiff(&self.yielding) {
            return false;
        }
        self.regions.rebuild(&self.laplacian, &self.pockets, atmosphere);
        self.couple_regions();
        if !self.regions.are_tied_by_columns() {
            self.squeezed = Squeezed::new(&self.regions, &self.yielding);
        }
        // What they do not tie is closed to the preconditioner as well.
        if self.squeezed.is_some() {
            squeezed::stiffen(&self.regions, &mut self.yielding);
        }
        true
    }

    /// Tell regions which of them bodies tie together.
    pub fn couple_regions(&mut self) {
        self.regions.couple(&mut self.low_rank, &self.yielding);
    }

    /// All is taken: measure C. Whether it needs double precision.
    pub fn measure(&mut self) -> bool {
        self.squares = self.low_rank.squares();
        largest(&self.squares) > STIFF * self.laplacian.largest()
    }

    /// Solve Σ p = b, or L p = b if bodies are left out, with a preconditioner and its vectors; on entry `pressure` is the guess.
    pub fn run<M: Preconditioner>(
        &mut self,
        without_bodies: bool,
        m: &mut M,
        vectors: &mut Vectors<M::Scalar>,
        (rhs, b_norm): Rhs,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        let Self { laplacian, low_rank, squares, nothing, yielding, pockets, regions, squeezed } = self;
        let (low_rank, squares, yielding) =
            if without_bodies { (&*nothing, &[][..], &[][..]) } else { (&*low_rank, &squares[..], &yielding[..]) };
        let squeezed = squeezed.as_ref().filter(|_| !without_bodies);
        spare_nodes(pockets, pressure, |p| laplacian.mask(p));
        if b_norm == 0.0 {
            pressure.fill(0.0);
            return Ok(SolveInfo { iterations: 0, residual: 0.0, converged: true });
        }
        vectors.resize(laplacian.len());
        let relief = squeezed.map(|squeezed| Relief::new(squeezed, regions, rhs, pressure));
        let rhs = relief.as_ref().map_or(rhs, |relief| &relief.rhs);
        // If CᵀC is below the diagonal, more than a tenth is left.
        let diagonal = laplacian.largest();
        let easing = (largest(squares) > diagonal).then(|| Easing::new(low_rank, squares, diagonal));
        let eased = easing.as_ref().map_or(b_norm, |easing| easing.norm(b_norm, rhs));
        let mut operator =
            Coupled::new(laplacian, low_rank).with_pockets(pockets).with_yielding(yielding).without(squeezed);
        let mut rr = operator.residual(rhs, pressure, &mut vectors.r);
        if rr.sqrt() > WORTHLESS * b_norm {
            pressure.fill(0.0);
            rr = operator.residual(rhs, pressure, &mut vectors.r);
        }
        // Light bodies come with a velocity that they lose as soon as they touch the fluid: that is not what is to be solved for.
        let mut b_norm = b_norm;
        if let Some(easing) = easing.filter(|_| eased < LIGHT * b_norm) {
            easing.apply(&mut vectors.r, pressure);
            rr = operator.residual(rhs, pressure, &mut vectors.r);
            b_norm = eased.max((REACHABLE * b_norm / params.tolerance).min(b_norm));
        }
        if !regions.closed().is_empty() {
            regions.remove_means(&mut vectors.r);
            rr = dot(&vectors.r, &vectors.r);
        }
        let info = cg::solve(&mut operator, m, vectors, pressure, b_norm, rr, params)?;
        regions.remove_means(pressure);
        if let (Some(squeezed), Some(relief)) = (squeezed, relief) {
            relief.give_back(squeezed, regions, params.tolerance * b_norm, pressure);
        }
        Ok(info)
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.laplacian.bytes() + self.regions.bytes()
    }
}

/// What constant pressures around stiff bodies take of the right-hand side: found apart.
struct Relief {
    /// What is left of it.
    rhs: Vec<f64>,
    /// The pressures that are needed for the rest, and those of the guess.
    needed: Vec<f64>,
    known: Vec<f64>,
}

impl Relief {
    fn new(squeezed: &Squeezed, regions: &mut Regions, rhs: &[f64], pressure: &mut [f64]) -> Self {
        let (needed, known) = (squeezed.needed(regions, rhs), squeezed.means(regions, pressure));
        let mut rhs = rhs.to_vec();
        squeezed.add(-1.0, &needed, &mut rhs);
        regions.leave_out_bodies(true);
        Self { rhs, needed, known }
    }

    /// Raise the pressure by what is needed; `asked` is what is asked for.
    fn give_back(mut self, squeezed: &Squeezed, regions: &Regions, asked: f64, pressure: &mut [f64]) {
        let taken = squeezed.gather(pressure);
        self.needed.iter_mut().zip(taken).for_each(|(needed, taken)| *needed -= taken);
        // A change that the tolerance does not ask for is noise, and much of it: a hair of volume too much in the box is a kilopascal.
        let change: Vec<f64> = self.needed.iter().zip(&self.known).map(|(needed, known)| needed - known).collect();
        let is_asked_for = squeezed.norm(&change) > asked;
        squeezed.raise(regions, if is_asked_for { &self.needed } else { &self.known }, pressure);
    }
}

/// The largest entry on the diagonals of some CᵀC.
fn largest(squares: &[Vec<f64>]) -> f64 {
    // Positive definite: no entry is larger than the largest on the diagonal.
    squares.iter().flatten().fold(0.0, |largest, &entry| largest.max(entry))
}
