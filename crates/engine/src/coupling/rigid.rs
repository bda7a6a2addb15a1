//! Free rigid bodies in the pressure solve (design §2, eq. 1; after \[A18\] and \[ZB17\]).
//!
//! A body moves with twist V = (v, ω) about its centre of mass. It pushes the volume B V into the cells around it and takes
//! the impulse −ρ dx³ Bᵀ p (p in the projection's unit), where a row of B adds up the polygons of the surface in the cell:
//!
//! ```text
//! B_c = Σ [A, (x − c) × A] / dx²
//! ```
//!
//! Faces that the body all but closes move with it, and belong to B as well. With the response R = M⁻¹ of the body, V = V* −
//! ρ dx³ R Bᵀ p, and what is left to solve is (L + ρ dx³ B R Bᵀ) p = B V* − D u*. Bodies that are joined respond together,
//! R = M⁻¹ − M⁻¹Kᵀ (K M⁻¹ Kᵀ)⁺ K M⁻¹ with the joints' rows K: what the pressure does to one it does to all, at once (solid/rigid/held.rs).
//!
//! A ball does not move the fluid when it turns, but the polygons of its surface do, a little; a body light enough would spin on
//! their errors. Axes about which the surface has no arm worth a part of a cell (`LEAST_ARM`) are left out of B.
//!
//! What of the surface meets no fluid that the grid could resolve, and how hydrostatic pressure acts on it: film.rs.
//!
//! With **face constraints** \[A18, eq. 15–17\] there are no polygons: B has the faces between the cell centres that the body
//! separates. The fluid on them, of mass β (half a cell where only one side is fluid), moves with the body from now on,
//!
//! ```text
//! M V = M V* + Jᵀβ (u* − J V) − ρ dx³ Bᵀ p        R = (M + JᵀβJ)⁻¹
//! ```
//!
//! so that the body shares its momentum with the fluid on its faces, and begins from V* + R Jᵀβ (u* − J V*).

use super::Medium;
use super::film::{Piece, Surface, Twist, add};
use super::immersed::Immersed;
use crate::fluid::boundary::Boundary;
use crate::geometry::RigidVelocity;
use crate::grid::cut_cells::CutPolygon;
use crate::grid::voxels::Voxels;
use crate::grid::{Axis, CellField, FaceField, Grid, strides, unravel};
use crate::solid::rigid::rotation::{Principal, principal};
use crate::solid::rigid::{Held, MassProperties, RigidState, Rigids};
use crate::solve::{Block, Cholesky, ConstrainedFace, SolidTerms, Supports};
use glam::{DMat3, DQuat, DVec3};
use std::collections::BTreeMap;

/// The coupling of a scene's free bodies at their current places.
pub struct RigidCoupling {
    bodies: Vec<Rows>,
    groups: Vec<Group>,
    /// ρ dx³, kg.
    unit: f64,
    /// Size of the domain, m: arms are shorter.
    size: f64,
}

/// B of one body.
struct Rows {
    /// Its number.
    body: usize,
    cells: Vec<u32>,
    values: Vec<Twist>,
    /// The faces it takes along, if it has constraints, and J there.
    faces: Vec<(ConstrainedFace, Twist)>,
    /// Jᵀβ (u* − J V*) and the lift, N s and N m s.
    known: Twist,
    lift: Twist,
    /// Whether B has more than its surface: what it stands on.
    is_closed: bool,
}

/// Bodies that are joined have no film between them where they are nearer than this, in cells.
const INSIDE: f64 = 0.05;

/// What a body pushes into a cell by less than this part of an open face is nothing.
const NOTHING: f64 = 1e-12;

/// Bodies that respond together.
struct Group {
    /// Places in `RigidCoupling::bodies`.
    members: Vec<usize>,
    /// Diagonal of M⁻¹ without joints, six values a member: what round-off is measured by.
    scale: Vec<f64>,
    /// M⁻¹ with joints eliminated, row after row, six rows a member.
    alone: Vec<f64>,
    /// R: that, with the fluid on the members' faces. The same without constraints.
    response: Vec<f64>,
    /// Whether joints hold any of them, or what they lean on.
    is_joined: bool,
}

