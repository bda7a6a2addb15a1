//! Columns on one level: what smoothing makes of them, what it leaves, and what they are on the next coarser level.
//!
//! All columns of a body are smoothed together, in the cells that they reach and nowhere else: T = S K is two cells wider than
//! K, F = K − L T three.

use super::super::eigen::eigen;
use super::super::low_rank::{Block, add_scaled};
use super::super::real::Real;
use super::level::Level;
use super::sweep::coefficients;
use std::collections::BTreeMap;

/// The columns of a body or of a pocket, smoothed.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns<T> {
    /// The columns K.
    pub k: Block<T>,
    /// S K.
    pub t: Block<T>,
    /// K − L T; its rows are black cells, given by their slots.
    pub f: Block<T>,
    /// F on the coarser level.
    pub f_coarse: Block<T>,
}

/// How a pocket's pressure is felt in the cells that are tied to it.
///
/// A cell with the tie w to the pocket, d in all, takes the part f = 2a/(2a + d) of the correction from the coarser level, since
/// it sits that far off the surface (`sweep::factor`); the rest comes from the pressures beyond, w/d of it from this pocket.
/// That is f·w/(2a), a being its strongest face.
#[derive(Clone, Debug, Default)]
pub(super) struct Felt<T> {
    /// Part of the pocket's correction that cells take.
    pub lift: Block<T>,
    /// The same for black cells alone, given by their slots.
    pub black: Block<T>,
    /// What smoothing leaves of black values, seen through `lift`; rows by slots.
    pub left: Block<T>,
}

/// How far smoothing carries a value, and one cell more for the residual it leaves.
const REACH: usize = 3;

/// See [`felt`]. A choice: iterations of `bench reduced` are those with all columns, or one more.
const FELT: f64 = 0.3;

/// No such cell.
pub(super) const NONE: u32 = u32::MAX;

/// A cell that columns reach.
pub(super) struct Reached {
    pub at: [usize; 3],
    /// Numbers of the reached neighbours x−, x+, y−, y+, z−, z+, or `NONE`.
    pub beside: [u32; 6],
    pub faces: [f64; 6],
    /// 1 ÷ diagonal.
    pub inverse: f64,
    /// How much of a correction the cell takes.
    pub factor: f64,
}

/// The unknowns within [`REACH`] of some cells, in storage order, and what smoothing does there.
pub(super) struct Surroundings {
    dims: [usize; 3],
    /// The box around them.
    low: [usize; 3],
    size: [usize; 3],
    /// Numbers of the cells of the box, or `NONE`.
    numbers: Vec<u32>,
    pub cells: Vec<Reached>,
    pub red: Vec<usize>,
    pub black: Vec<usize>,
}

impl Surroundings {
    pub fn new<T: Real>(from: &[u32], level: &Level<T>) -> Self {
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
        let numbers = vec![NONE; size.iter().product()];
        let mut new = Self { dims, low, size, numbers, cells: Vec::new(), red: Vec::new(), black: Vec::new() };
        let mut is_near = vec![0; new.numbers.len()];
        from.iter().for_each(|&cell| is_near[new.index(unravel(dims, cell as usize))] = 1);
        for _ in 0..REACH {
            is_near = widen(&is_near, size);
        }
        let near = is_near.iter().filter(|&&near| near == 1).count();
        new.cells.reserve(near);
        new.red.reserve(near);
        new.black.reserve(near);
        for (n, row) in is_near.chunks_exact(size[0].max(1)).enumerate() {
            let (j, k) = (low[1] + n % size[1], low[2] + n / size[1]);
            let is_near = |i: usize| row[i - low[0]] == 1;
            coefficients(&level.planes[k], j, low[0]..high[0], is_near, |i, (faces, inverse, factor)| {
                if inverse > 0.0 {
                    new.numbers[size[0] * n + i - low[0]] = new.cells.len() as u32;
                    let colour = if (i + j + k).is_multiple_of(2) { &mut new.red } else { &mut new.black };
                    colour.push(new.cells.len());
                    new.cells.push(Reached { at: [i, j, k], beside: [NONE; 6], faces, inverse, factor });
                }
            });
        }
        let strides = [1, size[0], size[0] * size[1]];
        for n in 0..new.cells.len() {
            let own = new.index(new.cells[n].at);
            let cell = &mut new.cells[n];
            for a in 0..3 {
                if cell.faces[2 * a] != 0.0 && cell.at[a] > low[a] {
                    cell.beside[2 * a] = new.numbers[own - strides[a]];
                }
                if cell.faces[2 * a + 1] != 0.0 && cell.at[a] + 1 < high[a] {
                    cell.beside[2 * a + 1] = new.numbers[own + strides[a]];
                }
            }
        }
        new
    }

