//! Connected regions of unknowns, and the constant each closed one leaves undetermined.
//!
//! A region that no tie d_c holds is *closed*: L maps its constant to zero, so the pressure there is known up to a
//! constant and the right-hand side must sum to zero. Cells are first gathered into runs along x, then runs that touch
//! through an open face are united (union by smallest index), so the work is per run, not per cell, wherever
//! coefficients are uniform. (Unlike \[A18, eq. 17\] and \[ZB17, eq. 31\], which take their systems for definite.)
//!
//! A body that answers pressure may tie closed regions together: a piston lets the pressure on one side act on the other. What
//! Σ = L + C Cᵀ then leaves undetermined are the constants y_k on regions k with Σ_k y_k Cᵀ1_k = 0.
//!
//! A pocket of air connects all that is tied to it. If nothing of that is tied to a known pressure, the constant over cells
//! and pockets alike is undetermined.

use super::laplacian::{Laplacian, dot, packed, sum};
use super::low_rank::{Block, LowRank};
use super::pockets::Pocket;
use super::stencil::{Kind, Plane, Uniform, total};
use super::yielding::Yielding;
use crate::grid::CellField;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A region of unknowns with no tie to a known pressure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedRegion {
    /// Its first cell in storage order.
    pub first_cell: usize,
    /// Number of cells.
    pub cells: usize,
    /// Sum of the right-hand side over it: what no pressure can balance, and what was removed. In the unit of the right-hand side.
    pub incompatible: f64,
}

/// Cells `start..end` of the whole grid, one after another along x and connected.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    tied: bool,
}

/// The closed regions of an operator.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    dims: [usize; 3],
    runs: Vec<Run>,
    /// First run of each row, and the number of runs.
    starts: Vec<usize>,
    parent: Vec<u32>,
    /// The closed region of each run, or `OPEN`.
    region: Vec<u32>,
    closed: Vec<ClosedRegion>,
    /// The run at which each closed region was met first.
    roots: Vec<u32>,
    means: Vec<f64>,
    /// What bodies leave undetermined, if they tie regions together: a constant on each region, several times; of unit
    /// length over all cells, and orthogonal.
    undetermined: Option<Vec<Vec<f64>>>,
    /// Whether rigid bodies do.
    tied_by_columns: bool,
    /// Whether bodies are left out, and tie nothing together.
    without_bodies: bool,
    /// Where the pressures of pockets are kept, and the closed region of each, or `OPEN`.
    nodes: Vec<(usize, u32)>,
    /// Unknowns of each closed region: cells and pockets.
    unknowns: Vec<usize>,
    /// One partial sum per run.
    partial: Vec<f64>,
}

/// The run belongs to a region that is tied to a known pressure.
const OPEN: u32 = u32::MAX;

impl Regions {
    /// Find the regions of `laplacian`, reusing the memory. With pockets, `extra` tells what is tied to a known pressure: on the
    /// diagonal of `laplacian` are the ties to pockets as well.
    pub fn rebuild(&mut self, laplacian: &Laplacian, pockets: &[Pocket], extra: &CellField) {
        let [nx, ny, nz] = laplacian.dims;
        self.dims = laplacian.dims;
        self.runs.clear();
        self.starts.clear();
        for row in 0..ny * nz {
            self.starts.push(self.runs.len());
            find_runs(&laplacian.planes[row / ny], row % ny, nx * row, &mut self.runs);
        }
        self.starts.push(self.runs.len());
        self.parent.clear();
        self.parent.extend(0..self.runs.len() as u32);
        for row in 0..ny * nz {
            let (j, plane) = (row % ny, &laplacian.planes[row / ny]);
            if j > 0 {
                self.unite_rows(plane, j, (row, row - 1), 0);
            }
            if row >= ny {
                self.unite_rows(plane, j, (row, row - ny), 2);
            }
        }
        self.unite_pockets(pockets, extra);
        self.collect();
        self.place_pockets(pockets);
        self.undetermined = None;
        self.tied_by_columns = false;
    }

