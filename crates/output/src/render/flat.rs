//! The picture of a two-dimensional frame, straight on.
//!
//! Smoke is drawn like ink: a colour map over its density, tinted by the sense in which the fluid turns and given a
//! slight relief by the slope of the density. Solids are cut through the middle of the grid and drawn with a
//! bevel and a soft shadow.

use super::WaterScene;
use super::bvh::Solids;
use super::camera::{Ray, fitted_size};
use super::colour::{linear, to_bytes};
use super::light::fill_stretch;
use super::material::finishes;
use super::settings::RenderSettings;
use super::water::WHITE;
use crate::frame::{Frame, SmokeFrame, Surface};
use crate::picture::Image;
use crate::surface::smoothstep;
use bathtub_engine::grid::{Axis, Grid};
use glam::Vec3A;
use rayon::prelude::*;

/// Lines per pixel in which the outline of solids is found.
const SUBROWS: usize = 4;

/// Draw a frame that is one cell thick across `flat`.
pub fn render(frame: &Frame, smoke: &SmokeFrame, flat: Axis, settings: &RenderSettings) -> Image {
    let plane = Plane::new(&frame.grid, flat);
    let [nx, ny] = plane.dims;
    let size = settings.size.unwrap_or_else(|| fitted_size(nx as f64 / ny as f64, settings.quality));
    let view = View::new(&plane, size);
    let ink = Ink::new(frame, smoke, &plane, settings);
    let solids = Cutout::new(&frame.grid, &frame.surfaces, &plane, &view, settings);

    let mut image = Image::new(size[0], size[1]);
    image.pixels.par_chunks_mut(3 * size[0] as usize).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let at = view.cell_of(x as f32 + 0.5, y as f32 + 0.5);
            let light = solids.over(ink.colour(at), x, y);
            pixel.copy_from_slice(&to_bytes(light * settings.exposure, x as u32, y as u32));
        }
    });
    image
}

/// Draw water that is one cell thick across `flat`: the deeper, the darker, with a line along its surface.
pub fn render_water(scene: &WaterScene, flat: Axis, settings: &RenderSettings) -> Image {
    let plane = Plane::new(scene.grid, flat);
    let [nx, ny] = plane.dims;
    let size = settings.size.unwrap_or_else(|| fitted_size(nx as f64 / ny as f64, settings.quality));
    let view = View::new(&plane, size);
    let solids = Cutout::new(scene.grid, scene.surfaces, &plane, &view, settings);
    let pool = Pool::new(scene, &plane, &view, &solids.cover, settings);

    let mut image = Image::new(size[0], size[1]);
    image.pixels.par_chunks_mut(3 * size[0] as usize).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let light = solids.over(pool.colour(x, y), x, y);
            pixel.copy_from_slice(&to_bytes(light * settings.exposure, x as u32, y as u32));
        }
    });
    image
}

/// The plane of the picture in the grid.
struct Plane {
    right: Axis,
    up: Axis,
    flat: Axis,
    /// Cells to the right and up.
    dims: [usize; 2],
}

impl Plane {
    fn new(grid: &Grid, flat: Axis) -> Self {
        let (right, up) = match flat {
            Axis::X => (Axis::Z, Axis::Y),
            Axis::Y => (Axis::X, Axis::Z),
            Axis::Z => (Axis::X, Axis::Y),
        };
        Self { right, up, flat, dims: [right, up].map(|a| grid.dims[a.index()]) }
    }

    /// One number per cell, row by row from below.
    fn gather(&self, value: impl Fn([usize; 3]) -> f32) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.dims[0] * self.dims[1]);
        for j in 0..self.dims[1] {
            for i in 0..self.dims[0] {
                let mut at = [0; 3];
                at[self.right.index()] = i;
                at[self.up.index()] = j;
                values.push(value(at));
            }
        }
        values
    }

    /// Value of a cell; outside, of the nearest.
    fn at(&self, values: &[f32], i: isize, j: isize) -> f32 {
        let [nx, ny] = self.dims.map(|n| n as isize - 1);
        values[i.clamp(0, nx) as usize + self.dims[0] * j.clamp(0, ny) as usize]
    }

    /// Smooth value (cubic B-spline) and its slope per cell, at a place in cells from the lower left corner.
    fn smooth(&self, values: &[f32], [x, y]: [f32; 2]) -> (f32, [f32; 2]) {
        let (x, y) = (x - 0.5, y - 0.5);
        let (i, j) = (x.floor(), y.floor());
        let (wx, dx) = bspline(x - i);
        let (wy, dy) = bspline(y - j);
        let (mut value, mut slope) = (0.0, [0.0; 2]);
        for b in 0..4 {
            for a in 0..4 {
                let v = self.at(values, i as isize + a as isize - 1, j as isize + b as isize - 1);
                value += wx[a] * wy[b] * v;
                slope[0] += dx[a] * wy[b] * v;
                slope[1] += wx[a] * dy[b] * v;
            }
        }
        (value, slope)
    }
}

