//! What is behind everything: a gradient, brighter in the middle as if lit from there.
//!
//! The ground has no colour of its own. It shows the backdrop, darkened where something keeps light away, so that floor
//! and wall meet without a seam, like the paper sweep of a studio.

use super::colour::linear;
use super::settings::Backdrop;
use glam::Vec3A;

/// The backdrop of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    top: Vec3A,
    bottom: Vec3A,
    size: [f32; 2],
}

impl Sweep {
    pub fn new(backdrop: &Backdrop, size: [u32; 2]) -> Self {
        Self { top: linear(backdrop.top), bottom: linear(backdrop.bottom), size: size.map(|n| n as f32) }
    }

    /// Light from the point of the picture at (x, y) pixels.
    pub fn at(&self, x: f32, y: f32) -> Vec3A {
        let [u, v] = [x / self.size[0], y / self.size[1]];
        let blend = v * v * (3.0 - 2.0 * v);
        // Distance from a point a little below the middle, 1 at the corners.
        let (dx, dy) = (2.0 * u - 1.0, 2.0 * v - 1.15);
        let r2 = (dx * dx + dy * dy) / 2.2;
        self.top.lerp(self.bottom, blend) * (0.62 + 0.75 * (-1.6 * r2).exp())
    }
}
