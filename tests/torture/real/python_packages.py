# SPDX-License-Identifier: Apache-2.0
"""Python packages: numpy's installed tests, PyTorch's operators, and pip itself."""

import glob
import hashlib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

from modes import Job
from modes import e2e
from outcome import read, tree_hash
from program import HERE, ROOT, Program, clean_environment

PINS = os.path.join(ROOT, "requirements", "real.txt")


def real_venv():
    """The interpreter of .venvs/real (scripts/setup --real), or $GPUPROF_REAL_PYTHON; None if there is none."""
    found = os.environ.get("GPUPROF_REAL_PYTHON") or os.path.join(ROOT, ".venvs", "real", "bin", "python")
    return found if os.path.exists(found) else None


def output_of(python, code):
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


class NumpyTests(Program):
    """numpy's installed tests by pytest: all, or in a quick run those of a few files."""

    name = "numpy-tests"
    QUICK = ("_core/tests/test_umath.py", "_core/tests/test_multithreading.py", "_core/tests/test_mem_overlap.py",
             "_core/tests/test_errstate.py", "linalg/tests", "fft/tests", "random/tests/test_generator_mt19937.py")

    def __init__(self, amount, tests=()):
        self.amount, self.tests = amount, tests

    def missing(self):
        return None if real_venv() else "no .venvs/real (scripts/setup --real makes it)"

    def version(self):
        return "numpy " + output_of(real_venv(), "import numpy; print(numpy.__version__)")

    def job(self, work):
        os.mkdir(os.path.join(work, "t"))
        folder = output_of(real_venv(), "import numpy, os; print(os.path.dirname(numpy.__file__))")
        what = self.tests or (self.QUICK if self.amount == "quick" else ("",))
        marks = [] if self.amount == "all" else ["-m", "not slow"]
        argv = [real_venv(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-o", "junit_family=xunit1",
                "--junitxml", os.path.join(work, "tests.xml"), *marks, *(os.path.join(folder, part) for part in what)]
        return Job(argv, work, clean_environment(TMPDIR=os.path.join(work, "t")), timeout_s=5400)

    def collect(self, work, outcome):
        try:
            cases = xml.parse(os.path.join(work, "tests.xml")).iter("testcase")
        except (OSError, xml.ParseError) as error:
            outcome.tests["tests.xml"] = f"failed: {error}"
            return
        for case in cases:
            kinds = {child.tag for child in case}
            state = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            outcome.tests[f"{case.get('file')}::{case.get('classname')}.{case.get('name')}"] = state

    def narrowed(self, names):
        files = {name.partition("::")[0].rpartition("numpy/")[2] for name in names if "::" in name}
        return NumpyTests(self.amount, tuple(sorted(files))) if files else None


class TorchOperators(Program):
    """A digest of what each operator of PyTorch gives for its own sample inputs."""

    name = "torch-operators"
    OP = re.compile(r"^OP (\S+) (\S+) (\w+)(.*)$", re.M)

    def __init__(self, amount, names=()):
        self.amount, self.names = amount, names

    def python(self):
        candidates = (os.environ.get("GPUPROF_TORCH_PYTHON"), os.path.join(ROOT, ".venvs", "torch", "bin", "python"),
                      e2e.real_python())
        return next((p for p in candidates if p and os.path.exists(p) and output_of(p, "import torch; print(1)") == "1"), None)

    def missing(self):
        self.found = self.python()
        return None if self.found else "no python here can import torch (scripts/setup --torch installs one)"

    def version(self):
        return "PyTorch " + output_of(self.found, "import torch; print(torch.__version__)")

    def job(self, work):
        step = "8" if self.amount == "quick" else "1"
        return Job([self.found, os.path.join(HERE, "programs", "torch_ops.py"), "0", step, *self.names], work,
                   clean_environment(PYTHONHASHSEED="0"), timeout_s=3600)

    def collect(self, work, outcome):
        for name, dtype, state, rest in self.OP.findall(outcome.output):
            outcome.tests[f"{name} {dtype}"] = state if state != "failed" else "failed" + rest
            if state == "passed":
                outcome.hashes[f"{name} {dtype}"] = rest.strip()

    def narrowed(self, names):
        less = TorchOperators("all", tuple(name.split()[0] for name in names))
        less.found = self.found
        return less


class PipInstall(Program):
    """pip makes an environment and installs wheels into it; what comes out is hashed."""

    name = "pip-install"
    ROUNDS = 2

    def missing(self):
        return None if real_venv() else "no .venvs/real (scripts/setup --real makes it)"

    def version(self):
        return output_of(real_venv(), "import pip; print('pip', pip.__version__)")

    def prepare(self, scratch):
        self.wheels = os.path.join(scratch, "wheels")
        # The wheels that .venvs/real was made of: over the network, but before anything is measured.
        subprocess.run([real_venv(), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                        "--disable-pip-version-check", "-d", self.wheels, "-r", PINS], check=True, stdin=subprocess.DEVNULL)

    def job(self, work):
        script = ('for i in 1 2; do "$0" -m venv e$i || exit; e$i/bin/python -m pip --disable-pip-version-check install '
                  '--no-cache-dir --no-index --no-deps --find-links "$1" -r "$2" || exit; done; '
                  'exec e1/bin/python -m pip --disable-pip-version-check check')
        return Job(["sh", "-c", script, real_venv(), self.wheels, PINS], work, clean_environment(), attach_s=1, between_s=0.5)

    def collect(self, work, outcome):
        for number in range(1, self.ROUNDS + 1):
            folder = os.path.join(work, f"e{number}")
            found = glob.glob(os.path.join(folder, "lib", "python3.*", "site-packages", "pytest", "__init__.py"))
            outcome.tests[f"installation {number}"] = "passed" if found else "failed"
            outcome.hashes[f"tree {number}"] = tree_hash(folder, file_bytes=without_time)
        output = re.sub(r"\d+(\.\d+)? [kM]B(/s)?( eta [\d:]+)?", "SIZE", outcome.output)
        outcome.hashes["printed"] = hashlib.sha256(output.encode()).hexdigest()


def without_time(path):
    """A file's bytes; of compiled Python without the time and size of its source."""
    return read(path)[16:] if path.endswith(".pyc") else read(path)


if __name__ == "__main__":
    sys.exit("this file is used by real_programs.py")