    /// Find out which closed regions the bodies of Σ = L + C Cᵀ tie together. A body that cannot change the volume of a region
    /// has Cᵀ1 = 0 there but for the cells that are no unknowns and for where bodies touch; what is missing is shared out, so that it is zero.
    /// A body of many freedoms gives way wherever it is pressed upon: a region around it is not closed.
    pub fn couple(&mut self, low_rank: &mut LowRank, yielding: &[Yielding]) {
        if self.closed.is_empty() {
            return;
        }
        let is_tied: Vec<bool> = self.closed.iter().map(|region| region.cells >= LEAST_CHAMBER).collect();
        // What each body does to the volume of each region, column by column.
        let of_block = |block: &mut Block| {
            let regions: Vec<Option<usize>> = block.cells.iter().map(|&cell| self.region_of(cell as usize)).collect();
            let (columns, is_immersed) = (block.columns, block.is_immersed);
            // Cᵀ 1 of every region, and how much was added up to get there; and of all that is no crevice.
            let mut sums = vec![(0.0, 0.0); self.closed.len() * columns];
            let mut everywhere = vec![0.0; columns];
            for ((_, row), region) in block.rows().zip(&regions) {
                if region.is_none_or(|region| is_tied[region]) {
                    everywhere.iter_mut().zip(row).for_each(|(all, c)| *all += c);
                }
                let Some(region) = region else { continue };
                let sums = sums[columns * region..].iter_mut().zip(row);
                sums.for_each(|((sum, size), c)| (*sum, *size) = (*sum + c, *size + c.abs()));
            }
            // Compared with the largest column: a ball that turns moves next to nothing, and all of that may be missing.
            let largest = sums.iter().map(|sum| sum.1).fold(0.0, f64::max);
            let ties = |region: usize, column: usize, sum: f64| {
                let elsewhere = everywhere[column] - sum;
                is_tied[region]
                    && sum.abs() > TIED * largest
                    && (!is_immersed || elsewhere.abs() > ELSEWHERE * sum.abs())
            };
            for (row, region) in block.values.chunks_exact_mut(columns).zip(&regions) {
                let Some(region) = region else { continue };
                for (column, (c, (sum, size))) in row.iter_mut().zip(&sums[columns * region..]).enumerate() {
                    if !ties(*region, column, *sum) {
                        *c -= if *size > 0.0 { c.abs() * sum / size } else { 0.0 };
                    }
                }
            }
            let part = |n: usize, sum: f64| if ties(n / columns, n % columns, sum) { sum / largest } else { 0.0 };
            let parts: Vec<f64> = sums.iter().enumerate().map(|(n, sum)| part(n, sum.0)).collect();
            parts.chunks_exact(columns).map(<[f64]>::to_vec).collect()
        };
        let by_block: Vec<Vec<Vec<f64>>> = low_rank.blocks.par_iter_mut().map(of_block).collect();
        let by_body: Vec<Vec<Vec<f64>>> = yielding.iter().map(|body| unit_sized(self.pressed(body))).collect();
        self.tied_by_columns = by_block.iter().flatten().flatten().any(|&sum| sum != 0.0);
        let of_region = |region: usize| by_block.iter().chain(&by_body).flat_map(|tied| tied[region].clone()).collect();
        let tied: Vec<Vec<f64>> = (0..self.closed.len()).map(of_region).collect();
        if tied.iter().flatten().any(|&sum| sum != 0.0) {
            let unknowns: Vec<f64> = self.unknowns.iter().map(|&n| n as f64).collect();
            self.undetermined = Some(null_space(tied, &unknowns));
        }
    }

    /// Bᵀ1 of every region.
    pub(super) fn pressed(&self, body: &Yielding) -> Vec<Vec<f64>> {
        let mut pressed = vec![vec![0.0; body.freedoms()]; self.closed.len()];
        for (cell, entries) in body.push.rows() {
            let Some(region) = self.region_of(cell) else { continue };
            for (vertex, weight) in entries {
                let push = &mut pressed[region][3 * *vertex as usize..][..3];
                push.iter_mut().zip(weight.to_array()).for_each(|(push, weight)| *push += weight);
            }
        }
        pressed
    }

    /// Whether rigid bodies tie closed regions together.
    pub(super) fn are_tied_by_columns(&self) -> bool {
        self.tied_by_columns
    }

