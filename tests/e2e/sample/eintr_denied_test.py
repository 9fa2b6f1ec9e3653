# SPDX-License-Identifier: Apache-2.0
"""Where perf_event_open is denied, as in most containers: samples come by the fallback trigger, no
call returns EINTR, and summary and trace say why the trigger is another one.

usage: eintr_denied_test.py [CALLS]   CALLS of each kind and trigger (20), 20 ms each"""

import errno
import itertools
import json
import multiprocessing
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import sampler_test  # noqa: E402
import seccomp  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = sys.argv[1] if len(sys.argv) > 1 else "20"
PROGRAMS = {"c": [sampler_test.program("eintr"), CALLS, "20"],
            "python": [e2e.real_python(), os.path.join(HERE, "eintr.py"), CALLS, "20"]}
DENIALS = {"EPERM": (errno.EPERM, "Operation not permitted"),
           "ENOSYS": (errno.ENOSYS, "Function not implemented")}


def profiled(folder, command, arguments, denial=None):
    """Status, output, stderr, parsed summary and the traces of one run."""
    saved = os.path.join(folder, "summary.json")
    keywords = {"preexec_fn": seccomp.deny(seccomp.PERF_EVENT_OPEN, denial)} if denial else {}
    done = e2e.gpuprof(["-o", os.path.join(folder, "out"), "--summary-json", saved, *arguments], command,
                       **keywords)
    with open(saved, encoding="utf-8") as file:
        summary = json.load(file)
    return done, summary, [e2e.load(path) for path in e2e.traces(os.path.join(folder, "out"))]


def table(output):
    """{call: (interrupted, made)} of a program's lines."""
    return {name: (int(bad), int(made))
            for name, bad, made in re.findall(r"^(\w+) (\d+)/(\d+)$", output.decode(), re.MULTILINE)}


def row(denial, language, rate):
    with e2e.Folder("eintr") as folder:
        return profiled(folder, PROGRAMS[language], ["-r", rate], DENIALS[denial][0])


def check_row(checks, name, words, result):
    done, summary, traces = result
    stderr, overhead = done.stderr.decode(), summary["overhead"]
    rows = table(done.stdout)
    made = sum(count for _, count in rows.values())
    bad = {call: row[0] for call, row in rows.items() if row[0]}
    checks.expect(made > 0, "%s: the table was printed: %r" % (name, done.stdout[-300:]))
    checks.equal((done.returncode, bad), (0, {}), "%s: EINTR" % name)
    checks.equal(overhead["sampler"], "cpu-timer", "%s: the trigger in force" % name)
    checks.expect(overhead["samples"] > 0, "%s: samples arrive" % name)
    stacks = dict(summary["events_by_kind"]).get("samples", 0)
    checks.expect(stacks > 0, "%s: and are in the file: %s" % (name, summary["events_by_kind"]))
    message = "per-thread CPU timers are used instead of perf events: sampler perf is not available " \
               "(perf_event_open: %s)" % words
    checks.expect("gpuprof: missing: " + message in stderr, "%s: the summary says why: %s" % (name, stderr))
    checks.expect(traces and all(message in json.dumps(trace) for trace in traces),
                  "%s: every trace says why" % name)
    print("%s: %d calls, %d EINTR, %d samples by %s at %.0f Hz\n  %s"
          % (name, made, sum(bad.values()), overhead["samples"], overhead["sampler"],
             overhead["effective_rate_hz"],
             next((line for line in stderr.splitlines() if "perf" in line and "missing" in line), "")))


def allowed_here(checks, folder):
    """Without the filter the same command uses perf: the filter is what makes the difference."""
    done, summary, _ = profiled(folder, PROGRAMS["c"], [])
    sampler = summary["overhead"]["sampler"]
    if sampler != "perf":
        checks.skip("perf events are not allowed here: no run to compare with")
        return
    checks.expect("is not available" not in done.stderr.decode(), "allowed: no message about perf")
    print("not denied: sampler %s, %d samples" % (sampler, summary["overhead"]["samples"]))


def requested_by_name(checks, folder):
    """--sampler perf by name is not replaced by another: it is reported that nothing is sampled."""
    done, summary, _ = profiled(folder, PROGRAMS["c"], ["--sampler", "perf"], errno.EPERM)
    checks.equal(done.returncode, 0, "requested: the program's status")
    checks.equal(summary["overhead"]["samples"], 0, "requested: no signal of another trigger")
    checks.expect("running threads are not sampled" in done.stderr.decode(),
                  "requested: it is reported: %s" % done.stderr.decode())


def wall_clock_control(checks):
    """The table can tell: a wall-clock trigger interrupts nearly every call."""
    for calls in ("2", "20", "200"):  # more where a busy machine has begun late to sample
        status, output, _ = sampler_test.run([sampler_test.program("eintr"), calls, "20"], "wall:100", "_stress")
        bad = sum(row[0] for row in table(output.encode()).values())
        if bad:
            break
    checks.expect(status == 1 and bad > 0, "control: the wall clock gives EINTR: %r" % output)
    print("control, wall clock at 100 Hz: %d EINTR" % bad)


def main():
    if not os.path.exists(e2e.GPUPROF):
        e2e.skip("not built: " + e2e.GPUPROF)
    if not seccomp.supported():
        e2e.skip("this kernel has no seccomp filters for x86-64")
    checks = e2e.Checks()
    rows = list(itertools.product(DENIALS, PROGRAMS, ("100", "1000")))
    # They sleep nearly all the time. Processes, for the filter is put on between fork and exec.
    with multiprocessing.get_context("fork").Pool(4) as pool:
        results = pool.starmap(row, rows)
    for (denial, language, rate), result in zip(rows, results):
        check_row(checks, "%s %s %s Hz" % (denial, language, rate), DENIALS[denial][1], result)
    for body in (allowed_here, requested_by_name):
        with e2e.Folder("eintr") as folder:
            body(checks, folder)
    wall_clock_control(checks)
    checks.done()


if __name__ == "__main__":
    main()
