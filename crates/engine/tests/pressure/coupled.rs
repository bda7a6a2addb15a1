//! Systems coupled to rigid bodies: Σ = L + C Cᵀ (design eq. 1).

use crate::network::{Network, Random, dot, norm, tight};
use bathtub_engine::grid::{Axis, CellField, Grid};
use bathtub_engine::solve::{
    Block, Coupled, Laplacian, LowRank, Multigrid, Operator, Patches, Preconditioner, Real, SolveParams, Vectors,
    conjugate_gradients,
};
use glam::DVec3;
use std::collections::BTreeMap;

/// A box of cells that moves as a whole.
struct Body {
    low: [usize; 3],
    high: [usize; 3],
    /// Mass ÷ mass of the same volume of fluid.
    ratio: f64,
}

impl Body {
    fn holds(&self, at: [usize; 3]) -> bool {
        (0..3).all(|a| (self.low[a]..self.high[a]).contains(&at[a]))
    }

    /// √(M̂⁻¹) Bᵀ: what pressure in the cells around does to the box's velocity and spin. Flat grids have three freedoms.
    fn block(&self, grid: &Grid) -> Block {
        let sides: [f64; 3] = std::array::from_fn(|a| (self.high[a] - self.low[a]) as f64);
        let middle = DVec3::from(std::array::from_fn::<f64, 3, _>(|a| 0.5 * (self.low[a] + self.high[a]) as f64));
        let mass = self.ratio * sides.iter().product::<f64>();
        let inertia = |a: usize| mass / 12.0 * (sides[(a + 1) % 3].powi(2) + sides[(a + 2) % 3].powi(2));
        let is_flat = grid.dims[2] == 1;
        let freedoms: Vec<usize> = if is_flat { vec![0, 1, 5] } else { (0..6).collect() };
        let mut rows = BTreeMap::<u32, Vec<f64>>::new();
        for c in 0..grid.cells() {
            let at = grid.cell_at(c);
            for axis in Axis::ALL.into_iter().filter(|axis| grid.dims[axis.index()] > 1) {
                for upwards in [true, false] {
                    let mut inside = at;
                    let a = axis.index();
                    // The solid is below the cell and pushes up, or above and pushes down.
                    match upwards {
                        true if at[a] > 0 => inside[a] -= 1,
                        false if at[a] + 1 < grid.dims[a] => inside[a] += 1,
                        _ => continue,
                    }
                    if self.holds(at) || !self.holds(inside) {
                        continue;
                    }
                    let normal = axis.unit() * if upwards { 1.0 } else { -1.0 };
                    let centre = grid.cell_centre(at) - 0.5 * normal - middle;
                    let spin = centre.cross(normal);
                    let row = rows.entry(c as u32).or_insert_with(|| vec![0.0; freedoms.len()]);
                    for (value, &freedom) in row.iter_mut().zip(&freedoms) {
                        *value += match freedom {
                            0..3 => normal[freedom] / mass.sqrt(),
                            _ => spin[freedom - 3] / inertia(freedom - 3).sqrt(),
                        };
                    }
                }
            }
        }
        Block {
            cells: rows.keys().copied().collect(),
            columns: freedoms.len(),
            values: rows.into_values().flatten().collect(),
            is_immersed: false,
        }
    }
}

/// Boxes in a tank with an open top; the fluid around them, and what they add to it.
fn problem(dims: [usize; 3], bodies: &[Body]) -> (Network, LowRank) {
    let network = Network::empty(dims).without(|at| bodies.iter().any(|body| body.holds(at)));
    let low_rank = LowRank { blocks: bodies.iter().map(|body| body.block(&network.grid)).collect() };
    (network, low_rank)
}

/// Boxes of different sizes and places, not touching, at most 20.
fn boxes(dims: [usize; 3], count: usize, ratio: impl Fn(usize) -> f64) -> Vec<Body> {
    let is_flat = dims[2] == 1;
    let per_axis = if is_flat { [4, 5, 1] } else { [2, 5, 2] };
    (0..count)
        .map(|n| {
            // Spread over the places: 7 and 20 have no common factor.
            let place = 7 * n % 20;
            let at = [place % per_axis[0], place / per_axis[0] % per_axis[1], place / (per_axis[0] * per_axis[1])];
            let room: [usize; 3] = std::array::from_fn(|a| dims[a] / per_axis[a]);
            let low: [usize; 3] = std::array::from_fn(|a| if room[a] == 1 { 0 } else { at[a] * room[a] + room[a] / 4 });
            let high = std::array::from_fn(|a| if room[a] == 1 { 1 } else { low[a] + room[a] / 2 - (n + a) % 2 });
            Body { low, high, ratio: ratio(n) }
        })
        .collect()
}

