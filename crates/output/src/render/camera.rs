//! The camera: rays through pixels, and a view that fits the domain by itself.

use super::settings::CameraSettings;
use bathtub_engine::grid::Grid;
use glam::{DVec3, Vec3A};

/// Pixels of a picture whose size nobody chose.
const DEFAULT_AREA: f64 = 420_000.0;

/// A ray with a unit direction.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub origin: Vec3A,
    pub direction: Vec3A,
}

impl Ray {
    pub fn at(&self, t: f32) -> Vec3A {
        self.origin + t * self.direction
    }

    /// Where the ray is inside a box, if it is: distances of entry (at least 0) and exit.
    pub fn clip(&self, low: Vec3A, high: Vec3A) -> Option<(f32, f32)> {
        let inverse = self.direction.recip();
        let (a, b) = ((low - self.origin) * inverse, (high - self.origin) * inverse);
        let near = a.min(b).max_element().max(0.0);
        let far = a.max(b).min_element();
        (near < far).then_some((near, far))
    }
}

/// A pinhole camera.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    from: Vec3A,
    forward: Vec3A,
    /// Half the picture's width and height at distance 1.
    right: Vec3A,
    up: Vec3A,
    pub size: [u32; 2],
}

impl Camera {
    pub fn new(settings: &CameraSettings, size: Option<[u32; 2]>, grid: &Grid) -> Self {
        let corners: Vec<DVec3> = (0..8)
            .map(|n| {
                let upper = glam::BVec3::new(n & 1 != 0, n & 2 != 0, n & 4 != 0);
                DVec3::select(upper, grid.upper(), grid.origin)
            })
            .collect();
        let middle = 0.5 * (grid.origin + grid.upper());
        let target = settings.at.unwrap_or(middle);
        let toward = match settings.from {
            Some(from) => (from - target).try_normalize().unwrap_or(DVec3::Z),
            None => {
                let (a, e) = (settings.azimuth.to_radians(), settings.elevation.to_radians());
                DVec3::new(a.sin() * e.cos(), e.sin(), a.cos() * e.cos())
            }
        };
        let right = settings.up.cross(toward).try_normalize().unwrap_or(DVec3::X);
        let up = toward.cross(right);

        // The shape of the picture follows the outline of the domain.
        let spread = |axis: DVec3| {
            let along = |c: &DVec3| (*c - middle).dot(axis);
            2.0 * corners.iter().map(along).fold(0.0, f64::max)
        };
        let size = size.unwrap_or_else(|| fitted_size(spread(right) / spread(up)));
        let tan_y = (0.5 * settings.fov.to_radians()).tan();
        let tan_x = tan_y * f64::from(size[0]) / f64::from(size[1]);

        // Near enough to fill the picture, far enough that no corner leaves it; then centred on what is seen.
        let mut target = target;
        let mut distance = settings.from.map_or(0.0, |from| (from - target).length());
        if settings.from.is_none() {
            for _ in 0..8 {
                let reach = |c: &DVec3| {
                    let d = *c - target;
                    d.dot(toward) + (d.dot(right).abs() / tan_x).max(d.dot(up).abs() / tan_y)
                };
                distance = corners.iter().map(reach).fold(0.0, f64::max) / settings.zoom;
                if settings.at.is_none() {
                    for axis in [right, up] {
                        let seen = |c: &DVec3| {
                            let d = *c - target;
                            d.dot(axis) / (distance - d.dot(toward))
                        };
                        let low = corners.iter().map(seen).fold(f64::MAX, f64::min);
                        let high = corners.iter().map(seen).fold(f64::MIN, f64::max);
                        target += axis * (0.5 * (low + high) * distance);
                    }
                }
            }
        }
        let from = target + toward * distance;
        Self {
            from: from.as_vec3a(),
            forward: -toward.as_vec3a(),
            right: (right * tan_x).as_vec3a(),
            up: (up * tan_y).as_vec3a(),
            size,
        }
    }

    /// Unit vector of the view's middle.
    pub fn forward(&self) -> Vec3A {
        self.forward
    }

    /// The ray through a point of the picture, in pixels from the upper left corner.
    pub fn ray(&self, x: f32, y: f32) -> Ray {
        let sx = 2.0 * x / self.size[0] as f32 - 1.0;
        let sy = 1.0 - 2.0 * y / self.size[1] as f32;
        Ray { origin: self.from, direction: (self.forward + sx * self.right + sy * self.up).normalize() }
    }

    /// Where in the picture a point is seen, pixels, and how far away, m; None if it is behind the camera.
    pub fn project(&self, point: Vec3A) -> Option<([f32; 2], f32)> {
        let d = point - self.from;
        let depth = d.dot(self.forward);
        let [w, h] = self.size.map(|n| n as f32);
        let x = d.dot(self.right) / (depth * self.right.length_squared());
        let y = d.dot(self.up) / (depth * self.up.length_squared());
        (depth > 0.0).then_some(([0.5 * w * (1.0 + x), 0.5 * h * (1.0 - y)], d.length()))
    }

    /// Length that a pixel covers at the distance of `point`, m.
    pub fn pixel_at(&self, point: Vec3A) -> f32 {
        let depth = (point - self.from).dot(self.forward).max(0.0);
        2.0 * depth * self.up.length() / self.size[1] as f32
    }
}

/// A size of pleasant shape and even numbers (video formats want them).
pub fn fitted_size(aspect: f64) -> [u32; 2] {
    let aspect = aspect.clamp(0.62, 1.9);
    let height = (DEFAULT_AREA / aspect).sqrt();
    [aspect * height, height].map(|n| (n / 8.0).round() as u32 * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitted_view_holds_the_whole_domain_and_fills_the_picture() {
        for dims in [[64, 96, 64], [128, 32, 64], [10, 10, 200]] {
            let grid = Grid::new(dims, 0.1, DVec3::new(3.0, -1.0, 2.0));
            let camera = Camera::new(&CameraSettings::default(), None, &grid);
            let mut reach: f32 = 0.0;
            for n in 0..8 {
                let upper = glam::BVec3::new(n & 1 != 0, n & 2 != 0, n & 4 != 0);
                let corner = DVec3::select(upper, grid.upper(), grid.origin).as_vec3a() - camera.from;
                let at = corner / corner.dot(camera.forward);
                let x = at.dot(camera.right) / camera.right.length_squared();
                let y = at.dot(camera.up) / camera.up.length_squared();
                reach = reach.max(x.abs()).max(y.abs());
            }
            assert!((0.97..1.02).contains(&reach), "{dims:?}: {reach}");
        }
    }

    #[test]
    fn the_middle_ray_goes_from_camera_to_target() {
        let grid = Grid::new([8, 8, 8], 1.0, DVec3::ZERO);
        let (from, at) = (DVec3::new(20.0, 5.0, 1.0), DVec3::new(1.0, 2.0, 3.0));
        let settings = CameraSettings { from: Some(from), at: Some(at), ..Default::default() };
        let camera = Camera::new(&settings, Some([200, 100]), &grid);
        let ray = camera.ray(100.0, 50.0);
        assert!((ray.origin - from.as_vec3a()).length() < 1e-5);
        assert!((ray.direction - (at - from).normalize().as_vec3a()).length() < 1e-5);
        let ([x, y], distance) = camera.project(camera.ray(31.0, 77.0).at(4.0)).unwrap();
        assert!((x - 31.0).abs() < 1e-3 && (y - 77.0).abs() < 1e-3 && (distance - 4.0).abs() < 1e-4);
    }
}
