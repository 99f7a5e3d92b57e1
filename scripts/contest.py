"""A chapter's contest, as chapters/<slug>/contest.json has it: what the scripts that time other libraries read of it.

Usage: python3 scripts/contest.py CHAPTER|NAME KEY [DEFAULT...]
       python3 scripts/contest.py --with KEY

CHAPTER is a slug, NAME a contest's own name. Prints the words or numbers of KEY in one line, `profiled.n` for instance, or the
defaults where a chapter has no contest or its contest no such key. The second form prints the slugs of the chapters whose
contests have KEY.
"""

import json
import pathlib
import sys

CHAPTERS = pathlib.Path(__file__).resolve().parent.parent / "chapters"


class Contest:
    """The file of one chapter."""

    def __init__(self, path):
        self.chapter = path.parent.name
        with open(path, encoding="utf-8") as file:
            self.keys = json.load(file)

    def shapes(self, which="shapes"):
        """Rows and columns: of every operation, of language `models`, or `drawn` at random."""
        other = self.keys.get("shapes_of") if which not in self.keys else None
        return of(other).shapes(which) if other else [tuple(shape) for shape in self.keys.get(which, [])]

    def tasks(self):
        """Operations and types, in the order in which they are measured."""
        return [(op, task["type"]) for task in self.keys["tasks"] for op in task["ops"]]

    def stages(self):
        """Shapes with the tasks at them, in the order in which they are measured."""
        last = self.keys.get("last", [])
        for is_last in (False, True):
            tasks = [task for task in self.tasks() if (task[1] in last) == is_last]
            for which in ("shapes", "models", "drawn"):
                yield self.shapes(which), tasks

    def types(self):
        """Each type once, in the order in which they first come."""
        return list(dict.fromkeys(name for _, name in self.tasks()))

    def ops(self):
        """Each operation once, likewise."""
        return list(dict.fromkeys(op for op, _ in self.tasks()))


def every():
    return [Contest(path) for path in sorted(CHAPTERS.glob("*/contest.json"))]


def of(name):
    """The contest of a chapter, by its slug or by the contest's own name; None where there is none."""
    for contest in every():
        if name in (contest.chapter, contest.keys["name"]):
            return contest
    return None


def main(words):
    if len(words) < 2:
        sys.exit(__doc__)
    if words[0] == "--with":
        print(*[contest.chapter for contest in every() if words[1] in contest.keys])
        return
    name, key, *defaults = words
    contest = of(name)
    value = {"chapter": contest.chapter, "types": contest.types()} | contest.keys if contest else {}
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    value = defaults if value is None else value
    if value == []:
        sys.exit(f"contest.py: no chapter has a contest `{name}` with `{key}`")
    print(*value if isinstance(value, list) else [value])


if __name__ == "__main__":
    main(sys.argv[1:])
