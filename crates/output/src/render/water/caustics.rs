//! Where the key light falls on the floor, through the water and past the solids.
//!
//! A regular bundle of parallel rays is sent down from the light. Each is bent by water and glass, loses what they
//! absorb and reflect, and leaves the rest where it meets the floor: caustics, the tinted shadow of water and glass and the
//! shadows of solids in one map. Where rays beside each other meet the same things, those between them are not sent: they land between. Where they do not, a
//! preview sends one of three, for all.

use super::medium::Medium;
use super::{Scene, Target};
use crate::render::camera::Ray;
use crate::render::interface::cross;
use glam::Vec3A;
use rayon::prelude::*;

/// Texels along the longer side of the map, rays along the side of a texel, and how many of these lie between two that are sent in any case.
const TEXELS: f32 = 320.0;
const RAYS: usize = 2;
const BETWEEN: usize = 3;
/// Surfaces that a ray may cross.
const CROSSINGS: usize = 16;
/// Rays that have lost all but this part of their light are dropped.
const SPENT: f32 = 0.02;
/// Blur passes, for the light is not a point.
const BLUR: usize = 2;

/// Rays towards the sky from each texel of its map.
const SKY_RAYS: u32 = 24;

/// Light on a part of the floor.
pub struct FloorLight {
    /// Of the key light, 1 where nothing is in its way.
    pub key: FloorMap,
    /// From the sky, what solids and water leave of it.
    pub sky: FloorMap,
}

/// Colours on a part of the floor.
pub struct FloorMap {
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
        Self { key: of_key_light(scene, y, toward, span), sky: of_sky(scene, y, span) }
    }
}

/// Where the rays of a bundle against `toward` land.
fn of_key_light(scene: &Scene, y: f32, toward: Vec3A, span: [(f32, f32); 2]) -> FloorMap {
    let mut light = FloorMap::new(span, TEXELS);
    let FloorMap { texel, dims, low, .. } = light;
    let start = 4.0 * scene.surfaces.reach;
    let step = texel / RAYS as f32;
    let share = 1.0 / (RAYS * RAYS) as f32;
    // Of the ray at a place in the bundle.
    let cast = |column: f32, row: f32| {
        let [x, z] = [low[0] + step * (column + 0.5) - 0.5 * texel, low[1] + step * (row + 0.5) - 0.5 * texel];
        let origin = Vec3A::new(x, y, z) + start * toward;
        landing(scene, Ray { origin, direction: -toward.normalize() })
    };
    let blocks = dims.map(|n| (n * RAYS).div_ceil(BETWEEN));
    let corners: Vec<Landing> = (0..(blocks[0] + 1) * (blocks[1] + 1))
        .into_par_iter()
        .map(|n| [n % (blocks[0] + 1), n / (blocks[0] + 1)].map(|at| (at * BETWEEN) as f32 - 0.5))
        .map(|[column, row]| cast(column, row))
        .collect();
    // Of those that go their own ways, one of so many is sent for all.
    let few = scene.effort.light_rays;
    let in_block = |i: usize, j: usize| {
        let first = i + (blocks[0] + 1) * j;
        let around = [0, 1, blocks[0] + 1, blocks[0] + 2].map(|next| corners[first + next]);
        let is_one_way = around.iter().all(|other| other.way == around[0].way);
        (0..BETWEEN * BETWEEN).map(|n| [n % BETWEEN, n / BETWEEN]).filter_map(move |[u, v]| {
            if is_one_way {
                let [u, v] = [u, v].map(|at| (at as f32 + 0.5) / BETWEEN as f32);
                return Some((Landing::between(around, u, v), share));
            }
            let [column, row] = [i * BETWEEN + u, j * BETWEEN + v];
            (column + row).is_multiple_of(few).then(|| (cast(column as f32, row as f32), share * few as f32))
        })
    };
    let landed: Vec<Vec<(Vec3A, Vec3A)>> = (0..blocks[1])
        .into_par_iter()
        .map(|j| {
            let all = (0..blocks[0]).flat_map(|i| in_block(i, j));
            all.filter_map(|(landing, share)| Some((landing.point, share * landing.light?))).collect()
        })
        .collect();
    for (point, left) in landed.into_iter().flatten() {
        light.add(point, left);
    }
    (0..BLUR).for_each(|_| light.blur());
    light
}

