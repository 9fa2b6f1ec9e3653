# SPDX-License-Identifier: Apache-2.0
"""A clean build of parts of this project with two compilers at once, without ccache."""

import hashlib
import os
import shlex
import shutil
import subprocess

from modes import Job
from outcome import read
from program import ROOT, Program, clean_environment

QUICK = ("inject_hot", "inject_got")
STANDARD = ("gpuprof_inject",)


class ProjectBuild(Program):
    """Configures and builds; objects and libraries are compared byte by byte."""

    name = "project-build"

    def __init__(self, amount):
        self.targets = QUICK if amount == "quick" else STANDARD

    def missing(self):
        lacking = [name for name in ("cmake", "ninja", "g++") if shutil.which(name) is None]
        return "no " + ", ".join(lacking) if lacking else None

    def version(self):
        output = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
        return output.splitlines()[0] + ", targets " + " ".join(self.targets)

    def job(self, work):
        script = (f"cmake -S {shlex.quote(ROOT)} -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo "
                  f"-DGPUPROF_BUILD_TESTS=OFF && exec ninja -C build -j2 {' '.join(self.targets)}")
        return Job(["sh", "-c", script], work, clean_environment(CCACHE_DISABLE="1"), timeout_s=3600)

    def collect(self, work, outcome):
        build = os.path.join(work, "build")
        for where, _, files in os.walk(build):
            for name in files:
                path = os.path.join(where, name)
                if name.endswith((".o", ".a", ".so")) and os.path.isfile(path):
                    outcome.hashes[os.path.relpath(path, build)] = hashlib.sha256(read(path)).hexdigest()
        outcome.tests["build"] = "passed" if outcome.status == 0 else "failed"
