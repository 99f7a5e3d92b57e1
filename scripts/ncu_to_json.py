"""Turns CSV that ncu printed into chapters/<chapter>/data/h200-ncu.json.

Usage: python3 scripts/ncu_to_json.py PTX... TYPE:N:PLAN:CSV [...]

Each CSV is of one run, in which every variant of the chapter reduced N elements of TYPE, one after the other. PLAN is what the
chapter's --plan --json printed for that run: it says which launch is whose. Every launch is a case with the elements of the
whole run, and "launch" says which of its variant's launches it is, from 0. PTX are the committed files of the chapter, whose hashes
of the kernels go into the record.
"""

import csv
import datetime
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


def plans(path):
    """The variants in their order, each with the launches that the chapter planned."""
    with open(path, encoding="utf-8") as file:
        return [(plan["variant"], plan["passes"]) for plan in json.load(file)["plans"]]


def cases_of(kind, n, planned, rows, path):
    """A case for each launch that was profiled."""
    owners = [(variant, launch, each) for variant, passes in planned for launch, each in enumerate(passes)]
    found = [(kernel, grid[0]) for kernel, grid, *_ in rows]
    wanted = [(each["kernel"], each["grid"]) for _, _, each in owners]
    if found != wanted:
        sys.exit(f"ncu_to_json.py: {path}: ncu saw {found}, and the plan has {wanted}")
    cases = []
    for (variant, launch, _), (kernel, grid, block, metrics) in zip(owners, rows):
        case = {"kernel": kernel, "variant": variant, "type": kind, "n": n, "launch": launch}
        cases.append({**case, "grid": grid, "block": block, "metrics": metrics})
    return cases


def provenance(tool):
    """What card, driver, day and release of a tool of NVIDIA's a record is of."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    device, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    said = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout.split("Version ")[-1]
    return {"device": device, "driver": driver, "date": date, "tool": f"{tool} {said.split()[0]}"}


def as_text(head, cases):
    """The record, a case a line."""
    compact = lambda value: json.dumps(value, separators=(",", ":"))
    lines = [f'"{name}": {compact(value)},' for name, value in head.items()]
    return "\n".join(["{", *lines, '"cases": [', ",\n".join("  " + compact(case) for case in cases), "]", "}"])


def main(arguments):
    # `<slug>.compute_90.ptx` behind `<slug>.ptx`: where a kernel stands in both, the newer one ran.
    files = sorted((file for file in arguments if file.endswith(".ptx")), key=len)
    runs = [run for run in arguments if run not in files]
    if not files or not runs or any(run.count(":") < 3 for run in runs):
        sys.exit(__doc__)
    cases = []
    for run in runs:
        kind, elements, plan, path = run.split(":", 3)
        rows = launches(path)
        if not rows:
            with open(path, encoding="utf-8", errors="replace") as said:
                sys.exit(f"ncu_to_json.py: {path} holds no launch; what ncu said:\n" + said.read()[-2000:])
        cases += cases_of(kind, int(elements), plans(plan), rows, path)
    mark, names, kernels = "// course: entry ", {case["kernel"] for case in cases}, {}
    for file in files:
        with open(file, encoding="utf-8") as ptx:
            entries = [line[len(mark):].split() for line in ptx if line.startswith(mark)]
        kernels |= {name: digest for digest, name in entries if name in names}
    print(as_text({**provenance("ncu"), "kernels": kernels}, cases))


if __name__ == "__main__":
    main(sys.argv[1:])
