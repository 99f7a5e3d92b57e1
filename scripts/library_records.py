#!/usr/bin/env python3
"""Makes records of what scripts/gpu_library.sh timed: the library beside candle and torch, beside cubek, beside CUB, and its losses beside torch, Liger and QuACK.

Usage: python3 scripts/library_records.py FOLDER

CARD in the environment is the card as the names of the files have it, default h200.
"""

import datetime
import json
import os
import subprocess
import sys


def write(path, record):
    """One case a line."""
    cases = ",\n".join(json.dumps(case) for case in record.pop("cases"))
    head = json.dumps(record, indent=1)
    with open(path, "w", encoding="utf-8") as out:
        out.write(f'{head[:-2]},\n "cases": [\n{cases}\n]}}\n')


def losses(record, others):
    """Beside each of ours the fastest other whose results are right."""
    key = lambda case: tuple(case[name] for name in ("op", "type", "rows", "cols"))  # noqa: E731
    fastest = {}
    for case in sorted((case for case in others["cases"] if case["ok"]), key=lambda case: case["cold_us"]):
        names = {name: case[name] for name in ("entrant", "op", "type", "rows", "cols")}
        fastest.setdefault(key(case), names | {"us": case["cold_us"]})
    versions = {"torch": others["version"].split("+")[0], "QuACK": others["quack"], "Liger": others["liger"]}
    rival = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    pairs = ((case, fastest.get(key(case))) for case in record["cases"])
    return record | {"rival": rival, "cases": [case for pair in pairs for case in pair if case]}


def main():
    folder = sys.argv[1]
    card_name = os.environ.get("CARD", "h200")

    def path(name):
        return os.path.join(folder, f"{name}.json")

    def read(name):
        with open(path(name), encoding="utf-8") as file:
            return json.load(file)

    def read_lines(name):
        """A head, and a line for each case that was reached."""
        with open(path(name), encoding="utf-8") as file:
            head, *cases = (json.loads(line) for line in file)
        return head | {"cases": cases}

    def are_there(*names):
        return all(os.path.exists(path(name)) and os.path.getsize(path(name)) for name in names)

    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    card = {"driver": driver, "date": date}
    if are_there("clock", "compare", "torch"):
        record = card | read("clock") | read_lines("compare")
        torch = read("torch")
        record["gradients"] += torch["gradients"]
        write(path(card_name), record | {"torch": torch["torch"]})
    if are_there("cubek"):
        write(path(f"{card_name}-cubek"), card | read("cubek"))
    if are_there("cub"):
        write(path(f"{card_name}-cub"), card | read_lines("cub"))
    if are_there("losses", "torch-losses"):
        write(path(f"{card_name}-losses"), card | losses(read_lines("losses"), read("torch-losses")))


main()
