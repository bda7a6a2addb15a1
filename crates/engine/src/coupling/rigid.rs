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
//! R = M⁻¹ − M⁻¹Kᵀ (K M⁻¹ Kᵀ)⁺ K M⁻¹ with the joints' rows K: what the pressure does to one it does to all, at once.
//!
//! A ball does not move the fluid when it turns, but the polygons of its surface do, a little; a body light enough would spin on
//! their errors. Axes about which the surface has no arm worth a part of a cell (`LEAST_ARM`) are left out of B.
//!
//! Where a body stands on the floor or leans on a wall its surface meets no fluid that the grid could resolve; the film of fluid
//! that is there has the pressure of the cells around, and these stand in for it (`close`). Without them a light body would be
//! held to the floor, and in a closed box no fluid could take its place.
//!
//! With **face constraints** \[A18, eq. 15–17\] there are no polygons: B has the faces between the cell centres that the body
//! separates. The fluid on them, of mass β (half a cell where only one side is fluid), moves with the body from now on,
//!
//! ```text
//! M V = M V* + Jᵀβ (u* − J V) − ρ dx³ Bᵀ p        R = (M + JᵀβJ)⁻¹
//! ```
//!
//! so that the body shares its momentum with the fluid on its faces, and begins from V* + R Jᵀβ (u* − J V*).

use super::immersed::Immersed;
use crate::fluid::boundary::Boundary;
use crate::geometry::RigidVelocity;
use crate::grid::{Axis, CellField, FaceField, Grid, strides, unravel};
use crate::solid::rigid::rotation::{Principal, principal};
use crate::solid::rigid::{JointRow, RigidState, Rigids};
use crate::solve::{Block, Cholesky, ConstrainedFace, SolidTerms};
use glam::{DMat3, DVec3};
use std::collections::BTreeMap;

/// The coupling of a scene's free bodies at their current places.
pub struct RigidCoupling {
    bodies: Vec<Rows>,
    groups: Vec<Group>,
    /// ρ dx³, kg.
    unit: f64,
}

/// B of one body.
struct Rows {
    /// Its number.
    body: usize,
    cells: Vec<u32>,
    values: Vec<Twist>,
    /// The faces it takes along, if it has constraints, and J there.
    faces: Vec<(ConstrainedFace, Twist)>,
    /// Jᵀβ (u* − J V*), N s and N m s.
    drag: Twist,
    /// Whether B has more than its surface: what it stands on.
    is_closed: bool,
}

/// Six numbers: along the axes, and about them.
type Twist = [f64; 6];

/// Bodies that respond together.
struct Group {
    /// Places in `RigidCoupling::bodies`.
    members: Vec<usize>,
    /// M⁻¹ with joints eliminated, row after row, six rows a member.
    alone: Vec<f64>,
    /// R: that, with the fluid on the members' faces. The same without constraints.
    response: Vec<f64>,
    /// Whether joints hold any of them.
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
    /// What joints add to that, if it has any: N s, and N m s about the centre of mass.
    pub reaction: Option<[DVec3; 2]>,
}

/// The fluid as it comes to the coupling.
#[derive(Clone, Copy)]
pub struct Arriving<'a> {
    /// kg/m³.
    pub rho: f64,
    /// u*, m/s.
    pub velocity: &'a FaceField,
    /// Distance from the surface of a liquid, negative inside.
    pub liquid: Option<&'a CellField>,
}

