//! What a scene says of its pictures: the camera's way, and what each solid is made of.

use crate::assets::MeshAsset;
use crate::bodies::{self, Meshes};
use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::{MetalEntry, PatternName, SceneFile, ShapeEntry, SolidEntry, TextureEntry, VelocityName, WallEntry};
use bathtub_engine::geometry::{Charts, TriMesh};
use bathtub_engine::grid::Grid;
use bathtub_output::picture::{Image, decode_png};
use bathtub_output::render::{
    CLEAR_GLASS, CameraSettings, Material, Paint, RenderSettings, SolidLook, Texture, camera_at,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Places of a moving camera that are looked at.
const MOST_PLACES: u64 = 1000;

/// The other colour of patterns.
const PALE: [f32; 3] = [0.93, 0.92, 0.89];

/// The images of a scene, read and decoded once each.
#[derive(Default)]
pub struct Images {
    /// The files.
    pub assets: Vec<MeshAsset>,
    images: Vec<Arc<Image>>,
}

impl Images {
    /// Read every image that `file` names, and rename it there to the path of its copy.
    pub fn load(
        document: &Document,
        file: &mut SceneFile,
        read: impl Fn(&str) -> Result<MeshAsset, String>,
    ) -> Result<Self, SceneError> {
        let mut images = Self::default();
        for (key, appearance) in file.appearances_mut() {
            let Some(texture) = &mut appearance.texture else { continue };
            let key = |name: &str| format!("{key}.texture{name}");
            let Some(written) = &mut texture.file else {
                if texture.uv {
                    let message = "texture coordinates are for images; name one as `file`, or remove `uv`";
                    return Err(document.error_at(ErrorKind::Scene, &key(".uv"), message));
                }
                if texture.pattern.is_none() {
                    let message = "missing key `pattern` (\"checker\" or \"stripes\") or `file` (a PNG file)";
                    return Err(document.error_at(ErrorKind::Scene, &key(""), message));
                }
                continue;
            };
            let excluded = [
                ("pattern", "file", texture.pattern.is_some()),
                ("colour", "file", texture.colour.is_some()),
                ("size", "uv", texture.uv && texture.size.is_some()),
            ];
            if let Some((name, other, _)) = excluded.into_iter().find(|(.., both)| *both) {
                let message = format!("`{name}` and `{other}` exclude each other; remove one");
                return Err(document.error_at(ErrorKind::Scene, &key(&format!(".{name}")), message));
            }
            let asset = read(written).map_err(|message| document.error_at(ErrorKind::Io, &key(".file"), message))?;
            if images.assets.iter().all(|known| known.path != asset.path) {
                let wrong = |error| format!("\"{written}\" is no PNG picture that can be read: {error}");
                let image = decode_png(&asset.bytes)
                    .map_err(|error| document.error_at(ErrorKind::Io, &key(".file"), wrong(error)))?;
                images.images.push(Arc::new(image));
                images.assets.push(asset.clone());
            }
            *written = asset.path;
        }
        Ok(images)
    }

    fn image(&self, path: &str) -> Option<&Arc<Image>> {
        self.assets.iter().position(|asset| asset.path == path).map(|n| &self.images[n])
    }
}

/// The picture's settings, with a material for each solid; `rest` tells what one of a name looks like at rest in its own frame.
pub fn settings(
    document: &Document,
    file: &SceneFile,
    (images, meshes): (&Images, &Meshes),
    rest: impl Fn(&str) -> Option<TriMesh>,
) -> Result<RenderSettings, SceneError> {
    let mut render = file.render.clone();
    for (key, direction) in [
        ("render.camera.up", render.camera.up),
        ("render.key.direction", render.key.direction),
        ("render.rim.direction", render.rim.direction),
    ] {
        if direction.try_normalize().is_none() {
            return Err(document.error_at(ErrorKind::Scene, key, "a direction must not be zero"));
        }
    }
    check_camera(document, &render.camera)?;
    if render.motion_blur > 0.0 && file.output.velocity == VelocityName::None {
        let message = "blur needs velocities, and output.velocity = \"none\" leaves them out; remove one";
        return Err(document.error_at(ErrorKind::Scene, "render.motion_blur", message));
    }
    render.materials = materials(document, file, (images, meshes), rest)?;
    render.frame_seconds = 1.0 / file.time.fps;
    render.open_sides = file.walls.sides().map(|sides| sides.map(|(_, wall)| wall == WallEntry::Open));
    Ok(render)
}

/// Refuse a camera that cannot look or does not know where to go.
fn check_camera(document: &Document, camera: &CameraSettings) -> Result<(), SceneError> {
    let refuse = |key: &str, message: &str| Err(document.error_at(ErrorKind::Scene, key, message));
    let blind = "the camera looks at the point where it is; move one of `from` and `at`";
    if camera.from.is_some() && camera.from == camera.at {
        return refuse("render.camera.at", blind);
    }
    let keys = &camera.keyframes;
    if !keys.is_empty() && camera.from.is_some() {
        return refuse("render.camera.from", "`from` and `keyframes` exclude each other; remove one");
    }
    if !keys.is_empty() && camera.turntable.is_some() {
        return refuse("render.camera.turntable", "`turntable` and `keyframes` exclude each other; remove one");
    }
    if camera.turntable.is_some_and(|turntable| turntable.period == 0.0) {
        let message = "a turn takes time; give the seconds of one, negative for the other way round";
        return refuse("render.camera.turntable.period", message);
    }
    for (n, key) in keys.iter().enumerate() {
        let path = |name: &str| format!("render.camera.keyframes.{n}.{name}");
        if key.at.or(camera.at) == Some(key.from) {
            return refuse(&path("from"), blind);
        }
        if let Some(before) = n.checked_sub(1).map(|before| keys[before].time)
            && key.time <= before
        {
            let message = format!("{:?} s is not after the key before it, at {before:?} s", key.time);
            return refuse(&path("time"), &message);
        }
    }
    Ok(())
}

/// A remark about a camera that the floor hides everything from.
pub fn warnings(file: &SceneFile, render: &RenderSettings, grid: &Grid) -> Vec<String> {
    let (floor, frames) = (grid.origin.y, file.time.frames as u64);
    let step = frames / MOST_PLACES + 1;
    let times = (0..=frames).step_by(step as usize).map(|frame| frame as f64 / file.time.fps);
    let below = times.filter_map(|time| Some((time, camera_at(grid, render, time)?))).find(|(_, from)| from.y < floor);
    let Some((time, from)) = below.filter(|_| render.backdrop.ground) else { return Vec::new() };
    let CameraSettings { keyframes, from: given, .. } = &render.camera;
    let key = match (keyframes.is_empty(), given) {
        (false, _) => "keyframes",
        (true, Some(_)) => "from",
        (true, None) => "elevation",
    };
    let when = if time > 0.0 { format!(" at {time:.2} s") } else { String::new() };
    vec![format!(
        "render.camera: the camera{when}, at y = {:.3}, is below the floor y = {floor:.3}, which hides everything; raise \
         render.camera.{key} or set render.backdrop.ground = false",
        from.y
    )]
}

/// What each solid is made of, by name; those without a colour get the next of the palette, counted in the order of the file's sections.
fn materials(
    document: &Document,
    file: &SceneFile,
    (images, meshes): (&Images, &Meshes),
    rest: impl Fn(&str) -> Option<TriMesh>,
) -> Result<BTreeMap<String, Material>, SceneError> {
    let mut palette = file.render.solids.iter().cycle();
    let mut materials = BTreeMap::new();
    for solid in file.solids() {
        let charts = charts(document, &solid, meshes)?;
        let SolidEntry { name, at, appearance, .. } = solid;
        let look = appearance.look.unwrap_or_default();
        for ((name, _), next) in bodies::copies(name, at).into_iter().zip(&mut palette) {
            let default = if look == SolidLook::Glass { CLEAR_GLASS } else { *next };
            let texture = appearance.texture.as_ref();
            let material = Material {
                colour: appearance.colour.unwrap_or(default),
                look,
                roughness: appearance.roughness,
                metal: appearance.metal.map_or(0.0, MetalEntry::part),
                texture: texture.and_then(|entry| self::texture(entry, images, charts.as_ref(), rest(&name)?)),
            };
            materials.insert(name, material);
        }
    }
    Ok(materials)
}

/// The texture coordinates of a solid that is painted by them.
fn charts(document: &Document, solid: &SolidEntry, meshes: &Meshes) -> Result<Option<Charts>, SceneError> {
    if !solid.appearance.texture.as_ref().is_some_and(|texture| texture.uv) {
        return Ok(None);
    }
    let refuse = |message: &str| {
        let key = format!("{}.{}.texture.uv", solid.section, solid.number);
        Err(document.error_at(ErrorKind::Geometry, &key, message))
    };
    let Some(ShapeEntry::Mesh(mesh)) = solid.shape else {
        return refuse("only a solid whose shape is an OBJ file has texture coordinates; give it one, or remove `uv`");
    };
    // By now the path is that of the copy: `meshes/<hash>-<file name>`.
    let file = mesh.path.split_once('-').map_or(&mesh.path[..], |(_, name)| name);
    let fix = "export them with the mesh, or remove `uv`";
    match meshes.charts(mesh) {
        Ok(Some(charts)) => Ok(Some(charts)),
        Ok(None) => refuse(&format!("{file} has no texture coordinates (`vt`, OBJ files only); {fix}")),
        Err(error) => refuse(&format!("{file}: {error}; {fix}")),
    }
}

/// The texture that `entry` means on a solid that looks like this at rest.
fn texture(entry: &TextureEntry, images: &Images, charts: Option<&Charts>, rest: TriMesh) -> Option<Texture> {
    let other = entry.colour.unwrap_or(PALE);
    let (paint, part) = match (entry.pattern, &entry.file) {
        (Some(PatternName::Checker), _) => (Paint::Checker(other), 0.25),
        (Some(PatternName::Stripes), _) => (Paint::Stripes(other), 0.25),
        (None, file) => {
            let image = Arc::clone(images.image(file.as_ref()?)?);
            let paint = match charts {
                Some(charts) => Paint::Charted(image, charts.of(&rest).into()),
                None => Paint::Image(image),
            };
            (paint, 1.0)
        }
    };
    let size = entry.size.unwrap_or_else(|| part * rest.bounds().size().max_element());
    Some(Texture { paint, size: size as f32, rest: Arc::new(rest) })
}
