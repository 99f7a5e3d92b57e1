"""Makes a record of what scripts/gpu_all_reduce.sh left.

Usage: python3 scripts/all_reduce_record.py OUT

Reads OUT/cases.jsonl and writes OUT/all-reduce.json. COMMIT in the environment is the commit that ran, if there is no repository.
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys


def answer(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def rounded(value):
    """Four digits of what was measured."""
    if isinstance(value, list):
        return [rounded(x) for x in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    lines = [json.loads(line) for line in (out / "cases.jsonl").read_text().splitlines()]
    heads = [line for line in lines if "device" in line]
    if not heads:
        sys.exit(f"all_reduce_record.py: {out / 'cases.jsonl'} has no line of beside-nccl's: nothing was measured")
    record = {
        "device": heads[0]["device"],
        "driver": answer("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": os.environ.get("COMMIT") or answer("git", "rev-parse", "HEAD"),
        "nccl": heads[0]["nccl"],
        "torch": answer("python3", "-c", "import torch; print(torch.__version__)"),
        "rounds": heads[0]["rounds"],
    }
    short = [{key: rounded(value) for key, value in line.items() if key not in ("whole", "exact")} for line in lines if "device" not in line]
    sections = {
        "link": [line for line in short if "link" in line],
        "scalar": [line for line in short if line.get("op") == "scalar"],
        "cases": [line for line in short if "entrant" in line and line.get("op") != "scalar"],
    }
    # A line for each, which is what a difference shows.
    text = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in record.items()]
    for at, (key, rows) in enumerate(sections.items()):
        text.append(f"  {json.dumps(key)}: [")
        text.extend(f"    {json.dumps(row)}{',' if i + 1 < len(rows) else ''}" for i, row in enumerate(rows))
        text.append("  ]," if at + 1 < len(sections) else "  ]")
    (out / "all-reduce.json").write_text("\n".join(["{", *text, "}"]) + "\n")


if __name__ == "__main__":
    main()
