//! Pictures of frames, drawn on the CPU.
//!
//! A three-dimensional frame is ray-marched: smoke absorbs and scatters the light of a key light, a rim light and
//! the sky (single scattering plus softened copies of it that stand in for multiple scattering \[W13\]); solids are
//! triangle meshes with soft shadows and sky occlusion on a ground plane before a backdrop. Light reaching the smoke comes
//! from optical depths swept through the grid once per frame and light (`light`), so a sample costs one lookup.
//! Water is drawn by [`render_water`]: rays split at its surface (`water`). Glass splits and bends them there as well; before smoke it
//! reflects and tints, but bends nothing. A frame with a flat axis is drawn straight on (`flat`), glass like any solid.
//!
//! The same frame and settings give the same pixels for any number of threads: each pixel is computed
//! alone, and its noise is a function of its place. Not done: smoke and water in one picture, colour bleeding between solids, light cast by
//! hot smoke.
//!
//! \[W13\] M. Wrenninge, C. Kulla, V. Lundqvist, "Oz: the great and volumetric", SIGGRAPH Talks 2013.

mod backdrop;
mod bvh;
mod camera;
mod colour;
mod cover;
mod effort;
mod flat;
mod interface;
mod light;
mod material;
mod motion;
mod normals;
mod sampling;
mod settings;
mod shade;
mod trace;
mod volume;
mod water;

pub use material::{Material, Paint, Texture};
pub use settings::{
    Backdrop, CLEAR_GLASS, CameraKey, CameraSettings, Light, Quality, RenderSettings, SmokeLook, SolidLook, Turntable,
    WaterLook,
};

use crate::frame::{Frame, Surface, Visible};
use crate::picture::Image;
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::{Axis, Grid};
use camera::{Camera, camera_position, still};
use glam::DVec3;
use motion::Shutter;

/// Draw a frame.
pub fn render(frame: &Frame, settings: &RenderSettings) -> Image {
    let flat = Axis::ALL.into_iter().find(|&axis| frame.grid.is_flat(axis));
    match (&frame.fluid, flat) {
        (Visible::Smoke(smoke), Some(axis)) => flat::render(frame, smoke, axis, settings),
        (Visible::Smoke(smoke), None) => {
            trace::render(frame, smoke, shutter(frame, settings).as_ref(), &still(settings, &frame.grid, frame.time))
        }
        (Visible::Water(water), _) => {
            let scene = WaterScene { grid: &frame.grid, surfaces: &frame.surfaces, water: &water.surface };
            water_at(&scene, shutter(frame, settings).as_ref(), settings, frame.time)
        }
    }
}

/// What moves while the picture of a frame is taken, if that is to be seen; a frame with a flat axis is drawn sharp.
fn shutter<'a>(frame: &'a Frame, settings: &RenderSettings) -> Option<Shutter<'a>> {
    let seconds = f64::from(settings.motion_blur) * settings.frame_seconds;
    if seconds == 0.0 || is_flat(&frame.grid) {
        return None;
    }
    let cameras = [-0.5, 0.5].map(|part| {
        let still = still(settings, &frame.grid, frame.time + part * seconds);
        Camera::new(&still.camera, still.size, &frame.grid)
    });
    Some(Shutter::new(frame, seconds, cameras))
}

/// About how many bytes drawing smoke takes, that of the frame apart: what it needs at full resolution of the picture.
pub fn smoke_bytes(grid: &Grid, settings: &RenderSettings) -> f64 {
    if is_flat(grid) {
        return 0.0;
    }
    let times = settings.camera.keyframes.iter().map(|key| key.time).chain([0.0]);
    times.map(|time| trace::density_bytes(grid, &still(settings, grid, time))).fold(0.0, f64::max)
}

/// How many pixels a picture has, roughly where its size follows the domain.
pub fn pixels(settings: &RenderSettings) -> f64 {
    settings.size.map_or(settings.quality.area(), |[width, height]| f64::from(width) * f64::from(height))
}

/// Where the camera is at a time, m; a flat scene is drawn without one.
pub fn camera_at(grid: &Grid, settings: &RenderSettings, time: f64) -> Option<DVec3> {
    (!is_flat(grid)).then(|| camera_position(settings, grid, time))
}

fn is_flat(grid: &Grid) -> bool {
    Axis::ALL.into_iter().any(|axis| grid.is_flat(axis))
}

/// What a picture of water shows.
#[derive(Clone, Copy, Debug)]
pub struct WaterScene<'a> {
    /// Where the domain is.
    pub grid: &'a Grid,
    /// The solids.
    pub surfaces: &'a [Surface],
    /// The closed surface of the water, see [`liquid_surface`](crate::surface::liquid_surface).
    pub water: &'a TriMesh,
}

/// Draw water, as a camera sees it that has not moved yet.
pub fn render_water(scene: &WaterScene, settings: &RenderSettings) -> Image {
    water_at(scene, None, settings, 0.0)
}

fn water_at(scene: &WaterScene, shutter: Option<&Shutter>, settings: &RenderSettings, time: f64) -> Image {
    match Axis::ALL.into_iter().find(|&axis| scene.grid.is_flat(axis)) {
        Some(axis) => flat::render_water(scene, axis, settings),
        None => water::render(scene, shutter, &still(settings, scene.grid, time)),
    }
}
