//! Mesh files: where a scene may find them, and reading them safely.
//!
//! A scene may come from anyone. A path is relative to the scene's directory and stays inside it after every symbolic
//! link is followed, unless the user says `--allow-outside`; only regular files of bounded size are opened.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Largest mesh file, bytes.
const MAX_MESH_FILE: u64 = 1 << 30;

/// A mesh file as it was read.
#[derive(Clone, Debug)]
pub struct MeshAsset {
    /// Path in the effective scene: `meshes/<hash>-<file name>`, relative to the effective scene file.
    pub path: String,
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// Their BLAKE3 hash; of files that belong together, that of their hashes.
    pub hash: blake3::Hash,
}

/// The file that `written` names in a scene of directory `base`. Errors are the message for the user.
pub fn read(base: &Path, written: &str, allow_outside: bool) -> Result<MeshAsset, String> {
    let (path, bytes) = open(base, written, allow_outside)?;
    let hash = blake3::hash(&bytes);
    Ok(MeshAsset { path: copy_path(&path, &hash), bytes, hash })
}

/// Files that belong together, named alike but for their extensions; so are their copies, which share one hash.
pub fn read_set(base: &Path, written: &[String], allow_outside: bool) -> Result<Vec<MeshAsset>, String> {
    let files = written.iter().map(|written| open(base, written, allow_outside)).collect::<Result<Vec<_>, _>>()?;
    let hashes: Vec<blake3::Hash> = files.iter().map(|(_, bytes)| blake3::hash(bytes)).collect();
    let hash = match hashes[..] {
        [only] => only,
        _ => blake3::hash(&hashes.iter().flat_map(|hash| *hash.as_bytes()).collect::<Vec<u8>>()),
    };
    Ok(files.into_iter().map(|(path, bytes)| MeshAsset { path: copy_path(&path, &hash), bytes, hash }).collect())
}

fn open(base: &Path, written: &str, allow_outside: bool) -> Result<(PathBuf, Vec<u8>), String> {
    let path = locate(base, written, allow_outside)?;
    let cannot = |error: std::io::Error| format!("cannot read \"{written}\": {error}");
    let info = std::fs::metadata(&path).map_err(cannot)?;
    if !info.is_file() {
        return Err(format!("\"{written}\" is not a regular file; name a mesh file"));
    }
    let too_large = || format!("\"{written}\" is larger than a mesh file may be (limit {MAX_MESH_FILE} bytes)");
    if info.len() > MAX_MESH_FILE {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    File::open(&path).and_then(|file| file.take(MAX_MESH_FILE + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    if bytes.len() as u64 > MAX_MESH_FILE {
        return Err(too_large());
    }
    Ok((path, bytes))
}

/// Where the copy of a file is, relative to the effective scene.
fn copy_path(path: &Path, hash: &blake3::Hash) -> String {
    let name: String = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .collect();
    // A name that already carries the hash does not get it twice; the start of a name may go, its extension may not.
    let short = &hash.to_hex()[..16];
    let name = name.strip_prefix(&format!("{short}-")).unwrap_or(&name);
    let stem = name.rfind('.').unwrap_or(name.len());
    format!("meshes/{short}-{}", &name[stem.saturating_sub(80)..])
}

/// `written` as a path to open, checked against the rules above.
fn locate(base: &Path, written: &str, allow_outside: bool) -> Result<PathBuf, String> {
    if written.is_empty() || written.contains('\0') {
        return Err("the path is empty or contains a NUL character; name a mesh file".into());
    }
    let fix = "move the file next to the scene, or pass --allow-outside";
    let relative = Path::new(written);
    let mut depth = 0;
    for part in relative.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => depth = -1,
        }
        if depth < 0 && !allow_outside {
            return Err(format!("\"{written}\" leads outside the scene's directory; {fix}"));
        }
    }
    let cannot = |error: std::io::Error| format!("cannot find \"{written}\": {error}");
    let base = base.canonicalize().map_err(cannot)?;
    let path = base.join(relative).canonicalize().map_err(cannot)?;
    if !allow_outside && !path.starts_with(&base) {
        return Err(format!("\"{written}\" is a link that leads outside the scene's directory; {fix}"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("scene");
        std::fs::create_dir(&base).unwrap();
        std::fs::write(dir.path().join("secret.obj"), "v").unwrap();
        std::fs::write(base.join("ball.obj"), "v").unwrap();
        for bad in ["../secret.obj", "a/../../secret.obj", "/etc/passwd", "", "a\0b", "ball.obj/..//../secret.obj"] {
            assert!(read(&base, bad, false).is_err(), "{bad:?}");
        }
        assert!(read(&base, "../scene/ball.obj", false).is_err(), "leaving and coming back is leaving");
        assert_eq!(read(&base, "./ball.obj", false).unwrap().bytes, b"v");
        assert_eq!(read(&base, "../secret.obj", true).unwrap().bytes, b"v");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_before_judging() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("scene");
        std::fs::create_dir(&base).unwrap();
        std::fs::write(dir.path().join("secret.obj"), "v").unwrap();
        std::fs::write(base.join("ball.obj"), "v").unwrap();
        symlink("../secret.obj", base.join("out.obj")).unwrap();
        symlink("ball.obj", base.join("in.obj")).unwrap();
        symlink("loop.obj", base.join("loop.obj")).unwrap();
        symlink("/dev/zero", base.join("zero.obj")).unwrap();
        assert!(read(&base, "out.obj", false).unwrap_err().contains("link that leads outside"));
        assert!(read(&base, "in.obj", false).is_ok());
        assert!(read(&base, "loop.obj", false).unwrap_err().contains("cannot find"));
        assert!(read(&base, "zero.obj", true).unwrap_err().contains("not a regular file"));
        assert!(read(&base, "../scene", true).unwrap_err().contains("not a regular file"));
    }

    #[test]
    fn copies_of_files_that_belong_together_are_named_alike() {
        let dir = tempfile::tempdir().unwrap();
        let stem = "d".repeat(100);
        let written = ["node", "ele"].map(|e| format!("{stem}.{e}"));
        written.iter().for_each(|name| std::fs::write(dir.path().join(name), name).unwrap());
        let first = read_set(dir.path(), &written, false).unwrap();
        assert_eq!(first[0].path.strip_suffix("node"), first[1].path.strip_suffix("ele"));
        std::fs::create_dir(dir.path().join("meshes")).unwrap();
        first.iter().for_each(|file| std::fs::write(dir.path().join(&file.path), &file.bytes).unwrap());
        let again = read_set(dir.path(), &[first[0].path.clone(), first[1].path.clone()], false).unwrap();
        assert_eq!([&again[0].path, &again[1].path], [&first[0].path, &first[1].path]);
        std::fs::remove_file(dir.path().join(&written[1])).unwrap();
        assert!(read_set(dir.path(), &written, false).unwrap_err().contains(".ele"));
    }

    #[test]
    fn the_copy_keeps_one_name_however_often_it_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("my ball.obj"), "v").unwrap();
        let first = read(dir.path(), "my ball.obj", false).unwrap();
        std::fs::create_dir(dir.path().join("meshes")).unwrap();
        std::fs::write(dir.path().join(&first.path), &first.bytes).unwrap();
        assert!(first.path.ends_with("-my_ball.obj"));
        assert_eq!(read(dir.path(), &first.path, false).unwrap().path, first.path);
    }
}
