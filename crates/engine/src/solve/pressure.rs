//! The pressure solve of one step: operator, closed regions, preconditioner and iteration under one roof.

use super::conjugate_gradients::{self as cg, Operator, Preconditioner, Vectors};
use super::constraints::{BlockDiagonal, Constraints, Corrected, FullSystem, SolidTerms, fluid_alone};
use super::laplacian::dot;
use super::low_rank::{Block, Coupled, Easing, LowRank};
use super::patches::Patches;
use super::pockets::{Pocket, spare_nodes};
use super::squeezed::{self, Squeezed};
use super::written::{IncompleteLu, SparseIncompleteCholesky, Written, bicgstab};
use super::yielding::Yielding;
use super::zb17::{Zb17Params, Zb17System};
use super::{ClosedRegion, IncompleteCholesky, Laplacian, Multigrid, Regions, SolveError, SolveInfo, SolveParams};
use crate::grid::{CellField, FaceField};
use serde::{Deserialize, Serialize};

/// Pressure solvers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PressureSolver {
    /// Conjugate gradients preconditioned by a multigrid cycle that knows the bodies.
    Multigrid,
    /// Conjugate gradients preconditioned by a cycle for which bodies with face constraints are air, P(s) of \[A18, eq. 10\].
    A18 {
        /// s, how often that is corrected.
        corrections: u8,
    },
    /// Conjugate gradients on the full system \[A18, eq. 17\], preconditioned by incomplete Cholesky for the fluid and the
    /// diagonal for the bodies.
    Icpcg,
    /// Plain conjugate gradients on pressures alone.
    CgSchur,
    /// Plain conjugate gradients on the full system.
    Cg,
    /// Conjugate gradients on the definite system of \[ZB17, eq. 33\], preconditioned by incomplete Cholesky.
    Zb17Spd,
    /// Stabilised bi-conjugate gradients on the indefinite system of \[ZB17, eq. 19\], preconditioned by incomplete LU.
    Zb17Indefinite,
}

impl PressureSolver {
    /// Its name in scenes and statistics.
    pub fn name(self) -> String {
        match self {
            Self::Multigrid => "multigrid".into(),
            Self::A18 { corrections } => format!("a18-p{corrections}"),
            Self::Icpcg => "icpcg".into(),
            Self::CgSchur => "cg-schur".into(),
            Self::Cg => "cg".into(),
            Self::Zb17Spd => "zb17-spd".into(),
            Self::Zb17Indefinite => "zb17-indefinite".into(),
        }
    }
}

/// Sweeps near boundaries in the cycle of \[A18\], besides those everywhere.
const BOUNDARY_SWEEPS: usize = 3;

/// What bodies that answer pressure do in a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They answer: Σ = L + C Cᵀ.
    Free,
    /// They stay as they are: L alone.
    Held,
}

/// Solves L p = b, or (L + C Cᵀ) p = b with bodies, and with pockets of air as further unknowns; keeps its memory from step to
/// step.
///
/// The first solve of a size allocates, later ones do not.
#[derive(Clone, Debug, Default)]
pub struct PressureSolve {
    laplacian: Laplacian,
    low_rank: LowRank,
    /// CᵀC of its blocks.
    squares: Vec<Vec<f64>>,
    /// What `low_rank` is when bodies are held: nothing.
    nothing: LowRank,
    /// Bodies of many freedoms; to the preconditioner they are ties, on the diagonal of `softened`, and columns, in `columns`
    /// after those of `low_rank`.
    yielding: Vec<Yielding>,
    /// Ties of the fluid and of the bodies.
    soft: CellField<f64>,
    softened: Laplacian,
    columns: LowRank,
    patches: Patches,
    /// For the solvers of \[A18\]: C of the bodies in cut cells and of those with face constraints, and these constraints.
    cut: LowRank,
    faces: LowRank,
    constraints: Constraints,
    /// A11, if the full system is solved.
    alone: Laplacian,
    /// Right-hand side and solution of the full system.
    full: [Vec<f64>; 2],
    pockets: Vec<Pocket>,
    regions: Regions,
    multigrid: Multigrid<f32>,
    single: Vectors<f32>,
    cholesky: IncompleteCholesky,
    double: Vectors<f64>,
    /// Takes the place of `multigrid` where bodies are too light for single precision.
    precise: Multigrid<f64>,
    is_stiff: bool,
    /// Closed regions around bodies that are hardly squeezed, if they are treated apart.
    squeezed: Option<Squeezed>,
    is_apart: bool,
    zb17: Zb17Params,
    /// Fill of the incomplete LU; 0 for none.
    fill: usize,
}

