//! Map of chapter 10's plan for the figure that opens its page: what takes a row, for many numbers of rows and columns.

use ch10_rows::CHAPTER;
use lab::{LaunchOptions, Matrix, Problem, Rows, Type};
use reduction::families::rows::{Shape, shape_for};
use serde_json::{Value, json};

/// Rows and columns of the map: the powers of two up to 2²⁰, and what lies half-way between them.
fn stops() -> Vec<u64> {
    let pairs = (0..20).flat_map(|power: u32| [Some(1 << power), (power > 0).then(|| 3 << (power - 1))]);
    pairs.flatten().chain([1 << 20]).collect()
}

/// The map for the scripts that draw it: the plan as text, the number of stops and the last of them, and the parts of the map with the
/// stops at which their names stand.
pub fn map() -> Value {
    let map = Map::planned();
    let area = |area: Area| {
        let (x, y) = area.name_at();
        json!({ "letter": area.letter, "path": area.path, "x": x, "y": y })
    };
    let areas: Vec<Value> = map.areas().into_iter().map(area).collect();
    json!({ "plan": map.text(), "stops": map.0.len(), "most": stops().last(), "areas": areas })
}

/// Teams by columns, then rows, at each stop. A row is a thread's, `t`; 8 lanes', `g8`; a block of 256 threads', `b256`; or, as in
/// `p24x4192`, 24 blocks' with up to 4192 elements each.
struct Map(Vec<Vec<String>>);

/// Part of the map in one colour.
struct Area {
    /// Letter of its teams; `w` where the lanes are a whole warp.
    letter: char,
    /// Outline in SVG, a stop wide and high for each, row 0 at the bottom.
    path: String,
    /// Its stops, columns and rows.
    stops: Vec<(usize, usize)>,
}

impl Area {
    /// Stop at which a name stands well.
    fn name_at(&self) -> (usize, usize) {
        let (x, _) = self.stops[self.stops.len() / 2];
        let rows: Vec<usize> = self.stops.iter().filter(|stop| stop.0 == x).map(|stop| stop.1).collect();
        (x, rows[rows.len() * 2 / 3])
    }
}

impl Map {
    fn planned() -> Map {
        let stops = stops();
        Map(stops.iter().map(|&cols| stops.iter().map(|&rows| taker(rows, cols)).collect()).collect())
    }

    /// The map as text for a script: the stops, then for each number of columns the teams as the rows become more, and for how many
    /// stops: `1 2 3|t*40;g8*40;b256*22 g32*18`.
    fn text(&self) -> String {
        let runs = |column: &Vec<String>| {
            let runs = column.chunk_by(|a, b| a == b).map(|run| format!("{}*{}", run[0], run.len()));
            runs.collect::<Vec<_>>().join(" ")
        };
        let columns: Vec<String> = self.0.iter().map(runs).collect();
        let stops: Vec<String> = stops().iter().map(u64::to_string).collect();
        format!("{}|{}", stops.join(" "), columns.join(";"))
    }

    /// Its parts, from short rows to long ones.
    fn areas(&self) -> Vec<Area> {
        let empty = |letter| Area { letter, path: String::new(), stops: Vec::new() };
        let mut areas: Vec<Area> = "tgwbp".chars().map(empty).collect();
        for (x, column) in self.0.iter().enumerate() {
            let mut y = 0;
            for run in column.chunk_by(|a, b| letter(a) == letter(b)) {
                let end = y + run.len();
                if let Some(area) = areas.iter_mut().find(|area| area.letter == letter(&run[0])) {
                    area.path += &format!("M{x} {}h1v{}h-1z", self.0.len() - end, run.len());
                    area.stops.extend((y..end).map(|y| (x, y)));
                }
                y = end;
            }
        }
        areas.retain(|area| !area.stops.is_empty());
        areas
    }
}

fn letter(team: &str) -> char {
    if team == "g32" { 'w' } else { team.chars().next().unwrap_or(' ') }
}

/// What takes a row of the sum of so many floats, on the card that the simulator stands in for.
fn taker(rows: u64, cols: u64) -> String {
    let matrix = Matrix::dense(rows, cols);
    let variant = CHAPTER.variants.iter().find(|variant| variant.name == "rows").unwrap_or(&CHAPTER.variants[0]);
    let options = LaunchOptions { rows: Some(Rows::Matrix(matrix)), ..LaunchOptions::default() };
    match shape_for(&Problem::new(variant, Type::F32, rows * cols, options), matrix) {
        Shape::Short { .. } => "t".to_owned(),
        Shape::Groups { lanes, .. } => format!("g{lanes}"),
        Shape::Block { block, .. } => format!("b{block}"),
        Shape::Parts { parts, length, .. } => format!("p{parts}x{length}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Arg, Planned};

    /// The team by what is launched.
    fn launched(rows: u64, cols: u64) -> String {
        let options = LaunchOptions { rows: Some(Rows::Matrix(Matrix::dense(rows, cols))), ..LaunchOptions::default() };
        let variant = CHAPTER.variants.iter().find(|variant| variant.name == "rows").unwrap();
        let plan = Planned::new(&Problem::new(variant, Type::F32, rows * cols, options)).unwrap();
        let [pass] = &plan.passes[..] else { panic!("{rows} x {cols}: one launch") };
        let numbers: Vec<u32> =
            pass.args.iter().filter_map(|arg| if let Arg::U32(number) = arg { Some(*number) } else { None }).collect();
        match pass.kernel.split_once('_').unwrap() {
            ("short", _) => "t".to_owned(),
            ("groups", shape) => format!("g{}", &shape[1..shape.find('r').unwrap()]),
            ("block", _) => format!("b{}", pass.block()),
            ("parts", _) => format!("p{}x{}", numbers[1], numbers[2]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_map_is_what_is_launched() {
        let map = Map::planned();
        let text = map.text();
        let (_, columns) = text.split_once('|').unwrap();
        for (cols, column) in stops().into_iter().zip(columns.split(';')) {
            let teams = column.split(' ').flat_map(|run| {
                let (team, times) = run.split_once('*').unwrap();
                vec![team; times.parse().unwrap()]
            });
            let teams: Vec<&str> = teams.collect();
            assert_eq!(teams.len(), stops().len());
            for (rows, team) in stops().into_iter().zip(teams) {
                assert_eq!(team, launched(rows, cols), "{rows} x {cols}");
            }
        }
        let letters: String = map.areas().iter().map(|area| area.letter).collect();
        assert_eq!(letters, "tgwbp", "each way to take a row is on the map");
    }
}