/// Iterations to reduce the residual by 10⁶ with the cycle for Σ.
fn iterations<T: Real>(network: &Network, low_rank: &LowRank, params: &SolveParams) -> usize {
    let mut l = network.laplacian();
    let n = l.len();
    let mut cycle = Multigrid::<T>::default();
    cycle.rebuild(&l, &network.faces, &network.extra);
    cycle.couple(low_rank, &[]);
    let mut rhs = Random(16).vector(n);
    l.mask(&mut rhs);
    cycle.normalise(norm(&rhs));
    let mut operator = Coupled::new(&mut l, low_rank);
    let mut vectors = Vectors::default();
    vectors.resize(n);
    let mut x = vec![0.0; n];
    let rr = operator.residual(&rhs, &x, &mut vectors.r);
    let info = conjugate_gradients(&mut operator, &mut cycle, &mut vectors, &mut x, rr.sqrt(), rr, params).unwrap();
    let left = operator.residual(&rhs, &x, &mut vectors.r).sqrt();
    assert!(info.converged && left <= 2.0 * params.tolerance * rr.sqrt(), "{info:?}, really {}", left / rr.sqrt());
    info.iterations
}

/// One body or twenty, feather or lead, in the plane and in space: coupling costs at most three iterations.
#[test]
fn bodies_of_any_density_cost_no_iterations() {
    let params = SolveParams { tolerance: 1e-6, ..SolveParams::default() };
    for dims in [[64, 128, 1], [40, 80, 40]] {
        let (free, none) = problem(dims, &[]);
        let plain = iterations::<f32>(&free, &none, &params);
        for count in [1, 8, 20] {
            for ratio in [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6] {
                let (network, low_rank) =
                    problem(dims, &boxes(dims, count, |n| ratio * if n % 2 == 0 { 1.0 } else { 0.5 }));
                let coupled = iterations::<f32>(&network, &low_rank, &params);
                println!("{dims:?}, {count} bodies, ratio {ratio:.0e}: {coupled} iterations, {plain} without bodies");
                assert!(coupled <= plain + 3, "{dims:?}, {count} bodies, ratio {ratio}: {coupled}, plain {plain}");
            }
        }
        // Light and heavy ones together.
        let (network, low_rank) = problem(dims, &boxes(dims, 20, |n| 10f64.powi(n as i32 % 7 - 3)));
        let mixed = iterations::<f32>(&network, &low_rank, &params);
        assert!(mixed <= plain + 3, "{dims:?}, mixed: {mixed}, plain {plain}");
    }
}

/// A2, A3, A6 with bodies: Σ and the cycle for it are symmetric and positive definite.
#[test]
fn coupled_operator_and_cycle_are_symmetric_positive_definite() {
    for (dims, count, ratio) in [([24, 30, 1], 6, 1e-3), ([16, 20, 16], 9, 0.1), ([17, 23, 19], 4, 50.0)] {
        let (network, low_rank) = problem(dims, &boxes(dims, count, |_| ratio));
        let mut l: Laplacian = network.laplacian();
        let n = l.len();
        let mut cycle = Multigrid::<f64>::default();
        cycle.rebuild(&l, &network.faces, &network.extra);
        cycle.couple(&low_rank, &[]);
        let mut random = Random(7);
        let mut previous: Option<[Vec<f64>; 3]> = None;
        for _ in 0..100 {
            let mut x = random.vector(n);
            l.mask(&mut x);
            let (mut r, mut px) = (x.clone(), vec![0.0; n]);
            let product = cycle.apply(&mut r, &mut px);
            assert_eq!(r, x, "the right-hand side comes back");
            assert!((product - dot(&x, &px)).abs() <= 1e-12 * norm(&x) * norm(&px));
            let mut ax = vec![0.0; n];
            Coupled::new(&mut l, &low_rank).residual(&vec![0.0; n], &x, &mut ax);
            ax.iter_mut().for_each(|v| *v = -*v);
            assert!(product > 0.0 && dot(&x, &ax) > 0.0);
            if let Some([y, py, ay]) = previous {
                let error = (dot(&x, &py) - dot(&y, &px)).abs();
                assert!(error <= 1e-12 * norm(&x) * norm(&py), "{dims:?}: cycle {error}");
                let error = (dot(&x, &ay) - dot(&y, &ax)).abs();
                assert!(error <= 1e-12 * norm(&x) * norm(&ay), "{dims:?}: operator {error}");
            }
            previous = Some([x, px, ax]);
        }
    }
}

