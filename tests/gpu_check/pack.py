# SPDX-License-Identifier: Apache-2.0
"""Makes a tree that runs on another machine, where nothing is compiled, installed or downloaded.

Our programs are linked once more with an rpath beside them (the shipped ones have none, a variable for the loader would reach the
profiled program, and nothing that edits ELF files need be installed), without debug information. The rpath is the old kind, which
also holds for what libraries need. Carried is all that they need but the C library: that one belongs to the machine's loader and
kernel. The library that is injected needs nothing else."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

from context import ROOT

PROGRAMS = ("gpuprof", "gpuprofd", "gpuprof-try", "gpuprof-serve")  # the last is not built everywhere
NEEDS = "needs"
LINKED_SO = ["-Wl,-S", "-Wl,-rpath,$ORIGIN/../lib/" + NEEDS, "-Wl,--disable-new-dtags"]
OF_THE_MACHINE = re.compile(r"(ld-linux-[\w-]+|libc|libm|libpthread|libdl|librt|libresolv|libutil)\.so")
# What the check reads and starts. A folder with all in it.
SOURCES = ("tests/gpu_check", "tests/e2e/simgpu/zoo", "tests/e2e/simgpu/conflict", "tests/e2e/simgpu/wrap.py",
           "tests/bench/cost/figures.py", "LICENSE")
SIMULATOR = ("bin/gpusim-run", "bin/sim_trainer", "lib")
MOST_BYTES = 60 << 20
GLIBC = re.compile(r"\bGLIBC_(\d+)\.(\d+)")


def link(build, name, target):
    """The build's own command for it, with another output; False if it is not built."""
    if not os.path.exists(os.path.join(build, "bin", name)):
        return False
    output = subprocess.run(["ninja", "-C", build, "-t", "commands", "bin/" + name], capture_output=True, text=True, check=True)
    words = shlex.split(output.stdout.strip().splitlines()[-1])
    words = words[words.index("&&") + 1:] if words[0] == ":" else words
    words = words[:words.index("&&")] if "&&" in words else words
    words[words.index("-o") + 1] = target
    subprocess.run(words + LINKED_SO, cwd=build, check=True)
    return True


def needs_of(path):
    """{name: file} of what the loader finds for it, the machine's own left out."""
    output = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(\S+) => (/\S+)", output))
    return {name: file for name, file in found.items() if not OF_THE_MACHINE.match(name)}


def newest_glibc(paths):
    """The release of the C library that the machine must have at least."""
    versions = set()
    for path in paths:
        output = subprocess.run(["readelf", "-V", "-W", path], capture_output=True, text=True, check=True).stdout
        versions.update((int(major), int(minor)) for major, minor in GLIBC.findall(output))
    return "%d.%d" % max(versions)


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)


def programs(build, folder):
    """What was linked; the libraries stand beside it."""
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "lib", NEEDS))
    made, needed = [], {}
    for name in PROGRAMS:
        target = os.path.join(folder, "bin", name)
        if link(build, name, target):
            made.append(name)
            needed.update(needs_of(os.path.join(build, "bin", name)))
    for name, file in needed.items():
        shutil.copy2(file, os.path.join(folder, "lib", NEEDS, name))
    copy(os.path.join(build, "lib", "libgpuprof_inject.so"), os.path.join(folder, "lib", "libgpuprof_inject.so"))
    # Programs of 32 bits get an empty library from here; the links inside are relative.
    by_lib = os.path.join(build, "lib", "gpuprof")
    if os.path.isdir(by_lib):
        shutil.copytree(by_lib, os.path.join(folder, "lib", "gpuprof"), symlinks=True)
    return made


def sizes(folder):
    """Bytes of all files, links left out."""
    paths = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return sum(os.path.getsize(path) for path in paths if not os.path.islink(path))


def commit():
    output = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return output.stdout.strip() or "unknown"


def pack(build, folder, cupti):
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        print("gpu-check: %s is there and not empty" % folder, file=sys.stderr)
        return 2
    try:
        made = programs(build, folder)
        for source in SOURCES:
            copy(os.path.join(ROOT, source), os.path.join(folder, source))
        copy(os.path.join(ROOT, "scripts", "gpu-check"), os.path.join(folder, "gpu-check"))
        for source in SIMULATOR if os.path.exists(os.path.join(build, "simgpu")) else ():
            copy(os.path.join(build, "simgpu", source), os.path.join(folder, "simgpu", source))
        if cupti:
            copy(cupti, os.path.join(folder, "cupti"))
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print("gpu-check: nothing packed: %s" % error, file=sys.stderr)
        return 2
    own = [os.path.join(folder, "bin", name) for name in made] + [os.path.join(folder, "lib", "libgpuprof_inject.so")]
    carried = sorted(os.listdir(os.path.join(folder, "lib", NEEDS)))
    glibc = newest_glibc(own + [os.path.join(folder, "lib", NEEDS, name) for name in carried])
    with open(os.path.join(folder, "packed.json"), "w", encoding="utf-8") as file:
        json.dump({"commit": commit(), "date": time.strftime("%Y-%m-%d"), "programs": made, "carried": carried,
                   "glibc": glibc}, file, indent=1)
    size = sizes(folder)
    print("%s: %.1f MiB, %s, %d libraries beside them; needs glibc %s and Python 3.9 there.\nThere: ./gpu-check --out FOLDER" % (
        folder, size / 2 ** 20, ", ".join(made), len(carried), glibc))
    if size > MOST_BYTES:
        print("gpu-check: more than %d MiB" % (MOST_BYTES >> 20), file=sys.stderr)
        return 2
    return 0
