//! Free rigid bodies in the pressure solve, through cut cells (design §2, eq. 1; after \[A18\] and \[ZB17\]).
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

use super::immersed::Immersed;
use crate::fluid::boundary::Boundary;
use crate::geometry::RigidVelocity;
use crate::grid::{CellField, Grid, strides, unravel};
use crate::solid::rigid::{JointRow, RigidState, Rigids};
use crate::solve::{Block, Cholesky, LowRank};
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
    values: Vec<[f64; 6]>,
}

/// Bodies that respond together.
struct Group {
    /// Places in `RigidCoupling::bodies`.
    members: Vec<usize>,
    /// R, row after row, six rows a member.
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

impl RigidCoupling {
    /// B of all bodies and how they respond. `boundary` is that of their current places.
    pub fn new(
        grid: &Grid,
        rho: f64,
        boundary: &Boundary,
        immersed: &Immersed,
        (rigids, state): (&Rigids, &RigidState),
    ) -> Self {
        let mut bodies: Vec<Rows> = Vec::new();
        for (body, solid) in immersed.free().filter(|(body, _)| state.bodies[*body].active) {
            let centre = state.bodies[body].position;
            let mut rows = BTreeMap::<u32, [f64; 6]>::new();
            let mut add = |cell: usize, push: DVec3, at: DVec3| {
                let row = rows.entry(cell as u32).or_default();
                let moment = (at - centre).cross(push);
                for a in 0..3 {
                    row[a] += push[a];
                    row[3 + a] += moment[a];
                }
            };
            for polygon in &solid.cut.polygons {
                add(polygon.cell, polygon.area / (grid.dx * grid.dx), polygon.centroid);
            }
            for face in boundary.given.iter().filter(|face| face.body == Some(body as u32)) {
                let (axis, a) = (face.axis, face.axis.index());
                let at = unravel(grid.face_dims(axis), face.index);
                let push = boundary.open.axes[a][face.index] * axis.unit();
                let (upper, middle) =
                    (at[0] + grid.dims[0] * (at[1] + grid.dims[1] * at[2]), grid.face_centre(axis, at));
                // It leaves the cell below and enters the one above.
                if at[a] > 0 {
                    add(upper - strides(grid.dims)[a], -push, middle);
                }
                if at[a] < grid.dims[a] {
                    add(upper, push, middle);
                }
            }
            bodies.push(Rows { body, cells: rows.keys().copied().collect(), values: rows.into_values().collect() });
        }
        let groups = groups(&bodies, rigids, state);
        Self { bodies, groups, unit: rho * grid.dx.powi(3) }
    }

    /// C of Σ = L + C Cᵀ.
    pub fn low_rank(&self) -> LowRank {
        let block = |group: &Group| {
            let n = 6 * group.members.len();
            let (rank, factor) = factor(n, group.response.iter().map(|r| self.unit * r).collect());
            let mut rows = BTreeMap::<u32, Vec<f64>>::new();
            for (m, &member) in group.members.iter().enumerate() {
                let Rows { cells, values, .. } = &self.bodies[member];
                for (&cell, value) in cells.iter().zip(values) {
                    let row = rows.entry(cell).or_insert_with(|| vec![0.0; rank]);
                    for (f, value) in factor[6 * m * rank..].chunks_exact(rank.max(1)).zip(value) {
                        row.iter_mut().zip(f).for_each(|(row, f)| *row += value * f);
                    }
                }
            }
            Block {
                cells: rows.keys().copied().collect(),
                columns: rank,
                values: rows.into_values().flatten().collect(),
            }
        };
        let blocks = self.groups.iter().map(block);
        LowRank { blocks: blocks.filter(|block| block.columns > 0 && !block.cells.is_empty()).collect() }
    }

    /// Volume that the bodies push into cells when they move so, in units of dx², m/s.
    pub fn pushed(&self, velocity: impl Fn(usize) -> RigidVelocity) -> Vec<(usize, f64)> {
        let of_body = |rows: &Rows| {
            let RigidVelocity { linear, angular, .. } = velocity(rows.body);
            let twist = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z];
            let flow = |row: &[f64; 6]| row.iter().zip(twist).map(|(b, v)| b * v).sum::<f64>();
            rows.cells.iter().zip(&rows.values).map(|(&cell, row)| (cell as usize, flow(row))).collect::<Vec<_>>()
        };
        self.bodies.iter().flat_map(of_body).collect()
    }

    /// What the pressure does to the bodies; `p` is Δt·pressure/(ρ dx), m/s.
    pub fn pushes(&self, p: &CellField, (rigids, state): (&Rigids, &RigidState)) -> Vec<Push> {
        let impulse = |rows: &Rows| {
            let mut sum = [0.0; 6];
            for (&cell, row) in rows.cells.iter().zip(&rows.values) {
                let p = p.data[cell as usize];
                sum.iter_mut().zip(row).for_each(|(sum, b)| *sum -= self.unit * b * p);
            }
            sum
        };
        let impulses: Vec<[f64; 6]> = self.bodies.iter().map(impulse).collect();
        let mut pushes = Vec::new();
        for group in &self.groups {
            let joint: Vec<f64> = group.members.iter().flat_map(|&member| impulses[member]).collect();
            let changes: Vec<f64> = group
                .response
                .chunks_exact(joint.len())
                .map(|row| row.iter().zip(&joint).map(|(r, j)| r * j).sum())
                .collect();
            for (&member, change) in group.members.iter().zip(changes.chunks_exact(6)) {
                let body = self.bodies[member].body;
                let [impulse, torque_impulse] = [0, 3].map(|a| DVec3::from_slice(&impulses[member][a..]));
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

/// Bodies that joints connect, and how each such group responds to impulses.
fn groups(bodies: &[Rows], rigids: &Rigids, state: &RigidState) -> Vec<Group> {
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
        Group { members, response, is_joined: !rows.is_empty() }
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
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
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
