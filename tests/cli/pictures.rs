//! Pictures from outside: which are drawn, where from, in which colours.

use crate::support::{Place, TINY, check};
use std::fs;
use std::path::Path;

/// A ball on a post in a box, small pictures.
const SCENE: &str = "\
[grid]
cells = [8, 12, 8]
dx = 0.1
[time]
frames = 4
[[obstacle]]
name = \"post\"
shape.box.size = [0.2, 0.3, 0.2]
position = [0.2, 0.15, 0]
[[body]]
name = \"ball\"
density = 3
shape.sphere.radius = 0.2
position = [0, 0.7, 0]
spin = { axis = [0, 1, 0], degrees_per_second = 300 }
[render]
size = [64, 48]
";

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("frame_"));
    names.sort();
    names
}

/// Hundredths of a second that each picture of a GIF stays: graphic control extensions are 21 F9 04, flags, delay.
fn delays(path: &Path) -> Vec<u16> {
    let bytes = fs::read(path).unwrap();
    let of = |at: &[u8]| at.starts_with(&[0x21, 0xf9, 0x04]).then(|| u16::from_le_bytes([at[4], at[5]]));
    bytes.windows(8).filter(|at| at[7] == 0).filter_map(of).collect()
}

#[test]
fn every_other_frame_is_drawn_and_the_animation_keeps_its_time() {
    let place = Place::new();
    place.write("s.toml", SCENE);
    place.bathtub(&["run", "s.toml", "--frames", "..2", "--preview", "every=2"]).succeeds();
    let preview = place.path("out/s/preview");
    assert_eq!(names(&preview), ["frame_0000.png", "frame_0002.png"]);
    let answer = place.bathtub(&["run", "s.toml", "--resume", "--preview", "every=2"]);
    assert_eq!(names(&preview), ["frame_0000.png", "frame_0002.png", "frame_0004.png"]);
    assert_eq!(delays(&preview.join("animation.gif")), [8, 9, 8], "2/24 s each");
    let told = &answer.succeeds().stderr;
    assert!(told.contains(" Mcells/s") && told.contains("simulated ") && told.contains("1 frames drawn in "), "{told}");
    place.bathtub(&["render", "out/s", "-q", "--to", "all"]).succeeds();
    assert_eq!(delays(&place.path("all/animation.gif")), [4, 4, 5, 4, 4]);
    for wrong in ["every=0", "every=-1", "every=x", "2", "every=1.5"] {
        place.bathtub(&["run", "s.toml", "--preview", wrong]).refuses(2, &["write every=N with N of at least 1"]);
    }
    place.bathtub(&["run", "s.toml", "--preview", "every=2", "--no-preview"]).refuses(2, &["cannot be used with"]);
}

#[test]
fn solids_take_other_looks_and_frames_are_chosen() {
    let place = Place::new();
    place.write("s.toml", SCENE);
    place.bathtub(&["run", "s.toml", "--no-preview", "-q"]).succeeds();
    let draw = |to: &str, more: &[&str]| {
        place.bathtub(&[&["render", "out/s", "-q", "--to", to, "--frames", "4"], more].concat()).succeeds();
        fs::read(place.path(to).join("frame_0004.png")).unwrap()
    };
    let plain = draw("plain", &[]);
    let red = draw("red", &["--set", "body.ball.colour=[1,0,0]"]);
    assert_ne!(red, plain);
    assert_ne!(draw("glass", &["--set", "obstacle.post.look=glass"]), plain);
    assert_eq!(draw("number", &["--set", "body.0.colour=[1,0,0]"]), red);

    let render = |more: &[&str]| place.bathtub(&[&["render", "out/s", "--to", "list"], more].concat());
    render(&["--frames", "0..4..3,1"]).succeeds();
    assert_eq!(names(&place.path("list")), ["frame_0000.png", "frame_0001.png", "frame_0003.png"]);
    render(&["--frames", "1,9"]).refuses(5, &["--frames 9: there are frames 0..4, none of these"]);
    let short = render(&["--frames", "2..9"]);
    assert!(short.succeeds().stderr.contains("warning: --frames 2..9: there are frames 0..4, 3 of these 8"));
    render(&["--frames", "4..2"]).refuses(2, &["are no frames; write numbers, A..B or A..B..STEP"]);
    render(&["--set", "body.bal.colour=[1,0,0]"]).refuses(3, &["no element `bal`", "did you mean `ball`?"]);
    render(&["--set", "body.ball.color=[1,0,0]"]).refuses(2, &["only keys of [render], and colour, look"]);
    render(&["--set", "body.ball.density=1"]).refuses(2, &["only keys of [render]"]);
    render(&["--set", "body.ball.colour=[2,0,0]"]).refuses(3, &["body.0.colour.0: 2 is out of range"]);
}

