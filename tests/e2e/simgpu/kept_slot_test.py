# SPDX-License-Identifier: Apache-2.0
"""A program whose own profiler takes CUPTI's subscriber slot and keeps it when its session is over, as PyTorch's did until
August 2026: GPU work and calls go on being recorded, without stacks of launches, and that is reported; so in later windows of a
program that waits to be recorded.

usage: kept_slot_test.py"""

import collections
import os
import sys
import time

import e2e
import live
import sim
import trace_facts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "attach_cli"))
import windows  # noqa: E402

KERNELS, FROM, UNTIL, STEPS = 24, 15, 20, 60
# Where our threads get no processor, longer steps give them more time to come back.
STEP_MS = (20, 80, 320)
FIRST, LAST = 2, 250  # steps of a session that a window begins amid
PROGRAM = ["--kernels", str(KERNELS), "--profile-from", str(FROM), "--profile-until", str(UNTIL), "--profile-subscribes"]
KEPT = "keeps CUPTI's one subscriber slot after its session"
SILENT = ("CUPTI delivers no",)


def check_owners(checks, what, facts):
    """Calls, and kernels, name the range that their thread was in, also where no callback came at their begin."""
    ranges = {op["args"]["External id"]: op for op in facts.ops}
    calls = {call["args"].get("correlation"): call for call in facts.launches}
    first = min((op["ts"] for op in facts.ops), default=0)  # a window may begin within one
    bad = []
    for kernel in facts.kernels:
        call = calls.get(kernel["args"]["correlation"])
        if call is None or call["ts"] < first:
            continue
        op, middle = ranges.get(call["args"].get("External id")), call["ts"] + call["dur"] / 2
        if op is None:
            bad.append("in no range")
        elif op["tid"] != call["tid"] or not op["ts"] - 2 <= middle <= op["ts"] + op["dur"] + 2:
            bad.append("outside of its range")
        if kernel["args"].get("External id") != call["args"].get("External id"):
            bad.append("a kernel that is another's")
    checks.equal(collections.Counter(bad), {}, "%s: owners of %d kernels" % (what, len(facts.kernels)))


def check_file(checks, what, facts):
    calls = {call["args"].get("correlation") for call in facts.launches}
    checks.equal([k["name"] for k in facts.kernels if k["args"]["correlation"] not in calls][:2], [], what + ": kernels without a call")
    check_owners(checks, what, facts)
    missing = facts.trace["gpuprof"]["missing"]
    checks.equal([text for text in missing if text.startswith(SILENT)], [], what + ": nothing is called silent")
    checks.equal(sum(KEPT in text for text in missing), 1, "%s: reported once: %r" % (what, missing))


def whole_run(checks):
    for step_ms in STEP_MS:
        with e2e.Folder("kept-slot") as folder:
            out = os.path.join(folder, "out")
            result = sim.run_whole(out, [], ["--steps", str(STEPS), "--step-ms", str(step_ms), *PROGRAM], ["--preload"])
            facts = trace_facts.Facts(e2e.load(e2e.traces(out)[0]))
        later = len(facts.kernels) - KERNELS * FROM
        if later >= KERNELS:
            break
    print("  run: %d kernels, %d of them after its session" % (len(facts.kernels), later))
    checks.equal(result.returncode, 0, "status")
    checks.expect(b"own_profiler_kernels %d\n" % (KERNELS * (UNTIL - FROM)) in result.stdout, "its session is whole: %r" % result.stdout)
    checks.expect(later >= KERNELS, "kernels after its session are there: %d" % later)
    check_file(checks, "run", facts)


def later_windows(checks):
    command = sim.simulated(["--forever", "--step-ms", "10", *PROGRAM], ["--preload", "--quiet"])
    with e2e.Folder("kept-slot") as folder, live.Program(
            live.prefix("--armed") + ["sh", "-c", 'echo $$; exec "$@"', "sh", *command]) as program:
        live.wait_for(lambda: "cuda" in (live.status().get(program.pid) or {}).get("can_record", []))
        # Its session is over when a window says so.
        live.wait_for(lambda: KEPT in windows.cli("capture", program.pid, "-d", "1s", "-o", os.path.join(folder, "first")).stderr)
        for number in (1, 2):
            done = windows.cli("capture", program.pid, "-d", "1s", "-o", os.path.join(folder, str(number)))
            paths = done.stdout.split()
            if not checks.equal((done.returncode, len(paths)), (0, 1), "capture %d: %s" % (number, done.stderr)):
                continue
            facts = trace_facts.Facts(e2e.load(paths[0]))
            print("  capture %d: %d kernels" % (number, len(facts.kernels)))
            checks.expect(facts.kernels, "capture %d: kernels: %s" % (number, done.stderr))
            check_file(checks, "capture %d" % number, facts)


def capture_during_profiler_session(folder, step_ms, slot):
    """(the capture, what the program printed, its status)."""
    command = sim.simulated(["--steps", "260", "--step-ms", str(step_ms), "--kernels", str(KERNELS), "--profile-from", str(FIRST),
                             "--profile-until", str(LAST), *slot], ["--preload", "--quiet"])
    with live.Program(live.prefix("--armed") + ["sh", "-c", 'echo $$; exec "$@"', "sh", *command]) as program:
        live.wait_for(lambda: "cuda" in (live.status().get(program.pid) or {}).get("can_record", []))
        time.sleep(0.3)
        done = windows.cli("capture", program.pid, "-d", "500ms", "-o", os.path.join(folder, "out"))
        out, errors = program.process.communicate(timeout=live.PATIENCE_S)
    return done, out.decode() + errors.decode(), program.process.returncode


def during_its_session(checks):
    """Requested in the middle of a session that began while nothing of gpuprof was awake: it is left alone."""
    for slot in ([], ["--profile-subscribes"]):
        what = "amid a session%s" % (" with the slot" if slot else "")
        for step_ms in STEP_MS:  # on a busy machine a short one is over when the window begins
            with e2e.Folder("amid-session") as folder:
                done, printed, status = capture_during_profiler_session(folder, step_ms, slot)
            if "the program's own CUPTI profiler" in done.stderr:
                break
        checks.equal((done.returncode, status), (0, 0), "%s: %s" % (what, printed))
        checks.expect("result own_profiler_kernels %d\n" % (KERNELS * (LAST - FIRST)) in printed, "%s is whole: %r" % (what, printed))
        checks.expect("the program's own CUPTI profiler" in done.stderr, "%s: reported: %s" % (what, done.stderr))


def main():
    sim.require_build()
    checks = e2e.Checks()
    for case in (whole_run, later_windows, during_its_session):
        case(checks)
    checks.done()


if __name__ == "__main__":
    main()