/// What the pressure did to a body.
pub struct Push {
    /// Its number.
    pub body: usize,
    /// Impulse of the fluid, N s.
    pub impulse: DVec3,
    /// About the centre of mass, N m s.
    pub torque_impulse: DVec3,
    /// Which part of both is the lift.
    pub lift: [DVec3; 2],
    /// What joints add to that, and what it leans on, if there is any: N s, and N m s about the centre of mass.
    pub reaction: Option<[DVec3; 2]>,
}

impl RigidCoupling {
    /// B of all bodies and how they respond; `arriving` is u*, m/s, `boundary` that of their current places.
    pub fn new(
        grid: &Grid,
        (fluid, arriving): (Medium, &FaceField),
        boundary: &Boundary,
        immersed: &Immersed,
        (rigids, state): (&Rigids, &RigidState),
    ) -> Self {
        let unit = fluid.rho * grid.dx.powi(3);
        let held = rigids.held(state);
        let mut bodies: Vec<Rows> = Vec::new();
        for (body, solid) in immersed.free().filter(|(body, _)| state.bodies[*body].active) {
            let centre = state.bodies[body].position;
            let jacobian = |push: DVec3, at: DVec3| {
                let moment = (at - centre).cross(push);
                [push.x, push.y, push.z, moment.x, moment.y, moment.z]
            };
            let piece = |CutPolygon { cell, area, centroid, spread, .. }: CutPolygon| {
                let push = jacobian(area / (grid.dx * grid.dx), centroid);
                Piece { cell: cell as u32, push, at: centroid, spread }
            };
            let mut pieces: Vec<Piece> = solid.exposed().map(piece).collect();
            let across = |axis: Axis, index: usize| {
                let at = unravel(grid.face_dims(axis), index);
                let (a, upper) = (axis.index(), at[0] + grid.dims[0] * (at[1] + grid.dims[1] * at[2]));
                let below = (at[a] > 0).then(|| upper - strides(grid.dims)[a]);
                let above = (at[a] < grid.dims[a]).then_some(upper);
                (grid.face_centre(axis, at), [below, above])
            };
            for face in boundary.given.iter().filter(|face| face.body == Some(body as u32)) {
                let (at, cells) = across(face.axis, face.index);
                let (push, open) = (jacobian(face.axis.unit(), at), boundary.open.axes[face.axis.index()][face.index]);
                // It leaves the cell below and enters the one above.
                for (cell, sign) in cells.into_iter().zip([-open, open]) {
                    let piece = |cell| Piece { cell, push: push.map(|j| sign * j), at, spread: DMat3::ZERO };
                    pieces.extend(cell.map(|cell| piece(cell as u32)));
                }
            }
            let (mut faces, mut known) = (Vec::new(), [0.0; 6]);
            let moves = rigids.velocity(state, body).twist();
            for face in boundary.constrained.iter().filter(|face| face.body == body as u32) {
                let (axis, index) = (face.axis, face.index);
                let (at, cells) = across(axis, index);
                let jacobian = jacobian(axis.unit(), at);
                let open = boundary.open.axes[axis.index()][index];
                let is_wet =
                    |(cell, is_wet): &(Option<usize>, bool)| *is_wet && cell.is_some_and(|cell| fluid.is_in(cell));
                let mass = 0.5 * open * cells.into_iter().zip(face.is_wet).filter(is_wet).count() as f64;
                let slip = arriving.axes[axis.index()][index] - dot(&jacobian, &moves);
                known.iter_mut().zip(jacobian).for_each(|(known, j)| *known += unit * mass * slip * j);
                faces.push((ConstrainedFace { axis, index, mass }, jacobian));
            }
            let joined = held.iter().find(|held| held.members.contains(&body)).map_or(&[][..], |held| &held.members);
            let others = || immersed.free().filter(|(other, _)| *other != body && joined.contains(other));
            let is_inside = |at: DVec3| others().any(|(_, other)| other.distance_at(at) < INSIDE * grid.dx);
            // Faces cannot tell either which of them are between bodies that are joined.
            let is_open = solid.crosses_open_side(grid, boundary.walls) || !faces.is_empty() && !joined.is_empty();
            let surface = if is_open {
                Surface::open(pieces)
            } else {
                Surface::closed(grid, boundary, (pieces, solid.hidden().map(piece).collect()), is_inside)
            };
            let mut rows = surface.rows();
            let mut lift = match &solid.voxels {
                Some(voxels) => {
                    lift_of_voxels(grid, fluid, (voxels, surface.wet_share(fluid)), (solid.displaced, centre))
                }
                None => surface.lift(grid, fluid, solid.displaced),
            };
            if faces.is_empty() {
                let pushes = solid.exposed().map(|p| (p.area, (p.centroid - centre).cross(p.area)));
                let axes = if solid.is_ball { DMat3::ZERO } else { turning_axes(pushes, grid.dx) };
                for row in rows.values_mut().chain([&mut lift]) {
                    let moment = axes * DVec3::from_slice(&row[3..]);
                    row[3..].copy_from_slice(&moment.to_array());
                }
            }
            add(&mut known, 1.0, &lift);
            let (cells, values) = rows.into_iter().unzip();
            bodies.push(Rows { body, cells, values, faces, known, lift, is_closed: surface.has_film() });
        }
        let groups = groups(&bodies, held, unit, (rigids, state));
        Self { bodies, groups, unit, size: (grid.upper() - grid.origin).max_element() }
    }