/// The camera goes by the time of the scene, in a run and in what is drawn from its files.
#[test]
fn the_camera_goes_around() {
    let place = Place::new();
    place.write("s.toml", format!("{SCENE}camera.turntable = {{ period = 0.16666666666666666 }}\n"));
    place.bathtub(&["run", "s.toml", "-q"]).succeeds();
    let render = |to: &str, azimuth: &str| {
        let set = format!("render.camera.azimuth={azimuth}");
        place.bathtub(&["render", "out/s", "-q", "--to", to, "--set", &set]).succeeds();
    };
    render("same", "30.0");
    render("turned", "120.0");
    let bytes = |path: &str| fs::read(place.path(path)).unwrap();
    let [first, second] = [0, 1].map(|n| bytes(&format!("same/frame_000{n}.png")));
    assert_ne!(first, second);
    assert_eq!(first[16..24], second[16..24], "pictures of one size");
    assert_eq!(bytes("out/s/preview/frame_0000.png"), first);
    assert_ne!(bytes("turned/frame_0000.png"), first);
}

#[test]
fn cameras_that_cannot_be() {
    let camera = |keys: &str| check(format!("{TINY}[render.camera]\n{keys}\n"));
    let key =
        |time: f64, more: &str| format!("[[render.camera.keyframes]]\ntime = {time:?}\nfrom = [0, 1, 4]\n{more}\n");
    camera(&(key(0.0, "") + &key(1.0, "at = [0, 0, 0]\nfov = 40"))).succeeds();
    camera("turntable = { period = 8 }").succeeds();
    camera(&(key(1.0, "") + &key(1.0, "")))
        .refuses(3, &["render.camera.keyframes.1.time: 1.0 s is not after the key before it, at 1.0 s"]);
    camera(&key(0.0, "at = [0, 1, 4]")).refuses(3, &["render.camera.keyframes.0.from: the camera looks at the point"]);
    camera(&("at = [0, 1, 4]\n".to_owned() + &key(0.0, ""))).refuses(3, &["the camera looks at the point"]);
    camera(&("from = [0, 0, 9]\n".to_owned() + &key(0.0, "")))
        .refuses(3, &["render.camera.from: `from` and `keyframes` exclude each other"]);
    camera(&("turntable = { period = 8 }\n".to_owned() + &key(0.0, "")))
        .refuses(3, &["render.camera.turntable: `turntable` and `keyframes` exclude each other"]);
    camera("turntable = { period = 0 }").refuses(3, &["render.camera.turntable.period: a turn takes time"]);
    camera("keyframes = []").refuses(3, &["an empty list says nothing"]);
    camera(&key(0.0, "form = 1")).refuses(3, &["unknown key `form`; did you mean `from`?"]);
    check(format!("{TINY}[render]\nquality = \"finale\"\n")).refuses(3, &["did you mean `final`?"]);

    let told = "is below the floor y = 0.000, which hides everything; raise render.camera.";
    for (keys, which) in [
        ("from = [0, -0.5, 3]".to_owned(), "from"),
        ("elevation = -15".to_owned(), "elevation"),
        (key(0.0, "") + &key(0.1, "").replace("[0, 1, 4]", "[0, -1, 4]"), "keyframes"),
    ] {
        let answer = camera(&keys);
        assert!(answer.succeeds().stderr.contains(&format!("{told}{which} or set")), "{}", answer.stderr);
    }
    assert_eq!(camera("elevation = 15").succeeds().stderr, "");
    assert_eq!(
        check(format!("{TINY}[render]\ncamera.elevation = -15\nbackdrop.ground = false\n")).succeeds().stderr,
        ""
    );
}

