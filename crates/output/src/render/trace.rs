//! The picture of a three-dimensional frame: a few rays per pixel through smoke to solids, ground or backdrop.

use super::backdrop::Sweep;
use super::bvh::Solids;
use super::camera::{Camera, Ray};
use super::colour::{hash01, heat, linear, to_bytes};
use super::light::LightField;
use super::settings::RenderSettings;
use super::shade::{Lamp, Place, Surfaces};
use super::volume::{Lattice, Smoke};
use crate::frame::Frame;
use crate::picture::Image;
use bathtub_engine::grid::Grid;
use glam::Vec3A;
use rayon::prelude::*;

/// Optical depth of smoke of density 1 across the domain, where the settings leave the extinction open.
const DEFAULT_DEPTH: f32 = 40.0;
/// Cells of the density that a picture may use.
const MAX_FINE_CELLS: f32 = 24e6;
/// Length of a step through the smoke, cells of the simulation.
const STEP: f32 = 0.8;
/// Below this, what is behind the smoke no longer shows.
const OPAQUE: f32 = 4e-3;
/// Room temperature, K.
const AMBIENT: f32 = 293.0;

/// Draw a frame.
pub fn render(frame: &Frame, settings: &RenderSettings) -> Image {
    let camera = Camera::new(&settings.camera, settings.size, &frame.grid);
    let stage = Stage::new(frame, settings, &camera);
    let [width, height] = camera.size;
    let samples = settings.samples.max(1);
    let mut image = Image::new(width, height);
    image.pixels.par_chunks_mut(3 * width as usize).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let (x, y) = (x as u32, y as u32);
            let light: Vec3A = (0..samples).map(|sample| stage.trace(&camera, x, y, sample, samples)).sum();
            pixel.copy_from_slice(&to_bytes(light * (settings.exposure / samples as f32), x, y));
        }
    });
    image
}

/// Everything that a ray may meet.
struct Stage {
    smoke: Smoke,
    field: LightField,
    surfaces: Surfaces,
    sweep: Sweep,
    /// Extinction of density 1, 1/m.
    extinction: f32,
    /// Length of a step, m.
    step: f32,
    smoke_colour: Vec3A,
    anisotropy: f32,
    glow: Option<Glow>,
}

/// The light of hot smoke.
struct Glow {
    lattice: Lattice,
    /// Above ambient, K.
    temperature: Vec<f32>,
    strength: f32,
    scale: f32,
}

impl Stage {
    fn new(frame: &Frame, settings: &RenderSettings, camera: &Camera) -> Self {
        let grid = &frame.grid;
        let lattice = Lattice::of(grid);
        let width = (lattice.upper() - lattice.origin).min_element();
        let extinction = settings.smoke.extinction.unwrap_or(DEFAULT_DEPTH / width);
        let sigma = lattice.fill(|at| frame.density[at].max(0.0) * extinction);
        let solids = Solids::new(&frame.surfaces);
        let field = LightField::new(lattice, sigma, &solids, settings);
        let look = &settings.smoke;
        let glow = (look.glow > 0.0).then(|| Glow {
            lattice,
            temperature: lattice.fill(|at| frame.temperature[at]),
            strength: look.glow,
            scale: look.glow_scale,
        });
        Self {
            smoke: Smoke::new(grid, &frame.density, refinement(grid, camera)),
            field,
            surfaces: Surfaces::new(solids, settings, lattice.origin, lattice.upper()),
            sweep: Sweep::new(&settings.backdrop, camera.size),
            extinction,
            step: STEP * lattice.cell,
            smoke_colour: linear(look.colour),
            anisotropy: look.anisotropy.clamp(-0.9, 0.9),
            glow,
        }
    }

