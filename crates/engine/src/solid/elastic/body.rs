//! A body of tetrahedra and its implicit step.
//!
//! Over a step Δt the body is the linear system A v = b \[ZB17, eq. 6, times Δt\]
//!
//! ```text
//! A = M + Δt D + Δt² K = (1 + Δt τm) M + (Δt τk + Δt²) K
//! b = M vⁿ + Δt (f_elastic(xⁿ) + M g) + external impulses
//! ```
//!
//! with K and f_elastic turned as the elements are at xⁿ. A maps a change of velocity to the impulse that causes it, so the
//! body answers the fluid through A⁻¹.
//!
//! Of a body that nothing holds, V and ω are set apart (frame.rs): A v = b is solved for the rest u, with the rigid part of b, which is
//! V and L, taken out, and positions follow by x ← c + Δt V + Q (r + Δt u).
//!
//! Velocities may be prescribed: at pinned vertices, and along flat axes. Their rows and columns of A become those of the mass
//! alone, so that its pattern stays; what they do to their neighbours is moved to the right-hand side.

use super::element::{Element, Warped};
use super::frame::{self, Frame};
use super::graph::Graph;
use super::lumped::lumped;
use super::{ElasticError, Material};
use crate::geometry::{Bounds, TetMesh, TriMesh};
use crate::solve::{SparseCholesky, SparseFactor, SparseSymmetric, Support, Supports};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Elements or vertices handed to a thread at once.
const PER_TASK: usize = 64;
/// Elements whose energies are added up one after the other.
pub(super) const PER_SUM: usize = 256;
/// Below this share of its longest edge cubed, a tetrahedron is flat.
/// A choice: far above what rounding leaves of a flat one (1e-16), far below any that is meant.
const FLAT: f64 = 1e-12;

/// An elastic body and the machinery that moves it; what changes is in [`ElasticState`].
pub struct ElasticBody {
    pub(super) rest: TetMesh,
    material: Material,
    pub(super) elements: Vec<Element>,
    pub(super) masses: Vec<f64>,
    /// Vertices of what nothing joins, part by part; nearly always there is one.
    parts: Vec<Vec<u32>>,
    /// The boundary. Its vertices are those of the body, where they are now.
    pub(super) surface: TriMesh,
    surface_vertices: Vec<u32>,
    pub(super) velocities: Vec<DVec3>,
    active: bool,
    /// 1 along the axes that are not flat.
    sliding: DVec3,
    /// Per vertex, 1 where pushes change the velocity and 0 where it is prescribed.
    movable: Vec<DVec3>,
    /// Prescribed velocity, m/s, zero where none is.
    prescribed: Vec<DVec3>,
    warped: Vec<Warped>,
    graph: Graph,
    stiffness: SparseSymmetric,
    /// Shared with whoever looks at the step.
    system: Arc<SparseSymmetric>,
    cholesky: SparseCholesky,
    /// What it leans on in this step.
    supports: Supports,
    solution: Vec<f64>,
}

/// What changes in an elastic body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElasticState {
    /// Vertices, m.
    pub positions: Vec<DVec3>,
    /// Of the vertices, m/s.
    pub velocities: Vec<DVec3>,
    /// False once it has left the domain.
    pub active: bool,
}

/// A vertex whose velocity is prescribed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// Number of the vertex.
    pub vertex: usize,
    /// Its velocity in the next step, m/s; zero to hold it.
    pub velocity: DVec3,
}

/// What was met on the way through the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// Elements that are flat or inside out.
    pub inverted: usize,
    /// Elements that got the rotation of the whole body, having none of their own (a line, a point or a mirror image).
    pub undetermined: usize,
}