/// A PNG of two pixels, red and blue.
/// What moves is blurred, in a run and in what is drawn from its files alike; without velocities there is nothing to blur by.
#[test]
fn what_moves_is_blurred() {
    let place = Place::new();
    let water = SCENE.replace("[grid]", "[water]\n[[liquid]]\nlevel = 0.2\n[grid]");
    place.write("s.toml", format!("{water}motion_blur = 1\n"));
    place.bathtub(&["run", "s.toml", "-q"]).succeeds();
    let draw = |to: &str, blur: &str| {
        let set = format!("render.motion_blur={blur}");
        place.bathtub(&["render", "out/s", "-q", "--frames", "4", "--to", to, "--set", &set]).succeeds();
        fs::read(place.path(to).join("frame_0004.png")).unwrap()
    };
    let [blurred, sharp] = [draw("blurred", "1.0"), draw("sharp", "0.0")];
    assert!(fs::read(place.path("out/s/preview/frame_0004.png")).unwrap() == blurred && blurred != sharp);
    check(format!("{SCENE}motion_blur = 0.5\n[output]\nvelocity = \"none\"\n"))
        .refuses(3, &["s.toml:18:15: render.motion_blur: blur needs velocities"]);
}

const IMAGE: &[u8] = include_bytes!("two-pixels.png");

/// What is painted on a body turns with it; from the files of a run the same pictures are drawn as during it.
#[test]
fn textures_and_metal() {
    let place = Place::new();
    place.write("two.png", IMAGE);
    let scene = |texture: &str| {
        let painted = format!("density = 3\ntexture = {texture}\nroughness = 0.2\nmetal = 0.3");
        SCENE.replace("[grid]", "[water]\n[[liquid]]\nlevel = 0.2\n[grid]").replace("density = 3", &painted)
    };
    let mut drawn = Vec::new();
    for (n, texture) in ["{ pattern = \"checker\" }", "{ pattern = \"stripes\", size = 0.1 }", "{ file = \"two.png\" }"]
        .into_iter()
        .enumerate()
    {
        let (scene_file, out, again) = (format!("{n}.toml"), format!("run{n}"), format!("again{n}"));
        place.write(&scene_file, scene(texture));
        place.bathtub(&["run", &scene_file, "-q", "--out", &out]).succeeds();
        place.bathtub(&["render", &out, "-q", "--to", &again]).succeeds();
        let bytes = |frame: u64, directory: &str| {
            fs::read(place.path(directory).join(format!("frame_{frame:04}.png"))).unwrap()
        };
        for frame in 0..=4 {
            assert!(bytes(frame, &format!("{out}/preview")) == bytes(frame, &again), "{texture}, frame {frame}");
        }
        drawn.push(bytes(4, &again));
    }
    assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2]);
    let plain = ["render", "run0", "-q", "--frames", "4", "--to", "metal", "--set", "body.ball.metal=true"];
    place.bathtub(&plain).succeeds();
    assert_ne!(fs::read(place.path("metal/frame_0004.png")).unwrap(), drawn[0]);
    assert!(fs::read_dir(place.path("run2/meshes")).unwrap().count() == 1, "a run keeps its images");

    let refused = |texture: &str, fragments: &[&str]| {
        place.check(scene(texture)).refuses(if fragments[0] == "io" { 5 } else { 3 }, &fragments[1..]);
    };
    refused("{}", &["", "body.0.texture: missing key `pattern`"]);
    refused("{ pattern = \"chess\" }", &["", "unknown value \"chess\"", "checker"]);
    refused("{ pattern = \"checker\", file = \"two.png\" }", &["", "`pattern` and `file` exclude each other"]);
    refused("{ pattern = \"checker\", size = 0 }", &["", "body.0.texture.size: 0 is out of range"]);
    refused("{ file = \"absent.png\" }", &["io", "body.0.texture.file: cannot find \"absent.png\""]);
    refused("{ file = \"s.toml\" }", &["io", "\"s.toml\" is no PNG picture that can be read"]);
    place
        .check(SCENE.replace("density = 3", "density = 3\nmetal = 2"))
        .refuses(3, &["body.0.metal: 2 is out of range"]);
    place.check(SCENE.replace("density = 3", "density = 3\nroughness = -1")).refuses(3, &["body.0.roughness: -1"]);
}