    /// Place of a cell in the box.
    fn index(&self, at: [usize; 3]) -> usize {
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] - self.low[a]);
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// Number of a cell of the level that is an unknown.
    pub fn number(&self, cell: usize) -> Option<usize> {
        let number = self.numbers[self.index(unravel(self.dims, cell))];
        (number != NONE).then_some(number as usize)
    }

    /// Whether a reached cell is red.
    pub fn is_red(&self, n: usize) -> bool {
        self.cells[n].at.iter().sum::<usize>().is_multiple_of(2)
    }

    /// Storage index of a reached cell.
    pub fn cell(&self, n: usize) -> usize {
        let [i, j, k] = self.cells[n].at;
        i + self.dims[0] * (j + self.dims[1] * k)
    }

    /// The slot of a reached cell, among those of its colour.
    pub fn slot(&self, n: usize) -> usize {
        let [i, j, k] = self.cells[n].at;
        i / 2 + self.dims[0].div_ceil(2) * (j + self.dims[1] * k)
    }

    /// out ← Σ a v over the neighbours, in as many columns as `out` has.
    fn around<V: Real>(&self, n: usize, v: &[V], out: &mut [V]) {
        let (columns, mut first) = (out.len(), 0);
        while first + 8 <= columns {
            self.around_few::<8, V>(n, v, out, first);
            first += 8;
        }
        if first + 4 <= columns {
            self.around_few::<4, V>(n, v, out, first);
            first += 4;
        }
        if first + 2 <= columns {
            self.around_few::<2, V>(n, v, out, first);
            first += 2;
        }
        if first < columns {
            self.around_few::<1, V>(n, v, out, first);
        }
    }

    /// The same for N columns from the `first` on, with sums that stay in registers.
    #[inline(always)]
    fn around_few<const N: usize, V: Real>(&self, n: usize, v: &[V], out: &mut [V], first: usize) {
        let mut sums = [V::default(); N];
        let Reached { faces, beside, .. } = &self.cells[n];
        for (&face, &beside) in faces.iter().zip(beside).filter(|(_, beside)| **beside != NONE) {
            let v: &[V; N] = v[out.len() * beside as usize + first..].first_chunk().expect("a value for every column");
            let face = V::of(face);
            sums.iter_mut().zip(v).for_each(|(sum, v)| *sum += face * *v);
        }
        out[first..][..N].copy_from_slice(&sums);
    }

    /// What the second red sweep changes after black values `y`, and in black cells the residual that this leaves.
    fn leave<V: Real>(&self, y: &[V], columns: usize) -> Vec<V> {
        let mut left = vec![V::default(); y.len()];
        let mut sum = vec![V::default(); columns];
        for &n in &self.red {
            self.around(n, y, &mut sum);
            let inverse = V::of(self.cells[n].inverse);
            left[columns * n..][..columns].iter_mut().zip(&sum).for_each(|(v, sum)| *v = inverse * *sum);
        }
        for &n in &self.black {
            self.around(n, &left, &mut sum);
            left[columns * n..][..columns].copy_from_slice(&sum);
        }
        left
    }

    /// The columns in `x` smoothed from zero, and in black cells the residual.
    fn smooth<V: Real>(&self, mut x: Vec<V>, columns: usize) -> (Vec<V>, Vec<V>) {
        for &n in &self.red {
            let inverse = V::of(self.cells[n].inverse);
            x[columns * n..][..columns].iter_mut().for_each(|x| *x = inverse * *x);
        }
        let mut sum = vec![V::default(); columns];
        for &n in &self.black {
            self.around(n, &x, &mut sum);
            let inverse = V::of(self.cells[n].inverse);
            x[columns * n..][..columns].iter_mut().zip(&sum).for_each(|(x, sum)| *x = inverse * (*x + *sum));
        }
        let left = self.leave(&x, columns);
        for &n in &self.red {
            let range = columns * n..columns * (n + 1);
            x[range.clone()].iter_mut().zip(&left[range]).for_each(|(x, change)| *x += *change);
        }
        (x, left)
    }

    /// Smooth columns, and restrict what that leaves.
    fn columns<T: Real>(&self, k: &Block, coarse: &Level<T>) -> Columns<T> {
        let columns = k.columns;
        let k = rounded(k);
        let mut values = vec![T::default(); columns * self.cells.len()];
        for (cell, row) in k.rows() {
            let n = self.number(cell).expect("columns live on unknowns");
            values[columns * n..][..columns].copy_from_slice(row);
        }
        let (t, left) = self.smooth(values, columns);
        let mut f_coarse = Restriction::new(self, coarse, columns);
        for &n in &self.black {
            f_coarse.add(n, &left[columns * n..][..columns]);
        }
        Columns {
            k,
            t: rows_of(&t, columns, 0..self.cells.len(), |n| self.cell(n)),
            f: rows_of(&left, columns, self.black.iter().copied(), |n| self.slot(n)),
            f_coarse: f_coarse.finish(),
        }
    }
}

