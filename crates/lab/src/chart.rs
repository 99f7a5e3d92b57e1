//! Charts as SVG that a page can take in: text and axes in the colour of the text around them, so that they are legible on
//! light and dark ground, bars in colours that the colour-blind tell apart (Okabe and Ito), and a description for
//! those who hear the page.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Chapter;
use crate::error::{Error, Result};
use crate::session::Run;
use crate::text::{grouped, per_cent, three_digits};

/// Blue, vermilion, green, purple, orange, sky: legible on white and on black.
pub(crate) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// Becomes `currentColor` in the file.
pub(crate) const INK: RGBColor = BLACK;

/// Small enough that text in it is legible where a telephone shows it 360 pixels wide.
pub(crate) const WIDTH: i32 = 400;
pub(crate) const TITLE_HEIGHT: i32 = 24;
const BAR_HEIGHT: i32 = 20;
const NAME_WIDTH: i32 = 146;
const VALUE_WIDTH: i32 = 86;
pub(crate) const FONT: i32 = 15;

/// One quantity over the variants, drawn as bars from a common zero.
struct Panel {
    title: String,
    bars: Vec<Bar>,
    /// Value of a bar as long as the panel; the largest one's if `None`.
    full: Option<f64>,
}

struct Bar {
    name: String,
    value: f64,
    label: String,
}

/// The chart of these runs: counters of the simulator, or times of a GPU. `None` where there is nothing to draw.
///
/// # Errors
/// [`Error::Chart`].
pub fn svg(chapter: &Chapter, device: &str, runs: &[Run]) -> Result<Option<String>> {
    let n = runs.first().map_or(0, |run| run.n);
    let panels = if runs.iter().any(|run| run.time.is_some()) { times(runs) } else { counters(runs) };
    if panels.is_empty() || n == 0 {
        return Ok(None);
    }
    let title = format!(
        "{}: {}, n = {}",
        chapter.title,
        if device == "simulator" { "simulated counts" } else { device },
        grouped(n)
    );
    draw(&title, &panels).map(Some)
}

fn panel(title: &str, runs: &[Run], value: impl Fn(&Run) -> Option<(f64, String)>) -> Option<Panel> {
    let bar = |run: &Run| value(run).map(|(value, label)| Bar { name: run.variant.name.to_owned(), value, label });
    let bars: Vec<Bar> = runs.iter().filter_map(bar).collect();
    bars.iter().any(|bar| bar.value > 0.0).then(|| Panel { title: title.to_owned(), bars, full: None })
}