/// The residual that is carried along is the true one, down to round-off.
#[test]
fn coupled_solves_reach_tight_tolerances() {
    let dims = [24, 30, 24];
    let (network, low_rank) = problem(dims, &boxes(dims, 12, |n| 10f64.powi(n as i32 % 5 - 2)));
    assert!(iterations::<f32>(&network, &low_rank, &tight()) < 30);
}

/// Columns of seven cells at the surfaces of `low_rank`, and the ties that have their row sums.
fn patches(low_rank: &LowRank, extra: &CellField, strength: f64) -> (Patches, CellField) {
    let mut rows = BTreeMap::<u32, Vec<(u32, f64)>>::new();
    let mut random = Random(23);
    let (mut columns, mut ties) = (0, extra.clone());
    for cells in low_rank.blocks.iter().flat_map(|block| block.cells.chunks(5)) {
        let values: Vec<f64> = random.vector(cells.len()).iter().map(|v| strength * (1.5 + v)).collect();
        let sum: f64 = values.iter().sum();
        for (&cell, value) in cells.iter().zip(values) {
            rows.entry(cell).or_default().push((columns, value));
            ties.data[cell as usize] += value * sum;
        }
        columns += 1;
    }
    let mut patches = Patches::with_rows(columns as usize, rows.len());
    rows.into_iter().for_each(|(cell, row)| patches.push(cell, row));
    patches.link((1..columns).map(|n| (n, n - 1, HOLD)).collect());
    (patches, ties)
}

/// How each column holds the next.
const HOLD: f64 = -0.3;

/// C with C Cᵀ = K G⁻¹ Kᵀ: with G = R Rᵀ, which is bidiagonal, C Rᵀ = K.
fn held(patches: &Patches) -> Block {
    let mut block = patches.whole();
    for row in block.values.chunks_exact_mut(block.columns) {
        let mut own = 1.0;
        for n in 1..row.len() {
            let beside = HOLD / own;
            own = (1.0_f64 - beside * beside).sqrt();
            row[n] = (row[n] - beside * row[n - 1]) / own;
        }
    }
    block
}

/// Vertices of soft bodies on the finest level: the cycle stays symmetric and positive definite, and for
/// Σ = L + C Cᵀ + K G⁻¹ Kᵀ it is nearly as good as if coarser levels knew them, too.
#[test]
fn cycles_with_patches_are_symmetric_positive_definite() {
    // The last grid is so small that it is solved directly.
    let small = vec![Body { low: [2, 1, 1], high: [4, 3, 3], ratio: 0.5 }];
    for (dims, bodies, strength) in [
        ([24, 30, 1], boxes([24, 30, 1], 4, |_| 0.5), 0.3),
        ([17, 23, 19], boxes([17, 23, 19], 4, |_| 0.5), 1.0),
        ([6, 5, 4], small, 1.0),
    ] {
        let (network, low_rank) = problem(dims, &bodies);
        let (patches, ties) = patches(&low_rank, &network.extra, strength);
        let mut l: Laplacian = network.laplacian();
        let n = l.len();
        let mut cycle = Multigrid::<f64>::default();
        cycle.rebuild(&l, &network.faces, &ties);
        cycle.couple_yielding(&low_rank, false, &patches, &[]);
        let mut random = Random(7);
        let mut previous: Option<[Vec<f64>; 2]> = None;
        for _ in 0..50 {
            let mut x = random.vector(n);
            l.mask(&mut x);
            let (mut r, mut px) = (x.clone(), vec![0.0; n]);
            let product = cycle.apply(&mut r, &mut px);
            assert_eq!(r, x, "the right-hand side comes back");
            assert!((product - dot(&x, &px)).abs() <= 1e-12 * norm(&x) * norm(&px));
            assert!(product > 0.0);
            if let Some([y, py]) = previous {
                let error = (dot(&x, &py) - dot(&y, &px)).abs();
                assert!(error <= 1e-12 * norm(&x) * norm(&py), "{dims:?}: cycle {error}");
            }
            previous = Some([x, px]);
        }
        let mut whole = low_rank.clone();
        whole.blocks.push(held(&patches));
        let mut rhs = Random(16).vector(n);
        l.mask(&mut rhs);
        let mut operator = Coupled::new(&mut l, &whole);
        let (mut vectors, mut x) = (Vectors::default(), vec![0.0; n]);
        vectors.resize(n);
        let rr = operator.residual(&rhs, &x, &mut vectors.r);
        let info =
            conjugate_gradients(&mut operator, &mut cycle, &mut vectors, &mut x, rr.sqrt(), rr, &tight()).unwrap();
        println!("{dims:?}: {} iterations", info.iterations);
        assert!(info.converged && info.iterations <= 30, "{dims:?}: {info:?}");
    }
}
