//! The picture of water: a few rays per pixel that its surface, and that of glass, splits into a reflected and a refracted part.
//!
//! Inside the water and the glass, light fades with distance by colour (Beer and Lambert) and takes on a little haze. Rays end
//! at solids, at the floor, or in the surroundings (`studio`); the floor is lit by what the water lets through (`caustics`). The medium of a ray
//! follows from the side on which it meets a triangle, so a gap or an overlap of the mesh spoils one ray only. Water reaches a little into
//! solids; where it overlaps with glass there is glass, so light goes from one into the other without air between (`medium`).
//!
//! Not done: light that solids under water receive through waves (they get the light of a flat surface), foam, a
//! camera inside the water whose picture shows no water surface.

mod caustics;
mod medium;
mod outline;
mod studio;

pub use studio::WHITE;

use super::WaterScene;
use super::bvh::{Hit, Solids};
use super::camera::{Camera, Ray};
use super::colour::{hash01, linear};
use super::cover::Cover;
use super::effort::Effort;
use super::interface::cross;
use super::motion::{Moving, Shutter};
use super::sampling::{Seen, sampled};
use super::settings::RenderSettings;
use super::shade::{Arriving, DIFFUSE, Place, SKY_MEAN, Surfaces};
use crate::picture::Image;
use caustics::FloorLight;
use glam::Vec3A;
use medium::Medium;
use outline::Outline;
use studio::Studio;

/// A ray may be split or bent this often, and go through this many surfaces of glass besides.
const DEPTH: u8 = 8;
const GLASS_SURFACES: u8 = 16;
/// From this split on, what is reflected outside is the surroundings only.
const COARSE_DEPTH: u8 = 2;
/// A single ray counts at most this much, so that tiny drops before a light do not sparkle.
const BRIGHTEST: f32 = 6.0;
/// Light from the walls of the studio, as a part of the key light.
const FILL: f32 = 0.3;
/// The sky of a bright studio, relative to that of the dark one in which smoke is shown.
const BRIGHT_SKY: f32 = 2.4;
/// Depth at which water has its colour where the settings leave it open, in domain sizes.
const DEFAULT_DEPTH: f32 = 0.7;
/// Colour of the domain's outline.
const LINE: [f32; 3] = [0.16, 0.22, 0.28];
/// What is left of it before water and solids, whose own shape it would hide.
const LINE_BEFORE_THINGS: f32 = 0.3;
/// The pattern of the floor is seen where it gives more than this part of a pixel's light.
const PLAIN: f32 = 0.1;
/// From this split on, a ray that comes from within goes the way that most of its light takes: what is reflected there or what leaves.
const ONE_WAY_DEPTH: u8 = 2;

/// Draw water.
pub fn render(scene: &WaterScene, shutter: Option<&Shutter>, settings: &RenderSettings) -> Image {
    let camera = Camera::new(&settings.camera, settings.size, scene.grid);
    let (low, high) = (scene.grid.origin.as_vec3a(), scene.grid.upper().as_vec3a());
    let stage = Scene::new(scene, settings, &camera);
    let floor = stage.surfaces.ground.map(|y| FloorLight::new(&stage, y, low, high));
    let cover = Cover::new(&camera, scene.surfaces.iter().map(|surface| &surface.mesh).chain([scene.water]));
    let outline = settings.water.outline.then(|| Outline::new(&camera, low, high));
    let line = linear(LINE);

    let samples = settings.rays() as f32;
    let look = |x: u32, y: u32, sample: u32| {
        let (right, down) = ((sample as f32 + 0.5) / samples, (0.5 + 0.618_034 * sample as f32).fract());
        let noise = [hash01(x, y, 1), hash01(x, y, 2)];
        let ray = camera.ray(x as f32 + right, y as f32 + down);
        stage.look(ray, cover.may_show(x, y), floor.as_ref(), Place { sample, noise })
    };
    let mut image = sampled(camera.size, settings, look);
    if let Some(shutter) = shutter {
        image.blur(|x, y| stage.moving(&camera.ray(x as f32 + 0.5, y as f32 + 0.5), cover.may_show(x, y), shutter));
    }
    if let Some(outline) = &outline {
        image.draw(|x, y, seen| {
            let is_before = seen.thing.is_some_and(|(thing, _)| thing >= NOT_BEHIND);
            let fading = if is_before { LINE_BEFORE_THINGS } else { 1.0 };
            seen.light.lerp(line, fading * outline.opacity(x, y, seen.distance))
        });
    }
    image.bytes(settings.exposure)
}

