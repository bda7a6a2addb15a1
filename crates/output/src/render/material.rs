//! What solids are made of in pictures: colour, gloss, metal, and textures that lie where the body was at rest.
//!
//! A texture is laid by place: every triangle knows where its corners are in the body's own frame, at rest, so that it turns and bends with the body. Patterns
//! fill space there; images are projected along the three axes and blended by the normal, or lie where texture coordinates of the mesh file say. Not done: images that
//! are made coarser where they are far away.

use super::bvh::Hit;
use super::colour::linear;
use super::settings::{RenderSettings, SolidLook};
use crate::frame::Surface;
use crate::picture::Image;
use bathtub_engine::geometry::TriMesh;
use glam::{DVec2, Vec3A};
use std::sync::Arc;

/// What a solid is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Its colour; of glass, where it is a tenth of the domain thick.
    pub colour: [f32; 3],
    /// How light meets it.
    pub look: SolidLook,
    /// From 0, polished, to 1, chalk; satin if it is not given.
    pub roughness: Option<f32>,
    /// Part of it that is metal, 0 to 1.
    pub metal: f32,
    /// What is painted on it.
    pub texture: Option<Texture>,
}

/// What is painted on a solid, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// What.
    pub paint: Paint,
    /// Edge of a field or of the image, m.
    pub size: f32,
    /// The solid at rest in its own frame, m; its triangles are those of the surface in a frame.
    pub rest: Arc<TriMesh>,
}

/// What a texture shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Paint {
    /// Cubes of the solid's colour and of this one in turn.
    Checker([f32; 3]),
    /// Slices across x of the solid's colour and of this one in turn.
    Stripes([f32; 3]),
    /// A picture, over and over.
    Image(Arc<Image>),
    /// A picture, and where on it the corners of each triangle are: to the right and up, 0 to 1.
    Charted(Arc<Image>, Arc<[[DVec2; 3]]>),
}

impl Material {
    /// Plain.
    pub fn new(colour: [f32; 3], look: SolidLook) -> Self {
        Self { colour, look, roughness: None, metal: 0.0, texture: None }
    }
}

/// The material of a surface, ready for rays.
#[derive(Clone, Debug)]
pub struct Finish {
    pub colour: Vec3A,
    pub is_glass: bool,
    pub gloss: Gloss,
    pub metal: f32,
    laid: Option<Laid>,
}

/// How a surface reflects lights and sky.
#[derive(Clone, Copy, Debug)]
pub struct Gloss {
    /// How narrow highlights are: power of the cosine.
    pub power: i32,
    /// How bright they are.
    pub strength: f32,
    /// Part of the mirrored sky that is seen.
    pub mirror: f32,
}

/// A texture on the triangles of a surface.
#[derive(Clone, Debug)]
struct Laid {
    texture: Texture,
    /// Corners of the triangles at rest, m.
    corners: Vec<[Vec3A; 3]>,
}

impl Gloss {
    /// A satin finish: a broad highlight, and reflection of the sky towards the outline.
    const SATIN: Self = Self { power: 48, strength: 5.0, mirror: 0.7 };
    /// The roughness that satin has by the relation below.
    const SATIN_ROUGHNESS: f32 = 0.447;

    /// Narrower and brighter the smoother it is, so that a highlight sends back about as much light: power = 2/r⁴ − 2.
    fn of(roughness: Option<f32>) -> Self {
        let Some(r) = roughness else { return Self::SATIN };
        let power = (2.0 / r.max(0.1).powi(4) - 2.0).clamp(1.0, 4000.0);
        let smooth = Self::SATIN_ROUGHNESS;
        let mirror = if r < smooth { 1.0 - 0.3 * r / smooth } else { 0.7 * (1.0 - r) / (1.0 - smooth) };
        Self { power: power as i32, strength: 5.0 * (power + 8.0) / 56.0, mirror }
    }
}

