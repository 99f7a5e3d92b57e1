#!/usr/bin/env python3
"""Makes records of what scripts/gpu_library.sh timed: the library beside candle and torch, and beside cubek.

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


def main():
    folder = sys.argv[1]
    card_name = os.environ.get("CARD", "h200")

    def read(name):
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
            return json.load(file)

    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    card = {"driver": driver, "date": date}
    record = card | read("clock") | read("compare")
    torch = read("torch")
    record["gradients"] += torch["gradients"]
    write(os.path.join(folder, f"{card_name}.json"), record | {"torch": torch["torch"]})
    if os.path.exists(os.path.join(folder, "cubek.json")):
        write(os.path.join(folder, f"{card_name}-cubek.json"), card | read("cubek"))


main()
