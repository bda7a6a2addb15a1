//! The identity of a scene: two runs with equal hashes compute the same states.

use crate::assets::MeshAsset;
use crate::file::{CouplingSection, OutputSection, SceneFile, SceneSection, ShapeEntry};
use bathtub_output::render::RenderSettings;

/// BLAKE3 of everything in an effective scene that the states depend on, mesh files by their content.
///
/// Left out: the scene's name and description, `time.frames` (a run may be made longer), `[output]`, `[render]` and
/// colours and looks.
pub fn hash(effective: &SceneFile, meshes: &[MeshAsset]) -> blake3::Hash {
    let mut scene = effective.clone();
    scene.scene = SceneSection { gravity: scene.scene.gravity, seed: scene.scene.seed, ..SceneSection::default() };
    scene.time.frames = 0;
    scene.output = OutputSection::default();
    scene.render = RenderSettings::default();
    scene.obstacle.iter_mut().for_each(|o| (o.colour, o.look) = (None, None));
    scene.body.iter_mut().for_each(|b| (b.colour, b.look) = (None, None));
    scene.elastic.iter_mut().for_each(|e| (e.colour, e.look) = (None, None));
    for (_, shape) in scene.shapes_mut() {
        if let ShapeEntry::Mesh(file) = shape
            && let Some(mesh) = meshes.iter().find(|m| m.path == file.path)
        {
            file.path = mesh.hash.to_hex().to_string();
        }
    }
    for file in scene.elastic.iter_mut().filter_map(|e| e.tetrahedra.as_mut()) {
        if let Some(mesh) = meshes.iter().find(|m| m.path == file.path) {
            file.path = mesh.hash.to_hex().to_string();
        }
    }
    let text = serde_json::to_string(&scene).expect("a scene of finite numbers has a JSON form");
    // Scenes that say nothing of a section that came later are the scenes they were.
    let usual = serde_json::to_string(&CouplingSection::default()).expect("a section of names has a JSON form");
    blake3::hash(text.replacen(&format!("\"coupling\":{usual},"), "", 1).as_bytes())
}