impl ElasticBody {
    /// A body at rest in the shape of `rest`. Nothing moves along `flat` axes.
    pub fn new(rest: TetMesh, material: Material, flat: [bool; 3]) -> Result<Self, ElasticError> {
        material.check()?;
        let vertices = rest.vertices.len();
        let elements = (0..rest.tetrahedra.len()).map(|t| element(&rest, t)).collect::<Result<Vec<_>, _>>()?;
        if elements.is_empty() {
            return Err(ElasticError::Empty { vertices });
        }
        let quarters = rest.vertex_volumes();
        if let Some(vertex) = quarters.iter().position(|&volume| volume == 0.0) {
            return Err(ElasticError::Loose { vertex });
        }
        let parts = frame::parts(vertices, &rest.tetrahedra);
        let masses = lumped(&rest, &parts, &quarters).into_iter().map(|volume| material.density * volume).collect();
        let surface = rest.surface();
        let mut surface_vertices: Vec<u32> = surface.triangles.iter().flatten().copied().collect();
        surface_vertices.sort_unstable();
        surface_vertices.dedup();
        let sliding = DVec3::from(flat.map(|flat| if flat { 0.0 } else { 1.0 }));
        let (graph, stiffness) = Graph::new(vertices, &rest.tetrahedra);
        Ok(Self {
            material,
            masses,
            surface,
            surface_vertices,
            velocities: vec![DVec3::ZERO; vertices],
            active: true,
            sliding,
            movable: vec![sliding; vertices],
            prescribed: vec![DVec3::ZERO; vertices],
            warped: vec![Warped::default(); elements.len()],
            parts,
            graph,
            cholesky: SparseCholesky::new(&stiffness, &rest.vertices),
            system: Arc::new(stiffness.clone()),
            stiffness,
            supports: Supports::default(),
            solution: vec![0.0; 3 * vertices],
            elements,
            rest,
        })
    }

    /// Prescribe the velocities of these vertices, and of no others, in the steps to come.
    pub fn set_pins(&mut self, pins: &[Pin]) -> Result<(), ElasticError> {
        let vertices = self.masses.len();
        if let Some(&Pin { vertex, velocity }) = pins.iter().find(|p| p.vertex >= vertices || !p.velocity.is_finite()) {
            return Err(ElasticError::Pin { vertex, velocity, vertices });
        }
        self.movable.fill(self.sliding);
        self.prescribed.fill(DVec3::ZERO);
        for pin in pins {
            self.movable[pin.vertex] = DVec3::ZERO;
            self.prescribed[pin.vertex] = pin.velocity * self.sliding;
        }
        Ok(())
    }

    /// v ← v*: the velocity after `dt` seconds under elasticity, damping, gravity (m/s²) and `external` impulses (N s, one per
    /// vertex, or none at all). Leaves A factorised for [`ElasticBody::respond`].
    pub fn predict(&mut self, dt: f64, gravity: DVec3, external: &[DVec3]) -> Result<Prediction, ElasticError> {
        finite(&self.velocities, "velocity")?;
        finite(external, "load")?;
        assert!(external.is_empty() || external.len() == self.masses.len(), "one impulse per vertex");
        let prediction = self.prepare(dt)?;
        let frames = self.frames(&self.velocities);
        for (frame, part) in frames.iter().zip(&self.parts) {
            for n in part.iter().map(|&n| n as usize) {
                self.velocities[n] = frame.thrown(self.surface.vertices[n], self.velocities[n], dt);
            }
        }
        let mut solution = std::mem::take(&mut self.solution);
        let rows = solution.par_chunks_exact_mut(3).with_min_len(PER_TASK).enumerate();
        rows.for_each(|(i, row)| {
            let impulse = external.get(i).copied().unwrap_or_default();
            row.copy_from_slice(&self.right_hand_side(i, dt, gravity, impulse).to_array());
        });
        let scaled = |n: usize, row: &[f64]| DVec3::from_slice(row) / self.masses[n];
        let velocities: Vec<DVec3> = solution.chunks_exact(3).enumerate().map(|(n, row)| scaled(n, row)).collect();
        for (rigid, part) in self.frames(&velocities).iter().zip(&self.parts) {
            for n in part.iter().map(|&n| n as usize) {
                let rest = self.masses[n] * (velocities[n] - rigid.at(self.surface.vertices[n]));
                solution[3 * n..3 * n + 3].copy_from_slice(&(self.movable[n] * rest).to_array());
            }
        }
        self.cholesky.factor().solve_in_place(&mut solution);
        for (i, v) in self.velocities.iter_mut().enumerate() {
            *v = self.movable[i] * DVec3::from_slice(&solution[3 * i..]) + self.prescribed[i];
        }
        self.solution = solution;
        // Round-off, and what little the stiffness of a strained body knows of turning.
        for ((frame, rigid), part) in frames.iter().zip(self.frames(&self.velocities)).zip(&self.parts) {
            let frame = frame.pushed(dt, gravity, self.factors(dt).0, part, &self.surface.vertices, external);
            for n in part.iter().map(|&n| n as usize) {
                let x = self.surface.vertices[n];
                self.velocities[n] += self.movable[n] * (frame.at(x) - rigid.at(x));
            }
        }
        finite(&self.velocities, "velocity")?;
        Ok(prediction)
    }