/// Weights of four neighbours, and their derivatives, at `f` between the middle two.
fn bspline(f: f32) -> ([f32; 4], [f32; 4]) {
    let g = 1.0 - f;
    let weights = [g * g * g, 4.0 - 6.0 * f * f + 3.0 * f * f * f, 4.0 - 6.0 * g * g + 3.0 * g * g * g, f * f * f];
    let slopes = [-g * g, -4.0 * f + 3.0 * f * f, 4.0 * g - 3.0 * g * g, f * f];
    (weights.map(|w| w / 6.0), slopes.map(|s| s / 2.0))
}

/// Pixels ↔ cells: the domain fills the picture as far as its shape allows.
struct View {
    size: [u32; 2],
    /// Cells per pixel.
    scale: f32,
    middle: [f32; 2],
}

impl View {
    fn new(plane: &Plane, size: [u32; 2]) -> Self {
        let cells = plane.dims.map(|n| n as f32);
        let scale = (cells[0] / size[0] as f32).max(cells[1] / size[1] as f32);
        Self { size, scale, middle: cells.map(|c| 0.5 * c) }
    }

    /// Columns and rows of pixels that show the domain.
    fn shown(&self) -> [[f32; 2]; 2] {
        [0, 1].map(|a| [-1.0, 1.0].map(|sign| 0.5 * self.size[a] as f32 + sign * self.middle[a] / self.scale))
    }

    fn cell_of(&self, x: f32, y: f32) -> [f32; 2] {
        let [w, h] = self.size.map(|n| n as f32);
        [self.middle[0] + (x - 0.5 * w) * self.scale, self.middle[1] - (y - 0.5 * h) * self.scale]
    }
}

/// The smoke and the paper it is drawn on.
struct Ink<'a> {
    plane: &'a Plane,
    density: Vec<f32>,
    /// Vorticity, 1 where it is typical.
    turning: Vec<f32>,
    paper: [Vec3A; 2],
    /// Colours of little and of much smoke; of smoke turning left and right.
    thin: Vec3A,
    thick: Vec3A,
    warm: Vec3A,
    cool: Vec3A,
}

impl<'a> Ink<'a> {
    fn new(frame: &Frame, content: &SmokeFrame, plane: &'a Plane, settings: &RenderSettings) -> Self {
        let density = plane.gather(|at| content.density[at].max(0.0));
        let [u, v] = [plane.right, plane.up].map(|a| plane.gather(|at| frame.velocity[at][a.index()]));
        let mut turning = vec![0.0; u.len()];
        for (n, w) in turning.iter_mut().enumerate() {
            let (i, j) = ((n % plane.dims[0]) as isize, (n / plane.dims[0]) as isize);
            let across = |values: &[f32], di: isize, dj: isize| {
                0.5 * (plane.at(values, i + di, j + dj) - plane.at(values, i - di, j - dj))
            };
            // Velocities that were not kept read as zero: beyond them nothing is known to turn.
            let is_known = |di: isize, dj: isize| [&u, &v].map(|values| plane.at(values, i + di, j + dj)) != [0.0; 2];
            if [(1, 0), (-1, 0), (0, 1), (0, -1)].into_iter().all(|(di, dj)| is_known(di, dj)) {
                *w = across(&v, 1, 0) - across(&u, 0, 1);
            }
        }
        let typical = (turning.iter().map(|w| w * w).sum::<f32>() / turning.len() as f32).sqrt();
        turning.iter_mut().for_each(|w| *w /= (1.5 * typical).max(f32::MIN_POSITIVE));
        let smoke = linear(settings.smoke.colour);
        Self {
            plane,
            density,
            turning,
            paper: [linear([0.055, 0.075, 0.115]), linear([0.09, 0.115, 0.16])],
            thin: linear([0.16, 0.30, 0.46]),
            thick: smoke,
            warm: linear([1.0, 0.70, 0.38]),
            cool: linear([0.36, 0.70, 1.0]),
        }
    }

