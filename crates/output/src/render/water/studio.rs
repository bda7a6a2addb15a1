//! What surrounds the water: a pale floor that runs into the horizon, a sky, and the lights as soft boxes in it.
//!
//! Water shows little of its own; it shows this. The soft boxes give the bright, clearly bounded reflections by which the eye reads the
//! shape of a surface, and faint tiles on the floor make refraction visible.

use super::super::colour::linear;
use super::super::settings::WaterLook;
use super::super::shade::Lamp;
use crate::surface::smoothstep;
use glam::Vec3A;

/// Half widths of the key light's and the rim light's box, as tangents of angles.
const KEY_BOX: [f32; 2] = [0.42, 0.26];
const RIM_BOX: [f32; 2] = [0.55, 0.16];
/// A window across from the camera, whose reflection runs over every wave: height as a tangent, half widths, and brightness.
const WINDOW_HEIGHT: f32 = 0.85;
const WINDOW: [f32; 2] = [0.75, 0.22];
const WINDOW_LIGHT: f32 = 1.9;
/// A tall strip of light behind the camera on its left, which upright glass mirrors: how far to the left and how high, relative to how
/// far behind, half widths, and brightness.
const STRIP_PLACE: [f32; 2] = [-0.9, 0.25];
const STRIP: [f32; 2] = [0.10, 0.75];
const STRIP_LIGHT: f32 = 9.0;
/// Dark cards stand to the left and right: how they begin and end, as cosines of the angle from the view, how high they are as a sine,
/// and how dark. Clear things show them along their edges and stand out before the bright backdrop.
const CARD: [[f32; 2]; 2] = [[0.9, 0.6], [-0.5, -0.1]];
const CARD_HEIGHT: [f32; 2] = [0.7, 0.4];
const CARD_SHADE: f32 = 0.65;
/// Brightness of floor and sky in full light: the tone curve makes this near white.
pub const WHITE: f32 = 1.55;
/// Brightness of a box, relative to the light's strength.
const BOX_LIGHT: f32 = 1.6;
/// Width of a box's soft edge.
const EDGE: f32 = 0.06;
/// Tiles along the domain's longest side, half the widths of their joints and of the edges of these as part of a tile, and how dark joints are.
const TILES: f32 = 8.0;
const JOINT: f32 = 0.0155;
const JOINT_EDGE: f32 = 0.0065;
const JOINT_SHADE: f32 = 0.80;
/// Distances from the middle, in domain sizes, between which joints fade away.
const JOINTS_FADE: [f32; 2] = [0.5, 1.6];
/// Distances from the middle, in domain sizes, between which the floor runs into the horizon.
const HORIZON: [f32; 2] = [0.9, 4.0];

#[derive(Clone, Copy, Debug)]
pub struct Studio {
    horizon: Vec3A,
    zenith: Vec3A,
    floor: Vec3A,
    boxes: [SoftBox; 4],
    /// Level direction of the view.
    ahead: Vec3A,
    /// Middle of the domain on the floor.
    middle: Vec3A,
    /// Largest side of the domain, m.
    reach: f32,
}

#[derive(Clone, Copy, Debug)]
struct SoftBox {
    toward: Vec3A,
    /// Across, each divided by the box's half width.
    across: [Vec3A; 2],
    half: [f32; 2],
    light: Vec3A,
}

impl SoftBox {
    fn new(toward: Vec3A, half: [f32; 2], light: Vec3A) -> Self {
        let level = Vec3A::Y.cross(toward).try_normalize().unwrap_or(Vec3A::X);
        Self { toward, across: [level, toward.cross(level)], half, light }
    }

    fn seen(&self, direction: Vec3A) -> Vec3A {
        let along = direction.dot(self.toward);
        if along <= 0.0 {
            return Vec3A::ZERO;
        }
        let inside = |n: usize| {
            let off = (direction.dot(self.across[n]) / along).abs();
            smoothstep([self.half[n] + EDGE, self.half[n] - EDGE], off)
        };
        self.light * (inside(0) * inside(1))
    }
}

