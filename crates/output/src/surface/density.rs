//! How much liquid is around each point of a lattice twice as fine as the simulation's grid.
//!
//! Particles are spread to the eight lattice points around them and the result is blurred with binomial weights: together a
//! kernel close to a Gaussian, at a cost that does not depend on its width. The sides of the box mirror everything, so density does
//! not fall off towards them. Solids have no mirror; there the density is divided by what the same blur makes of the open
//! volume, so that liquid reaches into a solid as far as it does on the other side of a mirror, and meets what wets the other
//! face of a thin wall in the wall's middle. Spray is so continued up to the solid's face only: a drop that sits on it is a bead, not a stain within.

use bathtub_engine::grid::{Axis, CellField, Grid};
use glam::DVec3;
use rayon::prelude::*;

/// Lattice spacings per cell.
pub const FINER: usize = 2;
/// Blur passes [1 2 1]/4 of the narrow kernel, which shows drops (standard deviation 0.41 cells), of that of films, which reaches from one of their particles to the
/// next (0.54 cells), and of the wide one (0.74 cells).
const NARROW_PASSES: usize = 1;
const FILM_PASSES: usize = 2;
const WIDE_PASSES: usize = 4;
/// Cells around the particles that the kernels may reach; the outermost lattice points stay empty.
const MARGIN: usize = 3;
/// Passes, with a whole cell between samples, from there to the bulk density (1.24 cells).
const BULK_PASSES: usize = 2;
/// Density of spray at its particles, when 1 is full and the surface is at 0.5: makes a lone particle a blob of its volume.
const DROP_DENSITY: f32 = 0.6;
/// The same in films.
const FILM_DENSITY: f32 = 0.64;
/// A particle is in a film where the kernel finds so many times what a lone one has of itself: the least and what is enough.
const TOGETHER: [f32; 2] = [2.0, 6.0];
/// That, for a share of 1, on the mean: ⅜ along each axis on a point of the lattice, 5⁄16 half-way between two.
const OWN_DENSITY: f32 = 0.04;
/// Open part of the space around the face of a plane solid: beyond, spray is not continued.
const AT_FACE: f32 = 0.5;
/// Particles where the bulk density is below the first are spray, those above the second are not. At the surface of a
/// large body it is 0.5, in a sheet one cell thick 0.31.
const SPRAY: [f32; 2] = [0.33, 0.44];
/// Where the blurred open volume is smaller, no liquid is near.
const DEEP_IN_SOLID: f32 = 0.02;

/// The density of the liquid, sampled at points `spacing` apart with one layer of zeros around them.
pub struct Density {
    /// Points along each axis, the layer of zeros included.
    pub dims: [usize; 3],
    /// Place of point (1, 1, 1), the first that is not padding, m.
    pub origin: DVec3,
    /// m.
    pub spacing: f64,
    /// x-fastest; 1 inside the liquid, 0 outside, 0.5 at the surface.
    pub values: Vec<f32>,
    /// The density blurred further and sampled once per cell: about 0.5 at the surface of a large
    /// body, much less around spray and thin sheets.
    pub bulk: Bulk,
}

/// See [`Density::bulk`]; the first sample lies at the density's `origin`.
pub struct Bulk {
    lattice: Lattice,
    values: Vec<f32>,
    origin: DVec3,
    spacing: f64,
}

impl Bulk {
    /// Interpolated value at a point of the lattice's box.
    pub fn at(&self, point: DVec3) -> f32 {
        let [x, y, z] = ((point - self.origin) / self.spacing).to_array().map(|c| c as f32);
        self.lattice.sample(&self.values, [x, y, z])
    }
}

