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
    Answer::from(command.output().unwrap()).refuses(5, &["cannot read \"secret.obj\": Permission denied"]);
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