    /// A of a step of `dt`, s, from here, factorised for [`ElasticBody::respond`].
    pub fn prepare(&mut self, dt: f64) -> Result<Prediction, ElasticError> {
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(ElasticError::Step { dt });
        }
        finite(&self.surface.vertices, "position")?;
        self.supports = Supports::default();
        let prediction = self.warp();
        self.graph.assemble(&self.warped, &mut self.stiffness);
        self.assemble_system(self.factors(dt));
        self.cholesky.factorise(&self.system)?;
        Ok(prediction)
    }

    /// Impulses (N s) → changes of velocity (m/s) over the step predicted or prepared last, elasticity and damping included: A⁻¹, in place, three
    /// values per vertex. Where velocity is prescribed, nothing changes. What the body leans on has no part in it.
    pub fn respond(&self, impulse: &mut [f64]) {
        assert_eq!(impulse.len(), 3 * self.masses.len(), "three values per vertex");
        let mask = |values: &mut [f64]| {
            for (value, movable) in values.chunks_exact_mut(3).zip(&self.movable) {
                value.copy_from_slice(&(DVec3::from_slice(value) * *movable).to_array());
            }
        };
        mask(impulse);
        self.cholesky.factor().solve_in_place(impulse);
        mask(impulse);
    }

    /// From now on, and until the next prediction, answer impulses as if the body were damped but not elastic: A = M + Δt D. That is what
    /// methods do that leave elasticity out of the pressure solve \[ZB17, §8\].
    pub fn drop_elasticity(&mut self, dt: f64) -> Result<(), ElasticError> {
        let Material { mass_damping, stiffness_damping, .. } = self.material;
        self.assemble_system((1.0 + dt * mass_damping, dt * stiffness_damping));
        Ok(self.cholesky.factorise(&self.system)?)
    }

    /// v ← v + change, m/s, three values per vertex.
    pub fn add_velocity(&mut self, change: &[f64]) {
        assert_eq!(change.len(), 3 * self.masses.len(), "three values per vertex");
        self.velocities.iter_mut().zip(change.chunks_exact(3)).for_each(|(v, change)| *v += DVec3::from_slice(change));
    }

    /// v ← v + A⁻¹ impulse, N s, three values per vertex, see [`ElasticBody::respond`]; what it leans on pushes back.
    pub fn apply_impulse(&mut self, impulse: &[f64]) {
        let mut change = std::mem::take(&mut self.solution);
        change.copy_from_slice(impulse);
        self.respond(&mut change);
        self.supports.answer(&mut change);
        self.add_velocity(&change);
        self.solution = change;
    }

    /// Lean on these until the next prediction: those that push hold their vertices, whatever else pushes. Velocities have their impulses
    /// already; the step began with those of `before`.
    pub fn lean_on(&mut self, supports: Vec<Support>, before: &ElasticState) {
        let before: Vec<f64> = before.velocities.iter().flat_map(|v| v.to_array()).collect();
        let mut velocity = self.velocity();
        self.supports = Supports::new(supports, &before, &mut velocity);
        self.set_velocity(&velocity);
    }

    /// Let go what pulls, and lean on what is in the way by more than `slack`, m/s; false if nothing changes. See [`Supports::settle`].
    pub fn settle(&mut self, slack: f64, part: f64) -> bool {
        if self.supports.is_empty() {
            return false;
        }
        let mut velocity = self.velocity();
        let changes = self.supports.settle(slack, part, &mut velocity);
        self.set_velocity(&velocity);
        changes
    }

    /// Lean on nothing.
    pub fn let_go(&mut self) {
        let mut velocity = self.velocity();
        self.supports.let_go(&mut velocity);
        self.set_velocity(&velocity);
    }

    /// What it leans on.
    pub fn supports(&self) -> &Supports {
        &self.supports
    }

    /// Three values a vertex, m/s.
    pub fn velocity(&self) -> Vec<f64> {
        self.velocities.iter().flat_map(|v| v.to_array()).collect()
    }

    /// The same, from outside.
    pub fn set_velocity(&mut self, velocity: &[f64]) {
        self.velocities.iter_mut().zip(velocity.chunks_exact(3)).for_each(|(v, new)| *v = DVec3::from_slice(new));
    }

    /// x ← x + Δt v, along arcs where the body turns as a whole: see frame.rs. A body with prescribed velocities goes straight on.
    ///
    /// Elements that turn against one another go straight on, too. What this stores in them beyond what their forces and stiffness
    /// told is taken from the motion that did it, u.
    pub fn advance(&mut self, dt: f64) {
        if self.is_held() {
            self.surface.vertices.iter_mut().zip(&self.velocities).for_each(|(x, v)| *x += dt * *v);
            return;
        }
        let frames = self.frames(&self.velocities);
        let mut rest = self.velocities.clone();
        for (frame, part) in frames.iter().zip(&self.parts) {
            part.iter().map(|&n| n as usize).for_each(|n| rest[n] -= frame.at(self.surface.vertices[n]));
        }
        let excess = self.stored_beyond(dt, &rest);
        let energy: f64 = 0.5 * self.masses.iter().zip(&rest).map(|(m, u)| m * u.length_squared()).sum::<f64>();
        let kept = if excess > 0.0 { (1.0 - excess / energy).max(0.0).sqrt() } else { 1.0 };

        let positions = &mut self.surface.vertices;
        for (frame, part) in frames.iter().zip(&self.parts) {
            part.iter().map(|&n| n as usize).for_each(|n| positions[n] += dt * self.sliding * rest[n]);
            let strained = Frame {
                linear: frame.linear,
                angular_momentum: frame.angular_momentum,
                ..Frame::new(part, &self.masses, [positions, &rest], self.sliding)
            };
            let turn = strained.turn(dt);
            let moved = strained.moved(turn, dt);
            for n in part.iter().map(|&n| n as usize) {
                let way = dt * frame.linear + frame::way(turn, positions[n] - strained.centre);
                positions[n] += self.sliding * way;
                self.velocities[n] = self.sliding * (moved.at(positions[n]) + kept * (turn * rest[n]));
            }
        }
    }

    /// Out of the game, if nothing of it is left between `bounds` (m) along an axis that is not flat; tells whether it has just gone.
    pub fn leave(&mut self, bounds: Bounds) -> bool {
        let all = Bounds::of(&self.surface.vertices);
        let is_beyond = |a: usize| all.max[a] < bounds.min[a] || all.min[a] > bounds.max[a];
        let has_left = self.active && (0..3).any(|a| self.sliding[a] != 0.0 && is_beyond(a));
        self.active &= !has_left;
        has_left
    }

    /// False once it has left the domain.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Move a vertex as well, m, and let it have moved so over the last `dt` seconds.
    pub fn displace(&mut self, vertex: usize, by: DVec3, dt: f64) {
        self.surface.vertices[vertex] += by;
        self.velocities[vertex] += by / dt;
    }

    /// What must be kept to go on from here.
    pub fn state(&self) -> ElasticState {
        let (positions, velocities) = (self.surface.vertices.clone(), self.velocities.clone());
        ElasticState { positions, velocities, active: self.active }
    }

    /// Go on from there.
    pub fn restore(&mut self, state: &ElasticState) -> Result<(), ElasticError> {
        let [vertices, positions, velocities] = [self.masses.len(), state.positions.len(), state.velocities.len()];
        if [positions, velocities] != [vertices; 2] {
            return Err(ElasticError::State { positions, velocities, vertices });
        }
        self.surface.vertices.copy_from_slice(&state.positions);
        self.velocities.copy_from_slice(&state.velocities);
        self.active = state.active;
        Ok(())
    }

    /// Shape at rest.
    pub fn rest(&self) -> &TetMesh {
        &self.rest
    }

    /// What it is made of.
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// Where the vertices are, m.
    pub fn positions(&self) -> &[DVec3] {
        &self.surface.vertices
    }

    /// Velocities of the vertices, m/s.
    pub fn velocities(&self) -> &[DVec3] {
        &self.velocities
    }

    /// The boundary as it is now. Its triangles use the vertex numbers of the body, inner vertices included.
    pub fn surface(&self) -> &TriMesh {
        &self.surface
    }

    /// Vertices on the boundary, in increasing order.
    pub fn surface_vertices(&self) -> &[u32] {
        &self.surface_vertices
    }

    /// Lumped mass M of every vertex, kg: about a quarter of each tetrahedron around it (lumped.rs).
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Per vertex and axis, 1 where pushes change the velocity, 0 where it is prescribed (pins, flat axes).
    pub fn movable(&self) -> &[DVec3] {
        &self.movable
    }

    /// K of the last prediction, N/m, of all vertices, pinned ones included.
    pub fn stiffness(&self) -> &SparseSymmetric {
        &self.stiffness
    }

    /// A = M + Δt D + Δt² K of the last prediction, kg. Rows and columns of prescribed velocities have the mass alone.
    pub fn system(&self) -> &Arc<SparseSymmetric> {
        &self.system
    }

    /// The factor of A.
    pub fn factor(&self) -> &SparseFactor {
        self.cholesky.factor()
    }

    /// Whether velocities of vertices are prescribed.
    fn is_held(&self) -> bool {
        self.movable.iter().any(|movable| *movable != self.sliding)
    }

    /// What the parts do as a whole if vertices move so, m/s; of a body that is held nothing.
    fn frames(&self, velocities: &[DVec3]) -> Vec<Frame> {
        let frame =
            |part: &Vec<u32>| Frame::new(part, &self.masses, [&self.surface.vertices, velocities], self.sliding);
        if self.is_held() { Vec::new() } else { self.parts.iter().map(frame).collect() }
    }

    /// Elastic energy after vertices have moved on by `dt` × `velocities`, less what forces and stiffness now tell of it, J.
    fn stored_beyond(&self, dt: f64, velocities: &[DVec3]) -> f64 {
        let (positions, lame, preferred) = (&self.surface.vertices, self.material.lame(), self.rotation());
        let of_element = |(element, corners): (&Element, &[u32; 4])| {
            let [x, way] = [corners.map(|v| positions[v as usize]), corners.map(|v| dt * velocities[v as usize])];
            let (now, then) = (
                element.warped(x, lame, preferred),
                element.warped(std::array::from_fn(|a| x[a] + way[a]), lame, preferred),
            );
            let pull = |a: usize| (0..4).map(|b| now.stiffness(a, b) * way[b]).sum::<DVec3>();
            let work: f64 = (0..4).map(|a| way[a].dot(0.5 * pull(a) - now.forces[a])).sum();
            then.energy - (now.energy + work)
        };
        let chunks = self.elements.par_chunks(PER_SUM).zip(self.rest.tetrahedra.par_chunks(PER_SUM));
        let sums: Vec<f64> =
            chunks.map(|(elements, corners)| elements.iter().zip(corners).map(of_element).sum()).collect();
        sums.into_iter().sum()
    }

    /// Rotations, forces and turned gradients of all elements at the positions now.
    fn warp(&mut self) -> Prediction {
        let preferred = self.rotation();
        let (positions, lame) = (&self.surface.vertices, self.material.lame());
        let (elements, tetrahedra) = (&self.elements, &self.rest.tetrahedra);
        self.warped.par_iter_mut().with_min_len(PER_TASK).enumerate().for_each(|(n, warped)| {
            *warped = elements[n].warped(tetrahedra[n].map(|v| positions[v as usize]), lame, preferred);
        });
        let count = |of: fn(&Warped) -> bool| self.warped.iter().filter(|&w| of(w)).count();
        Prediction { inverted: count(|w| w.inverted), undetermined: count(|w| w.undetermined) }
    }

    /// A from M and K; prescribed rows and columns keep the mass alone.
    fn assemble_system(&mut self, (mass_factor, stiffness_factor): (f64, f64)) {
        let (columns, system) = (self.stiffness.columns(), Arc::make_mut(&mut self.system));
        for i in 0..self.masses.len() {
            for k in self.stiffness.row(i) {
                let open = self.movable[columns[k] as usize] * stiffness_factor;
                let block = self.stiffness.blocks[k];
                let scaled = DMat3::from_cols(block.x_axis * open.x, block.y_axis * open.y, block.z_axis * open.z);
                system.blocks[k] = DMat3::from_diagonal(self.movable[i]) * scaled;
            }
            let mass = mass_factor * self.masses[i];
            system.blocks[self.graph.diagonal(i)] += DMat3::from_diagonal(DVec3::splat(mass));
        }
    }

    /// Row `i` of b, N s; where velocity is prescribed, what makes the row of the mass alone give that velocity.
    fn right_hand_side(&self, i: usize, dt: f64, gravity: DVec3, impulse: DVec3) -> DVec3 {
        let (mass_factor, stiffness_factor) = self.factors(dt);
        let mass = self.masses[i];
        let force = self.graph.force(&self.warped, i) + mass * gravity;
        let from_prescribed = stiffness_factor * self.stiffness.multiply_row(i, &self.prescribed);
        let pushed = mass * self.velocities[i] + dt * force + impulse - from_prescribed;
        self.movable[i] * pushed + mass_factor * mass * self.prescribed[i]
    }

    /// A = first × M + second × K.
    fn factors(&self, dt: f64) -> (f64, f64) {
        (1.0 + dt * self.material.mass_damping, dt * self.material.stiffness_damping + dt * dt)
    }
}

