# SPDX-License-Identifier: Apache-2.0
"""A program that uses a GPU and runs already, on the simulated GPU: kernels and their launches are in each file,
whoever brought the library; what was requested of CUPTI and is not delivered is reported.

usage: gpu_test.py [--times N]"""

import argparse
import os
import signal
import sys

import e2e
import live
import windows
import sim
import trace_facts

WINDOW = ("-d", "1s")


# What CUPTI does, and what is reported about it.
SILENT = {
    "deaf-api": "CUPTI delivers no records of CUDA API calls of process %d (0 for ",
    "deaf-api:500": "CUPTI delivers no records of CUDA API calls of process %d (",
    "deaf-kernels": "CUPTI delivers no records of kernels of process %d (0 for ",
    "deaf-kernels:500": "CUPTI delivers no records of kernels of process %d (500 for ",
    "deaf-callbacks:500": "CUPTI delivers no callbacks for launches of process %d (",
}


def trainer(*sim_args):
    """Its process id first: the shell's, which all of them take over by exec."""
    command = sim.simulated(["--forever", "--step-ms", "10"], sim_args)
    return ["sh", "-c", 'echo $$; exec "$@"', "sh", *command]


def check_cut(checks, facts, unlaunched, what):
    """A thread that is kept from running inside a call until the window is over has its GPU work there and not the
    call: the last of its stream, and told."""
    stream_of = lambda one: (one["args"]["device"], one["args"]["stream"])
    work = sorted(facts.kernels + facts.copies + facts.sets, key=lambda one: one["ts"])
    last = {stream_of(one): one for one in work}
    checks.equal([one for one in unlaunched if last[stream_of(one)] is not one], [],
                 what + ": GPU work without a launch amid other")
    messages = [text for text in facts.trace["gpuprof"]["missing"] if "without the host call" in text]
    checks.equal([int(text.split()[0]) for text in messages], [len(unlaunched)] if unlaunched else [], "%s: %s" % (what, messages))


def silence_messages(text):
    return [line for line in text.splitlines() if "CUPTI delivers no" in line]


def check_file(checks, done, what, ranges):
    paths = done.stdout.split()
    if not checks.equal((done.returncode, len(paths)), (0, 1), what + ": " + done.stderr):
        return
    facts = trace_facts.Facts(e2e.load(paths[0]))
    checks.expect(facts.kernels, what + ": kernels")
    launches = {launch["args"]["correlation"] for launch in facts.launches}
    work = facts.kernels + facts.copies + facts.sets
    unlaunched = [one for one in work if one["args"]["correlation"] not in launches]
    checks.in_time(not unlaunched, "%s: GPU work without a launch: %s" % (what, unlaunched))
    check_cut(checks, facts, unlaunched, what)
    checks.equal(silence_messages(done.stderr), [], what + ": nothing is silent")
    checks.expect("the GPU is simulated" in done.stderr, what + " says that the GPU is simulated: " + done.stderr)
    if ranges:
        cut = ["no launch for correlation %s" % kernel["args"]["correlation"] for kernel in unlaunched]
        checks.equal([bad for bad in facts.unlinked(from_within=True) if bad not in cut], [],
                     what + ": each kernel has its launch and range")


def armed(checks, folder, env, times):
    with live.Program(live.prefix("--armed") + trainer(), env=env) as program:
        row = live.wait_for(lambda: "cuda" in (live.status().get(program.pid) or {}).get("can_record", []))
        checks.expect(row, "status knows of CUDA: %r" % live.status().get(program.pid))
        for number in range(1, times + 1):
            done = windows.cli("capture", program.pid, *WINDOW, "-o", os.path.join(folder, str(number)))
            check_file(checks, done, "capture %d" % number, True)


def attached(checks, folder, env, times):
    with live.Program(trainer(), env=env) as program:
        live.wait_for(lambda: "gpusim_cuda" in live.maps(program.pid))
        before = live.threads(program.pid), live.descriptors(program.pid)
        for number in range(1, times + 1):
            done = windows.cli("attach", program.pid, *WINDOW, "-o", os.path.join(folder, str(number)))
            check_file(checks, done, "attach %d" % number, False)
        # The simulated CUPTI keeps a thread of its own from its first use on, as the real one may.
        kept = sorted(before[0] + ["gpusim-cupti"])
        live.wait_for(lambda: live.threads(program.pid) in (before[0], kept), live.DETACH_TIMEOUT_S)
        checks.expect(live.threads(program.pid) in (before[0], kept),
                      "threads afterwards: %r, before: %r" % (live.threads(program.pid), before[0]))
        checks.equal(live.control_socket_files(program.pid), [], "its control socket")


# Two ranks of a launcher that does nothing itself.
LAUNCHER = """
import subprocess, sys
ranks = [subprocess.Popen(sys.argv[1:]) for _ in range(2)]
for rank in ranks: rank.wait()
"""


def job(checks, folder, env, _):
    """Of several processes with one name those get a file that would in a run."""
    ranks = sim.simulated(["--forever", "--step-ms", "10"])
    launcher = ["sh", "-c", 'echo $$; exec "$@"', "sh", sys.executable, "-c", LAUNCHER, *ranks]
    with live.Program(live.prefix("--armed", "--name", "job-of-two") + launcher, env=env) as program:
        named = lambda: [row for row in live.status().values() if row["name"] == "job-of-two"]
        live.wait_for(lambda: sum("cuda" in row.get("can_record", []) for row in named()) == 2)
        checks.equal(len(named()), 3, "the launcher and its ranks have one name: %r" % named())
        done = windows.cli("capture", "job-of-two", *WINDOW, "-o", os.path.join(folder, "job"))
        paths = done.stdout.split()
        checks.equal((done.returncode, len(paths)), (0, 2), "a file for each rank: " + done.stderr)
        checks.equal([path for path in paths if ".%d." % program.pid in os.path.basename(path) or
                      "_%d." % program.pid in os.path.basename(path)], [], "and none for the launcher")
        for row in named():
            if row["pid"] != program.pid:
                os.kill(row["pid"], signal.SIGTERM)


def silent(checks, folder, env, _):
    """One message for what is silent, and none for what is not."""
    for scenario, message in SILENT.items():
        with live.Program(trainer("--scenario", scenario), env=env) as program:
            live.wait_for(lambda: "gpusim_cuda" in live.maps(program.pid))
            out = os.path.join(folder, scenario.replace(":", "-"))
            done = windows.cli("attach", program.pid, "-d", "3s", "-o", out)
            reported = silence_messages(done.stderr)
            checks.equal(done.returncode, 0, scenario)
            checks.expect(len(reported) == 1 and message % program.pid in reported[0], "%s: %r" % (scenario, reported))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=2)
    times = parser.parse_args().times
    sim.require_build()
    checks = e2e.Checks()
    env = dict(os.environ, GPUSIM_QUIET="1")
    for case in (armed, attached, job, silent):
        with e2e.Folder("attach-gpu") as folder:
            case(checks, folder, env, times)
    checks.done()


if __name__ == "__main__":
    main()
