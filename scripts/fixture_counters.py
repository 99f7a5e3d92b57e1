"""What Nsight Compute counts in whole kernels, each launched once by the recorder of fixtures.

Usage: python3 scripts/fixture_counters.py WHOLE METRICS OUT FILE.ptx [...]

WHOLE is the program that crates/device/examples/whole.rs becomes, METRICS names separated by commas, OUT the JSON file that is
written. The kernels run in one process, in the order of the files; a file's name is its kernel's.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

from ncu_to_json import launches, provenance


def main(arguments):
    if len(arguments) < 4:
        sys.exit(__doc__)
    whole, metrics, out, *files = arguments
    with tempfile.TemporaryDirectory() as folder:
        csv = f"{folder}/counters.csv"
        command = ["ncu", "--clock-control", "none", "--csv", "--log-file", csv, "--metrics", metrics, whole, "--here", *files]
        status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        rows = {kernel: (grid, block, counted) for kernel, grid, block, counted in launches(csv)}
        if not rows:
            sys.exit("fixture_counters.py: no launch was counted; what ncu said:\n" + pathlib.Path(csv).read_text()[-2000:])
    kernels = {}
    for path in map(pathlib.Path, files):
        if path.stem not in rows:
            print(f"fixture_counters.py: {path.stem} was not counted", file=sys.stderr)
            continue
        grid, block, counted = rows[path.stem]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        kernels[path.stem] = {"ptx_sha256": digest, "grid": grid, "block": block, "metrics": counted}
    record = {**provenance("ncu"), "kernels": kernels}
    pathlib.Path(out).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if status != 0 or len(kernels) < len(files) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
