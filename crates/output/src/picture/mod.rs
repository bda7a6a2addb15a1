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
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Make `path` an MP4 of the pictures `first`, `first` + 1, … with ffmpeg, if that is there and can. It is an extra: whatever ffmpeg
/// says, the pictures are complete without it.
pub fn write_mp4(path: &Path, pictures: &Path, first: u64, fps: f64) -> Result<Video, FileError> {
    let temporary = atomic::temporary_path(path);
    atomic::make_way(&temporary).map_err(FileError::new("create", &temporary))?;
    let run = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-framerate", &fps.to_string(), "-start_number", &first.to_string(), "-i"])
        .arg(pictures.join("frame_%04d.png"))
        .args(["-c:v", "libx264", "-crf", "16", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"])
        .arg(&temporary)
        .stdin(Stdio::null())
        .output();
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
        std::fs::write(&path, b"\x89PNG\r\n\x1a\nnonsense").unwrap();
        assert!(read_png(&path).unwrap_err().to_string().contains("frame_0003.png"));
    }

    /// ffmpeg is optional: where there is none, or none that works, nothing is written and that is no error.
    #[test]
    fn a_video_is_made_where_ffmpeg_is() {
        let dir = Scratch::new("mp4");
        for n in 0..3 {
            let image = Image { width: 32, height: 16, pixels: vec![80 * n as u8; 3 * 32 * 16] };
            write_png(&picture_path(dir.path(), n), &image).unwrap();
        }
        let path = dir.path().join("animation.mp4");
        let video = write_mp4(&path, dir.path(), 0, 24.0).unwrap();
        assert_eq!(video == Video::Made, path.exists());
        match video {
            Video::Made => {
                assert_eq!(std::fs::read(&path).unwrap()[4..8], *b"ftyp");
                let nothing = write_mp4(&path, &dir.path().join("absent"), 0, 24.0).unwrap();
                assert!(matches!(nothing, Video::Failed(_)), "{nothing:?}");
            }
            other => eprintln!("no video checked: {other:?}"),
        }
        assert!(!atomic::temporary_path(&path).exists());
    }
}
