//! Motion blur: what moves while the shutter is open is spread along its way across the picture.
//!
//! A picture is taken sharp, with the way of what each pixel shows; then each pixel gathers what comes over it. This is done along the longest
//! way around it only \[McGuire et al. 2012\], so things that cross there are spread in each other's direction. A pixel that goes a way of w pixels is over each place of
//! it for 1/w of the time: what is before a pixel covers it by the sum of those parts, and the rest of the light is the pixel's own where its own thing is all the time, or
//! that of what is behind beside it.
//!
//! \[McGuire et al. 2012\]: A reconstruction filter for plausible motion blur. ACM SIGGRAPH Symposium on Interactive 3D Graphics and Games 2012.

use super::bvh::Hit;
use super::camera::{Camera, Ray};
use super::volume::Lattice;
use crate::frame::{Frame, Surface};
use glam::{Vec2, Vec3A};
use rayon::prelude::*;

/// A way counts at most as long as this part of the picture's height.
const LONGEST: f32 = 0.1;
/// Shorter ways are not seen, pixels.
const SHORTEST: f32 = 0.7;
/// Pixels between two that are gathered along a way, at most.
const APART: f32 = 1.5;
/// What is nearer by this part of the distance is before a thing.
const BEFORE: f32 = 0.02;
/// Where what is behind everything is taken to be, m along a ray, in widths of the domain.
const FAR: f32 = 1e3;

/// What happens while a picture is taken.
pub struct Shutter<'a> {
    /// When it opens and closes.
    cameras: [Camera; 2],
    /// From there to the time of the frame, s.
    half: f32,
    lattice: Lattice,
    /// Of the fluid in cells, m/s.
    velocity: Vec<Vec3A>,
    surfaces: &'a [Surface],
    far: f32,
}

impl<'a> Shutter<'a> {
    /// Open for `seconds`, half of it before the frame; the camera goes from one place to another meanwhile.
    pub fn new(frame: &'a Frame, seconds: f64, cameras: [Camera; 2]) -> Self {
        let lattice = Lattice::of(&frame.grid);
        let kept = frame.velocity_near_fluid(0.0);
        let index = |[i, j, k]: [usize; 3]| i + lattice.dims[0] * (j + lattice.dims[1] * k);
        let far = FAR * (lattice.upper() - lattice.origin).max_element();
        let velocity = lattice.fill(|at| Vec3A::from(kept[index(at)]));
        Self { cameras, half: 0.5 * seconds as f32, lattice, velocity, surfaces: &frame.surfaces, far }
    }

    /// The way across the picture of what is at a distance on a ray and moves like this, pixels.
    pub fn way(&self, ray: &Ray, distance: f32, velocity: Vec3A) -> Vec2 {
        let (point, step) = (ray.at(distance.min(self.far)), self.half * velocity);
        let [opening, closing] = &self.cameras;
        match (opening.project(point - step), closing.project(point + step)) {
            (Some((from, _)), Some((to, _))) => Vec2::from(to) - Vec2::from(from),
            _ => Vec2::ZERO,
        }
    }

    /// How the fluid moves at a point, m/s.
    pub fn fluid(&self, point: Vec3A) -> Vec3A {
        self.lattice.sample(&self.velocity, point)
    }

    /// How a solid moves where a ray meets it, m/s.
    pub fn solid(&self, hit: &Hit) -> Vec3A {
        let Surface { mesh, velocities, .. } = &self.surfaces[hit.body];
        let [u, v] = hit.weights;
        let corner =
            |n: usize| velocities.get(mesh.triangles[hit.triangle][n] as usize).map_or(Vec3A::ZERO, |v| v.as_vec3a());
        corner(0) * (1.0 - u - v) + corner(1) * u + corner(2) * v
    }
}

/// What a pixel shows goes somewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moving {
    /// How far away it is, m.
    pub distance: f32,
    /// Its way across the picture while the shutter is open, pixels.
    pub way: Vec2,
}