/// Everything that a ray may meet.
struct Scene {
    /// Water, solids and glass in one tree.
    things: Solids,
    /// The number of the water among the bodies.
    water: usize,
    surfaces: Surfaces,
    studio: Studio,
    /// Absorption by colour, 1/m.
    absorption: Vec3A,
    /// Scattering, 1/m, and the light that it sends to the viewer.
    haze: f32,
    haze_light: Vec3A,
    refraction: f32,
    /// What a pixel covers at a distance of 1.
    pixel: f32,
    /// Distance that keeps a ray from meeting the surface that it leaves, m.
    skin: f32,
    /// Water this near to the floor lies on it, m.
    on_floor: f32,
    effort: Effort,
}

/// A ray on its way.
#[derive(Clone, Copy)]
struct Path {
    ray: Ray,
    /// How far it has come, m.
    travelled: f32,
    /// What is left of its light.
    weight: Vec3A,
    medium: Medium,
    depth: u8,
    /// Surfaces of glass that it went through.
    glass_surfaces: u8,
}

/// Things with lower numbers than this are behind all others.
const NOT_BEHIND: u32 = 2;

/// What a ray meets first.
enum Target {
    Solid(Hit),
    Water(Hit),
    Glass(Hit),
    /// Dry, or through water that lies on it.
    Floor,
    Surroundings,
}

impl Target {
    /// Which thing it is.
    fn thing(&self) -> u32 {
        match self {
            Self::Surroundings => 0,
            Self::Floor => 1,
            Self::Water(_) => NOT_BEHIND,
            Self::Glass(hit) | Self::Solid(hit) => NOT_BEHIND + 1 + hit.body as u32,
        }
    }
}

impl Scene {
    fn new(scene: &WaterScene, settings: &RenderSettings, camera: &Camera) -> Self {
        let (low, high) = (scene.grid.origin.as_vec3a(), scene.grid.upper().as_vec3a());
        let mut surfaces = Surfaces::new(scene.surfaces, settings, low, high);
        surfaces.sky *= BRIGHT_SKY;
        surfaces.fill = FILL * surfaces.key.light;
        let look = &settings.water;
        let depth = look.depth.unwrap_or(DEFAULT_DEPTH * surfaces.reach);
        let colour = linear(look.colour).max(Vec3A::splat(1e-4));
        let arriving = surfaces.sky * SKY_MEAN + 0.5 * DIFFUSE * surfaces.key.light;
        let dx = scene.grid.dx as f32;
        // The lower face of water that lies on the floor is the floor.
        let (ground, on_floor) = (surfaces.ground, 0.02 * dx);
        let is_on_floor = |point: Vec3A| ground.is_some_and(|y| (point.y - y).abs() < on_floor);
        let water = scene.surfaces.len();
        let others = [&surfaces.glass, &surfaces.solids];
        Self {
            things: Solids::with_liquid(others, (scene.water, water), scene.grid, is_on_floor),
            water,
            studio: Studio::new(look, &surfaces.key, &surfaces.rim, camera.forward(), [low, high]),
            absorption: Vec3A::from(colour.to_array().map(|c| -c.ln() / depth)),
            haze: -(1.0 - look.haze).max(1e-4).ln() / depth,
            haze_light: arriving * colour,
            refraction: look.refraction,
            pixel: camera.pixel(),
            skin: 2e-3 * dx,
            on_floor,
            effort: Effort::of(settings.quality),
            surfaces,
        }
    }

