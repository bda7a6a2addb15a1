//! A flat liquid at several times, panel beside panel, as SVG.

use super::plot::{COLOURS, Drawn, FONT, GREY, INK, PALE, write_svg};
use crate::exit::Failure;
use bathtub_engine::fluid::water::WaterState;
use bathtub_engine::grid::{Grid, Lattice};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::{Path, PathBuf};

/// Panels in rows of two.
#[derive(Clone, Debug)]
pub struct Panels {
    /// Above them.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Width and height that every panel shows, from its lower left corner.
    pub view: (f64, f64),
    /// What they show.
    pub panels: Vec<Panel>,
}

/// One panel; lengths in the unit of the view.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Which one, as in `T = 2`.
    pub name: String,
    /// The liquid, as polygons side by side.
    pub liquid: Vec<Vec<(f64, f64)>>,
    /// Particles outside of it.
    pub spray: Vec<(f64, f64)>,
    /// A mark on the floor, if there is something to compare with.
    pub mark: Option<f64>,
}

/// Width of the picture, pixels.
const WIDTH: i32 = 1760;
/// Height of title and subtitle, pixels.
const HEAD: i32 = 130;
/// Room around panels, pixels.
const GAP: i32 = 40;
const WATER: RGBColor = COLOURS[0];
const MARK: RGBColor = COLOURS[1];

impl Panel {
    /// The liquid of a grid one cell thick, lengths divided by `unit`, m.
    pub fn new(name: String, grid: &Grid, water: &WaterState, unit: f64, mark: Option<f64>) -> Self {
        let scale = grid.dx / unit;
        let scaled = |(x, y): (f64, f64)| (scale * x, scale * y);
        let distance = Lattice::cells(&water.distance);
        let places = water.particles.position.iter().map(|x| (*x - grid.origin) / grid.dx);
        Self {
            name,
            liquid: liquid(grid.dims, &water.distance.data)
                .into_iter()
                .map(|polygon| polygon.into_iter().map(scaled).collect())
                .collect(),
            spray: places.filter(|p| distance.linear(*p) > 0.0).map(|p| scaled((p.x, p.y))).collect(),
            mark,
        }
    }
}

/// The part of a flat grid where the distance, linear between cell centres, is negative; in cells.
///
/// Squares between centres lie side by side; those in the liquid entirely are joined along rows.
fn liquid([nx, ny, _]: [usize; 3], distance: &[f64]) -> Vec<Vec<(f64, f64)>> {
    // Corners of squares: the cell centres, and the places on the sides of the grid that are next to them.
    let corner = |i: usize, j: usize| {
        let place = |i: usize, n: usize| (i as f64 - 0.5).clamp(0.0, n as f64);
        let cell = |i: usize, n: usize| i.saturating_sub(1).min(n - 1);
        (place(i, nx), place(j, ny), distance[cell(i, nx) + nx * cell(j, ny)])
    };
    let mut polygons = Vec::new();
    for j in 0..=ny {
        let mut run: Option<usize> = None;
        for i in 0..=nx {
            let square = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
            let is_full = square.iter().all(|c| c.2 < 0.0);
            if is_full {
                run.get_or_insert(i);
            }
            if let Some(first) = run.filter(|_| !is_full || i == nx) {
                let last = if is_full { i + 1 } else { i };
                let rectangle = [corner(first, j), corner(last, j), corner(last, j + 1), corner(first, j + 1)];
                polygons.push(rectangle.map(|c| (c.0, c.1)).to_vec());
                run = None;
            }
            if !is_full && square.iter().any(|c| c.2 < 0.0) {
                polygons.push(clip(&square));
            }
        }
    }
    polygons
}

/// The part of a polygon with negative values at its corners (x, y, value).
fn clip(corners: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    for (n, &a) in corners.iter().enumerate() {
        let b = corners[(n + 1) % corners.len()];
        if a.2 < 0.0 {
            kept.push((a.0, a.1));
        }
        if (a.2 < 0.0) != (b.2 < 0.0) {
            let t = a.2 / (a.2 - b.2);
            kept.push((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)));
        }
    }
    kept
}

impl Panels {
    /// Write `directory/name.svg`.
    pub fn write(&self, directory: &Path, name: &str) -> Result<PathBuf, Failure> {
        write_svg(directory, name, |text| self.draw(text))
    }