impl RigidCoupling {
    /// B of all bodies and how they respond. `boundary` is that of their current places.
    pub fn new(
        grid: &Grid,
        fluid: Arriving,
        boundary: &Boundary,
        immersed: &Immersed,
        (rigids, state): (&Rigids, &RigidState),
    ) -> Self {
        let unit = fluid.rho * grid.dx.powi(3);
        let is_liquid = |cell: usize| fluid.liquid.is_none_or(|d| d.data[cell] < 0.0);
        let mut bodies: Vec<Rows> = Vec::new();
        for (body, solid) in immersed.free().filter(|(body, _)| state.bodies[*body].active) {
            let centre = state.bodies[body].position;
            let mut rows = BTreeMap::<u32, Twist>::new();
            let jacobian = |push: DVec3, at: DVec3| {
                let moment = (at - centre).cross(push);
                [push.x, push.y, push.z, moment.x, moment.y, moment.z]
            };
            let mut add = |cell: usize, push: Twist| {
                rows.entry(cell as u32).or_default().iter_mut().zip(push).for_each(|(row, push)| *row += push);
            };
            for polygon in solid.polygons() {
                add(polygon.cell, jacobian(polygon.area / (grid.dx * grid.dx), polygon.centroid));
            }
            let across = |axis: Axis, index: usize| {
                let at = unravel(grid.face_dims(axis), index);
                let (a, upper) = (axis.index(), at[0] + grid.dims[0] * (at[1] + grid.dims[1] * at[2]));
                let below = (at[a] > 0).then(|| upper - strides(grid.dims)[a]);
                let above = (at[a] < grid.dims[a]).then_some(upper);
                (jacobian(axis.unit(), grid.face_centre(axis, at)), [below, above])
            };
            for face in boundary.given.iter().filter(|face| face.body == Some(body as u32)) {
                let (jacobian, cells) = across(face.axis, face.index);
                let open = boundary.open.axes[face.axis.index()][face.index];
                // It leaves the cell below and enters the one above.
                for (cell, sign) in cells.into_iter().zip([-open, open]) {
                    if let Some(cell) = cell {
                        add(cell, jacobian.map(|j| sign * j));
                    }
                }
            }
            let (mut faces, mut drag) = (Vec::new(), [0.0; 6]);
            let moves = twist(rigids.velocity(state, body));
            for face in boundary.constrained.iter().filter(|face| face.body == body as u32) {
                let (axis, index) = (face.axis, face.index);
                let (jacobian, cells) = across(axis, index);
                let open = boundary.open.axes[axis.index()][index];
                let is_wet = |(cell, is_wet): &(Option<usize>, bool)| *is_wet && cell.is_some_and(is_liquid);
                let mass = 0.5 * open * cells.into_iter().zip(face.is_wet).filter(is_wet).count() as f64;
                let slip = fluid.velocity.axes[axis.index()][index] - dot(&jacobian, &moves);
                drag.iter_mut().zip(jacobian).for_each(|(drag, j)| *drag += unit * mass * slip * j);
                faces.push((ConstrainedFace { axis, index, mass }, jacobian));
            }
            let is_closed = !solid.crosses_open_side(grid, boundary.walls)
                && close(grid, &mut rows, |cell| has_free_face(grid, boundary, cell));
            if faces.is_empty() {
                let pushes = solid.polygons().iter().map(|p| (p.area, (p.centroid - centre).cross(p.area)));
                let axes = if solid.is_ball { DMat3::ZERO } else { turning_axes(pushes, grid.dx) };
                for row in rows.values_mut() {
                    let moment = axes * DVec3::from_slice(&row[3..]);
                    row[3..].copy_from_slice(&moment.to_array());
                }
            }
            let (cells, values) = rows.into_iter().unzip();
            bodies.push(Rows { body, cells, values, faces, drag, is_closed });
        }
        let groups = groups(&bodies, unit, rigids, state);
        Self { bodies, groups, unit }
    }

    /// What the bodies add to the pressure operator.
    pub fn terms(&self) -> SolidTerms {
        let mut terms = SolidTerms::default();
        for group in &self.groups {
            let members = || group.members.iter().map(|&member| &self.bodies[member]);
            let rows = members().map(|rows| rows.cells.iter().copied().zip(rows.values.iter().copied()).collect());
            let block = self.block(&group.response, rows.collect());
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
            terms.response.blocks.extend(self.block(&group.alone, rows));
            terms.constrained.extend(members().flat_map(|rows| rows.faces.iter().map(|face| face.0)));
        }
        terms
    }

    /// The columns `rows` F with F Fᵀ = ρ dx³ `response`, of the members of a group; none if nothing gives way.
    fn block(&self, response: &[f64], members: Vec<Vec<(u32, Twist)>>) -> Option<Block> {
        let (rank, factor) = factor(6 * members.len(), response.iter().map(|r| self.unit * r).collect());
        let mut rows = BTreeMap::<u32, Vec<f64>>::new();
        for (m, member) in members.iter().enumerate() {
            for (name, value) in member {
                let row = rows.entry(*name).or_insert_with(|| vec![0.0; rank]);
                for (f, value) in factor[6 * m * rank..].chunks_exact(rank.max(1)).zip(value) {
                    row.iter_mut().zip(f).for_each(|(row, f)| *row += value * f);
                }
            }
        }
        let (cells, values): (Vec<u32>, Vec<Vec<f64>>) = rows.into_iter().unzip();
        (rank > 0 && !cells.is_empty()).then(|| Block { cells, columns: rank, values: values.concat() })
    }