    /// What a ray from the camera shows, and whether it may meet more than what is behind everything.
    fn look(&self, ray: Ray, may_meet: bool, floor: Option<&FloorLight>, place: Place) -> Seen {
        let mut light = Vec3A::ZERO;
        let mut first = None;
        let mut tiles = 0u32;
        let start = Path { ray, travelled: 0.0, weight: Vec3A::ONE, medium: Medium::AIR, depth: 0, glass_surfaces: 0 };
        // Most rays go on as one.
        let (mut next, mut waiting) = (Some(start), Vec::new());
        while let Some(path) = next.take().or_else(|| waiting.pop()) {
            let Path { ray, travelled, mut weight, medium, depth, glass_surfaces } = path;
            let (target, distance) = if may_meet { self.meet(&ray, medium, depth) } else { self.behind(&ray) };
            first.get_or_insert((distance, target.thing()));
            let travelled = travelled + distance;
            if distance < f32::INFINITY {
                let clear = if medium.is_water() { (-self.haze * distance).exp() } else { 1.0 };
                light += weight * self.haze_light * (1.0 - clear);
                weight *= clear * self.transmitted(medium, distance);
            }
            let point = ray.at(distance);
            match target {
                Target::Solid(hit) => {
                    let arriving = |start| self.arriving(start, medium.is_water());
                    light += weight * self.surfaces.shade_solid(&ray, &hit, place, arriving);
                }
                Target::Floor => {
                    light += weight * self.floor(point, self.covers(&ray, travelled), floor);
                    if weight.max_element() > PLAIN && depth + glass_surfaces <= self.effort.joints {
                        tiles = self.studio.tile(point).wrapping_add(31u32.wrapping_mul(tiles));
                    }
                }
                Target::Surroundings if depth == 0 && glass_surfaces == 0 => {
                    light += weight * self.studio.backdrop(ray.direction);
                }
                Target::Surroundings if depth == 0 => light += weight * self.studio.through_glass(ray.direction),
                Target::Surroundings => light += weight * self.studio.sky(ray.direction),
                Target::Water(hit) | Target::Glass(hit) => {
                    let [here, beyond] = medium.sides(&target, &ray, &hit);
                    let crossing = cross(&ray, &hit, here.index(self.refraction) / beyond.index(self.refraction));
                    // What goes through glass is hardly bent on the whole: that does not count as a split.
                    let is_pane = here.glass.is_some() || beyond.glass.is_some();
                    let faint = self.effort.faint[usize::from(depth > 0 || glass_surfaces > 0)];
                    // What has been split often enough sees the surroundings, and no more; within glass it is lost, which darkens the rims.
                    let mut go_on = |direction: Vec3A, part: f32, medium: Medium, depth: u8, glass_surfaces: u8| {
                        let weight = weight * part;
                        if weight.max_element() <= faint {
                            return Vec3A::ZERO;
                        }
                        let side = hit.face_normal * direction.dot(hit.face_normal).signum();
                        let ray = Ray { origin: point + self.skin * side, direction };
                        if depth > DEPTH || glass_surfaces > GLASS_SURFACES {
                            let is_lost = medium.glass.is_some();
                            return if is_lost { Vec3A::ZERO } else { weight * self.surroundings(&ray, travelled) };
                        }
                        waiting.extend(next.replace(Path { ray, travelled, weight, medium, depth, glass_surfaces }));
                        Vec3A::ZERO
                    };
                    let one_way = depth >= ONE_WAY_DEPTH && (here.in_water || here.glass.is_some());
                    let reflectance = match one_way {
                        true => crossing.reflectance.round(),
                        false => crossing.reflectance,
                    };
                    if let Some(direction) = crossing.refracted {
                        let (depth, glass_surfaces) =
                            if is_pane { (depth, glass_surfaces + 1) } else { (depth + 1, glass_surfaces) };
                        light += go_on(direction, 1.0 - reflectance, beyond, depth, glass_surfaces);
                    }
                    let mirrored = weight * reflectance;
                    if !here.is_water() && mirrored.max_element() < self.effort.faint_mirror[usize::from(is_pane)] {
                        light += mirrored
                            * self.surroundings(&Ray { origin: point, direction: crossing.reflected }, travelled);
                    } else {
                        light += go_on(crossing.reflected, reflectance, here, depth + 1, glass_surfaces);
                    }
                }
            }
        }
        // Between two tiles is a joint.
        let (distance, thing) =
            first.map_or((f32::INFINITY, None), |(distance, thing)| (distance, Some((thing, tiles))));
        Seen { light: light.min(Vec3A::splat(BRIGHTEST)), distance, thing }
    }