impl Density {
    /// From particles of equal volume (m³); `open` is the part of each cell outside solids.
    /// None if there are no particles.
    pub fn new(positions: &[DVec3], particle_volume: f64, grid: &Grid, open: Option<&CellField>) -> Option<Self> {
        let spacing = grid.dx / FINER as f64;
        let (first_cell, lattice) = Lattice::around(positions, grid)?;
        let origin = grid.origin + grid.dx * DVec3::from(first_cell.map(|c| c as f64));
        let share = (particle_volume / spacing.powi(3)) as f32;
        let [narrow_open, wide_open] = match open {
            Some(open) => {
                let narrow = lattice.blurred(lattice.open(first_cell, open), NARROW_PASSES);
                let wide = lattice.blurred(narrow.clone(), WIDE_PASSES - NARROW_PASSES);
                [Some(narrow), Some(wide)]
            }
            None => [None, None],
        };

        let particles = Particles::sorted(&lattice, positions, origin, spacing);
        let sums = lattice.blurred(particles.spread(&lattice, share), NARROW_PASSES);
        let narrow = up_to_faces(sums.clone(), &narrow_open);
        let film = up_to_faces(lattice.blurred(sums.clone(), FILM_PASSES - NARROW_PASSES), &narrow_open);
        let wide = relative_to(lattice.blurred(sums, WIDE_PASSES - NARROW_PASSES), &wide_open);

        let coarse = lattice.every(FINER);
        let bulk = Bulk {
            values: coarse.blurred(lattice.thinned(&wide, FINER), BULK_PASSES),
            lattice: coarse,
            origin,
            spacing: grid.dx,
        };

        // Away from large bodies each particle is raised to the density that shows it. It finds itself there at least, wherever it is.
        let raised = |passes: usize, around: Vec<f32>, density: &(dyn Fn(f32) -> f32 + Sync)| {
            let spray = particles.reweighted(&lattice, |at| {
                let alone = 1.0 - smoothstep(SPRAY, coarse.sample(&bulk.values, at.map(|c| c / FINER as f32)));
                if alone == 0.0 {
                    return 0.0;
                }
                let here = lattice.sample(&around, at);
                alone * (density(here) / here).max(1.0)
            });
            drop(around);
            up_to_faces(lattice.blurred(spray.spread(&lattice, share), passes), &narrow_open)
        };
        let drops = raised(NARROW_PASSES, narrow, &|_| DROP_DENSITY);
        let together = |here: f32| smoothstep(TOGETHER, here / (OWN_DENSITY * share));
        let films = raised(FILM_PASSES, film, &|here| FILM_DENSITY * together(here));
        // A blur moves a curved surface inwards; taking off what a second blur would move once more undoes that.
        let twice = lattice.blurred(wide.clone(), WIDE_PASSES);
        let (dims, values) = lattice.padded(&wide, &twice, [&drops, &films]);
        Some(Self { dims, origin, spacing, values, bulk })
    }

    /// Place of a point, m; padding lies outside of the box.
    pub fn point(&self, at: [usize; 3]) -> DVec3 {
        self.origin + self.spacing * DVec3::from(at.map(|c| c as f64 - 1.0))
    }
}

/// 0 below the first edge, 1 above the second, smooth between.
pub fn smoothstep([low, high]: [f32; 2], x: f32) -> f32 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn relative_to(mut values: Vec<f32>, open: &Option<Vec<f32>>) -> Vec<f32> {
    if let Some(open) = open {
        let pairs = values.par_iter_mut().zip(open);
        pairs.for_each(|(v, &o)| *v = if o > DEEP_IN_SOLID { *v / o } else { 0.0 });
    }
    values
}

fn up_to_faces(mut values: Vec<f32>, open: &Option<Vec<f32>>) -> Vec<f32> {
    if let Some(open) = open {
        values.par_iter_mut().zip(open).for_each(|(v, &o)| *v /= o.max(AT_FACE));
    }
    values
}

/// Points on a box, x-fastest.
#[derive(Clone, Copy)]
struct Lattice {
    dims: [usize; 3],
}

impl Lattice {
    /// First cell and lattice of the part of the grid that the particles' kernels reach.
    fn around(positions: &[DVec3], grid: &Grid) -> Option<([usize; 3], Self)> {
        let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let chunks: Vec<(DVec3, DVec3)> = positions
            .par_chunks(1 << 14)
            .map(|few| few.iter().filter(|p| p.is_finite()).fold(empty, |(a, b), &p| (a.min(p), b.max(p))))
            .collect();
        let (low, high) = chunks.into_iter().fold(empty, |a, b| (a.0.min(b.0), a.1.max(b.1)));
        if low.x > high.x {
            return None;
        }
        let cell = |p: DVec3, axis: usize| {
            let c = (p[axis] - grid.origin[axis]) / grid.dx;
            (c.max(0.0) as usize).min(grid.dims[axis] - 1)
        };
        let first = std::array::from_fn(|a| cell(low, a).saturating_sub(MARGIN));
        let dims = std::array::from_fn(|a| {
            let end = (cell(high, a) + 1 + MARGIN).min(grid.dims[a]);
            FINER * (end - first[a]) + 1
        });
        Some((first, Self { dims }))
    }