fn times(runs: &[Run]) -> Vec<Panel> {
    let figure = |v: f64| (v, three_digits(v));
    [
        panel("time in us, cold median (less is better)", runs, |run| run.time_us().map(figure)),
        panel("GB/s of input (more is better)", runs, |run| run.gb_per_s().map(figure)),
        panel("time in us, warm median (less is better)", runs, |run| run.time.map(|time| figure(time.warm.median_us))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn counters(runs: &[Run]) -> Vec<Panel> {
    let total = |title, count: fn(&device::Counters) -> u64| {
        panel(title, runs, |run| run.counters.map(|c| (count(&c) as f64, grouped(count(&c)))))
    };
    [
        total("warp instructions (PTX)", |c| c.inst_executed),
        panel("lane efficiency (100 %: no lane ever idle)", runs, |run| {
            run.counters.map(|c| (c.lane_efficiency(), per_cent(c.lane_efficiency())))
        })
        .map(|panel| Panel { full: Some(1.0), ..panel }),
        total("barriers", |c| c.barriers),
        total("shared-memory wavefronts", |c| c.shared_ld_wavefronts + c.shared_st_wavefronts),
        total("bank conflicts", |c| c.shared_ld_conflicts + c.shared_st_conflicts),
        total("global-memory sectors", |c| c.global_ld_sectors + c.global_st_sectors),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn draw(title: &str, panels: &[Panel]) -> Result<String> {
    let heights: Vec<i32> =
        panels.iter().map(|panel| TITLE_HEIGHT + BAR_HEIGHT * panel.bars.len() as i32 + 12).collect();
    let height = TITLE_HEIGHT + heights.iter().sum::<i32>();
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
        let bold = text_style(FONT + 1, Pos::new(HPos::Left, VPos::Center));
        drawn(area.draw(&Text::new(title.to_owned(), (0, TITLE_HEIGHT / 2), bold)))?;
        let mut top = TITLE_HEIGHT;
        for (panel, height) in panels.iter().zip(heights) {
            draw_panel(&area, panel, top)?;
            top += height;
        }
        drawn(area.present())?;
    }
    Ok(embeddable(&svg, title, &description(panels)))
}

fn draw_panel<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    panel: &Panel,
    top: i32,
) -> Result<()> {
    let left = text_style(FONT, Pos::new(HPos::Left, VPos::Center));
    let right = text_style(FONT, Pos::new(HPos::Right, VPos::Center));
    drawn(area.draw(&Text::new(panel.title.clone(), (0, top + TITLE_HEIGHT / 2), left.clone())))?;
    let full = panel.full.unwrap_or_else(|| panel.bars.iter().map(|bar| bar.value).fold(0.0, f64::max));
    let room = f64::from(WIDTH - NAME_WIDTH - VALUE_WIDTH);
    let base = top + TITLE_HEIGHT;
    for (i, bar) in panel.bars.iter().enumerate() {
        let y = base + BAR_HEIGHT * i as i32;
        let (middle, end) = (y + BAR_HEIGHT / 2, NAME_WIDTH + (room * bar.value / full).round() as i32);
        drawn(area.draw(&Text::new(bar.name.clone(), (NAME_WIDTH - 8, middle), right.clone())))?;
        let colour = COLOURS[i % COLOURS.len()].filled();
        drawn(area.draw(&Rectangle::new([(NAME_WIDTH, y + 2), (end, y + BAR_HEIGHT - 2)], colour)))?;
        drawn(area.draw(&Text::new(bar.label.clone(), (end + 6, middle), left.clone())))?;
    }
    let foot = base + BAR_HEIGHT * panel.bars.len() as i32;
    drawn(area.draw(&PathElement::new([(NAME_WIDTH, base), (NAME_WIDTH, foot)], INK.stroke_width(1))))
}

pub(crate) fn text_style(size: i32, pos: Pos) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK).pos(pos)
}

pub(crate) fn drawn<E: std::error::Error + Send + Sync>(
    result: std::result::Result<(), DrawingAreaErrorKind<E>>,
) -> Result<()> {
    result.map_err(|error| Error::Chart(error.to_string()))
}

/// What a reader who cannot see the chart is told.
fn description(panels: &[Panel]) -> String {
    let panel = |panel: &Panel| {
        let bars: Vec<String> = panel.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect();
        format!("{}: {}.", panel.title, bars.join(", "))
    };
    panels.iter().map(panel).collect::<Vec<_>>().join(" ")
}

/// Makes the drawing scale with its place and take its ink from the text around it. On its own, in a browser's window, it
/// follows the reader's preference for light or dark; `svg:root` does not match inside a page.
pub(crate) fn embeddable(svg: &str, title: &str, description: &str) -> String {
    let body = svg.split_once('>').map_or(svg, |(_, body)| body).trim_start();
    let body = body.replace("#000000", "currentColor");
    let height = attribute(svg, "height").unwrap_or_default();
    let (title, description) = (escaped(title), escaped(description));
    // No blank line anywhere: inside a Markdown page one would end the HTML block.
    let body: String = body.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{line}\n")).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" \
         style=\"max-width:44rem;height:auto\" role=\"img\" aria-label=\"{title}. {description}\" fill=\"none\">\n\
         <title>{title}</title>\n<desc>{description}</desc>\n\
         <style>svg:root{{color:#1b1f24;background:#fff}}@media (prefers-color-scheme:dark){{svg:root{{color:#e6e6e6;background:#15181c}}}}</style>\n\
         {body}"
    )
}

fn attribute<'s>(svg: &'s str, name: &str) -> Option<&'s str> {
    svg.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> String {
        let bar = |name: &str, value: f64| Bar { name: name.to_owned(), value, label: three_digits(value) };
        let panel = Panel {
            title: "barriers & <more>".to_owned(),
            bars: vec![bar("a_variant", 8.0), bar("b", 0.0)],
            full: None,
        };
        draw("A title", &[panel]).expect("a drawing")
    }

    #[test]
    fn scales_and_describes_itself() {
        let svg = chart();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(
            svg.contains("viewBox=\"0 0 400 ")
                && svg.contains("role=\"img\"")
                && svg.contains("<title>A title</title>")
        );
        assert!(svg.contains("<desc>barriers &amp; &lt;more&gt;: a_variant 8.00, b 0.</desc>"), "{svg}");
        assert!(!svg.contains("\n\n"));
    }

    #[test]
    fn takes_its_ink_from_the_page() {
        let svg = chart();
        assert!(svg.contains("currentColor") && !svg.contains("#000000") && !svg.contains("#FFFFFF"), "{svg}");
    }
}