impl Finish {
    fn of(material: &Material, surface: &Surface) -> Self {
        let laid = material.texture.as_ref().filter(|texture| texture.rest.triangles == surface.mesh.triangles);
        let laid = laid.map(|texture| Laid {
            corners: (0..texture.rest.triangles.len()).map(|t| texture.rest.corners(t).map(|x| x.as_vec3a())).collect(),
            texture: texture.clone(),
        });
        Self {
            colour: linear(material.colour),
            is_glass: material.look == SolidLook::Glass,
            gloss: Gloss::of(material.roughness),
            metal: material.metal,
            laid,
        }
    }

    /// Its colour where a ray meets it.
    pub fn colour_at(&self, hit: &Hit) -> Vec3A {
        let Some(Laid { texture, corners }) = &self.laid else { return self.colour };
        let [a, b, c] = corners[hit.triangle];
        let edges = [b - a, c - a];
        let normal = edges[0].cross(edges[1]).normalize_or_zero();
        let place = (a + hit.weights[0] * edges[0] + hit.weights[1] * edges[1]) / texture.size;
        // A little inside, where a plane face between two fields would show both.
        let field = (place - 1e-3 * normal).floor();
        match &texture.paint {
            Paint::Checker(other) => self.alternate(field.x + field.y + field.z, *other),
            Paint::Stripes(other) => self.alternate(field.x, *other),
            Paint::Image(image) => projected(image, place, normal),
            Paint::Charted(image, charts) => {
                let [a, b, c] = charts[hit.triangle].map(|at| at.as_vec2());
                let at = a + hit.weights[0] * (b - a) + hit.weights[1] * (c - a) - 0.5;
                sampled(image, at.to_array())
            }
        }
    }

    fn alternate(&self, number: f32, other: [f32; 3]) -> Vec3A {
        if number.rem_euclid(2.0) < 1.0 { self.colour } else { linear(other) }
    }
}

/// An image of size 1 about the origin as seen from the six sides, upright and never mirrored, blended by the normal.
fn projected(image: &Image, place: Vec3A, normal: Vec3A) -> Vec3A {
    let sides = [
        [-normal.x.signum() * place.z, place.y],
        [place.x, -normal.y.signum() * place.z],
        [normal.z.signum() * place.x, place.y],
    ];
    let weights = normal.abs().to_array().map(|n| n.powi(8));
    let total: f32 = weights.iter().sum();
    let seen = sides.iter().zip(weights).filter(|(_, weight)| *weight > 1e-3 * total);
    seen.fold(Vec3A::ZERO, |sum, (&at, weight)| sum + weight / total * sampled(image, at))
}

/// Light of an image between its pixels; it goes on beyond its edges.
fn sampled(image: &Image, [right, up]: [f32; 2]) -> Vec3A {
    let size = [image.width as i64, image.height as i64];
    let x = (right + 0.5) * size[0] as f32 - 0.5;
    let y = (0.5 - up) * size[1] as f32 - 0.5;
    let pixel = |x: i64, y: i64| {
        let at = 3 * (x.rem_euclid(size[0]) + size[0] * y.rem_euclid(size[1])) as usize;
        linear([0, 1, 2].map(|c| f32::from(image.pixels[at + c]) / 255.0))
    };
    let (i, j) = (x.floor() as i64, y.floor() as i64);
    let row = |j: i64| pixel(i, j).lerp(pixel(i + 1, j), x - x.floor());
    row(j).lerp(row(j + 1), y - y.floor())
}