    /// Sum of `v` over the unknowns of each closed region, pockets among them.
    pub(super) fn sums(&self, v: &[f64]) -> Vec<f64> {
        let mut sums = self.totals(v);
        for &(node, region) in self.nodes.iter().filter(|(_, region)| *region != OPEN) {
            sums[region as usize] += v[node];
        }
        sums
    }

    /// Number of unknowns of a closed region, pockets among them.
    pub(super) fn unknowns(&self, region: usize) -> usize {
        self.unknowns[region]
    }

    /// Add a constant to `v` over each closed region.
    pub(super) fn raise(&self, constants: &[f64], v: &mut [f64]) {
        for (run, region) in self.runs.iter().zip(&self.region).filter(|(_, region)| **region != OPEN) {
            v[run.start..run.end].iter_mut().for_each(|v| *v += constants[*region as usize]);
        }
        for &(node, region) in self.nodes.iter().filter(|(_, region)| *region != OPEN) {
            v[node] += constants[region as usize];
        }
    }

    /// Whether the next solves are for L alone, as if there were no bodies.
    pub fn leave_out_bodies(&mut self, without_bodies: bool) {
        self.without_bodies = without_bodies;
    }

    /// The closed region that a cell belongs to, if it is an unknown of one.
    pub fn region_of(&self, cell: usize) -> Option<usize> {
        let of_pocket = self.nodes.iter().find(|(node, _)| *node == cell).map(|(_, region)| *region);
        let of_run = || {
            let run = self.run_of(cell) as usize;
            // Between runs there are no unknowns.
            self.runs.get(run).filter(|run| run.start <= cell).map(|_| self.region[run])
        };
        of_pocket.or_else(of_run).filter(|region| *region != OPEN).map(|region| region as usize)
    }

    /// Sum of `v` over the cells of each closed region, pockets apart.
    pub fn totals(&self, v: &[f64]) -> Vec<f64> {
        let mut totals = vec![0.0; self.closed.len()];
        for (run, region) in self.runs.iter().zip(&self.region).filter(|(_, region)| **region != OPEN) {
            totals[*region as usize] += sum(&v[run.start..run.end]);
        }
        totals
    }

    /// Whether bodies tie closed regions together.
    pub fn are_tied(&self) -> bool {
        self.undetermined.is_some()
    }

    /// What is left of `sums` over the closed regions once bodies that tie them together have given way.
    pub fn unbalanced(&self, sums: &[f64]) -> Vec<f64> {
        let Some(vectors) = &self.undetermined else { return sums.to_vec() };
        let mut left = vec![0.0; sums.len()];
        for vector in vectors {
            let part: f64 = vector.iter().zip(sums).map(|(y, sum)| y * sum).sum();
            left.iter_mut().zip(vector).zip(&self.unknowns).for_each(|((left, y), n)| *left += part * y * *n as f64);
        }
        left
    }

    /// The closed regions, in storage order of their first cells.
    pub fn closed(&self) -> &[ClosedRegion] {
        &self.closed
    }

    /// Record what of `b` is incompatible, region by region; returns ‖b‖² over the unknowns without it.
    pub fn measure(&mut self, b: &[f64]) -> f64 {
        self.find_means(b);
        for (region, mean) in self.closed.iter_mut().zip(&self.means) {
            region.incompatible = mean * region.cells as f64;
        }
        for &(_, region) in self.nodes.iter().filter(|(_, region)| *region != OPEN) {
            self.closed[region as usize].incompatible += self.means[region as usize];
        }
        let Self { runs, partial, region, means, nodes, .. } = self;
        runs.par_iter().zip(region.par_iter()).zip(partial.par_iter_mut()).with_min_len(256).for_each(
            |((run, &region), sum)| {
                let b = &b[run.start..run.end];
                *sum = match means.get(region as usize) {
                    None => dot(b, b),
                    Some(mean) => b.iter().map(|b| (b - mean) * (b - mean)).sum(),
                };
            },
        );
        let of_node = |(node, region): &(usize, u32)| (b[*node] - means.get(*region as usize).unwrap_or(&0.0)).powi(2);
        partial.iter().sum::<f64>() + nodes.iter().map(of_node).sum::<f64>()
    }

