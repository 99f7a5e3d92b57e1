//! The exercises of the course: every `chapters/<slug>/exercises.toml`, read and checked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::item::Item;
#[cfg(test)]
use super::write::Exercise;
use crate::workspace;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    exercise: Vec<Item>,
}

/// Path of the file that describes a chapter's exercises.
pub fn file(root: &Path, chapter: &str) -> PathBuf {
    root.join("chapters").join(chapter).join("exercises.toml")
}

/// Every exercise of every kind, in the order of the book.
///
/// # Errors
/// A file that cannot be read or says something impossible, two exercises of one id, or none at all.
pub fn load(root: &Path) -> Result<Vec<Item>> {
    let exercises = load_any(root)?;
    ensure!(!exercises.is_empty(), "found no chapters/*/exercises.toml with an exercise in it");
    Ok(exercises)
}

/// Exercises like those of [`load`], where there may be none.
///
/// # Errors
/// Those of [`load`], except the one for an empty course.
pub fn load_any(root: &Path) -> Result<Vec<Item>> {
    let mut exercises: Vec<Item> = Vec::new();
    for chapter in workspace::names(&root.join("chapters"))? {
        let path = file(root, &chapter);
        if !path.is_file() {
            continue;
        }
        let name = workspace::name(root, &path);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{name}`"))?;
        for exercise in parse(&text, &chapter).with_context(|| format!("{name} is no list of exercises"))? {
            if let Some(known) = exercises.iter().find(|known| known.id() == exercise.id()) {
                bail!("{name}: {} has an exercise `{}` already: take another id", known.chapter(), known.id());
            }
            exercises.push(exercise);
        }
    }
    Ok(exercises)
}

/// The exercises of one file.
pub(super) fn parse(text: &str, chapter: &str) -> Result<Vec<Item>> {
    let mut file: File = toml::from_str(text)?;
    for exercise in &mut file.exercise {
        exercise.belongs_to(chapter);
        exercise.check()?;
    }
    Ok(file.exercise)
}

/// The kernels to write among them.
#[cfg(test)]
pub fn written(items: Vec<Item>) -> Vec<Exercise> {
    let written = |item| if let Item::Write(exercise) = item { Some(exercise) } else { None };
    items.into_iter().filter_map(written).collect()
}

/// A test: each change of a text is refused, in these words.
#[cfg(test)]
pub fn refuses(text: &str, changes: &[(&str, &str, &str)]) {
    for (from, to, problem) in changes {
        let error = parse(&text.replacen(from, to, 1), "c").unwrap_err();
        assert!(format!("{error:#}").contains(problem), "{to}: {error:#}");
    }
}

/// An exercise of the course, and the text and PTX of one of its committed kernels.
#[cfg(test)]
pub fn committed(id: &str, kernel: &str) -> (Exercise, String, String) {
    let root = workspace::root().unwrap();
    let exercise = written(load(&root).unwrap()).into_iter().find(|exercise| exercise.id == id).unwrap();
    let read = |end| workspace::read(&root, format!("chapters/{}/{kernel}.{end}", exercise.chapter)).unwrap();
    let (text, ptx) = (read("cu"), read("ptx"));
    (exercise, text, ptx)
}

#[cfg(test)]
mod tests {
    use lab::{Matrix, Type};

    use super::*;

    const SMALL: &str = r#"
        [[exercise]]
        kind = "write"
        id = "four-loads"
        title = "t"
        question = "q"
        hints = ["h"]
        blocks = [96]
        types = ["i32", "f32"]
        elements_per_thread = 4

        [[exercise.goal]]
        name = "few-barriers"
        say = "s"
        counters = ["barriers"]
        at_most = 8

        [[exercise.wrong]]
        name = "one-guard"
        reason = "few-barriers"
        why = "w"
    "#;

    #[test]
    fn names_follow_from_the_id() {
        let exercises = written(parse(SMALL, "ch04-first-add").unwrap());
        let exercise = &exercises[0];
        assert_eq!(exercise.entry(Type::F32, 96), "four_loads_f32");
        assert_eq!(exercise.elements_per_block(96), 384);
        let root = Path::new("r");
        let wrong = exercise.wrong_source(root, &exercise.wrong[0]);
        assert_eq!(wrong.cu, Path::new("r/chapters/ch04-first-add/wrong/four-loads-one-guard.cu"));
        assert_eq!(exercise.starter(root).ptx, Path::new("r/chapters/ch04-first-add/exercises/four-loads.ptx"));
        assert_eq!(exercise.sources(root).len(), 4);
    }

    #[test]
    fn an_instance_for_each_block_has_the_block_in_its_name() {
        let text = SMALL.replace("title =", "entry = \"k_b{block}_{type}\"\ntitle =");
        assert_eq!(written(parse(&text, "c").unwrap())[0].entry(Type::I32, 64), "k_b64_i32");
    }

    #[test]
    fn what_is_impossible_is_named() {
        refuses(
            SMALL,
            &[
                ("\"i32\"", "\"i33\"", "unknown variant `i33`"),
                ("[96]", "[2048]", "a block of 2048 threads"),
                ("[96]", "[]", "no blocks"),
                ("\"barriers\"", "\"barrier\"", "`barrier` is no count"),
                ("\"barriers\"", "\"ptx_lane_efficiency\"", "`ptx_lane_efficiency` is no count"),
                ("reason = \"few-barriers\"", "reason = \"slow\"", "`slow` is no reason"),
                ("id = \"four-loads\"", "id = \"../x\"", "id `../x`"),
                ("[\"h\"]", "[]", "no hints"),
                ("\"write\"", "\"sing\"", "sing"),
                ("title =", "op = \"mode\"\ntitle =", "unknown variant `mode`"),
                ("at_most", "at_must", "at_must"),
                ("at_most = 8", "each_block = 8", "fenced alone"),
                ("at_most = 8", "at_most = 8\nalso = [{ n = 5 }]", "at each of its sizes"),
                ("at_most = 8", "at_most = 8\nrows = 3", "rows without cols: say how long they are"),
                (
                    "at_most = 8",
                    "at_most = 8\nrows = 3\ncols = 2",
                    "counted over rows and cols, every other one over n",
                ),
                ("title =", "lanes_per_row = 8\ntitle =", "counted over rows and cols"),
                ("elements_per_thread = 4", "lanes_per_row = 80", "counted over rows and cols"),
                ("title", "titel", "title"),
            ],
        );
    }

    #[test]
    fn a_kernel_of_rows_is_launched_over_rows() {
        let small = SMALL
            .replace("elements_per_thread = 4", "lanes_per_row = 8")
            .replace("at_most = 8", "at_most = 8\nrows = 3\ncols = 5\nblock = 96");
        let exercise = written(parse(&small, "c").unwrap()).remove(0);
        assert_eq!(exercise.rows_per_block(96), 12);
        assert_eq!(exercise.goals[0].matrix().unwrap(), Some(Matrix::dense(3, 5)));
        refuses(
            &small,
            &[
                ("lanes_per_row = 8", "lanes_per_row = 7", "a block has whole rows"),
                ("lanes_per_row = 8", "lanes_per_row = 0", "a block has whole rows"),
                ("lanes_per_row = 8", "lanes_per_row = 8\nlaunches = 'once'", "launched once over all rows"),
                ("rows = 3", "n = 15\nrows = 3", "counted over rows and cols"),
            ],
        );
    }

    #[test]
    fn no_exercise_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load(dir.path()).unwrap_err().to_string().contains("found no chapters/*/exercises.toml"));
    }

    #[test]
    fn an_id_is_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        for chapter in ["ch01-a", "ch02-b"] {
            lab::record::write(&file(dir.path(), chapter), SMALL).unwrap();
        }
        let message = load(dir.path()).unwrap_err().to_string();
        assert_eq!(
            message,
            "chapters/ch02-b/exercises.toml: ch01-a has an exercise `four-loads` already: take another id"
        );
    }
}