/// A block as an OBJ file whose texture coordinates are all the same.
fn block(u: f64) -> String {
    let corners = ["0 0 0", "1 0 0", "1 1 0", "0 1 0", "0 0 1", "1 0 1", "1 1 1", "0 1 1"];
    let faces = ["4 3 2 1", "5 6 7 8", "1 2 6 5", "3 4 8 7", "2 3 7 6", "4 1 5 8"];
    let vertices = corners.map(|corner| format!("v {corner}\n")).concat();
    let face = |face: &str| format!("f {}\n", face.split(' ').map(|v| format!("{v}/1")).collect::<Vec<_>>().join(" "));
    format!("{vertices}vt {u} 0.5\n{}", faces.map(face).concat())
}

/// An image lies where the texture coordinates of the file say, on rigid and on elastic bodies: in the middle of one of its two pixels all has that colour.
#[test]
fn textures_by_coordinates() {
    let place = Place::new();
    place.write("two.png", IMAGE);
    place.write("left.obj", block(0.25));
    place.write("right.obj", block(0.75));
    place.write("bare.obj", block(0.25).replace("/1", ""));
    let mesh = |name: &str| format!("shape.mesh = {{ path = \"{name}.obj\", scale = 0.4 }}");
    let painted = "density = 3\ntexture = { file = \"two.png\", uv = true }";
    let of = |name: &str, looks: &str| {
        SCENE
            .replace("shape.sphere.radius = 0.2", &mesh(name))
            .replace("density = 3", looks)
            .replace("frames = 4", "frames = 1")
    };
    let elastic = |text: String| {
        let stiff = text.replace("[[body]]", "[[elastic]]").replace("density = 3", "density = 3\nyoungs_modulus = 1e4");
        stiff.replace("spin = { axis = [0, 1, 0], degrees_per_second = 300 }\n", "")
    };
    let drawn = |text: String| {
        place.write("s.toml", text);
        place.bathtub(&["run", "s.toml", "-q", "--overwrite"]).succeeds();
        fs::read(place.path("out/s/preview/frame_0001.png")).unwrap()
    };
    for (name, colour) in [("left", "[1, 0, 0]"), ("right", "[0, 0, 1]")] {
        let plain = of(name, &format!("density = 3\ncolour = {colour}"));
        assert!(drawn(of(name, painted)) == drawn(plain.clone()), "{name}");
        assert!(drawn(elastic(of(name, painted))) == drawn(elastic(plain)), "elastic, {name}");
    }
    let refused = |text: String, told: &str| {
        place.write("s.toml", text);
        let answer = place.bathtub(&["check", "s.toml"]);
        assert!(matches!(answer.code, Some(3 | 4)) && answer.stderr.contains(told), "{answer:?}");
    };
    refused(
        of("bare", painted),
        "body.0.texture.uv: bare.obj: OBJ line 10: `f 4 3 2 1` is a face without a texture coordinate",
    );
    place.write("bare.obj", block(0.25).replace("/1", "").replace("vt 0.25 0.5\n", ""));
    refused(of("bare", painted), "body.0.texture.uv: bare.obj has no texture coordinates (`vt`, OBJ files only)");
    refused(SCENE.replace("density = 3", painted), "body.0.texture.uv: only a solid whose shape is an OBJ file");
    refused(of("left", &painted.replace("uv", "size = 1, uv")), "`size` and `uv` exclude each other");
    refused(
        of("left", "density = 3\ntexture = { pattern = \"checker\", uv = true }"),
        "texture coordinates are for images",
    );
}