impl Studio {
    pub fn new(look: &WaterLook, key: &Lamp, rim: &Lamp, forward: Vec3A, [low, high]: [Vec3A; 2]) -> Self {
        let ahead = forward.with_y(0.0).try_normalize().unwrap_or(Vec3A::NEG_Z);
        let strip = (STRIP_PLACE[0] * ahead.cross(Vec3A::Y) + STRIP_PLACE[1] * Vec3A::Y - ahead).normalize();
        let window = (ahead + WINDOW_HEIGHT * Vec3A::Y).normalize();
        Self {
            horizon: WHITE * linear(look.horizon),
            zenith: WHITE * linear(look.zenith),
            floor: WHITE * linear(look.floor),
            boxes: [
                SoftBox::new(key.toward, KEY_BOX, BOX_LIGHT * key.light),
                SoftBox::new(rim.toward, RIM_BOX, BOX_LIGHT * rim.light),
                SoftBox::new(window, WINDOW, Vec3A::splat(WINDOW_LIGHT)),
                SoftBox::new(strip, STRIP, Vec3A::splat(STRIP_LIGHT)),
            ],
            ahead,
            middle: (0.5 * (low + high)).with_y(low.y),
            reach: (high - low).max_element(),
        }
    }

    /// Light from far away.
    pub fn sky(&self, direction: Vec3A) -> Vec3A {
        let boxes = self.boxes.iter().map(|b| b.seen(direction)).sum::<Vec3A>();
        self.through_glass(direction) + boxes
    }

    /// The same without the lights: what is seen through glass.
    pub fn through_glass(&self, direction: Vec3A) -> Vec3A {
        let off = direction.with_y(0.0).normalize_or(self.ahead).dot(self.ahead);
        let card = smoothstep(CARD[0], off) * smoothstep(CARD[1], off) * smoothstep(CARD_HEIGHT, direction.y);
        self.backdrop(direction) * (1.0 - CARD_SHADE * card)
    }

    /// Without lights and cards: what the camera itself sees behind everything.
    pub fn backdrop(&self, direction: Vec3A) -> Vec3A {
        let up = direction.y;
        let blend = smoothstep([0.0, 0.85], up);
        let below = 1.0 - 0.25 * smoothstep([0.0, -0.6], up);
        self.horizon.lerp(self.zenith, blend) * below
    }

    /// Which tile of the floor a point is on, as a number; 0 where joints do not show.
    pub fn tile(&self, point: Vec3A) -> u32 {
        if (point - self.middle).length_squared() > (JOINTS_FADE[1] * self.reach).powi(2) {
            return 0;
        }
        let [x, z] = self.tiles(point).map(|at| at.floor() as i32 as u32);
        x.wrapping_add(z.wrapping_mul(0x9e37_79b1)) | 1
    }

    /// A point of the floor, in tiles from the middle.
    fn tiles(&self, point: Vec3A) -> [f32; 2] {
        [point.x - self.middle.x, point.z - self.middle.z].map(|c| TILES * c / self.reach)
    }

    /// The floor around a point where `arriving` of the open floor's light arrives; of joints, the mean over a pixel that `covers` so much of it along x and z, m.
    pub fn floor(&self, point: Vec3A, covers: [f32; 2], arriving: Vec3A) -> Vec3A {
        let away = (point - self.middle) / self.reach;
        let distance = away.length();
        let tile = |axis: usize| {
            let from_joint = 0.5 - (self.tiles(point)[axis].rem_euclid(1.0) - 0.5).abs();
            let half = (0.5 * TILES * covers[axis] / self.reach).max(JOINT_EDGE);
            let of_joint = (JOINT + half - from_joint).clamp(0.0, 2.0 * JOINT.min(half));
            1.0 - of_joint / (2.0 * half)
        };
        let tiles = tile(0).min(tile(1));
        let near = 1.0 - smoothstep(JOINTS_FADE, distance);
        let albedo = self.floor * (1.0 - near * (1.0 - JOINT_SHADE) * (1.0 - tiles));
        (albedo * arriving).lerp(self.horizon, smoothstep(HORIZON, distance))
    }
}
