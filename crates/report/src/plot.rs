//! Lines over a logarithmic axis, each with its own dash, marks and label at its end; colour comes last. A key below says what the labels stand for.

use lab::Result;
use lab::figure::{self, FONT, Ground, INK, TITLE_HEIGHT, WIDTH, drawn, text};
use lab::text::{grouped, three_digits};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Font size of ticks, labels and the key.
const SMALL: i32 = FONT - 2;
/// Between the baselines of two labels.
const LABEL_GAP: f64 = 14.0;
const KEY_HEIGHT: i32 = 20;
/// Frame of the lines: labels of the y axis left of it, of the lines right of it, of the x axis below.
const LEFT: i32 = 46;
const RIGHT: i32 = WIDTH - 76;
const HEIGHT: i32 = 250;
/// Between the heading and the lines: the title of the y axis.
const Y_TITLE_HEIGHT: i32 = 26;
const X_AXIS_HEIGHT: i32 = 46;
/// Size of a mark, from its middle.
const MARK: i32 = 4;

/// A chart of lines.
pub(crate) struct Plot {
    pub title: String,
    pub y_title: &'static str,
    pub x_title: &'static str,
    /// Format of a place on the x axis.
    pub x_label: fn(f64) -> String,
    pub lines: Vec<Line>,
}

/// One line.
pub(crate) struct Line {
    /// At its end; a few characters, or none for a line that the key alone names.
    pub label: String,
    /// In the key, after the label; may be empty.
    pub name: String,
    /// Points by ascending x, all positive.
    pub points: Vec<(f64, f64)>,
    pub look: Look,
}

/// Style of a line.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub colour: RGBColor,
    /// In tenths of a pixel's worth of ink: 10 is opaque.
    pub tenths: u8,
    pub width: u32,
    /// Length of a dash and of the gap after it.
    pub dash: Option<(i32, i32)>,
    pub mark: Option<Mark>,
}

/// A sign on a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Disc,
    Square,
    Up,
    Down,
    Diamond,
    Cross,
    Plus,
    Ring,
}

/// Marks of lines that have the same colour, in order.
pub(crate) const MARKS: [Mark; 8] =
    [Mark::Ring, Mark::Cross, Mark::Up, Mark::Square, Mark::Plus, Mark::Down, Mark::Diamond, Mark::Disc];

/// From figures to pixels.
struct Scale {
    x_log: (f64, f64),
    y_max: f64,
    /// Foot of a logarithmic y axis; `None` where it begins at 0.
    y_min: Option<f64>,
    top: i32,
}

impl Scale {
    fn of(plot: &Plot, by_decades: bool) -> Scale {
        let points = || plot.lines.iter().flat_map(|line| &line.points);
        let x_min = points().map(|point| point.0).fold(f64::INFINITY, f64::min).log2();
        let x_max = points().map(|point| point.0).fold(0.0, f64::max).log2();
        let y_max = points().map(|point| point.1).fold(0.0, f64::max);
        let y_min = by_decades.then(|| points().map(|point| point.1).fold(f64::INFINITY, f64::min) / 1.2);
        // One place alone would have no width.
        let x_log = if x_max > x_min { (x_min, x_max) } else { (x_min - 0.5, x_min + 0.5) };
        let y_max = if y_max > 0.0 { y_max * 1.04 } else { 1.0 };
        Scale { x_log, y_max, y_min, top: TITLE_HEIGHT + Y_TITLE_HEIGHT }
    }

    fn x(&self, x: f64) -> f64 {
        let (from, to) = self.x_log;
        f64::from(LEFT) + f64::from(RIGHT - LEFT) * (x.log2() - from) / (to - from)
    }

    fn y(&self, y: f64) -> f64 {
        let share = self.y_min.map_or(y / self.y_max, |min| (y / min).ln() / (self.y_max / min).ln());
        f64::from(self.foot()) - f64::from(HEIGHT) * share
    }

    fn y_ticks(&self) -> Vec<f64> {
        match self.y_min {
            None => ticks(self.y_max),
            Some(min) => (-3..9).map(|power| 10f64.powi(power)).filter(|y| (min..=self.y_max).contains(y)).collect(),
        }
    }

    fn foot(&self) -> i32 {
        self.top + HEIGHT
    }

    fn at(&self, point: (f64, f64)) -> (i32, i32) {
        (self.x(point.0).round() as i32, self.y(point.1).round() as i32)
    }
}