    /// Every `step`-th point.
    fn every(&self, step: usize) -> Self {
        Self { dims: self.dims.map(|n| (n - 1) / step + 1) }
    }

    fn layer(&self) -> usize {
        self.dims[0] * self.dims[1]
    }

    fn thinned(&self, values: &[f32], step: usize) -> Vec<f32> {
        let [nx, ny, nz] = self.every(step).dims;
        let mut kept = Vec::with_capacity(nx * ny * nz);
        for k in 0..nz {
            for j in 0..ny {
                let row = &values[self.dims[0] * step * j + self.layer() * step * k..];
                kept.extend((0..nx).map(|i| row[step * i]));
            }
        }
        kept
    }

    /// The point below `at` (in spacings) along each axis, such that there is another beyond, and the rest.
    fn locate(&self, at: [f32; 3]) -> ([usize; 3], [f32; 3]) {
        let below: [usize; 3] = std::array::from_fn(|a| (at[a].max(0.0) as usize).min(self.dims[a] - 2));
        (below, std::array::from_fn(|a| (at[a] - below[a] as f32).clamp(0.0, 1.0)))
    }

    /// Trilinear interpolation.
    fn sample(&self, values: &[f32], at: [f32; 3]) -> f32 {
        let ([i, j, k], [fx, fy, fz]) = self.locate(at);
        let (row, layer) = (self.dims[0], self.layer());
        let first = i + row * j + layer * k;
        let along = |n: usize| values[n] + fx * (values[n + 1] - values[n]);
        let across = |n: usize| along(n) + fy * (along(n + row) - along(n));
        across(first) + fz * (across(first + layer) - across(first))
    }

    /// The part of the space around each point outside solids, from the parts of the cells.
    fn open(&self, first_cell: [usize; 3], open: &CellField) -> Vec<f32> {
        let mut values = vec![0.0; self.dims.iter().product()];
        values.par_chunks_mut(self.dims[0]).enumerate().for_each(|(row, values)| {
            let (j, k) = (row % self.dims[1], row / self.dims[1]);
            for (i, value) in values.iter_mut().enumerate() {
                // Cells whose centres are around the point; at the sides, the outermost twice.
                let mut sum = 0.0;
                let at = [i, j, k];
                for corner in 0..8 {
                    let mut weight = 1.0;
                    let cell = std::array::from_fn(|a| {
                        let place = first_cell[a] as f64 + at[a] as f64 / FINER as f64 - 0.5;
                        let below = place.floor();
                        let upper = corner >> a & 1;
                        weight *= if upper == 1 { place - below } else { 1.0 - (place - below) };
                        ((below + upper as f64).max(0.0) as usize).min(open.dims[a] - 1)
                    });
                    sum += weight * open[cell].clamp(0.0, 1.0);
                }
                *value = sum as f32;
            }
        });
        values
    }

    /// `passes` times [1 2 1]/4 along each axis, mirrored at the ends.
    fn blurred(&self, mut values: Vec<f32>, passes: usize) -> Vec<f32> {
        let weights = binomial(passes);
        let mut other = vec![0.0; values.len()];
        let [nx, ny, nz] = self.dims;
        let row_sum = |out: &mut [f32], rows: &dyn Fn(isize) -> usize, values: &[f32]| {
            out.fill(0.0);
            for (n, &w) in weights.iter().enumerate() {
                let row = &values[rows(n as isize - passes as isize)..][..nx];
                out.iter_mut().zip(row).for_each(|(o, v)| *o += w * v);
            }
        };
        // Along x and y, layer by layer.
        other.par_chunks_mut(self.layer()).zip(values.par_chunks(self.layer())).for_each_init(
            || (vec![0.0; self.layer()], vec![0.0; nx + 2 * passes]),
            |(swept, line), (out, layer)| {
                for (row, swept) in layer.chunks_exact(nx).zip(swept.chunks_exact_mut(nx)) {
                    for (n, value) in line.iter_mut().enumerate() {
                        *value = row[mirrored(n as isize - passes as isize, nx)];
                    }
                    swept.fill(0.0);
                    for (n, &w) in weights.iter().enumerate() {
                        swept.iter_mut().zip(&line[n..]).for_each(|(o, v)| *o += w * v);
                    }
                }
                for (j, out) in out.chunks_exact_mut(nx).enumerate() {
                    row_sum(out, &|d| nx * mirrored(j as isize + d, ny), swept);
                }
            },
        );
        // Along z.
        values.par_chunks_mut(self.layer()).enumerate().for_each(|(k, layer)| {
            for (j, out) in layer.chunks_exact_mut(nx).enumerate() {
                row_sum(out, &|d| nx * (j + ny * mirrored(k as isize + d, nz)), &other);
            }
        });
        values
    }

