//! The camera: rays through pixels, a view that fits the domain by itself, and where it is at a time.

use super::settings::{CameraKey, CameraSettings, Quality, RenderSettings, Turntable};
use bathtub_engine::geometry::Pose;
use bathtub_engine::grid::Grid;
use bathtub_engine::solid::{Keyframe, Motion};
use glam::{DQuat, DVec3, Vec3A};
use std::f64::consts::TAU;

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

/// Where a camera is and what it sees.
struct View {
    from: DVec3,
    target: DVec3,
    /// Unit vectors: against the view, to the right, and up.
    toward: DVec3,
    right: DVec3,
    up: DVec3,
    /// Half the picture's width and height at distance 1.
    tan: [f64; 2],
    size: [u32; 2],
}

impl View {
    fn new(settings: &CameraSettings, size: Option<[u32; 2]>, quality: Quality, grid: &Grid) -> Self {
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
        let size = size.unwrap_or_else(|| fitted_size(spread(right) / spread(up), quality));
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
        Self { from: target + toward * distance, target, toward, right, up, tan: [tan_x, tan_y], size }
    }
}

/// The settings of the picture of one time: with a camera that stands still, and a size that is the same at all times.
pub fn still(settings: &RenderSettings, grid: &Grid, time: f64) -> RenderSettings {
    let moving = &settings.camera;
    let start = on_path(moving, grid, moving.keyframes.first().map_or(0.0, |key| key.time));
    let view = View::new(&start, settings.size, settings.quality, grid);
    let mut camera = on_path(moving, grid, time);
    if let Some(Turntable { period }) = moving.turntable {
        let axis = moving.up.try_normalize().unwrap_or(DVec3::Y);
        let turn = DQuat::from_axis_angle(axis, TAU * (time / period).fract());
        camera.from = Some(view.target + turn * (view.from - view.target));
        camera.at = Some(view.target);
    }
    RenderSettings { size: Some(view.size), camera, ..settings.clone() }
}

/// Where the camera is at a time, m.
pub fn camera_position(settings: &RenderSettings, grid: &Grid, time: f64) -> DVec3 {
    let RenderSettings { camera, size, quality, .. } = still(settings, grid, time);
    View::new(&camera, size, quality, grid).from
}

/// A camera that stands where the keys lead it.
fn on_path(moving: &CameraSettings, grid: &Grid, time: f64) -> CameraSettings {
    let mut camera = CameraSettings { keyframes: Vec::new(), turntable: None, ..moving.clone() };
    if moving.keyframes.is_empty() {
        return camera;
    }
    let value = |of: &dyn Fn(&CameraKey) -> DVec3| {
        let key = |key: &CameraKey| Keyframe { time: key.time, pose: Pose { position: of(key), ..Pose::IDENTITY } };
        Motion::Keyframes(moving.keyframes.iter().map(key).collect()).pose(time).position
    };
    camera.from = Some(value(&|key| key.from));
    let middle = 0.5 * (grid.origin + grid.upper());
    camera.at = Some(value(&|key| key.at.or(moving.at).unwrap_or(middle)));
    camera.fov = value(&|key| DVec3::X * key.fov.unwrap_or(moving.fov)).x;
    camera
}

impl Camera {
    pub fn new(settings: &CameraSettings, size: Option<[u32; 2]>, grid: &Grid) -> Self {
        let View { from, toward, right, up, tan, size, .. } = View::new(settings, size, Quality::default(), grid);
        Self {
            from: from.as_vec3a(),
            forward: -toward.as_vec3a(),
            right: (right * tan[0]).as_vec3a(),
            up: (up * tan[1]).as_vec3a(),
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
        (point - self.from).dot(self.forward).max(0.0) * self.pixel()
    }

    /// The same at a distance of 1.
    pub fn pixel(&self) -> f32 {
        2.0 * self.up.length() / self.size[1] as f32
    }
}

/// A size of pleasant shape and even numbers (video formats want them).
pub fn fitted_size(aspect: f64, quality: Quality) -> [u32; 2] {
    let aspect = aspect.clamp(0.62, 1.9);
    let height = (quality.area() / aspect).sqrt();
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

    fn grid() -> Grid {
        Grid::new([64, 96, 32], 0.1, DVec3::new(3.0, -1.0, 2.0))
    }

    /// After half a turn the camera is on the other side, as high and as far; after a whole one it is back. The picture keeps its size.
    #[test]
    fn a_turntable_leads_the_camera_around() {
        let mut settings = RenderSettings::default();
        let fitted = camera_position(&settings, &grid(), 0.0);
        settings.camera.turntable = Some(Turntable { period: 8.0 });
        let at = |time: f64| camera_position(&settings, &grid(), time);
        let target = still(&settings, &grid(), 0.0).camera.at.unwrap();
        assert!((at(0.0) - fitted).length() < 1e-12 && (at(8.0) - fitted).length() < 1e-12);
        let [here, there] = [at(1.0) - target, at(5.0) - target];
        assert!((here.y - there.y).abs() < 1e-12 && (here + there - 2.0 * here.y * DVec3::Y).length() < 1e-12);
        // From +z counter-clockwise as seen from above is towards +x.
        let angle = |d: DVec3| d.x.atan2(d.z).to_degrees();
        assert!((angle(at(1.0) - target) - angle(fitted - target) - 45.0).abs() < 1e-9);
        let sizes = [0.0, 2.0, 3.0].map(|time| still(&settings, &grid(), time).size.unwrap());
        assert!(sizes[0] == sizes[1] && sizes[1] == sizes[2]);
        settings.camera.turntable = Some(Turntable { period: -8.0 });
        let back = camera_position(&settings, &grid(), 1.0) - target;
        assert!((angle(back) - angle(fitted - target) + 45.0).abs() < 1e-9);
    }

    #[test]
    fn keys_are_met_and_held() {
        let key = |time, x, fov| CameraKey { time, from: DVec3::new(x, 2.0, 20.0), at: None, fov };
        let mut settings = RenderSettings::default();
        settings.camera.keyframes = vec![key(1.0, 0.0, None), key(2.0, 3.0, Some(40.0)), key(4.0, 5.0, None)];
        let x = |time: f64| camera_position(&settings, &grid(), time).x;
        for (time, expected) in [(0.0, 0.0), (1.0, 0.0), (2.0, 3.0), (4.0, 5.0), (9.0, 5.0)] {
            assert!((x(time) - expected).abs() < 1e-12, "{time}");
        }
        assert!(x(1.5) > 0.5 && x(1.5) < 2.5);
        let fov = |time: f64| still(&settings, &grid(), time).camera.fov;
        assert!((fov(2.0) - 40.0).abs() < 1e-12 && fov(0.0) == 28.0 && fov(3.0) > 28.0 && fov(3.0) < 40.0);
    }

    #[test]
    fn a_camera_that_stands_still_is_what_it_was() {
        let settings = RenderSettings::default();
        let RenderSettings { camera, size, .. } = still(&settings, &grid(), 3.0);
        assert_eq!(camera, settings.camera);
        assert_eq!(size, Some(Camera::new(&settings.camera, None, &grid()).size));
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