    /// How a body that came with `velocity` moves once it shares its momentum with the fluid on its faces.
    pub fn shared(&self, body: usize, velocity: RigidVelocity) -> RigidVelocity {
        let Some(place) = self.bodies.iter().position(|rows| rows.body == body) else { return velocity };
        let Some(group) = self.groups.iter().find(|group| group.members.contains(&place)) else { return velocity };
        let drags: Vec<f64> = group.members.iter().flat_map(|&member| self.bodies[member].drag).collect();
        let first = group.members.iter().position(|&member| member == place).map_or(0, |m| 6 * m * drags.len());
        let change: Vec<f64> =
            group.response[first..].chunks_exact(drags.len()).take(6).map(|row| dot(row, &drags)).collect();
        RigidVelocity {
            linear: velocity.linear + DVec3::from_slice(&change),
            angular: velocity.angular + DVec3::from_slice(&change[3..]),
            ..velocity
        }
    }

    /// Volume that the bodies push into cells when they move so, in units of dx², m/s.
    pub fn pushed(&self, velocity: impl Fn(usize) -> RigidVelocity) -> Vec<(usize, f64)> {
        let of_body = |rows: &Rows| {
            let moves = twist(velocity(rows.body));
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
            let mut sum = rows.drag;
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
                pushes.push(Push { body, impulse, torque_impulse, reaction });
            }
        }
        pushes.sort_by_key(|push| push.body);
        pushes
    }
}

/// Whether fluid can pass through any face of a cell.
pub(super) fn has_free_face(grid: &Grid, boundary: &Boundary, cell: usize) -> bool {
    let at = unravel(grid.dims, cell);
    Axis::ALL.into_iter().any(|axis| {
        let mut above = at;
        above[axis.index()] += 1;
        [at, above].into_iter().any(|face| boundary.free[(axis, face)] && boundary.open[(axis, face)] > 0.0)
    })
}

