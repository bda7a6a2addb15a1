//! The animation.
//!
//! One palette serves all frames, so that colours do not flicker; an ordered pattern mixes them, the same in every
//! frame, so that what does not move does not change; and pixels that do not change are left transparent, which
//! compresses best. Pictures are read twice from disk, some at a time.

use super::palette::{Histogram, Palette};
use super::{Image, read_png};
use crate::atomic::{self, FileError};
use rayon::prelude::*;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// Longer side of the animation, pixels; larger pictures are reduced.
const MAX_SIDE: u32 = 560;
/// Players show faster animations too slowly.
const MAX_FPS: f64 = 50.0;
/// Pictures that are worked on beside each other.
const TOGETHER: usize = 16;
const TRANSPARENT: u8 = 255;
/// Height of the mixing pattern in colour levels: about the distance between neighbouring colours of a palette.
const MIXING: i32 = 8;

/// Make `path` a GIF of pictures of one size, with the numbers of their frames, of which there are `fps` a second: each stays until the next.
pub fn write_animation(path: &Path, pictures: &[(u64, PathBuf)], fps: f64) -> Result<(), FileError> {
    let (numbers, pictures) = thinned(pictures, (fps / MAX_FPS).ceil().max(1.0) as u64);
    let delays = delays(&numbers, fps);
    let Some(first) = pictures.first() else {
        return Err(FileError::new("write", path)(io::Error::other("there are no pictures to animate")));
    };
    let size = fitted(&read_png(first)?);
    let small = |picture: &&PathBuf| Ok::<Image, FileError>(reduced(&read_png(picture)?, size));
    let mut histogram = Histogram::new();
    for some in pictures.chunks(TOGETHER) {
        let images: Vec<Image> = some.par_iter().map(small).collect::<Result<_, _>>()?;
        images.iter().for_each(|image| histogram.add(&image.pixels));
    }
    let palette = histogram.palette();
    let mut colours: Vec<u8> = palette.colours.concat();
    colours.resize(3 * 256, 0);

    // The closure can only report I/O errors; one from reading a picture is kept aside with its own path.
    let mut unreadable = None;
    let written = atomic::write(path, |out| {
        let mut encoder = gif::Encoder::new(out, size[0] as u16, size[1] as u16, &colours).map_err(io::Error::other)?;
        encoder.set_repeat(gif::Repeat::Infinite).map_err(io::Error::other)?;
        // Colours of the frame before, then of those that are made together.
        let mut shown: Vec<Vec<u8>> = Vec::new();
        for (first, some) in pictures.chunks(TOGETHER).enumerate().map(|(n, some)| (n * TOGETHER, some)) {
            let indices = some.par_iter().map(|picture| Ok(mixed(&small(picture)?, &palette)));
            let indices: Vec<Vec<u8>> = indices.collect::<Result<_, FileError>>().map_err(|e| {
                let told = io::Error::other(e.to_string());
                unreadable = Some(e);
                told
            })?;
            let before = usize::from(first > 0);
            shown.extend(indices);
            let encode = |n: usize| {
                let old = (n > 0).then(|| &shown[n - 1]);
                frame(size, &shown[n], old, delays[first + n - before])
            };
            let frames: Vec<gif::Frame> = (before..shown.len()).into_par_iter().map(encode).collect();
            for frame in &frames {
                encoder.write_lzw_pre_encoded_frame(frame).map_err(io::Error::other)?;
            }
            shown.drain(..shown.len() - 1);
        }
        Ok(())
    });
    match unreadable {
        Some(error) => Err(error),
        None => written,
    }
}

/// A frame with what differs from the one before, compressed.
fn frame(size: [u32; 2], indices: &[u8], before: Option<&Vec<u8>>, delay: u16) -> gif::Frame<'static> {
    let differing = |(&now, &old): (&u8, &u8)| if now == old { TRANSPARENT } else { now };
    let changes = before.map_or_else(|| indices.to_vec(), |old| indices.iter().zip(old).map(differing).collect());
    let mut frame = gif::Frame {
        width: size[0] as u16,
        height: size[1] as u16,
        buffer: Cow::Owned(changes),
        transparent: before.map(|_| TRANSPARENT),
        delay,
        dispose: gif::DisposalMethod::Keep,
        ..Default::default()
    };
    frame.make_lzw_pre_encoded();
    frame
}

/// Numbers and pictures of frames of which none is nearer than `stride` to the one before.
fn thinned(pictures: &[(u64, PathBuf)], stride: u64) -> (Vec<u64>, Vec<&PathBuf>) {
    let mut next = 0;
    let is_due = |(number, _): &&(u64, PathBuf)| {
        let due = *number >= next;
        next = if due { number + stride } else { next };
        due
    };
    pictures.iter().filter(is_due).map(|(number, picture)| (*number, picture)).unzip()
}

/// Hundredths of a second that frames of these numbers stay; their sums keep to the exact time. The last stays as long as the one before.
fn delays(numbers: &[u64], fps: f64) -> Vec<u16> {
    let first = numbers.first().copied().unwrap_or_default();
    let until = |number: u64| ((number - first) as f64 * 100.0 / fps).round();
    let gap = numbers.windows(2).last().map_or(1, |pair| pair[1] - pair[0]);
    let end = numbers.last().map(|last| last + gap);
    let next = numbers.iter().copied().skip(1).chain(end);
    numbers.iter().zip(next).map(|(&n, next)| (until(next) - until(n)).clamp(1.0, 65535.0) as u16).collect()
}