impl Plot {
    /// A chart over numbers of elements.
    pub fn over_elements(title: String, y_title: &'static str, lines: Vec<Line>) -> Plot {
        Plot { title, y_title, x_title: "elements", x_label: power_of_two, lines }
    }

    /// The chart; a placeholder if no line has a point.
    ///
    /// # Errors
    /// [`lab::Error::Chart`].
    pub fn svg(&self) -> Result<String> {
        self.drawn(false)
    }

    /// The same over a y axis that is logarithmic too.
    ///
    /// # Errors
    /// [`lab::Error::Chart`].
    pub fn svg_by_decades(&self) -> Result<String> {
        self.drawn(true)
    }

    fn drawn(&self, by_decades: bool) -> Result<String> {
        let lines: Vec<&Line> = self.lines.iter().filter(|line| !line.points.is_empty()).collect();
        if lines.is_empty() {
            return figure::placeholder(&self.title, "not measured yet");
        }
        let scale = Scale::of(self, by_decades);
        let key_top = scale.foot() + X_AXIS_HEIGHT;
        let rows = (lines.len() as i32 + 1) / 2;
        figure::drawing(&self.title, &self.description(), key_top + KEY_HEIGHT * rows + 6, |ground| {
            self.draw_axes(ground, &scale)?;
            for (i, line) in lines.iter().enumerate() {
                draw_line(ground, &scale, line, i)?;
            }
            draw_labels(ground, &scale, &lines)?;
            for (i, line) in lines.iter().enumerate() {
                let i = i as i32;
                draw_key(ground, line, (WIDTH / 2 * (i / rows), key_top + KEY_HEIGHT * (i % rows) + KEY_HEIGHT / 2))?;
            }
            Ok(())
        })
    }

    fn draw_axes(&self, ground: &Ground<'_>, scale: &Scale) -> Result<()> {
        let foot = scale.foot();
        text(ground, self.y_title, (0, TITLE_HEIGHT + 10), SMALL, HPos::Left)?;
        rule(ground, &[(LEFT, foot), (RIGHT, foot)], 1.0)?;
        for y in scale.y_ticks() {
            let at = scale.y(y).round() as i32;
            if at != foot {
                rule(ground, &[(LEFT, at), (RIGHT, at)], 0.18)?;
            }
            text(ground, &tick_label(y, scale.y_max), (LEFT - 6, at), SMALL, HPos::Right)?;
        }
        for log in x_ticks(scale.x_log) {
            let x = f64::from(log).exp2();
            let at = scale.x(x).round() as i32;
            rule(ground, &[(at, foot), (at, foot + 4)], 1.0)?;
            text(ground, &(self.x_label)(x), (at, foot + 14), SMALL, HPos::Center)?;
        }
        text(ground, self.x_title, ((LEFT + RIGHT) / 2, foot + 33), SMALL, HPos::Center)?;
        Ok(())
    }

    /// Description for a reader who cannot see the lines: start, peak and end of each.
    fn description(&self) -> String {
        let figure = |point: &(f64, f64)| format!("{} at {}", three_digits(point.1), (self.x_label)(point.0));
        let line = |line: &Line| {
            let peak = line.points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let (first, last) = (line.points.first()?, line.points.last()?);
            let name = if line.name.is_empty() || line.label.is_empty() {
                [line.label.as_str(), line.name.as_str()].concat()
            } else {
                format!("{} ({})", line.label, line.name)
            };
            let more = if peak == last { String::new() } else { format!(", at most {}", figure(peak)) };
            Some(format!("{name}: from {}{more}, to {}.", figure(first), figure(last)))
        };
        let lines: Vec<String> = self.lines.iter().filter_map(line).collect();
        format!("{} over {}. {}", self.y_title, self.x_title, lines.join(" "))
    }
}

/// `2¹⁰`: powers of two as readers of the book know them.
pub(crate) fn power_of_two(x: f64) -> String {
    power(2, x.log2())
}

/// `10⁹`, of a whole exponent that is not negative.
pub(crate) fn power(base: u32, exponent: f64) -> String {
    let digit = |c: char| c.to_digit(10).map_or(c, |d| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][d as usize]);
    format!("{base}{}", format!("{exponent:.0}").chars().map(digit).collect::<String>())
}

