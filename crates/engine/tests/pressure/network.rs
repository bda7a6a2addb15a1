//! Small pressure problems for tests.

use bathtub_engine::grid::{Axis, CellField, FaceField, Grid};
use bathtub_engine::solve::{ClosedRegion, Laplacian, PressureSolve, SolveError, SolveInfo, SolveParams};
use bathtub_engine::world::PressureSolver;
use glam::DVec3;

/// Conductances and ties of one grid.
pub struct Network {
    pub grid: Grid,
    pub faces: FaceField<f64>,
    pub extra: CellField<f64>,
}

impl Network {
    /// Odd, prime, flat and tiny grids, with random conductances and holes.
    pub fn assorted() -> Vec<Self> {
        let sizes = [
            [12, 16, 8],
            [13, 7, 11],
            [37, 5, 3],
            [20, 31, 1],
            [1, 17, 18],
            [19, 1, 6],
            [40, 1, 1],
            [1, 1, 9],
            [2, 2, 2],
            [3, 1, 1],
        ];
        sizes.iter().enumerate().map(|(seed, &dims)| Self::random(dims, seed as u64)).collect()
    }

    /// Unit conductances everywhere, open top.
    pub fn empty(dims: [usize; 3]) -> Self {
        let grid = Grid::new(dims, 1.0, DVec3::ZERO);
        let mut extra = CellField::new(&grid, 0.0);
        for c in 0..grid.cells() {
            extra.data[c] = if grid.cell_at(c)[1] + 1 == dims[1] { 1.0 } else { 0.0 };
        }
        Self { grid, faces: FaceField::new(&grid, 1.0), extra }
    }

    /// The same with a box carved out of the middle.
    pub fn tank(dims: [usize; 3]) -> Self {
        Self::empty(dims).without(|at| (0..3).all(|a| (3 * dims[a] / 8..5 * dims[a] / 8).contains(&at[a])))
    }

    /// The same with random solid balls instead.
    pub fn solid_balls(dims: [usize; 3], count: usize) -> Self {
        let network = Self::empty(dims);
        let distance = balls(dims, count);
        network.without(|at| distance(network_centre(at)) < 0.0)
    }

    /// Random balls, faces near their surfaces open by random fractions.
    pub fn balls(dims: [usize; 3], count: usize) -> Self {
        let mut network = Self::empty(dims);
        let distance = balls(dims, count);
        let grid = network.grid;
        let mut random = Random(99);
        network.each_face_mut(|axis, at, a| {
            let d = distance(grid.face_centre(axis, at));
            let fraction = 0.5 + 0.5 * random.next();
            *a = if d > 0.5 {
                1.0
            } else if d < -0.5 {
                0.0
            } else {
                fraction
            };
        });
        network
    }

    /// Random conductances over two decades, a quarter of the faces closed, a few ties; long uniform stretches in between.
    pub fn random(dims: [usize; 3], seed: u64) -> Self {
        let mut network = Self::empty(dims);
        let mut random = Random(seed + 1000);
        network.each_face_mut(|_, at, a| {
            let (v, w) = (random.next(), random.next());
            if at[1] % 3 != 0 || at[2] % 2 == 1 {
                *a = if v < -0.5 { 0.0 } else { 10f64.powf(2.0 * w) };
            }
        });
        for d in &mut network.extra.data {
            *d = (random.next() - 0.9).max(0.0);
        }
        // At least one tie, so that there is a solution.
        network.extra.data[0] = 1.0;
        network
    }