    /// Light along one of a pixel's rays.
    fn trace(&self, camera: &Camera, x: u32, y: u32, sample: u32, samples: u32) -> Vec3A {
        // Each ray of a pixel has its own part of the pixel and of the first step.
        let part = (sample as f32 + 0.5) / samples as f32;
        let [sx, sy] = [part, (0.5 + 0.618_034 * sample as f32).fract()];
        let (px, py) = (x as f32 + sx, y as f32 + sy);
        let ray = camera.ray(px, py);
        let place = Place { sample, noise: [hash01(x, y, 1), hash01(x, y, 2)] };
        let jitter = (hash01(x, y, 3) + (0.5 + 0.754_877_7 * sample as f32)).fract();

        let hit = self.surfaces.solids.nearest(&ray, f32::INFINITY);
        let ground = self.surfaces.ground.map(|h| (h - ray.origin.y) / ray.direction.y).filter(|&t| t > 0.0);
        let solid_at = hit.map_or(f32::INFINITY, |h| h.t);
        let ground_at = ground.unwrap_or(f32::INFINITY);
        let (mut light, clear) = self.march(&ray, solid_at.min(ground_at), jitter);
        if clear > 0.0 {
            light += clear
                * match hit {
                    Some(hit) if solid_at < ground_at => self.surfaces.shade_solid(&ray, &hit, &self.field, place),
                    _ if ground_at < f32::INFINITY => {
                        let point = ray.at(ground_at);
                        self.sweep.at(px, py) * self.surfaces.shade_ground(point, &self.field, place)
                    }
                    _ => self.sweep.at(px, py),
                };
        }
        light
    }

    /// Light that the smoke sends along the ray up to distance `limit`, and how clear it leaves what is behind.
    fn march(&self, ray: &Ray, limit: f32, jitter: f32) -> (Vec3A, f32) {
        let lattice = &self.smoke.lattice;
        let Some((near, far)) = ray.clip(lattice.origin, lattice.upper()) else {
            return (Vec3A::ZERO, 1.0);
        };
        let far = far.min(limit);
        let inverse = ray.direction.recip();
        let lights = self.phased_lights(ray);

        let (mut light, mut clear) = (Vec3A::ZERO, 1.0);
        let mut n = 0.0;
        loop {
            let t = near + (n + jitter) * self.step;
            if t >= far {
                break;
            }
            let point = ray.at(t);
            if let Some(exit) = self.smoke.empty_until(ray, inverse, point) {
                n = (n + 1.0).max(((exit - near) / self.step - jitter).ceil());
                continue;
            }
            n += 1.0;
            let density = lattice.sample(&self.smoke.density, point);
            if density < 1e-4 {
                continue;
            }
            let passed = (-self.extinction * density * self.step).exp();
            let arriving = self.field.lattice.sample(&self.field.inside, point);
            let [key, soft, rim, sky] = lights;
            let mut source = key * arriving.x + soft * arriving.y + rim * arriving.z + sky * arriving.w;
            if let Some(glow) = &self.glow {
                source += glow.at(point);
            }
            light += clear * (1.0 - passed) * source;
            clear *= passed;
            if clear < OPAQUE {
                return (light / (1.0 - clear), 0.0);
            }
        }
        (light, clear)
    }

    /// What a ray sees of each kind of light in the smoke: key, key scattered several times, rim, sky.
    fn phased_lights(&self, ray: &Ray) -> [Vec3A; 4] {
        // Henyey and Greenstein's function, 1 on average.
        let phase = |lamp: &Lamp, g: f32| {
            let cosine = lamp.toward.dot(ray.direction);
            (1.0 - g * g) / (1.0 + g * g - 2.0 * g * cosine).powf(1.5)
        };
        let g = self.anisotropy;
        let Surfaces { key, rim, sky, .. } = &self.surfaces;
        [
            self.smoke_colour * key.light * (0.62 * phase(key, g)),
            // Each scattering takes a little of the colour, and most of the direction.
            self.smoke_colour * self.smoke_colour * key.light * (0.5 * phase(key, 0.35 * g)),
            self.smoke_colour * rim.light * (0.5 * phase(rim, g)),
            self.smoke_colour * *sky,
        ]
    }
}

impl Glow {
    fn at(&self, point: Vec3A) -> Vec3A {
        let kelvin = AMBIENT + self.scale * self.lattice.sample(&self.temperature, point).max(0.0);
        // Nothing glows visibly below about 750 K.
        if kelvin < 750.0 { Vec3A::ZERO } else { self.strength * heat(kelvin) }
    }
}

/// How much finer than the simulation the density must be so that its cells cover about three pixels.
fn refinement(grid: &Grid, camera: &Camera) -> usize {
    let middle = (0.5 * (grid.origin + grid.upper())).as_vec3a();
    let pixels = grid.dx as f32 / camera.pixel_at(middle);
    let affordable = (MAX_FINE_CELLS / grid.cells() as f32).cbrt();
    ((pixels / 3.0).min(affordable) as usize).clamp(1, 4)
}
