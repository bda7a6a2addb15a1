//! Light on solids and on the ground.

use super::bvh::{Hit, Solids};
use super::camera::Ray;
use super::colour::{even_point, linear};
use super::effort::Effort;
use super::light::LightField;
use super::material::{Finish, Gloss, finishes};
use super::settings::{Light, RenderSettings};
use crate::frame::Surface;
use glam::Vec3A;

/// A diffuse surface facing a light of strength 1 is this bright: about what thick smoke in the same light shows.
pub const DIFFUSE: f32 = 0.5;
/// What the ground sends back of light between it and solids.
const GROUND_ALBEDO: Vec3A = Vec3A::splat(0.3);
/// Rays towards the rim of the key light: an edge that none of them tells hides less than a tenth of it.
const RIM: u32 = 4;
/// Mean over directions, by the cosine law, of the brightness of the open sky: 0.65 + 0.35 · ⅔.
pub const SKY_MEAN: f32 = 0.65 + 0.35 * 2.0 / 3.0;

/// A light, ready for use.
#[derive(Clone, Copy, Debug)]
pub struct Lamp {
    /// Unit vector towards it.
    pub toward: Vec3A,
    /// Colour times strength.
    pub light: Vec3A,
    /// Radius of its disc at distance 1.
    radius: f32,
    /// Two vectors across.
    across: [Vec3A; 2],
}

impl Lamp {
    pub fn new(light: &Light) -> Self {
        let toward = light.direction.as_vec3a().normalize_or(Vec3A::Y);
        let (a, b) = toward.any_orthonormal_pair();
        let radius = light.softness.to_radians().tan();
        Self { toward, light: linear(light.colour) * light.strength, radius, across: [a, b] }
    }

    /// A direction towards a point of its disc, chosen by a point of the unit square.
    fn sample(&self, [u, v]: [f32; 2]) -> Vec3A {
        let (sin, cos) = (std::f32::consts::TAU * v).sin_cos();
        let r = self.radius * u.sqrt();
        (self.toward + r * (cos * self.across[0] + sin * self.across[1])).normalize()
    }
}

/// Which of a pixel's rays this is, and the pixel's own noise; all other choices follow from these.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub sample: u32,
    pub noise: [f32; 2],
}

/// The parts of the key light and of the sky that whatever fills the space lets through to a point, by colour.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    pub key: Vec3A,
    pub sky: Vec3A,
}

impl Arriving {
    pub fn through_smoke(field: &LightField, point: Vec3A, toward_key: Vec3A) -> Self {
        Self {
            key: Vec3A::splat(field.key_through_smoke(point, toward_key)),
            sky: Vec3A::splat(field.sky_through_smoke(point)),
        }
    }
}

/// Part of the light that passes a piece of glass, on the whole.
const PAST_GLASS: f32 = 0.8;
/// Thickness at which glass has its colour, in domain sizes.
const GLASS_DEPTH: f32 = 0.1;

/// Everything that lights surfaces.
#[derive(Debug)]
pub struct Surfaces {
    /// What is opaque.
    pub solids: Solids,
    /// What is made of glass.
    pub glass: Solids,
    pub key: Lamp,
    pub rim: Lamp,
    pub sky: Vec3A,
    /// Light on solids from where the viewer stands, which shadows do not take.
    pub fill: Vec3A,
    /// Of the surfaces, in their order.
    finishes: Vec<Finish>,
    /// Rays towards sky and key light: at first, and where these do not agree.
    rays: [u32; 2],
    /// Height of the ground, m.
    pub ground: Option<f32>,
    /// Distance that keeps a ray from meeting the surface that it leaves, m.
    pub skin: f32,
    /// Size of the domain, m: how far sky occlusion reaches.
    pub reach: f32,
    /// A ball around all bodies.
    ball: (Vec3A, f32),
    /// Where the pool of light on the ground is.
    pool: Vec3A,
}

