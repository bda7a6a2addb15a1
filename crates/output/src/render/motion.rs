//! Motion blur: what moves while the shutter is open is spread along its way across the picture.
//!
//! A picture is taken sharp, with the way of what each pixel shows. What goes a way of w pixels is over each place of it for 1/w of the time: each pixel
//! gives that part of its light to every place on its way that shows nothing nearer. What is nearer than a pixel covers it by the sum of those parts; the rest of its
//! light is that of its own thing for as long as that is there, and then what is behind beside it, as \[McGuire et al. 2012\] have it.
//!
//! \[McGuire et al. 2012\]: A reconstruction filter for plausible motion blur. ACM SIGGRAPH Symposium on Interactive 3D Graphics and Games 2012.

use super::bvh::Hit;
use super::camera::{Camera, Ray};
use super::volume::Lattice;
use crate::frame::{Frame, Surface};
use glam::{Vec2, Vec3A, Vec4};
use rayon::prelude::*;

/// A way counts at most as long as this part of the picture's height.
const LONGEST: f32 = 0.1;
/// Shorter ways are not seen, pixels.
const SHORTEST: f32 = 0.7;
/// What is nearer by this part of the distance is before a thing.
const BEFORE: f32 = 0.02;
/// Rows of the picture that are found together.
const BAND: usize = 64;
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

impl Moving {
    fn is_before(&self, other: &Self) -> bool {
        self.distance < other.distance * (1.0 - BEFORE)
    }

    fn rests(&self) -> bool {
        self.way.length_squared() < SHORTEST * SHORTEST
    }
}

/// Light of every pixel of a picture of this size, in rows, after everything has gone its way.
pub fn blurred(size: [u32; 2], sharp: &[Vec3A], moving: &[Moving]) -> Vec<Vec3A> {
    let size = size.map(|n| n as usize);
    let moving = with_rims(size, moving);
    let shot = Shot { size, sharp, moving: &moving };
    let mut light = vec![Vec3A::ZERO; sharp.len()];
    light.par_chunks_mut(BAND * size[0]).enumerate().for_each(|(n, light)| shot.band(BAND * n, light));
    light
}

/// Ways that are not too long; a pixel beside one that is nearer and goes farther goes with it: it may show a little of that.
fn with_rims([width, height]: [usize; 2], moving: &[Moving]) -> Vec<Moving> {
    let most = LONGEST * height as f32;
    let rim = |n: usize| {
        let (x, y) = (n % width, n / width);
        let beside = [
            (x > 0, n.wrapping_sub(1)),
            (x + 1 < width, n + 1),
            (y > 0, n.wrapping_sub(width)),
            (y + 1 < height, n + width),
        ];
        let here = moving[n];
        let faster = |other: &Moving| other.is_before(&here) && other.way.length_squared() > here.way.length_squared();
        let beside = beside.into_iter().filter(|(is_there, _)| *is_there).map(|(_, m)| moving[m]).filter(faster);
        let Moving { distance, way } = beside.min_by(|a, b| a.distance.total_cmp(&b.distance)).unwrap_or(here);
        Moving { distance, way: way.clamp_length_max(most) }
    };
    (0..moving.len()).into_par_iter().map(rim).collect()
}

/// What a picture shows, and where it goes.
struct Shot<'a> {
    size: [usize; 2],
    sharp: &'a [Vec3A],
    moving: &'a [Moving],
}

/// What is over a pixel for a part of the time: light by that part, and the part.
#[derive(Clone, Copy, Default)]
struct Over {
    /// What is nearer than the pixel.
    before: Vec4,
    /// What is of the pixel's own thing, if that moves.
    own: Vec4,
}

impl Shot<'_> {
    /// Light of the rows from this one.
    fn band(&self, first: usize, light: &mut [Vec3A]) {
        let [width, height] = self.size;
        let rows = first..first + light.len() / width;
        let mut over = vec![Over::default(); light.len()];
        let reach = (0.5 * LONGEST * height as f32).ceil() as usize + 1;
        for n in width * rows.start.saturating_sub(reach)..width * (rows.end + reach).min(height) {
            let going = &self.moving[n];
            if going.rests() {
                continue;
            }
            let part = going.way.length().ceil().recip();
            let given = (part * self.sharp[n]).extend(part);
            for at in self.places(n).filter(|at| rows.contains(&(at / width))) {
                let there = &self.moving[at];
                if there.is_before(going) {
                    continue;
                }
                let over = &mut over[at - width * rows.start];
                let is_own = !there.rests() && !going.is_before(there);
                *(if is_own { &mut over.own } else { &mut over.before }) += given;
            }
        }
        for (n, (light, over)) in (width * rows.start..).zip(light.iter_mut().zip(&over)) {
            let covered = over.before.w.min(1.0);
            *light = covered * mean(over.before) + (1.0 - covered) * self.uncovered(n, over.own);
        }
    }

    /// Light of a pixel but for what is before it.
    fn uncovered(&self, n: usize, own: Vec4) -> Vec3A {
        let here = &self.moving[n];
        if here.rests() || own.w == 0.0 {
            return self.sharp[n];
        }
        let behind = self.places(n).filter(|&at| here.is_before(&self.moving[at]));
        let behind = behind.fold(Vec4::ZERO, |sum, at| sum + self.sharp[at].extend(1.0));
        // What is not known to be behind is like what is here.
        if behind.w > 0.0 && own.w < 1.0 { Vec3A::from_vec4(own) + (1.0 - own.w) * mean(behind) } else { mean(own) }
    }

    /// The pixels on the way of one, in the picture or left out.
    fn places(&self, n: usize) -> impl Iterator<Item = usize> {
        let [width, height] = self.size;
        let (place, way) = (Vec2::new((n % width) as f32, (n / width) as f32), self.moving[n].way);
        let steps = way.length().ceil();
        let at = move |step: i32| (place + way * ((step as f32 + 0.5) / steps - 0.5)).round();
        let is_inside = move |at: &Vec2| at.cmpge(Vec2::ZERO).all() && at.x < width as f32 && at.y < height as f32;
        (0..steps as i32).map(at).filter(is_inside).map(move |at| at.x as usize + width * at.y as usize)
    }
}

fn mean(sum: Vec4) -> Vec3A {
    Vec3A::from_vec4(sum) / sum.w.max(f32::MIN_POSITIVE)
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
