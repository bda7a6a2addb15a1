//! The lowest modes of a body of tetrahedra, K s = ω² M s \[LJF16, §3, §8\], and, unlike there, uniform dilation: without it a body could not give
//! way in a closed box.
//!
//! A space is built by inverse iteration with several vectors at once (block Lanczos with all orthogonalised against all, so that equal frequencies
//! are found as often as they occur), and K is made diagonal in it. A = M + Δt²K of an elastic step is the inverse that this takes, with a step so long that
//! M hardly counts; what of it is rigid motion is known, and is taken out. The start is fixed and all of it runs on one thread: the same bits everywhere.
//!
//! Young's modulus and density only scale frequencies, so modes are those of E = 1 Pa and ρ = 1 kg/m³.

use crate::geometry::TetMesh;
use crate::solid::elastic::{ElasticBody, ElasticError, Material, Pin};
use crate::solve::eigen;
use glam::DVec3;

/// Vectors that are iterated together: more than there are equal frequencies in the bodies of the tests.
/// Those of a ball come in fives (row Q2).
const BLOCK: usize = 8;
/// A step in times that sound takes to cross the body: M counts 10⁻⁴ of K in the slowest mode of a bar ten times as long as thick.
/// A choice: shorter takes more iterations; longer, the condition of A grows with its square.
const CROSSINGS: f64 = 100.0;
/// Modes are found when K s = ω² M s but for this part; frequencies are then right to its square.
/// A choice: that square is round-off, and modes are found once for each shape.
const SETTLED: f64 = 1e-7;
/// Frequencies nearer than this to each other belong together; on tetrahedra, those that are equal in the continuum differ by about so much.
/// A choice: with less, some of the equal ones would be cut off; with more, modes come along that nobody wanted.
const TOGETHER: f64 = 0.01;
/// What is left of a vector after others are taken out of it, below which it was nothing new.
/// A choice: far above round-off (1e-16), far below what iteration adds before modes have settled.
const NOTHING: f64 = 1e-9;

/// Some modes of a body at rest, orthogonal in the measure of mass: Σ m s·s = Σ m for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// How many there are.
    pub count: usize,
    /// ω² of each, for E = 1 Pa and ρ = 1 kg/m³.
    pub squares: Vec<f64>,
    /// How vertex n moves in mode k: `directions[count n + k]`.
    pub directions: Vec<DVec3>,
    /// Volumes that vertices stand for, m³.
    pub volumes: Vec<f64>,
}

/// Fields over vertices that are orthonormal in the measure of mass.
struct Space<'a> {
    masses: &'a [f64],
    movable: &'a [DVec3],
    vectors: Vec<Vec<DVec3>>,
}

impl Modes {
    /// The `wanted` lowest modes of `rest` and all that have the frequency of the last of these, and dilation, if nothing is held; none at all if none are wanted.
    /// Vertices that are `held` do not move, and nothing moves along `flat` axes.
    pub fn lowest(
        rest: &TetMesh,
        poisson_ratio: f64,
        held: &[usize],
        flat: [bool; 3],
        wanted: usize,
    ) -> Result<Self, ElasticError> {
        let mut body = ElasticBody::new(rest.clone(), Material::new(1.0, poisson_ratio, 1.0), flat)?;
        let pins: Vec<Pin> = held.iter().map(|&vertex| Pin { vertex, velocity: DVec3::ZERO }).collect();
        body.set_pins(&pins)?;
        let volumes = body.masses().to_vec();
        if wanted == 0 {
            return Ok(Self { count: 0, squares: Vec::new(), directions: Vec::new(), volumes });
        }
        let size = rest.vertices.iter().map(|x| (*x - rest.vertices[0]).length()).fold(0.0, f64::max);
        body.prepare(CROSSINGS * size)?;
        let (masses, movable) = (body.masses(), body.movable());
        let centre = body.centre();
        let mut rigid = Space { masses, movable, vectors: Vec::new() };
        if held.is_empty() {
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                rigid.take(vec![axis; masses.len()]);
            }
            // About a flat axis alone, if there is one.
            for (axis, unit) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
                if flat[axis] || flat == [false; 3] {
                    rigid.take(rest.vertices.iter().map(|x| unit.cross(*x - centre)).collect());
                }
            }
        }
        let mut found = lowest(&body, &rigid, wanted);
        if held.is_empty() {
            let mut all = Space { masses, movable, vectors: rigid.vectors.clone() };
            all.vectors.append(&mut found);
            all.take(rest.vertices.iter().map(|x| *x - centre).collect());
            found = all.vectors.split_off(rigid.vectors.len());
        }
        let (squares, vectors) = diagonal(&body, &found, found.len());
        let total: f64 = masses.iter().sum();
        let count = vectors.len();
        let at = |n: usize, k: usize| total.sqrt() * vectors[k][n];
        let directions = (0..masses.len() * count).map(|place| at(place / count, place % count)).collect();
        Ok(Self { count, squares, directions, volumes })
    }
}

