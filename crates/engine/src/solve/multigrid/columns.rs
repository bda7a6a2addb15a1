//! The columns of a body on one level: what smoothing makes of them, what it leaves, and what the coarser level has of them.
//!
//! All columns of a body are smoothed together, in the cells that they reach and nowhere else: T = S C is two cells wider than
//! C, F = C − L T three.

use super::super::low_rank::Block;
use super::super::real::Real;
use super::level::Level;
use super::sweep::coefficients;

/// The columns of one block; see `bodies` for what they are for.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub c: Block,
    /// S C.
    pub t: Block,
    /// C − L T; its rows are black cells, given by their slots.
    pub f: Block,
    /// F on the coarser level.
    pub f_coarse: Block,
}

/// How far smoothing carries a value, and one cell more for the residual it leaves.
const REACH: usize = 3;

/// No such cell.
const NONE: u32 = u32::MAX;

/// A cell that the columns reach.
struct Reached {
    at: [usize; 3],
    /// Numbers of the reached neighbours x−, x+, y−, y+, z−, z+, or `NONE`.
    beside: [u32; 6],
    faces: [f64; 6],
    /// 1 ÷ diagonal.
    inverse: f64,
    /// How much of a correction the cell takes.
    factor: f64,
}

impl Reached {
    fn is_red(&self) -> bool {
        self.at.iter().sum::<usize>().is_multiple_of(2)
    }
}

impl Body {
    /// Smooth the columns `c` on `fine`; they and what they are on the `coarse` level below it.
    pub fn new<T: Real>(mut c: Block, fine: &Level<T>, coarse: &Level<T>) -> (Self, Block) {
        let dims = fine.dims;
        let (cells, number) = reach(&c.cells, fine);
        c.retain(|cell| number(unravel(dims, cell)) != NONE);
        let columns = c.columns;
        let (red, black): (Vec<usize>, Vec<usize>) = (0..cells.len()).partition(|&n| cells[n].is_red());
        let zeros = || vec![0.0; columns * cells.len()];

        let mut x = zeros();
        for (cell, row) in c.rows() {
            let n = number(unravel(dims, cell)) as usize;
            x[columns * n..][..columns].copy_from_slice(row);
        }
        // First red, then black; then what the second red sweep changes, which is all that leaves a residual, in black cells.
        let (mut change, mut left) = (zeros(), zeros());
        for &n in &red {
            x[columns * n..][..columns].iter_mut().for_each(|x| *x *= cells[n].inverse);
        }
        let mut sum = vec![0.0; columns];
        for &n in &black {
            around(&cells[n], &x, &mut sum);
            for (x, sum) in x[columns * n..][..columns].iter_mut().zip(&sum) {
                *x = cells[n].inverse * (*x + sum);
            }
        }
        for &n in &red {
            around(&cells[n], &x, &mut sum);
            change[columns * n..][..columns].iter_mut().zip(&sum).for_each(|(v, sum)| *v = cells[n].inverse * sum);
        }
        for &n in &black {
            around(&cells[n], &change, &mut sum);
            left[columns * n..][..columns].copy_from_slice(&sum);
        }
        for &n in &red {
            let range = columns * n..columns * (n + 1);
            x[range.clone()].iter_mut().zip(&change[range]).for_each(|(x, change)| *x += change);
        }

        let [nx, ny, _] = dims;
        let half = nx.div_ceil(2);
        let whole = |n: usize| {
            let [i, j, k] = cells[n].at;
            i + nx * (j + ny * k)
        };
        let slot = |n: usize| {
            let [i, j, k] = cells[n].at;
            i / 2 + half * (j + ny * k)
        };
        let t = rows_of(&x, columns, 0..cells.len(), whole);
        let f = rows_of(&left, columns, black.iter().copied(), slot);
        let scaled = |n: usize, row: &[f64], out: &mut Vec<f64>| {
            out.clear();
            out.extend(row.iter().map(|v| v * cells[n].factor));
            cells[n].at
        };
        let mut from_left = Restriction::around(cells.iter().map(|cell| cell.at), coarse.dims, columns);
        let mut from_c =
            Restriction::around(c.cells.iter().map(|&cell| unravel(dims, cell as usize)), coarse.dims, columns);
        let mut row = Vec::with_capacity(columns);
        for &n in black.iter().filter(|&&n| left[columns * n..][..columns].iter().any(|&v| v != 0.0)) {
            let at = scaled(n, &left[columns * n..][..columns], &mut row);
            from_left.add(at, &row, &coarse.coarse.open);
        }
        for (cell, values) in c.rows() {
            let at = scaled(number(unravel(dims, cell)) as usize, values, &mut row);
            from_c.add(at, &row, &coarse.coarse.open);
        }
        let (f_coarse, c_coarse) = (from_left.finish(), from_c.finish());
        (Self { c, t, f, f_coarse }, c_coarse)
    }
}

