#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The harness of real programs finds what is planted, and nothing else."""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import inherent  # noqa: E402
import modes  # noqa: E402
import real_programs  # noqa: E402
from cpython import CPython  # noqa: E402
from outcome import Outcome, differences, flaky, tree_hash  # noqa: E402
from program import Program, clean_environment  # noqa: E402

# What a profiler that is no guest would change: one thing each.
PLANTED = {
    "a descriptor that stays open": "exec 3</dev/null",
    "another umask": "umask 077",
    "an ignored signal": "trap '' TERM",
    "a variable of the environment": "export LEFT_BEHIND=1",
    "a limit": "ulimit -n 20",
    "a line on stderr": "echo hello >&2",
    "an exit status": None,
}
LOOKS = ("ls /proc/self/fd | wc -l; umask; ulimit -n; grep -E '^Sig(Blk|Ign|Cgt|Pnd)' /proc/self/status; "
         "env | cut -d= -f1 | grep -vxE 'LD_PRELOAD|ASAN_OPTIONS|GPUPROF_SOCKET|(CUDA|NVTX)_INJECTION64_PATH' | sort")


class Looking(Program):
    """Prints what it sees of itself."""
    name = "looking"

    def job(self, work):
        return modes.Job(["bash", "-c", LOOKS], work, clean_environment(), timeout_s=60)

    def collect(self, work, outcome):
        outcome.hashes["printed"] = outcome.output
        outcome.tests["ended"] = "passed"


class Flaky(Looking):
    """Fails every other time."""
    name = "flaky"
    runs = 0

    def collect(self, work, outcome):
        Flaky.runs += 1
        outcome.tests = {"steady": "passed", "unsteady": "passed" if Flaky.runs % 2 else "failed"}


class Planted(unittest.TestCase):
    @contextlib.contextmanager
    def fake_gpuprof(self, folder, script):
        """What is called as gpuprof is a bash script, which ends with `script`; gives its path."""
        path = os.path.join(folder, "gpuprof")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\nwhile [ \"$1\" != -- ]; do\n"
                       "if [ \"$1\" = --summary-json ]; then echo '{}' >\"$2\"; fi; shift; done; shift\n" + script)
        os.chmod(path, 0o755)
        with unittest.mock.patch.object(modes.e2e, "GPUPROF", path):
            yield path

    def run_program(self, program, script):
        """The row of a program under such a fake."""
        with tempfile.TemporaryDirectory(prefix="rp-") as folder, self.fake_gpuprof(folder, script):
            return real_programs.Runner(folder, ["run"]).program(program)

    def test_each_planted_change_is_found(self):
        for what, how in PLANTED.items():
            with self.subTest(what):
                row = self.run_program(Looking(), f'{how}\nexec "$@"' if how else '"$@"; exit 3')
                self.assertTrue(real_programs.harmed(row), what)

    def test_a_guest_that_changes_nothing_is_not_accused(self):
        row = self.run_program(Looking(), 'exec "$@"')
        self.assertFalse(real_programs.harmed(row), list(real_programs.describe(row)))

    def test_a_gpuprof_that_writes_no_summary_is_trouble(self):
        row = self.run_program(Looking(), 'rm -f "$(dirname "$0")"/ours*/summary.json; exec "$@"')
        self.assertTrue(real_programs.harmed(row))

    def test_what_differs_between_plain_runs_is_flaky_and_no_difference(self):
        Flaky.runs = 0
        row = self.run_program(Flaky(), 'exec "$@"')
        self.assertEqual(row["flaky"], ["unsteady"])
        self.assertFalse(real_programs.harmed(row))

    def test_the_exit_status_is_1_on_a_difference_alone(self):
        for fake_gpuprof, status in (("umask 077\n", 1), ("", 0)):
            with tempfile.TemporaryDirectory(prefix="rp-") as folder, self.fake_gpuprof(folder, fake_gpuprof + 'exec "$@"') as path, \
                    unittest.mock.patch.multiple(modes.e2e, GPUPROFD=path, LIBRARY=path), \
                    contextlib.redirect_stdout(io.StringIO()) as printed:
                arguments = argparse.Namespace(keep=None, mode="run", json=None)
                self.assertEqual(real_programs.go(arguments, [Looking()]), status)
                self.assertEqual("DIFFERENT under run" in printed.getvalue(), bool(status))