impl Space<'_> {
    fn dot(&self, a: &[DVec3], b: &[DVec3]) -> f64 {
        self.masses.iter().zip(a).zip(b).map(|((m, a), b)| m * a.dot(*b)).sum()
    }

    /// Take out of a vector what is in the space; what is left as a part of what there was.
    fn clear(&self, v: &mut [DVec3]) -> f64 {
        let before = self.dot(v, v).sqrt();
        // Twice is enough.
        for _ in 0..2 {
            for own in &self.vectors {
                let part = self.dot(own, v);
                v.iter_mut().zip(own).for_each(|(v, own)| *v -= part * *own);
            }
        }
        if before > 0.0 { self.dot(v, v).sqrt() / before } else { 0.0 }
    }

    /// Make what is new in a vector one of the space; tells whether anything was.
    fn take(&mut self, mut v: Vec<DVec3>) -> bool {
        v.iter_mut().zip(self.movable).for_each(|(v, movable)| *v *= *movable);
        if self.clear(&mut v) < NOTHING {
            return false;
        }
        let scale = self.dot(&v, &v).sqrt().recip();
        v.iter_mut().for_each(|v| *v *= scale);
        self.vectors.push(v);
        true
    }
}

/// The lowest modes but for rigid ones, orthonormal.
fn lowest(body: &ElasticBody, rigid: &Space, wanted: usize) -> Vec<Vec<DVec3>> {
    let (masses, movable) = (body.masses(), body.movable());
    let mut space = Space { masses, movable, vectors: rigid.vectors.clone() };
    let first = space.vectors.len();
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 31) as f64 - 0.5
    };
    for _ in 0..BLOCK {
        space.take((0..masses.len()).map(|_| DVec3::new(random(), random(), random())).collect());
    }
    let mut last = first;
    loop {
        let block = last..space.vectors.len();
        last = block.end;
        for n in block {
            let mut v: Vec<f64> = space.vectors[n].iter().zip(masses).flat_map(|(v, m)| (*m * *v).to_array()).collect();
            body.respond(&mut v);
            space.take(v.chunks_exact(3).map(DVec3::from_slice).collect());
        }
        let is_all = space.vectors.len() == last;
        let (squares, vectors) = diagonal(body, &space.vectors[first..], wanted + BLOCK);
        let left: Vec<f64> = squares.iter().zip(&vectors).map(|(square, v)| residual(body, *square, v)).collect();
        let mut count = wanted.min(vectors.len());
        // The next one has to be known to tell whether it belongs to the last.
        let belongs = |n: usize| squares[n].sqrt() < (1.0 + TOGETHER) * squares[n - 1].sqrt();
        while count < vectors.len() && left[count] < TOGETHER && belongs(count) {
            count += 1;
        }
        let is_told = count == vectors.len() || left[count] < TOGETHER;
        if is_all || (is_told && left[..count].iter().all(|left| *left < SETTLED)) {
            return vectors.into_iter().take(count).collect();
        }
    }
}

/// |K s − ω² M s| in units of ω² |M s|.
fn residual(body: &ElasticBody, square: f64, v: &[DVec3]) -> f64 {
    let (mut left, mut all) = (0.0, 0.0);
    for (n, pull) in pulled(body, v).into_iter().enumerate() {
        let m = body.masses()[n];
        left += (pull - square * m * v[n]).length_squared() / m;
        all += m * (square * v[n]).length_squared();
    }
    (left / all.max(f64::MIN_POSITIVE)).sqrt()
}

/// K v, where it may move.
fn pulled(body: &ElasticBody, v: &[DVec3]) -> Vec<DVec3> {
    (0..v.len()).map(|n| body.movable()[n] * body.stiffness().multiply_row(n, v)).collect()
}