    /// Subtract the mean over each closed region from `v`.
    pub fn remove_means(&mut self, v: &mut [f64]) {
        if self.closed.is_empty() {
            return;
        }
        self.find_means(v);
        let [nx, ny, _] = self.dims;
        v.par_chunks_mut(nx * ny).enumerate().for_each(|(k, v)| {
            for run in self.starts[k * ny]..self.starts[(k + 1) * ny] {
                if let Some(mean) = self.means.get(self.region[run] as usize) {
                    let Run { start, end, .. } = self.runs[run];
                    v[start - k * nx * ny..end - k * nx * ny].iter_mut().for_each(|v| *v -= mean);
                }
            }
        });
        for (node, region) in &self.nodes {
            if let Some(mean) = self.means.get(*region as usize) {
                v[*node] -= mean;
            }
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let runs = size_of::<Run>() * self.runs.capacity() + 8 * (self.starts.capacity() + self.partial.capacity());
        runs + 4 * (self.parent.capacity() + self.region.capacity())
    }

    /// Means of `v` over the closed regions.
    fn find_means(&mut self, v: &[f64]) {
        self.means.clear();
        if self.closed.is_empty() {
            return;
        }
        let Self { runs, partial, region, means, closed, nodes, unknowns, .. } = self;
        runs.par_iter()
            .zip(partial.par_iter_mut())
            .with_min_len(256)
            .for_each(|(run, s)| *s = sum(&v[run.start..run.end]));
        means.resize(closed.len(), 0.0);
        for (&region, sum) in region.iter().zip(partial).filter(|(region, _)| **region != OPEN) {
            means[region as usize] += *sum;
        }
        for &(node, region) in nodes.iter().filter(|(_, region)| *region != OPEN) {
            means[region as usize] += v[node];
        }
        match self.undetermined.as_ref().filter(|_| !self.without_bodies) {
            None => means.iter_mut().zip(unknowns).for_each(|(mean, unknowns)| *mean /= *unknowns as f64),
            Some(vectors) => {
                let sums = std::mem::replace(means, vec![0.0; closed.len()]);
                for vector in vectors {
                    let part: f64 = vector.iter().zip(&sums).map(|(y, sum)| y * sum).sum();
                    means.iter_mut().zip(vector).for_each(|(mean, y)| *mean += part * y);
                }
            }
        }
    }

    /// The run of a cell that is an unknown.
    fn run_of(&self, cell: usize) -> u32 {
        let row = cell / self.dims[0];
        let runs = &self.runs[self.starts[row]..self.starts[row + 1]];
        (self.starts[row] + runs.partition_point(|run| run.end <= cell)) as u32
    }

    /// Unite what is tied to the same pocket, and forget that these ties were taken for ties to a known pressure.
    fn unite_pockets(&mut self, pockets: &[Pocket], extra: &CellField) {
        if pockets.is_empty() {
            return;
        }
        self.runs.par_iter_mut().with_min_len(256).for_each(|run| {
            run.tied = run.tied && extra.data[run.start..run.end].iter().any(|&d| d > 0.0);
        });
        for pocket in pockets {
            for pair in pocket.cells.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|cell| self.run_of(cell as usize));
                unite(&mut self.parent, a, b);
            }
        }
    }

    /// Which regions pockets belong to.
    fn place_pockets(&mut self, pockets: &[Pocket]) {
        self.unknowns.clear();
        self.unknowns.extend(self.closed.iter().map(|region| region.cells));
        self.nodes.clear();
        for pocket in pockets {
            let region = pocket.cells.first().map_or(OPEN, |&cell| self.region[self.run_of(cell as usize) as usize]);
            self.nodes.push((pocket.node, region));
            if region != OPEN {
                self.unknowns[region as usize] += 1;
            }
        }
    }

    /// Unite runs of `row` with those of the row before it across `side` (0: y−, 2: z−).
    fn unite_rows(&mut self, plane: &Plane<Uniform, f64>, j: usize, (row, other): (usize, usize), side: usize) {
        let nx = self.dims[0];
        let (base, other_base) = (row * nx, other * nx);
        let (mut a, mut b) = (self.starts[row], self.starts[other]);
        let (a_end, b_end) = (self.starts[row + 1], self.starts[other + 1]);
        while a < a_end && b < b_end {
            let (ra, rb) = (self.runs[a], self.runs[b]);
            let (start, end) = ((ra.start - base).max(rb.start - other_base), (ra.end - base).min(rb.end - other_base));
            if start < end && open_between(plane, j, start, end, side) {
                unite(&mut self.parent, a as u32, b as u32);
            }
            if ra.end - base <= rb.end - other_base { a += 1 } else { b += 1 }
        }
    }

    /// From united runs to closed regions.
    fn collect(&mut self) {
        let n = self.runs.len();
        for run in 0..n {
            let root = find(&mut self.parent, run as u32) as usize;
            self.runs[root].tied |= self.runs[run].tied;
        }
        self.closed.clear();
        self.roots.clear();
        self.region.clear();
        self.partial.resize(n, 0.0);
        for run in 0..n as u32 {
            let root = find(&mut self.parent, run);
            let Run { start, end, .. } = self.runs[run as usize];
            if self.runs[root as usize].tied {
                self.region.push(OPEN);
                continue;
            }
            // A root is the first run of its region, so roots come up in rising order.
            if root == run {
                self.closed.push(ClosedRegion { first_cell: start, cells: 0, incompatible: 0.0 });
                self.roots.push(root);
            }
            let region = self.roots.partition_point(|&r| r < root);
            self.closed[region].cells += end - start;
            self.region.push(region as u32);
        }
    }
}