    fn colour(&self, at: [f32; 2]) -> Vec3A {
        let (density, slope) = self.plane.smooth(&self.density, at);
        let (turning, _) = self.plane.smooth(&self.turning, at);
        let amount = 1.0 - (-2.2 * density).exp();
        // Towards the tint as the fluid turns faster, never all the way.
        let turn = turning / (1.0 + turning.abs());
        let tint = if turn > 0.0 { self.warm } else { self.cool };
        let ink = self.thin.lerp(self.thick, amount).lerp(tint * (0.25 + 0.75 * amount), 0.75 * turn.abs());
        let relief = 1.0 + (1.6 * (slope[1] - slope[0])).clamp(-0.35, 0.35);
        let up = (at[1] / self.plane.dims[1] as f32).clamp(0.0, 1.0);
        let paper = self.paper[0].lerp(self.paper[1], up) + 0.02 * turn.abs() * tint;
        paper.lerp(1.15 * ink * relief, amount)
    }
}

/// The water and the air above it.
struct Pool {
    size: [usize; 2],
    /// Covered part of each pixel.
    cover: Vec<f32>,
    /// The same, slightly blurred: its slope is where the surface is.
    soft: Vec<f32>,
    /// Water above each pixel, domain sizes.
    depth: Vec<f32>,
    /// Columns and rows of pixels that show the domain.
    shown: [[f32; 2]; 2],
    air: [Vec3A; 2],
    shallow: Vec3A,
    deep: Vec3A,
    /// Width of the line along the surface, pixels, and its colour.
    line: f32,
    line_colour: Vec3A,
}

impl Pool {
    fn new(scene: &WaterScene, plane: &Plane, view: &View, solid: &[f32], settings: &RenderSettings) -> Self {
        let size = view.size.map(|n| n as usize);
        let [width, height] = size;
        // Off the middle, where rays would run along edges of the mesh.
        let mut cover =
            cover(&Solids::with_liquid([], (scene.water, 0), scene.grid, |_| false), scene.grid, plane, view, 0.43);
        let cells = plane.dims.map(|n| n as f32);
        let shown = view.shown();
        extend(&mut cover, width, shown);
        let per_pixel = view.scale / cells[0].max(cells[1]);
        let mut depth = vec![0.0; cover.len()];
        for y in 1..height {
            for x in 0..width {
                // Depth spreads sideways a little, so that it does not jump under overhangs.
                let above = |x: usize| depth[x.min(width - 1) + width * (y - 1)];
                let mean = 0.25 * (above(x.saturating_sub(1)) + above(x + 1)) + 0.5 * above(x);
                let filled = cover[x + width * y].max(solid[x + width * y]);
                depth[x + width * y] = filled * (mean + per_pixel * filled);
            }
            // Behind a solid the depth is that beside it, so that it goes on below.
            bridge(&mut depth[width * y..][..width], &solid[width * y..][..width]);
        }
        // What is left of such jumps is smoothed away.
        let depth = blurred(&depth, width, width / 80);
        let line = (0.0012 * (width + height) as f32).max(1.0);
        let look = &settings.water;
        let colour = linear(look.colour);
        Self {
            soft: blurred(&cover, width, line.round() as usize),
            cover,
            depth,
            shown,
            air: [linear(look.horizon), linear(look.zenith).lerp(linear(look.horizon), 0.6)].map(|c| WHITE * c),
            shallow: WHITE * colour.lerp(Vec3A::ONE, 0.1),
            deep: 0.9 * colour * colour,
            line,
            line_colour: 0.55 * colour * colour,
            size,
        }
    }

    fn colour(&self, x: usize, y: usize) -> Vec3A {
        let at = x + self.size[0] * y;
        let height = 1.0 - y as f32 / self.size[1] as f32;
        let air = self.air[0].lerp(self.air[1], height);
        let water = self.deep.lerp(self.shallow, (-4.5 * self.depth[at]).exp());
        // The surface: where the blurred cover is one half; not where the domain ends.
        let from_side = [(x, 0), (y, 1)].map(|(c, a)| {
            let c = c as f32 + 0.5;
            (c - self.shown[a][0]).min(self.shown[a][1] - c)
        });
        let inner = smoothstep([self.line, 3.0 * self.line], from_side[0].min(from_side[1]));
        let rim = (4.0 * self.soft[at] * (1.0 - self.soft[at])).powi(2) * inner;
        let inside = self.cover[at];
        air.lerp(water, inside).lerp(self.line_colour, 0.9 * rim * inside)
    }
}

/// In every stretch where a solid covers most of the pixels of a row, values between those at its two ends; the row's ends count
/// for nothing.
fn bridge(row: &mut [f32], solid: &[f32]) {
    let mut x = 0;
    while x < row.len() {
        let length = solid[x..].iter().take_while(|&&s| s > 0.5).count();
        let (left, right) = (x.checked_sub(1).map(|n| row[n]), row.get(x + length).copied());
        if let (Some(left), Some(right)) = (left.or(right), right.or(left)) {
            for n in 0..length {
                row[x + n] = left + (right - left) * (n as f32 + 1.0) / (length as f32 + 1.0);
            }
        }
        x += length + 1;
    }
}

