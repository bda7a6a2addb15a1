//! What all copies of a shape share: its surface, its modes, and integrals over its mass from which inertia follows in any deformed state.
//!
//! With y = X + Σ qₖ sₖ, places in the body's frame, all that is asked for are sums over Σ m y yᵀ, Σ m y sₖᵀ and Σ m sₖ sₗᵀ, which are polynomials of q.

use super::modes::Modes;
use crate::geometry::{TetMesh, TriMesh};
use glam::{DMat3, DVec3};

/// Of what a mode moves the surface by, on the mean of squares, at least this part has to be along the normal for the fluid to feel it. The five
/// modes that twist a ball have next to none \[row Q2\], and what polygons make of that would shake it (\[LJF16, eq. 43\] has all modes).
const FELT: f64 = 0.01;

/// Tetrahedra of each mode, those that it strains most, that tell whether a shape is about to fold: so few that it does not matter how many there are.
/// A choice: with fewer, folds beside them may go unseen; more cost time in every step.
const WATCHED: usize = 6;

/// Least and largest part of its volume that a tetrahedron may have: linear modes would turn it inside out, or let it grow without bound.
/// Choices: nearer to 1 they would stop modes that still look right, farther from it shapes are past what linear modes can tell.
const FOLDED: f64 = 0.2;
const SWOLLEN: f64 = 2.5;

/// A shape and its modes; density and Young's modulus are not in it.
#[derive(Clone, Debug)]
pub struct Basis {
    /// How many modes there are.
    pub count: usize,
    /// ω² of each, for E = 1 Pa and ρ = 1 kg/m³.
    pub squares: Vec<f64>,
    /// The surface at rest about the centre of mass, m; all its vertices are used.
    pub surface: TriMesh,
    /// How vertex n of that moves in mode k: `directions[count n + k]`.
    pub directions: Vec<DVec3>,
    /// Which vertices of the tetrahedra these are.
    pub vertices: Vec<u32>,
    /// Which modes move the surface along its normal, and by which part of their squares.
    pub normal_share: Vec<f64>,
    /// Centre of mass where the shape was given, m.
    pub centre: DVec3,
    /// m³.
    pub volume: f64,
    /// Vertices of the surface that do not move.
    pub held: Vec<bool>,
    /// Whether any do: then nothing moves but modes.
    pub is_held: bool,
    /// 1 along the axes that are not flat.
    pub sliding: DVec3,
    /// ∇sₖ of all modes in those tetrahedra that some mode strains most, one after the other.
    strained: Vec<DMat3>,
    /// Σ m X Xᵀ, Σ m sₖ Xᵀ, Σ m sₖ sₗᵀ and Σ m sₖ, for ρ = 1 kg/m³.
    rest: DMat3,
    mixed: Vec<DMat3>,
    pairs: Vec<DMat3>,
    means: Vec<DVec3>,
}

/// Moments of a deformed shape, for ρ = 1 kg/m³, in the body's frame.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// I, m⁵.
    pub inertia: DMat3,
    /// H: angular momentum of a unit rate of each mode.
    pub swirl: Vec<DVec3>,
    /// ∂(Σ m y yᵀ)/∂qₖ.
    pub slopes: Vec<DMat3>,
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Σ a × b from Σ a bᵀ.
fn axial(m: DMat3) -> DVec3 {
    let [a, b, c] = [m.x_axis, m.y_axis, m.z_axis];
    DVec3::new(c.y - b.z, a.z - c.x, b.x - a.y)
}

impl Basis {
    /// A shape with its modes; vertices that are `held` do not move, and nothing moves along `flat` axes.
    pub fn new(rest: &TetMesh, held: &[usize], flat: [bool; 3], modes: &Modes) -> Self {
        let Modes { count, squares, directions: all, volumes } = modes;
        let count = *count;
        let volume: f64 = volumes.iter().sum();
        let centre = volumes.iter().zip(&rest.vertices).map(|(m, x)| *m * *x).sum::<DVec3>() / volume;
        let places: Vec<DVec3> = rest.vertices.iter().map(|x| *x - centre).collect();
        let direction = |n: usize, k: usize| all[count * n + k];
        let sum =
            |of: &dyn Fn(usize) -> DMat3| volumes.iter().enumerate().fold(DMat3::ZERO, |sum, (n, m)| sum + *m * of(n));
        let mixed = (0..count).map(|k| sum(&|n| outer(direction(n, k), places[n]))).collect();
        let pairs =
            (0..count * count).map(|place| sum(&|n| outer(direction(n, place / count), direction(n, place % count))));
        let means = (0..count).map(|k| volumes.iter().enumerate().map(|(n, m)| *m * direction(n, k)).sum());
        let (surface, vertices) = compact(&rest.surface(), &places);
        let directions: Vec<DVec3> =
            vertices.iter().flat_map(|&v| (0..count).map(move |k| direction(v as usize, k))).collect();
        let mut is_held = vec![false; rest.vertices.len()];
        held.iter().for_each(|&v| is_held[v] = true);
        Self {
            count,
            squares: squares.clone(),
            normal_share: normal_shares(&surface, &directions, count),
            held: vertices.iter().map(|&v| is_held[v as usize]).collect(),
            strained: strained(rest, all, count),
            rest: sum(&|n| outer(places[n], places[n])),
            mixed,
            pairs: pairs.collect(),
            means: means.collect(),
            surface,
            directions,
            vertices,
            centre,
            volume,
            is_held: !held.is_empty(),
            sliding: DVec3::from(flat.map(|flat| if flat { 0.0 } else { 1.0 })),
        }
    }

