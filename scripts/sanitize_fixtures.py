"""What compute-sanitizer says of the simulator's fixtures, for the test that compares.

Usage: python3 scripts/sanitize_fixtures.py WHOLE OUT [--jobs N] [--seconds N]

Runs in the repository's root. Each PTX file of crates/simt/tests/pass and crates/simt/tests/fail/<code> runs under memcheck,
racecheck, initcheck and synccheck, each time in a process of its own; WHOLE is the program that
crates/device/examples/whole.rs becomes. One that does not end (the kernels that hang are among the fixtures) is killed after
so many seconds, and the record says so. OUT is the JSON file that is written.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

from ncu_to_json import provenance

TESTS = pathlib.Path("crates/simt/tests")
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
# What these kernels do on a GPU is not to end; they come last, so that the others have the card for themselves.
ENDLESS = {"deadlock", "step-budget"}
LINES_KEPT = 12
PROVENANCE = {}


def fixtures():
    files = sorted(TESTS.glob("pass/*.ptx")) + sorted(TESTS.glob("fail/*/*.ptx"))
    # Several launches are for the simulator alone.
    files = [file for file in files if "\n//@ then=" not in file.read_text()]
    if not files:
        sys.exit(f"sanitize_fixtures.py: no fixtures in {TESTS}; run it in the repository's root")
    return sorted(files, key=lambda file: file.parent.name in ENDLESS)


def options(tool, known):
    # Errors of the driver's functions are left out: they say again what the kernel did.
    wanted = {"memcheck": ["--report-api-errors", "no"], "initcheck": ["--initcheck-address-space", "all"]}
    found = wanted.get(tool, [])
    return found if found and found[0] in known else []


def name_of(file):
    return str(file.relative_to(TESTS).with_suffix(""))


def head(tool, file):
    """What a verdict is of."""
    return {"tool": tool, "fixture": name_of(file), "ptx_sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def run(tool, file, whole, seconds, known):
    """One verdict."""
    command = ["compute-sanitizer", "--tool", tool, *options(tool, known)]
    process = subprocess.Popen(
        [*command, whole, "--here", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
    )
    timed_out = False
    try:
        text = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        text = process.communicate()[0]
    lines = text.decode(errors="replace").splitlines()
    said = [line[10:].rstrip() for line in lines if line.startswith("========= ") and line[10:].strip()]
    said = [line for line in said if "COMPUTE-SANITIZER" not in line]
    return {
        **head(tool, file),
        "timed_out": timed_out,
        **numbers("\n".join(said)),
        "said": said[:LINES_KEPT],
        "program": [line for line in lines if not line.startswith("=========")][:3],
    }


def numbers(text):
    """Errors and warnings by the tool's own summary, null where it gave none; hazards as racecheck adds them up."""
    errors, warnings = None, 0
    if found := re.search(r"ERROR SUMMARY: (\d+) error", text):
        errors = int(found[1])
    if found := re.search(r"RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)", text):
        errors, warnings = int(found[1]), int(found[2])
    hazards = sum(int(number) for number in re.findall(r"\[(\d+) hazards?\]", text))
    return {"errors": errors, "warnings": warnings, "hazards": hazards}


def together(tool, files, whole, seconds, known):
    """Verdicts of fixtures that ought to be clean, from one process, if the tool finds nothing in any of them."""
    command = ["compute-sanitizer", "--tool", tool, *options(tool, known), whole, "--here", *map(str, files)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=True).stdout
    except subprocess.SubprocessError:
        return []
    found = numbers(text)
    if found["errors"] != 0 or found["warnings"] != 0:
        return []
    said = ["in one process with the other fixtures of tests/pass", text.strip().splitlines()[-1].removeprefix("========= ")]
    return [{**head(tool, file), "timed_out": False, **found, "said": said, "program": []} for file in files]


def write(verdicts, out):
    """All that is known so far: whoever stops this program keeps it."""
    verdicts = sorted(verdicts, key=lambda each: (each["fixture"], TOOLS.index(each["tool"])))
    lines = ",\n".join("  " + json.dumps(each) for each in verdicts)
    text = f'{json.dumps(PROVENANCE)[:-1]}, "verdicts": [\n{lines}\n]}}\n'
    pathlib.Path(out + ".new").write_text(text, encoding="utf-8")
    os.replace(out + ".new", out)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("whole")
    parser.add_argument("out")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=20)
    given = parser.parse_args()
    known = subprocess.run(["compute-sanitizer", "--help"], capture_output=True, text=True, check=True).stdout
    PROVENANCE.update(provenance("compute-sanitizer"))
    files = fixtures()
    clean = [file for file in files if file.parent.name == "pass"]
    verdicts = []

    def verdict(tool, file):
        # A hang shows at once; a slow start of the tool needs longer.
        seconds = given.seconds // 2 if file.parent.name in ENDLESS else given.seconds
        found = run(tool, file, given.whole, seconds, known)
        if found["errors"] is None and not found["timed_out"]:
            found = run(tool, file, given.whole, seconds, known)
        return found

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for found in pool.map(lambda tool: together(tool, clean, given.whole, 2 * given.seconds, known), TOOLS):
            verdicts += found
        done = {(each["tool"], each["fixture"]) for each in verdicts}
        runs = [(tool, file) for file in files for tool in TOOLS if (tool, name_of(file)) not in done]
        print(f"{len(done)} verdicts at once, {len(runs)} one by one", flush=True)
        for found in concurrent.futures.as_completed([pool.submit(verdict, *each) for each in runs]):
            verdicts.append(found.result())
            if len(verdicts) % 10 == 0:
                write(verdicts, given.out)
    write(verdicts, given.out)
    silent = [each for each in verdicts if each["errors"] is None and not each["timed_out"]]
    for each in silent:
        print(
            f"sanitize_fixtures.py: {each['tool']} gave no summary of {each['fixture']}: {each['said']} {each['program']}",
            file=sys.stderr,
        )
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