/// The unknowns within [`REACH`] of some cells, in storage order, and the number of a cell among them.
fn reach<T: Real>(from: &[u32], level: &Level<T>) -> (Vec<Reached>, impl Fn([usize; 3]) -> u32 + use<T>) {
    let dims = level.dims;
    let (mut low, mut high) = (dims, [0; 3]);
    for &cell in from {
        let at = unravel(dims, cell as usize);
        for a in 0..3 {
            low[a] = low[a].min(at[a].saturating_sub(REACH));
            high[a] = high[a].max((at[a] + REACH + 1).min(dims[a]));
        }
    }
    let size: [usize; 3] = std::array::from_fn(|a| high[a].saturating_sub(low[a]));
    let strides = [1, size[0], size[0] * size[1]];
    let index = move |at: [usize; 3]| (0..3).map(|a| (at[a] - low[a]) * strides[a]).sum::<usize>();
    // 0 where nothing reaches.
    let mut numbers = vec![NONE; size.iter().product()];
    let mut is_near = vec![false; numbers.len()];
    for &cell in from {
        let at = unravel(dims, cell as usize);
        let along = |a: usize, left: usize| at[a].saturating_sub(left).max(low[a])..(at[a] + left + 1).min(high[a]);
        for k in along(2, REACH) {
            let left = REACH - k.abs_diff(at[2]);
            for j in along(1, left) {
                let row = along(0, left - j.abs_diff(at[1]));
                let first = index([row.start, j, k]);
                is_near[first..first + row.len()].fill(true);
            }
        }
    }
    let mut cells = Vec::new();
    for (n, row) in is_near.chunks_exact(size[0].max(1)).enumerate() {
        let (j, k) = (low[1] + n % size[1], low[2] + n / size[1]);
        coefficients(&level.planes[k], j, low[0]..high[0], |i, (faces, inverse, factor)| {
            if row[i - low[0]] && inverse > 0.0 {
                numbers[size[0] * n + i - low[0]] = cells.len() as u32;
                cells.push(Reached { at: [i, j, k], beside: [NONE; 6], faces, inverse, factor });
            }
        });
    }
    for cell in &mut cells {
        let own = index(cell.at);
        for a in 0..3 {
            if cell.faces[2 * a] != 0.0 && cell.at[a] > low[a] {
                cell.beside[2 * a] = numbers[own - strides[a]];
            }
            if cell.faces[2 * a + 1] != 0.0 && cell.at[a] + 1 < high[a] {
                cell.beside[2 * a + 1] = numbers[own + strides[a]];
            }
        }
    }
    (cells, move |at| numbers[index(at)])
}

/// out ← Σ a v over the neighbours.
fn around(cell: &Reached, v: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (&face, &beside) in cell.faces.iter().zip(&cell.beside).filter(|(_, beside)| **beside != NONE) {
        let v = &v[out.len() * beside as usize..][..out.len()];
        out.iter_mut().zip(v).for_each(|(out, v)| *out += face * v);
    }
}

/// Rows that are not zero, under the number that `name` gives them.
fn rows_of(values: &[f64], columns: usize, cells: impl Iterator<Item = usize>, name: impl Fn(usize) -> usize) -> Block {
    let mut block = Block { columns, ..Block::default() };
    for n in cells {
        let row = &values[columns * n..][..columns];
        if row.iter().any(|&v| v != 0.0) {
            block.cells.push(name(n) as u32);
            block.values.extend_from_slice(row);
        }
    }
    block
}

/// Rows of a level on the coarser one: the transpose of interpolation, see `transfer`.
struct Restriction {
    dims: [usize; 3],
    low: [usize; 3],
    size: [usize; 3],
    columns: usize,
    /// Where the row of a cell of the box begins, or `NONE`.
    starts: Vec<u32>,
    values: Vec<f64>,
}

impl Restriction {
    /// For rows of cells of the finer level around `cells`; the coarser has `dims`.
    fn around(cells: impl Iterator<Item = [usize; 3]>, dims: [usize; 3], columns: usize) -> Self {
        let (mut low, mut high) = (dims, [0; 3]);
        for at in cells {
            for a in 0..3 {
                low[a] = low[a].min((at[a] / 2).saturating_sub(1));
                high[a] = high[a].max((at[a] / 2 + 2).min(dims[a]));
            }
        }
        let size: [usize; 3] = std::array::from_fn(|a| high[a].saturating_sub(low[a]));
        Self { dims, low, size, columns, starts: vec![NONE; size.iter().product()], values: Vec::new() }
    }

    /// Add a row of a cell of the finer level; `open` tells the faces between cells of the coarser one.
    fn add(&mut self, at: [usize; 3], row: &[f64], open: &[u8]) {
        let parent = at.map(|i| i / 2);
        let sides = open[parent[0] + self.dims[0] * (parent[1] + self.dims[1] * parent[2])];
        let mut own = 1.0;
        for a in 0..3 {
            let upper = at[a] % 2;
            if sides >> (2 * a + upper) & 1 == 1 {
                let mut beside = parent;
                beside[a] = if upper == 1 { parent[a] + 1 } else { parent[a] - 1 };
                self.add_part(beside, row, 0.25);
                own -= 0.25;
            }
        }
        self.add_part(parent, row, own);
    }

    fn add_part(&mut self, at: [usize; 3], row: &[f64], weight: f64) {
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] - self.low[a]);
        let start = &mut self.starts[i + self.size[0] * (j + self.size[1] * k)];
        if *start == NONE {
            *start = self.values.len() as u32;
            self.values.resize(self.values.len() + self.columns, 0.0);
        }
        let sum = &mut self.values[*start as usize..][..self.columns];
        sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * v);
    }

    /// The rows in storage order.
    fn finish(self) -> Block {
        let mut block = Block { columns: self.columns, ..Block::default() };
        for (n, &start) in self.starts.iter().enumerate().filter(|(_, start)| **start != NONE) {
            let at = unravel(self.size, n);
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + self.low[a]);
            block.cells.push((i + self.dims[0] * (j + self.dims[1] * k)) as u32);
            block.values.extend_from_slice(&self.values[start as usize..][..self.columns]);
        }
        block
    }
}

fn unravel([nx, ny, _]: [usize; 3], index: usize) -> [usize; 3] {
    [index % nx, index / nx % ny, index / (nx * ny)]
}
