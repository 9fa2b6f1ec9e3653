# SPDX-License-Identifier: Apache-2.0
"""Windows by steps (nvtx:, kernel:), by time, and for programs without steps; what counting costs.

usage: schedule_test.py [--only NAME] [--long]
       schedule_test.py --measure [PAIRS]   only: what counting costs a step, PAIRS interleaved pairs (12)"""

import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import live  # noqa: E402
import sim  # noqa: E402
from trace_facts import Facts  # noqa: E402

NAME = "schedule-%d" % os.getpid()
STEPS = ["--wait", "1", "--warmup", "1", "--active", "2", "--repeat", "2"]


def windows(folder):
    return [Facts(e2e.load(path)) for path in e2e.traces(folder)]


def show(checks, what, result, folder):
    if checks.failed:
        print("-- %s: status %d, files %s\n%s" % (what, result.returncode, os.listdir(folder),
                                                  result.stderr.decode()[-1500:]))


def two_windows_of_two(checks, folder, source, trainer_args, per_step):
    out = os.path.join(folder, "out")
    result = sim.run_whole(out, ["--step", source, *STEPS], trainer_args)
    found = windows(out)
    checks.equal(len(found), 2, "%s: files" % source)
    for facts, first in zip(found, (2, 6)):
        checks.equal(facts.step_numbers(), [first, first + 1], "%s: steps" % source)
        checks.equal(sorted(facts.kernels_in_steps().values()), [per_step] * 2,
                     "%s: kernels per step" % source)
    show(checks, source, result, out)


def by_nvtx(checks, folder):
    two_windows_of_two(checks, folder, "nvtx:step",
                       ["--steps", "14", "--kernels", "20", "--step-ms", "60"], 20)


def by_nvtx_fast(checks, folder):
    """Steps of 100 us: the files still hold exactly the requested steps."""
    two_windows_of_two(checks, folder, "nvtx:step",
                       ["--steps", "20000", "--kernels", "4", "--host-ms", "0", "--copies", "0",
                        "--memsets", "0", "--step-ms", "0.1"], 4)


def by_kernel(checks, folder):
    names = subprocess.run([sim.TRAINER, "--help"], capture_output=True, text=True).stdout
    out = os.path.join(folder, "out")
    result = sim.run_whole(out, ["--step", "kernel:adam", *STEPS],
                           ["--steps", "14", "--kernels", "20", "--step-ms", "60"])
    found = windows(out)
    checks.expect(b" steps that match kernel:adam" in result.stderr, "kernel: reported: %r" % result.stderr)
    checks.equal(len(found), 2, "kernel: files (help: %s)" % names[:0])
    for facts in found:
        checks.equal(len(facts.steps), 2, "kernel: steps per file")
    show(checks, "kernel", result, out)


def by_time(checks, folder):
    for steps in (160, 480, 2400):  # what begins late, on a busy machine, ends late
        out = os.path.join(folder, "out-%d" % steps)
        result = sim.run(["-o", out, "--wait", "1s", "--active", "2s", "--repeat", "2"],
                         ["--steps", str(steps), "--kernels", "20", "--step-ms", "50"])
        found = windows(out)
        lengths = [facts.trace["gpuprof"]["window"]["duration_ns"] for facts in found if facts.kernels]
        if len(lengths) == 2 and min(lengths) >= 2_000_000_000:
            break
    checks.equal(len(found), 2, "time: files")
    for facts in found:
        checks.expect(facts.trace["gpuprof"]["window"]["duration_ns"] >= 2_000_000_000, "time: the window's length")
        if not checks.expect(facts.kernels, "time: kernels"):
            continue
        begin = min(e["ts"] for e in facts.kernels)
        end = max(e["ts"] for e in facts.kernels)
        checks.in_time(1.7e6 < end - begin <= 2.1e6, "time: window of %.3f s" % ((end - begin) / 1e6))
    show(checks, "time", result, out)


def stepless(checks, folder, seconds):
    """A program without steps under a step schedule gives one file and the message."""
    code = ("import time\nend = time.time() + %d\nwhile time.time() < end:\n"
            "    sum(i * i for i in range(1000))\n" % seconds)
    result = e2e.gpuprof(["-o", folder, "--step", "nvtx:step", *STEPS],
                         [e2e.real_python(), "-c", code])
    found = windows(folder)
    checks.equal(len(found), 1, "step-less %d s: files" % seconds)
    checks.expect(b"no step" in result.stderr, "step-less %d s: the message" % seconds)
    show(checks, "stepless", result, folder)


def counting(checks, folder):
    """While counting no kind is on and no signal comes; what it costs is printed."""
    for skipped in (100, 1000, 5000):  # a busy machine may need as long to look
        log = os.path.join(folder, "cupti-%d.log" % skipped)
        before, after, good = inspected_twice(folder, log, skipped)
        if good:
            break
    checks.expect(good, "counting: it does so all the while")
    checks.equal(after, before, "counting: no signal arrives")
    with open(log, encoding="utf-8") as file:
        calls = [json.loads(line) for line in file if line.startswith("{")]
    checks.expect(kinds_off_in_the_middle(calls), "counting: every kind is off")