/// Sums over a region this much smaller than what was added up are zero: the body cannot change the region's volume. Not to
/// round-off, because cells all but full of solid are no unknowns, and their part of the surface is missing.
/// With 1e-9 that made the constant of closed boxes look determined.
pub const TIED: f64 = 1e-3;

/// A rigid body with fluid all around it ties a region if at least this part of what it takes from there it gives to others. What stays within a region is missing where
/// bodies touch: it cannot change the region's volume, and taken for a tie it made the preconditioner indefinite.
/// A choice: a piston gives all, a body that leans on another nothing.
const ELSEWHERE: f64 = 0.25;

/// A closed region of fewer cells is a crevice that the grid does not resolve: it must not hold a body fast.
/// A choice: four cells along each axis.
pub const LEAST_CHAMBER: usize = 64;

/// The same, the largest being 1.
fn unit_sized(mut pressed: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let largest = pressed.iter().flatten().fold(0.0_f64, |largest, push| largest.max(push.abs()));
    pressed.iter_mut().flatten().for_each(|push| *push = if largest > 0.0 { *push / largest } else { 0.0 });
    pressed
}

/// Constants y on the regions with Σ_k y_k `sums`_k = 0, orthonormal when every region counts with its `cells`.
fn null_space(mut sums: Vec<Vec<f64>>, cells: &[f64]) -> Vec<Vec<f64>> {
    let (regions, columns) = (sums.len(), sums[0].len());
    // Gauss–Jordan over the columns: regions that get a pivot follow from the others.
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    for n in 0..columns {
        let has_none = |region: &usize| !pivots.iter().any(|pivot| pivot.0 == *region);
        let Some(region) = (0..regions).filter(has_none).max_by(|&a, &b| sums[a][n].abs().total_cmp(&sums[b][n].abs()))
        else {
            break;
        };
        if sums[region][n].abs() <= TIED {
            continue;
        }
        pivots.push((region, n));
        let scale = 1.0 / sums[region][n];
        sums.iter_mut().for_each(|sum| sum[n] *= scale);
        for other in (0..columns).filter(|&other| other != n) {
            let part = sums[region][other];
            sums.iter_mut().for_each(|sum| sum[other] -= part * sum[n]);
        }
    }
    let mut vectors: Vec<Vec<f64>> = Vec::new();
    for chosen in (0..regions).filter(|region| !pivots.iter().any(|pivot| pivot.0 == *region)) {
        let mut y = vec![0.0; regions];
        y[chosen] = 1.0;
        pivots.iter().for_each(|&(region, n)| y[region] = -sums[chosen][n]);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).zip(cells).map(|((a, b), c)| a * b * c).sum::<f64>();
        for other in &vectors {
            let part = product(&y, other);
            y.iter_mut().zip(other).for_each(|(y, other)| *y -= part * other);
        }
        let length = product(&y, &y).sqrt();
        y.iter_mut().for_each(|y| *y /= length);
        vectors.push(y);
    }
    vectors
}