class Comparing(unittest.TestCase):
    def test_a_lost_test_a_new_one_and_a_changed_one_are_differences(self):
        plain = Outcome({"a": "passed", "b": "failed", "c": "skipped"}, {"x": "1"})
        profiled = Outcome({"a": "failed", "b": "failed", "d": "passed"}, {"x": "2"})
        found = differences(plain, plain, profiled)
        self.assertEqual([(d.what, d.name) for d in found],
                         [("test", "a"), ("test", "c"), ("test", "d"), ("output", "x")])

    def test_flaky_names_are_those_that_differ(self):
        self.assertEqual(flaky(Outcome({"a": "passed", "b": "passed"}, {"x": "1"}), Outcome({"a": "failed", "b": "passed"})),
                         ({"a"}, {"x"}))

    def test_the_status_counts_where_no_test_says_why(self):
        plain, profiled = Outcome({"a": "passed"}), Outcome({"a": "passed"}, status=-11)
        self.assertEqual([d.what for d in differences(plain, plain, profiled)], ["status"])

    def test_a_tree_has_another_hash_with_another_byte_name_mode_or_link(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = {tree_hash(folder)}
            path = os.path.join(folder, "a")
            for change in (lambda: os.close(os.open(path, os.O_CREAT)), lambda: os.chmod(path, 0o700),
                           lambda: os.truncate(path, 1), lambda: os.rename(path, path + "b"),
                           lambda: os.symlink("b", path), lambda: os.mkdir(path + "c")):
                change()
                seen.add(tree_hash(folder))
            self.assertEqual(len(seen), 7)

    def test_every_inherent_difference_has_a_reason(self):
        for row in inherent.INHERENT:
            self.assertEqual(len(row), 4)
            self.assertTrue(all(row))


class Reading(unittest.TestCase):
    def test_modules_of_a_regression_run_are_read(self):
        printed = ("0:00:01 load avg: 1.00 [1/5] test_a passed\n"
                   "0:00:02 load avg: 1.00 [ 2/5] test_b failed (1 failure)\n"
                   "0:00:02 load avg: 1.00 [ 3/5/1] test_c crashed (Exit code -11)\n"
                   "0:00:02 load avg: 1.00 [ 4/5/1] test_d skipped -- running: test_e (31 sec)\n"
                   "0:00:03 load avg: 1.00 [ 5/5/1] test.test_f.test_g\n")
        outcome = Outcome(output=printed)
        CPython("x", sys.executable, ["test_a"]).collect("/nowhere", outcome)
        del outcome.tests["tests.xml"]
        self.assertEqual(outcome.tests, {"test_a": "passed", "test_b": "failed", "test_c": "crashed", "test_d": "skipped",
                                         "test.test_f.test_g": "passed"})

    def test_a_second_look_runs_the_modules_of_the_tests_that_differ(self):
        program = CPython("x", sys.executable, "quick")
        with tempfile.TemporaryDirectory() as program.folder:
            for name in ("test_os.py", "test_io.py"):
                os.close(os.open(os.path.join(program.folder, name), os.O_CREAT))
            self.assertEqual(program.narrowed(["test.test_os.FileTests.test_access", "test_io"]).modules(), ["test_io", "test_os"])
            self.assertIsNone(program.narrowed(["test.fork_wait.ForkWait.test_wait"]))
            self.assertEqual(program.modules(), ["test_os"])


if __name__ == "__main__":
    unittest.main()