/// No preconditioning.
struct Identity;

impl Preconditioner for Identity {
    type Scalar = f64;

    fn apply(&mut self, r: &mut [f64], z: &mut [f64]) -> f64 {
        z.copy_from_slice(r);
        dot(r, r)
    }
}

/// A guess that leaves this many times as much as none would is dropped: beside a right-hand side that is all but zero (what round-off leaves
/// where bodies are held), the pressure of the step before is beyond the numbers of a preconditioner in single precision.
const WORTHLESS: f64 = 1e8;

impl PressureSolve {
    /// Nothing allocated yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Find p with Σ_f a_f (p_c − p_nb) + d_c p_c = b_c; on entry `pressure` is the initial guess, on return the solution.
    ///
    /// `faces` holds a_f ≥ 0 (outer faces are not read), `extra` d_c ≥ 0, `rhs` b; vectors have one value per cell, x fastest. Cells
    /// without coefficients are no unknowns: their pressure is set to zero. In every region without a tie to zero
    /// pressure the mean of `rhs` is removed and reported, and the mean of the pressure is zero.
    pub fn solve(
        &mut self,
        solver: PressureSolver,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        rhs: &[f64],
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<(SolveInfo, Vec<ClosedRegion>), SolveError> {
        self.build(solver, faces, extra, SolidTerms::default())?;
        let info = self.iterate(solver, Bodies::Free, rhs, pressure, params)?;
        Ok((info, self.regions.closed().to_vec()))
    }

    /// Take the pockets of air of the next [`build`](Self::build); what is tied to them is not in `extra`.
    pub fn set_pockets(&mut self, pockets: Vec<Pocket>) {
        self.pockets = pockets;
    }

    /// Whether the next [`build`](Self::build) finds the constant pressures of closed regions around stiff bodies apart.
    pub fn set_apart(&mut self, is_apart: bool) {
        self.is_apart = is_apart;
    }

    /// Set-up: take the coefficients, and what the solids add to them.
    pub fn build(
        &mut self,
        solver: PressureSolver,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        mut solids: SolidTerms,
    ) -> Result<(), SolveError> {
        // On a worker thread from here on, so that small loops need not be handed over.
        rayon::scope(|_| {
            let atmosphere = extra;
            let ties = self.pockets.iter().flat_map(Pocket::ties);
            let with_pockets = (!self.pockets.is_empty()).then(|| with_ties(extra, ties));
            let extra = with_pockets.as_ref().unwrap_or(extra);
            self.laplacian.rebuild(faces, extra)?;
            // The solvers of \[A18\] need them again, one by one.
            let is_simple = matches!(solver, PressureSolver::Multigrid | PressureSolver::CgSchur);
            self.low_rank = if is_simple { solids.take_low_rank() } else { solids.low_rank() };
            self.low_rank.mask(&self.laplacian, &self.pockets);
            self.yielding = std::mem::take(&mut solids.yielding);
            self.yielding.iter_mut().for_each(|body| body.mask(&self.laplacian, &self.pockets));
            limit_patches(&mut self.yielding);
            // What they do not tie is closed to the preconditioner as well.
            self.squeezed = None;
            let are_stiff = self.is_apart && solver == PressureSolver::Multigrid && squeezed::are_stiff(&self.yielding);
            if are_stiff {
                self.regions.rebuild(&self.laplacian, &self.pockets, atmosphere);
                self.regions.couple(&mut self.low_rank, &self.yielding);
                if !self.regions.are_tied_by_columns() {
                    self.squeezed = Squeezed::new(&self.regions, &self.yielding);
                }
                if self.squeezed.is_some() {
                    squeezed::stiffen(&self.regions, &mut self.yielding);
                }
            }
            let mut kept = std::mem::take(&mut self.soft);
            let soft = if self.yielding.is_empty() {
                extra
            } else {
                kept.dims = extra.dims;
                kept.data.clone_from(&extra.data);
                add_ties(&mut kept, self.yielding.iter().flat_map(Yielding::coarse_ties));
                // What bodies do to pockets is no matter of cells: see below.
                self.pockets.iter().for_each(|pocket| kept.data[pocket.node] = 0.0);
                &kept
            };
            let Self { laplacian, regions, pockets, multigrid, precise, yielding, softened, .. } = self;
            let (laplacian, pockets) = (&*laplacian, &pockets[..]);
            // The finest level knows the vertices of soft bodies themselves.
            let is_tied = |body: &&Yielding| body.patches.columns == 0;
            let tied = yielding.iter().filter(is_tied).count();
            let mixed = (0 < tied && tied < yielding.len()).then(|| {
                let mut mixed = with_ties(extra, yielding.iter().filter(is_tied).flat_map(Yielding::ties));
                pockets.iter().for_each(|pocket| mixed.data[pocket.node] = 0.0);
                mixed
            });
            // Regions are found by one thread.
            let (_, preconditioned) = rayon::join(
                || {
                    if !are_stiff {
                        regions.rebuild(laplacian, pockets, atmosphere);
                    }
                },
                || {
                    let preconditioned = if tied == 0 {
                        laplacian
                    } else {
                        softened.rebuild(faces, mixed.as_ref().unwrap_or(soft))?;
                        softened
                    };
                    if solver == PressureSolver::Multigrid {
                        multigrid.rebuild(preconditioned, faces, soft);
                    }
                    Ok(preconditioned)
                },
            );
            let preconditioned = preconditioned?;
            if !are_stiff {
                regions.couple(&mut self.low_rank, &self.yielding);
            }
            self.squares = self.low_rank.squares();
            self.is_stiff = largest(&self.squares) > STIFF * laplacian.largest();
            let columns = if self.yielding.is_empty() {
                &self.low_rank
            } else {
                self.columns.blocks.clone_from(&self.low_rank.blocks);
                self.columns.blocks.extend(self.yielding.iter().flat_map(|body| &body.modes.blocks).cloned());
                // A tie of a pocket is a column that has nothing but its row.
                let is_node = |cell: usize| pockets.iter().any(|pocket| pocket.node == cell);
                for (cell, tie) in
                    self.yielding.iter().flat_map(Yielding::coarse_ties).filter(|(cell, _)| is_node(*cell))
                {
                    self.columns.blocks.push(Block { cells: vec![cell as u32], columns: 1, values: vec![tie.sqrt()] });
                }
                &self.columns
            };
            self.patches = Patches::default();
            self.yielding.iter().for_each(|body| self.patches.append(&body.patches));
            let is_light = |body: &Yielding| body.modes.largest_square() > laplacian.largest();
            let visits_twice = !self.low_rank.blocks.is_empty() || self.yielding.iter().any(is_light);
            match solver {
                PressureSolver::Multigrid if self.is_stiff => {
                    precise.rebuild(preconditioned, faces, soft);
                    precise.couple_soft((columns, visits_twice), &self.patches, pockets);
                }
                PressureSolver::Multigrid => {
                    multigrid.couple_soft((columns, visits_twice), &self.patches, pockets);
                    multigrid.smooth_boundaries(0);
                }
                PressureSolver::CgSchur => {}
                _ => self.build_full(solver, (faces, [extra, soft]), solids)?,
            }
            self.soft = kept;
            Ok(())
        })
    }

    /// What the solvers of \[A18\] need besides: A11, its cycle or factors, and the constraints. Of both ties, the first are those of
    /// the system and the second those of the preconditioner, for which bodies of many freedoms are ties as well.
    fn build_full(
        &mut self,
        solver: PressureSolver,
        (faces, [extra, soft]): (&FaceField<f64>, [&CellField<f64>; 2]),
        solids: SolidTerms,
    ) -> Result<(), SolveError> {
        let (softened, soft_faces, soft) = fluid_alone(&solids, &self.laplacian, (faces, soft), &mut self.constraints)?;
        // As in `low_rank`: first those in cut cells, then those with constraints.
        let blocks = self.low_rank.blocks.split_at(solids.cut.blocks.len());
        (self.cut.blocks, self.faces.blocks) = (blocks.0.to_vec(), blocks.1.to_vec());
        match solver {
            PressureSolver::A18 { .. } => {
                self.multigrid.rebuild(&softened, &soft_faces, &soft);
                self.multigrid.couple(&self.cut, &self.pockets);
                let is_plain = self.cut.blocks.is_empty() && self.pockets.is_empty();
                self.multigrid.smooth_boundaries(if is_plain { BOUNDARY_SWEEPS } else { 0 });
            }
            PressureSolver::Icpcg | PressureSolver::Zb17Spd | PressureSolver::Zb17Indefinite => {
                self.cholesky.rebuild(&softened);
                self.pockets.iter().for_each(|pocket| self.cholesky.set_alone(pocket.node, pocket.total()));
            }
            _ => {}
        }
        self.alone = if self.yielding.is_empty() {
            softened
        } else {
            fluid_alone(&solids, &self.laplacian, (faces, extra), &mut self.constraints)?.0
        };
        Ok(())
    }

    /// Solve with the coefficients of the last [`build`](Self::build) for the same solver; see [`solve`](Self::solve).
    pub fn iterate(
        &mut self,
        solver: PressureSolver,
        bodies: Bodies,
        rhs: &[f64],
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        rayon::scope(|_| {
            let is_held = bodies == Bodies::Held;
            self.regions.hold_bodies(is_held);
            let b_norm = self.regions.measure(rhs).sqrt();
            // What bodies push into pockets is known to Σ only.
            let full = !is_held && self.constraints.len() > 0 && self.pockets.is_empty();
            if full && matches!(solver, PressureSolver::Icpcg | PressureSolver::Cg) {
                return self.iterate_full(solver, (rhs, b_norm), pressure, params);
            }
            if let Some(system) = self.written(solver, rhs).filter(|_| !is_held) {
                return self.iterate_written(solver == PressureSolver::Zb17Spd, &system, pressure, params);
            }
            let Self { laplacian, low_rank, nothing, pockets, regions, multigrid, single, cholesky, double, .. } = self;
            let bodies = if is_held {
                (&*nothing, &[][..], &[][..])
            } else {
                (&*low_rank, &self.squares[..], &self.yielding[..])
            };
            let squeezed = self.squeezed.as_ref().filter(|_| !is_held);
            let system = (laplacian, bodies, (&pockets[..], squeezed), regions);
            match solver {
                PressureSolver::Multigrid if self.is_stiff => {
                    self.precise.normalise(b_norm);
                    self.precise.hold_bodies(is_held);
                    run(system, &mut self.precise, double, (rhs, b_norm), pressure, params)
                }
                PressureSolver::Multigrid => {
                    multigrid.normalise(b_norm);
                    multigrid.hold_bodies(is_held);
                    run(system, multigrid, single, (rhs, b_norm), pressure, params)
                }
                PressureSolver::A18 { corrections } => {
                    multigrid.normalise(b_norm);
                    multigrid.hold_bodies(is_held);
                    let faces = if is_held { &*nothing } else { &self.faces };
                    let corrections = if pockets.is_empty() { corrections.into() } else { 0 };
                    let mut cycle = Corrected::new(multigrid, &self.constraints, faces, corrections);
                    run(system, &mut cycle, single, (rhs, b_norm), pressure, params)
                }
                PressureSolver::Icpcg | PressureSolver::Zb17Spd | PressureSolver::Zb17Indefinite => {
                    run(system, cholesky, double, (rhs, b_norm), pressure, params)
                }
                PressureSolver::CgSchur | PressureSolver::Cg => {
                    run(system, &mut Identity, double, (rhs, b_norm), pressure, params)
                }
            }
        })
    }

    /// Solve the full system of pressures and impulses, whose lower right-hand side is zero: what the bodies bring along is in
    /// `rhs`.
    fn iterate_full(
        &mut self,
        solver: PressureSolver,
        (rhs, b_norm): (&[f64], f64),
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        let Self { alone, cut, yielding, constraints, full: [b, x], regions, cholesky, double, .. } = self;
        alone.mask(pressure);
        let cells = alone.len();
        let n = cells + constraints.len();
        for (v, from) in [(&mut *b, rhs), (&mut *x, &*pressure)] {
            v.clear();
            v.extend_from_slice(from);
            v.resize(n, 0.0);
        }
        regions.remove_means(&mut b[..cells]);
        double.resize(n);
        let mut block = BlockDiagonal::new(cholesky, cells, constraints);
        let mut system = FullSystem::new(alone, (cut, yielding), constraints);
        let rr = system.residual(b, x, &mut double.r);
        let start = (b_norm, rr);
        let info = match solver {
            PressureSolver::Icpcg => cg::solve(&mut system, &mut block, double, x, start, params)?,
            _ => cg::solve(&mut system, &mut Identity, double, x, start, params)?,
        };
        pressure.copy_from_slice(&x[..cells]);
        regions.remove_means(pressure);
        Ok(info)
    }

    /// Whether the systems of \[ZB17\] know everything that there is: elastic bodies, no rigid ones, no pockets.
    fn is_written(&self) -> bool {
        !self.yielding.is_empty() && self.low_rank.blocks.is_empty() && self.pockets.is_empty()
    }

    /// Take other numbers for the solvers of \[ZB17\].
    pub fn set_zb17(&mut self, params: Zb17Params) {
        self.zb17 = params;
    }

    /// Let the incomplete LU of [`PressureSolver::Zb17Indefinite`] have entries where the matrix has none, in all `fill` times as
    /// many as that has; 0 for none, 10 for the default of Eigen, which the paper used.
    pub fn set_fill(&mut self, fill: usize) {
        self.fill = fill;
    }

    /// The system of \[ZB17\] that `solver` solves for `rhs` after the last [`build`](Self::build) for it; none if it is another solver, or
    /// if there is something that those systems do not know.
    pub fn written(&self, solver: PressureSolver, rhs: &[f64]) -> Option<Zb17System> {
        let Self { laplacian, yielding, zb17, .. } = self;
        match solver {
            PressureSolver::Zb17Spd if self.is_written() => Some(Zb17System::definite(laplacian, yielding, rhs, *zb17)),
            PressureSolver::Zb17Indefinite if self.is_written() => {
                Some(Zb17System::indefinite(laplacian, yielding, rhs))
            }
            _ => None,
        }
    }

    /// Solve a system of \[ZB17\], from zero.
    fn iterate_written(
        &mut self,
        is_definite: bool,
        system: &Zb17System,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        let mut x = vec![0.0; system.rhs.len()];
        let info = if is_definite {
            let double = &mut self.double;
            double.resize(x.len());
            let mut operator = Written::new(&system.matrix);
            let rr = operator.residual(&system.rhs, &x, &mut double.r);
            let mut factor = SparseIncompleteCholesky::new(&system.matrix);
            cg::solve(&mut operator, &mut factor, double, &mut x, (rr.sqrt(), rr), params)?
        } else {
            let factors = match self.fill {
                0 => IncompleteLu::new(&system.matrix),
                fill => IncompleteLu::with_fill(&system.matrix, fill),
            };
            bicgstab(&system.matrix, &factors, &system.rhs, &mut x, params)?
        };
        system.read(&x, pressure);
        Ok(info)
    }

    /// Set `v` to zero where there is no unknown.
    pub fn mask(&self, v: &mut [f64]) {
        spare_nodes(&self.pockets, v, |v| self.laplacian.mask(v));
    }

    /// Closed regions of the last solve.
    pub fn closed_regions(&self) -> &[ClosedRegion] {
        self.regions.closed()
    }

    /// Regions of the last [`build`](Self::build).
    pub fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Bytes held: coefficients and vectors.
    pub fn bytes(&self) -> usize {
        self.laplacian.bytes()
            + self.regions.bytes()
            + self.multigrid.bytes()
            + self.precise.bytes()
            + self.single.bytes()
            + self.cholesky.bytes()
            + self.double.bytes()
            + self.alone.bytes()
            + self.softened.bytes()
            + 8 * self.soft.data.capacity()
            + 8 * self.full.iter().map(Vec::capacity).sum::<usize>()
    }
}

/// Bodies whose CᵀC is this many times the diagonal of L (balls about 10⁻⁴ as dense as the fluid) need double precision: what
/// rounding leaves in Cᵀz comes back that many times larger.
const STIFF: f64 = 1e3;

/// No residual is less than this part of the right-hand side: what light bodies leave of it may be all round-off.
const REACHABLE: f64 = 1e-13;

/// Bodies are light if this part of the right-hand side is left once they have given way to it.
const LIGHT: f64 = 0.1;

/// As many columns of vertices are worth their dense factorisation.
const MOST_PATCHES: usize = 1536;

/// Leave ties to bodies whose vertices are too many.
fn limit_patches(bodies: &mut [Yielding]) {
    let mut room = MOST_PATCHES;
    for patches in bodies.iter_mut().map(|body| &mut body.patches) {
        match room.checked_sub(patches.columns) {
            Some(rest) => room = rest,
            None => *patches = Patches::default(),
        }
    }
}

/// `extra` with more ties.
fn with_ties(extra: &CellField<f64>, ties: impl Iterator<Item = (usize, f64)>) -> CellField<f64> {
    let mut all = extra.clone();
    add_ties(&mut all, ties);
    all
}

fn add_ties(extra: &mut CellField<f64>, ties: impl Iterator<Item = (usize, f64)>) {
    ties.for_each(|(cell, weight)| extra.data[cell] += weight);
}

/// The largest entry on the diagonals of some CᵀC.
fn largest(squares: &[Vec<f64>]) -> f64 {
    // Positive definite: no entry is larger than the largest on the diagonal.
    squares.iter().flatten().fold(0.0, |largest, &entry| largest.max(entry))
}

/// L, C with its squares, bodies of many freedoms, pockets and closed regions.
type System<'a> = (
    &'a mut Laplacian,
    (&'a LowRank, &'a [Vec<f64>], &'a [Yielding]),
    (&'a [Pocket], Option<&'a Squeezed>),
    &'a mut Regions,
);

fn run<M: Preconditioner>(
    (laplacian, (low_rank, squares, yielding), (pockets, squeezed), regions): System,
    m: &mut M,
    vectors: &mut Vectors<M::Scalar>,
    (rhs, b_norm): (&[f64], f64),
    pressure: &mut [f64],
    params: &SolveParams,
) -> Result<SolveInfo, SolveError> {
    spare_nodes(pockets, pressure, |p| laplacian.mask(p));
    if b_norm == 0.0 {
        pressure.fill(0.0);
        return Ok(SolveInfo { iterations: 0, residual: 0.0, converged: true });
    }
    vectors.resize(laplacian.len());
    let mut relieved = Vec::new();
    let (mut needed, mut known) = (Vec::new(), Vec::new());
    let rhs = match squeezed {
        None => rhs,
        Some(squeezed) => {
            (needed, known) = (squeezed.needed(regions, rhs), squeezed.means(regions, pressure));
            relieved.extend_from_slice(rhs);
            squeezed.add(-1.0, &needed, &mut relieved);
            regions.hold_bodies(true);
            &relieved
        }
    };
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
    let info = cg::solve(&mut operator, m, vectors, pressure, (b_norm, rr), params)?;
    regions.remove_means(pressure);
    if let Some(squeezed) = squeezed {
        let taken = squeezed.gather(pressure);
        needed.iter_mut().zip(taken).for_each(|(needed, taken)| *needed -= taken);
        // A change that the tolerance does not ask for is noise, and much of it: a hair of volume too much in the box is a kilopascal.
        let change: Vec<f64> = needed.iter().zip(&known).map(|(needed, known)| needed - known).collect();
        let is_asked_for = squeezed.norm(&change) > params.tolerance * b_norm;
        squeezed.raise(regions, if is_asked_for { &needed } else { &known }, pressure);
    }
    Ok(info)
}