    /// Whether the fluid feels a mode.
    pub fn is_felt(&self, k: usize) -> bool {
        self.normal_share[k] >= FELT
    }

    /// Σ m sₖ for ρ = 1 kg/m³: what weight does to a mode of a body that is held.
    pub fn mean(&self, k: usize) -> DVec3 {
        self.means[k]
    }

    /// Moments of the shape at q.
    pub fn moments(&self, q: &[f64]) -> Moments {
        let count = self.count;
        // Σ m sₖ yᵀ.
        let with: Vec<DMat3> = (0..count)
            .map(|k| q.iter().enumerate().fold(self.mixed[k], |sum, (l, q)| sum + *q * self.pairs[count * k + l]))
            .collect();
        // y yᵀ = X Xᵀ + X (Σ q s)ᵀ + (Σ q s) yᵀ.
        let all = (0..count).fold(self.rest, |sum, k| sum + q[k] * (self.mixed[k].transpose() + with[k]));
        let trace = all.x_axis.x + all.y_axis.y + all.z_axis.z;
        Moments {
            inertia: DMat3::from_diagonal(DVec3::splat(trace)) - all,
            swirl: with.iter().map(|with| -axial(*with)).collect(),
            slopes: with.iter().map(|with| *with + with.transpose()).collect(),
        }
    }

    /// The least and the largest det F, where modes strain the body most.
    pub fn volumes(&self, q: &[f64]) -> [f64; 2] {
        let of_element = |slopes: &[DMat3]| {
            slopes.iter().zip(q).fold(DMat3::IDENTITY, |sum, (slope, q)| sum + *q * *slope).determinant()
        };
        let all = self.strained.chunks_exact(self.count.max(1)).map(of_element);
        all.fold([1.0, 1.0], |[least, most], volume| [volume.min(least), volume.max(most)])
    }

    /// The largest ∇v, where modes strain the body most, at these rates, m/s; 1/s.
    pub fn rate_of_strain(&self, rates: &[f64]) -> f64 {
        let of_element = |slopes: &[DMat3]| {
            let sum = slopes.iter().zip(rates).fold(DMat3::ZERO, |sum, (slope, rate)| sum + *rate * *slope);
            sum.to_cols_array().iter().map(|e| e * e).sum::<f64>().sqrt()
        };
        self.strained.chunks_exact(self.count.max(1)).map(of_element).fold(0.0, f64::max)
    }

    /// Whether no tetrahedron that is watched has much less or more volume than at rest, or, beyond that, is nearer to it than `before`.
    pub fn is_fit(&self, q: &[f64], before: [f64; 2]) -> bool {
        let [least, most] = self.volumes(q);
        least >= FOLDED.min(before[0]) && most <= SWOLLEN.max(before[1])
    }

    /// Σ m sₖ × sₗ for ρ = 1 kg/m³.
    pub fn twist(&self, k: usize, l: usize) -> DVec3 {
        axial(self.pairs[self.count * k + l])
    }

    /// The q with which the surface is nearest to the shape stretched along the axes.
    pub fn nearest(&self, stretch: DVec3) -> Vec<f64> {
        // Σ m sₖ·(stretch − 1) X over Σ m sₖ·sₖ.
        let diagonal = |m: DMat3| DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z);
        self.mixed.iter().map(|mixed| diagonal(*mixed).dot(stretch - DVec3::ONE) / self.volume).collect()
    }
}

/// A surface with the vertices that it uses and no others, and which of the old ones these are.
fn compact(surface: &TriMesh, places: &[DVec3]) -> (TriMesh, Vec<u32>) {
    let mut used: Vec<u32> = surface.triangles.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let mut number = vec![0; places.len()];
    used.iter().zip(0u32..).for_each(|(&v, n)| number[v as usize] = n);
    let triangles = surface.triangles.iter().map(|t| t.map(|v| number[v as usize])).collect();
    let vertices = used.iter().map(|&v| places[v as usize]).collect();
    (TriMesh { vertices, triangles }, used)
}

