//! One diagram: curves over an axis, the reference's points beside ours, as SVG.

use crate::exit::{Exit, Failure};
use bathtub_output::atomic::FileError;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A diagram.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Above it.
    pub title: String,
    /// Below the title: what the marks mean.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: PlotAxis,
    /// The vertical axis.
    pub y: PlotAxis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Lines to compare slopes with.
    pub guides: Vec<Guide>,
}

/// An axis of a diagram.
#[derive(Clone, Debug)]
pub struct PlotAxis {
    /// What it shows, with the unit.
    pub name: String,
    /// How values are spread along it.
    pub scale: Scale,
}

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly in the logarithm, marked at powers of ten.
    Logarithmic,
    /// Evenly in the logarithm, marked where there are points: for a few resolutions.
    LogarithmicAtPoints,
}

/// A curve, named at its right end; with marks at its points, if these are few.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// x and y of ours: filled marks.
    pub points: Vec<(f64, f64)>,
    /// x and y of the reference: open marks.
    pub reference: Vec<(f64, f64)>,
}

/// A dashed line between two points.
#[derive(Clone, Debug)]
pub struct Guide {
    /// What it shows, as in `order 2`.
    pub name: String,
    /// Its ends, x and y.
    pub ends: [(f64, f64); 2],
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Marked, Marked>>;
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

const SIZE: (u32, u32) = (880, 560);
pub(super) const FONT: &str = "sans-serif";
/// A curve of more points has no marks.
const MOST_MARKS: usize = 12;
/// Room for the names of the curves, pixels.
const NAMES: u32 = 190;
/// Least distance between two names, pixels.
const LINE: i32 = 19;
pub(super) const INK: RGBColor = RGBColor(40, 44, 52);
pub(super) const GREY: RGBColor = RGBColor(140, 146, 156);
pub(super) const PALE: RGBColor = RGBColor(228, 231, 236);
/// Okabe & Ito's colours, which all kinds of colour vision tell apart.
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

impl Plot {
    /// Write `directory/name.svg`.
    pub fn write(&self, directory: &Path, name: &str) -> Result<PathBuf, Failure> {
        write_svg(directory, name, |text| self.draw(text))
    }

    fn draw(&self, text: &mut String) -> Drawn {
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw_text(&self.title, &(FONT, 22).into_font().color(&INK), (84, 18))?;
        root.draw_text(&self.subtitle, &(FONT, 14).into_font().color(&GREY), (84, 48))?;

        let mut builder = ChartBuilder::on(&root);
        builder.margin_top(78).margin_right(NAMES).margin_bottom(14).margin_left(14);
        builder.x_label_area_size(48).y_label_area_size(70);
        let (xs, ys) = (self.marked(&self.x, |p| p.0), self.marked(&self.y, |p| p.1));
        let labels = (xs.clone(), ys.clone());
        let mut chart = builder.build_cartesian_2d(xs, ys)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.name)
            .y_desc(&self.y.name)
            .x_label_formatter(&|v| labels.0.label(*v))
            .y_label_formatter(&|v| labels.1.label(*v))
            .label_style((FONT, 14).into_font().color(&INK))
            .axis_desc_style((FONT, 15).into_font().color(&INK))
            .axis_style(GREY)
            .bold_line_style(PALE)
            .light_line_style(TRANSPARENT)
            .draw()?;
        self.curves(&mut chart)?;
        self.names(&root, &chart)?;
        root.present()?;
        Ok(())
    }

    fn curves(&self, chart: &mut Chart) -> Drawn {
        for guide in &self.guides {
            chart.draw_series(DashedLineSeries::new(guide.ends, 6, 5, GREY.stroke_width(1)))?;
        }
        for (series, colour) in self.coloured() {
            let drawable = |points: &[(f64, f64)]| points.iter().copied().filter(|p| self.drawable(p)).collect();
            let (points, reference): (Vec<_>, Vec<_>) = (drawable(&series.points), drawable(&series.reference));
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            let marked = if points.len() > MOST_MARKS { Vec::new() } else { points };
            chart.draw_series(marked.into_iter().map(|p| Circle::new(p, 4, colour.filled())))?;
            chart.draw_series(reference.into_iter().map(|p| Circle::new(p, 7, colour.stroke_width(2))))?;
        }
        Ok(())
    }

