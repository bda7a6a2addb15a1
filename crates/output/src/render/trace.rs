//! The picture of a three-dimensional frame: a few rays per pixel through smoke to solids, ground or backdrop.

use super::backdrop::Sweep;
use super::bvh::Hit;
use super::camera::{Camera, Ray};
use super::colour::{even_noise, hash01, heat, linear};
use super::cover::Cover;
use super::effort::Effort;
use super::interface::{GLASS, cross};
use super::light::LightField;
use super::motion::{Moving, Shutter};
use super::sampling::{Seen, smooth};
use super::settings::RenderSettings;
use super::shade::{Arriving, Lamp, Place, Surfaces};
use super::volume::{Block, Lattice, Smoke, dissolved};
use crate::frame::{Frame, SmokeFrame};
use crate::picture::Image;
use bathtub_engine::grid::Grid;
use glam::Vec3A;

/// Optical depth of smoke of density 1 across the domain, where the settings leave the extinction open.
const DEFAULT_DEPTH: f32 = 45.0;
/// Cells of the density that a picture may use.
const MAX_FINE_CELLS: f32 = 24e6;
/// Length of a step through the smoke, cells of the simulation, where one ray per pixel goes through it and where
/// several do.
const STEPS: [f32; 2] = [0.9, 1.2];
/// Cells that cover fewer pixels than this need more than one ray per pixel.
const SMOOTH_PIXELS: f32 = 2.0;
/// Pixels between those that are looked at in any case, where smoke is smooth.
const APART: usize = 4;
/// Below this, what is behind the smoke no longer shows.
const OPAQUE: f32 = 0.015;
/// Surfaces of glass that a ray may pass.
const GLASS_SURFACES: usize = 12;
/// Room temperature, K.
const AMBIENT: f32 = 293.0;

/// Draw a frame.
pub fn render(frame: &Frame, smoke: &SmokeFrame, shutter: Option<&Shutter>, settings: &RenderSettings) -> Image {
    let camera = Camera::new(&settings.camera, settings.size, &frame.grid);
    let stage = Stage::new(frame, smoke, settings, &camera);
    let samples = settings.rays();
    let look = |x: u32, y: u32| {
        let sights: Vec<Sight> = (0..samples).map(|sample| stage.look(&camera, x, y, sample, samples)).collect();
        Seen { light: stage.pixel(&sights, x, y), distance: sights[0].distance, thing: stage.thing(&sights) }
    };
    let mut image = smooth(camera.size, if stage.smooth { APART } else { 1 }, settings, look);
    if let Some(shutter) = shutter {
        image.blur(|x, y| stage.moving(&stage.look(&camera, x, y, 0, 1), shutter));
    }
    image.bytes(settings.exposure)
}

/// What one of a pixel's rays meets, smoke aside.
#[derive(Clone, Copy)]
struct Sight {
    ray: Ray,
    /// Where in the picture, pixels.
    at: [f32; 2],
    target: Target,
    /// Distance to it, m.
    distance: f32,
    /// Whether there is glass before it.
    through_glass: bool,
}

#[derive(Clone, Copy)]
enum Target {
    Solid(Hit),
    Ground,
    Backdrop,
}

impl Target {
    /// Which thing it is; rays of one pixel that meet the same need not be treated apart.
    fn kind(&self) -> usize {
        match self {
            Target::Backdrop => 0,
            Target::Ground => 1,
            Target::Solid(hit) => 2 + hit.body,
        }
    }
}