/// Round figures from 0 up to `max`: four to eight of them.
fn ticks(max: f64) -> Vec<f64> {
    let magnitude = 10f64.powf((max / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0].map(|digit| digit * magnitude).into_iter().rfind(|step| max / step >= 4.0);
    let step = step.unwrap_or(magnitude);
    (0..).map(|i| f64::from(i) * step).take_while(|&y| y <= max).collect()
}

/// With the decimals that ticks up to `max` need.
fn tick_label(y: f64, max: f64) -> String {
    if max > 4.0 { grouped(y as u64) } else { format!("{y:.1}") }
}

/// Whole powers of two, at most six of them.
fn x_ticks((from, to): (f64, f64)) -> Vec<i32> {
    let (from, to) = (from.ceil() as i32, to.floor() as i32);
    let step = (1..).find(|step| (to - from) / step < 6).unwrap_or(1);
    (from..=to).step_by(step as usize).collect()
}

/// A thin line, so dark.
pub(crate) fn rule(ground: &Ground<'_>, ends: &[(i32, i32)], ink: f64) -> Result<()> {
    drawn(ground.draw(&PathElement::new(ends.to_vec(), INK.mix(ink).stroke_width(1))))
}

fn stroke(look: Look) -> ShapeStyle {
    look.colour.mix(f64::from(look.tenths) / 10.0).stroke_width(look.width)
}

fn path(ground: &Ground<'_>, points: &[(i32, i32)], look: Look) -> Result<()> {
    match look.dash {
        Some((dash, gap)) => {
            drawn(ground.draw(&DashedPathElement::new(points.iter().copied(), dash, gap, stroke(look))))
        }
        None => drawn(ground.draw(&PathElement::new(points.to_vec(), stroke(look)))),
    }
}

fn draw_line(ground: &Ground<'_>, scale: &Scale, line: &Line, index: usize) -> Result<()> {
    let points: Vec<(i32, i32)> = line.points.iter().map(|&point| scale.at(point)).collect();
    path(ground, &points, line.look)?;
    let Some(mark) = line.look.mark else { return Ok(()) };
    // Where lines run together, each has its marks at other places.
    let many = points.len() > 8;
    for (_, &at) in points.iter().enumerate().filter(|(i, _)| !many || (i + index).is_multiple_of(3)) {
        draw_mark(ground, mark, at, line.look)?;
    }
    Ok(())
}

fn draw_mark(ground: &Ground<'_>, mark: Mark, (x, y): (i32, i32), look: Look) -> Result<()> {
    let solid = look.colour.mix(f64::from(look.tenths) / 10.0).filled();
    let thin = look.colour.mix(f64::from(look.tenths) / 10.0).stroke_width(1);
    let polygon = |corners: &[(i32, i32)]| {
        let corners: Vec<(i32, i32)> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        drawn(ground.draw(&Polygon::new(corners, solid)))
    };
    const M: i32 = MARK;
    match mark {
        Mark::Square => polygon(&[(-M + 1, -M + 1), (M - 1, -M + 1), (M - 1, M - 1), (-M + 1, M - 1)]),
        Mark::Up => polygon(&[(0, -M), (M, M - 1), (-M, M - 1)]),
        Mark::Down => polygon(&[(0, M), (M, -M + 1), (-M, -M + 1)]),
        Mark::Diamond => polygon(&[(0, -M), (M, 0), (0, M), (-M, 0)]),
        Mark::Disc => drawn(ground.draw(&Circle::new((x, y), M - 1, solid))),
        Mark::Ring => drawn(ground.draw(&Circle::new((x, y), M - 1, thin))),
        Mark::Cross => {
            drawn(ground.draw(&PathElement::new([(x - M, y - M), (x + M, y + M)], thin)))?;
            drawn(ground.draw(&PathElement::new([(x - M, y + M), (x + M, y - M)], thin)))
        }
        Mark::Plus => {
            drawn(ground.draw(&PathElement::new([(x - M, y), (x + M, y)], thin)))?;
            drawn(ground.draw(&PathElement::new([(x, y - M), (x, y + M)], thin)))
        }
    }
}

/// The labels right of the lines' ends, moved apart where they would overlap, each with a hair to its end.
fn draw_labels(ground: &Ground<'_>, scale: &Scale, lines: &[&Line]) -> Result<()> {
    let lines: Vec<&Line> = lines.iter().copied().filter(|line| !line.label.is_empty()).collect();
    let ends: Vec<(i32, i32)> = lines.iter().filter_map(|line| line.points.last()).map(|&end| scale.at(end)).collect();
    let ideal: Vec<f64> = ends.iter().map(|end| f64::from(end.1)).collect();
    let heights = spread(&ideal, LABEL_GAP, (f64::from(scale.top), f64::from(scale.foot())));
    for ((line, end), y) in lines.iter().zip(&ends).zip(heights) {
        let y = y.round() as i32;
        if (end.0, end.1) != (RIGHT, y) {
            rule(ground, &[*end, (RIGHT.max(end.0), end.1), (RIGHT + 10, y)][usize::from(end.0 >= RIGHT)..], 0.45)?;
        }
        text(ground, &line.label, (RIGHT + 13, y), SMALL, HPos::Left)?;
    }
    Ok(())
}

/// Labels that touch, around the middle of where they would be.
struct Group {
    /// Place of its first label in the order of all.
    first: usize,
    count: usize,
    /// Sum of its labels' ideal places.
    sum: f64,
}

/// Places near the ideal ones, in the same order, `gap` apart and within the range as far as there is room.
fn spread(ideal: &[f64], gap: f64, (from, to): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ideal.len()).collect();
    order.sort_by(|&a, &b| ideal[a].total_cmp(&ideal[b]));
    let top = |group: &Group| -> f64 {
        let height = gap * (group.count as f64 - 1.0);
        (group.sum / group.count as f64 - height / 2.0).min(to - height).max(from)
    };
    let mut groups: Vec<Group> = Vec::new();
    for (first, &label) in order.iter().enumerate() {
        let mut group = Group { first, count: 1, sum: ideal[label] };
        while let Some(before) = groups.pop_if(|before| top(before) + gap * before.count as f64 > top(&group)) {
            group = Group { first: before.first, count: before.count + group.count, sum: before.sum + group.sum };
        }
        groups.push(group);
    }
    let mut places = vec![0.0; ideal.len()];
    for group in &groups {
        for i in 0..group.count {
            places[order[group.first + i]] = top(group) + gap * i as f64;
        }
    }
    places
}