def inspected_twice(folder, log, skipped):
    """(what signals_and_switches() says, the same a second later, whether it counted all the while) of a run whose
    window is so many steps away."""
    env = dict(os.environ, GPUSIM_QUIET="1", GPUSIM_LOG=log)
    arguments = ["--steps", str(skipped + 200), "--kernels", "20", "--step-ms", "20", "--progress"]
    with subprocess.Popen(
            [e2e.GPUPROF, "run", "--name", NAME, "-o", os.path.join(folder, "out"), "--step", "nvtx:step",
             "--skip-first", str(skipped), "--active", "2", "--repeat", "1", "--", *sim.simulated(arguments)],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        # Once the first step has been seen.
        pid = live.wait_for(lambda: counting_one() or (process.poll() is not None and -1))
        before = signals_and_switches(pid)
        time.sleep(1.0)
        after = signals_and_switches(pid)
        good = counting_one() == pid
        process.wait(timeout=e2e.PATIENCE_S)
    return before, after, good


def counting_one():
    """Process id of the trainer that counts its steps."""
    rows = live.status().values()
    return next((row["pid"] for row in rows if row["state"] == "counting" and row["name"] == NAME), None)


def signals_and_switches(pid):
    """perf descriptors that are open in the process: a sampling trigger is one of them."""
    return {"samples": sum("perf_event" in path for path in live.descriptors(pid))}


def kinds_off_in_the_middle(calls):
    """Replays the log: for one second somewhere no kind is enabled."""
    on, last_change, longest = set(), None, 0
    for call in calls:
        name, when = call.get("f", ""), call.get("start", 0)
        if not on and last_change is not None:
            longest = max(longest, when - last_change)
        if name == "cuptiActivityEnable":
            on.add(str(call.get("args")))
            last_change = when
        elif name == "cuptiActivityDisable":
            on.discard(str(call.get("args")))
            last_change = when
    return longest > 1_000_000_000


# Steps of about 2 ms that wait for nothing but the simulated device; a mark every 20 ms.
MEASURED = ["--steps", "1500", "--kernels", "20", "--host-ms", "1", "--progress"]
MARK = re.compile(rb"progress monotonic_ns (\d+) realtime_ns \d+ steps (\d+) ")
# Steps come from NVTX and the window never: the whole run is spent counting.
COUNTING = ["-q", "--step", "nvtx:step", "--wait", "1000000", "--active", "1"]


def step_us(stdout):
    """Microseconds a step between the first and the last mark: start-up is left out."""
    marks = [(int(ns), int(steps)) for ns, steps in MARK.findall(stdout)]
    (begin, first), (end, last) = next(m for m in marks if m[1] >= 100), marks[-1]
    return (end - begin) / (last - first) / 1e3


def measure(pairs):
    """Step time while counting against step time without gpuprof, first one first, then the other."""
    load = os.getloadavg()[0]
    rows = []
    for i in range(pairs):
        times = {}
        for profiled in ((False, True) if i % 2 == 0 else (True, False)):
            with e2e.Folder("counting") as folder:
                result = sim.run(["-o", folder, *COUNTING], MEASURED) if profiled else sim.run_plain(MEASURED)
            if result.returncode != 0:
                raise SystemExit("the trainer failed: %s" % result.stderr.decode()[-500:])
            times[profiled] = step_us(result.stdout)
        rows.append((times[True] / times[False], times[False], times[True]))
        print("pair %2d: %.1f us a step without gpuprof, %.1f us counting, ratio %.4f"
              % (i + 1, times[False], times[True], rows[-1][0]), flush=True)
    ratios = sorted(row[0] for row in rows)
    quarter = len(ratios) // 4
    print("counting, simulated GPU: median ratio %.4f, middle half %.4f to %.4f, range %.4f to %.4f, "
          "%d pairs" % (statistics.median(ratios), ratios[quarter], ratios[-1 - quarter], ratios[0],
                        ratios[-1], len(ratios)))
    print("median step %.1f us without gpuprof, %.1f us counting; load average before %.2f"
          % (statistics.median(r[1] for r in rows), statistics.median(r[2] for r in rows), load))


def main():
    sim.require_build()
    if "--measure" in sys.argv:
        number = sys.argv[sys.argv.index("--measure") + 1:]
        return measure(max(int(number[0]), 10) if number else 12)
    checks = e2e.Checks()
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    rows = [("nvtx", by_nvtx), ("nvtx-fast", by_nvtx_fast), ("kernel", by_kernel),
            ("time", by_time), ("stepless-3", lambda c, f: stepless(c, f, 3)),
            ("counting", counting)]
    if "--long" in sys.argv or only:
        rows += [("stepless-20", lambda c, f: stepless(c, f, 20)),
                 ("stepless-60", lambda c, f: stepless(c, f, 60))]
    for name, row in rows:
        if only and only != name:
            continue
        with e2e.Folder("schedule-" + name) as folder:
            row(checks, folder)
            print("%s: %d passed, %d failed" % (name, checks.passed, checks.failed))
    checks.done()


if __name__ == "__main__":
    main()
