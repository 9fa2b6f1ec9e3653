# SPDX-License-Identifier: Apache-2.0
"""What a recording holds of a program's surroundings, and who may read it (docs/security.md)."""

import glob
import gzip
import os
import stat
import subprocess
import sys
import time

import e2e

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable
SECRET, TEXT = "hunter2-of-the-environment", "a-text-that-only-the-source-has"
CODE = """import time
text = "%s"
end = time.thread_time() + %s
while time.thread_time() < end: sum(range(1000))
"""


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def spool_of(out, process):
    """Its mode as soon as it is there; None: it never was."""
    while process.poll() is None:
        found = glob.glob(os.path.join(out, ".gpuprof-spool-*"))
        try:
            if found:
                return mode_of(found[0])
        except FileNotFoundError:
            pass
        time.sleep(0.005)
    return None


def main():
    checks = e2e.Checks()
    with e2e.Folder("contents") as folder:
        script, out = os.path.join(folder, "program.py"), os.path.join(folder, "out")
        with open(script, "w", encoding="utf-8") as file:
            file.write(CODE % (TEXT, 1))
        environment = dict(os.environ, GPUPROF_TEST_SECRET=SECRET, AWS_SECRET_ACCESS_KEY=SECRET, RANK="3", WORLD_SIZE="4",
                           MASTER_ADDR="master-of-the-test")
        with subprocess.Popen([e2e.GPUPROF, "run", "-q", "-o", out, "--", PYTHON, script], env=environment, umask=0o027) as process:
            checks.equal(spool_of(out, process), 0o700, "the spool is its user's alone")
            checks.equal(process.wait(timeout=600), 0, "status")
        checks.equal(glob.glob(os.path.join(out, ".*")), [], "the spool is gone")
        (path,) = e2e.traces(out)
        with gzip.open(path) as file:
            text = file.read().decode()
        checks.equal(mode_of(path), 0o640, "the file has the user's umask")
        checks.expect("master-of-the-test" in text, "a launcher's variable is there")
        checks.expect(script in text, "the source's name is there")
        checks.expect(SECRET not in text, "no other variable is")
        checks.expect(TEXT not in text, "no text of the source is")
    checks.done()


if __name__ == "__main__":
    main()
