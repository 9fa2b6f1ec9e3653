# SPDX-License-Identifier: Apache-2.0
"""Descendants that have no reason to wake stay dormant; Python ones are counted.

usage: dormant_test.py [--measure]   with --measure: also the cost per process, as figures"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402

PYTHON = e2e.real_python("/usr/bin/python3") or e2e.real_python()

# Pairs of children, with what gpuprof gave this process and with an empty library in its place.
LOOP = """
import os, sys, time
count, empty, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
ours = dict(os.environ)
plain = {k: v for k, v in ours.items() if not k.startswith('GPUPROF') and 'INJECTION' not in k}
plain['LD_PRELOAD'] = empty
def child(environment):
    begin = time.perf_counter_ns()
    os.waitpid(os.posix_spawn(command[0], command, environment), 0)
    return time.perf_counter_ns() - begin
rows = []
for i in range(count):
    if i % 2: rows.append((child(plain), child(ours)))
    else: rows.append((child(ours), child(plain))[::-1])
open(os.environ['ROWS'], 'w').write(repr(rows))
"""


def strace_is_quiet(checks, folder):
    if shutil.which("strace") is None:
        checks.skip("strace is not installed")
        return
    log = os.path.join(folder, "strace")
    e2e.gpuprof(["-q", "-o", os.path.join(folder, "a")],
                ["sh", "-c", "strace -f -o %s /bin/true; true" % log])
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    checks.expect(any("execve" in line for line in lines), "strace saw /bin/true")
    checks.expect(any("libgpuprof_inject" in line for line in lines), "the library was loaded")
    for call in ("socket(", "clone(", "clone3(", "connect(", "memfd_create("):
        checks.equal([line for line in lines if call in line], [], "no %s in /bin/true" % call)


def few_calls_more(checks, folder):
    """What the library asks of the kernel in a start that comes to nothing, beyond an empty one: a timing says little on
    a busy machine, this says the same each time."""
    if shutil.which("strace") is None:
        checks.skip("strace is not installed")
        return
    counts = {}
    for what, library in (("empty", os.path.join(e2e.BUILD, "dormant", "libdormant_empty.so")), ("ours", e2e.LIBRARY)):
        log = os.path.join(folder, "calls-" + what)
        subprocess.run(["strace", "-o", log, "-E", "LD_PRELOAD=" + library,
                        "-E", "GPUPROF_SOCKET=@nobody;session=1;pid=1", "/bin/true"], check=True)
        with open(log, encoding="utf-8") as file:
            counts[what] = [line.split("(")[0] for line in file if "(" in line]
    more = sorted(call for call in set(counts["ours"]) for _ in range(counts["ours"].count(call) - counts["empty"].count(call)))
    checks.expect(len(more) <= 7, "/bin/true makes at most 7 system calls more than with an empty library: %s" % more)
    checks.expect("timer_settime" in more, "one of them sets the timer that wakes it: %s" % more)


def pythons_are_counted(checks, folder, count):
    """A Python that lives for ten milliseconds may be gone before the worker thread had a processor to greet
    from: a busy machine gets nine tries at counting them all, the last of them with longer lives, and may never miss
    most."""
    python = e2e.real_python()
    counts = []
    while len(counts) < 9 and count not in counts:
        program = "pass" if len(counts) < 6 else "import time\nwhile time.thread_time() < 0.1: pass"
        summary = os.path.join(folder, "summary.json")
        e2e.gpuprof(["-q", "-f", "-o", os.path.join(folder, "b"), "--summary-json", summary],
                    ["sh", "-c", "for i in $(seq %d); do %s -c '%s'; done" % (count, python, program)])
        with open(summary, encoding="utf-8") as file:
            data = json.load(file)
        counts.append(sum("python" in p.get("exe", p.get("name", "")) for p in data["processes"]))
    checks.expect(count in counts, "each python3 is counted in the summary: %s of %d" % (counts, count))
    checks.expect(min(counts) >= count // 2, "most are counted each time: %s" % counts)


def measure(folder, program, count):
    """(median of a child with the empty library, sorted extra time of ours in each pair), in us."""
    script = os.path.join(folder, "loop.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LOOP)
    rows = os.path.join(folder, "rows")
    empty = os.path.join(e2e.BUILD, "dormant", "libdormant_empty.so")
    e2e.gpuprof(["-q", "-o", os.path.join(folder, "m")],
                [PYTHON, "-S", script, str(count), empty, *program], env=dict(os.environ, ROWS=rows))
    with open(rows, encoding="utf-8") as file:
        pairs = eval(file.read())
    return (statistics.median(plain for plain, _ in pairs) / 1e3,
            sorted((preloaded - plain) / 1e3 for plain, preloaded in pairs))


def main():
    if not os.path.exists(e2e.GPUPROF):
        e2e.skip("not built: " + e2e.GPUPROF)
    checks = e2e.Checks()
    begin = time.monotonic()
    with e2e.Folder("dormant") as folder:
        strace_is_quiet(checks, folder)
        few_calls_more(checks, folder)
        pythons_are_counted(checks, folder, 20)
        if "--measure" in sys.argv:
            for program, count in ((["/bin/true"], 1000), ([PYTHON, "-c", "pass"], 200)):
                plain, extra = measure(folder, program, count)
                print("%s: median %.0f us under an empty library; gpuprof adds %.0f us (median of %d "
                      "pairs, middle half %.0f to %.0f)"
                      % (os.path.basename(program[0]), plain, statistics.median(extra), count,
                         extra[count // 4], extra[3 * count // 4]))
    print("%.1f s" % (time.monotonic() - begin))
    checks.done()


if __name__ == "__main__":
    main()