    fn draw(&self, text: &mut String) -> Drawn {
        let width = (WIDTH - 3 * GAP) / 2;
        let scale = f64::from(width) / self.view.0;
        let height = (scale * self.view.1) as i32;
        let rows = self.panels.len().div_ceil(2) as i32;
        let size = (WIDTH as u32, (HEAD + rows * (height + 2 * GAP)) as u32);
        let root = SVGBackend::with_string(text, size).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw_text(&self.title, &(FONT, 40).into_font().color(&INK), (GAP, 24))?;
        root.draw_text(&self.subtitle, &(FONT, 26).into_font().color(&GREY), (GAP, 80))?;
        for (n, panel) in self.panels.iter().enumerate() {
            let (column, row) = (n as i32 % 2, n as i32 / 2);
            let left = GAP + column * (width + GAP);
            let floor = HEAD + row * (height + 2 * GAP) + height;
            let at = |&(x, y): &(f64, f64)| {
                let (x, y) = (x.min(self.view.0), y.min(self.view.1));
                (left + (scale * x).round() as i32, floor - (scale * y).round() as i32)
            };
            let tank = [at(&(0.0, self.view.1)), at(&(self.view.0, 0.0))];
            root.draw(&Rectangle::new(tank, PALE.mix(0.45).filled()))?;
            for polygon in &panel.liquid {
                root.draw(&Polygon::new(polygon.iter().map(at).collect::<Vec<_>>(), WATER.filled()))?;
            }
            for drop in &panel.spray {
                root.draw(&Circle::new(at(drop), 1, WATER.filled()))?;
            }
            let ground = [at(&(0.0, self.view.1)), at(&(0.0, 0.0)), at(&(self.view.0, 0.0))];
            root.draw(&PathElement::new(ground.to_vec(), INK.stroke_width(3)))?;
            if let Some(mark) = panel.mark {
                let (x, y) = at(&(mark, 0.0));
                root.draw(&PathElement::new(vec![(x, y - 60), (x, y + 10)], MARK.stroke_width(4)))?;
            }
            let style = (FONT, 30).into_font().color(&INK).pos(Pos::new(HPos::Right, VPos::Top));
            root.draw_text(&panel.name, &style, (left + width - 16, floor - height + 12))?;
        }
        root.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(polygon: &[(f64, f64)]) -> f64 {
        let edges = polygon.iter().zip(polygon.iter().cycle().skip(1));
        0.5 * edges.map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>()
    }

    /// A half plane has straight edges, so that its area is exact; a full grid is covered once.
    #[test]
    fn the_liquid_is_covered_once() {
        let dims = [7, 5, 1];
        let sum = |distance: &[f64]| liquid(dims, distance).iter().map(|p| area(p)).sum::<f64>();
        assert!((sum(&[-1.0; 35]) - 35.0).abs() < 1e-12);
        assert_eq!(sum(&[1.0; 35]), 0.0);
        let level: Vec<f64> = (0..35).map(|c| (c / 7) as f64 + 0.5 - 3.2).collect();
        assert!((sum(&level) - 7.0 * 3.2).abs() < 1e-12, "{}", sum(&level));
        let steep: Vec<f64> = (0..35).map(|c| (c % 7) as f64 + 0.5 - 1.9).collect();
        assert!((sum(&steep) - 5.0 * 1.9).abs() < 1e-12, "{}", sum(&steep));
    }

    #[test]
    fn a_picture_names_its_panels_and_marks_the_floor() {
        let panel = |name: &str| Panel {
            name: name.into(),
            liquid: vec![vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]],
            spray: vec![(2.0, 0.5)],
            mark: Some(1.5),
        };
        let panels = vec![panel("first"), panel("second"), panel("third")];
        let picture = Panels { title: "Collapse".into(), subtitle: "marks".into(), view: (4.0, 2.0), panels };
        let dir = tempfile::tempdir().unwrap();
        let svg = std::fs::read_to_string(picture.write(dir.path(), "collapse").unwrap()).unwrap();
        assert!(["Collapse", "marks", "first", "second", "third"].iter().all(|word| svg.contains(word)));
        assert_eq!((svg.matches("<polygon").count(), svg.matches("<circle").count()), (3, 3));
        // A tank and a mark each.
        assert_eq!(svg.matches("<polyline").count(), 6);
    }
}
