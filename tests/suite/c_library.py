#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""c_library.py CHECK LIBRARY SOURCE INCLUDE CC [FLAG...]: the shared library of the C interface, as programs in C see it.

  header     the header alone is C99, and C++11, each with the INIT macros of its structures
  symbols    LIBRARY exports what src/c/exports.txt lists and nothing else, and a library with one more is refused
  layouts    LIBRARY has layouts and conversions alone; what needs a model is refused
  examples   examples/c, compiled as C99 without a warning, find and print what they should
  valgrind   the same under valgrind, which finds no error and no leak

INCLUDE is the folder of the headers that the build writes; FLAGs are the compiler's."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

check, library, source, include, cc = sys.argv[1], *map(pathlib.Path, sys.argv[2:5]), sys.argv[5]
flags = sys.argv[6:]
strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{source}/include", f"-I{include}"]
header = source / "include/stowage/stowage_c.h"


def run(*command, code=0, **more):
    ran = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    assert ran.returncode == code, f"{' '.join(map(str, command))}\nexit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout if code == 0 else ran.stderr


def check_header(folder):
    structures = re.findall(r"#define STOWAGE_(\w+)_INIT", header.read_text())
    assert len(structures) >= 8, structures
    lines = ["#include <stowage/stowage_c.h>", "int main(void) {"]
    lines += [f"  stowage_{s.lower()} s{i} = STOWAGE_{s}_INIT;" for i, s in enumerate(structures)]
    lines += ["  return (int)(" + " + ".join(f"s{i}.size - sizeof s{i}" for i in range(len(structures))) + ");", "}"]
    for language, standard in (("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")):
        program = folder / f"header_{standard.replace('+', 'x')}"
        text = folder / f"{program.name}.{'c' if language == 'c' else 'cc'}"
        text.write_text("\n".join(lines) + "\n")
        run(cc, f"-std={standard}", *strict, "-x", language, text, "-o", program)
        run(program)
    print(f"the header is C99 and C++11, with {len(structures)} structures")


def exported(path):
    lines = run("nm", "-D", "--defined-only", path).splitlines()
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A"}


def differences(path, listed):
    there = exported(path)
    return [f"{n} is exported, but not listed" for n in sorted(there - listed)] + \
           [f"{n} is listed, but not exported" for n in sorted(listed - there)]


def check_symbols(folder):
    listed = set((source / "src/c/exports.txt").read_text().split())
    declared = set(re.findall(r"STOWAGE_API[^;(]*?\b(stowage_\w+)\(", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)))
    assert listed == declared, f"src/c/exports.txt and the header differ: {sorted(listed ^ declared)}"
    wrong = differences(library, listed)
    assert not wrong, "\n".join(wrong)
    dynamic = run("readelf", "-d", library)
    assert re.search(r"SONAME.*\[libstowage_c\.so\.\d+\]", dynamic), dynamic
    # One export too many, and one too few.
    for change, want in ((lambda names: names | {"stowage_planted"}, "stowage_planted is exported, but not listed"),
                         (lambda names: names - {"stowage_version"}, "stowage_version is listed, but not exported")):
        text, planted = folder / "planted.c", folder / "libplanted.so"
        text.write_text("".join(f"void {n}(void) {{}}\n" for n in sorted(change(listed))))
        run(cc, "-shared", "-fPIC", f"-Wl,--version-script={source}/src/c/symbols.map", text, "-o", planted)
        assert differences(planted, listed) == [want], differences(planted, listed)
    print(f"{len(listed)} functions are exported, as listed")


def check_layouts(folder):
    wrong = differences(library, set((source / "src/c/exports.txt").read_text().split()))
    assert not wrong, "\n".join(wrong)
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    calls = []
    for result, name, arguments in re.findall(r"STOWAGE_API ([\w* ]*?)(stowage_\w+)\(([^;]*)\);", text):
        if re.match("stowage_(model|options|plan|session|why_not)", name):
            call = f"{name}({', '.join('0' for _ in arguments.split(','))})"
            want = {"stowage_status": f"{call} != STOWAGE_UNSUPPORTED", "size_t": f"{call} != 0"}.get(result.strip())
            calls.append(f'  if ({want}) return puts("{name}"), 1;' if want else f"  {call};")
    assert len(calls) > 40, calls
    (folder / "absent.c").write_text("#include <stdio.h>\n#include <stowage/stowage_c.h>\nint main(void) {\n"
                                     "  if (stowage_has_part(STOWAGE_PART_ONNX)) return 1;\n" + "\n".join(calls) +
                                     '\n  puts(stowage_last_error());\n  return 0;\n}\n')
    command = [cc, "-std=c99", *strict, f"-Wl,-rpath,{library.parent}"]
    run(*command, folder / "absent.c", "-o", folder / "absent", library)
    said = run(folder / "absent")
    assert "reads no models" in said, said
    run(*command, source / "examples/c/convert.c", "-o", folder / "convert", library)
    check_convert(folder / "convert")
    print(f"{len(calls)} functions of models are refused, layouts and conversions work")


def programs(folder):
    for name in ("classify", "convert"):
        run(cc, "-std=c99", *strict, *flags, source / f"examples/c/{name}.c", library, f"-Wl,-rpath,{library.parent}",
            "-o", folder / name)
    return folder / "classify", folder / "convert"


def check_convert(*convert):
    printed = run(*convert, "NCHW", "nChw4c", "n=1,c=6,h=2,w=3").splitlines()
    cells = [float(n) for n in printed[-1].split(":")[1].split()]
    want = [c * 6 + p if c < 6 else 0 for block in (0, 4) for p in range(6) for c in range(block, block + 4)]
    assert printed[0] == "n c/4 h w c%4" and cells == want, printed
    run(*convert, "NCHW", "nChw4c", "n=1,c=6,h=2", code=2)
    run(*convert, "NCHW", "n c/", "n=1,c=6,h=2,w=3", code=2)


def check_programs(folder, shapes, *before):
    from PIL import Image
    classify, convert = programs(folder)
    models = source / "models"
    for shape, index in shapes.items():
        picture = folder / f"{shape}.ppm"
        Image.open(models / f"demo/{shape}.png").convert("RGB").resize((64, 64)).save(picture)
        for model in ("shapes.onnx", "shapes.param"):
            lines = run(*before, classify, models / model, picture, 2).splitlines()
            assert len(lines) == 5 and re.fullmatch(rf"{index} = 0\.9\d+|{index} = 1\.0+", lines[0]), lines
    missing = run(*before, classify, models / "nothing.onnx", picture, code=3)
    assert "nothing.onnx" in missing and missing.count("\n") == 1, missing
    run(*before, classify, models / "shapes.onnx", models / "shapes.onnx", code=3)
    run(*before, classify, models / "upscale_x2.onnx", picture, code=2)
    run(*before, classify, models / "shapes.onnx", picture, 1000, code=2)
    check_convert(*before, convert)
    print("examples/c: as they should be")


def check_examples(folder):
    check_programs(folder, {"circle": 0, "star": 3, "triangle": 4})


def check_valgrind(folder):
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return
    # Its own exit code is none of the programs'. It shows them the processor as far as AVX2.
    check_programs(folder, {"star": 3}, "valgrind", "-q", "--error-exitcode=99", "--leak-check=full")


with tempfile.TemporaryDirectory() as scratch:
    {"header": check_header, "symbols": check_symbols, "layouts": check_layouts, "examples": check_examples,
     "valgrind": check_valgrind}[check](pathlib.Path(scratch))
