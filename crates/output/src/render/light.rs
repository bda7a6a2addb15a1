//! How much light reaches each cell.
//!
//! For parallel light, the optical depth τ from a cell to the light obeys a recurrence from layer to layer across the
//! axis that the light follows most: τ(c) = τ(c') + ½(σ(c) + σ(c'))·h, with c' the point one layer nearer to
//! the light and its values interpolated between four cells. One sweep over the grid serves all cells. The interpolation spreads
//! shadow edges a little with distance, as a light of some size does.
//!
//! Solids stand in as cells of high extinction, weighted by the part of the cell they fill.

use super::bvh::Solids;
use super::camera::Ray;
use super::settings::RenderSettings;
use super::volume::Lattice;
use glam::{Vec3A, Vec4};
use rayon::prelude::*;

/// Cells beyond which light is computed on a coarser lattice.
const MAX_CELLS: usize = 3_000_000;
/// Optical depth of a cell filled by a solid.
const SOLID_DEPTH: f32 = 4.0;
/// Extinction as it appears to light that has been scattered once or more, and how strong that light is \[W13\].
const SOFTENED: [(f32, f32); 2] = [(0.42, 0.45), (0.14, 0.2)];

/// Light in the domain.
#[derive(Debug)]
pub struct LightField {
    pub lattice: Lattice,
    /// For smoke: key light, key light scattered several times, rim light, sky; each a fraction of what arrives outside.
    pub inside: Vec<Vec4>,
    /// For solids, which know themselves what other solids hide: the smoke's optical depth towards the key light.
    pub key_depth: Vec<f32>,
}

impl LightField {
    /// `extinction` is per cell of `lattice`, 1/m.
    pub fn new(lattice: Lattice, extinction: Vec<f32>, solids: &Solids, settings: &RenderSettings) -> Self {
        let (mut lattice, mut extinction) = (lattice, extinction);
        while lattice.dims.iter().product::<usize>() > MAX_CELLS {
            extinction = lattice.halve(&extinction);
            lattice = lattice.halved();
        }
        let blocked = fill_by_solids(&lattice, solids);
        let coarse = lattice.halved();
        let (coarse_extinction, coarse_blocked) = (lattice.halve(&extinction), lattice.halve(&blocked));

        // All sweeps are independent of each other: the three lights on the fine lattice, the sky on the coarse one.
        let [key, rim] = [settings.key, settings.rim].map(|l| l.direction.as_vec3a().normalize_or(Vec3A::Y));
        let unblocked = vec![0.0; if solids.is_empty() { 0 } else { blocked.len() }];
        let mut jobs = vec![(key, &lattice, &extinction, &blocked), (rim, &lattice, &extinction, &blocked)];
        if !solids.is_empty() {
            jobs.push((key, &lattice, &extinction, &unblocked));
        }
        let lights = jobs.len();
        jobs.extend(sky_directions().map(|d| (d, &coarse, &coarse_extinction, &coarse_blocked)));
        let mut depths: Vec<Vec<f32>> = jobs.into_par_iter().map(|(d, l, e, b)| sweep(l, e, b, d)).collect();

        // The sky is the mean over directions; light that is scattered on its way makes it reach deeper.
        let sky_depths = depths.split_off(lights);
        let sky = coarse.fill(|at| {
            let n = coarse.index(at);
            sky_depths.iter().map(|d| passed(0.8 * d[n])).sum::<f32>() / sky_depths.len() as f32
        });
        // Beyond the border the sky is open: repeat the outermost value there rather than darkness.
        let sky = extend_border(&coarse, sky);
        let inside = lattice.fill(|at| {
            let n = lattice.index(at);
            let key = depths[0][n];
            let softened = SOFTENED.iter().map(|&(depth, strength)| strength * passed(depth * key)).sum();
            Vec4::new(passed(key), softened, passed(depths[1][n]), coarse.sample(&sky, lattice.centre(at)))
        });
        let inside = extend_border(&lattice, inside);
        let key_depth = extend_border(&lattice, depths.swap_remove(if lights == 3 { 2 } else { 0 }));
        Self { lattice, inside, key_depth }
    }