/// Marks in a box of `size`, and those of their six neighbours.
fn widen(marks: &[u8], [nx, ny, _]: [usize; 3]) -> Vec<u8> {
    let mut wide = marks.to_vec();
    for row in 0..marks.len() / nx.max(1) {
        let at = nx * row;
        mark(&marks[at..at + nx - 1], &mut wide[at + 1..at + nx]);
        mark(&marks[at + 1..at + nx], &mut wide[at..at + nx - 1]);
        if row % ny > 0 {
            mark(&marks[at..at + nx], &mut wide[at - nx..at]);
            mark(&marks[at - nx..at], &mut wide[at..at + nx]);
        }
        if row >= ny {
            let below = at - nx * ny;
            mark(&marks[at..at + nx], &mut wide[below..below + nx]);
            mark(&marks[below..below + nx], &mut wide[at..at + nx]);
        }
    }
    wide
}

/// Mark what is marked.
fn mark(marks: &[u8], out: &mut [u8]) {
    out.iter_mut().zip(marks).for_each(|(out, mark)| *out |= mark);
}

impl<T: Real> Columns<T> {
    /// The columns `c` of a body, whose cells have the surroundings `here`, and what they are on `coarse`.
    pub fn of_body(mut c: Block, here: &Surroundings, coarse: &Level<T>) -> (Self, Block) {
        c.retain(|cell| here.number(cell).is_some());
        let mut coarser = Restriction::new(here, coarse, c.columns);
        for (cell, row) in c.rows() {
            coarser.add(here.number(cell).expect("only unknowns are left"), row);
        }
        let coarser = coarser.finish();
        (here.columns(&c, coarse), coarser)
    }

    /// The column −w of a pocket on `fine`, how it is felt there, and the column on `coarse`, whose ties are longer by half a
    /// cell (`Coarse::coarsen`).
    pub fn of_pocket(k: &Block, fine: &Level<T>, coarse: &Level<T>) -> (Self, Felt<T>, Block) {
        let here = Surroundings::new(&k.cells, fine);
        let mut lift = vec![0.0; here.cells.len()];
        let mut sums = BTreeMap::<usize, f64>::new();
        for (cell, row) in k.rows() {
            let n = here.number(cell).expect("what is tied is an unknown");
            let Reached { faces, factor, at, .. } = &here.cells[n];
            let strongest = faces.iter().fold(0.0_f64, |a, b| a.max(*b));
            lift[n] = if strongest > 0.0 { -row[0] * factor / (2.0 * strongest) } else { 0.0 };
            let [nx, ny, _] = coarse.dims;
            *sums.entry(at[0] / 2 + nx * (at[1] / 2 + ny * (at[2] / 2))).or_default() += factor * row[0];
        }
        let mut black = vec![0.0; lift.len()];
        here.black.iter().for_each(|&n| black[n] = lift[n]);
        let left = here.leave(&black, 1);
        let slots = |v: &[f64]| rows_of(v, 1, here.black.iter().copied(), |n| here.slot(n));
        let felt =
            Felt { black: slots(&black), left: slots(&left), lift: rows_of(&lift, 1, 0..lift.len(), |n| here.cell(n)) };
        let coarser = Block {
            cells: sums.keys().map(|&cell| cell as u32).collect(),
            columns: 1,
            values: sums.into_values().collect(),
            is_immersed: false,
        };
        (here.columns(k, coarse), felt, coarser)
    }
}

