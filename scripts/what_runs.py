#!/usr/bin/env python3
"""Asks ptxas which targets, and from which version of PTX on, take each spelling of the simulator's table of instructions.

Writes crates/simt/tests/data/ptxas.tsv, to which the test `what_runs` of simt holds the simulator. Run it after a change to the
table; it takes some minutes, pip and cargo. Two releases are asked, as the newer one knows no target before sm_75."""

import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "crates/simt/tests/data/ptxas.tsv"
VERSIONS = [f"{major}.{minor}" for major, last in ((4, 3), (5, 0), (6, 5), (7, 8), (8, 8), (9, 5)) for minor in range(last + 1)]
RELEASES = [
    ("nvidia-cuda-nvcc-cu12==12.9.86", "50 52 53 60 61 62 70 72 101 101a 101f"),
    ("nvidia-cuda-nvcc==13.5.37", "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 107 107a 107f 110 110a 110f 120 120a 120f 121 121a 121f"),
]


def ptxas(package, folder):
    """The assembler of a package from pip."""
    at = folder / package
    if not at.exists():
        subprocess.run(["pip", "install", "--quiet", "--no-deps", "--target", at, package], check=True)
    return next(at.rglob("bin/ptxas"))


def refused(assembler, target, version, template, lines):
    """The places in `lines` that are refused; None if the target is."""
    head = template.split("{lines}")[0].count("\n") + 1
    bad, left = set(), list(range(len(lines)))
    while True:
        text = template.replace("{version}", version).replace("{target}", target).replace("{lines}", "\n".join(lines[i] + ";" for i in left))
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([assembler, "-arch", target.replace("sm", "compute"), file.name, "-o", "/dev/null"], capture_output=True, text=True)
        if done.returncode == 0:
            return bad
        if "does not support .target" in done.stderr or "not defined for option" in done.stderr:
            return None
        numbers = [int(n) - head for n in re.findall(r"line (\d+); (?:error|fatal)", done.stderr)]
        found = {left[n] for n in numbers if 0 <= n < len(left)}
        # Registers of 128 bits, which the file declares for all, are an error of their own in an old version.
        if not found:
            assert "b128" in done.stderr, done.stderr
            return bad
        bad |= found
        left = [i for i in left if i not in found]


def main():
    folder = ROOT / "target/ptxas"
    example = ["cargo", "run", "--quiet", "-p", "simt-fixtures", "--example", "spellings", "--"]
    output = lambda *more: subprocess.run(example + list(more), cwd=ROOT, check=True, capture_output=True, text=True).stdout
    spellings = [line.split("\t") for line in output().splitlines()]
    template = output("file").lstrip("\n")
    lines = [spelling[2] for spelling in spellings]
    since, taken = {}, [{} for _ in spellings]
    for package, targets in RELEASES:
        assembler = ptxas(package, folder)
        for target in ("sm_" + name for name in targets.split()):
            for version in VERSIONS:
                bad = refused(assembler, target, version, template, lines)
                if bad is None:
                    continue
                since.setdefault(target, version)
                for place, one in enumerate(taken):
                    if place in bad:
                        assert target not in one, f"{lines[place]}: {target} had it before {version}"
                    else:
                        one.setdefault(target, version)
                if version == ("8.8" if "cu12" in package else "9.5"):
                    break
            print(target, since[target], flush=True)
    write(spellings, since, taken)


def write(spellings, since, taken):
    """A line for each target, for each set of targets with versions, and for each shape, the sets of whose spellings are counted."""
    text = "# Made by scripts/what_runs.py: what ptxas takes, of " + " and ".join(package for package, _ in RELEASES) + ".\n"
    text += "".join(f"target\t{target}\t{version}\n" for target, version in since.items())
    spelled = [" ".join(t if v == since[t] else f"{t}@{v}" for t, v in one.items()) for one in taken]
    names = {}
    for one in spelled:
        names.setdefault(one, str(len(names)))
    text += "".join(f"class\t{name}\t{one}\n" for one, name in names.items())
    shapes = {}
    for (shape, operands, _), one in zip(spellings, spelled):
        runs = shapes.setdefault((shape, operands), [])
        if runs and runs[-1][0] == names[one]:
            runs[-1][1] += 1
        else:
            runs.append([names[one], 1])
    for (shape, operands), runs in shapes.items():
        text += f"{shape}\t{operands}\t" + " ".join(f"{name}*{times}" if times > 1 else name for name, times in runs) + "\n"
    TABLE.write_text(text)


if __name__ == "__main__":
    main()