/// The `count` lowest ω² in the space of orthonormal `vectors`, and their modes.
fn diagonal(body: &ElasticBody, vectors: &[Vec<DVec3>], count: usize) -> (Vec<f64>, Vec<Vec<DVec3>>) {
    let n = vectors.len();
    let mut matrix = vec![0.0; n * n];
    for (i, v) in vectors.iter().enumerate() {
        let pulled = pulled(body, v);
        for (j, other) in vectors.iter().enumerate().take(i + 1) {
            let value: f64 = pulled.iter().zip(other).map(|(pull, other)| pull.dot(*other)).sum();
            (matrix[n * i + j], matrix[n * j + i]) = (value, value);
        }
    }
    let (values, parts) = eigen(n, matrix);
    let combined = |k: usize| {
        let mut sum = vec![DVec3::ZERO; body.masses().len()];
        for (v, row) in vectors.iter().zip(parts.chunks_exact(n)) {
            sum.iter_mut().zip(v).for_each(|(sum, v)| *sum += row[k] * *v);
        }
        sum
    };
    let count = count.min(n);
    (values[..count].to_vec(), (0..count).map(combined).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use std::f64::consts::TAU;

    /// Row Q1: a bar, its frequencies in Hz. Those known are of quarters of tetrahedra as masses; here masses have the solid's moments (elastic/lumped.rs) where there
    /// are two layers and more. Bending changes little by that; about the bar's axis quarters have half as much inertia again across two cells, so
    /// that what twists is faster here, by up to √1.5.
    #[test]
    fn a_bar_has_the_frequencies_of_its_mesh() {
        let known = [
            ([10, 1, 1], [5.57509, 6.97499, 12.37923, 13.27680, 15.12819]),
            ([20, 2, 2], [4.00296, 4.69876, 10.21328, 11.21622, 11.68141]),
        ];
        for (cells, known) in known {
            let rest = TetMesh::block(DVec3::new(1.0, 0.1, 0.1), cells);
            let modes = Modes::lowest(&rest, 0.3, &[], [false; 3], 5).unwrap();
            let scale = (1e6f64 / 1000.0).sqrt() / TAU;
            let found: Vec<f64> = modes.squares.iter().map(|square| scale * square.sqrt()).collect();
            println!("{cells:?}: {found:?}");
            let bends = if cells[1] == 1 { 5 } else { 3 };
            assert!(found.iter().zip(known).take(bends).all(|(found, known)| (found / known - 1.0).abs() < 3e-2));
            assert!(found.iter().zip(known).all(|(found, known)| (0.97..1.5f64.sqrt()).contains(&(found / known))));
        }
    }

    /// Row Q2: a ball that nothing holds; asked for seven, there are five that twist it, five that make it an egg, and dilation.
    #[test]
    fn a_ball_has_its_modes_in_fives() {
        let (rest, _) = TetMesh::stuff(&Shape::Sphere { radius: 1.0 }, 0.2).unwrap();
        let modes = Modes::lowest(&rest, 0.3, &[], [false; 3], 7).unwrap();
        let shear = (1.0f64 / 2.6).sqrt();
        let found: Vec<f64> = modes.squares.iter().map(|square| square.sqrt() / shear).collect();
        println!("{found:?}");
        assert_eq!(modes.count, 11);
        for (n, found) in found.iter().take(10).enumerate() {
            let exact = if n < 5 { 2.50113 } else { 2.64622 };
            assert!((found / exact - 1.0).abs() < 0.03, "{n}: {found}");
        }
    }

    /// Modes have no momentum, and are orthogonal.
    #[test]
    fn modes_are_orthogonal_to_each_other_and_to_rigid_motion() {
        let rest = TetMesh::block(DVec3::new(0.7, 0.4, 0.3), [4, 3, 2]);
        let Modes { count, directions, volumes, .. } = Modes::lowest(&rest, 0.4, &[], [false; 3], 12).unwrap();
        let total: f64 = volumes.iter().sum();
        for k in 0..count {
            let s = |n: usize| directions[count * n + k];
            let all = || (0..volumes.len()).map(|n| (volumes[n], rest.vertices[n], s(n)));
            assert!(all().map(|(m, _, s)| m * s).sum::<DVec3>().length() < 1e-11 * total);
            assert!(all().map(|(m, x, s)| m * x.cross(s)).sum::<DVec3>().length() < 1e-11 * total);
            for l in 0..=k {
                let product: f64 = all().enumerate().map(|(n, (m, _, s))| m * s.dot(directions[count * n + l])).sum();
                assert!((product / total - f64::from(k == l)).abs() < 1e-9, "{k} {l}: {product}");
            }
        }
    }

    /// A body of a single tetrahedron has twelve freedoms, six of which are modes.
    #[test]
    fn a_body_has_no_more_modes_than_freedoms() {
        let mut rest = TetMesh::block(DVec3::ONE, [1, 1, 1]);
        let corners = rest.tetrahedra[0];
        rest =
            TetMesh { vertices: corners.map(|v| rest.vertices[v as usize]).to_vec(), tetrahedra: vec![[0, 1, 2, 3]] };
        let modes = Modes::lowest(&rest, 0.3, &[], [false; 3], 50).unwrap();
        assert_eq!(modes.count, 6);
        assert!(modes.squares.iter().all(|square| *square > 0.1), "{:?}", modes.squares);
    }
}
