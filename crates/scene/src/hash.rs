//! The identity of a scene: two runs with equal hashes compute the same states.

use crate::assets::MeshAsset;
use crate::file::{Appearance, CouplingSection, OutputSection, SceneFile, SceneSection, ShapeEntry};
use bathtub_output::render::RenderSettings;

/// BLAKE3 of everything in an effective scene that the states depend on, mesh files by their content.
///
/// Left out: the scene's name and description, `time.frames` (a run may be made longer), `[output]`, `[render]` and
/// what solids look like.
pub fn hash(effective: &SceneFile, meshes: &[MeshAsset]) -> blake3::Hash {
    let mut scene = effective.clone();
    scene.scene = SceneSection { gravity: scene.scene.gravity, seed: scene.scene.seed, ..SceneSection::default() };
    scene.time.frames = 0;
    scene.output = OutputSection::default();
    // As many rays as the default once named; scenes that say nothing of what came later are the scenes they were.
    scene.render = RenderSettings { samples: Some(4), ..RenderSettings::default() };
    scene.appearances_mut().for_each(|(_, appearance)| *appearance = Appearance::default());
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