    /// How what a ray from the camera meets first moves while the shutter is open.
    fn moving(&self, ray: &Ray, may_meet: bool, shutter: &Shutter) -> Moving {
        let (target, distance) = if may_meet { self.meet(ray, Medium::AIR, 0) } else { self.behind(ray) };
        let velocity = match &target {
            Target::Surroundings | Target::Floor => Vec3A::ZERO,
            Target::Water(hit) => shutter.fluid(ray.at(hit.t)),
            Target::Glass(hit) | Target::Solid(hit) => shutter.solid(hit),
        };
        Moving { distance, way: shutter.way(ray, distance, velocity) }
    }

    /// How much of the floor a pixel covers along x and z, m, when its ray has come this far.
    fn covers(&self, ray: &Ray, travelled: f32) -> [f32; 2] {
        let across = self.pixel * travelled;
        [ray.direction.x, ray.direction.z].map(|along| across * (along / ray.direction.y).hypot(1.0))
    }

    /// What a ray that has come this far would see if there were nothing but the surroundings.
    fn surroundings(&self, ray: &Ray, travelled: f32) -> Vec3A {
        match self.behind(ray) {
            (Target::Floor, t) => self.studio.floor(ray.at(t), self.covers(ray, travelled + t), Vec3A::ONE),
            _ => self.studio.sky(ray.direction),
        }
    }

    /// What is behind everything, and how far away.
    fn behind(&self, ray: &Ray) -> (Target, f32) {
        let ground = self.surfaces.ground.map(|h| (h - ray.origin.y) / ray.direction.y).filter(|&t| t > 0.0);
        ground.map_or((Target::Surroundings, f32::INFINITY), |t| (Target::Floor, t))
    }

    /// What a ray meets first, and how far away.
    fn meet(&self, ray: &Ray, medium: Medium, depth: u8) -> (Target, f32) {
        let behind = self.behind(ray);
        if !medium.is_water() && depth > COARSE_DEPTH {
            let glass = self.surfaces.glass.nearest(ray, behind.1);
            let solid = self.surfaces.solids.nearest(ray, glass.map_or(behind.1, |hit| hit.t));
            return self.target(ray, solid.or(glass)).unwrap_or(behind);
        }
        self.target(ray, self.things.nearest(ray, behind.1)).unwrap_or(behind)
    }

    /// What was met, unless it is the floor: the lower face of water or glass that lies on it.
    fn target(&self, ray: &Ray, hit: Option<Hit>) -> Option<(Target, f32)> {
        let hit = hit?;
        let is_water = hit.body == self.water;
        if !is_water && !self.surfaces.is_glass(hit.body) {
            return Some((Target::Solid(hit), hit.t));
        }
        let is_floor = hit.face_normal.y < -0.9 && self.is_on_floor(ray.at(hit.t));
        (!is_floor).then_some((if is_water { Target::Water(hit) } else { Target::Glass(hit) }, hit.t))
    }

    fn is_on_floor(&self, point: Vec3A) -> bool {
        self.surfaces.ground.is_some_and(|y| (point.y - y).abs() < self.on_floor)
    }

    /// What is left of light after a distance.
    fn transmitted(&self, medium: Medium, distance: f32) -> Vec3A {
        match medium.glass {
            Some(body) => self.surfaces.through_glass(body, distance),
            None if medium.is_water() => self.through_water(distance),
            None => Vec3A::ONE,
        }
    }

    fn through_water(&self, distance: f32) -> Vec3A {
        Vec3A::from((self.absorption * -distance).to_array().map(f32::exp))
    }

    /// What the water lets through to a point in it, or that it shadows.
    fn arriving(&self, point: Vec3A, in_water: bool) -> Arriving {
        let through = |direction: Vec3A| {
            let hit = self.things.nearest_of(self.water, &Ray { origin: point, direction }, f32::INFINITY);
            match hit {
                Some(hit) if in_water => self.through_water(hit.t),
                // Some water between: its surface turns part of the light away.
                Some(_) => Vec3A::splat(0.92),
                None => Vec3A::ONE,
            }
        };
        let sky = if in_water { through(Vec3A::Y) } else { Vec3A::ONE };
        Arriving { key: through(self.surfaces.key.toward), sky }
    }

