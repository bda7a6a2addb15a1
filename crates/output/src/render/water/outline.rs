//! The edges of the domain as thin lines, so that one sees where it is and how full.

use crate::render::camera::Camera;
use glam::Vec3A;

/// Opacity of a line.
const OPACITY: f32 = 0.42;
/// Steps along a line per pixel.
const STEPS: f32 = 3.0;

/// How much of each pixel lines cover, and how far away they are.
pub struct Outline {
    width: usize,
    cover: Vec<f32>,
    distance: Vec<f32>,
}

impl Outline {
    pub fn new(camera: &Camera, low: Vec3A, high: Vec3A) -> Self {
        let [width, height] = camera.size.map(|n| n as usize);
        let mut outline =
            Self { width, cover: vec![0.0; width * height], distance: vec![f32::INFINITY; width * height] };
        for axis in 0..3 {
            let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
            for corner in 0..4 {
                let mut from = low;
                from[a] = if corner & 1 == 1 { high[a] } else { low[a] };
                from[b] = if corner & 2 == 2 { high[b] } else { low[b] };
                let mut to = from;
                to[axis] = high[axis];
                outline.draw(camera, from, to);
            }
        }
        outline
    }

    fn draw(&mut self, camera: &Camera, from: Vec3A, to: Vec3A) {
        let (Some((p, _)), Some((q, _))) = (camera.project(from), camera.project(to)) else { return };
        let length = (p[0] - q[0]).hypot(p[1] - q[1]);
        let steps = (STEPS * length).min(1e5) as usize + 1;
        let height = self.cover.len() / self.width;
        for n in 0..=steps {
            let Some(([x, y], distance)) = camera.project(from.lerp(to, n as f32 / steps as f32)) else { continue };
            for row in (y - 1.5).max(0.0) as usize..((y + 1.5).max(0.0) as usize).min(height) {
                for column in (x - 1.5).max(0.0) as usize..((x + 1.5).max(0.0) as usize).min(self.width) {
                    let off = (column as f32 + 0.5 - x).hypot(row as f32 + 0.5 - y);
                    let cover = (1.1 - off).clamp(0.0, 1.0);
                    let at = column + self.width * row;
                    if cover > 0.0 {
                        self.cover[at] = self.cover[at].max(cover);
                        self.distance[at] = self.distance[at].min(distance);
                    }
                }
            }
        }
    }

    /// Opacity of the lines at a pixel where everything else is at least `distance` away.
    pub fn opacity(&self, x: u32, y: u32, distance: f32) -> f32 {
        let at = x as usize + self.width * y as usize;
        if self.distance[at] < 1.01 * distance { OPACITY * self.cover[at] } else { 0.0 }
    }
}