    /// Part of the key light that the smoke lets through to a point inside or outside the domain.
    pub fn key_through_smoke(&self, point: Vec3A, toward_light: Vec3A) -> f32 {
        let ray = Ray { origin: point, direction: toward_light };
        match ray.clip(self.lattice.origin, self.lattice.upper()) {
            Some((enter, _)) => (-self.lattice.sample(&self.key_depth, ray.at(enter))).exp(),
            None => 1.0,
        }
    }

    /// Part of the sky that the smoke lets through to a point, fading to all of it away from the domain.
    pub fn sky_through_smoke(&self, point: Vec3A) -> f32 {
        let inside = point.clamp(self.lattice.origin, self.lattice.upper());
        let away = (point - inside).length() / (0.15 * (self.lattice.upper() - self.lattice.origin).max_element());
        let seen = self.lattice.sample(&self.inside, inside).w;
        seen + (1.0 - seen) * (away * away).min(1.0)
    }
}

/// What is left of light after an optical depth; most cells have none before them.
fn passed(depth: f32) -> f32 {
    if depth == 0.0 { 1.0 } else { (-depth).exp() }
}

/// Directions over the upper half of the sky, the zenith and four between the compass points.
fn sky_directions() -> [Vec3A; 6] {
    std::array::from_fn(|n| match n {
        0 => Vec3A::new(0.02, 1.0, 0.03),
        _ => {
            let angle = std::f32::consts::TAU * (n as f32 - 0.6) / 5.0;
            Vec3A::new(0.8 * angle.cos(), 0.62, 0.8 * angle.sin())
        }
    })
    .map(Vec3A::normalize)
}

/// Optical depth from the centre of each cell towards `direction`.
fn sweep(lattice: &Lattice, extinction: &[f32], blocked: &[f32], direction: Vec3A) -> Vec<f32> {
    let size = direction.abs();
    let main = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
    // Rows run along the axis of smaller stride, for the sake of the cache.
    let [row, other] = match main {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    };
    let step = direction / size[main];
    let length = lattice.cell * step.length();
    let strides = lattice.strides();

    // The point one layer nearer to the light lies between four cells, the same for every cell.
    let low = [row, other].map(|a| step[a].floor().clamp(-1.0, 0.0));
    let f: [f32; 2] = [step[row] - low[0], step[other] - low[1]];
    let forward = step[main] > 0.0;
    let offset = |axis: usize, by: f32| by as isize * strides[axis] as isize;
    let first = (if forward { 1 } else { -1 }) * strides[main] as isize + offset(row, low[0]) + offset(other, low[1]);
    let corners = [
        (first, (1.0 - f[0]) * (1.0 - f[1])),
        (first + strides[row] as isize, f[0] * (1.0 - f[1])),
        (first + strides[other] as isize, (1.0 - f[0]) * f[1]),
        (first + (strides[row] + strides[other]) as isize, f[0] * f[1]),
    ];

    let mut depth = vec![0.0; lattice.len()];
    let count = lattice.dims[main];
    // Which rows of the layer before have met anything, border included. Where none did and there is nothing, depth stays 0.
    let mut met = vec![false; lattice.dims[other] + 2];
    let mut meets = met.clone();
    for layer in 0..count {
        let layer = if forward { count - 1 - layer } else { layer };
        for b in 0..lattice.dims[other] {
            let start = (layer + 1) * strides[main] + (b + 1) * strides[other] + strides[row];
            let before = (b as isize + 1 + low[1] as isize) as usize;
            let is_here = |at: usize| extinction[at] != 0.0 || blocked[at] != 0.0;
            let is_met = met[before] || met[before + 1];
            meets[b + 1] = is_met || (0..lattice.dims[row]).any(|a| is_here(start + a * strides[row]));
            if !meets[b + 1] {
                continue;
            }
            for a in 0..lattice.dims[row] {
                let at = start + a * strides[row];
                let mut sum = 0.5 * length * extinction[at];
                for (offset, weight) in corners {
                    let n = (at as isize + offset) as usize;
                    sum += weight * (depth[n] + 0.5 * length * extinction[n] + SOLID_DEPTH * blocked[n]);
                }
                depth[at] = sum;
            }
        }
        std::mem::swap(&mut met, &mut meets);
    }
    depth
}

