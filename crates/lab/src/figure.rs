//! The ground that charts are drawn on: SVG that a page can take in. Text and axes have the colour of the text around
//! them, so that they are legible on light and dark ground and on paper; fills are colours that the colour-blind tell
//! apart (Okabe and Ito); a description serves those who hear the page. Bars are drawn here, lines in the crate `report`.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Error, Result};

/// Blue.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// Vermilion.
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
/// Bluish green.
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
const PURPLE: RGBColor = RGBColor(204, 121, 167);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const SKY: RGBColor = RGBColor(86, 180, 233);
/// Legible on white and on black.
pub const COLOURS: [RGBColor; 6] = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY];
/// Becomes `currentColor` in the file.
pub const INK: RGBColor = BLACK;

/// Small enough that text in it is legible where a telephone shows it 360 pixels wide.
pub const WIDTH: i32 = 400;
/// Height of the heading of a chart, in pixels.
pub const TITLE_HEIGHT: i32 = 24;
/// Size of the text, in pixels.
pub const FONT: i32 = 15;
/// Font size of a chart's heading.
pub const HEAD_FONT: i32 = FONT + 1;
const BAR_HEIGHT: i32 = 20;
const PANEL_GAP: i32 = 12;
/// Width of a bar's name, unless a longer name needs more.
const NAME_WIDTH: i32 = 146;
/// Largest width of a character of [`FONT`].
const CHARACTER_WIDTH: i32 = 8;
/// Width of a bar's label, unless a longer label needs more.
const VALUE_WIDTH: i32 = 86;

/// One quantity over several things, drawn as bars from a common zero.
pub struct Panel {
    /// Its heading.
    pub title: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// Value of a bar as long as the panel; the largest one's if `None`.
    pub full: Option<f64>,
}

/// A bar of a panel.
pub struct Bar {
    /// Text to its left.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// Text behind it.
    pub label: String,
    /// Its fill.
    pub colour: RGBColor,
}

/// Place of a part of a drawing: its left upper corner and its width.
#[derive(Clone, Copy)]
pub struct Place {
    /// Pixels from the left edge.
    pub left: i32,
    /// Pixels from the top.
    pub top: i32,
    /// In pixels.
    pub width: i32,
}

/// Drawing area of a chart.
pub type Ground<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A drawing of this height, with its heading in the first [`TITLE_HEIGHT`] pixels.
///
/// # Errors
/// [`Error::Chart`].
pub fn drawing(
    title: &str,
    description: &str,
    height: i32,
    draw: impl FnOnce(&Ground<'_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let ground = SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
        text(&ground, title, (0, TITLE_HEIGHT / 2), HEAD_FONT, HPos::Left)?;
        draw(&ground)?;
        drawn(ground.present())?;
    }
    Ok(embeddable(&svg, title, description))
}

/// A chart that is nothing but bars, a panel below the other.
///
/// # Errors
/// [`Error::Chart`].
pub fn bars(title: &str, panels: &[Panel]) -> Result<String> {
    let height = TITLE_HEIGHT + panels.iter().map(panel_height).sum::<i32>();
    drawing(title, &description(panels), height, |ground| {
        let mut place = Place { left: 0, top: TITLE_HEIGHT, width: WIDTH };
        for panel in panels {
            draw_panel(ground, panel, place)?;
            place.top += panel_height(panel);
        }
        Ok(())
    })
}

/// Height of a panel with its title and the space below it.
pub fn panel_height(panel: &Panel) -> i32 {
    TITLE_HEIGHT + BAR_HEIGHT * panel.bars.len() as i32 + PANEL_GAP
}