    /// Fluid below a tilted plane with p = 0 on it by ghost fluid; the exact linear pressure and its right-hand side.
    pub fn below_a_tilted_plane(dims: [usize; 3]) -> (Self, Vec<f64>, Vec<f64>) {
        let mut network = Self::empty(dims);
        let grid = network.grid;
        let size = DVec3::from(dims.map(|n| n as f64));
        let flat = DVec3::from(dims.map(|n| f64::from(u8::from(n > 1))));
        let slope = DVec3::new(0.31, 1.0, 0.17) * flat;
        let depth =
            |at: [usize; 3]| (size * DVec3::new(0.5, 0.6, 0.5) + DVec3::splat(0.013) - grid.cell_centre(at)).dot(slope);
        let exact: Vec<f64> = (0..grid.cells()).map(|c| depth(grid.cell_at(c)).max(0.0)).collect();
        network.extra.data.fill(0.0);
        let mut ties = network.extra.clone();
        network.each_face_mut(|axis, at, a| {
            let n = axis.index();
            if at[n] == 0 || at[n] == dims[n] {
                return;
            }
            let mut below = at;
            below[n] -= 1;
            let (lower, upper) = (depth(below), depth(at));
            if lower > 0.0 && upper > 0.0 {
                return;
            }
            *a = 0.0;
            for (cell, inside, outside) in [(below, lower, upper), (at, upper, lower)] {
                if inside > 0.0 && outside <= 0.0 {
                    // θ: the share of the way to the neighbour at which p = 0.
                    ties[cell] += (inside - outside) / inside;
                }
            }
        });
        network.extra = ties;
        // Walls carry the flux of the exact gradient: the right-hand side is L p_exact.
        let mut b = vec![0.0; exact.len()];
        network.laplacian().apply(&exact, &mut b);
        (network, exact, b)
    }

    /// Close every face of the cells that `solid` names.
    pub fn without(mut self, solid: impl Fn([usize; 3]) -> bool) -> Self {
        let grid = self.grid;
        self.each_face_mut(|axis, at, a| {
            let n = axis.index();
            let mut below = at;
            below[n] = below[n].saturating_sub(1);
            let here = at[n] < grid.dims[n] && solid(at);
            *a = if here || solid(below) { 0.0 } else { *a };
        });
        for c in (0..grid.cells()).filter(|&c| solid(grid.cell_at(c))) {
            self.extra.data[c] = 0.0;
        }
        self
    }

    pub fn each_face(&self, mut f: impl FnMut(Axis, [usize; 3], usize)) {
        for axis in Axis::ALL {
            let [nx, ny, nz] = self.grid.face_dims(axis);
            for n in 0..nx * ny * nz {
                f(axis, [n % nx, n / nx % ny, n / (nx * ny)], n);
            }
        }
    }

    pub fn each_face_mut(&mut self, mut f: impl FnMut(Axis, [usize; 3], &mut f64)) {
        let mut faces = self.faces.clone();
        self.each_face(|axis, at, n| f(axis, at, &mut faces.axes[axis.index()][n]));
        self.faces = faces;
    }

    pub fn laplacian(&self) -> Laplacian {
        Laplacian::new(&self.faces, &self.extra).unwrap()
    }

    pub fn solve(
        &self,
        solver: PressureSolver,
        b: &[f64],
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<(SolveInfo, Vec<ClosedRegion>), SolveError> {
        PressureSolve::new().solve(solver, &self.faces, &self.extra, b, pressure, params)
    }
}

fn network_centre(at: [usize; 3]) -> DVec3 {
    DVec3::from(at.map(|i| i as f64 + 0.5))
}

/// Distance in cells to the nearest of `count` random balls.
fn balls(dims: [usize; 3], count: usize) -> impl Fn(DVec3) -> f64 {
    let mut random = Random(17);
    let size = DVec3::from(dims.map(|n| n as f64));
    let mut number = |low: f64, high: f64| low + (high - low) * (0.5 + 0.5 * random.next());
    let balls: Vec<(DVec3, f64)> = (0..count)
        .map(|_| {
            (
                size * DVec3::new(number(0.1, 0.9), number(0.1, 0.9), number(0.1, 0.9)),
                size.min_element() * number(0.04, 0.11),
            )
        })
        .collect();
    move |x| balls.iter().map(|(c, r)| x.distance(*c) - r).fold(f64::MAX, f64::min)
}

/// A small linear congruential generator: numbers in [−1, 1).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Parameters of a solve to near round-off.
pub fn tight() -> SolveParams {
    SolveParams { tolerance: 1e-11, max_iterations: 3000, budget_seconds: None }
}
