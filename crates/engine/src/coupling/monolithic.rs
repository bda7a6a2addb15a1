//! The coupled solve: the pressure that keeps the volume of every cell, found together with what it does to the solids (design §2, eq. 1).
//!
//! ```text
//! (L + ρ dx³ B M̂⁻¹ Bᵀ) p = B v* − D u*        u = u* − G p        v = v* − ρ dx³ M̂⁻¹ Bᵀ p
//! ```
//!
//! Solids give their [`Freedoms`]: N, v* and M̂⁻¹. The rows of B are geometry (interface.rs); few freedoms become columns of the operator
//! (dense.rs), many a factor (sparse.rs). What hydrostatic pressure does beyond B, and what fluid on constrained faces brings along, is
//! known before: v* has it from the start.
//!
//! Solids may lean on something while the fluid pushes them. Then M̂⁻¹ has what holds them, and the solve is one of a few, in which they let go what would pull
//! and lean on what they would break ([`Supports`](crate::solve::Supports)).

use super::immersed::Immersed;
use super::interface::{FaceRow, Scene, SurfaceRows};
use super::ledger::{Carried, Exchange, carried};
use super::{Medium, dense, sparse};
use crate::fluid::boundary::Boundary;
use crate::fluid::projection::{Projected, Projection};
use crate::geometry::SurfaceId;
use crate::grid::{CellField, FaceField, Grid};
use crate::solid::{Attached, Follow, Freedoms, Pushed, Response};
use crate::solve::{Push, SolidTerms, SolveError, SolveInfo, SolveParams, WORST};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// In so many rounds it is found out what bodies lean on while the fluid pushes; in three times as many, by and by; afterwards they only let go. And how
/// far, in cells, they may come nearer to what they do not lean on than they should.
/// Choices: every round is a solve, and one to three do in most steps that need any (docs/methods/elastic.md, *Contact*), so 4, lowered from 6; the slack is little beside the film of 0.05.
const LEANING: usize = 4;
const SLACK: f64 = 1e-3;

/// How solids answer pressure; what is not monolithic is there for comparison \[ZB17, §8\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Scheme {
    /// With all they have, within the solve.
    #[default]
    Monolithic,
    /// With damping within the solve, with elasticity before it.
    DampingOnly,
    /// After the solve, which takes them for scripted.
    Weak,
}

impl Scheme {
    /// Its name in scenes and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monolithic => "monolithic",
            Self::DampingOnly => "damping-only",
            Self::Weak => "weak",
        }
    }
}

/// Solids of a kind that answer the fluid.
pub trait Answers {
    /// N, v* and M̂⁻¹ of all that moves as one, with what it leans on.
    fn freedoms(&mut self) -> Vec<Freedoms>;

    /// How its surfaces move now.
    fn moving(&self) -> Vec<Moving>;

    /// Take what the fluid does to the freedoms given last, until more is known.
    fn push(&mut self, pushes: Vec<Pushed>);

    /// The pushes stand.
    fn finish(&mut self);

    /// Something other than the fluid pushes one of the freedoms given last, at once; `velocity` is what they come to.
    fn strike(&mut self, unit: usize, pushed: &Pushed, velocity: &[f64]);

    /// What they are to each surface.
    fn totals(&self) -> Vec<SurfacePush>;

    /// Whether it leans on anything, or could.
    fn can_lean(&self) -> bool {
        false
    }

    /// Let go what would pull, and lean on what would be broken by more than `slack`, m/s; false if nothing changes. See
    /// [`Supports::settle`](crate::solve::Supports::settle).
    fn settle(&mut self, _slack: f64, _part: f64) -> bool {
        false
    }

    /// Take back the last pushes.
    fn take_back(&mut self) {}

    /// Lean on nothing any more; false if it does so already.
    fn let_go(&mut self) -> bool {
        false
    }
}

