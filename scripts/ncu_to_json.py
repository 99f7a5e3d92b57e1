"""Turns CSV that ncu printed into chapters/<chapter>/data/h200-ncu.json.

Usage: python3 scripts/ncu_to_json.py PTX VARIANT:TYPE:N:PLAN:CSV [...]

Each CSV is of one run: VARIANT reduced N elements of TYPE. PLAN is what the chapter's --plan --json printed for that run.
Every launch is a case with the elements of the whole run, and "launch" says which of its launches it is, from 0. PTX is the
committed file of the chapter, whose hash goes into the record.
"""

import csv
import datetime
import hashlib
import json
import subprocess
import sys


def launches(path):
    """(kernel, grid, block, {metric: value}) for each launch in the order of the run."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        table = [line for line in lines if line.startswith('"')]
    found = {}
    for row in csv.DictReader(table):
        sizes = [[int(x) for x in row[key].strip("()").split(",")] for key in ("Grid Size", "Block Size")]
        launch = found.setdefault(int(row["ID"]), (row["Kernel Name"], *sizes, {}))
        launch[3][row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return [found[key] for key in sorted(found)]


def passes(path, variant):
    """The launches that the chapter planned, in order."""
    with open(path, encoding="utf-8") as file:
        plans = json.load(file)["plans"]
    return next(plan["passes"] for plan in plans if plan["variant"] == variant)


def cases_of(variant, kind, n, planned, rows, path):
    """A case for each launch that was profiled."""
    found = [(kernel, grid[0]) for kernel, grid, *_ in rows]
    wanted = [(each["kernel"], each["grid"]) for each in planned]
    if found != wanted:
        sys.exit(f"ncu_to_json.py: {path}: ncu saw {found}, and the plan has {wanted}")
    cases = []
    for index, (kernel, grid, block, metrics) in enumerate(rows):
        case = {"kernel": kernel, "variant": variant, "type": kind, "n": n, "launch": index}
        cases.append({**case, "grid": grid, "block": block, "metrics": metrics})
    return cases


def provenance(tool):
    """What card, driver, day and release of a tool of NVIDIA's a record is of."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    said = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout.split("Version ")[-1]
    return {"device": device, "driver": driver, "date": date, "tool": f"{tool} {said.split()[0]}"}


def main(arguments):
    if len(arguments) < 2 or any(run.count(":") < 4 for run in arguments[1:]):
        sys.exit(__doc__)
    cases = []
    for run in arguments[1:]:
        variant, kind, elements, plan, path = run.split(":", 4)
        rows = launches(path)
        if not rows:
            with open(path, encoding="utf-8", errors="replace") as said:
                sys.exit(f"ncu_to_json.py: {path} holds no launch; what ncu said:\n" + said.read()[-2000:])
        cases += cases_of(variant, kind, int(elements), passes(plan, variant), rows, path)
    with open(arguments[0], "rb") as ptx:
        digest = hashlib.sha256(ptx.read()).hexdigest()
    json.dump({**provenance("ncu"), "ptx_sha256": digest, "cases": cases}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
