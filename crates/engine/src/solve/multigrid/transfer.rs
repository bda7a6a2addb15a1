//! Between levels: linear interpolation of corrections, and its transpose for residuals.
//!
//! The children of a coarse cell sit a quarter of a coarse cell off its middle, so a fine value is
//!
//! ```text
//! e_fine = e + ¼ Σ_axis (e_nb − e)          nb: the coarse neighbour on the child's side of each axis
//! ```
//!
//! which is exact for linear fields and needs four coarse values instead of the eight of trilinear interpolation
//! [Khalil & Wesseling 1992]. Where the face towards nb is closed, or weak beside the other faces of the cell, the term is left
//! out: there is no gradient across a wall, and the value of a sliver that hangs on by a thread is no guide to its
//! neighbours (without this rule, cut cells cost up to ten times the iterations).
//! The transpose needs, per coarse cell, the sum of its children and their three differences (upper minus lower half along
//! each axis), so restriction has a local part, fused into the smoother, and a small one on the coarse grid.

use super::super::real::Real;
use super::super::stencil::Network;
use rayon::prelude::*;

/// Sums and differences along x, y, z of the children of every coarse cell.
pub(super) type BlockMoments<T> = [Vec<T>; 4];

/// A face whose conductance is below this share of its cell's largest counts as closed to interpolation.
/// Between 0.2 and 0.6 iterations are the same, below 0.05 they grow (docs/pressure-solver.md, *What was tried*).
const WEAK: f64 = 0.25;

/// Through which faces the children of each cell may see the neighbour: bits 2·axis (lower) and 2·axis + 1 (upper).
pub(super) fn open_faces(network: &Network, zeros: &[f64], out: &mut [u8]) {
    let [nx, ny, _] = network.dims;
    out.par_chunks_mut(nx * ny).enumerate().for_each(|(k, plane)| {
        for (j, out) in plane.chunks_exact_mut(nx).enumerate() {
            let row = network.row(j, k, zeros);
            for (i, out) in out.iter_mut().enumerate() {
                let faces = row.faces(i);
                let enough = WEAK * faces.iter().fold(0.0_f64, |a, b| a.max(*b));
                *out = faces.iter().enumerate().map(|(f, &a)| u8::from(a > enough) << f).sum();
            }
        }
    });
}

/// Add a row of fine residuals (one colour; the other has none) to the moments of its coarse row. `parity`: the low bits of i, j, k.
pub(super) fn add_row<T: Real>(residual: &[T], parity: [usize; 3], moments: [&mut [T]; 4]) {
    let n = residual.len();
    let [sum, x, y, z] = moments.map(|m| &mut m[..n]);
    let sign = parity.map(|p| T::of(if p == 1 { 1.0 } else { -1.0 }));
    if parity[1] == 0 && parity[2] == 0 {
        for m in 0..n {
            let r = residual[m];
            (sum[m], x[m], y[m], z[m]) = (r, sign[0] * r, sign[1] * r, sign[2] * r);
        }
    } else {
        for m in 0..n {
            let r = residual[m];
            sum[m] += r;
            x[m] += sign[0] * r;
            y[m] += sign[1] * r;
            z[m] += sign[2] * r;
        }
    }
}

/// The coarse right-hand side from the moments: the transpose of [`interpolate`].
pub(super) fn restrict<T: Real>(dims: [usize; 3], moments: &BlockMoments<T>, open: &[u8], rhs: &mut [T]) {
    let [nx, ny, nz] = dims;
    rhs.par_chunks_mut(nx * ny).enumerate().with_min_len((8192 / (nx * ny)).max(1)).for_each(|(k, plane)| {
        for (j, out) in plane.chunks_exact_mut(nx).enumerate() {
            let base = nx * (j + ny * k);
            let halves = |start: usize, n: usize, axis: usize| Halves {
                sum: &moments[0][start..start + n],
                difference: &moments[1 + axis][start..start + n],
                open: &open[start..start + n],
            };
            out.copy_from_slice(&moments[0][base..base + nx]);
            let n = nx - 1;
            exchange(&halves(base, n, 0), &halves(base + 1, n, 0), 0, Half::Lower, &mut out[1..]);
            exchange(&halves(base + 1, n, 0), &halves(base, n, 0), 0, Half::Upper, &mut out[..n]);
            for (axis, index, count, stride) in [(1, j, ny, nx), (2, k, nz, nx * ny)] {
                let own = halves(base, nx, axis);
                if index > 0 {
                    exchange(&halves(base - stride, nx, axis), &own, axis, Half::Lower, out);
                }
                if index + 1 < count {
                    exchange(&halves(base + stride, nx, axis), &own, axis, Half::Upper, out);
                }
            }
        }
    });
}

/// Sums of the children of a row of cells, and upper minus lower half along one axis.
struct Halves<'a, T> {
    sum: &'a [T],
    difference: &'a [T],
    open: &'a [u8],
}

/// On which side of a cell its neighbour is.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Lower,
    Upper,
}