/// Refuse vectors that are not numbers.
fn finite(vectors: &[DVec3], what: &'static str) -> Result<(), ElasticError> {
    vectors.iter().position(|v| !v.is_finite()).map_or(Ok(()), |vertex| Err(ElasticError::NonFinite { vertex, what }))
}

/// A tetrahedron of the mesh at rest, if it is one.
fn element(mesh: &TetMesh, tetrahedron: usize) -> Result<Element, ElasticError> {
    let (corners, vertices) = (mesh.tetrahedra[tetrahedron], mesh.vertices.len());
    let repeated = (0..4).any(|a| (0..a).any(|b| corners[a] == corners[b]));
    if repeated || corners.iter().any(|&v| v as usize >= vertices) {
        return Err(ElasticError::Corners { tetrahedron, corners, vertices });
    }
    let x = mesh.corners(tetrahedron);
    let longest =
        (0..4).flat_map(|a| (0..a).map(move |b| [a, b])).map(|[a, b]| x[a].distance(x[b])).fold(0.0, f64::max);
    let (volume, limit) = (mesh.volume_of(tetrahedron), FLAT * longest.powi(3));
    if !(volume > limit && longest.is_finite() && x.iter().all(|x| x.is_finite())) {
        return Err(ElasticError::Volume { tetrahedron, volume, limit });
    }
    Ok(Element::new(x))
}