/// A surface, and the freedoms that it follows as they are now.
pub struct Moving {
    /// The surface; its first freedom is the first of `velocity`.
    pub attached: Attached,
    /// Of these.
    pub velocity: Vec<f64>,
}

/// What the fluid does to a surface as a whole: N s, and N m s about the centre of mass of its solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePush {
    /// Which.
    pub surface: SurfaceId,
    /// All of it.
    pub impulse: [DVec3; 2],
    /// Which part of that corrects the hydrostatic pressure of cells to that at the surface.
    pub lift: [DVec3; 2],
}

/// What the prescribed part of a solid pushes.
#[derive(Clone, Debug)]
pub struct Led {
    /// The solid's surface, or the first of them.
    pub surface: SurfaceId,
    /// Cells, and how much into each, in units of dx², m/s.
    pub pushed: Vec<(usize, f64)>,
}

/// The fluid's part in the solve.
pub struct FluidSide<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Length of the step, s.
    pub dt: f64,
    /// What it is filled with.
    pub medium: Medium<'a>,
    /// Where the solids are.
    pub immersed: &'a Immersed,
    /// What they leave open.
    pub boundary: &'a mut Boundary,
    /// L; it knows the boundary and the liquid.
    pub projection: &'a mut Projection,
    /// u* → u, m/s.
    pub velocity: &'a mut FaceField,
    /// The guess → p = Δt·pressure/(ρ dx), m/s.
    pub pressure: &'a mut CellField,
    /// Cells into which sources push, and how much, in units of dx², m/s.
    pub sources: &'a [(usize, f64)],
}

/// When a solve may stop, and what solids do meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct CoupleParams {
    /// Of a single solve.
    pub solve: SolveParams,
    /// Whether one that stops unconverged is an error.
    pub strict: bool,
    /// How solids answer.
    pub scheme: Scheme,
}

/// What came out, besides the velocities.
pub struct Outcome {
    /// The last solve, with the iterations of all.
    pub projected: Projected,
    /// How many solves there were.
    pub rounds: usize,
    /// Whether in the last of them nobody leaned otherwise than before.
    pub settled: bool,
    /// What the fluid does to the surfaces.
    pub pushes: Vec<SurfacePush>,
    /// What is pushed by that which moves as it is told, of solids that answer.
    pub led: Vec<Led>,
    /// Largest |D u − pushed| left in a cell, m/s.
    pub residual_flux: f64,
    /// Flow into each bubble that should be none, in units of dx², m/s.
    pub bubble_flux: Vec<f64>,
    /// What is left of the momentum that fluid, solids and walls exchanged, relative to it.
    pub momentum_error: f64,
}

/// Solve for the pressure and what it does to fluid and solids: u*, v* → u, v.
pub fn couple(fluid: FluidSide, solids: &mut [&mut dyn Answers], params: &CoupleParams) -> Result<Outcome, SolveError> {
    let rows = fluid.rows(&moving(solids));
    couple_with(fluid, &rows, solids, params)
}