/// Everything that a ray may meet.
struct Stage {
    smoke: Smoke,
    field: LightField,
    surfaces: Surfaces,
    /// Where these may be seen.
    cover: Cover,
    sweep: Sweep,
    /// Extinction of density 1, 1/m.
    extinction: f32,
    /// Length of a step, m; the same for all pixels, because brightness depends on it a little.
    step: f32,
    /// Whether smoke is smooth enough for one ray per pixel.
    smooth: bool,
    smoke_colour: Vec3A,
    anisotropy: f32,
    glow: Option<Glow>,
    effort: Effort,
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
    fn new(frame: &Frame, content: &SmokeFrame, settings: &RenderSettings, camera: &Camera) -> Self {
        let grid = &frame.grid;
        let lattice = Lattice::of(grid);
        let width = (lattice.upper() - lattice.origin).min_element();
        let extinction = settings.smoke.extinction.unwrap_or(DEFAULT_DEPTH / width);
        let density = dissolved(&content.density, &settings.open_sides);
        let sigma = lattice.fill(|at| density[at].max(0.0) * extinction);
        let surfaces = Surfaces::new(&frame.surfaces, settings, lattice.origin, lattice.upper());
        let field = LightField::new(lattice, sigma, &surfaces.solids, settings);
        let smooth = cell_pixels(grid, camera) > SMOOTH_PIXELS;
        let look = &settings.smoke;
        let glow = (look.glow > 0.0).then(|| Glow {
            lattice,
            temperature: lattice.fill(|at| content.temperature[at]),
            strength: look.glow,
            scale: look.glow_scale,
        });
        Self {
            smoke: Smoke::new(grid, &density, refinement(grid, camera)),
            field,
            surfaces,
            cover: Cover::new(camera, frame.surfaces.iter().map(|surface| &surface.mesh)),
            sweep: Sweep::new(&settings.backdrop, camera.size),
            extinction,
            step: STEPS[usize::from(!smooth)] * lattice.cell,
            smooth,
            smoke_colour: linear(look.colour),
            anisotropy: look.anisotropy.clamp(-0.9, 0.9),
            glow,
            effort: Effort::of(settings.quality),
        }
    }

    /// Send one of a pixel's rays; each has its own part of the pixel.
    fn look(&self, camera: &Camera, x: u32, y: u32, sample: u32, samples: u32) -> Sight {
        let part = [(sample as f32 + 0.5) / samples as f32, (0.5 + 0.618_034 * sample as f32).fract()];
        let at = [x as f32 + part[0], y as f32 + part[1]];
        let ray = camera.ray(at[0], at[1]);
        let ground = self.surfaces.ground.map(|h| (h - ray.origin.y) / ray.direction.y).filter(|&t| t > 0.0);
        let ground = ground.unwrap_or(f32::INFINITY);
        let may_meet = self.cover.may_show(x, y);
        let (target, distance) = match may_meet.then(|| self.surfaces.solids.nearest(&ray, ground)).flatten() {
            Some(hit) => (Target::Solid(hit), hit.t),
            None if ground < f32::INFINITY => (Target::Ground, ground),
            None => (Target::Backdrop, f32::INFINITY),
        };
        let through_glass = may_meet && self.surfaces.glass.occluded(&ray, distance);
        Sight { ray, at, target, distance, through_glass }
    }

    /// What all rays of a pixel show of which those of pixels around it tell enough: smooth smoke before one thing that is no solid.
    fn thing(&self, sights: &[Sight]) -> Option<(u32, u32)> {
        let kind = sights[0].target.kind();
        let is_plain = |s: &Sight| s.target.kind() == kind && !s.through_glass && !matches!(s.target, Target::Solid(_));
        sights.iter().all(is_plain).then_some((kind as u32, 0))
    }

    /// Light of a pixel, given what its rays meet.
    fn pixel(&self, sights: &[Sight], x: u32, y: u32) -> Vec3A {
        // Shadows show a regular pattern where smoke hides it.
        let noise = [hash01(x, y, 1), hash01(x, y, 2)];
        let place = |sample: usize| Place { sample: sample as u32, noise };
        let first = sights[0];
        if self.smooth && self.thing(sights).is_some() {
            // One ray through the smoke serves all. (Not so where it thins out towards a solid.)
            let (light, clear) = self.march(&first.ray, first.distance, even_noise(x, y));
            if clear == 0.0 {
                return light;
            }
            return light + clear * self.shade(&first, place(0));
        }
        let is_solid = matches!(first.target, Target::Solid(_));
        let is_same = |s: &Sight| is_solid && s.target.kind() == first.target.kind() && !s.through_glass;
        let every = if sights.iter().all(is_same) { self.effort.same_solid } else { 1 };
        let each = sights.iter().enumerate().step_by(every).map(|(n, sight)| {
            let jitter = (noise[0] + 0.754_877_7 * n as f32).fract();
            let (light, left) = match sight.through_glass {
                true => self.march_through_glass(sight, jitter),
                false => {
                    let (light, clear) = self.march(&sight.ray, sight.distance, jitter);
                    (light, Vec3A::splat(clear))
                }
            };
            if left == Vec3A::ZERO { light } else { light + left * self.shade(sight, place(n)) }
        });
        each.sum::<Vec3A>() / sights.len().div_ceil(every) as f32
    }