/// Make `rows` of B add up to nothing, as those of a closed surface do: drop those of cells that no fluid passes (`is_passed` tells)
/// and give what is missing to the part of the surface that faces the same way, or to its rim if there is none.
/// Returns whether anything was.
fn close(grid: &Grid, rows: &mut BTreeMap<u32, Twist>, is_passed: impl Fn(usize) -> bool) -> bool {
    rows.retain(|&cell, _| is_passed(cell as usize));
    let (mut missing, mut surface) = ([0.0; 6], 0.0);
    for row in rows.values() {
        missing.iter_mut().zip(row).for_each(|(missing, b)| *missing -= b);
        surface += DVec3::from_slice(row).length();
    }
    let size = DVec3::from_slice(&missing).length();
    if size <= ROUND_OFF * surface {
        return false;
    }
    let outwards = DVec3::from_slice(&missing).normalize_or_zero();
    let facing = |row: &Twist| DVec3::from_slice(row).dot(outwards).max(0.0);
    let height = |cell: u32| grid.cell_centre(unravel(grid.dims, cell as usize)).dot(outwards);
    let top = rows.keys().map(|&cell| height(cell)).fold(f64::NEG_INFINITY, f64::max);
    let has_facing = rows.values().map(facing).sum::<f64>() > size;
    let at_rim = |cell: u32| if height(cell) > top - grid.dx { 1.0 } else { 0.0 };
    let shares: Vec<f64> =
        rows.iter().map(|(&cell, row)| if has_facing { facing(row) } else { at_rim(cell) }).collect();
    let all: f64 = shares.iter().sum();
    for (row, share) in rows.values_mut().zip(shares).filter(|(_, share)| *share > 0.0) {
        row.iter_mut().zip(missing).for_each(|(b, missing)| *b += missing * share / all);
    }
    true
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

/// A body's velocity as six numbers.
fn twist(velocity: RigidVelocity) -> Twist {
    let RigidVelocity { linear, angular, .. } = velocity;
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Bodies that joints connect, and how each such group responds to impulses.
fn groups(bodies: &[Rows], unit: f64, rigids: &Rigids, state: &RigidState) -> Vec<Group> {
    let rows = rigids.joint_rows(state);
    let place = |body: usize| bodies.iter().position(|rows| rows.body == body);
    let mut parent: Vec<usize> = (0..bodies.len()).collect();
    let find = |parent: &[usize], mut n: usize| {
        while parent[n] != n {
            n = parent[n];
        }
        n
    };
    for row in &rows {
        if let [Some(a), Some(b)] = row.bodies.map(|body| body.and_then(place)) {
            let (a, b) = (find(&parent, a), find(&parent, b));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for n in 0..bodies.len() {
        members.entry(find(&parent, n)).or_default().push(n);
    }
    let response = |members: Vec<usize>| {
        let n = 6 * members.len();
        let mut response = vec![0.0; n * n];
        for (m, &member) in members.iter().enumerate() {
            let body = bodies[member].body;
            let (properties, rotation) = (rigids.properties(body), state.bodies[body].rotation);
            let (slide, turn): (DVec3, DMat3) = (properties.inverse_mass(), properties.inverse_inertia(rotation));
            for a in 0..3 {
                response[n * (6 * m + a) + 6 * m + a] = slide[a];
                for b in 0..3 {
                    response[n * (6 * m + 3 + a) + 6 * m + 3 + b] = 0.5 * (turn.col(b)[a] + turn.col(a)[b]);
                }
            }
        }
        let own =
            |row: &&JointRow| row.bodies.iter().flatten().any(|&body| members.iter().any(|&m| bodies[m].body == body));
        let rows: Vec<Vec<f64>> = rows.iter().filter(own).map(|row| spread(row, &members, bodies)).collect();
        hold(n, &mut response, &rows);
        let alone = response;
        let response = weigh_down(n, &alone, members.iter().map(|&member| &bodies[member]), unit);
        Group { members, alone, response, is_joined: !rows.is_empty() }
    };
    members.into_values().map(response).collect()
}

/// A joint's row over all freedoms of a group.
fn spread(row: &JointRow, members: &[usize], bodies: &[Rows]) -> Vec<f64> {
    let mut all = vec![0.0; 6 * members.len()];
    for (body, jacobian) in row.bodies.iter().zip(row.jacobian) {
        if let Some(m) = members.iter().position(|&m| Some(bodies[m].body) == *body) {
            all[6 * m..6 * m + 6].iter_mut().zip(jacobian).for_each(|(all, j)| *all += j);
        }
    }
    all
}

/// R ← R − R Kᵀ (K R Kᵀ)⁺ K R, n × n.
fn hold(n: usize, response: &mut [f64], rows: &[Vec<f64>]) {
    let k = rows.len();
    if k == 0 {
        return;
    }
    // Rows of K R, as R is symmetric.
    let moved: Vec<Vec<f64>> = rows.iter().map(|row| response.chunks_exact(n).map(|r| dot(r, row)).collect()).collect();
    let mut matrix = vec![0.0; k * k];
    for (a, moved) in moved.iter().enumerate() {
        for (b, row) in rows.iter().enumerate() {
            matrix[k * a + b] = dot(moved, row);
        }
    }
    let matrix = Cholesky::new(k, matrix);
    for i in 0..n {
        let mut column: Vec<f64> = moved.iter().map(|moved| moved[i]).collect();
        matrix.solve(&mut column);
        for j in 0..n {
            response[n * i + j] -= column.iter().zip(&moved).map(|(c, moved)| c * moved[j]).sum::<f64>();
        }
    }
}

/// (R⁻¹ + JᵀβJ)⁻¹ for the faces that the members take along, where R may be singular: with R = F Fᵀ it is F (1 + Fᵀ JᵀβJ F)⁻¹ Fᵀ.
fn weigh_down<'a>(n: usize, response: &[f64], members: impl Iterator<Item = &'a Rows>, unit: f64) -> Vec<f64> {
    let (rank, f) = factor(n, response.to_vec());
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

/// Pivots below this part of the first one are round-off.
const ROUND_OFF: f64 = 1e-12;

/// F with F Fᵀ = A, n × rank, row after row: Cholesky with the largest pivot first.
///
/// Linear and angular freedoms have different units, so that pivots are compared with their own diagonal.
fn factor(n: usize, mut a: Vec<f64>) -> (usize, Vec<f64>) {
    let diagonal: Vec<f64> = (0..n).map(|i| a[n * i + i]).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut left: Vec<usize> = (0..n).filter(|&i| diagonal[i] > 0.0).collect();
    loop {
        let share = |i: &usize| a[n * i + i] / diagonal[*i];
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