/// The same with rows that are known.
fn couple_with(
    mut fluid: FluidSide,
    rows: &RowsOfAll,
    solids: &mut [&mut dyn Answers],
    params: &CoupleParams,
) -> Result<Outcome, SolveError> {
    let mass = fluid.medium.rho * fluid.grid.dx.powi(3);
    fluid.rest_faces();
    let before = fluid.carried();
    let arriving = solids.iter().any(|kind| kind.can_lean()).then(|| fluid.velocity.clone());
    let (mut iterations, mut rounds) = (0, 0);
    let (projected, led) = loop {
        let units: Vec<Vec<Unit>> = solids
            .iter_mut()
            .map(|kind| kind.freedoms().into_iter().map(|freedoms| Unit::new(freedoms, rows, mass)).collect())
            .collect();
        let all = || units.iter().flatten();
        let do_answer = params.scheme != Scheme::Weak;
        fluid.projection.set_bodies(terms(
            fluid.grid,
            fluid.medium.rho,
            fluid.medium.liquid.is_none(),
            all().filter(|_| do_answer),
        ));
        let pushed: Vec<(usize, f64)> = fluid.given(rows).chain(all().flat_map(Unit::pushed_volume)).collect();
        let solved = fluid.project(&pushed, &params.solve);
        if let (Err(SolveError::NotPositiveDefinite { .. }), Some(arriving)) = (&solved, &arriving)
            // What a stiff body answers while it is held is a difference of large numbers, and may be round-off: it has to do without.
            && solids.iter_mut().fold(false, |any, kind| kind.let_go() | any)
        {
            fluid.velocity.clone_from(arriving);
            continue;
        }
        let mut projected = solved?;
        (iterations, rounds) = (iterations + projected.info.iterations, rounds + 1);
        projected.info.iterations = iterations;
        params.check(&projected.info)?;
        for (kind, units) in solids.iter_mut().zip(&units) {
            kind.push(units.iter().map(|unit| unit.pushed(fluid.pressure, mass)).collect());
        }
        let led = || all().filter_map(Unit::led).collect::<Vec<_>>();
        let Some(arriving) = &arriving else { break (projected, led()) };
        if !lean_anew(solids, rounds, SLACK * fluid.grid.dx / fluid.dt) {
            break (projected, led());
        }
        // What leans on something else moves and answers otherwise: once more from the start.
        solids.iter_mut().for_each(|kind| kind.take_back());
        fluid.velocity.clone_from(arriving);
    };
    solids.iter_mut().for_each(|kind| kind.finish());
    Ok(Outcome { led, ..fluid.outcome(rows, solids, projected, rounds, before) })
}

/// Let solids find anew what they lean on; whether any does so otherwise than before.
fn lean_anew(solids: &mut [&mut dyn Answers], rounds: usize, slack: f64) -> bool {
    let part = if rounds <= LEANING { 0.0 } else { WORST };
    let slack = if rounds <= 4 * LEANING { slack } else { f64::INFINITY };
    solids.iter_mut().fold(false, |any, kind| kind.settle(slack, part) | any)
}

impl CoupleParams {
    /// Whether a solve may end like this.
    fn check(&self, info: &SolveInfo) -> Result<(), SolveError> {
        if info.converged || !self.strict {
            return Ok(());
        }
        let &SolveInfo { iterations, residual, .. } = info;
        Err(SolveError::NotConverged { iterations, residual, tolerance: self.solve.tolerance })
    }
}

/// Let the fluid follow solids that move as they do and answer nothing: u* → u.
pub fn follow(mut fluid: FluidSide, solids: &[&mut dyn Answers], params: &SolveParams) -> Result<(), SolveError> {
    let moving = moving(solids);
    let rows = fluid.rows(&moving);
    fluid.rest_faces();
    let pushed = fluid.pushed_by(&rows, &moving);
    fluid.projection.set_bodies(SolidTerms::default());
    fluid.project(&pushed, params).map(|_| ())
}

/// What solids are in the linear system of one solve, for those who want to look at it.
pub struct System {
    grid: Grid,
    rho: f64,
    is_everywhere: bool,
    units: Vec<Unit>,
}

impl System {
    /// The solids of a scene.
    pub fn new(scene: &Scene, freedoms: Vec<Freedoms>) -> Self {
        let rows = surface_rows(scene, freedoms.iter().flat_map(|freedoms| &freedoms.surfaces));
        let (grid, rho) = (*scene.grid, scene.medium.rho);
        let mass = rho * grid.dx.powi(3);
        let units = freedoms.into_iter().map(|freedoms| Unit::new(freedoms, &rows, mass)).collect();
        Self { grid, rho, is_everywhere: scene.medium.liquid.is_none(), units }
    }

    /// What they add to the pressure operator.
    pub fn terms(&self) -> SolidTerms {
        terms(&self.grid, self.rho, self.is_everywhere, self.units.iter())
    }