/// A quarter of what the neighbour's near children see of this cell comes in, a quarter of what its own near children see of the
/// neighbour goes out. Not inlined, so that `out` is known to overlap nothing and the loop is vectorised.
#[inline(never)]
fn exchange<T: Real>(other: &Halves<T>, own: &Halves<T>, axis: usize, side: Half, out: &mut [T]) {
    let n = out.len();
    let (other_sum, other_difference, other_open) = (&other.sum[..n], &other.difference[..n], &other.open[..n]);
    let (sum, difference, open) = (&own.sum[..n], &own.difference[..n], &own.open[..n]);
    let (toward, back, sign) = match side {
        Half::Lower => (2 * axis, 2 * axis + 1, T::of(1.0)),
        Half::Upper => (2 * axis + 1, 2 * axis, T::of(-1.0)),
    };
    // Each half is (sum ± difference) ÷ 2.
    let gate = |open: u8, face: usize| if open >> face & 1 == 1 { T::of(0.125) } else { T::of(0.0) };
    for i in 0..n {
        let comes = other_sum[i] + sign * other_difference[i];
        let goes = sum[i] - sign * difference[i];
        out[i] += gate(other_open[i], back) * comes - gate(open[i], toward) * goes;
    }
}

/// Interpolated coarse values `x` at the cells of one colour of fine row (j, k); `parity` as in `sweep`.
pub(super) fn interpolate<T: Real>(
    dims: [usize; 3],
    x: &[T],
    open: &[u8],
    (j, k): (usize, usize),
    parity: usize,
    out: &mut [T],
) {
    let [nx, ny, nz] = dims;
    let (cj, ck) = (j / 2, k / 2);
    let row = |j: usize, k: usize| &x[nx * (j + ny * k)..][..nx];
    let own = row(cj, ck);
    let open = &open[nx * (cj + ny * ck)..][..nx];
    // Where there is no neighbour the face is closed, and any row will do.
    let across =
        |index: usize, c: usize, n: usize| if index % 2 == 1 { (c + 1).min(n - 1) } else { c.saturating_sub(1) };
    let (y, z) = (row(across(j, cj, ny), ck), row(cj, across(k, ck, nz)));
    let faces = [parity as u32, 2 + (j % 2) as u32, 4 + (k % 2) as u32];
    let gate = |open: u8, face: u32| if open >> face & 1 == 1 { T::of(0.25) } else { T::of(0.0) };
    let out = &mut out[..nx];
    for m in 0..nx {
        let e = own[m];
        out[m] = e + gate(open[m], faces[1]) * (y[m] - e) + gate(open[m], faces[2]) * (z[m] - e);
    }
    if parity == 1 {
        for m in 0..nx - 1 {
            out[m] += gate(open[m], faces[0]) * (own[m + 1] - own[m]);
        }
    } else {
        for m in 1..nx {
            out[m] += gate(open[m], faces[0]) * (own[m - 1] - own[m]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ⟨P e, r⟩ = ⟨e, Pᵀ r⟩ with any set of open faces, on a grid with an odd last cell.
    #[test]
    fn restriction_is_the_transpose_of_interpolation() {
        let (fine, coarse) = ([10, 7, 6], [5, 4, 3]);
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / (1u64 << 31) as f64 - 0.5
        };
        let n = coarse.iter().product();
        let e: Vec<f64> = (0..n).map(|_| random()).collect();
        // Outer faces are closed, inner ones open by chance.
        let open: Vec<u8> = (0..n)
            .map(|c| {
                let at = [c % 5, c / 5 % 4, c / 20];
                let inner = |f: usize| if f.is_multiple_of(2) { at[f / 2] > 0 } else { at[f / 2] + 1 < coarse[f / 2] };
                (0..6).map(|f| u8::from(inner(f) && random() > -0.3) << f).sum()
            })
            .collect();
        let mut moments: BlockMoments<f64> = std::array::from_fn(|_| vec![0.0; n]);
        let (mut row, mut product) = (vec![0.0; 5], 0.0);
        for k in 0..fine[2] {
            for j in 0..fine[1] {
                let parity = (j + k + 1) % 2;
                let r: Vec<f64> = (0..5).map(|_| random()).collect();
                interpolate(coarse, &e, &open, (j, k), parity, &mut row);
                product += r.iter().zip(&row).map(|(r, e)| r * e).sum::<f64>();
                let at = 5 * (j / 2 + 4 * (k / 2));
                add_row(&r, [parity, j % 2, k % 2], moments.each_mut().map(|m| &mut m[at..at + 5]));
            }
        }
        let mut rhs = vec![0.0; n];
        restrict(coarse, &moments, &open, &mut rhs);
        let transposed: f64 = rhs.iter().zip(&e).map(|(r, e)| r * e).sum();
        assert!((product - transposed).abs() < 1e-13, "{product} {transposed}");
    }

    /// Linear fields are interpolated exactly away from walls.
    #[test]
    fn interpolation_is_exact_for_linear_fields() {
        let coarse = [5, 5, 5];
        let linear = |x: f64, y: f64, z: f64| 1.0 + 2.0 * x - 3.0 * y + 0.5 * z;
        let e: Vec<f64> = (0..125).map(|c| linear((c % 5) as f64, (c / 5 % 5) as f64, (c / 25) as f64)).collect();
        let mut row = vec![0.0; 5];
        for (j, k, parity) in [(4, 4, 0), (5, 4, 1), (4, 5, 1), (5, 5, 0)] {
            interpolate(coarse, &e, &[63; 125], (j, k), parity, &mut row);
            let place = |i: usize| (i as f64 - 0.5) / 2.0;
            for (m, value) in row.iter().enumerate().take(4).skip(1) {
                assert!((value - linear(place(2 * m + parity), place(j), place(k))).abs() < 1e-14);
            }
        }
    }
}