/// The part of each cell inside solids, found along rays in x through the cells' centres.
fn fill_by_solids(lattice: &Lattice, solids: &Solids) -> Vec<f32> {
    let mut filled = vec![0.0; lattice.len()];
    if solids.is_empty() {
        return filled;
    }
    let [_, sy, sz] = lattice.strides();
    let layers = filled.par_chunks_mut(sz).enumerate().skip(1).take(lattice.dims[2]);
    layers.for_each(|(k, layer)| {
        for j in 0..lattice.dims[1] {
            let row = &mut layer[(j + 1) * sy + 1..][..lattice.dims[0]];
            let origin = lattice.centre([0, j, k - 1]) - Vec3A::X * (0.5 * lattice.cell);
            let width = lattice.cell * lattice.dims[0] as f32;
            let ray = Ray { origin, direction: Vec3A::X };
            for (from, to) in solids.stretches_inside(&ray, width, 1e-3 * lattice.cell) {
                fill_stretch(row, from / lattice.cell, to / lattice.cell);
            }
        }
    });
    filled
}

/// Add the covered part of each cell between two places, given in cells.
pub fn fill_stretch(row: &mut [f32], from: f32, to: f32) {
    for (i, cell) in row.iter_mut().enumerate().skip(from as usize) {
        let part = to.min(i as f32 + 1.0) - from.max(i as f32);
        if part <= 0.0 {
            break;
        }
        *cell = (*cell + part).min(1.0);
    }
}

/// Copy the outermost cells into the border.
fn extend_border<T: Copy>(lattice: &Lattice, mut values: Vec<T>) -> Vec<T> {
    let strides = lattice.strides();
    let full = lattice.dims.map(|n| n + 2);
    for axis in 0..3 {
        let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
        let inward = strides[axis];
        let last = (full[axis] - 1) * strides[axis];
        for m in 0..full[a] {
            for n in 0..full[b] {
                let at = m * strides[a] + n * strides[b];
                values[at] = values[at + inward];
                values[at + last] = values[at + last - inward];
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice() -> Lattice {
        Lattice { dims: [16, 20, 12], cell: 0.25, origin: Vec3A::ZERO }
    }

    /// In uniform smoke, τ is extinction times the distance to where the light enters; here through the top, in cells
    /// that the sides do not reach.
    #[test]
    fn uniform_smoke_dims_with_depth() {
        let lattice = lattice();
        let extinction = lattice.fill(|_| 2.0);
        let none = vec![0.0; lattice.len()];
        let direction = Vec3A::new(0.3, 1.0, -0.2).normalize();
        let depth = sweep(&lattice, &extinction, &none, direction);
        for j in 15..20 {
            // From the cell's centre to the centre of the padding above, whose extinction is zero.
            let exact = 2.0 * 0.25 * (20 - j) as f32 / direction.y - 0.25 / direction.y;
            let found = depth[lattice.index([8, j, 6])];
            assert!((found - exact).abs() < 1e-4, "{j}: {found} {exact}");
        }
    }

    #[test]
    fn sweeps_agree_in_all_six_directions() {
        let lattice = Lattice { dims: [9; 3], cell: 1.0, origin: Vec3A::ZERO };
        let mut extinction = lattice.fill(|_| 0.0);
        extinction[lattice.index([4; 3])] = 1.0;
        let none = vec![0.0; lattice.len()];
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                let mut direction = Vec3A::ZERO;
                direction[axis] = sign;
                let depth = sweep(&lattice, &extinction, &none, direction);
                let mut at = [4; 3];
                at[axis] = if sign > 0.0 { 1 } else { 7 };
                assert_eq!(depth[lattice.index(at)], 1.0, "axis {axis} sign {sign}");
                at[axis] = if sign > 0.0 { 7 } else { 1 };
                assert_eq!(depth[lattice.index(at)], 0.0);
            }
        }
    }

    #[test]
    fn a_stretch_fills_the_cells_it_covers() {
        let mut row = [0.0; 5];
        fill_stretch(&mut row, 0.5, 2.25);
        assert_eq!(row, [0.5, 1.0, 0.25, 0.0, 0.0]);
    }
}