    /// The largest of 2 `once` − `twice` and each of `spray`, with a layer of zeros around.
    fn padded(&self, once: &[f32], twice: &[f32], spray: [&[f32]; 2]) -> ([usize; 3], Vec<f32>) {
        let dims = self.dims.map(|n| n + 2);
        let mut values = vec![0.0; dims.iter().product()];
        values.par_chunks_mut(dims[0] * dims[1]).enumerate().skip(1).take(self.dims[2]).for_each(|(k, layer)| {
            for j in 0..self.dims[1] {
                let from = self.dims[0] * j + self.layer() * (k - 1);
                let row = &mut layer[dims[0] * (j + 1) + 1..][..self.dims[0]];
                for (i, value) in row.iter_mut().enumerate() {
                    *value = (2.0 * once[from + i] - twice[from + i]).max(spray[0][from + i]).max(spray[1][from + i]);
                }
            }
        });
        (dims, values)
    }
}

/// An index, reflected at both ends of 0..n as often as needed.
fn mirrored(index: isize, n: usize) -> usize {
    let period = 2 * (n as isize - 1);
    let wrapped = index.rem_euclid(period);
    wrapped.min(period - wrapped) as usize
}

/// Row 2 n of Pascal's triangle, normalised.
fn binomial(passes: usize) -> Vec<f32> {
    let mut weights = vec![1.0];
    for _ in 0..2 * passes {
        let shifted = |n: usize| weights.get(n).copied().unwrap_or(0.0);
        weights = (0..=weights.len()).map(|n| 0.5 * (shifted(n) + if n > 0 { shifted(n - 1) } else { 0.0 })).collect();
    }
    weights
}

/// Particles in the order of the lattice's rows.
struct Particles {
    /// Place in spacings, and weight.
    at: Vec<[f32; 4]>,
    /// Where those between layer k and k + 1 start; one more entry than there are such gaps.
    layers: Vec<usize>,
}

impl Particles {
    fn sorted(lattice: &Lattice, positions: &[DVec3], origin: DVec3, spacing: f64) -> Self {
        let limit = DVec3::from(lattice.dims.map(|n| (n - 1) as f64));
        let places: Vec<[f32; 4]> = positions
            .par_iter()
            .filter(|p| p.is_finite())
            .map(|&p| {
                let [x, y, z] = ((p - origin) / spacing).clamp(DVec3::ZERO, limit).as_vec3().to_array();
                [x, y, z, 1.0]
            })
            .collect();
        let row = |&[x, y, z, _]: &[f32; 4]| {
            let ([_, j, k], _) = lattice.locate([x, y, z]);
            j + lattice.dims[1] * k
        };
        let mut next = vec![0; lattice.dims[1] * lattice.dims[2] + 1];
        places.iter().for_each(|p| next[row(p) + 1] += 1);
        (1..next.len()).for_each(|n| next[n] += next[n - 1]);
        let mut at = vec![[0.0; 4]; places.len()];
        for place in &places {
            let slot = &mut next[row(place)];
            at[*slot] = *place;
            *slot += 1;
        }
        Self { layers: layer_starts(lattice, &at), at }
    }

    /// The same particles with other weights, without those of weight 0.
    fn reweighted(&self, lattice: &Lattice, weight: impl Fn([f32; 3]) -> f32 + Sync) -> Self {
        let new = |&[x, y, z, _]: &[f32; 4]| [x, y, z, weight([x, y, z])];
        let at: Vec<[f32; 4]> = self.at.par_iter().map(new).filter(|p| p[3] > 0.0).collect();
        Self { layers: layer_starts(lattice, &at), at }
    }

