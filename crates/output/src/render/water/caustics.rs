//! Where the key light falls on the floor, through the water and past the solids.
//!
//! A regular bundle of parallel rays is sent down from the light. Each is bent by water and glass, loses what they
//! absorb and reflect, and leaves the rest where it meets the floor: caustics, the tinted shadow of water and glass and the
//! shadows of solids in one map.

use super::medium::Medium;
use super::{Scene, Target};
use crate::render::camera::Ray;
use crate::render::interface::cross;
use glam::Vec3A;
use rayon::prelude::*;

/// Texels along the longer side of the map, and rays along the side of a texel.
const TEXELS: f32 = 320.0;
const RAYS: usize = 2;
/// Surfaces that a ray may cross.
const CROSSINGS: usize = 16;
/// Blur passes, for the light is not a point.
const BLUR: usize = 2;

/// The light on a part of the floor, 1 where nothing is in its way.
pub struct FloorLight {
    low: [f32; 2],
    texel: f32,
    dims: [usize; 2],
    values: Vec<Vec3A>,
}

impl FloorLight {
    /// For a floor at height `y` under a domain from `low` to `high`.
    pub fn new(scene: &Scene, y: f32, low: Vec3A, high: Vec3A) -> Self {
        // Wherever the domain's shadow may fall, and some more for light that is bent outwards.
        let toward = scene.surfaces.key.toward.with_y(scene.surfaces.key.toward.y.max(0.2));
        let shift = |h: f32, axis: usize| -toward[axis] / toward.y * (h - y);
        let margin = 0.1 * scene.surfaces.reach;
        let span = [0, 2].map(|a| {
            let (s, t) = (shift(low.y, a), shift(high.y, a));
            (low[a] + s.min(t) - margin, high[a] + s.max(t) + margin)
        });
        let sizes = span.map(|(a, b)| b - a);
        let texel = sizes[0].max(sizes[1]) / TEXELS;
        let dims = sizes.map(|s| (s / texel).ceil() as usize + 1);
        let mut light = Self { low: span.map(|s| s.0), texel, dims, values: vec![Vec3A::ZERO; dims[0] * dims[1]] };

        let start = 4.0 * scene.surfaces.reach;
        let step = texel / RAYS as f32;
        let share = 1.0 / (RAYS * RAYS) as f32;
        let rows: Vec<Vec<(Vec3A, Vec3A)>> = (0..dims[1] * RAYS)
            .into_par_iter()
            .map(|row| {
                let cast = |column: usize| {
                    let x = light.low[0] + step * (column as f32 + 0.5) - 0.5 * texel;
                    let z = light.low[1] + step * (row as f32 + 0.5) - 0.5 * texel;
                    let origin = Vec3A::new(x, y, z) + start * toward;
                    landing(scene, Ray { origin, direction: -toward.normalize() })
                };
                (0..dims[0] * RAYS).filter_map(cast).collect()
            })
            .collect();
        for (point, left) in rows.into_iter().flatten() {
            light.add(point, share * left);
        }
        (0..BLUR).for_each(|_| light.blur());
        light
    }

    /// Light at a point of the floor.
    pub fn at(&self, point: Vec3A) -> Vec3A {
        let u = (point.x - self.low[0]) / self.texel;
        let v = (point.z - self.low[1]) / self.texel;
        let [nx, ny] = self.dims;
        if u < 1.0 || v < 1.0 || u >= nx as f32 - 2.0 || v >= ny as f32 - 2.0 {
            return Vec3A::ONE;
        }
        let n = u as usize + nx * v as usize;
        let (fu, fv) = (u.fract(), v.fract());
        let row = |n: usize| self.values[n].lerp(self.values[n + 1], fu);
        row(n).lerp(row(n + nx), fv)
    }

    fn add(&mut self, point: Vec3A, light: Vec3A) {
        let u = (point.x - self.low[0]) / self.texel;
        let v = (point.z - self.low[1]) / self.texel;
        let [nx, ny] = self.dims;
        if u < 0.0 || v < 0.0 || u >= nx as f32 - 1.0 || v >= ny as f32 - 1.0 {
            return;
        }
        let n = u as usize + nx * v as usize;
        let (fu, fv) = (u.fract(), v.fract());
        self.values[n] += light * ((1.0 - fu) * (1.0 - fv));
        self.values[n + 1] += light * (fu * (1.0 - fv));
        self.values[n + nx] += light * ((1.0 - fu) * fv);
        self.values[n + nx + 1] += light * (fu * fv);
    }

    /// [1 2 1]/4 in both directions.
    fn blur(&mut self) {
        let [nx, ny] = self.dims;
        for (lines, length, next_line, next) in [(ny, nx, nx, 1), (nx, ny, 1, nx)] {
            for line in 0..lines {
                let mut last = self.values[line * next_line];
                for n in 1..length - 1 {
                    let at = line * next_line + n * next;
                    let here = self.values[at];
                    self.values[at] = 0.25 * (last + self.values[at + next]) + 0.5 * here;
                    last = here;
                }
            }
        }
    }
}

/// Where a ray of the light meets the floor, and what is left of it.
fn landing(scene: &Scene, ray: Ray) -> Option<(Vec3A, Vec3A)> {
    let (mut ray, mut left) = (ray, Vec3A::ONE);
    let mut medium = Medium::AIR;
    for _ in 0..CROSSINGS {
        let (target, distance) = scene.meet(&ray, medium, 0);
        if distance < f32::INFINITY {
            left *= scene.transmitted(medium, distance);
        }
        match target {
            Target::Floor => return Some((ray.at(distance), left)),
            Target::Solid(_) | Target::Surroundings => return None,
            Target::Water(hit) | Target::Glass(hit) => {
                let [here, beyond] = medium.sides(&target, &ray, &hit);
                let crossing = cross(&ray, &hit, here.index(scene.refraction) / beyond.index(scene.refraction));
                let (direction, part, side) = match crossing.refracted {
                    Some(direction) => (direction, 1.0 - crossing.reflectance, beyond),
                    None => (crossing.reflected, 1.0, here),
                };
                let outwards = hit.face_normal * direction.dot(hit.face_normal).signum();
                ray = Ray { origin: ray.at(distance) + scene.skin * outwards, direction };
                left *= part;
                medium = side;
            }
        }
    }
    None
}
