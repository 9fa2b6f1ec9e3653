#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each interpreter present is called by its own version: what the summary and the trace say against sys.version_info."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import e2e  # noqa: E402

# By its processor time, as the oldest of them tell it.
PROGRAM = ("import os, sys\nend = sum(os.times()[:2]) + 0.4\nwhile sum(os.times()[:2]) < end: pass\n"
           "sys.stdout.write('%d.%d' % tuple(sys.version_info[:2]))")
OLDEST_READ = (3, 8)


def main():
    checks = e2e.Checks()
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python")))
    if not found:
        e2e.skip("no interpreter in pyenv's folder")
    for python in found:
        with e2e.Folder("versions") as folder:
            done = e2e.gpuprof(["-o", folder], [python, "-c", PROGRAM])
            version = done.stdout.decode()
            facts = [e2e.load(path)["gpuprof"]["facts"] for path in e2e.traces(folder)]
        stderr = done.stderr.decode()
        refused = re.findall(r"Python (\d+\.\d+)\S* cannot be read \(only 3\.8 to", stderr)
        number = tuple(int(part) for part in version.split("."))
        checks.equal(done.returncode, 0, version + ": status")
        checks.equal(refused, [] if number >= OLDEST_READ else [version], version + ": what is refused")
        versions = {".".join(fact.get("python.version", "").split(".")[:2]) for fact in facts}
        checks.equal(versions, {version}, version + ": what the trace says")
    checks.done()


if __name__ == "__main__":
    main()
