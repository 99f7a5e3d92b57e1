#!/usr/bin/env python3
"""Compiles every kernel that a plan may choose, for each compute capability of the cards that have a name, and writes what each takes
of a multiprocessor: measurements/instances.tsv, against which a test holds the plans.

    cargo run -q -p course --example instances > target/instances.json
    pip install nvidia-cuda-nvrtc nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-cccl   # of CUDA 13
    python3 scripts/instances.py target/instances.json measurements/instances.tsv

A line of the table is a kernel: its file, its name, threads of its largest block, then for each compute capability registers of a
thread, bytes of static shared memory and bytes that are spilled, `48/1024/0`; `=` is what the column before says, `-` a capability
for which no plan chooses it. Above them stand the files, each with the hash of its lesson's code (no comments), and the compilers:
of those that have not changed only kernels that are new are compiled. All
of them take an hour of one core."""

import ctypes
import glob
import json
import multiprocessing
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile

# Lines that are compiled together.
TOGETHER = 24
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find(pattern, program=None):
    """A file of NVIDIA's wheels, or of the toolkit."""
    path = program and shutil.which(program)
    folders = site.getsitepackages() + [site.getusersitepackages()]
    places = [f"{folder}/nvidia/*/{pattern}" for folder in folders] + [f"/usr/local/cuda/{pattern}"]
    found = [path] if path else [file for place in places for file in sorted(glob.glob(place))]
    if not found:
        sys.exit(f"instances.py: no {pattern}: install the four wheels of its head, or CUDA 13")
    return found[0]


class Nvrtc:
    def __init__(self):
        path = find("lib*/libnvrtc.so.13*")
        for builtins in glob.glob(os.path.join(os.path.dirname(path), "libnvrtc-builtins.so*")):
            ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def ptx(self, name, text, arch):
        library, program, size = self.library, ctypes.c_void_p(), ctypes.c_size_t()
        library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
        options = [f"--gpu-architecture=compute_{arch}", *(f"--include-path={folder}" for folder in HEADERS)]
        options = [option.encode() for option in options]
        status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        what = "ProgramLog" if status else "PTX"
        getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(library, f"nvrtcGet{what}")(program, text)
        library.nvrtcDestroyProgram(ctypes.byref(program))
        if status:
            raise RuntimeError(f"{name} for compute_{arch}:\n{text.value.decode()}")
        return text.value


def compiled(job):
    """What ptxas says of each kernel of a text: registers, static shared memory, spilled bytes."""
    file, text, arch = job
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.ptx")
        with open(path, "wb") as ptx:
            ptx.write(NVRTC.ptx(f"{file}.cu", text, arch))
        command = [PTXAS, "-v", f"-arch=sm_{arch}", path, "-o", os.path.join(folder, "kernels.cubin")]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        raise RuntimeError(f"{file}.cu for sm_{arch}:\n{told.stderr}")
    kernels, kernel = {}, None
    for line in told.stderr.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = match[1]
            kernels[kernel] = [0, 0, 0]
        elif match := re.search(r"(\d+) bytes spill stores", line):
            kernels[kernel][2] = int(match[1])
        elif match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            kernels[kernel][:2] = int(match[1]), int(shared[1]) if shared else 0
    return arch, file, {kernel: "/".join(map(str, takes)) for kernel, takes in kernels.items()}


def text_of(file):
    with open(os.path.join(ROOT, "kernels", f"{file}.cu"), encoding="utf-8") as source:
        return source.read()


def jobs(instances, found):
    for arch, by_file in instances.items():
        for file, kernels in by_file.items():
            unknown = [kernel for name, kernel in kernels.items() if name not in found[arch][file]]
            text = text_of(file)
            lines = sorted({kernel["line"] for kernel in unknown if kernel["line"]})
            if any(kernel["line"] is None for kernel in unknown):
                yield file, text, arch
            for begin in range(0, len(lines), TOGETHER):
                together = "\n".join(lines[begin : begin + TOGETHER])
                yield file, f"#define WANTED_ALONE\n#line 1\n{text}\n{together}\n", arch


def read(path):
    """What a table says: the head of each file, and what its kernels take."""
    heads, found, archs = {}, {}, []
    for line in open(path, encoding="utf-8") if os.path.exists(path) else ():
        cells = line.rstrip("\n").split("\t")
        if line.startswith("# "):
            heads[line.split()[1].removesuffix(".cu")] = cells[0]
        elif not archs:
            archs = [cell.removeprefix("sm_") for cell in cells[3:]]
        else:
            takes = "-"
            for arch, cell in zip(archs, cells[3:]):
                takes = takes if cell == "=" else cell
                if takes != "-":
                    found.setdefault(arch, {}).setdefault(cells[0], {})[cells[1]] = takes
    return heads, found


def table(instances, found, heads):
    """The lines of the table."""
    yield from (heads[file] for file in sorted(heads))
    yield "\t".join(["file", "kernel", "threads", *(f"sm_{arch}" for arch in instances)])
    names = sorted({(file, kernel) for by_file in instances.values() for file in by_file for kernel in by_file[file]})
    for file, kernel in names:
        chosen = {arch: by_file[file][kernel] for arch, by_file in instances.items() if kernel in by_file.get(file, {})}
        row, before = [file, kernel, str(max(one["threads"] for one in chosen.values()))], None
        for arch in instances:
            takes = found[arch][file][kernel] if arch in chosen else "-"
            row.append("=" if takes == before else takes)
            before = takes
        yield "\t".join(row)


def main():
    global NVRTC, PTXAS, HEADERS
    source, out = sys.argv[1:]
    NVRTC, PTXAS = Nvrtc(), find("bin/ptxas", "ptxas")
    headers = [find("include/cooperative_groups.h"), os.path.dirname(find("include/cccl/nv/target"))]
    HEADERS = [os.path.dirname(header) for header in headers] + [os.path.join(ROOT, "kernels")]
    with open(source, encoding="utf-8") as file:
        listed = json.load(file)
    instances, codes = listed["kernels"], listed["codes"]
    version = subprocess.run([PTXAS, "--version"], capture_output=True, text=True, check=True).stdout
    made_by = f"NVRTC {NVRTC.version}, ptxas {re.search(r'release ([0-9.]+)', version)[1]}"
    heads, found = read(out)
    # Of files that have changed since, every kernel; of others those that are new.
    files = set()
    for arch, by_file in instances.items():
        for file, kernels in by_file.items():
            known = found.setdefault(arch, {}).setdefault(file, {})
            if heads.get(file, "").split()[:3] != ["#", f"{file}.cu", codes[file]]:
                known.clear()
            if not kernels.keys() <= known.keys():
                files.add(file)
    heads.update({file: f"# {file}.cu {codes[file]} {made_by}" for file in files})
    # The workers are forks, which have what was found above.
    with multiprocessing.get_context("fork").Pool() as pool:
        for arch, file, kernels in pool.imap_unordered(compiled, jobs(instances, found)):
            found[arch][file].update(kernels)
    lines = list(table(instances, found, heads))
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    print(f"compiled: {', '.join(sorted(files)) or 'nothing, the table is up to date'}")


if __name__ == "__main__":
    main()
