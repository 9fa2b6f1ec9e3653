# SPDX-License-Identifier: Apache-2.0
"""What the tests of the checks in scripts/ share: a planted tree, a check that runs on it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-checks-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def check(self, name, *arguments):
        done = subprocess.run([sys.executable, ROOT / "scripts" / name, *map(str, arguments)],
                              text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr

    def assert_passes(self, name, *arguments):
        status, report = self.check(name, *arguments)
        self.assertEqual(status, 0, report)

    def assert_finds(self, expected, name, *arguments):
        status, report = self.check(name, *arguments)
        self.assertEqual(status, 1, report)
        self.assertIn(expected, report)

    def library(self, source, *options, name="libplanted.so", compiler="CC"):
        path = self.write("planted.c" if compiler == "CC" else "planted.cpp", source)
        command = os.environ.get(compiler, "cc" if compiler == "CC" else "c++")
        target = self.root / name
        subprocess.run([command, "-shared", "-fPIC", "-O1", *options, "-o", target, path],
                       check=True, capture_output=True)
        return target
