//! Columns on one level: what smoothing makes of them, and what they are on the next coarser level.
//!
//! A column lives on a few cells; smoothing carries it [`REACH`] cells farther, so all is done in a box around them.

use super::super::low_rank::Block;
use super::super::real::Real;
use super::level::Level;
use super::sweep::coefficients;
use std::collections::BTreeMap;

/// The columns of a body or of a pocket, smoothed.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// The columns K.
    pub k: Block,
    /// S K.
    pub t: Block,
    /// K − L T; its rows are black cells, given by their slots.
    pub f: Block,
    /// F on the coarser level.
    pub f_coarse: Block,
}

/// How a pocket's pressure is felt in the cells that are tied to it.
///
/// A cell with the tie w to the pocket, d in all, takes the part f = 2a/(2a + d) of the correction from the coarser level, since
/// it sits that far off the surface (`sweep::factor`); the rest comes from the pressures beyond, w/d of it from this pocket.
/// That is f·w/(2a), a being its strongest face.
#[derive(Clone, Debug, Default)]
pub(super) struct Felt {
    /// Part of the pocket's correction that cells take.
    pub lift: Block,
    /// The same for black cells alone, given by their slots.
    pub black: Block,
    /// What smoothing leaves of black values, seen through `lift`; rows by slots.
    pub left: Block,
}

/// How far smoothing carries a value, and one cell more for the residual it leaves.
const REACH: usize = 3;

/// The cells around a block, as a box of the level.
struct Patch {
    low: [usize; 3],
    size: [usize; 3],
}

impl Patch {
    fn around(cells: &[u32], dims: [usize; 3]) -> Self {
        let (mut low, mut high) = (dims, [0; 3]);
        for &cell in cells {
            let at = unravel(dims, cell as usize);
            for a in 0..3 {
                low[a] = low[a].min(at[a].saturating_sub(REACH));
                high[a] = high[a].max((at[a] + REACH + 1).min(dims[a]));
            }
        }
        Self { low, size: std::array::from_fn(|a| high[a].saturating_sub(low[a])) }
    }

    fn len(&self) -> usize {
        self.size.iter().product()
    }

    /// Rows along x: (j, k) on the level, and the first index in the patch.
    fn rows(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let [nx, ny, nz] = self.size;
        (0..ny * nz).map(move |n| (self.low[1] + n % ny, self.low[2] + n / ny, nx * n))
    }

    fn index(&self, at: [usize; 3]) -> usize {
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] - self.low[a]);
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// Values beyond the patch are zero: close the faces to them.
    fn close(&self, stencils: &mut [Stencil]) {
        for (n, (faces, ..)) in stencils.iter_mut().enumerate() {
            let at = unravel(self.size, n);
            for a in 0..3 {
                if at[a] == 0 {
                    faces[2 * a] = 0.0;
                }
                if at[a] + 1 == self.size[a] {
                    faces[2 * a + 1] = 0.0;
                }
            }
        }
    }

    fn at(&self, index: usize) -> [usize; 3] {
        let at = unravel(self.size, index);
        std::array::from_fn(|a| at[a] + self.low[a])
    }
}

fn unravel([nx, ny, _]: [usize; 3], index: usize) -> [usize; 3] {
    [index % nx, index / nx % ny, index / (nx * ny)]
}

/// Stencil of a cell: conductances, 1 ÷ diagonal, interpolation factor.
type Stencil = ([f64; 6], f64, f64);

/// The cells around columns, and what smoothing does there.
struct Surroundings {
    dims: [usize; 3],
    patch: Patch,
    stencils: Vec<Stencil>,
    red: Vec<usize>,
    black: Vec<usize>,
}