    /// Let bodies lean on what they touch: those that touch each other respond together, and none moves against what holds it.
    pub fn lean(&mut self, supports: &Supports, (rigids, state): (&Rigids, &RigidState)) {
        let place = |body: usize| self.bodies.iter().position(|rows| rows.body == body);
        for support in supports.held() {
            let touching: Vec<usize> = support.row.iter().filter_map(|(first, _)| place(first / 6)).collect();
            let is_one = |group: &Group| group.members.iter().any(|member| touching.contains(member));
            let (together, apart): (Vec<_>, Vec<_>) = std::mem::take(&mut self.groups).into_iter().partition(is_one);
            self.groups = apart;
            let mut members: Vec<usize> = together.into_iter().flat_map(|group| group.members).collect();
            members.sort_unstable();
            if !members.is_empty() {
                let (scale, alone, response) = Default::default();
                self.groups.push(Group { members, scale, alone, response, is_joined: true });
            }
        }
        for group in self.groups.iter_mut().filter(|group| group.alone.is_empty()) {
            let bodies: Vec<usize> = group.members.iter().map(|&member| self.bodies[member].body).collect();
            let of_impulse = |i: usize| {
                let mut change = vec![0.0; 6 * rigids.len()];
                change[6 * bodies[i / 6] + i % 6] = 1.0;
                rigids.respond(state, &mut change);
                supports.hold_back(&mut change);
                bodies.iter().flat_map(|body| change[6 * body..][..6].to_vec()).collect::<Vec<_>>()
            };
            let n = 6 * bodies.len();
            let columns: Vec<Vec<f64>> = (0..n).map(of_impulse).collect();
            group.alone = (0..n * n).map(|k| 0.5 * (columns[k / n][k % n] + columns[k % n][k / n])).collect();
            group.scale = bodies.iter().flat_map(|&body| scale(rigids, state, body)).collect();
            let members = group.members.iter().map(|&member| &self.bodies[member]);
            group.response = weigh_down(&group.alone, &group.scale, members, self.unit);
        }
        self.groups.sort_by_key(|group| group.members[0]);
    }

    /// What the bodies add to the pressure operator.
    pub fn terms(&self) -> SolidTerms {
        let mut terms = SolidTerms::default();
        for group in &self.groups {
            let members = || group.members.iter().map(|&member| &self.bodies[member]);
            let rows = members().map(|rows| rows.cells.iter().copied().zip(rows.values.iter().copied()).collect());
            let block = self.block(&group.response, &group.scale, rows.collect());
            // Constraints at faces cannot tell what a body stands on.
            if members().all(|rows| rows.faces.is_empty()) || members().any(|rows| rows.is_closed) {
                terms.cut.blocks.extend(block);
                continue;
            }
            terms.faces.blocks.extend(block);
            let mut next = terms.constrained.len() as u32;
            let mut number = |(_, jacobian): &(ConstrainedFace, Twist)| {
                next += 1;
                (next - 1, *jacobian)
            };
            let rows = members().map(|rows| rows.faces.iter().map(&mut number).collect()).collect();
            terms.response.blocks.extend(self.block(&group.alone, &group.scale, rows));
            terms.constrained.extend(members().flat_map(|rows| rows.faces.iter().map(|face| face.0)));
        }
        terms
    }