fn draw_key(ground: &Ground<'_>, line: &Line, (x, y): (i32, i32)) -> Result<()> {
    path(ground, &[(x, y), (x + 26, y)], line.look)?;
    if let Some(mark) = line.look.mark {
        draw_mark(ground, mark, (x + 13, y), line.look)?;
    }
    text(ground, format!("{} {}", line.label, line.name).trim_start(), (x + 32, y), SMALL, HPos::Left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart_and_in_order() {
        let places = spread(&[100.0, 10.0, 12.0, 11.0], 14.0, (0.0, 200.0));
        assert_eq!(places[0], 100.0);
        assert!(places[1] < places[3] && places[3] < places[2], "{places:?}");
        assert!((places[3] - places[1] - 14.0).abs() < 1e-9 && (places[2] - places[3] - 14.0).abs() < 1e-9);
        let low = spread(&[199.0, 200.0, 198.0], 14.0, (0.0, 200.0));
        assert_eq!(low, [186.0, 200.0, 172.0]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(4700.0), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        assert_eq!(ticks(9999.0), [0.0, 2000.0, 4000.0, 6000.0, 8000.0]);
        assert_eq!(ticks(2.2), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!((tick_label(0.5, 2.2), tick_label(2000.0, 9999.0)), ("0.5".to_owned(), "2,000".to_owned()));
        assert_eq!(x_ticks((10.0, 30.0)), [10, 14, 18, 22, 26, 30]);
        assert_eq!(x_ticks((5.0, 10.0)), [5, 6, 7, 8, 9, 10]);
        assert_eq!(power_of_two(1024.0), "2¹⁰");
    }

    #[test]
    fn one_point_or_none_is_no_error() {
        let look = Look { colour: INK, tenths: 10, width: 1, dash: Some((2, 3)), mark: Some(Mark::Cross) };
        let line = |points| Line { label: "a".into(), name: "b".into(), points, look };
        let plot = |lines| Plot::over_elements("T".into(), "GB/s", lines);
        let svg = plot(vec![line(vec![(1024.0, 3.0)]), line(vec![])]).svg().unwrap();
        assert!(svg.contains("a (b): from 3.00 at 2¹⁰, to 3.00 at 2¹⁰."), "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
        let decades = plot(vec![line(vec![(1.0, 3.0), (4.0, 300.0)])]).svg_by_decades().unwrap();
        assert!(decades.contains("\n10\n</text>") && decades.contains("\n100\n</text>"), "{decades}");
        assert!(plot(vec![line(vec![])]).svg().unwrap().contains("not measured yet"));
    }
}
