//! Pressure problems to measure and to test with.

use bathtub_engine::grid::{Axis, CellField, FaceField, Grid};
use glam::DVec3;

/// A linear system L p = b with unit conductances where not stated otherwise.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Short name.
    pub name: String,
    /// The cells.
    pub grid: Grid,
    /// Conductance of every face, dimensionless.
    pub faces: FaceField<f64>,
    /// Tie to zero pressure of every cell, dimensionless.
    pub extra: CellField<f64>,
}

/// Which right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhs {
    /// Uniform in [−1, 1), a function of the cell index.
    Random,
    /// The box moves up at unit speed in a smooth background.
    Physical,
}

impl Rhs {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Rhs::Random => "random",
            Rhs::Physical => "physical",
        }
    }
}

impl Problem {
    /// `fluid` cells couple to each other; the top of the domain is open, all other sides are walls.
    fn from_cells(name: String, grid: Grid, fluid: impl Fn([usize; 3]) -> bool) -> Self {
        let mut faces = FaceField::new(&grid, 0.0);
        let mut extra = CellField::new(&grid, 0.0);
        for c in (0..grid.cells()).map(|c| grid.cell_at(c)).filter(|&c| fluid(c)) {
            for axis in Axis::ALL {
                let mut below = c;
                if c[axis.index()] > 0 {
                    below[axis.index()] -= 1;
                    faces[(axis, c)] = f64::from(u8::from(fluid(below)));
                }
            }
            if c[1] + 1 == grid.dims[1] {
                extra[c] = 1.0;
            }
        }
        Self { name, grid, faces, extra }
    }

    /// A tank with an open top and a box of a quarter of its size carved out of its middle. With 128 × 256 × 128 cells this
    /// is the problem that other solvers are measured on.
    pub fn tank(dims: [usize; 3]) -> Self {
        let inside = |c: [usize; 3]| (0..3).all(|a| box_range(dims, a).contains(&c[a]));
        Self::from_cells("box".into(), Grid::new(dims, 1.0, DVec3::ZERO), |c| !inside(c))
    }

    /// A cube of `n`³ cells with an open top and `count` random balls. Cells inside are solid; with `cut`, faces near a surface have
    /// random open fractions instead.
    pub fn balls(n: usize, count: usize, cut: bool) -> Self {
        let grid = Grid::new([n; 3], 1.0 / n as f64, DVec3::ZERO);
        let random = |i: usize| 0.5 + 0.5 * hash(i as u64 + 7_000_000);
        let balls: Vec<(DVec3, f64)> = (0..count)
            .map(|b| (DVec3::from([0, 1, 2].map(|a| 0.1 + 0.8 * random(4 * b + a))), 0.04 + 0.07 * random(4 * b + 3)))
            .collect();
        let distance = |x: DVec3| balls.iter().map(|(c, r)| x.distance(*c) - r).fold(1.0, f64::min);
        let name = format!("{count} balls{}", if cut { ", cut faces" } else { "" });
        if !cut {
            return Self::from_cells(name, grid, |c| distance(grid.cell_centre(c)) > 0.0);
        }
        let mut problem = Self::from_cells(name, grid, |_| true);
        for axis in Axis::ALL {
            for f in 0..problem.faces.axes[axis.index()].len() {
                let [nx, ny, _] = grid.face_dims(axis);
                let at = [f % nx, f / nx % ny, f / (nx * ny)];
                let d = distance(grid.face_centre(axis, at)) / grid.dx;
                let open = if d > 0.5 {
                    1.0
                } else if d < -0.5 {
                    0.0
                } else {
                    random(1000 + 3 * f + axis.index())
                };
                problem.faces.axes[axis.index()][f] *= open;
            }
        }
        problem
    }

    /// The right-hand side.
    pub fn rhs(&self, kind: Rhs) -> Vec<f64> {
        let dims = self.grid.dims;
        let value = |c: usize| {
            if kind == Rhs::Random {
                return hash(c as u64);
            }
            let at = self.grid.cell_at(c);
            let wave = |a: usize, k: f64| (k * std::f64::consts::PI * (at[a] as f64 + 0.5) / dims[a] as f64).cos();
            let side = box_range(dims, 1);
            let covered = box_range(dims, 0).contains(&at[0]) && box_range(dims, 2).contains(&at[2]);
            let jump = f64::from(i8::from(covered && at[1] == side.end) - i8::from(covered && at[1] + 1 == side.start));
            1e-2 * wave(0, 1.0) * wave(1, 2.0) * wave(2, 1.0) + jump
        };
        (0..self.grid.cells()).map(value).collect()
    }
}

/// The middle of an axis, a quarter of it long.
fn box_range(dims: [usize; 3], a: usize) -> std::ops::Range<usize> {
    3 * dims[a] / 8..5 * dims[a] / 8
}

/// A number in [−1, 1) that depends on `i` only.
pub fn hash(i: u64) -> f64 {
    let mut z = i.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