    /// Sum at each point of the weights of the particles around, by trilinear shares; a whole particle on a point gives `share`.
    fn spread(&self, lattice: &Lattice, share: f32) -> Vec<f32> {
        let [nx, ny, nz] = lattice.dims;
        let mut values = vec![0.0; nx * ny * nz];
        values.par_chunks_mut(lattice.layer()).enumerate().for_each(|(k, layer)| {
            for gap in k.saturating_sub(1)..(k + 1).min(nz - 1) {
                for &[x, y, z, weight] in &self.at[self.layers[gap]..self.layers[gap + 1]] {
                    let ([i, j, _], [fx, fy, fz]) = lattice.locate([x, y, z]);
                    let w = weight * if gap == k { 1.0 - fz } else { fz };
                    let n = i + nx * j;
                    layer[n] += w * (1.0 - fx) * (1.0 - fy);
                    layer[n + 1] += w * fx * (1.0 - fy);
                    layer[n + nx] += w * (1.0 - fx) * fy;
                    layer[n + nx + 1] += w * fx * fy;
                }
            }
            // What mirrored particles add to the points on the sides equals what is there.
            let side = |at: usize, n: usize| if at == 0 || at == n - 1 { 2.0 } else { 1.0 };
            for (j, row) in layer.chunks_exact_mut(nx).enumerate() {
                let factor = share * side(j, ny) * side(k, nz);
                row.iter_mut().for_each(|v| *v *= factor);
                row[0] *= 2.0;
                row[nx - 1] *= 2.0;
            }
        });
        values
    }
}

fn layer_starts(lattice: &Lattice, at: &[[f32; 4]]) -> Vec<usize> {
    let gap = |p: &[f32; 4]| lattice.locate([p[0], p[1], p[2]]).0[Axis::Z.index()];
    (0..lattice.dims[2]).map(|k| at.partition_point(|p| gap(p) < k)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::marching::LEVEL;
    use super::*;

    #[test]
    fn blurring_keeps_constants_and_mirrors_at_the_ends() {
        let lattice = Lattice { dims: [5, 3, 4] };
        assert!(lattice.blurred(vec![2.0; 60], 4).iter().all(|v| (v - 2.0).abs() < 1e-6));
        assert_eq!(binomial(1), [0.25, 0.5, 0.25]);
        assert_eq!([-1, -3, 5, 6].map(|n| mirrored(n, 5)), [1, 3, 3, 2]);
    }

    /// Two particles along each axis of each cell fill the box with density 1 up to its sides.
    #[test]
    fn a_full_box_has_density_one_everywhere() {
        let grid = Grid::new([4, 5, 3], 0.1, DVec3::new(1.0, -2.0, 0.5));
        let mut positions = Vec::new();
        for n in 0..grid.cells() {
            for corner in 0..8 {
                let offset = DVec3::from([0, 1, 2].map(|a| if corner >> a & 1 == 1 { 0.25 } else { -0.25 }));
                positions.push(grid.cell_centre(grid.cell_at(n)) + grid.dx * offset);
            }
        }
        let density = Density::new(&positions, 1e-3 / 8.0, &grid, None).unwrap();
        assert_eq!(density.dims, [11, 13, 9]);
        for (n, &v) in density.values.iter().enumerate() {
            let at = [n % 11, n / 11 % 13, n / 143];
            let pad = (0..3).any(|a| at[a] == 0 || at[a] == density.dims[a] - 1);
            let expected = if pad { 0.0 } else { 1.0 };
            assert!((v - expected).abs() < 1e-4, "{at:?}: {v}");
        }
        assert!(Density::new(&[], 1.0, &grid, None).is_none());
    }

    /// A particle in a solid, farther from anything open than the narrow kernel reaches, would find nothing of itself if what is deep in solids were
    /// left out. The kernel takes what it is raised by to points that are open a little: infinity, and beside it what is no number.
    #[test]
    fn spray_inside_a_solid_stays_finite() {
        let grid = Grid::new([12; 3], 0.1, DVec3::ZERO);
        let mut open = CellField::new(&grid, 1.0);
        for n in 0..grid.cells() {
            if grid.cell_at(n)[0] < 6 {
                open.data[n] = 0.0;
            }
        }
        for depth in [1.0, 1.1, 1.25, 1.5, 1.6, 3.0] {
            let at = DVec3::new(0.6 - depth * grid.dx, 0.53, 0.6);
            let density = Density::new(&[at], 1e-3 / 8.0, &grid, Some(&open)).unwrap();
            // Raised to this where it is, it gives no lattice point more than a particle on that point would have: (½/⅜)³ as much.
            let most = DROP_DENSITY * (4.0f32 / 3.0).powi(3);
            let highest = density.values.iter().copied().fold(0.0, f32::max);
            assert!(density.values.iter().all(|v| v.is_finite()), "{depth} cells deep");
            assert!((LEVEL..=most).contains(&highest), "{depth} cells deep: {highest} of {most}");
        }
    }
}