    /// Each curve's name at its right end, moved up or down where two would cover each other.
    fn names<'a>(&'a self, root: &DrawingArea<SVGBackend, Shift>, chart: &Chart) -> Drawn {
        let last = |points: &[(f64, f64)]| {
            let drawable = points.iter().filter(|p| self.drawable(p));
            drawable.copied().max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let curve = |series: &'a Series| if series.points.is_empty() { &series.reference } else { &series.points };
        let curves = self.coloured().map(|(series, colour)| (&curve(series)[..], &series.name, colour));
        let guides = self.guides.iter().map(|guide| (&guide.ends[..], &guide.name, GREY));
        let mut labels: Vec<(i32, &String, RGBColor)> = curves
            .chain(guides)
            .filter_map(|(points, name, colour)| Some((chart.backend_coord(&last(points)?).1, name, colour)))
            .collect();
        labels.sort_by_key(|label| label.0);
        let mut free = i32::MIN;
        for (height, name, colour) in labels {
            let y = height.max(free);
            free = y + LINE;
            let style = (FONT, 15).into_font().color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw_text(name, &style, ((SIZE.0 - NAMES) as i32 + 10, y))?;
        }
        Ok(())
    }

    fn coloured(&self) -> impl Iterator<Item = (&Series, RGBColor)> {
        self.series.iter().zip(COLOURS.into_iter().cycle())
    }

    fn drawable(&self, (x, y): &(f64, f64)) -> bool {
        let fits = |v: f64, axis: &PlotAxis| v.is_finite() && (axis.scale == Scale::Linear || v > 0.0);
        fits(*x, &self.x) && fits(*y, &self.y)
    }

    /// The axis with room for all points and marks at round values.
    fn marked(&self, axis: &PlotAxis, coordinate: impl Fn(&(f64, f64)) -> f64) -> Marked {
        let series = self.series.iter().flat_map(|s| s.points.iter().chain(&s.reference));
        let all = series.chain(self.guides.iter().flat_map(|g| &g.ends));
        let mut values: Vec<f64> = all.filter(|p| self.drawable(p)).map(&coordinate).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = match values[..] {
            [] => (1.0, 10.0),
            [only] => (0.9 * only, 1.1 * only),
            [low, .., high] => (low, high),
        };
        if axis.scale == Scale::Linear {
            let room = 0.06 * (high - low);
            let range = low - room..high + room;
            let marks = round_values(&range);
            return Marked { range, marks, logarithmic: false };
        }
        let room = (high / low).powf(0.06);
        let range = low / room..high * room;
        let decades = (range.start.log10().floor() as i32..=range.end.log10().ceil() as i32).map(|e| 10f64.powi(e));
        let marks = match axis.scale {
            Scale::LogarithmicAtPoints => values,
            _ => decades.filter(|v| range.contains(v)).collect(),
        };
        Marked { range, marks, logarithmic: true }
    }
}

/// Write `directory/name.svg` as `draw` draws it.
pub(super) fn write_svg(
    directory: &Path,
    name: &str,
    draw: impl FnOnce(&mut String) -> Drawn,
) -> Result<PathBuf, Failure> {
    let path = directory.join(format!("{name}.svg"));
    // Names may have directories of their own.
    let directory = path.parent().unwrap_or(directory);
    std::fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
    let mut text = String::new();
    draw(&mut text).map_err(|error| Failure::new(Exit::Internal, format!("cannot draw {name}: {error}")))?;
    bathtub_output::atomic::write_bytes(&path, text.as_bytes())?;
    Ok(path)
}

/// About six multiples of 1, 2 or 5 times a power of ten.
fn round_values(range: &Range<f64>) -> Vec<f64> {
    let wanted = (range.end - range.start) / 6.0;
    let decade = 10f64.powf(wanted.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * decade).into_iter().find(|s| *s >= wanted).unwrap_or(decade);
    let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A range with the values that are marked on its axis.
#[derive(Clone, Debug)]
struct Marked {
    range: Range<f64>,
    marks: Vec<f64>,
    logarithmic: bool,
}

impl Marked {
    fn label(&self, value: f64) -> String {
        let power = value.log10().round();
        if self.logarithmic && (value.log10() - power).abs() < 1e-9 && !(0.0..3.0).contains(&power) {
            let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
            let raised = |c: char| c.to_digit(10).map_or('⁻', |d| digits[d as usize]);
            return format!("10{}", format!("{power:.0}").chars().map(raised).collect::<String>());
        }
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

impl Ranged for Marked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let Range { start, end } = self.range;
        let share = match self.logarithmic {
            true => (value / start).ln() / (end / start).ln(),
            false => (value - start) / (end - start),
        };
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, _: H) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(scale: Scale, points: Vec<(f64, f64)>) -> Plot {
        let axis = |name: &str| PlotAxis { name: name.into(), scale };
        let reference = vec![(16.0, 2e-2)];
        Plot {
            title: "Order".into(),
            subtitle: "open marks: reference".into(),
            x: axis("cells"),
            y: axis("max norm"),
            series: vec![Series { name: "error".into(), points, reference }],
            guides: vec![Guide { name: "order 2".into(), ends: [(16.0, 1e-2), (32.0, 2.5e-3)] }],
        }
    }

    #[test]
    fn a_plot_names_its_axes_and_curves_and_leaves_out_what_cannot_be_drawn() {
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::LogarithmicAtPoints] {
            let points = vec![(16.0, 1e-2), (32.0, 2.5e-3), (f64::NAN, 1.0), (64.0, f64::INFINITY)];
            let dir = tempfile::tempdir().unwrap();
            let path = plot(scale, points).write(dir.path(), "order").unwrap();
            let svg = std::fs::read_to_string(path).unwrap();
            let words = ["Order", "open marks", "cells", "max norm", "error", "order 2"];
            assert!(words.iter().all(|word| svg.contains(word)));
            // Two of ours and one of the reference.
            assert_eq!(svg.matches("<circle").count(), 3);
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }

    #[test]
    fn axes_are_marked_at_round_values() {
        assert_eq!(round_values(&(0.43..1.02)), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0].map(|v: f64| (v / 0.1).round() * 0.1));
        let plot = plot(Scale::Logarithmic, vec![(8.0, 3e-5), (200.0, 2.0)]);
        let marked = plot.marked(&plot.y, |p| p.1);
        let labels: Vec<String> = marked.marks.iter().map(|v| marked.label(*v)).collect();
        assert_eq!(labels, ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"]);
        assert_eq!((marked.map(&marked.range.start, (0, 100)), marked.map(&marked.range.end, (0, 100))), (0, 100));
    }
}