/// The runs of row j, whose first cell is `base`.
fn find_runs(plane: &Plane<Uniform, f64>, j: usize, base: usize, runs: &mut Vec<Run>) {
    let mut open: Option<Run> = None;
    let mut visit = |open: &mut Option<Run>, start: usize, end: usize, joined: bool, unknown: bool, tied: bool| {
        if !unknown || !joined {
            runs.extend(open.take());
        }
        if unknown {
            let run = open.get_or_insert(Run { start: base + start, end: base + start, tied: false });
            run.end = base + end;
            run.tied |= tied;
        }
    };
    for (cells, span) in plane.pieces(j) {
        let (start, end) = (span.start as usize, span.end as usize);
        match span.kind {
            Kind::Uniform(u) if u.x > 0.0 || u.is_void() => {
                let (is_first, is_last) = (cells.start == start, cells.end == end);
                let is_inner = cells.len() > usize::from(is_first) + usize::from(is_last);
                let tied = [is_first, is_inner, is_last].into_iter().zip(u.extra).any(|(has, d)| has && d > 0.0);
                let joined = if is_first { u.ends[0] } else { u.x } > 0.0;
                visit(&mut open, cells.start, cells.end, joined, !u.is_void(), tied);
            }
            Kind::Uniform(u) => {
                for i in cells {
                    let place = if i == start { 0 } else { 1 + usize::from(i + 1 == end) };
                    visit(&mut open, i, i + 1, i == start && u.ends[0] > 0.0, true, u.extra[place] > 0.0);
                }
            }
            Kind::Packed(_) => {
                let c = packed(plane, span);
                for (i, &diagonal) in c[6].iter().enumerate() {
                    let faces = total(&[c[0][i], c[1][i], c[2][i], c[3][i], c[4][i], c[5][i]]);
                    visit(&mut open, start + i, start + i + 1, c[0][i] > 0.0, diagonal > 0.0, diagonal > faces);
                }
            }
        }
    }
    runs.extend(open);
}

/// Whether any of the cells `start..end` of row j has an open face on `side`.
fn open_between(plane: &Plane<Uniform, f64>, j: usize, start: usize, end: usize, side: usize) -> bool {
    plane.pieces(j).any(|(cells, span)| {
        let (s, e) = (start.max(cells.start), end.min(cells.end));
        s < e
            && match span.kind {
                Kind::Uniform(u) => u.sides[side] > 0.0,
                Kind::Packed(_) => {
                    let first = span.start as usize;
                    packed(plane, span)[2 + side][s - first..e - first].iter().any(|&a| a > 0.0)
                }
            }
    })
}

fn find(parent: &mut [u32], mut a: u32) -> u32 {
    while parent[a as usize] != a {
        parent[a as usize] = parent[parent[a as usize] as usize];
        a = parent[a as usize];
    }
    a
}