/// See [`Basis::strained`].
fn strained(rest: &TetMesh, directions: &[DVec3], count: usize) -> Vec<DMat3> {
    let slope = |t: usize, k: usize| {
        let edges = |of: &dyn Fn(u32) -> DVec3| {
            let [o, a, b, c] = rest.tetrahedra[t].map(of);
            DMat3::from_cols(a - o, b - o, c - o)
        };
        edges(&|v| directions[count * v as usize + k]) * edges(&|v| rest.vertices[v as usize]).inverse()
    };
    let size = |m: DMat3| m.to_cols_array().iter().map(|e| e * e).sum::<f64>();
    let mut chosen = Vec::new();
    for k in 0..count {
        let mut sizes: Vec<(usize, f64)> = (0..rest.tetrahedra.len()).map(|t| (t, size(slope(t, k)))).collect();
        sizes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        chosen.extend(sizes.iter().take(WATCHED).map(|(t, _)| *t));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.iter().flat_map(|&t| (0..count).map(move |k| (t, k))).map(|(t, k)| slope(t, k)).collect()
}

/// ∮ (s·n)² ÷ ∮ |s|² of each mode.
fn normal_shares(surface: &TriMesh, directions: &[DVec3], count: usize) -> Vec<f64> {
    let share = |k: usize| {
        let (mut along, mut all) = (0.0, f64::MIN_POSITIVE);
        for t in &surface.triangles {
            let [a, b, c] = t.map(|v| surface.vertices[v as usize]);
            let area = 0.5 * (b - a).cross(c - a);
            let s = t.map(|v| directions[count * v as usize + k]).into_iter().sum::<DVec3>() / 3.0;
            let size = area.length();
            along += if size > 0.0 { s.dot(area).powi(2) / size } else { 0.0 };
            all += s.length_squared() * size;
        }
        along / all
    };
    (0..count).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;

    /// Against sums over the vertices.
    #[test]
    fn moments_are_those_of_the_deformed_shape() {
        let rest = TetMesh::block(DVec3::new(0.5, 0.3, 0.4), [3, 2, 2]).mapped(|x| x + DVec3::new(1.0, 2.0, 3.0));
        let modes = Modes::lowest(&rest, 0.3, &[], [false; 3], 6).unwrap();
        let basis = Basis::new(&rest, &[], [false; 3], &modes);
        let q: Vec<f64> = (0..basis.count).map(|k| 0.05 * (k as f64 - 2.5)).collect();
        let moments = basis.moments(&q);
        let (mut inertia, mut swirl) = (DMat3::ZERO, vec![DVec3::ZERO; basis.count]);
        for (n, (m, x)) in modes.volumes.iter().zip(&rest.vertices).enumerate() {
            let s = |k: usize| modes.directions[modes.count * n + k];
            let y = *x - basis.centre + (0..basis.count).map(|k| q[k] * s(k)).sum::<DVec3>();
            inertia += *m * (DMat3::from_diagonal(DVec3::splat(y.length_squared())) - outer(y, y));
            (0..basis.count).for_each(|k| swirl[k] += *m * y.cross(s(k)));
        }
        assert!((inertia - moments.inertia).to_cols_array().iter().all(|e| e.abs() < 1e-15));
        assert!(
            swirl.iter().zip(&moments.swirl).all(|(a, b)| (*a - *b).length() < 1e-15),
            "{swirl:?} {:?}",
            moments.swirl
        );
        assert!(moments.swirl.iter().any(|h| h.length() > 1e-5), "some modes turn others");
        // Slopes, by differences.
        for k in 0..basis.count {
            let moved = |by: f64| {
                let mut q = q.clone();
                q[k] += by;
                basis.moments(&q).inertia
            };
            let slope = (moved(1e-6) - moved(-1e-6)) * 5e5;
            let d = moments.slopes[k];
            let told = DMat3::from_diagonal(DVec3::splat(d.x_axis.x + d.y_axis.y + d.z_axis.z)) - d;
            assert!((slope - told).to_cols_array().iter().all(|e| e.abs() < 1e-10));
        }
    }

    /// Row Q2, second part.
    #[test]
    fn the_fluid_does_not_feel_what_twists_a_ball() {
        let (rest, _) = TetMesh::stuff(&Shape::Sphere { radius: 1.0 }, 0.2).unwrap();
        let basis = Basis::new(&rest, &[], [false; 3], &Modes::lowest(&rest, 0.3, &[], [false; 3], 10).unwrap());
        println!("{:?}", basis.normal_share);
        assert!(basis.normal_share[..5].iter().all(|share| *share < 0.01));
        assert!(basis.normal_share[5..].iter().all(|share| *share > 0.6));
    }
}