/// The size of the animation.
fn fitted(image: &Image) -> [u32; 2] {
    let scale = (f64::from(MAX_SIDE) / f64::from(image.width.max(image.height))).min(1.0);
    [image.width, image.height].map(|n| ((f64::from(n) * scale).round() as u32).max(1))
}

/// Reduce a picture by the mean of the pixels that each new pixel covers, in squared values, which are nearly light.
fn reduced(image: &Image, size: [u32; 2]) -> Image {
    if [image.width, image.height] == size {
        return image.clone();
    }
    let mut small = Image::new(size[0], size[1]);
    let spans = |from: u32, to: u32| -> Vec<Vec<(usize, f32)>> {
        let ratio = from as f32 / to as f32;
        let span = |n: u32| {
            let (low, high) = (n as f32 * ratio, (n + 1) as f32 * ratio);
            let cells = low as usize..(high.ceil() as usize).min(from as usize);
            cells.map(|c| (c, (high.min(c as f32 + 1.0) - low.max(c as f32)) / ratio)).collect()
        };
        (0..to).map(span).collect()
    };
    let (columns, rows) = (spans(image.width, size[0]), spans(image.height, size[1]));
    for (pixel, out) in small.pixels.chunks_exact_mut(3).enumerate() {
        let (column, row) = (&columns[pixel % size[0] as usize], &rows[pixel / size[0] as usize]);
        let mut sum = [0.0; 3];
        for &(y, wy) in row {
            for &(x, wx) in column {
                let at = 3 * (x + image.width as usize * y);
                (0..3).for_each(|c| sum[c] += wx * wy * f32::from(image.pixels[at + c]).powi(2));
            }
        }
        out.copy_from_slice(&sum.map(|s| s.sqrt().round() as u8));
    }
    small
}

/// Indices into the palette, mixed by an ordered pattern.
fn mixed(image: &Image, palette: &Palette) -> Vec<u8> {
    let width = image.width as usize;
    let pixels = image.pixels.chunks_exact(3).enumerate();
    pixels
        .map(|(n, pixel)| {
            let shift = pattern(n % width, n / width) * MIXING / 64 - MIXING / 2;
            palette.nearest([0, 1, 2].map(|c| (i32::from(pixel[c]) + shift).clamp(0, 255) as u8))
        })
        .collect()
}

/// Bayer's 8 × 8 pattern: each of 0 to 63 once, neighbours far apart.
fn pattern(x: usize, y: usize) -> i32 {
    let mixed = x ^ y;
    let bit = |v: usize, n: usize| (v >> n & 1) as i32;
    bit(mixed, 0) << 5 | bit(y, 0) << 4 | bit(mixed, 1) << 3 | bit(y, 1) << 2 | bit(mixed, 2) << 1 | bit(y, 2)
}

#[cfg(test)]
mod tests {
    use super::super::{picture_path, write_png};
    use super::*;
    use crate::atomic::scratch::Scratch;
    use std::fs::File;

    #[test]
    fn an_animation_has_all_frames_and_its_time() {
        let dir = Scratch::new("gif");
        let mut pictures = Vec::new();
        for n in 0..24 {
            let mut image = Image::new(40, 30);
            image.pixels.chunks_exact_mut(3).enumerate().for_each(|(p, rgb)| {
                rgb.copy_from_slice(&[(6 * (p % 40)) as u8, (8 * (p / 40)) as u8, 10 * n as u8]);
            });
            pictures.push((n, picture_path(dir.path(), n)));
            write_png(&pictures[n as usize].1, &image).unwrap();
        }
        let path = dir.path().join("animation.gif");
        write_animation(&path, &pictures, 24.0).unwrap();
        let mut decoder = gif::Decoder::new(File::open(&path).unwrap()).unwrap();
        let (mut frames, mut time) = (0, 0);
        while let Some(frame) = decoder.next_frame_info().unwrap() {
            frames += 1;
            time += frame.delay;
        }
        assert_eq!((frames, time), (24, 100));
        assert!(write_animation(&path, &[], 24.0).is_err());
        assert!(write_animation(&path, &[(0, dir.path().join("absent.png"))], 24.0).is_err());
    }

    #[test]
    fn frames_stay_until_the_next() {
        assert_eq!(delays(&[0, 1, 2, 3], 24.0), [4, 4, 5, 4]);
        assert_eq!(delays(&[4, 8, 12], 24.0), [17, 16, 17]);
        assert_eq!(delays(&[3, 7, 20, 21], 25.0), [16, 52, 4, 4]);
        assert_eq!(delays(&[5], 25.0), [4]);
        let pictures: Vec<(u64, PathBuf)> = (3..10).map(|n| (n, PathBuf::new())).collect();
        assert_eq!(thinned(&pictures, 3).0, [3, 6, 9]);
        assert_eq!(thinned(&pictures, 1).0, [3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn reducing_keeps_a_flat_colour() {
        let image = Image { width: 7, height: 5, pixels: [90, 120, 200].repeat(35) };
        let small = reduced(&image, [3, 2]);
        assert_eq!(small.pixels, [90, 120, 200].repeat(6));
    }

    #[test]
    fn the_pattern_holds_every_level_once() {
        let mut levels: Vec<i32> = (0..64).map(|n| pattern(n % 8, n / 8)).collect();
        levels.sort_unstable();
        assert_eq!(levels, (0..64).collect::<Vec<_>>());
    }
}
