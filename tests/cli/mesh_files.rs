//! Rows 9 to 12: mesh files that are missing, forbidden or broken.

use crate::support::{Answer, Place, TINY};
use std::process::Command;
use std::time::{Duration, Instant};

/// `bathtub check` on a scene whose obstacle is the mesh `path`.
fn check_mesh(place: &Place, path: &str) -> Answer {
    place.check(format!("{TINY}[[obstacle]]\nposition = [0, 0.6, 0]\nshape.mesh.path = \"{path}\""))
}

/// Row 9.
#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    let begun = Instant::now();
    let key = "s.toml:8:19: obstacle.0.shape.mesh.path: ";
    std::fs::create_dir(place.path("directory.obj")).unwrap();
    std::os::unix::fs::symlink("loop.obj", place.path("loop.obj")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("fifo.obj")).status().unwrap().success());
    check_mesh(&place, "absent.obj").refuses(5, &[key, "cannot find \"absent.obj\": No such file"]);
    check_mesh(&place, "directory.obj").refuses(5, &[key, "\"directory.obj\" is not a regular file"]);
    check_mesh(&place, "fifo.obj").refuses(5, &[key, "\"fifo.obj\" is not a regular file"]);
    check_mesh(&place, "loop.obj").refuses(5, &[key, "cannot find \"loop.obj\"", "symbolic links"]);
    place.write("s.toml", format!("{TINY}[[obstacle]]\nshape.mesh.path = \"/dev/zero\""));
    place.bathtub(&["check", "s.toml", "--allow-outside"]).refuses(5, &["\"/dev/zero\" is not a regular file"]);
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing was waited for");
}

/// Row 9: as a user who may not read everything.
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&place.write("secret.obj", "v 0 0 0"), 0o000);
    open(place.root(), 0o755);
    place.write("s.toml", format!("{TINY}[[obstacle]]\nshape.mesh.path = \"secret.obj\""));
    let mut command = place.command(&["check", "s.toml"]);
    if std::fs::metadata(place.root()).unwrap().uid() == 0 {
        // Root may read everything, so the command runs as nobody, from a copy that nobody can reach.
        let copy = place.path("bathtub");
        std::fs::copy(env!("CARGO_BIN_EXE_bathtub"), &copy).unwrap();
        open(&copy, 0o755);
        command = Command::new(copy);
        command.args(["check", "s.toml"]).current_dir(place.root()).uid(65534).gid(65534);
    }
    match command.output() {
        Ok(output) => Answer::from(output).refuses(5, &["cannot read \"secret.obj\": Permission denied"]),
        Err(error) => eprintln!("nothing checked: the command cannot run as another user here: {error}"),
    }
}

/// Row 10.
#[test]
fn paths_that_lead_outside() {
    let outer = Place::new();
    outer.write("secret.obj", "v 0 0 0");
    let scene = |path: &str| {
        outer.write("in/s.toml", format!("{TINY}[[obstacle]]\nshape.mesh.path = \"{path}\""));
        outer.bathtub(&["check", "in/s.toml"])
    };
    for path in
        ["../secret.obj", "a/../../secret.obj", "../../../../../etc/passwd", "/etc/passwd", "../in/../secret.obj"]
    {
        scene(path).refuses(5, &["leads outside the scene's directory", "--allow-outside"]);
    }
    std::os::unix::fs::symlink("../secret.obj", outer.path("in/link.obj")).unwrap();
    scene("link.obj").refuses(5, &["\"link.obj\" is a link that leads outside the scene's directory"]);
    scene("a\\u0000b").refuses(5, &["contains a NUL character"]);
    scene("").refuses(5, &["the path is empty"]);
    for device in ["NUL", "CON", "C:\\\\secret.obj", "\\\\\\\\.\\\\COM1", "%2e%2e/secret.obj"] {
        scene(device).refuses(5, &["cannot find"]);
    }
}

const CUBE: &str = "\
v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

/// Rows 11 and 12: what a file says of itself and what is in it.
#[test]
fn files_with_broken_content() {
    let place = Place::new();
    let refused = |name: &str, content: &[u8], fragments: &[&str]| {
        place.write(name, content);
        let path = format!("obstacle.0.shape.mesh.path: {name}: ");
        check_mesh(&place, name).refuses(4, &[&["s.toml:8:19: ", &path], fragments].concat());
    };
    let face = |line: &str| [CUBE, line].concat().into_bytes();
    refused("range.obj", &face("f 1 2 9"), &["face 6: vertex index 9 is out of range, there are 8 vertices"]);
    refused("negative.obj", &face("f 1 2 -9"), &["face 6: vertex index -9 is out of range"]);
    refused("zero.obj", &face("f 1 2 0"), &["face 6"]);
    refused("twice.obj", &face("f 1 2 2"), &["face 6 uses vertex 1 more than once"]);
    refused("open.obj", CUBE.replace("f 4 1 5 8\n", "").as_bytes(), &["the surface is open: 4 edges"]);
    refused("nan.obj", CUBE.replace("v 1 1 1", "v nan 1 1").as_bytes(), &["vertex 6 has a non-finite coordinate"]);
    refused("empty.obj", b"", &["no triangles"]);
    let ply = |vertices: &str, faces: &str| {
        let head = format!(
            "ply\nformat ascii 1.0\nelement vertex {vertices}\nproperty float x\nproperty float y\nproperty float z\n"
        );
        format!("{head}element face {faces}\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n").into_bytes()
    };
    refused("many.ply", &ply("9223372036854775808", "1"), &["PLY"]);
    refused("more.ply", &ply("2147483648", "1"), &["the header promises 2147483648"]);
    refused("negative.ply", &ply("-3", "1"), &["PLY", "-3"]);
    refused("fewer.ply", &ply("2", "1"), &["PLY"]);
    let mut stl = vec![0; 84];
    stl[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    refused("many.stl", &stl, &["the header promises 4294967295"]);
    place.write("cube.txt", CUBE);
    check_mesh(&place, "cube.txt").refuses(4, &["\"cube.txt\" is no .obj, .ply or .stl file"]);
}

/// The effective scene refers to copies, so it runs without the original; a mended mesh is told.
#[test]
fn a_mesh_travels_with_the_run() {
    let place = Place::new();
    place.write("meshes/cube.obj", CUBE.replace("f 4 3 2 1", "f 1 2 3 4").replace("f 5 6 7 8", "f 8 7 6 5"));
    check_mesh(&place, "meshes/cube.obj").refuses(4, &["the triangles are not turned alike"]);
    place.write("meshes/cube.obj", [CUBE, "v 7 7 7\n"].concat());
    let told = check_mesh(&place, "meshes/cube.obj");
    assert!(
        told.succeeds().stderr.contains("warning: meshes/cube.obj: 1 vertices belong to no triangle"),
        "{}",
        told.stderr
    );
    assert!(told.stdout.contains("obstacles  1 (0 moving)") && told.stdout.contains("triangles  about 12\n"));
    let run = |scene: &str, out: &str| {
        place.bathtub(&["run", scene, "--no-preview", "--hash", "--out", out]).succeeds().hash()
    };
    let first = run("s.toml", "a");
    std::fs::remove_file(place.path("meshes/cube.obj")).unwrap();
    assert_eq!(run("a/scene.toml", "b"), first);
    let [a, b] = ["a", "b"].map(|out| std::fs::read_to_string(place.path(out).join("scene.toml")).unwrap());
    assert_eq!(a, b);
}
