#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""c_size.py [BUILD]: how large libstowage_c.so is, with and without its parts, and what is inside.

Builds the preset `small` with more and more parts, in BUILD (default build/small), and prints two tables in Markdown:
the stripped library with each set of parts, and what each room of the source brings to the smallest, by the linker's map.
Only the parts that differ are compiled again."""
import collections
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build/small").resolve()
CAP = 1_600_000
PARTS = [
    ("layouts, conversions, planner, CPU kernels, sessions, JSON", "OFF", "OFF"),
    ("and the reader of ncnn", "ncnn", "OFF"),
    ("and that of TFLite", "tflite;ncnn", "OFF"),
    ("and that of ONNX", "ON", "OFF"),
    ("and OpenCL", "ON", "ON"),
]


def run(*command):
    done = subprocess.run([str(c) for c in command], cwd=SOURCE, capture_output=True, text=True)
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


def rooms(library):
    """Bytes that are loaded, by room: the library linked again, of its object files by name."""
    objects = [o for folder in ("stowage_c_objects", "stowage_c_import", "stowage_report", "stowage")
               for o in sorted((BUILD / f"CMakeFiles/{folder}.dir").rglob("*.o")) if o.stat().st_size]
    linked, text = BUILD / "libstowage_c.rooms.so", BUILD / "libstowage_c.map"
    run("c++", "-shared", "-o", linked, *objects, f"-Wl,--version-script={SOURCE}/src/c/symbols.map", "-Wl,--gc-sections",
        f"-Wl,-Map={text}", "-lhwy", "-lpthread")
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
    first = None
    before = 0
    print("| parts | bytes, stripped | more | shared libraries it needs beside C's and C++'s |\n|---|---|---|---|")
    for name, importers, opencl in PARTS:
        library = build(importers, opencl)
        size = library.stat().st_size
        more = f"{size - before:,}" if before else ""
        print(f"| {name} | {size:,} | {more} | {', '.join(needed(library)) or 'none'} |", flush=True)
        if first is None:
            first, inside = size, rooms(library)
        before = size
    print("\n| room | bytes loaded |\n|---|---|")
    for room, size in inside.most_common():
        print(f"| {room} | {size:,} |")
    print(f"\nThe first has {first:,} bytes; {CAP:,} are allowed.")
    return 0 if first <= CAP else 1


if __name__ == "__main__":
    sys.exit(main())