/// Those combinations of the columns of a body that the fluid feels, which are all that the cycle has to know: of the rest, cᵀL⁻¹c is below [`FELT`], so that
/// L + C Cᵀ without them is all but as good. Over all levels, the sum of cᵀD⁻¹c, with the diagonals D, is about cᵀL⁻¹c \[Bramble, Pasciak & Xu 1990\].
pub(super) fn felt<T: Real>(c: Block, levels: &[Level<T>]) -> Block {
    let columns = c.columns;
    let mut products = vec![0.0; columns * columns];
    let mut here = c.clone();
    for (l, level) in levels.iter().enumerate() {
        let around = Surroundings::new(&here.cells, level);
        here.retain(|cell| around.number(cell).is_some());
        let number = |cell: usize| around.number(cell).expect("only unknowns are left");
        for (cell, row) in here.rows() {
            let inverse = around.cells[number(cell)].inverse;
            for (products, left) in products.chunks_exact_mut(columns).zip(row).filter(|(_, left)| **left != 0.0) {
                add_scaled(products, inverse * left, row);
            }
        }
        let Some(coarse) = levels.get(l + 1).filter(|_| !here.cells.is_empty()) else { break };
        let mut coarser = Restriction::new(&around, coarse, columns);
        here.rows().for_each(|(cell, row)| coarser.add(number(cell), row));
        here = coarser.finish();
    }
    let (values, parts) = eigen(columns, products);
    let first = values.iter().position(|value| *value >= FELT).unwrap_or(columns);
    let chosen = columns - first;
    if chosen == 0 {
        return Block::default();
    }
    let mut felt = Block {
        cells: c.cells.clone(),
        columns: chosen,
        values: vec![0.0; chosen * c.cells.len()],
        is_immersed: false,
    };
    for ((_, row), out) in c.rows().zip(felt.values.chunks_exact_mut(chosen)) {
        for (value, parts) in row.iter().zip(parts.chunks_exact(columns)) {
            add_scaled(out, *value, &parts[first..]);
        }
    }
    felt
}

/// A block in the precision of the cycle.
fn rounded<T: Real>(block: &Block) -> Block<T> {
    let Block { cells, columns, values, .. } = block;
    Block {
        cells: cells.clone(),
        columns: *columns,
        values: values.iter().map(|&v| T::of(v)).collect(),
        is_immersed: false,
    }
}

/// Rows that are not zero, under the number that `renumber` gives them.
fn rows_of<V: Real, T: Real>(
    values: &[V],
    columns: usize,
    cells: impl Iterator<Item = usize>,
    renumber: impl Fn(usize) -> usize,
) -> Block<T> {
    let is_something = |n: &usize| values[columns * n..][..columns].iter().any(|&v| v != V::default());
    let rows: Vec<usize> = cells.filter(is_something).collect();
    let mut block = Block {
        cells: Vec::with_capacity(rows.len()),
        columns,
        values: Vec::with_capacity(columns * rows.len()),
        is_immersed: false,
    };
    for n in rows {
        block.cells.push(renumber(n) as u32);
        block.values.extend(values[columns * n..][..columns].iter().map(|&v| T::of(v.f64())));
    }
    block
}