impl Surfaces {
    pub fn new(surfaces: &[Surface], settings: &RenderSettings, low: Vec3A, high: Vec3A) -> Self {
        let finishes = finishes(surfaces, settings);
        let is_glass = |body: usize| finishes[body].is_glass;
        let solids = Solids::chosen(surfaces, |body| !is_glass(body));
        let glass = Solids::chosen(surfaces, is_glass);
        let reach = (high - low).max_element();
        let boxes = [solids.bounds(), glass.bounds()].into_iter().flatten();
        let around = boxes.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]).unwrap_or_default();
        let ball = (0.5 * (around[0] + around[1]), 0.5 * (around[1] - around[0]).length());
        Self {
            solids,
            glass,
            key: Lamp::new(&settings.key),
            rim: Lamp::new(&settings.rim),
            sky: linear(settings.sky) * settings.sky_strength,
            fill: Vec3A::ZERO,
            finishes,
            rays: Effort::of(settings.quality).shadow_rays,
            ground: settings.backdrop.ground.then_some(low.y),
            skin: 2e-4 * reach,
            reach,
            ball,
            pool: Vec3A::new(0.5 * (low.x + high.x), low.y, 0.5 * (low.z + high.z)),
        }
    }

    /// Light that a solid sends back along the ray; `arriving` tells what reaches a point just off its surface.
    pub fn shade_solid(&self, ray: &Ray, hit: &Hit, place: Place, arriving: impl Fn(Vec3A) -> Arriving) -> Vec3A {
        let point = ray.at(hit.t);
        let facing = if hit.face_normal.dot(ray.direction) > 0.0 { -1.0 } else { 1.0 };
        let (face, mut n) = (facing * hit.face_normal, facing * hit.normal);
        // An interpolated normal may look away from the viewer at the outline.
        let away = n.dot(ray.direction);
        if away > -0.02 {
            n = (n - (away + 0.02) * ray.direction).normalize();
        }
        let finish = &self.finishes[hit.body];
        let albedo = finish.colour_at(hit);
        let start = point + self.skin * face;

        let Arriving { key, sky: open } = arriving(start);
        let key = self.key_visibility(start, face, place) * key;
        let sky = self.sky_light(start, n, albedo, place) * open;
        let lambert = |lamp: &Lamp| lamp.light * n.dot(lamp.toward).max(0.0);
        let facing = -n.dot(ray.direction);
        let lamps = key * lambert(&self.key) + 0.5 * open * lambert(&self.rim) + facing * open * self.fill;
        let diffuse = albedo * (DIFFUSE * lamps + sky);

        // Highlights, and reflection of the sky towards the outline.
        let Gloss { power, strength, mirror: polish } = finish.gloss;
        let fresnel = 0.04 + 0.96 * (1.0 - facing).max(0.0).powi(5);
        let gloss = |lamp: &Lamp| {
            let half = (lamp.toward - ray.direction).normalize();
            let (nh, nl) = (n.dot(half).max(0.0), n.dot(lamp.toward).max(0.0));
            lamp.light * (nl * (0.05 + 0.6 * fresnel) * strength * nh.powi(power))
        };
        let mirror = ray.direction - 2.0 * n.dot(ray.direction) * n;
        let reflected = self.sky * (0.35 + 0.65 * (0.5 + 0.5 * mirror.y)) * open * (polish * fresnel);
        let plain = diffuse + key * gloss(&self.key) + 0.4 * open * gloss(&self.rim) + reflected;
        if finish.metal == 0.0 {
            return plain;
        }
        // Metal sends back nothing but what it mirrors, in its colour: lights, sky and floor, the more evenly the rougher it is. Other solids are dark.
        let ray = Ray { origin: start, direction: mirror };
        let hidden = if self.solids.occluded(&ray, self.reach) { 0.3 } else { 1.0 };
        // What is around is less blue than the sky.
        let around = 1.2 * self.sky.lerp(Vec3A::splat(self.sky.element_sum() / 3.0), 0.7);
        let seen = (1.0 - polish) * open_mean(n.y) + polish * self.open_sky(mirror) * hidden;
        let sky = 2.0 * open * around * seen;
        let highlights = 4.0 * (key * gloss(&self.key) + 0.4 * open * gloss(&self.rim));
        let tint = albedo.lerp(Vec3A::ONE, (1.0 - facing).max(0.0).powi(5));
        plain.lerp(tint * (sky + highlights), finish.metal)
    }

    /// Whether a body is made of glass.
    pub fn is_glass(&self, body: usize) -> bool {
        self.finishes[body].is_glass
    }

    /// What is left of light after a distance in the glass of a body.
    pub fn through_glass(&self, body: usize, distance: f32) -> Vec3A {
        let colour = self.finishes[body].colour.max(Vec3A::splat(1e-4));
        Vec3A::from(colour.to_array().map(|c| c.powf(distance / (GLASS_DEPTH * self.reach))))
    }

    /// How bright the ground is at a point, relative to open ground.
    pub fn shade_ground(&self, point: Vec3A, field: &LightField, place: Place) -> Vec3A {
        let start = point + self.skin * Vec3A::Y;
        // Most of the ground is too far from all solids for any of them to matter.
        let (centre, radius) = self.ball;
        let to_ball = centre - point;
        let along = to_ball.dot(self.key.toward);
        let beside = (to_ball - along * self.key.toward).length();
        let may_shadow = along > -radius && beside < radius + self.key.radius * along.max(0.0);

        let seen = if may_shadow { self.key_visibility(start, Vec3A::Y, place) } else { 1.0 };
        let key = seen * field.key_through_smoke(start, self.key.toward);
        let open = field.sky_through_smoke(start);
        let key_light = DIFFUSE * self.key.light * self.key.toward.y.max(0.05);
        let full_sky = self.sky * SKY_MEAN;
        let sky = self.sky_near_ground(start, place) * open;
        let away = (point - self.pool).length_squared() / (self.reach * self.reach);
        let pool = 1.0 + 0.25 * (-1.5 * away).exp();
        // Light from the walls of the studio keeps shadows from going black.
        let fill = 0.18 * key_light;
        (key_light * key + sky + fill) / (key_light + full_sky + fill) * pool
    }

    /// Light from the sky at a point of the ground.
    fn sky_near_ground(&self, start: Vec3A, place: Place) -> Vec3A {
        match self.may_hide_sky(start) {
            true => self.sky_light(start, Vec3A::Y, GROUND_ALBEDO, place),
            false => self.sky * SKY_MEAN,
        }
    }

    /// Whether solids hide a part of the sky worth mentioning from a point.
    fn may_hide_sky(&self, start: Vec3A) -> bool {
        let (centre, radius) = self.ball;
        radius * radius > 0.004 * (centre - start).length_squared()
    }

    /// Light from the sky at a point of the ground, by so many rays, the same ones anywhere: for a map.
    pub fn sky_on_ground(&self, start: Vec3A, rays: u32) -> Vec3A {
        if !self.may_hide_sky(start) {
            return self.sky * SKY_MEAN;
        }
        let hidden = (0..rays).map(|n| self.hidden_sky(start, Vec3A::Y, GROUND_ALBEDO, even_point(n, [0.5; 2])));
        self.sky * (Vec3A::splat(SKY_MEAN) - hidden.sum::<Vec3A>() / rays as f32).max(Vec3A::ZERO)
    }

    /// Part of the key light's disc that no solid hides.
    fn key_visibility(&self, start: Vec3A, normal: Vec3A, place: Place) -> f32 {
        if normal.dot(self.key.toward) < -self.key.radius {
            return 0.0;
        }
        let seen = |square: [f32; 2]| {
            let ray = Ray { origin: start, direction: self.key.sample(square) };
            match normal.dot(ray.direction) > 0.0 && !self.solids.occluded(&ray, f32::INFINITY) {
                true => self.past_glass(&ray, f32::INFINITY),
                false => 0.0,
            }
        };
        // From the rim of the disc one sees best whether all of it is hidden, or nothing.
        let rim = |n: u32| seen([1.0, (place.noise[1] + n as f32 / RIM as f32).fract()]);
        let first: f32 = (0..RIM).map(rim).sum();
        if first == 0.0 || first == RIM as f32 {
            return first / RIM as f32;
        }
        let all = self.rays[1];
        (0..all).map(|n| seen(even_point(place.sample * all + n, place.noise))).sum::<f32>() / all as f32
    }

    /// Light from the sky and from what hides it, for a diffuse surface of normal `n`.
    fn sky_light(&self, start: Vec3A, n: Vec3A, albedo: Vec3A, place: Place) -> Vec3A {
        // What the open sky gives is known; rays find what of it is hidden.
        let [few, all] = self.rays;
        let hidden = |n_ray: u32| {
            let square = even_point(place.sample * all + n_ray, [place.noise[1], place.noise[0]]);
            self.hidden_sky(start, n, albedo, square)
        };
        let open = Vec3A::splat(open_mean(n.y));
        let first: Vec3A = (0..few).map(hidden).sum();
        if first == Vec3A::ZERO {
            return self.sky * open;
        }
        let sum = first + (few..all).map(hidden).sum::<Vec3A>();
        self.sky * (open - sum / all as f32).max(Vec3A::ZERO)
    }

    /// What of the sky solids hide along a direction by the cosine law, chosen by a point of the unit square, less what they send instead.
    fn hidden_sky(&self, start: Vec3A, n: Vec3A, albedo: Vec3A, [u, v]: [f32; 2]) -> Vec3A {
        // A point of the disc, raised to the hemisphere.
        let (a, b) = n.any_orthonormal_pair();
        let (sin, cos) = (std::f32::consts::TAU * v).sin_cos();
        let direction = u.sqrt() * (cos * a + sin * b) + (1.0 - u).sqrt() * n;
        let ray = Ray { origin: start, direction };
        match self.solids.occluded(&ray, self.reach) {
            // Light between surfaces takes their colour.
            true => Vec3A::splat(self.open_sky(direction)) - 0.25 * albedo,
            false => Vec3A::splat(self.open_sky(direction) * (1.0 - self.past_glass(&ray, self.reach))),
        }
    }

    /// What a mirror shows in a direction: the sky, and the lights as soft discs.
    pub fn mirrored(&self, direction: Vec3A) -> Vec3A {
        let disc = |lamp: &Lamp| 4.0 * lamp.light * lamp.toward.dot(direction).max(0.0).powi(160);
        2.0 * self.sky * self.open_sky(direction) + disc(&self.key) + disc(&self.rim)
    }

    /// Part of the light along a ray that glass lets pass, whichever way it bends it.
    fn past_glass(&self, ray: &Ray, limit: f32) -> f32 {
        if self.glass.occluded(ray, limit) { PAST_GLASS } else { 1.0 }
    }

    /// Brightness of the sky in a direction; below the horizon, what the floor sends back.
    pub fn open_sky(&self, direction: Vec3A) -> f32 {
        if direction.y > 0.0 { 0.65 + 0.35 * direction.y } else { 0.65 + 0.4 * direction.y }
    }
}

/// Mean over directions, by the cosine law, of the brightness of the open sky, for a normal whose upright part is `up`. Directions are upright by ⅔ `up` on
/// the mean; those below the horizon count 0.05 |y| less than those above, of which a surface that stands upright sees 2/(3π), one that looks up none.
fn open_mean(up: f32) -> f32 {
    let below = (2.0 / (3.0 * std::f32::consts::PI)) * (1.0 - up.abs()).powf(1.6) + (2.0 / 3.0) * (-up).max(0.0);
    0.65 + 0.35 * (2.0 / 3.0) * up - 0.05 * below
}
