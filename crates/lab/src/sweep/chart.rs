//! The chart of a sweep: cost over elements a thread, a line for each curve. Lines differ by marker as well as by colour.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::Result;
use crate::figure::{COLOURS, FONT, Ground, INK, TITLE_HEIGHT, WIDTH, drawing, drawn, text, text_style};
use crate::sweep::Point;
use crate::text::{grouped, three_digits};

const LEGEND_ROW: i32 = 20;
const PANEL_HEIGHT: i32 = 210;
const AXIS_LEFT: i32 = 52;
const AXIS_RIGHT: i32 = WIDTH - 14;
/// Room below a panel's axis for its numbers and its name.
const FOOT: i32 = 40;
/// The quantity that is shown from zero, so that a height is a share of the highest.
const SPEED: &str = "GB/s of input";
/// Half of a marker's width.
const MARKER: i32 = 4;

/// One quantity over elements a thread.
struct Panel {
    title: String,
    /// True if each step of the upright axis doubles; else it begins at zero.
    is_doubling: bool,
    series: Vec<Series>,
}

/// One curve's points in a panel, by elements a thread.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The chart of these points: GB/s of a GPU, a panel for each size, or counts of the simulator. `None` where there is
/// nothing to draw.
///
/// # Errors
/// [`crate::Error::Chart`].
pub fn svg(title: &str, points: &[Point]) -> Result<Option<String>> {
    let drawn: Vec<&Point> = points.iter().filter(|point| point.drawn).collect();
    let mut sizes: Vec<u64> = drawn.iter().map(|point| point.n).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let panels: Vec<Panel> = sizes.iter().flat_map(|&n| panels(n, &drawn)).collect();
    if panels.is_empty() { Ok(None) } else { draw(title, &panels).map(Some) }
}

