//! Texture coordinates of mesh files: where on a picture each place of a surface is.
//!
//! A surface that is simulated need not have the triangles of the file it came from: those are checked, mended, or replaced by tetrahedra. So a triangle
//! takes the coordinates of the place in the file that is nearest to its middle.

use super::{MeshError, MeshFormat, TriMesh, formats};
use glam::{DVec2, DVec3};
use parry3d_f64::math::Vector;
use parry3d_f64::query::PointQueryWithLocation;
use parry3d_f64::shape::TriMesh as ParryMesh;

/// A triangle of a file, and where its corners are on the picture: to the right and up, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chart {
    /// In the file's unit.
    pub corners: [DVec3; 3],
    /// Of each corner.
    pub at: [DVec2; 3],
}

/// The texture coordinates of a file.
pub struct Charts {
    charts: Vec<Chart>,
    tree: ParryMesh,
}

impl Charts {
    /// Those of a file's bytes, whose unit is `scale` metres along each axis; none if it has none. Only OBJ files have any here.
    pub fn read(format: MeshFormat, bytes: &[u8], scale: DVec3) -> Result<Option<Self>, MeshError> {
        let mut charts = match format {
            MeshFormat::Obj => formats::obj_charts(bytes)?,
            MeshFormat::Ply | MeshFormat::Stl => Vec::new(),
        };
        charts.iter_mut().flat_map(|chart| &mut chart.corners).for_each(|corner| *corner *= scale);
        // What has no area is nowhere nearest by itself, and has no coordinates beside it.
        charts.retain(|Chart { corners: [a, b, c], .. }| (*b - *a).cross(*c - *a).length_squared() > 0.0);
        let vertices: Vec<Vector> = charts.iter().flat_map(|chart| chart.corners).collect();
        let triangles = (0..charts.len() as u32).map(|n| [3 * n, 3 * n + 1, 3 * n + 2]).collect();
        Ok(ParryMesh::new(vertices, triangles).ok().map(|tree| Self { charts, tree }))
    }

    /// Where the corners of each triangle of a surface are on the picture.
    pub fn of(&self, surface: &TriMesh) -> Vec<[DVec2; 3]> {
        let place = |n: usize| {
            let corners = surface.corners(n);
            let middle = (corners[0] + corners[1] + corners[2]) / 3.0;
            let (_, (chart, _)) = self.tree.project_local_point_and_get_location(middle, false);
            corners.map(|corner| self.charts[chart as usize].at_place(corner))
        };
        (0..surface.triangles.len()).map(place).collect()
    }
}

impl Chart {
    /// Where a place is on the picture, by the part of it that lies in the triangle's plane.
    fn at_place(&self, place: DVec3) -> DVec2 {
        let [a, b, c] = self.corners;
        let normal = (b - a).cross(c - a);
        let part = |from: DVec3, to: DVec3| (from - place).cross(to - place).dot(normal) / normal.length_squared();
        part(b, c) * self.at[0] + part(c, a) * self.at[1] + part(a, b) * self.at[2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;

    /// A square of two triangles, seen as the left half of a picture.
    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 0.5 0\nvt 0.5 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n";

    #[test]
    fn coordinates_follow_the_scale_and_go_on_beyond_a_triangle() {
        let charts = Charts::read(MeshFormat::Obj, SQUARE.as_bytes(), DVec3::splat(2.0)).unwrap().unwrap();
        let vertices = vec![DVec3::new(0.5, 0.5, 0.1), DVec3::new(1.5, 0.5, 0.1), DVec3::new(1.5, 3.0, 0.1)];
        let places = charts.of(&TriMesh { vertices, triangles: vec![[0, 1, 2]] });
        let expected = [[0.125, 0.25], [0.375, 0.25], [0.375, 1.5]].map(DVec2::from);
        assert!(places[0].iter().zip(expected).all(|(a, b)| a.abs_diff_eq(b, 1e-12)), "{places:?}");
    }

    #[test]
    fn files_without_coordinates_have_none() {
        let read = |text: &str| Charts::read(MeshFormat::Obj, text.as_bytes(), DVec3::ONE);
        assert!(read("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n").unwrap().is_none());
        for partly in ["1/1 2/2 3//3", "1/1 2/2 3/x", "1/1 2/ 3/3", "1 2 3"] {
            let error = read(&SQUARE.replace("1/1 2/2 3/3 4/4", partly)).err().unwrap().to_string();
            assert!(
                error.contains(&format!("OBJ line 9: `f {partly}` is a face without a texture coordinate")),
                "{error}"
            );
        }
        let error = read(&SQUARE.replace("vt 0.5 1", "vt nan 1")).err().unwrap().to_string();
        assert_eq!(error, "OBJ line 7: `vt nan 1` is not a texture coordinate: `vt` and numbers");
        let wrong = read(&SQUARE.replace("3/3", "3/9")).err().unwrap().to_string();
        assert_eq!(wrong, "OBJ line 9: `f 1/1 2/2 3/9 4/4` is not a face: there is no texture coordinate 9");
        assert!(Charts::read(MeshFormat::Stl, b"solid", DVec3::ONE).unwrap().is_none());
    }

    /// A ball of other triangles than the file's: every corner is where its own direction says.
    #[test]
    fn another_surface_takes_those_of_the_nearest_place() {
        let ball = |edge: f64| Shape::Sphere { radius: 1.0 }.surface(edge);
        let file = ball(0.05);
        let mut text = String::new();
        file.vertices.iter().for_each(|v| text += &format!("v {} {} {}\nvt {} {}\n", v.x, v.y, v.z, v.x, v.y));
        file.triangles.iter().for_each(|t| {
            let [a, b, c] = t.map(|v| v + 1);
            text += &format!("f {a}/{a} {b}/{b} {c}/{c}\n");
        });
        let charts = Charts::read(MeshFormat::Obj, text.as_bytes(), DVec3::ONE).unwrap().unwrap();
        let coarse = ball(0.2);
        for (n, places) in charts.of(&coarse).into_iter().enumerate() {
            let off = coarse.corners(n).into_iter().zip(places).map(|(v, at)| (v.truncate() - at).length());
            assert!(off.fold(0.0, f64::max) < 0.02);
        }
    }
}
