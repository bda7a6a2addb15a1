//! Pictures on disk: a PNG per frame and an animation of them all.
//!
//! The animation is a GIF, because that plays everywhere without a question: in browsers, chats, slides, file
//! managers. (Animated PNG has all colours but most desktop viewers show its first frame only.) Where ffmpeg is installed, an MP4
//! is made beside it, smaller and in full colour.

mod gif;
mod palette;

pub use self::gif::write_animation;

use crate::atomic::{self, FileError};
use crate::inventory::number;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

/// Largest width or height that is read, pixels.
const MAX_SIDE: u32 = 16_384;

/// A picture: rows from the top, pixels from the left, three sRGB bytes each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Red, green, blue.
    pub pixels: Vec<u8>,
}

impl Image {
    /// All black.
    pub fn new(width: u32, height: u32) -> Self {
        Self { width, height, pixels: vec![0; 3 * width as usize * height as usize] }
    }
}

/// Where the picture of a frame is.
pub fn picture_path(directory: &Path, frame: u64) -> PathBuf {
    directory.join(format!("frame_{frame:04}.png"))
}

/// Whether a run gives a file beside its pictures this name.
pub(crate) fn is_picture(name: &str) -> bool {
    let digits = name.strip_prefix("frame_").and_then(|rest| rest.strip_suffix(".png"));
    ["animation.gif", "animation.mp4"].contains(&name) || digits.is_some_and(|digits| number(digits, 4).is_some())
}

/// Write a PNG file.
pub fn write_png(path: &Path, image: &Image) -> Result<(), FileError> {
    atomic::write(path, |out| {
        let mut encoder = png::Encoder::new(BufWriter::new(out), image.width, image.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&image.pixels)?;
        Ok(writer.finish()?)
    })
}

/// Read a PNG file written by [`write_png`].
pub fn read_png(path: &Path) -> Result<Image, FileError> {
    let read = || {
        let mut reader = png::Decoder::new(BufReader::new(File::open(path)?)).read_info()?;
        let (width, height) = reader.info().size();
        let colours = (reader.info().color_type, reader.info().bit_depth);
        if width.max(height) > MAX_SIDE || colours != (png::ColorType::Rgb, png::BitDepth::Eight) {
            let problem = format!("{width} × {height} pixels, {colours:?}: not a picture written by Bathtub");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        let mut image = Image::new(width, height);
        reader.next_frame(&mut image.pixels)?;
        Ok(image)
    };
    read().map_err(FileError::new("read", path))
}

/// A PNG file from anywhere as a picture: grey becomes coloured, what is transparent opaque.
pub fn decode_png(bytes: &[u8]) -> Result<Image, String> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let (width, height) = reader.info().size();
    let length = reader.output_buffer_size().filter(|_| width.max(height) <= MAX_SIDE);
    let too_large = || format!("{width} × {height} pixels are too many (limit {MAX_SIDE} × {MAX_SIDE})");
    let mut bytes = vec![0; length.ok_or_else(too_large)?];
    let info = reader.next_frame(&mut bytes).map_err(|error| error.to_string())?;
    let samples = info.color_type.samples();
    let colours = |pixel: &[u8]| if samples < 3 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
    let pixels = bytes[..info.buffer_size()].chunks_exact(samples).flat_map(colours).collect();
    Ok(Image { width, height, pixels })
}

/// What became of the MP4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Video {
    /// It is there.
    Made,
    /// There is no ffmpeg.
    NoFfmpeg,
    /// There is one, but it did not do it: it lacks the encoder, say, or does not start.
    Failed(String),
}

/// Make `path` an MP4 of pictures, with the numbers of their frames, of which there are `fps` a second, with ffmpeg, if that is there and
/// can. It is an extra: whatever ffmpeg says, the pictures are complete without it.
pub fn write_mp4(path: &Path, pictures: &[(u64, PathBuf)], fps: f64) -> Result<Video, FileError> {
    let temporary = atomic::temporary_path(path);
    atomic::make_way(&temporary).map_err(FileError::new("create", &temporary))?;
    // The longest time of which every picture stays a multiple is a frame of the video.
    let gaps: Vec<u64> = pictures.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let unit = gaps.iter().copied().reduce(greatest_common_divisor).unwrap_or(1).max(1);
    let run = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "image2pipe", "-c:v", "png"])
        .args(["-framerate", &(fps / unit as f64).to_string(), "-i", "pipe:0"])
        .args(["-c:v", "libx264", "-crf", "16", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"])
        .arg(&temporary)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let run = run.and_then(|mut ffmpeg| {
        let input = ffmpeg.stdin.take();
        std::thread::scope(|scope| {
            // Where ffmpeg stops reading, it tells itself why.
            scope.spawn(|| {
                let times = gaps.iter().map(|gap| gap / unit).chain([1]);
                input.map(|input| pictures.iter().zip(times).try_for_each(|((_, p), n)| feed(&input, p, n)))
            });
            ffmpeg.wait_with_output()
        })
    });
    let output = match run {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Video::NoFfmpeg),
        Err(e) => return Ok(Video::Failed(e.to_string())),
        Ok(output) => output,
    };
    if !output.status.success() {
        let _ = std::fs::remove_file(&temporary);
        let said = String::from_utf8_lossy(&output.stderr);
        return Ok(Video::Failed(said.lines().next().unwrap_or("it ended without a word").to_owned()));
    }
    std::fs::rename(&temporary, path).map_err(FileError::new("write", path))?;
    Ok(Video::Made)
}

/// Write a file so many times.
fn feed(mut to: &ChildStdin, picture: &Path, times: u64) -> io::Result<()> {
    let bytes = std::fs::read(picture)?;
    (0..times).try_for_each(|_| to.write_all(&bytes))
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::scratch::Scratch;

    #[test]
    fn a_png_is_read_back() {
        let dir = Scratch::new("png");
        let mut image = Image::new(31, 17);
        image.pixels.iter_mut().enumerate().for_each(|(n, b)| *b = (n * n % 251) as u8);
        let path = picture_path(dir.path(), 3);
        write_png(&path, &image).unwrap();
        assert_eq!(read_png(&path).unwrap(), image);
        assert_eq!(decode_png(&std::fs::read(&path).unwrap()).unwrap(), image);
        assert!(decode_png(b"nonsense").is_err());
        std::fs::write(&path, b"\x89PNG\r\n\x1a\nnonsense").unwrap();
        assert!(read_png(&path).unwrap_err().to_string().contains("frame_0003.png"));
    }

    /// ffmpeg is optional: where there is none, or none that works, nothing is written and that is no error.
    #[test]
    fn a_video_is_made_where_ffmpeg_is() {
        let dir = Scratch::new("mp4");
        let pictures = [0, 1, 3].map(|n| (n, picture_path(dir.path(), n)));
        for (n, path) in &pictures {
            let image = Image { width: 32, height: 16, pixels: vec![80 * *n as u8; 3 * 32 * 16] };
            write_png(path, &image).unwrap();
        }
        let path = dir.path().join("animation.mp4");
        let video = write_mp4(&path, &pictures, 24.0).unwrap();
        assert_eq!(video == Video::Made, path.exists());
        match video {
            Video::Made => {
                assert_eq!(std::fs::read(&path).unwrap()[4..8], *b"ftyp");
                let nothing = write_mp4(&path, &[(0, dir.path().join("absent"))], 24.0).unwrap();
                assert!(matches!(nothing, Video::Failed(_)), "{nothing:?}");
            }
            other => eprintln!("no video checked: {other:?}"),
        }
        assert!(!atomic::temporary_path(&path).exists());
    }
}
