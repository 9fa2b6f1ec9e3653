# SPDX-License-Identifier: Apache-2.0
"""Why a program was not recorded: each reason that can be known has its own message."""

import os
import shutil
import subprocess

import e2e

# Long enough to be met, and then another program.
LINGERS = """#include <time.h>
#include <unistd.h>
int main(int argc, char** argv) {
  while (clock() < CLOCKS_PER_SEC / 10) {}
  usleep(300000);
  return argc > 1 ? execv(argv[1], argv + 1) : 1;
}
"""
# Nobody answers until the program, another one by then, has ended.
STOPPED = """daemon=$(pgrep -P $PPID gpuprofd); kill -STOP $daemon
(while kill -0 $$; do sleep 0.05; done; kill -CONT $daemon) 2>/dev/null & exec "$@"
"""
SLEEPS = """#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) { usleep(argc > 1 ? 1000000 * atoi(argv[1]) : 500000); return 9; }
"""
# Words behind the command: where a busy machine needs as long to look at a program, it sleeps for so many seconds.
AGAIN, LONGER = ([], [], []), ([], ["5"], ["30"])


def compiled(folder, name, text, *flags):
    source = os.path.join(folder, name + ".c")
    with open(source, "w") as file:
        file.write(text)
    program = os.path.join(folder, name)
    done = subprocess.run(["cc", source, "-o", program, *flags], capture_output=True)
    return program if done.returncode == 0 else None


def check_message(checks, folder, command, status, part, what, tries=AGAIN):
    for more in tries:
        done = e2e.gpuprof([], [*command, *more], cwd=folder)
        text = done.stderr.decode()
        lines = [line for line in text.splitlines() if line.startswith("gpuprof: missing: ")]
        if part in "".join(lines):
            break
    checks.equal(done.returncode, status, what)
    checks.equal(len([line for line in lines if part in line]), 1, "%s says %s" % (what, text))
    return text


def another_user(checks, folder):
    setpriv = shutil.which("setpriv")
    python = shutil.which("python3", path="/usr/bin")
    enters = subprocess.run([setpriv or "false", "--reuid", "65534", "--clear-groups", "test", "-r",
                             e2e.LIBRARY], capture_output=True)
    if os.geteuid() != 0 or not python or enters.returncode != 0:
        return checks.skip("another user: needs root, setpriv and a build that others can read")
    spin = "import time\nend = time.thread_time() + 0.3\nwhile time.thread_time() < end: pass"
    check_message(checks, folder, [setpriv, "--reuid", "65534", "--clear-groups", python, "-c", spin], 0,
                  "user 65534 was not recorded", "a program that changes its user")


def main():
    checks = e2e.Checks()
    with e2e.Folder("unrecorded") as folder:
        dynamic = compiled(folder, "dynamic", SLEEPS)
        text = check_message(checks, folder, ["env", "-i", dynamic], 9,
                             "continued as '%s', which is not recorded: LD_PRELOAD was removed from its environment" % dynamic,
                             "a cleared environment", LONGER)
        text = check_message(checks, folder, ["env", dynamic], 9, "no steps", "an exec that keeps it", LONGER)
        checks.expect("continued as" not in text, "nothing is reported about a library that came back: " + text)
        static = compiled(folder, "static", SLEEPS, "-static")
        if static:
            check_message(checks, folder, ["env", static], 9, "is not recorded: it is statically linked",
                          "an exec of a static program", LONGER)
            lingers = compiled(folder, "lingers", LINGERS)
            lasts = compiled(folder, "lasts", SLEEPS.replace("500000", "4000000"), "-static")
            check_message(checks, folder, ["bash", "-c", STOPPED, "bash", lingers, lasts], 9, "is not recorded: it is statically linked",
                          "an exec before anything was recorded", LONGER)
            check_message(checks, folder, [static], 9, "ran unprofiled: it is statically linked", "static")
            check_message(checks, folder, [static], 9, "no program that it started did", "static, no children")
        else:
            checks.skip("the compiler cannot link statically")
        filtered = os.path.join(e2e.BUILD, "unchanged", "filtered")
        check_message(checks, folder, [filtered, "prctl"], 6, "restricted its system calls (seccomp)", "a filter of system calls")
        another_user(checks, folder)
        library = compiled(folder, "libgone.so", "int gone(void) { return 1; }", "-shared", "-fPIC")
        needs = compiled(folder, "needs", "int gone(void); int main(void) { return gone(); }", library)
        os.remove(library)
        check_message(checks, folder, [needs], 127, "before the gpuprof library had started", "a missing library")
    checks.done()


if __name__ == "__main__":
    main()