    /// The columns `rows` F with F Fᵀ = ρ dx³ `response`, of the members of a group; none if nothing gives way.
    fn block(&self, response: &[f64], scale: &[f64], members: Vec<Vec<(u32, Twist)>>) -> Option<Block> {
        let scaled = |values: &[f64]| values.iter().map(|value| self.unit * value).collect::<Vec<_>>();
        let (rank, factor) = factor(scaled(response), &scaled(scale));
        let mut rows = BTreeMap::<u32, Vec<f64>>::new();
        let mut own = vec![0.0; rank];
        for (m, member) in members.iter().enumerate() {
            let factor = || factor[6 * m * rank..].chunks_exact(rank.max(1)).take(6);
            // A body whose sides push the same cells, or that joints hold, may push nothing at all: no region is to give way to round-off.
            let size = [1.0, 1.0, 1.0, self.size, self.size, self.size];
            let least = |j: usize| NOTHING * factor().zip(size).map(|(f, size)| f[j].abs() * size).sum::<f64>();
            let least: Vec<f64> = (0..rank).map(least).collect();
            for (name, value) in member {
                own.fill(0.0);
                for (f, value) in factor().zip(value) {
                    own.iter_mut().zip(f).for_each(|(own, f)| *own += value * f);
                }
                let row = rows.entry(*name).or_insert_with(|| vec![0.0; rank]);
                let counts = own.iter().zip(&least).map(|(own, least)| if own.abs() > *least { *own } else { 0.0 });
                row.iter_mut().zip(counts).for_each(|(row, own)| *row += own);
            }
        }
        let (cells, values): (Vec<u32>, Vec<Vec<f64>>) = rows.into_iter().unzip();
        (rank > 0 && !cells.is_empty()).then(|| Block { cells, columns: rank, values: values.concat() })
    }

    /// How a body that came with `velocity` moves once it shares its momentum with the fluid on its faces.
    pub fn shared(&self, body: usize, velocity: RigidVelocity) -> RigidVelocity {
        let Some(place) = self.bodies.iter().position(|rows| rows.body == body) else { return velocity };
        let Some(group) = self.groups.iter().find(|group| group.members.contains(&place)) else { return velocity };
        let known: Vec<f64> = group.members.iter().flat_map(|&member| self.bodies[member].known).collect();
        let first = group.members.iter().position(|&member| member == place).map_or(0, |m| 6 * m * known.len());
        let change: Vec<f64> =
            group.response[first..].chunks_exact(known.len()).take(6).map(|row| dot(row, &known)).collect();
        RigidVelocity {
            linear: velocity.linear + DVec3::from_slice(&change),
            angular: velocity.angular + DVec3::from_slice(&change[3..]),
            ..velocity
        }
    }

    /// Volume that the bodies push into cells when they move so, in units of dx², m/s.
    pub fn pushed(&self, velocity: impl Fn(usize) -> RigidVelocity) -> Vec<(usize, f64)> {
        let of_body = |rows: &Rows| {
            let moves = velocity(rows.body).twist();
            rows.cells
                .iter()
                .zip(&rows.values)
                .map(|(&cell, row)| (cell as usize, dot(row, &moves)))
                .collect::<Vec<_>>()
        };
        self.bodies.iter().flat_map(of_body).collect()
    }

    /// What the fluid does to the bodies; `p` is Δt·pressure/(ρ dx), m/s.
    pub fn pushes(&self, p: &CellField, (rigids, state): (&Rigids, &RigidState)) -> Vec<Push> {
        let drive = |rows: &Rows| {
            let mut sum = rows.known;
            for (&cell, row) in rows.cells.iter().zip(&rows.values) {
                let p = p.data[cell as usize];
                sum.iter_mut().zip(row).for_each(|(sum, b)| *sum -= self.unit * b * p);
            }
            sum
        };
        let drives: Vec<Twist> = self.bodies.iter().map(drive).collect();
        let mut pushes = Vec::new();
        for group in &self.groups {
            let joint: Vec<f64> = group.members.iter().flat_map(|&member| drives[member]).collect();
            let changes: Vec<f64> = group.response.chunks_exact(joint.len()).map(|row| dot(row, &joint)).collect();
            for (&member, change) in group.members.iter().zip(changes.chunks_exact(6)) {
                let rows = &self.bodies[member];
                let body = rows.body;
                // Of what was given, the fluid on the faces takes its part.
                let mut impulse = drives[member];
                for (face, jacobian) in &rows.faces {
                    let part = self.unit * face.mass * dot(jacobian, change);
                    impulse.iter_mut().zip(jacobian).for_each(|(impulse, j)| *impulse -= part * j);
                }
                let [impulse, torque_impulse] = [0, 3].map(|a| DVec3::from_slice(&impulse[a..]));
                let reaction = group.is_joined.then(|| {
                    let [velocity, spin] = [0, 3].map(|a| DVec3::from_slice(&change[a..]));
                    let properties = rigids.properties(body);
                    let inertia = properties.world_inertia(state.bodies[body].rotation);
                    [properties.mass * velocity - impulse, inertia * spin - torque_impulse]
                });
                let lift = [0, 3].map(|a| DVec3::from_slice(&rows.lift[a..]));
                pushes.push(Push { body, impulse, torque_impulse, lift, reaction });
            }
        }
        pushes.sort_by_key(|push| push.body);
        pushes
    }
}