    /// The volume that they push into cells as they begin, in units of dx², m/s.
    pub fn pushed_volume(&self) -> Vec<(usize, f64)> {
        self.units.iter().flat_map(Unit::pushed_volume).collect()
    }

    /// What a pressure (Δt·pressure/(ρ dx), m/s) does to each unit.
    pub fn pushes(&self, p: &CellField) -> Vec<Pushed> {
        let mass = self.rho * self.grid.dx.powi(3);
        self.units.iter().map(|unit| unit.pushed(p, mass)).collect()
    }
}

type RowsOfAll = BTreeMap<SurfaceId, SurfaceRows>;

fn surface_rows<'a>(scene: &Scene, surfaces: impl Iterator<Item = &'a Attached>) -> RowsOfAll {
    surfaces.map(|attached| (attached.surface, SurfaceRows::new(scene, attached))).collect()
}

/// How all surfaces that answer move now.
fn moving(solids: &[&mut dyn Answers]) -> Vec<Moving> {
    solids.iter().flat_map(|kind| kind.moving()).collect()
}

impl FluidSide<'_> {
    /// B of these surfaces.
    fn rows(&self, moving: &[Moving]) -> RowsOfAll {
        let Self { grid, medium, immersed, .. } = *self;
        let scene = Scene { grid, medium, boundary: self.boundary, immersed, arriving: self.velocity };
        surface_rows(&scene, moving.iter().map(|moving| &moving.attached))
    }

    fn carried(&self) -> Carried {
        carried(self.grid, self.boundary, self.medium.liquid, self.velocity)
    }

    /// What solids push is B v, through faces that move with them as well: those rest meanwhile.
    fn rest_faces(&mut self) {
        self.boundary.set_body_velocity(|_, _, _| 0.0);
        self.boundary.impose(self.velocity);
    }

    fn project(&mut self, pushed: &[(usize, f64)], params: &SolveParams) -> Result<Projected, SolveError> {
        self.projection.project(self.boundary, self.medium.liquid, pushed, params, self.velocity, self.pressure)
    }

    /// What came out of the last solve, measured on what fluid and solids do now.
    fn outcome(
        self,
        rows: &RowsOfAll,
        solids: &[&mut dyn Answers],
        projected: Projected,
        rounds: usize,
        before: Carried,
    ) -> Outcome {
        let moving = moving(solids);
        let pushed = self.pushed_by(rows, &moving);
        let residual_flux = self.projection.residual_flux(self.boundary, &pushed, self.velocity);
        let bubble_flux = self.projection.pocket_flux(self.boundary, &pushed, self.velocity);
        let pushes: Vec<SurfacePush> = solids.iter().flat_map(|kind| kind.totals()).collect();
        let exchange = Exchange {
            grid: self.grid,
            rho: self.medium.rho,
            boundary: self.boundary,
            immersed: self.immersed,
            pressure: self.pressure,
            carried: [before, self.carried()],
            taken_along: taken_along(rows, &moving),
            pushes: &pushes,
        };
        let momentum_error = exchange.error(rows);
        let settled = rounds <= 4 * LEANING;
        Outcome { projected, rounds, settled, pushes, led: Vec::new(), residual_flux, bubble_flux, momentum_error }
    }

    /// What sources push into cells; and in crevices, less what scripted solids do: they push through the films there.
    fn given(&self, rows: &RowsOfAll) -> impl Iterator<Item = (usize, f64)> {
        let crevices: BTreeSet<usize> =
            rows.values().flat_map(|rows| &rows.crevices).map(|cell| *cell as usize).collect();
        let scripted = |cell: usize| (cell, -self.boundary.flux.data[cell]);
        self.sources.iter().copied().chain(crevices.into_iter().map(scripted))
    }

    /// What sources and surfaces push into cells.
    fn pushed_by(&self, rows: &RowsOfAll, moving: &[Moving]) -> Vec<(usize, f64)> {
        let mut pushed: Vec<(usize, f64)> = self.given(rows).collect();
        for Moving { attached, velocity } in moving {
            let rows = &rows[&attached.surface];
            rows.push.scatter(velocity, |cell, volume| pushed.push((cell, volume)));
            pushed.extend(&rows.given);
        }
        pushed
    }
}