/// Light of every pixel of a picture of this size, in rows, after everything has gone its way.
pub fn blurred([width, height]: [u32; 2], sharp: &[Vec3A], moving: &[Moving]) -> Vec<Vec3A> {
    let ways = Ways::new([width, height], moving);
    let mut light = vec![Vec3A::ZERO; sharp.len()];
    light.par_chunks_mut(width as usize).enumerate().for_each(|(y, row)| {
        for (x, light) in row.iter_mut().enumerate() {
            *light = gathered(&ways, sharp, moving, [x, y]);
        }
    });
    light
}

/// Light that is over a pixel while the shutter is open.
fn gathered(ways: &Ways, sharp: &[Vec3A], moving: &[Moving], [x, y]: [usize; 2]) -> Vec3A {
    let n = x + ways.size[0] * y;
    let here = &moving[n];
    let along = ways.around([x, y]);
    let length = along.length();
    if length < SHORTEST {
        return sharp[n];
    }
    let each_side = (0.5 * length / APART).ceil() as i32;
    let apart = 0.5 * length / each_side as f32;
    let direction = along / length;
    let reach = |moving: &Moving| 0.5 * ways.limited(moving.way).length();
    let own_reach = reach(here);

    // Before this pixel, of its own thing, and behind: light, and for how much of the time or how often.
    let [mut before, mut own, mut behind] = [(Vec3A::ZERO, 0.0f32); 3];
    for n in -each_side..=each_side {
        let off = apart * n as f32;
        let at = (Vec2::new(x as f32, y as f32) + off * direction).round();
        if at.cmplt(Vec2::ZERO).any() || at.x >= ways.size[0] as f32 || at.y >= ways.size[1] as f32 {
            continue;
        }
        let there = at.x as usize + ways.size[0] * at.y as usize;
        let (light, there) = (sharp[there], &moving[there]);
        let reach = reach(there);
        let is_behind = there.distance > here.distance * (1.0 + BEFORE);
        if is_behind {
            if off.abs() <= own_reach.max(apart) {
                behind = (behind.0 + light, behind.1 + 1.0);
            }
        } else {
            // Of the time, what is gathered here for as much of the way as is not nearer to the next place.
            let reach = reach.max(1e-3);
            let part = (reach + 0.5 * apart - off.abs()).clamp(0.0, apart.min(2.0 * reach)) / (2.0 * reach);
            let layer = if there.distance < here.distance * (1.0 - BEFORE) { &mut before } else { &mut own };
            *layer = (layer.0 + part * light, layer.1 + part);
        }
    }
    let mean = |(light, sum): (Vec3A, f32)| light / sum.max(f32::MIN_POSITIVE);
    // What is not known to be behind is like what is here.
    let uncovered = match behind.1 > 0.0 && own.1 < 1.0 {
        true => own.0 + (1.0 - own.1) * mean(behind),
        false => mean(own),
    };
    let covered = before.1.min(1.0);
    covered * mean(before) + (1.0 - covered) * uncovered
}

/// The longest ways in tiles of a picture.
struct Ways {
    size: [usize; 2],
    /// The longest that counts, pixels.
    most: f32,
    /// Edge of a tile, pixels: nothing comes from farther than from the next.
    tile: usize,
    tiles: [usize; 2],
    longest: Vec<Vec2>,
}

impl Ways {
    fn new(size: [u32; 2], moving: &[Moving]) -> Self {
        let size = size.map(|n| n as usize);
        let most = LONGEST * size[1] as f32;
        let tile = (0.5 * most).ceil() as usize;
        let tiles = size.map(|n| n.div_ceil(tile));
        let mut ways = Self { size, most, tile, tiles, longest: vec![Vec2::ZERO; tiles[0] * tiles[1]] };
        for (n, moving) in moving.iter().enumerate() {
            let tile = n % size[0] / ways.tile + tiles[0] * (n / size[0] / ways.tile);
            let way = ways.limited(moving.way);
            ways.longest[tile] = longer(ways.longest[tile], way);
        }
        ways
    }

    fn limited(&self, way: Vec2) -> Vec2 {
        way.clamp_length_max(self.most)
    }

