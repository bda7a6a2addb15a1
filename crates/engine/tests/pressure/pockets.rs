//! Systems with pockets of air: every pocket is one more unknown [A18, eq. 20].

use crate::network::{Network, Random, dot, norm, tight};
use bathtub_engine::grid::Axis;
use bathtub_engine::solve::{
    Block, Bodies, Cholesky, Coupled, LowRank, Multigrid, Operator, Pocket, Preconditioner, PressureSolve, SolidTerms,
    SolveParams,
};
use bathtub_engine::world::PressureSolver;
use glam::DVec3;
use std::collections::BTreeMap;

/// A tank of liquid with balls of air in it.
struct Problem {
    network: Network,
    pockets: Vec<Pocket>,
    bodies: LowRank,
}

/// Balls that do not touch, of 0.6 to about a quarter of the spacing cells, as many as asked for: middle and radius.
fn balls(dims: [usize; 3], count: usize) -> Vec<(DVec3, f64)> {
    let mut random = Random(3);
    let flat = DVec3::from(dims.map(|n| f64::from(u8::from(n > 1))));
    let size = DVec3::from(dims.map(|n| n as f64));
    let spacing = (size.x * size.y * size.z / count as f64).powf(1.0 / flat.element_sum());
    let mut balls: Vec<(DVec3, f64)> = Vec::new();
    while balls.len() < count {
        let [x, y, z] = [random.next(), random.next(), random.next()].map(|v| 0.5 + 0.42 * v);
        let middle = flat * size * DVec3::new(x, y, z) + 0.5 * (DVec3::ONE - flat);
        let radius = 0.6 + (0.5 + 0.5 * random.next()) * (0.25 * spacing - 0.6).clamp(0.0, 0.12 * size.max_element());
        if balls.iter().all(|(other, r)| other.distance(middle) > r + radius + 2.5) {
            balls.push((middle, radius));
        }
    }
    balls
}

impl Problem {
    fn new(dims: [usize; 3], balls: &[(DVec3, f64)], is_open: bool) -> Self {
        let network = Network::empty(dims);
        let grid = network.grid;
        let depth = |middle: DVec3, radius: f64, c: usize| grid.cell_centre(grid.cell_at(c)).distance(middle) - radius;
        let owner = |c: usize| balls.iter().position(|&(middle, radius)| depth(middle, radius, c) <= 0.0);
        let least = 0.01;
        let mut pockets = Vec::new();
        for (n, &(middle, radius)) in balls.iter().enumerate() {
            let mut ties = BTreeMap::<u32, f64>::new();
            let mut node = None;
            for c in (0..grid.cells()).filter(|&c| owner(c) == Some(n)) {
                node = node.or(Some(c));
                for axis in Axis::ALL {
                    for up in [false, true] {
                        let mut at = grid.cell_at(c);
                        let a = axis.index();
                        if if up { at[a] + 1 == dims[a] } else { at[a] == 0 } {
                            continue;
                        }
                        at[a] = if up { at[a] + 1 } else { at[a] - 1 };
                        let other = grid.cell(at);
                        if owner(other).is_none() {
                            let (inside, outside) = (depth(middle, radius, other), depth(middle, radius, c));
                            // Now and then the surface is as near as it can be.
                            let theta = if other.is_multiple_of(11) { least } else { inside / (inside - outside) };
                            *ties.entry(other as u32).or_default() += 1.0 / theta.max(least);
                        }
                    }
                }
            }
            let (cells, weights) = ties.into_iter().unzip();
            pockets.extend(node.map(|node| Pocket { node, cells, weights }));
        }
        let mut network = network.without(|at| owner(grid.cell(at)).is_some());
        if !is_open {
            network.extra.data.fill(0.0);
        }
        Self { network, pockets, bodies: LowRank::default() }
    }

