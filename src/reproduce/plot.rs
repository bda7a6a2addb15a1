//! One diagram: curves or points over an axis, as SVG.

use crate::exit::{Exit, Failure};
use bathtub_output::atomic::FileError;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use std::path::{Path, PathBuf};

/// A diagram.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Above it.
    pub title: String,
    /// Below the horizontal axis, with the unit.
    pub x: String,
    /// Beside the vertical axis, with the unit.
    pub y: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// A curve with markers at its points.
#[derive(Clone, Debug)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
}

const SIZE: (u32, u32) = (800, 560);

impl Plot {
    /// Write `directory/name.svg`.
    pub fn write(&self, directory: &Path, name: &str) -> Result<PathBuf, Failure> {
        std::fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
        let path = directory.join(format!("{name}.svg"));
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| Failure::new(Exit::Internal, format!("cannot draw the plot: {error}")))?;
        bathtub_output::atomic::write_bytes(&path, text.as_bytes())?;
        Ok(path)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (xs, ys) = (self.span(|p| p.0), self.span(|p| p.1));
        let mut builder = ChartBuilder::on(&root);
        builder.caption(&self.title, ("sans-serif", 22)).margin(12).x_label_area_size(48).y_label_area_size(72);
        if self.logarithmic {
            self.fill(builder.build_cartesian_2d((xs.0..xs.1).log_scale(), (ys.0..ys.1).log_scale())?)?;
        } else {
            self.fill(builder.build_cartesian_2d(xs.0..xs.1, ys.0..ys.1)?)?;
        }
        root.present()?;
        Ok(())
    }

    fn fill<'a, X, Y>(
        &self,
        mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart.configure_mesh().x_desc(&self.x).y_desc(&self.y).draw()?;
        for (i, series) in self.series.iter().enumerate() {
            let colour = Palette99::pick(i).stroke_width(2);
            let points = series.points.iter().filter(|p| self.drawable(p)).copied();
            chart
                .draw_series(LineSeries::new(points, colour).point_size(4))?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
        }
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
        Ok(())
    }

    fn drawable(&self, (x, y): &(f64, f64)) -> bool {
        let fits = |v: f64| v.is_finite() && (!self.logarithmic || v > 0.0);
        fits(*x) && fits(*y)
    }

    /// Smallest and largest coordinate with a little room around them.
    fn span(&self, coordinate: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let points = self.series.iter().flat_map(|s| &s.points).filter(|p| self.drawable(p)).map(coordinate);
        let (low, high) = points.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        match (low <= high, self.logarithmic) {
            (false, _) => (0.1, 1.0),
            (true, true) => (low / 1.3, high * 1.3),
            (true, false) => {
                let room = 0.05 * (high - low).max(1e-3 * high.abs()).max(1e-12);
                (low - room, high + room)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_names_its_axes_and_curves() {
        for logarithmic in [false, true] {
            let points = vec![(16.0, 1e-2), (32.0, 2.5e-3), (64.0, 0.0), (f64::NAN, 1.0)];
            let series = vec![Series { name: "error".into(), points }];
            let plot = Plot { title: "Order".into(), x: "cells".into(), y: "max norm".into(), logarithmic, series };
            let dir = tempfile::tempdir().unwrap();
            let svg = std::fs::read_to_string(plot.write(dir.path(), "order").unwrap()).unwrap();
            assert!(["Order", "cells", "max norm", "error", "<circle"].iter().all(|word| svg.contains(word)));
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }
}