fn unite(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parent, a), find(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Axis, CellField, FaceField, Grid};
    use crate::solve::Block;
    use glam::DVec3;

    /// A ring of cells around a closed-off middle one, all in one plane: one region of 8, and no single-cell region.
    #[test]
    fn runs_around_a_hole_are_one_region() {
        let grid = Grid::new([3, 3, 1], 1.0, DVec3::ZERO);
        let mut faces = FaceField::new(&grid, 1.0);
        for (axis, at) in [(Axis::X, [1, 1, 0]), (Axis::X, [2, 1, 0]), (Axis::Y, [1, 1, 0]), (Axis::Y, [1, 2, 0])] {
            faces[(axis, at)] = 0.0;
        }
        let mut extra = CellField::new(&grid, 0.0);
        let mut regions = Regions::default();
        regions.rebuild(&Laplacian::new(&faces, &extra).unwrap(), &[], &extra);
        assert_eq!(regions.closed(), [ClosedRegion { first_cell: 0, cells: 8, incompatible: 0.0 }]);

        let mut v = vec![1.0, 2.0, 3.0, 4.0, 50.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(regions.measure(&v), 42.0);
        assert_eq!(regions.closed()[0].incompatible, 36.0);
        regions.remove_means(&mut v);
        assert_eq!(v, [-3.5, -2.5, -1.5, -0.5, 50.0, 0.5, 1.5, 2.5, 3.5]);

        extra.data[7] = 1.0;
        regions.rebuild(&Laplacian::new(&faces, &extra).unwrap(), &[], &extra);
        assert!(regions.closed().is_empty());
    }

    /// Two columns of liquid that only a pocket of air connects are one region, and the pocket counts for its mean.
    #[test]
    fn pockets_connect_what_is_tied_to_them() {
        let grid = Grid::new([5, 2, 1], 1.0, DVec3::ZERO);
        let mut faces = FaceField::new(&grid, 1.0);
        (0..2).for_each(|j| [2, 3].iter().for_each(|&i| faces[(Axis::X, [i, j, 0])] = 0.0));
        faces[(Axis::Y, [2, 1, 0])] = 0.0;
        let mut atmosphere = CellField::new(&grid, 0.0);
        let pocket = Pocket { node: 2, cells: vec![1, 3], weights: vec![2.0, 2.0] };
        let mut extra = atmosphere.clone();
        pocket.ties().for_each(|(cell, weight)| extra.data[cell] += weight);
        let laplacian = Laplacian::new(&faces, &extra).unwrap();
        let mut regions = Regions::default();
        regions.rebuild(&laplacian, std::slice::from_ref(&pocket), &atmosphere);
        assert_eq!(regions.closed(), [ClosedRegion { first_cell: 0, cells: 8, incompatible: 0.0 }]);

        let mut v = vec![1.0, 1.0, 10.0, 1.0, 1.0, 1.0, 1.0, 70.0, 1.0, 1.0];
        assert_eq!(regions.measure(&v), 72.0);
        assert_eq!(regions.closed()[0].incompatible, 18.0);
        regions.remove_means(&mut v);
        assert_eq!(v, [-1.0, -1.0, 8.0, -1.0, -1.0, -1.0, -1.0, 70.0, -1.0, -1.0]);

        atmosphere.data[9] = 1.0;
        extra.data[9] = 1.0;
        regions.rebuild(&Laplacian::new(&faces, &extra).unwrap(), &[pocket], &atmosphere);
        assert!(regions.closed().is_empty());
    }

    /// A piston between two closed chambers, of 64 and 128 cells: only the same pressure on both sides moves nothing. A second one
    /// between the second chamber and air leaves nothing undetermined. (Smaller chambers are crevices, which tie nothing.)
    #[test]
    fn pistons_tie_regions_together() {
        let grid = Grid::new([192, 1, 1], 1.0, DVec3::ZERO);
        let mut faces = FaceField::new(&grid, 1.0);
        faces[(Axis::X, [64, 0, 0])] = 0.0;
        let extra = CellField::new(&grid, 0.0);
        let laplacian = Laplacian::new(&faces, &extra).unwrap();
        let mut regions = Regions::default();
        let piston = |cells: Vec<u32>, values: Vec<f64>| Block { cells, columns: 1, values, is_immersed: true };
        // What is left of 3 in the first chamber: in the first and in the second.
        let mut left = |blocks: Vec<Block>| {
            regions.rebuild(&laplacian, &[], &extra);
            regions.couple(&mut LowRank { blocks }, &[]);
            let mut v: Vec<f64> = (0..192).map(|i| if i < 64 { 3.0 } else { 0.0 }).collect();
            regions.remove_means(&mut v);
            [v[5], v[100]]
        };
        // Means are sums over up to 192 cells.
        let close = |a: [f64; 2], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13);
        assert!(close(left(vec![piston(vec![0, 64], vec![1.0, -1.0])]), [2.0, -1.0]));
        // Twice the area on the other side: half the pressure balances.
        assert!(close(left(vec![piston(vec![0, 64], vec![1.0, -2.0])]), [1.0, -1.0]));
        let both =
            vec![piston(vec![0, 64], vec![1.0, -1.0]), Block { is_immersed: false, ..piston(vec![191], vec![0.1]) }];
        assert!(close(left(both), [3.0, 0.0]));
        // A body inside a chamber, which it cannot change.
        assert!(close(left(vec![piston(vec![64, 65], vec![7.0, -7.0])]), [0.0; 2]));
        // Nor can one whose other end leans on something.
        assert!(close(left(vec![piston(vec![64, 65], vec![7.0, -2.0])]), [0.0; 2]));
    }
}
