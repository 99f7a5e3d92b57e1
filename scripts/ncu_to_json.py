"""Turns CSV that ncu printed into chapters/<chapter>/data/h200-ncu.json.

Usage: python3 scripts/ncu_to_json.py PTX N:VARIANT:TYPE:CSV [N:VARIANT:TYPE:CSV ...]

N is the number of elements that the run in that file reduces, with all its launches; VARIANT and TYPE are what the
chapter's program was given. PTX is the committed file of the chapter, whose hash goes into the record.
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


def main(arguments):
    if len(arguments) < 2 or any(run.count(":") < 3 for run in arguments[1:]):
        sys.exit(__doc__)
    cases = []
    for run in arguments[1:]:
        elements, variant, kind, path = run.split(":", 3)
        rows = launches(path)
        if not rows:
            sys.exit(f"ncu_to_json.py: {path} holds no launch; what ncu said:\n" + open(path).read()[-2000:])
        for number, (kernel, grid, block, metrics) in enumerate(rows):
            case = {"kernel": kernel, "variant": variant, "type": kind, "n": int(elements), "launch": number}
            cases.append({**case, "grid": grid, "block": block, "metrics": metrics})
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
    with open(arguments[0], "rb") as ptx:
        digest = hashlib.sha256(ptx.read()).hexdigest()
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    tool = subprocess.run(["ncu", "--version"], check=True, capture_output=True, text=True).stdout.split("Version ")[-1]
    record = {"device": device, "driver": driver, "date": date, "tool": "ncu " + tool.split()[0], "ptx_sha256": digest}
    json.dump({**record, "cases": cases}, sys.stdout, indent=1)
    print()


main(sys.argv[1:])