/// With the weight of the fluid on its faces, the pressure of cells carries the fluid in place of a body's voxels. Its shape displaces
/// another volume, and that about its centre.
fn lift_of_voxels(grid: &Grid, fluid: Medium, (voxels, wet): (&Voxels, f64), (volume, centre): (f64, DVec3)) -> Twist {
    let weight = wet * fluid.rho * grid.dx.powi(3) * fluid.gain;
    let mut lift = [0.0; 6];
    lift[..3].copy_from_slice(&(-volume / grid.dx.powi(3) * weight).to_array());
    for at in voxels.inside.iter().map(|&cell| grid.cell_centre(grid.cell_at(cell)) - centre) {
        let moment = at.cross(weight);
        add(&mut lift, 1.0, &[weight.x, weight.y, weight.z, moment.x, moment.y, moment.z]);
    }
    lift
}

/// Arms of the surface below this many cells are errors of its polygons: that of a polygon whose middle or normal is off by as much
/// as a facet across a cell can be. Balls of 2 to 16 cells have 0.02 to 0.1.
const LEAST_ARM: f64 = 0.25;

/// Projects onto the axes about which turning moves the fluid. `pushes` are the areas of polygons and their moments.
///
/// Turning at the rate ω moves a polygon along its normal at ω·t/|A|; the mean square of that over the surface is ωᵀQω, with the
/// squares of arms as the eigenvalues of Q.
fn turning_axes(pushes: impl Iterator<Item = (DVec3, DVec3)>, dx: f64) -> DMat3 {
    let (mut q, mut area) = (DMat3::ZERO, 0.0);
    for (push, moment) in pushes.filter(|(push, _)| *push != DVec3::ZERO) {
        area += push.length();
        q += DMat3::from_cols(moment * moment.x, moment * moment.y, moment * moment.z) * push.length().recip();
    }
    let Principal { moments, frame } = principal(q);
    let is_felt = moments.cmpge(DVec3::splat((LEAST_ARM * dx).powi(2) * area));
    let frame = DMat3::from_quat(frame);
    let kept = DVec3::select(is_felt, DVec3::ONE, DVec3::ZERO);
    if is_felt.all() { DMat3::IDENTITY } else { frame * DMat3::from_diagonal(kept) * frame.transpose() }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Bodies that joints connect, and how each such group responds to impulses.
fn groups(bodies: &[Rows], held: Vec<Held>, unit: f64, (rigids, state): (&Rigids, &RigidState)) -> Vec<Group> {
    let place = |body: usize| bodies.iter().position(|rows| rows.body == body);
    let joined = |held: Held| -> Option<(Vec<usize>, Vec<f64>, bool)> {
        let members: Option<Vec<usize>> = held.members.iter().map(|&body| place(body)).collect();
        members.map(|members| (members, held.response(), true))
    };
    let mut groups: Vec<_> = held.into_iter().filter_map(joined).collect();
    let is_joined = |place: &usize| groups.iter().any(|(members, ..)| members.contains(place));
    let single = |place: usize| {
        let body = bodies[place].body;
        (vec![place], free_response(rigids.properties(body), state.bodies[body].rotation), false)
    };
    let singles: Vec<_> = (0..bodies.len()).filter(|place| !is_joined(place)).map(single).collect();
    groups.extend(singles);
    groups.sort_by_key(|(members, ..)| members[0]);
    let weighed = |(members, alone, is_joined): (Vec<usize>, Vec<f64>, bool)| {
        let scale: Vec<f64> = members.iter().flat_map(|&member| scale(rigids, state, bodies[member].body)).collect();
        let response = weigh_down(&alone, &scale, members.iter().map(|&member| &bodies[member]), unit);
        Group { members, scale, alone, response, is_joined }
    };
    groups.into_iter().map(weighed).collect()
}

/// Diagonal of M⁻¹ of a body by itself.
fn scale(rigids: &Rigids, state: &RigidState, body: usize) -> [f64; 6] {
    let free = free_response(rigids.properties(body), state.bodies[body].rotation);
    std::array::from_fn(|i| free[7 * i])
}

/// M⁻¹ of a body by itself, row after row.
fn free_response(properties: &MassProperties, rotation: DQuat) -> Vec<f64> {
    let (slide, turn): (DVec3, DMat3) = (properties.inverse_mass(), properties.inverse_inertia(rotation));
    let mut response = vec![0.0; 36];
    for a in 0..3 {
        response[7 * a] = slide[a];
        for b in 0..3 {
            response[6 * (3 + a) + 3 + b] = 0.5 * (turn.col(b)[a] + turn.col(a)[b]);
        }
    }
    response
}

/// (R⁻¹ + JᵀβJ)⁻¹ for the faces that the members take along, where R may be singular: with R = F Fᵀ it is F (1 + Fᵀ JᵀβJ F)⁻¹ Fᵀ.
fn weigh_down<'a>(response: &[f64], scale: &[f64], members: impl Iterator<Item = &'a Rows>, unit: f64) -> Vec<f64> {
    let n = scale.len();
    let (rank, f) = factor(response.to_vec(), scale);
    let mut is_alone = true;
    let mut matrix = vec![0.0; rank * rank];
    for (m, rows) in members.enumerate() {
        for (face, jacobian) in &rows.faces {
            is_alone = false;
            let mut column = vec![0.0; rank];
            for (f, j) in f[6 * m * rank..].chunks_exact(rank.max(1)).zip(jacobian) {
                column.iter_mut().zip(f).for_each(|(column, f)| *column += f * j);
            }
            for (row, left) in matrix.chunks_exact_mut(rank.max(1)).zip(&column) {
                row.iter_mut().zip(&column).for_each(|(a, right)| *a += unit * face.mass * left * right);
            }
        }
    }
    if is_alone {
        return response.to_vec();
    }
    for i in 0..rank {
        matrix[rank * i + i] += 1.0;
    }
    let matrix = Cholesky::new(rank, matrix);
    let mut heavier = vec![0.0; n * n];
    for (i, row) in heavier.chunks_exact_mut(n).enumerate() {
        let mut solved = f[rank * i..][..rank].to_vec();
        matrix.solve(&mut solved);
        for (value, other) in row.iter_mut().zip(f.chunks_exact(rank.max(1))) {
            *value = dot(&solved, other);
        }
    }
    heavier
}