    /// Light of the floor.
    fn floor(&self, point: Vec3A, covers: [f32; 2], lit: Option<&FloorLight>) -> Vec3A {
        let key_light = DIFFUSE * self.surfaces.key.light * self.surfaces.key.toward.y.max(0.05);
        let full_sky = self.surfaces.sky * SKY_MEAN;
        let sky = lit.and_then(|lit| lit.sky.at(point)).unwrap_or(full_sky);
        let key = lit.and_then(|lit| lit.key.at(point)).unwrap_or(Vec3A::ONE);
        // Light from the walls of the studio keeps shadows from going black.
        let fill = FILL * key_light * key.clamp(Vec3A::splat(0.35), Vec3A::ONE);
        self.studio.floor(point, covers, (key_light * key + sky + fill) / (key_light + full_sky + FILL * key_light))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Surface;
    use crate::render::{Material, SolidLook};
    use bathtub_engine::geometry::{Pose, Shape, TriMesh};
    use bathtub_engine::grid::Grid;
    use glam::{DQuat, DVec3};

    /// The lower 0.6 m of a cubic metre as one block of water.
    fn block() -> TriMesh {
        let pose = Pose { position: DVec3::new(0.5, 0.3, 0.5), rotation: DQuat::IDENTITY };
        Shape::Box { size: DVec3::new(1.0, 0.6, 1.0) }.surface(1.0).posed(&pose)
    }

    fn ball() -> Vec<Surface> {
        let pose = Pose { position: DVec3::new(0.5, 0.25, 0.5), rotation: DQuat::IDENTITY };
        let mesh = Shape::Sphere { radius: 0.2 }.surface(0.05).posed(&pose);
        vec![Surface { name: "ball".into(), mesh, velocities: vec![], moves: false }]
    }

    const SIZE: usize = 144;

    /// The picture from a metre and a half before the front, level with the middle of the water.
    fn picture(water: &TriMesh, surfaces: &[Surface]) -> Image {
        picture_of(water, surfaces, &[(RED, SolidLook::Matte)])
    }

    const RED: [f32; 3] = [0.9, 0.2, 0.1];
    const CLEAR: [f32; 3] = [0.97, 0.97, 0.97];

    fn picture_of(water: &TriMesh, surfaces: &[Surface], looks: &[([f32; 3], SolidLook)]) -> Image {
        let grid = Grid::new([16; 3], 1.0 / 16.0, DVec3::ZERO);
        let materials =
            surfaces.iter().zip(looks).map(|(s, &(colour, look))| (s.name.clone(), Material::new(colour, look)));
        let materials = materials.collect();
        let mut settings = RenderSettings { size: Some([SIZE as u32; 2]), materials, ..Default::default() };
        settings.camera.from = Some(DVec3::new(0.5, 0.3, 2.5));
        settings.camera.at = Some(DVec3::new(0.5, 0.3, 0.5));
        render(&WaterScene { grid: &grid, surfaces, water }, None, &settings)
    }

    fn pixel(image: &Image, x: usize, y: usize) -> [i32; 3] {
        [0, 1, 2].map(|c| i32::from(image.pixels[3 * (x + image.width as usize * y) + c]))
    }

    #[test]
    fn the_same_pixels_on_any_number_of_threads() {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| picture(&block(), &ball()))
        };
        assert_eq!(on(1), on(2));
    }

    #[test]
    fn water_takes_red_from_what_is_seen_through_it() {
        let [dry, wet] =
            [TriMesh::default(), block()].map(|water| pixel(&picture(&water, &[]), SIZE / 2, SIZE / 2 + 12));
        assert!((dry[0] - dry[2]).abs() < 20, "{dry:?}");
        assert!(wet[2] > wet[0] + 40, "{wet:?}");
    }

    /// Through a plane face, what is 0.5 m behind it seems to be 0.5/1.333 m behind it: 2.0/1.875 times as wide from here.
    #[test]
    fn a_solid_shows_through_the_water_and_looks_nearer() {
        let width = |water: &TriMesh| {
            let [with, without] = [&ball()[..], &[]].map(|surfaces| picture(water, surfaces));
            let differs = |x: &usize| {
                let (p, q) = (pixel(&with, *x, SIZE / 2 + 6), pixel(&without, *x, SIZE / 2 + 6));
                (0..3).any(|c| p[c].abs_diff(q[c]) > 12)
            };
            (SIZE / 4..3 * SIZE / 4).filter(differs).count() as f32
        };
        let ratio = width(&block()) / width(&TriMesh::default());
        assert!((ratio - 2.0 / 1.875).abs() < 0.035, "{ratio}");
    }

    /// A pane 2 cm thick between the camera and the ball, which is cut in two by the pane's upper edge.
    fn ball_behind_pane() -> Vec<Surface> {
        let pose = Pose { position: DVec3::new(0.5, 0.13, 1.0), rotation: DQuat::IDENTITY };
        let mesh = Shape::Box { size: DVec3::new(1.0, 0.26, 0.02) }.surface(1.0).posed(&pose);
        let pane = Surface { name: "pane".into(), mesh, velocities: vec![], moves: false };
        ball().into_iter().chain([pane]).collect()
    }

    #[test]
    fn glass_shows_what_is_behind_it_and_another_solid_does_not() {
        let seen = |bodies: &[Surface], pane: SolidLook| {
            let looks = [(RED, SolidLook::Matte), (CLEAR, pane)];
            pixel(&picture_of(&TriMesh::default(), bodies, &looks), SIZE / 2, SIZE / 2 + 16)
        };
        let both = ball_behind_pane();
        let red = |[r, _, b]: [i32; 3]| r - b;
        let [bare, nothing] = [&both[..1], &[]].map(|bodies| seen(bodies, SolidLook::Matte));
        let [glass, opaque] = [SolidLook::Glass, SolidLook::Matte].map(|pane| seen(&both, pane));
        assert!(bare[1] < 50 && nothing[1] > 200, "the ball is dark, the backdrop is light: {bare:?} {nothing:?}");
        // The two faces mirror a twelfth of the bright surroundings over the ball's dark red.
        assert!(red(glass) > red(nothing) + 20 && (80..120).contains(&glass[1]), "{glass:?}");
        assert!(red(opaque) < red(nothing) + 15, "{opaque:?} {nothing:?}");
    }

    /// The floor behind a pane is nearly as light as without it, behind a wall it is in the shadow.
    #[test]
    fn light_falls_through_glass() {
        let lit = |look: SolidLook| {
            let image = picture_of(&TriMesh::default(), &ball_behind_pane()[1..], &[(CLEAR, look)]);
            // The floor to the right of the pane's foot, where its shadow falls.
            pixel(&image, SIZE / 2 + 20, SIZE / 2 + 40)[1]
        };
        let (glass, opaque) = (lit(SolidLook::Glass), lit(SolidLook::Matte));
        assert!(glass > opaque + 20, "{glass} {opaque}");
    }

    /// Water against glass: light enters the water without air between, so the pane is invisible but for its outer face.
    #[test]
    fn where_water_and_glass_overlap_there_is_glass() {
        let hit =
            Hit { t: 1.0, face_normal: DVec3::Z.as_vec3a(), normal: Vec3A::Z, body: 3, triangle: 0, weights: [0.0; 2] };
        let inwards = Ray { origin: Vec3A::Z, direction: Vec3A::NEG_Z };
        let in_glass = Medium { in_water: false, glass: Some(3) };
        let [here, beyond] = in_glass.sides(&Target::Water(hit), &inwards, &hit);
        assert_eq!(here.index(1.333), beyond.index(1.333));
        let outwards = Ray { origin: Vec3A::ZERO, direction: Vec3A::Z };
        let [glass, water] = beyond.sides(&Target::Glass(hit), &outwards, &hit);
        assert_eq!((glass.index(1.333), water.index(1.333)), (1.5, 1.333));
        assert!(water.is_water() && !glass.is_water());
    }
}