/// Repeat the outermost pixels of the domain where the picture is larger.
fn extend(cover: &mut [f32], width: usize, shown: [[f32; 2]; 2]) {
    let height = cover.len() / width;
    let nearest = |n: usize, [low, high]: [f32; 2], size: usize| {
        let (first, last) = (low.ceil().max(0.0) as usize, (high.floor() as usize).min(size) - 1);
        n.clamp(first.min(last), last)
    };
    let copy = cover.to_vec();
    for (n, value) in cover.iter_mut().enumerate() {
        *value = copy[nearest(n % width, shown[0], width) + width * nearest(n / width, shown[1], height)];
    }
}

/// The solids as seen in the picture.
struct Cutout {
    width: usize,
    /// Covered part of each pixel.
    cover: Vec<f32>,
    /// The same, blurred a little and much: for the bevel and the shadow.
    soft: Vec<f32>,
    shadow: Vec<f32>,
    fill: Vec3A,
    /// Width of the bevel, pixels.
    bevel: f32,
}

impl Cutout {
    fn new(grid: &Grid, surfaces: &[Surface], plane: &Plane, view: &View, settings: &RenderSettings) -> Self {
        let width = view.size[0] as usize;
        let mut cover = cover(&Solids::new(surfaces), grid, plane, view, 0.5);
        // What stands on a side of the domain goes on beyond it.
        let own = cover.clone();
        extend(&mut cover, width, view.shown());
        cover.iter_mut().zip(own).for_each(|(c, own)| *c = c.max(own));
        let bevel = (0.006 * (view.size[0] + view.size[1]) as f32).max(2.0);
        let soft = blurred(&cover, width, bevel as usize);
        let shadow = blurred(&cover, width, 3 * bevel as usize);
        // All in one piece: the colour of the last stands for all.
        let fill = finishes(surfaces, settings).last().map_or(Vec3A::ZERO, |finish| finish.colour);
        Self { width, cover, soft, shadow, fill, bevel }
    }

    /// What is seen at a pixel where the smoke alone would show `under`.
    fn over(&self, under: Vec3A, x: usize, y: usize) -> Vec3A {
        let n = x + self.width * y;
        let height = self.cover.len() / self.width;
        let at = |x: usize, y: usize| self.soft[x.min(self.width - 1) + self.width * y.min(height - 1)];
        // The blurred cover is a hill with the solid on top; light from the upper left shades its slopes.
        let slope_x = at(x + 1, y) - at(x.saturating_sub(1), y);
        let slope_y = at(x, y + 1) - at(x, y.saturating_sub(1));
        let shade = 1.0 + (0.5 * self.bevel * (slope_x + slope_y)).clamp(-0.55, 0.55);
        let edge = 1.0 - 0.35 * (2.0 * (1.0 - self.soft[n])).min(1.0).powi(2);
        let solid = 0.55 * self.fill * shade * edge;
        let shadowed = under * (1.0 - 0.45 * self.shadow[n]);
        shadowed.lerp(solid, self.cover[n])
    }
}

/// The part of each pixel that lies inside closed surfaces, cut at `depth` of the one cell's thickness.
fn cover(solids: &Solids, grid: &Grid, plane: &Plane, view: &View, depth: f32) -> Vec<f32> {
    let [width, height] = view.size.map(|n| n as usize);
    let cell = grid.dx as f32;
    let [right, up, flat] = [plane.right, plane.up, plane.flat].map(|a| a.unit().as_vec3a());
    let corner = grid.origin.as_vec3a() + depth * cell * flat;
    let pixel = cell * view.scale;

    // Along lines through each row of pixels, the stretches inside.
    let mut cover = vec![0.0; width * height];
    if !solids.is_empty() {
        cover.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            let mut line = vec![0.0; width];
            for sub in 0..SUBROWS {
                let [i, j] = view.cell_of(0.0, y as f32 + (sub as f32 + 0.5) / SUBROWS as f32);
                let origin = corner + cell * (i * right + j * up);
                line.fill(0.0);
                let ray = Ray { origin, direction: right };
                for (from, to) in solids.stretches_inside(&ray, pixel * width as f32, 1e-3 * pixel) {
                    fill_stretch(&mut line, from / pixel, to / pixel);
                }
                row.iter_mut().zip(&line).for_each(|(c, l)| *c += l / SUBROWS as f32);
            }
        });
    }
    cover
}