    /// Like `march`, past surfaces of glass: each reflects lights and sky, and between two the glass takes on its colour.
    /// The ray goes straight on.
    fn march_through_glass(&self, sight: &Sight, jitter: f32) -> (Vec3A, Vec3A) {
        let (mut light, mut left) = (Vec3A::ZERO, Vec3A::ONE);
        let (mut ray, mut rest) = (sight.ray, sight.distance);
        for _ in 0..GLASS_SURFACES {
            let hit = self.surfaces.glass.nearest(&ray, rest);
            let (scattered, clear) = self.march(&ray, hit.map_or(rest, |hit| hit.t), jitter);
            light += left * scattered;
            left *= clear;
            let Some(hit) = hit.filter(|_| clear > 0.0) else { break };
            let entering = hit.face_normal.dot(ray.direction) < 0.0;
            let crossing = cross(&ray, &hit, if entering { 1.0 / GLASS } else { GLASS });
            if !entering {
                left *= self.surfaces.through_glass(hit.body, hit.t);
            }
            // What is reflected within the glass leaves it again somewhere near, on the whole as much as is lost here.
            if entering {
                light += left * crossing.reflectance * self.surfaces.mirrored(crossing.reflected);
                left *= 1.0 - crossing.reflectance;
            }
            ray.origin = ray.at(hit.t) + self.surfaces.skin * ray.direction;
            rest -= hit.t + self.surfaces.skin;
        }
        (light, left)
    }

    /// Light of what a ray meets behind the smoke.
    fn shade(&self, sight: &Sight, place: Place) -> Vec3A {
        let backdrop = self.sweep.at(sight.at[0], sight.at[1]);
        match &sight.target {
            Target::Solid(hit) => {
                let toward_key = self.surfaces.key.toward;
                let arriving = |point| Arriving::through_smoke(&self.field, point, toward_key);
                self.surfaces.shade_solid(&sight.ray, hit, place, arriving)
            }
            Target::Ground => {
                let point = sight.ray.at(sight.distance);
                backdrop * self.surfaces.shade_ground(point, &self.field, place)
            }
            Target::Backdrop => backdrop,
        }
    }

    /// Light that the smoke sends along the ray up to distance `limit`, and how clear it leaves what is behind.
    fn march(&self, ray: &Ray, limit: f32, jitter: f32) -> (Vec3A, f32) {
        let lights = self.phased_lights(ray);
        let (mut light, mut clear) = (Vec3A::ZERO, 1.0);
        let mut source = Vec3A::ZERO;
        // Light from outside changes little from step to step: it is looked up at every other.
        let mut source_is_due = true;
        self.through_smoke(ray, limit, jitter, |point, _, depth, is_after_gap| {
            if source_is_due || is_after_gap {
                let arriving = self.field.lattice.sample(&self.field.inside, point);
                let [key, soft, rim, sky] = lights;
                source = key * arriving.x + soft * arriving.y + rim * arriving.z + sky * arriving.w;
                if let Some(glow) = &self.glow {
                    source += glow.at(point);
                }
                source_is_due = true;
            }
            source_is_due = !source_is_due || self.glow.is_some();
            let passed = (-depth).exp();
            light += clear * (1.0 - passed) * source;
            clear *= passed;
            clear >= OPAQUE
        });
        if clear < OPAQUE { (light / (1.0 - clear), 0.0) } else { (light, clear) }
    }

    /// How what a ray shows moves while the shutter is open: smoke and what is behind it by how much is seen of each.
    fn moving(&self, sight: &Sight, shutter: &Shutter) -> Moving {
        let ray = &sight.ray;
        let glass = sight.through_glass.then(|| self.surfaces.glass.nearest(ray, sight.distance)).flatten();
        let (distance, velocity) = match (&glass, &sight.target) {
            (Some(hit), _) | (None, Target::Solid(hit)) => (hit.t, shutter.solid(hit)),
            (None, Target::Ground | Target::Backdrop) => (sight.distance, Vec3A::ZERO),
        };
        let behind = shutter.way(ray, distance, velocity);
        let (mut clear, mut sum) = (1.0, 0.0);
        self.through_smoke(ray, distance, 0.5, |_, t, depth, _| {
            let passed = (-depth).exp();
            sum += clear * (1.0 - passed) * t;
            clear *= passed;
            clear >= OPAQUE
        });
        if clear == 1.0 {
            return Moving { distance, way: behind };
        }
        let middle = sum / (1.0 - clear);
        let smoke = shutter.way(ray, middle, shutter.fluid(ray.at(middle)));
        Moving { distance: if clear < 0.5 { middle } else { distance }, way: smoke.lerp(behind, clear) }
    }