impl Surroundings {
    fn new<T: Real>(cells: &[u32], level: &Level<T>) -> Self {
        let dims = level.dims;
        let patch = Patch::around(cells, dims);
        let mut stencils: Vec<Stencil> = vec![([0.0; 6], 0.0, 0.0); patch.len()];
        for (j, k, first) in patch.rows() {
            let cells = patch.low[0]..patch.low[0] + patch.size[0];
            coefficients(&level.planes[k], j, cells.clone(), |i, stencil| stencils[first + i - cells.start] = stencil);
        }
        patch.close(&mut stencils);
        let is_red: Vec<bool> = (0..patch.len()).map(|n| patch.at(n).iter().sum::<usize>().is_multiple_of(2)).collect();
        let cells_of =
            |red: bool| (0..patch.len()).filter(|&n| is_red[n] == red && stencils[n].1 > 0.0).collect::<Vec<_>>();
        let (red, black) = (cells_of(true), cells_of(false));
        Self { dims, patch, stencils, red, black }
    }

    /// Place of a cell of the level in the patch.
    fn place(&self, cell: usize) -> usize {
        self.patch.index(unravel(self.dims, cell))
    }

    /// The cell of a place.
    fn cell(&self, n: usize) -> usize {
        let [i, j, k] = self.patch.at(n);
        i + self.dims[0] * (j + self.dims[1] * k)
    }

    /// The slot of a place, among those of its colour.
    fn slot(&self, n: usize) -> usize {
        let [i, j, k] = self.patch.at(n);
        i / 2 + self.dims[0].div_ceil(2) * (j + self.dims[1] * k)
    }

    /// Σ a v over the neighbours.
    fn around(&self, v: &[f64], n: usize) -> f64 {
        let [nx, ny, _] = self.patch.size;
        let strides = [1, nx, nx * ny];
        let faces = &self.stencils[n].0;
        let mut sum = 0.0;
        for a in 0..3 {
            if faces[2 * a] != 0.0 {
                sum += faces[2 * a] * v[n - strides[a]];
            }
            if faces[2 * a + 1] != 0.0 {
                sum += faces[2 * a + 1] * v[n + strides[a]];
            }
        }
        sum
    }

    /// What the second red sweep changes after black values `y`, and the residual that this leaves in black cells.
    fn leave(&self, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut change, mut left) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        self.red.iter().for_each(|&n| change[n] = self.stencils[n].1 * self.around(y, n));
        self.black.iter().for_each(|&n| left[n] = self.around(&change, n));
        (change, left)
    }

    /// b smoothed from zero, and the residual.
    fn smooth(&self, b: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut first, mut x) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        self.red.iter().for_each(|&n| first[n] = self.stencils[n].1 * b[n]);
        self.black.iter().for_each(|&n| x[n] = self.stencils[n].1 * (b[n] + self.around(&first, n)));
        let (change, left) = self.leave(&x);
        self.red.iter().for_each(|&n| x[n] = first[n] + change[n]);
        (x, left)
    }

    /// Smooth columns, and restrict what that leaves.
    fn columns<T: Real>(&self, k: Block, coarse: &Level<T>) -> Columns {
        let (mut smoothed, mut left) = (Vec::new(), Vec::new());
        let mut b = vec![0.0; self.patch.len()];
        for column in 0..k.columns {
            b.fill(0.0);
            for (cell, row) in k.rows() {
                b[self.place(cell)] = row[column];
            }
            let (x, f) = self.smooth(&b);
            smoothed.push(x);
            left.push(f);
        }
        let t = sparse(&smoothed, 0..self.patch.len(), |n| self.cell(n));
        let f = sparse(&left, self.black.iter().copied(), |n| self.slot(n));
        let rows = self.black.iter().filter(|&&n| left.iter().any(|f| f[n] != 0.0));
        let rows = rows.map(|&n| self.damped(n, &mut left.iter().map(|f| f[n]))).collect();
        let f_coarse = restrict(rows, k.columns, self.dims, coarse);
        Columns { k, t, f, f_coarse }
    }

    /// The row of a place as interpolation sees it from the coarser level.
    fn damped(&self, n: usize, row: &mut dyn Iterator<Item = f64>) -> (usize, Vec<f64>) {
        (self.cell(n), row.map(|v| v * self.stencils[n].2).collect())
    }
}