/// Three box blurs in each direction, close to a Gaussian.
fn blurred(values: &[f32], width: usize, radius: usize) -> Vec<f32> {
    let height = values.len() / width;
    let mut values = values.to_vec();
    for _ in 0..3 {
        for (lines, length, next_line, next) in [(height, width, width, 1), (width, height, 1, width)] {
            let mut line = vec![0.0; length];
            for n in 0..lines {
                let start = n * next_line;
                line.iter_mut().enumerate().for_each(|(m, v)| *v = values[start + m * next]);
                let inside = |m: isize| line[m.clamp(0, length as isize - 1) as usize];
                let mut sum: f32 = (-(radius as isize)..=radius as isize).map(inside).sum();
                for m in 0..length {
                    values[start + m * next] = sum / (2 * radius + 1) as f32;
                    sum += inside((m + radius + 1) as isize) - inside(m as isize - radius as isize);
                }
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathtub_engine::geometry::{Shape, TriMesh};
    use glam::DVec3;

    #[test]
    fn bspline_weights_sum_to_one_and_slopes_to_zero() {
        for f in [0.0, 0.3, 0.99] {
            let (w, d) = bspline(f);
            assert!((w.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            assert!(d.iter().sum::<f32>().abs() < 1e-6);
        }
    }

    #[test]
    fn blurring_keeps_a_constant_and_spreads_a_point() {
        assert!(blurred(&[0.5; 60], 10, 2).iter().all(|v| (v - 0.5).abs() < 1e-6));
        let mut point = vec![0.0; 21 * 21];
        point[10 + 21 * 10] = 1.0;
        let spread = blurred(&point, 21, 1);
        assert!((spread.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(spread[10 + 21 * 10] < 0.2 && spread[13 + 21 * 10] > 0.0);
    }

    /// The lower half of a flat box: blue below, darker at the bottom, air above, up to the picture's sides.
    #[test]
    fn flat_water_fills_what_its_surface_encloses() {
        let grid = Grid::new([40, 40, 1], 0.1, DVec3::ZERO);
        let mut water = Shape::Box { size: DVec3::new(4.0, 2.0, 0.1) }.surface(1.0);
        water.vertices.iter_mut().for_each(|v| *v += DVec3::new(2.0, 1.0, 0.05));
        let scene = WaterScene { grid: &grid, surfaces: &[], water: &water };
        let settings = RenderSettings { size: Some([100, 100]), ..Default::default() };
        let image = render_water(&scene, Axis::Z, &settings);
        let at = |x: usize, y: usize| [0, 2].map(|c| i32::from(image.pixels[3 * (x + 100 * y) + c]));
        for x in [0, 50, 99] {
            let [air, shallow, deep] = [40, 60, 98].map(|y| at(x, y));
            assert!((air[1] - air[0]).abs() < 40 && shallow[1] > shallow[0] + 40, "{air:?} {shallow:?}");
            assert!(deep[0] < shallow[0] - 10, "{shallow:?} {deep:?}");
        }
    }

    /// A picture wider and higher than the domain: under the floor the step goes on, not the air.
    #[test]
    fn solids_on_a_side_go_on_beyond_it() {
        let grid = Grid::new([40, 20, 1], 0.1, DVec3::ZERO);
        let mut mesh = Shape::Box { size: DVec3::new(1.0, 0.5, 0.1) }.surface(1.0);
        mesh.vertices.iter_mut().for_each(|v| *v += DVec3::new(2.0, 0.25, 0.05));
        let surfaces = [Surface { name: "step".into(), mesh, velocities: vec![], moves: false }];
        let scene = WaterScene { grid: &grid, surfaces: &surfaces, water: &TriMesh::default() };
        let settings = RenderSettings { size: Some([100, 100]), ..Default::default() };
        let image = render_water(&scene, Axis::Z, &settings);
        let brightness = |x: usize, y: usize| i32::from(image.pixels[3 * (x + 100 * y) + 1]);
        // The domain's floor is at row 75.
        assert!((brightness(50, 95) - brightness(50, 70)).abs() < 20);
        assert!(brightness(50, 95) < brightness(10, 95) - 40);
    }

    #[test]
    fn stretches_of_solid_are_bridged() {
        let mut row = [1.0, 9.0, 9.0, 9.0, 5.0, 9.0, 9.0];
        bridge(&mut row, &[0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
        assert_eq!(row, [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0]);
        let mut all = [7.0; 3];
        bridge(&mut all, &[1.0; 3]);
        assert_eq!(all, [7.0; 3]);
    }
}