    /// The longest in the tile of a pixel and those beside it.
    fn around(&self, pixel: [usize; 2]) -> Vec2 {
        let [i, j] = pixel.map(|p| p / self.tile);
        let near = |n: usize, axis: usize| n.saturating_sub(1)..(n + 2).min(self.tiles[axis]);
        let beside = near(j, 1).flat_map(|row| near(i, 0).map(move |column| column + self.tiles[0] * row));
        beside.map(|tile| self.longest[tile]).fold(Vec2::ZERO, longer)
    }
}

fn longer(one: Vec2, other: Vec2) -> Vec2 {
    if other.length_squared() > one.length_squared() { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [u32; 2] = [120, 200];
    const DISC: f32 = 12.0;

    /// A white disc before black, each on its way.
    fn disc(way: Vec2, behind: Vec2) -> (Vec<Vec3A>, Vec<Moving>) {
        let centre = Vec2::new(60.0, 100.0);
        let pixel = |n: u32| {
            let at = Vec2::new((n % SIZE[0]) as f32, (n / SIZE[0]) as f32);
            match (at - centre).length() < DISC {
                true => (Vec3A::ONE, Moving { distance: 1.0, way }),
                false => (Vec3A::ZERO, Moving { distance: 2.0, way: behind }),
            }
        };
        (0..SIZE[0] * SIZE[1]).map(pixel).unzip()
    }

    fn at(light: &[Vec3A], x: u32, y: u32) -> f32 {
        light[(x + SIZE[0] * y) as usize].x
    }

    #[test]
    fn what_rests_stays_sharp() {
        let (sharp, moving) = disc(Vec2::ZERO, Vec2::ZERO);
        assert_eq!(blurred(SIZE, &sharp, &moving), sharp);
    }

    /// A disc is at each place for the time that it takes to pass: it has the same light as at rest, and its ends fade out.
    #[test]
    fn a_moving_disc_keeps_its_light_and_fades_at_its_ends() {
        let (sharp, moving) = disc(Vec2::new(16.0, 0.0), Vec2::ZERO);
        let light = blurred(SIZE, &sharp, &moving);
        let [sharp, soft] = [&sharp, &light].map(|light| light.iter().map(|l| l.x).sum::<f32>());
        assert!((soft / sharp - 1.0).abs() < 0.03, "{}", soft / sharp);
        assert!((at(&light, 60, 100) - 1.0).abs() < 1e-5, "the middle is covered all the time");
        // Half of the time at the edge where it is drawn, less beyond, nothing farther than half its way.
        let [edge, beyond, far] = [60 + 12, 60 + 16, 60 + 22].map(|x| at(&light, x, 100));
        assert!((0.4..0.6).contains(&edge) && (0.15..0.35).contains(&beyond) && far == 0.0, "{edge} {beyond} {far}");
        assert_eq!(at(&light, 60, 100 + 14), 0.0, "nothing goes across its way");
    }

    /// What moves behind a thing at rest does not come over it.
    #[test]
    fn what_is_behind_stays_there() {
        let (sharp, moving) = disc(Vec2::ZERO, Vec2::new(16.0, 0.0));
        let light = blurred(SIZE, &sharp, &moving);
        let within = (0..11).all(|off| (at(&light, 60 + off, 100) - 1.0).abs() < 1e-5);
        assert!(within && at(&light, 60 + 13, 100) < 0.05);
    }

    /// All of a picture on the same way: only the pattern along it is smeared.
    #[test]
    fn stripes_along_the_way_stay_and_those_across_vanish() {
        let moving = vec![Moving { distance: 1.0, way: Vec2::new(16.0, 0.0) }; (SIZE[0] * SIZE[1]) as usize];
        let striped = |across: bool| -> Vec<Vec3A> {
            let place = |n: u32| if across { n % SIZE[0] } else { n / SIZE[0] };
            (0..SIZE[0] * SIZE[1]).map(|n| Vec3A::splat(f32::from(u8::from(place(n) / 4 % 2 == 0)))).collect()
        };
        let [across, along] = [true, false].map(|across| blurred(SIZE, &striped(across), &moving));
        assert!((30..90).all(|x| (0.4..0.6).contains(&at(&across, x, 50))));
        assert!((30..90).all(|x| at(&along, x, 50) == at(&along, 60, 50)) && at(&along, 60, 49) != at(&along, 60, 54));
    }
}