/// Rows of a level on the coarser one: the transpose of interpolation, see `transfer`.
struct Restriction<'a, V> {
    from: &'a Surroundings,
    dims: [usize; 3],
    /// The faces between cells of the coarser level.
    open: &'a [u8],
    low: [usize; 3],
    size: [usize; 3],
    columns: usize,
    /// Where the row of a cell of the box begins, or `NONE`.
    starts: Vec<u32>,
    values: Vec<V>,
}

impl<'a, V: Real> Restriction<'a, V> {
    fn new<T: Real>(from: &'a Surroundings, coarse: &'a Level<T>, columns: usize) -> Self {
        let dims = coarse.dims;
        let low: [usize; 3] = std::array::from_fn(|a| (from.low[a] / 2).saturating_sub(1));
        let high: [usize; 3] = std::array::from_fn(|a| ((from.low[a] + from.size[a]) / 2 + 2).min(dims[a]));
        let size: [usize; 3] = std::array::from_fn(|a| high[a].saturating_sub(low[a]));
        let starts = vec![NONE; size.iter().product()];
        Self { from, dims, open: &coarse.coarse.open, low, size, columns, starts, values: Vec::new() }
    }

    /// Add a row of a reached cell of the finer level.
    fn add(&mut self, n: usize, row: &[V]) {
        if row.iter().all(|&v| v == V::default()) {
            return;
        }
        let Reached { at, factor, .. } = self.from.cells[n];
        let parent = at.map(|i| i / 2);
        let sides = self.open[parent[0] + self.dims[0] * (parent[1] + self.dims[1] * parent[2])];
        let strides = [1, self.size[0], self.size[0] * self.size[1]];
        let place: usize = (0..3).map(|a| strides[a] * (parent[a] - self.low[a])).sum();
        let mut own = 1.0;
        for a in 0..3 {
            let upper = at[a] % 2;
            if sides >> (2 * a + upper) & 1 == 1 {
                let beside = if upper == 1 { place + strides[a] } else { place - strides[a] };
                self.add_part(beside, row, 0.25 * factor);
                own -= 0.25;
            }
        }
        self.add_part(place, row, own * factor);
    }

    /// Add to the row of a cell of the box.
    #[inline(always)]
    fn add_part(&mut self, place: usize, row: &[V], weight: f64) {
        let weight = V::of(weight);
        let start = &mut self.starts[place];
        if *start == NONE {
            *start = self.values.len() as u32;
            self.values.extend(row.iter().map(|v| weight * *v));
        } else {
            let sums = &mut self.values[*start as usize..][..row.len()];
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * *v);
        }
    }

    /// The rows in storage order.
    fn finish(self) -> Block<V> {
        let rows = self.values.len() / self.columns.max(1);
        let mut block = Block {
            cells: Vec::with_capacity(rows),
            columns: self.columns,
            values: Vec::with_capacity(self.values.len()),
            is_immersed: false,
        };
        for (n, &start) in self.starts.iter().enumerate().filter(|(_, start)| **start != NONE) {
            let at = unravel(self.size, n);
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + self.low[a]);
            block.cells.push((i + self.dims[0] * (j + self.dims[1] * k)) as u32);
            block.values.extend_from_slice(&self.values[start as usize..][..self.columns]);
        }
        block
    }
}

/// The cells of the coarser level that the correction of a cell comes from, with weights: see `transfer`.
pub(super) fn parents_of<T: Real>(cell: &Reached, coarse: &Level<T>) -> [(usize, f64); 4] {
    let Reached { at, factor, .. } = cell;
    let [nx, ny, _] = coarse.dims;
    let strides = [1, nx, nx * ny];
    let own: usize = (0..3).map(|a| strides[a] * (at[a] / 2)).sum();
    let sides = coarse.coarse.open[own];
    let mut parents = [(own, 0.0); 4];
    parents[0].1 = *factor;
    for a in 0..3 {
        let upper = at[a] % 2;
        if sides >> (2 * a + upper) & 1 == 1 {
            parents[a + 1] = (if upper == 1 { own + strides[a] } else { own - strides[a] }, 0.25 * factor);
            parents[0].1 -= 0.25 * factor;
        }
    }
    parents
}

fn unravel([nx, ny, _]: [usize; 3], index: usize) -> [usize; 3] {
    [index % nx, index / nx % ny, index / (nx * ny)]
}