    /// Call `meet` with points of a ray in smoke up to a distance, how far away each is, the optical depth of a step there, and whether there was none just before;
    /// until it returns false.
    #[inline(always)]
    fn through_smoke(&self, ray: &Ray, limit: f32, jitter: f32, mut meet: impl FnMut(Vec3A, f32, f32, bool) -> bool) {
        let lattice = &self.smoke.lattice;
        let Some((near, far)) = ray.clip(lattice.origin, lattice.upper()) else { return };
        let (far, step) = (far.min(limit), self.step);
        let inverse = ray.direction.recip();
        let mut is_after_gap = false;
        let mut smoky_until = near;
        let mut n = 0.0;
        loop {
            // The last step ends where the ray does, so that thin smoke on a solid shows no pattern of whole steps.
            let start = near + n * step;
            if start >= far {
                break;
            }
            let length = step.min(far - start);
            let t = start + jitter * length;
            let point = ray.at(t);
            if t >= smoky_until {
                match self.smoke.block(ray, inverse, point) {
                    Block::Empty { until } => {
                        n = (n + 1.0).max(((until - near) / step - jitter).ceil());
                        is_after_gap = true;
                        continue;
                    }
                    Block::Smoky { until } => smoky_until = until,
                }
            }
            n += 1.0;
            let density = lattice.sample(&self.smoke.density, point);
            if density < 1e-4 {
                continue;
            }
            if !meet(point, t, self.extinction * density * length, is_after_gap) {
                break;
            }
            is_after_gap = false;
        }
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
            self.smoke_colour * key.light * (0.40 * phase(key, g)),
            // Each scattering takes a little of the colour, and most of the direction.
            self.smoke_colour * self.smoke_colour * key.light * (0.24 * phase(key, 0.35 * g)),
            self.smoke_colour * rim.light * (0.32 * phase(rim, g)),
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

/// Pixels that a cell in the middle of the domain covers.
fn cell_pixels(grid: &Grid, camera: &Camera) -> f32 {
    let middle = (0.5 * (grid.origin + grid.upper())).as_vec3a();
    grid.dx as f32 / camera.pixel_at(middle)
}

/// How much finer than the simulation the density must be so that its cells cover about three pixels.
fn refinement(grid: &Grid, camera: &Camera) -> usize {
    let affordable = (MAX_FINE_CELLS / grid.cells() as f32).cbrt();
    ((cell_pixels(grid, camera) / 3.0).min(affordable) as usize).clamp(1, 4)
}

/// Bytes of the refined density while it is made, if smoke is everywhere: two arrays.
pub fn density_bytes(grid: &Grid, settings: &RenderSettings) -> f64 {
    let camera = Camera::new(&settings.camera, settings.size, grid);
    8.0 * grid.cells() as f64 * (refinement(grid, &camera) as f64).powi(3)
}

#[cfg(test)]
mod tests {
    use super::super::render;
    use super::super::{Backdrop, Material, Quality, SolidLook};
    use super::*;
    use crate::frame::{Surface, Visible};
    use bathtub_engine::geometry::TriMesh;
    use bathtub_engine::grid::CellField;
    use glam::DVec3;

    /// A ball of smoke of radius `smoke` and, if asked for, a tetrahedron of edge 0.5, in a unit cube.
    fn frame(smoke: f64, with_solid: bool) -> Frame {
        let grid = Grid::new([16, 16, 16], 1.0 / 16.0, DVec3::ZERO);
        let mut density = CellField::new(&grid, 0.0);
        for (n, d) in density.data.iter_mut().enumerate() {
            let r = (grid.cell_centre(grid.cell_at(n)) - 0.5).length();
            *d = if r < smoke { 1.0 } else { 0.0 };
        }
        let corner = DVec3::splat(0.3);
        let vertices = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|v| corner + 0.5 * v).to_vec();
        let triangles = vec![[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]];
        let surface =
            Surface { name: "tet".into(), mesh: TriMesh { vertices, triangles }, velocities: vec![], moves: false };
        let surfaces = if with_solid { vec![surface] } else { vec![] };
        let (temperature, velocity) = (CellField::new(&grid, 0.0), CellField::new(&grid, [0.0; 3]));
        Frame {
            index: 0,
            time: 0.0,
            grid,
            fluid: Visible::Smoke(SmokeFrame { density, temperature }),
            velocity,
            surfaces,
        }
    }

    fn settings() -> RenderSettings {
        let backdrop = Backdrop { ground: false, ..Default::default() };
        RenderSettings { size: Some([64, 64]), backdrop, ..Default::default() }
    }

    fn middle(image: &Image) -> [u8; 3] {
        let at = 3 * (32 + 64 * 32);
        image.pixels[at..at + 3].try_into().unwrap()
    }

    #[test]
    fn the_same_pixels_on_any_number_of_threads() {
        let frame = frame(0.3, true);
        let settings = RenderSettings { size: Some([64, 64]), ..Default::default() };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| render(&frame, &settings))
        };
        assert_eq!(on(1), on(2));
    }

    #[test]
    fn smoke_is_bright_before_a_dark_backdrop_and_ends_at_its_edge() {
        let [empty, smoky] = [0.0, 0.3].map(|r| render(&frame(r, false), &settings()));
        assert!(middle(&smoky)[1] > middle(&empty)[1] + 60);
        assert_eq!(smoky.pixels[..30], empty.pixels[..30], "the corner shows the backdrop only");
    }

    #[test]
    fn a_solid_shows_its_colour_and_thick_smoke_hides_it() {
        let red = RenderSettings { solids: vec![[0.9, 0.1, 0.1]], ..settings() };
        let bare = middle(&render(&frame(0.0, true), &red));
        assert!(bare[0] > bare[2] + 25, "{bare:?}");
        let hidden = middle(&render(&frame(0.49, true), &red));
        assert!(hidden[0].abs_diff(hidden[2]) < 25, "{hidden:?}");
    }

    /// The light side of a ball of smoke is brighter than the far side: it shadows itself.
    #[test]
    fn smoke_shadows_itself() {
        let mut lit = settings();
        lit.camera.azimuth = 0.0;
        lit.camera.elevation = 0.0;
        lit.rim.strength = 0.0;
        lit.key.direction = DVec3::NEG_X;
        let image = render(&frame(0.4, false), &lit);
        let at = |x: usize| i32::from(image.pixels[3 * (x + 64 * 32) + 1]);
        assert!(at(20) > at(44) + 25, "{} {}", at(20), at(44));
    }

    /// Half of a pixel's rays show a solid in smoke as all do, but for noise: 2 of 255 on the mean.
    #[test]
    fn a_preview_of_a_solid_in_smoke_is_like_the_final_picture() {
        let draw = |quality: Quality| {
            let frame = frame(0.25, true);
            render(&frame, &RenderSettings { quality, samples: Some(4), ..settings() }).pixels
        };
        let [preview, full] = [Quality::Preview, Quality::Final].map(draw);
        let off: u32 = preview.iter().zip(&full).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
        assert!(off > 0 && f64::from(off) < 2.0 * preview.len() as f64, "{off} of {}", preview.len());
    }

    /// A tetrahedron of glass shows the smoke behind it; an opaque one hides it.
    #[test]
    fn smoke_shows_through_glass() {
        let picture = |with_solid: bool, colour: [f32; 3], look: SolidLook| {
            let mut frame = frame(0.0, with_solid);
            let Visible::Smoke(smoke) = &mut frame.fluid else { unreachable!("a frame of smoke") };
            // Where the ray through the middle of the picture goes on behind the tetrahedron.
            for (n, d) in smoke.density.data.iter_mut().enumerate() {
                let r = (frame.grid.cell_centre(frame.grid.cell_at(n)) - DVec3::new(0.3, 0.42, 0.16)).length();
                *d = if r < 0.14 { 1.0 } else { 0.0 };
            }
            let materials = [("tet".into(), Material::new(colour, look))].into();
            middle(&render(&frame, &RenderSettings { materials, ..settings() }))
        };
        let (red, clear) = ([0.9, 0.1, 0.1], [0.97, 0.97, 0.97]);
        let behind = picture(false, clear, SolidLook::Matte);
        let glass = picture(true, clear, SolidLook::Glass);
        let opaque = picture(true, red, SolidLook::Matte);
        assert!((0..3).all(|c| glass[c].abs_diff(behind[c]) < 45), "{glass:?} {behind:?}");
        assert!(opaque[0] > opaque[2] + 25 && glass[0].abs_diff(glass[2]) < 25, "{opaque:?} {glass:?}");
    }
}