    /// A body that answers pressure: random columns over a plate of cells, and over the first pocket.
    fn with_body(mut self, strength: f64) -> Self {
        let grid = self.network.grid;
        let mut random = Random(8);
        let mut rows = BTreeMap::<u32, Vec<f64>>::new();
        let level = grid.dims[1] / 2;
        for c in (0..grid.cells()).filter(|&c| grid.cell_at(c)[1] == level && grid.cell_at(c)[0] < grid.dims[0] / 2) {
            rows.insert(c as u32, random.vector(3).iter().map(|v| strength * v).collect());
        }
        rows.insert(self.pockets[0].node as u32, random.vector(3).iter().map(|v| 5.0 * strength * v).collect());
        let block = Block {
            cells: rows.keys().copied().collect(),
            columns: 3,
            values: rows.into_values().flatten().collect(),
            is_immersed: false,
        };
        self.bodies = LowRank { blocks: vec![block] };
        self
    }

    fn built(&self, solver: PressureSolver) -> PressureSolve {
        let mut solve = PressureSolve::new();
        solve.set_pockets(self.pockets.clone());
        let solids = SolidTerms { cut: self.bodies.clone(), ..SolidTerms::default() };
        solve.build(solver, &self.network.faces, &self.network.extra, solids).unwrap();
        solve
    }

    fn rhs(&self, solve: &PressureSolve) -> Vec<f64> {
        let mut rhs = Random(11).vector(self.network.grid.cells());
        solve.mask(&mut rhs);
        rhs
    }

    /// Iterations to reduce the residual by 10⁶.
    fn iterations(&self) -> usize {
        let (solver, params) = (PressureSolver::Multigrid, SolveParams::default());
        let mut solve = self.built(solver);
        let rhs = self.rhs(&solve);
        let info = solve.iterate(solver, Bodies::Answering, &rhs, &mut vec![0.0; rhs.len()], &params).unwrap();
        assert!(info.converged);
        info.iterations
    }

    /// The whole system as a matrix: L, W, s, and C Cᵀ, entry by entry.
    fn matrix(&self, bodies: Bodies) -> Vec<f64> {
        let grid = self.network.grid;
        let n = grid.cells();
        let mut a = vec![0.0; n * n];
        let mut join = |c: usize, d: usize, weight: f64| {
            a[n * c + c] += weight;
            a[n * d + d] += weight;
            a[n * c + d] -= weight;
            a[n * d + c] -= weight;
        };
        self.network.each_face(|axis, at, index| {
            let i = axis.index();
            if at[i] > 0 && at[i] < grid.dims[i] {
                let mut below = at;
                below[i] -= 1;
                join(grid.cell(at), grid.cell(below), self.network.faces.axes[i][index]);
            }
        });
        for pocket in &self.pockets {
            pocket.ties().for_each(|(cell, weight)| join(pocket.node, cell, weight));
        }
        (0..n).for_each(|c| a[n * c + c] += self.network.extra.data[c]);
        if bodies == Bodies::Answering {
            for block in &self.bodies.blocks {
                for (c, left) in block.rows() {
                    for (d, right) in block.rows() {
                        a[n * c + d] += dot(left, right);
                    }
                }
            }
        }
        a
    }
}

/// Every solver finds what a dense factorisation of eq. 20 finds, bodies answering or left out, tank open or closed.
#[test]
fn solves_agree_with_the_dense_system() {
    for (dims, count) in [([13, 12, 1], 3), ([8, 9, 7], 4)] {
        for is_open in [true, false] {
            let problem = Problem::new(dims, &balls(dims, count), is_open).with_body(0.7);
            for solver in [PressureSolver::Multigrid, PressureSolver::Icpcg, PressureSolver::Cg] {
                for bodies in [Bodies::Answering, Bodies::LeftOut] {
                    let mut solve = problem.built(solver);
                    let mut b = problem.rhs(&solve);
                    let n = b.len();
                    let mut p = vec![0.0; n];
                    let info = solve.iterate(solver, bodies, &b, &mut p, &tight()).unwrap();
                    let unknown: Vec<usize> = (0..n).filter(|&c| b[c] != 0.0).collect();
                    if let [region] = solve.closed_regions() {
                        assert_eq!(region.cells + problem.pockets.len(), unknown.len());
                        unknown.iter().for_each(|&c| b[c] -= region.incompatible / unknown.len() as f64);
                    }
                    let mut exact = b;
                    Cholesky::new(n, problem.matrix(bodies)).solve(&mut exact);
                    // A body of random columns that answers determines the constant of a closed tank.
                    if !is_open && bodies == Bodies::LeftOut {
                        let mean = unknown.iter().map(|&c| exact[c]).sum::<f64>() / unknown.len() as f64;
                        unknown.iter().for_each(|&c| exact[c] -= mean);
                    }
                    let error = p.iter().zip(&exact).map(|(p, e)| (p - e).abs()).fold(0.0, f64::max);
                    println!(
                        "{dims:?} open {is_open} {solver:?} {bodies:?}: {} iterations, {error:.1e}",
                        info.iterations
                    );
                    assert!(info.converged && error <= 1e-8 * norm(&exact), "{error:e} of {}", norm(&exact));
                }
            }
        }
    }
}

