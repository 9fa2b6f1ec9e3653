# SPDX-License-Identifier: Apache-2.0
"""Processes of a session that damage their shared memory while the daemon reads it: the daemon lives,
stays small, other processes keep their traces, and the damage is counted and said.

usage: hostile_test.py [--seconds N] [--seed N] [--ways LIST]"""

import argparse
import collections
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "kill"))
import e2e  # noqa: E402
import sim  # noqa: E402
from kill_test import daemon_of  # noqa: E402
from trace_facts import Facts, parse_results  # noqa: E402

SCRIBBLER = os.path.join(e2e.BUILD, "hostile", "hostile_scribbler")
# What the daemon's own memory and its share of segments may come to, whatever it is sent.
MOST_ANON_KB, MOST_SHARED_KB = 256 * 1024, 256 * 1024
DAMAGE = {"ring damaged", "record too short", "record of unknown kind", "counter damaged",
          "time outside the process's life"}


class Watch(threading.Thread):
    """The daemon's largest memory until it ends, in KB."""

    def __init__(self, marker):
        super().__init__(daemon=True)
        self.marker, self.pid, self.most = marker, None, collections.Counter()

    def run(self):
        self.pid = daemon_of(self.marker.encode())
        while self.pid is not None:
            try:
                with open("/proc/%d/status" % self.pid, encoding="utf-8") as file:
                    rows = dict(line.split(":", 1) for line in file)
            except OSError:
                return
            for key in ("RssAnon", "RssShmem"):
                if key in rows:
                    self.most[key] = max(self.most[key], int(rows[key].split()[0]))
            time.sleep(0.02)


def session(folder, seconds, seed, ways, options=("--all-processes",)):
    """A trainer and the scribbler side by side in one session."""
    marker = "hostile-%d-%d" % (os.getpid(), seed)
    steps = seconds * 50
    train = sim.simulated(["--steps", str(steps), "--kernels", "20", "--host-ms", "2", "--step-ms", "20"])
    script = "\"$@\" & trainer=$!; %s %d %d %s >&2 & wait $trainer; status=$?; wait; exit $status" % (
        SCRIBBLER, seconds, seed, ways)
    env = dict(os.environ, GPUSIM_QUIET="1", GPUPROF_TEST_MARKER=marker)
    watch = Watch(marker)
    watch.start()
    done = e2e.gpuprof(["-o", os.path.join(folder, "out"), "--step", "nvtx:step", *options,
                        "--summary-json", os.path.join(folder, "summary.json")],
                       ["sh", "-c", script, "sh", *train], env=env, timeout=seconds * 3 + e2e.PATIENCE_S)
    watch.join(timeout=10)
    return done, watch


def check_trainer(checks, done, facts, took_s):
    """The honest process has everything, linked, and its time line is its own."""
    expected = parse_results(done.stdout)
    checks.equal(done.returncode, 0, "the program's status")
    late = any(re.search(sim.LATE, message) for f in facts for message in f.trace["gpuprof"]["missing"])
    for what, got in (("kernels", sum(len(f.kernels) for f in facts)), ("steps", sum(len(f.steps) for f in facts))):
        if late and got < expected.get(what, 0):
            checks.skip("the trainer's %s: %d of %d, the worker thread was not scheduled at its start, which is reported" % (
                what, got, expected[what]))
        else:
            checks.equal(got, expected.get(what), "the trainer's " + what)
    bad = [message for f in facts for message in f.unlinked()]
    checks.expect(not bad, "the trainer's links: %d bad, %s" % (len(bad), bad[:1]))
    times = [e["ts"] for f in facts for e in f.events if "ts" in e and e.get("ph") == "X"]
    length = (max(times) - min(times)) / 1e6
    checks.expect(length < took_s + 60, "the trainer's time line is %.0f s long" % length)


def check_damage(checks, hostile, summary, all_ways):
    """Damage is counted by reason, as numbers somebody can have counted, and said in the traces."""
    drops = dict(summary["drops_by_reason"])
    if all_ways:
        checks.expect(DAMAGE <= set(drops), "damage is counted by reason: %s" % drops)
    most = (1 << 50) * (1 + len(summary["files"]))  # what a process makes up is cut off there
    checks.expect(all(count < most for count in drops.values()), "possible counts: %s" % drops)
    length_s = max(w["end_ns"] - w["start_ns"] for w in summary["windows"]) / 1e9
    checks.expect(length_s < 3600, "a window of possible length: %.0f s" % length_s)
    overhead = summary["overhead"]
    checks.expect(overhead["worker_cpu_ns"] < 1 << 51 and overhead["effective_rate_hz"] <= 1e6,
                  "possible statistics: %s" % overhead)
    stated = sum(any(reason in message for message in facts.trace["gpuprof"]["missing"]
                     for reason in DAMAGE) for facts in hostile)
    checks.expect(stated >= (len(hostile) / 4 if all_ways else 0), "%d of %d traces say so" % (stated, len(hostile)))
    print("damage said in %d of %d traces: %s" % (stated, len(hostile), drops))


def check_daemon(checks, summary, watch):
    checks.expect(summary["complete"], "the daemon ended by itself: %s" % summary["failures"])
    checks.expect(watch.most, "the daemon's memory was looked at")
    for key, most in (("RssAnon", MOST_ANON_KB), ("RssShmem", MOST_SHARED_KB)):
        checks.expect(watch.most[key] < most, "%s came to %d KB" % (key, watch.most[key]))
    print("the daemon came to %d MB of its own and %d MB of segments"
          % (watch.most["RssAnon"] // 1024, watch.most["RssShmem"] // 1024))


def windows_hold(checks, seed):
    """Windows counted in the trainer's steps are exact, whatever others in the session claim."""
    with e2e.Folder("hostile") as folder:
        done, _ = session(folder, 3, seed, "all", ["--wait", "20", "--warmup", "1", "--active", "10",
                                                   "--repeat", "3"])
        facts = [Facts(e2e.load(path)) for path in e2e.traces(os.path.join(folder, "out"))]
        steps = [f.step_numbers() for f in facts if f.kernels]
        checks.equal(done.returncode, 0, "windows: status")
        checks.equal(sorted(steps), [list(range(first, first + 10)) for first in (21, 52, 83)],
                     "windows: the trainer's steps")
        print("windows: %s" % [(s[0], s[-1]) for s in sorted(steps)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", default="all")
    arguments = parser.parse_args()
    sim.require_build()
    if not os.path.exists(SCRIBBLER):
        e2e.skip("not built: " + SCRIBBLER)
    checks = e2e.Checks()
    with e2e.Folder("hostile") as folder:
        begin = time.monotonic()
        done, watch = session(folder, arguments.seconds, arguments.seed, arguments.ways)
        took_s = time.monotonic() - begin
        print("%.1f s for %d s of %s" % (took_s, arguments.seconds,
                                         done.stderr.decode().splitlines()[0]))
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        names = {p["pid"]: os.path.basename(p["exe"]) for p in summary["processes"]}
        files = [(names[file["pid"]], file["path"]) for file in summary["files"]]
        hostile = [Facts(e2e.load(path)) for name, path in files if name.startswith("hostile")]
        check_trainer(checks, done, [Facts(e2e.load(path)) for name, path in files
                                     if name == "sim_trainer"], took_s)
        check_damage(checks, hostile, summary, arguments.ways == "all")
        check_daemon(checks, summary, watch)
        if checks.failed:
            print(done.stderr.decode()[:4000])
            raise SystemExit(checks.done())
    windows_hold(checks, arguments.seed)
    checks.done()


if __name__ == "__main__":
    main()