/// What solids and water leave of the light of the sky.
fn of_sky(scene: &Scene, y: f32, span: [(f32, f32); 2]) -> FloorMap {
    let mut sky = FloorMap::new(span, scene.effort.sky_texels);
    let (low, width) = (sky.low, sky.dims[0]);
    sky.values.par_iter_mut().enumerate().for_each(|(n, value)| {
        let [x, z] = [n % width, n / width].map(|at| at as f32 * sky.texel);
        let start = Vec3A::new(low[0] + x, y + scene.surfaces.skin, low[1] + z);
        *value = scene.surfaces.sky_on_ground(start, SKY_RAYS);
        let up = Ray { origin: start, direction: Vec3A::Y };
        if let Some(hit) = scene.things.nearest_of(scene.water, &up, f32::INFINITY)
            // From within.
            && hit.face_normal.y > 0.0
        {
            *value *= scene.through_water(hit.t);
        }
    });
    sky
}

impl FloorMap {
    fn new(span: [(f32, f32); 2], texels: f32) -> Self {
        let sizes = span.map(|(a, b)| b - a);
        let texel = sizes[0].max(sizes[1]) / texels;
        let dims = sizes.map(|s| (s / texel).ceil() as usize + 1);
        Self { low: span.map(|s| s.0), texel, dims, values: vec![Vec3A::ZERO; dims[0] * dims[1]] }
    }

    /// Light at a point of the floor, if the map has it.
    pub fn at(&self, point: Vec3A) -> Option<Vec3A> {
        let u = (point.x - self.low[0]) / self.texel;
        let v = (point.z - self.low[1]) / self.texel;
        let [nx, ny] = self.dims;
        if u < 1.0 || v < 1.0 || u >= nx as f32 - 2.0 || v >= ny as f32 - 2.0 {
            return None;
        }
        let n = u as usize + nx * v as usize;
        let (fu, fv) = (u.fract(), v.fract());
        let row = |n: usize| self.values[n].lerp(self.values[n + 1], fu);
        Some(row(n).lerp(row(n + nx), fv))
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

/// Where a ray of the light meets the floor.
#[derive(Clone, Copy)]
struct Landing {
    point: Vec3A,
    /// What is left of it; nothing if it does not come there.
    light: Option<Vec3A>,
    /// What it met on its way, as a number.
    way: u64,
}

impl Landing {
    /// Of a ray between four that went the same way.
    fn between(around: [Self; 4], u: f32, v: f32) -> Self {
        let [a, b, c, d] = around.map(|landing| (landing.point, landing.light.unwrap_or_default()));
        let mix = |a: Vec3A, b: Vec3A, c: Vec3A, d: Vec3A| a.lerp(b, u).lerp(c.lerp(d, u), v);
        let light = around[0].light.map(|_| mix(a.1, b.1, c.1, d.1));
        Self { point: mix(a.0, b.0, c.0, d.0), light, way: around[0].way }
    }
}

/// Where a ray of the light ends.
fn landing(scene: &Scene, ray: Ray) -> Landing {
    let (mut ray, mut left) = (ray, Vec3A::ONE);
    let mut medium = Medium::AIR;
    let mut way = 0u64;
    let mut note = |what: u64| way = (way ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    for _ in 0..CROSSINGS {
        let (target, distance) = scene.meet(&ray, medium, 0);
        if distance < f32::INFINITY {
            left *= scene.transmitted(medium, distance);
        }
        match target {
            Target::Floor => return Landing { point: ray.at(distance), light: Some(left), way },
            Target::Solid(_) | Target::Surroundings => break,
            Target::Water(hit) | Target::Glass(hit) => {
                let is_glass = u64::from(matches!(target, Target::Glass(_)));
                let [here, beyond] = medium.sides(&target, &ray, &hit);
                let crossing = cross(&ray, &hit, here.index(scene.refraction) / beyond.index(scene.refraction));
                note(1 + 2 * u64::from(crossing.refracted.is_some()) + 4 * is_glass + 8 * hit.body as u64);
                let (direction, part, side) = match crossing.refracted {
                    Some(direction) => (direction, 1.0 - crossing.reflectance, beyond),
                    None => (crossing.reflected, 1.0, here),
                };
                let outwards = hit.face_normal * direction.dot(hit.face_normal).signum();
                ray = Ray { origin: ray.at(distance) + scene.skin * outwards, direction };
                left *= part;
                medium = side;
                if left.max_element() < SPENT {
                    break;
                }
            }
        }
    }
    Landing { point: Vec3A::ZERO, light: None, way: u64::MAX }
}
