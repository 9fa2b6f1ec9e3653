#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks through code that was made at run time: CPython's trampolines (-X perf) and code of a program's own, named by
the file that it writes for perf. What is judged is shares of stacks, never time.

usage: generated_code_test.py [NAME ...]"""

import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import e2e  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NAMELESS = "[generated code]"
INCOMPLETE = "(incomplete stack)"
FIRST_READ = 0.2  # of the time, at most, before the list of mappings is read


def pyenv(version):
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = sorted(glob.glob(os.path.join(root, "versions", version + ".*", "bin", "python3")))
    return found[-1] if found else None


def stacks(words, folder, environment=None):
    """[(weight, frames from the outermost)] of the running thread, and the process's exit status."""
    done = e2e.gpuprof(["-r", "1000", "-f", "-o", folder, "--format", "folded"], words,
                       env={**os.environ, **(environment or {})})
    # What the program, which says its number, has left for perf.
    pid = int(done.stdout.split()[0]) if done.stdout.split() else 0
    for left in ("/tmp/perf-%d.map" % pid, "/tmp/jit-%d.dump" % pid):
        if os.path.exists(left):
            os.unlink(left)
    found = []
    for name in glob.glob(os.path.join(folder, "*.folded")):
        with open(name, encoding="utf-8") as file:
            for line in file:
                frames, weight = line.rsplit(" ", 1)
                kind, _, *rest = frames.split(";")
                if kind == "CPU":
                    found.append((int(weight), rest))
    return found, done.returncode


def share(found, test):
    total = sum(weight for weight, _ in found)
    return sum(weight for weight, frames in found if test(frames)) / total if total else 0.0


def trampolines(checks, label, words, environment=None):
    program = os.path.join(HERE, "programs", "trampolines.py")
    for seconds in (0.5, 5, 50):
        with e2e.Folder("trampolines") as folder:
            found, status = stacks([*words, program, str(seconds)], folder, environment)
        own = [(weight, frames) for weight, frames in found if any("): leaf" in frame for frame in frames)]
        # As in code_of_its_own().
        if len(own) > 3 and share(own, lambda f: INCOMPLETE in f) < 0.02:
            break
    checks.equal(status, 0, label + ": status")
    checks.expect(len(own) > 3, "%s: %d stacks of the program's function" % (label, len(own)))
    checks.expect(share(own, lambda f: INCOMPLETE in f) < 0.02, label + ": stacks are complete")
    checks.expect(share(own, lambda f: any("): main" in x for x in f)) > 0.99, label + ": all of them lie under main")
    checks.equal(share(own, lambda f: NAMELESS in f), 0.0, label + ": no frame between Python frames is nameless")
    checks.equal(share(own, lambda f: any("py::" in x for x in f)), 0.0, label + ": no function is shown twice")


def code_of_its_own(checks, kind, wanted):
    """The program calls strlen through code that it has made: programs/own_code.py says how."""
    for seconds in (0.6, 6, 60):
        with e2e.Folder("own-code") as folder:
            program = os.path.join(HERE, "programs", "own_code.py")
            found, status = stacks([e2e.real_python(), program, kind, str(seconds)], folder)
        inside = [(weight, frames) for weight, frames in found if any("strlen" in frame for frame in frames)]
        # The list of mappings is read when the first sample needs it, on a busy machine well behind it.
        if wanted is is_reported_incomplete or share(inside, lambda f: INCOMPLETE in f) < FIRST_READ:
            break
    checks.equal(status, 0, kind + ": status")
    checks.expect(len(inside) > 0, "%s: %d stacks in the function that is called" % (kind, len(inside)))
    wanted(checks, kind, inside)


def is_named(checks, kind, inside):
    checks.expect(share(inside, lambda f: "made_outer" in f and f[f.index("made_outer") + 1] == "made_inner")
                  > 0.8, kind + ": both functions, in order")
    checks.expect(share(inside, lambda f: INCOMPLETE in f) < FIRST_READ, kind + ": complete")
    checks.expect(share(inside, lambda f: any("): calls_it" in x for x in f)) > 0.98, kind + ": under who calls")


def is_nameless(checks, kind, inside):
    checks.expect(share(inside, lambda f: f.count(NAMELESS) == 2) > 0.8, kind + ": both functions, without names")
    checks.equal(share(inside, lambda f: any("made_" in x for x in f)), 0.0, kind + ": no name is believed")
    checks.expect(share(inside, lambda f: INCOMPLETE in f) < FIRST_READ, kind + ": complete")


def is_reported_incomplete(checks, kind, inside):
    checks.expect(share(inside, lambda f: INCOMPLETE in f) > 0.98, kind + ": flagged")
    checks.equal(share(inside, lambda f: "made_other" in f), 0.0, kind + ": no frame that is not there")


TESTS = {
    "own code": lambda c: code_of_its_own(c, "frame-pointer", is_named),
    "no map": lambda c: code_of_its_own(c, "no-map", is_nameless),
    "map of another user": lambda c: code_of_its_own(c, "foreign-map", is_nameless)
    if os.geteuid() == 0 else c.skip("a file of another user: needs root"),
    "no frame": lambda c: code_of_its_own(c, "no-frame", is_reported_incomplete),
}
for version, flag in (("3.12", "perf"), ("3.13", "perf"), ("3.13", "perf_jit"), ("3.12", "")):
    def one(checks, version=version, flag=flag):
        python = pyenv(version)
        if python is None:
            return checks.skip("no Python %s in pyenv's folder" % version)
        if not flag:
            return trampolines(checks, version + " PYTHONPERFSUPPORT", [python], {"PYTHONPERFSUPPORT": "1"})
        return trampolines(checks, version + " -X " + flag, [python, "-X", flag])
    TESTS["%s %s" % (version, flag or "variable")] = one


def main():
    checks = e2e.Checks()
    for name, test in TESTS.items():
        if not sys.argv[1:] or name in sys.argv[1:]:
            test(checks)
    checks.done()


if __name__ == "__main__":
    main()