/// Draws a panel at a place.
///
/// # Errors
/// [`Error::Chart`].
pub fn draw_panel(ground: &Ground<'_>, panel: &Panel, place: Place) -> Result<()> {
    let longest = |of: fn(&Bar) -> &str| panel.bars.iter().map(|bar| of(bar).chars().count() as i32).max().unwrap_or(0);
    let needed = |characters: i32| CHARACTER_WIDTH * characters + 2;
    let (names, labels) = (needed(longest(|bar| &bar.name)), needed(longest(|bar| &bar.label)));
    // Panels below each other begin at the same place; those in columns take only what they need.
    let is_whole = place.width == WIDTH;
    let name_width = if is_whole { names.max(NAME_WIDTH) } else { names + 8 };
    let value_width = if is_whole { labels.max(VALUE_WIDTH) } else { labels + 6 };
    let Place { left, top, width } = place;
    text(ground, &panel.title, (left, top + TITLE_HEIGHT / 2), FONT, HPos::Left)?;
    let full = panel.full.unwrap_or_else(|| panel.bars.iter().map(|bar| bar.value).fold(0.0, f64::max));
    let room = f64::from(width - name_width - value_width).max(1.0);
    let (base, zero) = (top + TITLE_HEIGHT, left + name_width);
    for (i, bar) in panel.bars.iter().enumerate() {
        let y = base + BAR_HEIGHT * i as i32;
        let share = if full > 0.0 { bar.value / full } else { 0.0 };
        let (middle, end) = (y + BAR_HEIGHT / 2, zero + (room * share).round() as i32);
        text(ground, &bar.name, (zero - 8, middle), FONT, HPos::Right)?;
        block(ground, (zero, y + 2), (end, y + BAR_HEIGHT - 2), bar.colour)?;
        text(ground, &bar.label, (end + 6, middle), FONT, HPos::Left)?;
    }
    let foot = base + BAR_HEIGHT * panel.bars.len() as i32;
    drawn(ground.draw(&PathElement::new([(zero, base), (zero, foot)], INK.stroke_width(1))))
}

/// Fills a rectangle between two corners.
///
/// # Errors
/// [`Error::Chart`].
pub fn block(ground: &Ground<'_>, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Result<()> {
    drawn(ground.draw(&Rectangle::new([from, to], colour.filled())))
}

/// Writes a line of text whose middle is at this height.
///
/// # Errors
/// [`Error::Chart`].
pub fn text(ground: &Ground<'_>, text: &str, at: (i32, i32), size: i32, anchor: HPos) -> Result<()> {
    let style = text_style(size, Pos::new(anchor, VPos::Center));
    drawn(ground.draw(&Text::new(text.to_owned(), at, style)))
}

/// Text of this size in the ink of the page, and which point of it is placed.
pub fn text_style(size: i32, pos: Pos) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK).pos(pos)
}

/// Result of a drawing operation with this program's own error.
///
/// # Errors
/// [`Error::Chart`].
pub fn drawn<E: std::error::Error + Send + Sync>(
    result: std::result::Result<(), DrawingAreaErrorKind<E>>,
) -> Result<()> {
    result.map_err(|error| Error::Chart(error.to_string()))
}

/// Placeholder for a chart that is still missing.
///
/// # Errors
/// [`Error::Chart`].
pub fn placeholder(title: &str, why: &str) -> Result<String> {
    drawing(title, why, 3 * TITLE_HEIGHT, |ground| text(ground, why, (0, 3 * TITLE_HEIGHT / 2), FONT, HPos::Left))
}

/// Description for a reader who cannot see the bars.
pub fn description(panels: &[Panel]) -> String {
    let panel = |panel: &Panel| {
        let bars: Vec<String> = panel.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect();
        format!("{}: {}.", panel.title, bars.join(", "))
    };
    panels.iter().map(panel).collect::<Vec<_>>().join(" ")
}

/// Makes the drawing scale with its place and take its ink from the text around it. On its own, in a browser's window, it
/// follows the reader's preference for light or dark; `svg:root` does not match inside a page.
pub fn embeddable(svg: &str, title: &str, description: &str) -> String {
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

/// Text for HTML and SVG.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> String {
        let bar = |name: &str, value: f64| Bar { name: name.to_owned(), value, label: value.to_string(), colour: BLUE };
        let panel = Panel {
            title: "barriers & <more>".to_owned(),
            bars: vec![bar("a_variant", 8.5), bar("b", 0.0)],
            full: None,
        };
        bars("A title", &[panel]).expect("a drawing")
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
        assert!(svg.contains("<desc>barriers &amp; &lt;more&gt;: a_variant 8.5, b 0.</desc>"), "{svg}");
        assert!(!svg.contains("\n\n"));
    }

    #[test]
    fn takes_its_ink_from_the_page() {
        let svg = chart();
        assert!(svg.contains("currentColor") && !svg.contains("#000000") && !svg.contains("#FFFFFF"), "{svg}");
    }

    #[test]
    fn a_placeholder_says_why() {
        let svg = placeholder("Warm", "not measured yet").expect("a drawing");
        assert_eq!(svg.matches("not measured yet").count(), 3, "for eyes, for a name and for ears: {svg}");
    }
}