/// What fluid on the faces that surfaces take along has gained, in units of ρ dx³, m/s.
fn taken_along(rows: &RowsOfAll, moving: &[Moving]) -> DVec3 {
    let of_surface = |Moving { attached, velocity }: &Moving| {
        let gained = |row: &FaceRow| row.face.mass * (row.along(velocity) - row.arriving) * row.face.axis.unit();
        rows[&attached.surface].faces.iter().map(gained).sum::<DVec3>()
    };
    moving.iter().map(of_surface).sum()
}

/// What units add to the pressure operator; whether the fluid `is_everywhere`, or has air beside it.
fn terms<'u>(grid: &Grid, rho: f64, is_everywhere: bool, units: impl Iterator<Item = &'u Unit>) -> SolidTerms {
    let mass = rho * grid.dx.powi(3);
    let size = (grid.upper() - grid.origin).max_element();
    let mut terms = SolidTerms::default();
    for unit in units {
        let Unit { push, faces, .. } = unit;
        let (matrix, scale) = match &unit.response {
            Response::Sparse(step) => {
                terms.yielding.push(sparse::yielding(
                    push.masked(&step.movable),
                    step,
                    unit.start.clone(),
                    rho,
                    grid.dx,
                ));
                continue;
            }
            Response::Dense { matrix, scale } => (matrix, scale),
        };
        let columns = |rows: &Push, response: &[f64]| {
            dense::columns(
                rows,
                response,
                scale,
                mass,
                size,
                |n| unit.spins.contains(&n),
                is_everywhere && unit.is_rigid,
            )
        };
        let block = columns(push, matrix);
        // Constraints at faces cannot tell what a body stands on.
        if faces.is_empty() || unit.is_closed {
            terms.cut.blocks.extend(block);
            continue;
        }
        terms.faces.blocks.extend(block);
        terms.response.blocks.extend(columns(&dense::face_rows(faces, terms.constrained.len()), &unit.alone));
        terms.constrained.extend(faces.iter().map(|row| row.face));
    }
    terms
}

/// What moves as one, with the rows of its surfaces.
struct Unit {
    /// The first of its surfaces.
    surface: SurfaceId,
    /// B.
    push: Push,
    /// What is pushed however it moves.
    given: Vec<(usize, f64)>,
    /// J of the faces that it takes along.
    faces: Vec<FaceRow>,
    lift: Vec<f64>,
    /// The lift and Jᵀβ (u* − J v*): what is known before the pressure.
    known: Vec<f64>,
    /// v* and what that does.
    start: Vec<f64>,
    /// How it answers, without the fluid on its faces, if it is a few freedoms, and with it.
    alone: Vec<f64>,
    response: Response,
    /// Whether B has more than its surfaces: what it stands on.
    is_closed: bool,
    /// Threes of freedoms that are spins.
    spins: Vec<usize>,
    /// Whether its surfaces keep their shape.
    is_rigid: bool,
}

