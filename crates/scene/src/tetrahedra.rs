//! Files of tetrahedra, read and checked.

use crate::assets::MeshAsset;
use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::SceneFile;
use bathtub_engine::geometry::{TetFormat, TetMesh};
use std::path::Path;

/// What the files of tetrahedra in a scene hold.
#[derive(Default)]
pub struct TetFiles {
    /// The files, each once.
    pub assets: Vec<MeshAsset>,
    /// What was mended in them.
    pub warnings: Vec<String>,
    /// The tetrahedra of each `[[elastic]]` that has them from a file, in metres, about its own origin.
    pub meshes: Vec<Option<TetMesh>>,
}

impl TetFiles {
    /// Read every file that `file` names, and rename it there to the path of its copy. `read` opens files that belong together.
    pub fn load(
        document: &Document,
        file: &mut SceneFile,
        read: impl Fn(&[String]) -> Result<Vec<MeshAsset>, String>,
    ) -> Result<Self, SceneError> {
        let mut files = Self::default();
        for (i, entry) in file.elastic.iter_mut().enumerate() {
            let Some(tetrahedra) = &mut entry.tetrahedra else {
                files.meshes.push(None);
                continue;
            };
            let key = format!("elastic.{i}.tetrahedra.path");
            let written = tetrahedra.path.clone();
            let refuse = |message: String| document.error_at(ErrorKind::Geometry, &key, message);
            let extension = Path::new(&written).extension().unwrap_or_default().to_string_lossy();
            let format = TetFormat::from_extension(&extension)
                .ok_or_else(|| refuse(format!("\"{written}\" is no .msh, .vtk, .node or .ele file")))?;
            let set = read(&set_of(&written, &extension, format))
                .map_err(|message| document.error_at(ErrorKind::Io, &key, message))?;
            let bytes: Vec<&[u8]> = set.iter().map(|asset| &asset.bytes[..]).collect();
            let raw = format.read(&bytes).map_err(|error| refuse(format!("{written}: {error}")))?;
            let sound = if tetrahedra.repair { raw.repair() } else { raw.check() };
            let (mesh, mended) = sound.map_err(|error| refuse(format!("{written}: {error}")))?;
            files.warnings.extend(mended.iter().map(|warning| format!("{written}: {warning}")));
            let factor = tetrahedra.scale.factor();
            files.meshes.push(Some(mesh.mapped(|v| factor * v)));
            let is_named = |asset: &&MeshAsset| asset.path.ends_with(&*extension);
            tetrahedra.path = set.iter().find(is_named).map_or(written, |asset| asset.path.clone());
            for asset in set {
                if files.assets.iter().all(|known| known.path != asset.path) {
                    files.assets.push(asset);
                }
            }
        }
        Ok(files)
    }
}

/// The paths of all files of a mesh, of which `written` is one.
fn set_of(written: &str, extension: &str, format: TetFormat) -> Vec<String> {
    let is_upper = extension.chars().all(|c| c.is_ascii_uppercase());
    let path = |other: &&str| {
        if other.eq_ignore_ascii_case(extension) {
            return written.to_owned();
        }
        let other = if is_upper { other.to_ascii_uppercase() } else { (*other).to_owned() };
        Path::new(written).with_extension(other).to_string_lossy().into_owned()
    };
    format.extensions().iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_pair_are_named_alike() {
        let set = |written: &str, extension: &str| {
            set_of(written, extension, TetFormat::from_extension(extension).unwrap()).join(" ")
        };
        assert_eq!(set("a/duck.1.node", "node"), "a/duck.1.node a/duck.1.ele");
        assert_eq!(set("DUCK.ELE", "ELE"), "DUCK.NODE DUCK.ELE");
        assert_eq!(set("duck.Msh", "Msh"), "duck.Msh");
    }
}