/// A2, A3, A6: operator and cycle are symmetric and positive definite, with bodies and without.
#[test]
fn operator_and_cycle_with_pockets_are_symmetric_positive_definite() {
    for (dims, count, strength) in [([24, 30, 1], 6, 0.0), ([16, 20, 16], 9, 0.0), ([17, 23, 19], 12, 0.6)] {
        let problem = Problem::new(dims, &balls(dims, count), true).with_body(strength);
        let Problem { network, pockets, bodies } = &problem;
        let mut extra = network.extra.clone();
        pockets.iter().flat_map(Pocket::ties).for_each(|(cell, weight)| extra.data[cell] += weight);
        let mut l = bathtub_engine::solve::Laplacian::new(&network.faces, &extra).unwrap();
        let mut cycle = Multigrid::<f64>::default();
        cycle.rebuild(&l, &network.faces, &extra);
        cycle.couple(bodies, pockets);
        let solve = problem.built(PressureSolver::Cg);
        let (n, largest) = (l.len(), pockets.iter().map(Pocket::total).fold(l.largest(), f64::max));
        for without_bodies in [false, true] {
            cycle.leave_out_bodies(without_bodies);
            let nothing = LowRank::default();
            let bodies = if without_bodies { &nothing } else { bodies };
            let mut random = Random(7);
            let mut previous: Option<[Vec<f64>; 3]> = None;
            for _ in 0..100 {
                let mut x = random.vector(n);
                solve.mask(&mut x);
                let (mut r, mut px) = (x.clone(), vec![0.0; n]);
                let product = cycle.apply(&mut r, &mut px);
                assert_eq!(r, x, "the right-hand side comes back");
                assert!((product - dot(&x, &px)).abs() <= 1e-12 * norm(&x) * norm(&px));
                let mut ax = vec![0.0; n];
                Coupled::new(&mut l, bodies).with_pockets(pockets).residual(&vec![0.0; n], &x, &mut ax);
                ax.iter_mut().for_each(|v| *v = -*v);
                assert!(product > 0.0 && dot(&x, &ax) > 0.0, "{dims:?}: {product} {}", dot(&x, &ax));
                if let Some([y, py, ay]) = previous {
                    let error = (dot(&x, &py) - dot(&y, &px)).abs();
                    assert!(error <= 1e-12 * norm(&x) * norm(&py), "{dims:?}: cycle {error}");
                    let error = (dot(&x, &ay) - dot(&y, &ax)).abs();
                    assert!(error <= 1e-12 * norm(&x) * norm(&y) * 2.0 * largest, "{dims:?}: operator {error}");
                }
                previous = Some([x, px, ax]);
            }
        }
    }
}

/// One pocket, ten or a hundred cost at most four iterations, in open tanks and in closed ones.
#[test]
fn pockets_cost_few_iterations() {
    for dims in [[96, 96, 1], [48, 48, 48]] {
        for is_open in [true, false] {
            let plain = Problem::new(dims, &[], is_open).iterations();
            for count in [1, 10, 100] {
                let problem = Problem::new(dims, &balls(dims, count), is_open);
                let (found, pockets) = (problem.iterations(), problem.pockets.len());
                println!("{dims:?} open {is_open}, {pockets} pockets: {found} iterations, {plain} without");
                assert!(found <= plain + 4, "{dims:?} open {is_open}, {pockets} pockets: {found}, plain {plain}");
            }
        }
    }
}