fn panels(n: u64, points: &[&Point]) -> Vec<Panel> {
    let per_thousand = |count: u64| 1000.0 * count as f64 / n as f64;
    [
        panel(n, SPEED, points, &|point| point.gb_per_s),
        panel(n, "warp instructions an element, simulated", points, &|point| point.instructions_per_element()),
        panel(n, "barriers for 1,000 elements, simulated", points, &|point| {
            point.counters.map(|counters| per_thousand(counters.barriers))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn panel(n: u64, quantity: &str, points: &[&Point], value: &dyn Fn(&Point) -> Option<f64>) -> Option<Panel> {
    let mut series: Vec<Series> = Vec::new();
    for point in points.iter().filter(|point| point.n == n) {
        let Some(y) = value(point) else { continue };
        let at = (point.elements_per_thread(), y);
        match series.iter_mut().find(|series| series.name == point.curve) {
            Some(series) => series.points.push(at),
            None => series.push(Series { name: point.curve.clone(), points: vec![at] }),
        }
    }
    series.iter_mut().for_each(|series| series.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let any = series.iter().flat_map(|series| &series.points).any(|&(_, y)| y > 0.0);
    let is_doubling = series.iter().flat_map(|series| &series.points).all(|&(_, y)| y > 0.0) && quantity != SPEED;
    any.then(|| Panel { title: format!("{quantity}, n = {}", grouped(n)), is_doubling, series })
}

fn draw(title: &str, panels: &[Panel]) -> Result<String> {
    let mut names: Vec<&str> = Vec::new();
    for series in panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let legend = LEGEND_ROW * names.len().div_ceil(2) as i32 + 8;
    let height = TITLE_HEIGHT + legend + PANEL_HEIGHT * panels.len() as i32;
    drawing(title, &description(panels), height, |area| {
        for (i, name) in names.iter().enumerate() {
            let (x, y) = (8 + WIDTH / 2 * (i as i32 % 2), TITLE_HEIGHT + LEGEND_ROW * (i as i32 / 2) + LEGEND_ROW / 2);
            mark(area, i, (x, y))?;
            text(area, name, (x + 12, y), FONT, HPos::Left)?;
        }
        for (i, panel) in panels.iter().enumerate() {
            draw_panel(area, panel, &names, TITLE_HEIGHT + legend + PANEL_HEIGHT * i as i32)?;
        }
        Ok(())
    })
}

fn draw_panel(area: &Ground<'_>, panel: &Panel, names: &[&str], top: i32) -> Result<()> {
    let all = || panel.series.iter().flat_map(|series| series.points.iter().copied());
    let base = top + PANEL_HEIGHT - FOOT;
    let across = Axis::doubling(all().map(|(x, _)| x), (AXIS_LEFT, AXIS_RIGHT));
    let values = all().map(|(_, y)| y);
    let up = (base, top + TITLE_HEIGHT + 6);
    let up = if panel.is_doubling { Axis::doubling(values, up) } else { Axis::from_zero(values, up) };

    let below = text_style(FONT - 1, Pos::new(HPos::Center, VPos::Top));
    text(area, &panel.title, (0, top + TITLE_HEIGHT / 2), FONT - 1, HPos::Left)?;
    for v in up.ticks() {
        let y = up.pixel(v);
        let faint = ShapeStyle::from(INK.mix(if y == base { 1.0 } else { 0.15 })).stroke_width(1);
        drawn(area.draw(&PathElement::new([(AXIS_LEFT, y), (AXIS_RIGHT, y)], faint)))?;
        text(area, &tick(v), (AXIS_LEFT - 6, y), FONT - 1, HPos::Right)?;
    }
    for v in across.ticks() {
        let x = across.pixel(v);
        drawn(area.draw(&PathElement::new([(x, base), (x, base + 4)], INK.stroke_width(1))))?;
        drawn(area.draw(&Text::new(tick(v), (x, base + 6), below.clone())))?;
    }
    let middle = (AXIS_LEFT + AXIS_RIGHT) / 2;
    drawn(area.draw(&Text::new("elements a thread", (middle, base + 22), below)))?;
    for series in &panel.series {
        let i = names.iter().position(|&name| name == series.name).unwrap_or(0);
        let points: Vec<(i32, i32)> = series.points.iter().map(|&(x, y)| (across.pixel(x), up.pixel(y))).collect();
        drawn(area.draw(&PathElement::new(points.clone(), COLOURS[i % COLOURS.len()].stroke_width(2))))?;
        points.into_iter().try_for_each(|point| mark(area, i, point))?;
    }
    Ok(())
}

/// Values on a line of pixels.
struct Axis {
    /// Values at the two ends; exponents of two where each step doubles.
    ends: (f64, f64),
    pixels: (i32, i32),
    is_doubling: bool,
}

impl Axis {
    /// From the power of two below the least value to the one above the largest.
    fn doubling(values: impl Iterator<Item = f64>, pixels: (i32, i32)) -> Axis {
        let logs = values.filter(|&v| v > 0.0).map(f64::log2);
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        Axis { ends: (low.floor(), high.ceil().max(low.floor() + 1.0)), pixels, is_doubling: true }
    }

    /// From zero to a round number above the largest value.
    fn from_zero(values: impl Iterator<Item = f64>, pixels: (i32, i32)) -> Axis {
        Axis { ends: (0.0, round_up(values.fold(0.0, f64::max))), pixels, is_doubling: false }
    }

    fn pixel(&self, v: f64) -> i32 {
        let v = if self.is_doubling { v.log2() } else { v };
        let share = ((v - self.ends.0) / (self.ends.1 - self.ends.0)).clamp(0.0, 1.0);
        self.pixels.0 + (f64::from(self.pixels.1 - self.pixels.0) * share).round() as i32
    }

    fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.ends;
        if self.is_doubling {
            let step = if high - low > 6.0 { 2 } else { 1 };
            return (low as i32..=high as i32).step_by(step).map(|exponent| f64::from(exponent).exp2()).collect();
        }
        (0..=4).map(|quarter| high * f64::from(quarter) / 4.0).collect()
    }
}

/// A number at an axis: `0.125`, `2`, `4,000`.
fn tick(v: f64) -> String {
    if v >= 1000.0 { grouped(v.round() as u64) } else { ((v * 1e4).round() / 1e4).to_string() }
}

/// The marker of the series of this number: a colour and a shape of its own.
fn mark(area: &Ground<'_>, number: usize, (x, y): (i32, i32)) -> Result<()> {
    let colour = COLOURS[number % COLOURS.len()];
    let (m, thick) = (MARKER, colour.stroke_width(2));
    match number % 6 {
        0 => drawn(area.draw(&Circle::new((x, y), m, colour.filled()))),
        1 => drawn(area.draw(&Rectangle::new([(x - m, y - m), (x + m, y + m)], colour.filled()))),
        2 => drawn(
            area.draw(&Polygon::new(vec![(x, y - m - 1), (x + m + 1, y + m), (x - m - 1, y + m)], colour.filled())),
        ),
        3 => {
            drawn(area.draw(&PathElement::new([(x - m, y - m), (x + m, y + m)], thick)))?;
            drawn(area.draw(&PathElement::new([(x - m, y + m), (x + m, y - m)], thick)))
        }
        4 => drawn(area.draw(&Circle::new((x, y), m, thick))),
        _ => {
            let diamond = [(x, y - m - 1), (x + m + 1, y), (x, y + m + 1), (x - m - 1, y), (x, y - m - 1)];
            drawn(area.draw(&PathElement::new(diamond, thick)))
        }
    }
}

/// The next of 1, 2, 4, 5, 8, 10 times a power of ten, so that a quarter of it reads well.
fn round_up(v: f64) -> f64 {
    let unit = 10f64.powf(v.log10().floor());
    [1.0, 2.0, 4.0, 5.0, 8.0].into_iter().map(|step| step * unit).find(|&full| full >= v).unwrap_or(10.0 * unit)
}

/// Description for a reader who cannot see the chart.
fn description(panels: &[Panel]) -> String {
    let series = |series: &Series| {
        let points: Vec<String> =
            series.points.iter().map(|&(x, y)| format!("{} at {}", three_digits(y), three_digits(x))).collect();
        format!("{} {}", series.name, points.join(", "))
    };
    let panel = |panel: &Panel| {
        let all: Vec<String> = panel.series.iter().map(series).collect();
        format!("{}, at so many elements a thread: {}.", panel.title, all.join("; "))
    };
    panels.iter().map(panel).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::test_point;

    #[test]
    fn a_line_a_curve_and_a_panel_a_size() {
        let gpu = |curve: &str, n: u64, grid, gb_per_s| Point {
            curve: curve.to_owned(),
            n,
            grid,
            counters: None,
            gb_per_s: Some(gb_per_s),
            ..test_point()
        };
        let mut points =
            vec![gpu("a", 1 << 20, 64, 100.0), gpu("a", 1 << 20, 128, 300.0), gpu("b", 1 << 20, 64, 250.0)];
        points.push(gpu("a", 1 << 22, 64, 400.0));
        points.push(Point { drawn: false, ..gpu("hidden", 1 << 20, 64, 9999.0) });
        let svg = svg("A card", &points).expect("a drawing").expect("points to draw");
        assert!(
            svg.contains(
                "GB/s of input, n = 1,048,576, at so many elements a thread: a 300 at 32.0, 100 at 64.0; b 250 at 64.0."
            ),
            "{svg}"
        );
        assert!(svg.contains("n = 4,194,304") && !svg.contains("hidden") && !svg.contains("\n\n"));
        assert!(svg.contains("currentColor") && !svg.contains("simulated"));
    }

    #[test]
    fn simulated_points_say_so() {
        let svg = svg("Counts", &[test_point()]).expect("a drawing").expect("a point to draw");
        assert!(svg.contains("warp instructions an element, simulated"), "{svg}");
        assert!(super::svg("Nothing", &[]).expect("no drawing").is_none());
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (v, full) in
            [(0.9, 1.0), (1.0, 1.0), (1.3, 2.0), (3500.0, 4000.0), (4400.0, 5000.0), (0.07, 0.08), (9.0, 10.0)]
        {
            assert!((round_up(v) - full).abs() < 1e-9 * full, "{v}");
        }
    }
}