impl Unit {
    /// `mass` is that of the fluid in a cell, ρ dx³.
    fn new(freedoms: Freedoms, rows: &RowsOfAll, mass: f64) -> Self {
        let Freedoms { surfaces, velocity, response } = freedoms;
        let parts = || surfaces.iter().map(|attached| (attached, &rows[&attached.surface]));
        let push = match &surfaces[..] {
            [only] if only.first == 0 => rows[&only.surface].push.clone(),
            _ => Push::from_entries(parts().flat_map(|(attached, rows)| shifted(&rows.push, attached.first)).collect()),
        };
        let mut lift = vec![0.0; velocity.len()];
        let mut faces = Vec::new();
        for (attached, rows) in parts() {
            lift[attached.first..].iter_mut().zip(&rows.lift).for_each(|(all, own)| *all += own);
            let threes = (attached.first / 3) as u32;
            let row = |face: &FaceRow| FaceRow {
                row: face.row.iter().map(|(n, part)| (n + threes, *part)).collect(),
                ..face.clone()
            };
            faces.extend(rows.faces.iter().map(row));
        }
        let mut known = lift.clone();
        for row in &faces {
            row.spread(mass * row.face.mass * (row.arriving - row.along(&velocity)), &mut known);
        }
        let (alone, response) = match response {
            Response::Dense { matrix, scale } => {
                let weighed = dense::weigh_down(&matrix, &scale, &faces, mass);
                (matrix, Response::Dense { matrix: weighed, scale })
            }
            Response::Sparse(step) => (Vec::new(), Response::Sparse(sparse::weigh_down(&step, &faces, mass))),
        };
        let mut start = known.clone();
        if start.iter().any(|j| *j != 0.0) {
            response.respond(&mut start);
        }
        start.iter_mut().zip(&velocity).for_each(|(start, v)| *start += v);
        let turns = |attached: &&Attached| attached.follow.centre().is_some();
        Self {
            surface: surfaces[0].surface,
            push,
            given: parts().flat_map(|(_, rows)| &rows.given).copied().collect(),
            faces,
            lift,
            known,
            start,
            alone,
            response,
            is_closed: parts().any(|(_, rows)| rows.is_closed),
            is_rigid: surfaces.iter().all(|attached| matches!(attached.follow, Follow::Rigid { .. })),
            spins: surfaces.iter().filter(turns).map(|attached| attached.first / 3 + 1).collect(),
        }
    }

    /// B (v* + what is known), and what is given.
    fn pushed_volume(&self) -> Vec<(usize, f64)> {
        let mut pushed = self.given.clone();
        pushed.reserve(self.push.cells.len());
        self.push.scatter(&self.start, |cell, volume| pushed.push((cell, volume)));
        pushed
    }

    /// What of that no pressure changes: B v* of what is prescribed.
    fn led(&self) -> Option<Led> {
        let Response::Sparse(step) = &self.response else { return None };
        let prescribed = step.movable.iter().map(|movable| (DVec3::ONE - *movable).to_array());
        let velocity: Vec<f64> = prescribed.flatten().zip(&self.start).map(|(part, v)| part * v).collect();
        if velocity.iter().all(|v| *v == 0.0) {
            return None;
        }
        let mut pushed = Vec::new();
        self.push.scatter(&velocity, |cell, volume| pushed.push((cell, volume)));
        Some(Led { surface: self.surface, pushed })
    }

    /// What a pressure does to it.
    fn pushed(&self, p: &CellField, mass: f64) -> Pushed {
        let mut impulse = vec![0.0; self.known.len()];
        self.push.gather(&p.data, &mut impulse);
        impulse.iter_mut().zip(&self.known).for_each(|(j, known)| *j = known - mass * *j);
        let lift = self.lift.clone();
        let is_sparse = matches!(self.response, Response::Sparse(_));
        if is_sparse && self.faces.is_empty() {
            return Pushed { impulse, lift, change: Vec::new() };
        }
        let mut change = impulse.clone();
        self.response.respond(&mut change);
        // Of what was given, the fluid on the faces takes its part.
        for row in &self.faces {
            row.spread(-mass * row.face.mass * row.along(&change), &mut impulse);
        }
        Pushed { impulse, lift, change: if is_sparse { Vec::new() } else { change } }
    }
}

/// Rows over freedoms that begin at `first`.
fn shifted(push: &Push, first: usize) -> impl Iterator<Item = (u32, u32, DVec3)> {
    let threes = (first / 3) as u32;
    let of_row = move |(cell, entries): (usize, &[(u32, DVec3)])| {
        entries.iter().map(|(n, part)| (cell as u32, n + threes, *part)).collect::<Vec<_>>()
    };
    push.rows().flat_map(of_row)
}

