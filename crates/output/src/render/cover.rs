//! Where in the picture meshes may be seen, so that rays elsewhere need not look for them.
//!
//! A triangle before the camera lies in the rectangle around its corners, as they are seen. Blocks of pixels that no such rectangle touches show none.

use super::camera::Camera;
use bathtub_engine::geometry::TriMesh;
use rayon::prelude::*;

/// Edge of a block, pixels.
const BLOCK: usize = 4;
/// Rectangles are wider than this on all sides, pixels: more than rounding moves a corner.
const MARGIN: f32 = 0.5;

/// Of each block of pixels, whether a mesh may be seen there.
#[derive(Debug)]
pub struct Cover {
    blocks: [usize; 2],
    covered: Vec<bool>,
}

impl Cover {
    pub fn new<'a>(camera: &Camera, meshes: impl IntoIterator<Item = &'a TriMesh>) -> Self {
        let blocks = camera.size.map(|n| (n as usize).div_ceil(BLOCK));
        let mut cover = Self { blocks, covered: vec![false; blocks[0] * blocks[1]] };
        for mesh in meshes {
            let seen: Option<Vec<[f32; 2]>> =
                mesh.vertices.par_iter().map(|v| Some(camera.project(v.as_vec3a())?.0)).collect();
            let Some(seen) = seen else {
                // It reaches behind the camera.
                cover.covered.fill(true);
                break;
            };
            mesh.triangles.iter().for_each(|t| cover.add(t.map(|v| seen[v as usize])));
        }
        cover
    }

    fn add(&mut self, [a, b, c]: [[f32; 2]; 3]) {
        let [columns, rows] = [0, 1].map(|n| {
            let [low, high] = [a[n].min(b[n]).min(c[n]) - MARGIN, a[n].max(b[n]).max(c[n]) + MARGIN];
            // What is left of or above the picture is cut off by the cast.
            let [first, last] = [low, high].map(|at| (at / BLOCK as f32).floor());
            first as usize..((last + 1.0) as usize).min(self.blocks[n])
        });
        for row in rows {
            let first = row * self.blocks[0];
            self.covered[first..][..self.blocks[0]][columns.start.min(columns.end)..columns.end].fill(true);
        }
    }

    /// Whether a mesh may be seen in a pixel.
    pub fn may_show(&self, x: u32, y: u32) -> bool {
        self.covered[x as usize / BLOCK + self.blocks[0] * (y as usize / BLOCK)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::bvh::Solids;
    use super::*;
    use crate::frame::Surface;
    use crate::render::settings::CameraSettings;
    use bathtub_engine::geometry::{Pose, Shape};
    use bathtub_engine::grid::Grid;
    use glam::{DQuat, DVec3};

    const SIZE: [u32; 2] = [90, 70];

    fn ball(position: DVec3) -> TriMesh {
        let pose = Pose { position, rotation: DQuat::IDENTITY };
        Shape::Sphere { radius: 0.2 }.surface(0.05).posed(&pose)
    }

    fn camera() -> Camera {
        let settings = CameraSettings { from: Some(DVec3::new(1.5, 1.0, 3.0)), ..Default::default() };
        Camera::new(&settings, Some(SIZE), &Grid::new([8; 3], 0.125, DVec3::ZERO))
    }

    /// Rays meet balls in covered blocks only, one of them beyond the picture's edge; most of the picture is not covered.
    #[test]
    fn what_is_seen_is_covered() {
        let (camera, balls) = (camera(), [ball(DVec3::splat(0.5)), ball(DVec3::new(-0.9, 0.2, 0.3))]);
        let cover = Cover::new(&camera, &balls);
        let surfaces = balls.map(|mesh| Surface { name: "ball".into(), mesh, velocities: vec![], moves: false });
        let solids = Solids::new(&surfaces);
        let (mut met, mut covered) = (0, 0);
        for (x, y) in (0..SIZE[1]).flat_map(|y| (0..SIZE[0]).map(move |x| (x, y))) {
            for part in [0.01, 0.5, 0.99] {
                let is_met = solids.occluded(&camera.ray(x as f32 + part, y as f32 + part), f32::INFINITY);
                assert!(!is_met || cover.may_show(x, y), "{x} {y}");
                met += usize::from(is_met);
            }
            covered += usize::from(cover.may_show(x, y));
        }
        assert!(met > 300 && covered < 3000, "{met} {covered}");
    }

    #[test]
    fn what_reaches_behind_the_camera_is_everywhere() {
        let cover = Cover::new(&camera(), &[ball(DVec3::new(1.5, 1.0, 3.0))]);
        assert!(cover.may_show(0, 0) && cover.may_show(SIZE[0] - 1, SIZE[1] - 1));
    }
}