impl Columns {
    /// The columns `c` of a body on `fine`, and what they are on `coarse`.
    pub fn of_body<T: Real>(mut c: Block, fine: &Level<T>, coarse: &Level<T>) -> (Self, Block) {
        let here = Surroundings::new(&c.cells, fine);
        c.retain(|cell| here.stencils[here.place(cell)].1 > 0.0);
        let rows = c.rows().map(|(cell, row)| here.damped(here.place(cell), &mut row.iter().copied())).collect();
        let coarser = restrict(rows, c.columns, here.dims, coarse);
        (here.columns(c, coarse), coarser)
    }

    /// The column −w of a pocket on `fine`, how it is felt there, and the column on `coarse`, whose ties are longer by half a
    /// cell (`Coarse::coarsen`).
    pub fn of_pocket<T: Real>(k: Block, fine: &Level<T>, coarse: &Level<T>) -> (Self, Felt, Block) {
        let here = Surroundings::new(&k.cells, fine);
        let mut lift = vec![0.0; here.patch.len()];
        let mut sums = BTreeMap::<usize, f64>::new();
        for (cell, row) in k.rows() {
            let n = here.place(cell);
            let (faces, _, factor) = here.stencils[n];
            let strongest = faces.iter().fold(0.0_f64, |a, b| a.max(*b));
            lift[n] = if strongest > 0.0 { -row[0] * factor / (2.0 * strongest) } else { 0.0 };
            *sums.entry(parent(unravel(here.dims, cell), coarse.dims)).or_default() += factor * row[0];
        }
        let mut black = vec![0.0; lift.len()];
        here.black.iter().for_each(|&n| black[n] = lift[n]);
        let left = here.leave(&black).1;
        let slots = |v: Vec<f64>| sparse(&[v], here.black.iter().copied(), |n| here.slot(n));
        let felt = Felt {
            black: slots(black),
            left: slots(left),
            lift: sparse(&[lift], 0..here.patch.len(), |n| here.cell(n)),
        };
        let coarser = Block {
            cells: sums.keys().map(|&cell| cell as u32).collect(),
            columns: 1,
            values: sums.into_values().collect(),
        };
        (here.columns(k, coarse), felt, coarser)
    }
}

/// The coarse cell around a fine one, of a level of `dims`.
fn parent(at: [usize; 3], [nx, ny, _]: [usize; 3]) -> usize {
    at[0] / 2 + nx * (at[1] / 2 + ny * (at[2] / 2))
}

/// Rows that are not zero, of columns over a patch, under the number that `name` gives them.
fn sparse(columns: &[Vec<f64>], cells: impl Iterator<Item = usize>, name: impl Fn(usize) -> usize) -> Block {
    let mut block = Block { columns: columns.len(), ..Block::default() };
    for n in cells.filter(|&n| columns.iter().any(|column| column[n] != 0.0)) {
        block.cells.push(name(n) as u32);
        block.values.extend(columns.iter().map(|column| column[n]));
    }
    block
}

/// Rows of a level of `dims` on the coarser one: the transpose of interpolation, see `transfer`.
fn restrict<T: Real>(rows: Vec<(usize, Vec<f64>)>, columns: usize, dims: [usize; 3], coarse: &Level<T>) -> Block {
    let [nx, ny, _] = coarse.dims;
    let strides = [1, nx, nx * ny];
    let mut sums = BTreeMap::<usize, Vec<f64>>::new();
    let mut add = |cell: usize, row: &[f64], weight: f64| {
        let sum = sums.entry(cell).or_insert_with(|| vec![0.0; columns]);
        sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * v);
    };
    for (cell, row) in rows {
        let at = unravel(dims, cell);
        let parent = parent(at, coarse.dims);
        let mut own = 1.0;
        for a in 0..3 {
            let upper = at[a] % 2;
            if coarse.coarse.open[parent] >> (2 * a + upper) & 1 == 1 {
                let beside = if upper == 1 { parent + strides[a] } else { parent - strides[a] };
                add(beside, &row, 0.25);
                own -= 0.25;
            }
        }
        add(parent, &row, own);
    }
    let mut block = Block { columns, ..Block::default() };
    for (cell, row) in sums {
        block.cells.push(cell as u32);
        block.values.extend(row);
    }
    block
}