#[cfg(test)]
mod tests {
    use super::super::rigid::RigidSide;
    use super::*;
    use crate::fluid::boundary::Wall;
    use crate::geometry::{Bounds, Pose, Shape};
    use crate::solid::Interface;
    use crate::solid::rigid::{Mass, RigidBody, Rigids, Room};
    use crate::solve::{PressureSolver, Supports};
    use glam::DQuat;

    /// A light box is pushed through a fluid at rest; `spoil` does something to its rows.
    fn momentum_error(interface: Interface, spoil: impl Fn(&mut SurfaceRows)) -> f64 {
        let grid = Grid::new([10, 12, 9], 0.1, DVec3::ZERO);
        let bounds = Bounds { min: grid.origin, max: grid.upper() };
        let room =
            Room { bounds, dx: grid.dx, closed: [[true; 2]; 3], flat: [false; 3], gravity: DVec3::ZERO, rho: 1000.0 };
        let body = RigidBody {
            name: "box".into(),
            shape: Shape::Box { size: DVec3::new(0.31, 0.42, 0.27) },
            mass: Mass::Density(200.0),
            interface,
            pose: Pose {
                position: DVec3::new(0.47, 0.61, 0.44),
                rotation: DQuat::from_scaled_axis(DVec3::new(0.3, 0.2, 0.5)),
            },
            velocity: DVec3::new(0.3, 1.0, -0.4),
            spin: DVec3::new(1.0, 0.0, 2.0),
            friction: 0.0,
            restitution: 0.0,
        };
        let outline = [body.outline()];
        let (rigids, mut state) = Rigids::new(std::slice::from_ref(&body), &[], &[], room).unwrap();
        let immersed = Immersed::new(&outline, |_| rigids.skin(&state, 0), &grid, 0.01, false);
        let mut boundary = immersed.boundary(&grid, [[Wall::Closed; 2]; 3]);
        let mut projection = Projection::new(&grid, &boundary, PressureSolver::Multigrid);
        let (mut velocity, mut pressure) = (FaceField::new(&grid, 0.0), CellField::new(&grid, 0.0));
        let (surfaces, mut supports) = ([SurfaceId(0)], Supports::default());
        let mut solids = RigidSide::new(&rigids, &mut state, &surfaces, &mut supports);
        let fluid = FluidSide {
            grid: &grid,
            dt: 0.01,
            medium: Medium::weightless(1000.0),
            immersed: &immersed,
            boundary: &mut boundary,
            projection: &mut projection,
            velocity: &mut velocity,
            pressure: &mut pressure,
            sources: &[],
        };
        let mut rows = fluid.rows(&solids.moving());
        rows.values_mut().for_each(spoil);
        let params = CoupleParams { solve: SolveParams::default(), strict: true, scheme: Scheme::Monolithic };
        couple_with(fluid, &rows, &mut [&mut solids], &params).unwrap().momentum_error
    }

    /// Row K1: the ledger sees what was applied. Rows of B that are wrong show, be it one entry by a tenth, one cell, or all by a ten-thousandth.
    #[test]
    fn a_wrong_b_shows_in_the_ledger() {
        for interface in [Interface::CutCells, Interface::Faces] {
            let right = momentum_error(interface, |_| {});
            assert!(right < 1e-12, "{interface:?}: {right:e}");
            let spoils: [fn(&mut SurfaceRows); 3] = [
                |rows| rows.push.entries[6].1 *= 1.1,
                |rows| rows.push.cells[3] += 1,
                |rows| rows.push.entries.iter_mut().for_each(|(_, push)| *push *= 1.0 + 1e-4),
            ];
            for (n, spoil) in spoils.into_iter().enumerate() {
                let wrong = momentum_error(interface, spoil);
                assert!(wrong > 1e-6, "{interface:?}, {n}: {wrong:e}");
            }
        }
    }
}
