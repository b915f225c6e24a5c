#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""c_size.py [BUILD]: how large libstowage_c.so is, with and without its parts, and what is inside.

Builds the preset `small` with more and more parts, in BUILD (default build/small), and prints two tables in Markdown:
the stripped library with more and more parts, and what each room of the source brings to the one with the reader of ncnn,
by the linker's map. Only the parts that differ are compiled again."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build/small").resolve()
CAP = 1_600_000
PARTS = [
    ("layouts and conversions", "OFF", "OFF"),
    ("planner, CPU kernels, sessions, JSON, and the reader of ncnn", "ncnn", "OFF"),
    ("the reader of TFLite", "tflite;ncnn", "OFF"),
    ("the reader of ONNX", "ON", "OFF"),
    ("OpenCL", "ON", "ON"),
]


def run(*command, cwd=SOURCE):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(importers, opencl):
    """The stripped library of these parts."""
    run("cmake", "--preset", "small", "-B", BUILD, f"-DSTOWAGE_C_IMPORTERS={importers}", f"-DSTOWAGE_OPENCL={opencl}")
    run("cmake", "--build", BUILD, "--target", "stowage_c", "--parallel", os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "1"))
    stripped = BUILD / "libstowage_c.stripped.so"
    run("strip", "--strip-unneeded", "-o", stripped, BUILD / "libstowage_c.so")
    return stripped


def needed(library):
    names = re.findall(r"NEEDED.*\[lib([\w+-]+)\.so", run("readelf", "-d", library))
    return [n for n in names if n not in ("stdc++", "m", "gcc_s", "c", "ld-linux-x86-64")]


def rooms():
    """Bytes that are loaded, by room: the library linked again, of its object files by name."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    objects = [re.search(r" -o (\S+)", c["command"])[1] for c in commands]
    linked, text = BUILD / "libstowage_c.rooms.so", BUILD / "libstowage_c.map"
    run("c++", "-shared", "-o", linked, *objects, f"-Wl,--version-script={SOURCE}/src/c/symbols.map", "-Wl,--gc-sections",
        f"-Wl,-Map={text}", "-lhwy", "-lpthread", cwd=BUILD)
    bytes_of = collections.Counter()
    section = None
    for line in text.read_text().split("Linker script and memory map")[1].splitlines():
        m = re.match(r" (\.?[\w.$:]+)?\s*0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+)$", line)
        if re.match(r" \.\S+$", line):
            section = line.strip()
        if not m or int(m[2], 16) == 0:
            continue
        section = m[1] or section
        if section.startswith((".debug", ".comment", ".symtab", ".bss", ".tbss")):
            continue
        path = re.search(r"\.dir/(src/)?(gen/)?([\w]+)", m[4])
        bytes_of[path[3] if path and path[1] else "generated tables" if path else "compiler and C++ library"] += int(m[3], 16)
    return bytes_of


def main():
    sizes, inside = [], {}
    print("| with | bytes, stripped | more | shared libraries beside those of C and C++ |\n|---|---|---|---|")
    for name, importers, opencl in PARTS:
        library = build(importers, opencl)
        size = library.stat().st_size
        more = f"{size - sizes[-1]:,}" if sizes else ""
        print(f"| {name} | {size:,} | {more} | {', '.join(needed(library)) or 'none'} |", flush=True)
        sizes.append(size)
        if importers == "ncnn":
            inside = rooms()
    print("\n| room | bytes loaded |\n|---|---|")
    for room, size in inside.most_common():
        print(f"| {room} | {size:,} |")
    print(f"\nThe first has {sizes[0]:,} bytes; {CAP:,} are allowed.")
    return 0 if sizes[0] <= CAP else 1


if __name__ == "__main__":
    sys.exit(main())