/// The materials of surfaces, in their order: by their names, and for those that have none of their own in turn from the palette.
pub fn finishes(surfaces: &[Surface], settings: &RenderSettings) -> Vec<Finish> {
    let palette = settings.solids.iter().copied().cycle().chain(std::iter::repeat([0.735; 3]));
    let finish = |(surface, next): (&Surface, [f32; 3])| match settings.materials.get(&surface.name) {
        Some(material) => Finish::of(material, surface),
        None => Finish::of(&Material::new(next, SolidLook::Matte), surface),
    };
    surfaces.iter().zip(palette).map(finish).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathtub_engine::geometry::{Pose, Shape};
    use glam::{DQuat, DVec3};

    fn cube(paint: Paint) -> Finish {
        let rest = Shape::Box { size: DVec3::ONE }.surface(1.0);
        let pose = Pose { position: DVec3::new(3.0, 1.0, -2.0), rotation: DQuat::from_rotation_y(0.7) };
        let surface = Surface { name: "cube".into(), mesh: rest.posed(&pose), velocities: vec![], moves: true };
        let texture = Some(Texture { paint, size: 0.5, rest: Arc::new(rest) });
        Finish::of(&Material { texture, ..Material::new([1.0, 0.0, 0.0], SolidLook::Matte) }, &surface)
    }

    fn colours(finish: &Finish, triangle: usize) -> Vec<Vec3A> {
        let hit = |n: usize| Hit {
            t: 1.0,
            face_normal: Vec3A::Y,
            normal: Vec3A::Y,
            body: 0,
            triangle,
            weights: [(n % 10) as f32 / 20.0 + 0.01, (n / 10) as f32 / 20.0 + 0.01],
        };
        (0..100).map(|n| finish.colour_at(&hit(n))).collect()
    }

    /// Half of each face is of either colour, wherever the body is, though its faces lie between two cubes of the pattern.
    #[test]
    fn a_checker_covers_half_of_each_face() {
        let finish = cube(Paint::Checker([0.0, 0.0, 1.0]));
        for triangle in 0..12 {
            let blue = colours(&finish, triangle).iter().filter(|c| c.z > c.x).count();
            assert!((20..80).contains(&blue), "{triangle}: {blue}");
        }
    }

    #[test]
    fn an_image_lies_on_a_face_as_it_is() {
        let image = Image { width: 2, height: 1, pixels: vec![255, 0, 0, 0, 0, 255] };
        let at = |x: f32, z: f32| projected(&image, Vec3A::new(x, 0.1, 0.0), Vec3A::Z * z);
        let (red, blue) = (Vec3A::X, Vec3A::Z);
        assert!((at(-0.25, 1.0) - red).length() < 1e-5 && (at(0.25, 1.0) - blue).length() < 1e-5);
        assert!((at(0.25, -1.0) - red).length() < 1e-5 && (at(0.75, 1.0) - red).length() < 1e-5);
        assert!((at(0.0, 1.0) - 0.5 * (red + blue)).length() < 1e-5);
    }

    #[test]
    fn highlights_grow_narrow_and_bright_with_polish() {
        let [chalk, satin, polished] = [1.0, Gloss::SATIN_ROUGHNESS, 0.1].map(|r| Gloss::of(Some(r)));
        assert!((satin.power - Gloss::SATIN.power).abs() <= 1 && (satin.mirror - Gloss::SATIN.mirror).abs() < 1e-3);
        assert!(chalk.power < satin.power && satin.power < polished.power && chalk.strength < polished.strength);
        assert!(chalk.mirror == 0.0 && polished.mirror > 0.9);
    }

    /// A surface of other triangles than the body at rest has is drawn plain.
    #[test]
    fn what_does_not_belong_together_is_plain() {
        let surface = Surface {
            name: "ball".into(),
            mesh: Shape::Sphere { radius: 1.0 }.surface(0.5),
            velocities: vec![],
            moves: true,
        };
        let rest = Arc::new(Shape::Box { size: DVec3::ONE }.surface(1.0));
        let texture = Some(Texture { paint: Paint::Stripes([0.0; 3]), size: 0.5, rest });
        let finish = Finish::of(&Material { texture, ..Material::new([1.0; 3], SolidLook::Matte) }, &surface);
        assert!(colours(&finish, 100).iter().all(|c| *c == finish.colour));
    }
}