/// Pivots below this part of their scale are round-off.
const ROUND_OFF: f64 = 1e-12;

/// F with F Fᵀ = A, n × rank, row after row: Cholesky with the largest pivot first.
///
/// Linear and angular freedoms have different units, and those of light and of heavy bodies different sizes, so that pivots are
/// compared with a `scale` of their own.
fn factor(mut a: Vec<f64>, scale: &[f64]) -> (usize, Vec<f64>) {
    let n = scale.len();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut left: Vec<usize> = (0..n).filter(|&i| scale[i] > 0.0).collect();
    loop {
        let share = |i: &usize| a[n * i + i] / scale[*i];
        let Some((place, &pivot)) =
            left.iter().enumerate().max_by(|x, y| share(x.1).total_cmp(&share(y.1)).then(y.0.cmp(&x.0)))
        else {
            break;
        };
        if share(&pivot) <= ROUND_OFF {
            break;
        }
        left.remove(place);
        let root = a[n * pivot + pivot].sqrt();
        let column: Vec<f64> = (0..n).map(|i| a[n * i + pivot] / root).collect();
        for i in 0..n {
            for j in 0..n {
                a[n * i + j] -= column[i] * column[j];
            }
        }
        columns.push(column);
    }
    let rank = columns.len();
    (rank, (0..n).flat_map(|i| columns.iter().map(move |column| column[i])).collect())
}
