# SPDX-License-Identifier: Apache-2.0
"""All recorded time has a row, and what takes long outside of usual steps is named with count, sum and line.

Recordings of programs/stalls.py, made once (recordings/, with what its own clock said), are read by gpuprof report.
With --live the program runs now; with --record it does, and what comes is what is read from then on.

usage: wall_test.py [--live|--record] [SPOT...]"""

import argparse
import glob
import gzip
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import e2e  # noqa: E402
import recorded  # noqa: E402
import torch_python  # noqa: E402

PROGRAM = os.path.join(HERE, "programs", "stalls.py")
RECORDINGS = os.path.join(HERE, "recordings")
SPOTS = ("head", "loader", "middle", "tail", "gil", "evaluate", "checkpoint", "epochs")
# What it is reported as; more than one where two are right.
DOING = {"gil": {"gil"}, "evaluate": {"evaluation"}, "checkpoint": {"saving"}, "epochs": {"evaluation"}}
RULES = ("step-stalls", "between-steps")


def line_of(spot):
    """Where `# spot: NAME` stands."""
    with open(PROGRAM, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.rstrip().endswith("# spot: " + spot):
                return number
    raise LookupError("no spot " + spot)


def wall_time_of(files):
    done = subprocess.run([e2e.GPUPROF, "report", "-q", "--json", *files], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError("gpuprof report: " + done.stderr[-500:])
    return json.loads(done.stdout)


def sums(checks, process, clock, spot):
    """Text, JSON and the windows say the same, and the loop has the length its own clock measured."""
    wall = process["tables"]["wall"]
    whole = sum(row["time_ns"] for row in wall)
    windows = sum(window["duration_ns"] for window in process["windows"])
    checks.equal(whole, process["duration_ns"], spot + ": the rows add up to what was recorded")
    checks.expect(abs(whole - windows) <= 0.001 * windows, "%s: which is the windows: %d, %d ns" % (spot, whole, windows))
    checks.expect(abs(sum(row["share_percent"] for row in wall) - 100) < 0.01, spot + ": to 100 %")
    time_of = {row["part"]: row["time_ns"] for row in wall}
    counted = sum(s["time_ns"] for s in process["tables"]["step"] if s["kept"] == "yes")
    checks.equal(time_of.get("steps"), counted, spot + ": steps are those of the table of steps")
    checks.expect(clock["wall_ns"] <= 1.01 * whole, "%s: the program itself ran for %d ns of %d" % (
        spot, clock["wall_ns"], whole))
    loop = sum(time_of.get(part, 0) for part in ("first_step", "steps", "between_steps", "torn_step"))
    # The loop's own begin (before its first operator) and its end lie around it.
    print("%s: recorded %.3f s, rows %.3f s; program's clock %.3f s; its loop %.3f s, steps and between %.3f s" % (
        spot, windows / 1e9, whole / 1e9, clock["wall_ns"] / 1e9, clock["loop_ns"] / 1e9, loop / 1e9))
    if spot != "epochs":
        checks.expect(abs(loop - clock["loop_ns"]) <= 0.01 * clock["wall_ns"],
                      "%s: the loop took %d ns by its own clock, %d here" % (spot, clock["loop_ns"], loop))


def named(checks, report, clock, spot):
    """By advice, and in the table of stretches with how often and how long."""
    line, spent = line_of(spot), sum(clock["spot_ns"])
    found = [a for a in report["advice"] if a["rule"] in RULES]
    checks.expect(any(a["line"] <= line <= a["last_line"] for a in found),
                  "%s: advice on line %d; there is %s" % (spot, line, [(a["rule"], a["line"], a["what"]) for a in found]))
    here = [s for s in report["processes"][0]["tables"]["stretch"]
            if s["part"] in ("steps", "between_steps", "end") and s["line"].rsplit(":", 1)[-1] == str(line)]
    times, total = sum(s["count"] for s in here), sum(s["total_ns"] for s in here)
    print("%s: line %d, %s: %d times, %.3f s; by the program's clock %d times, %.3f s%s" % (
        spot, line, " and ".join(sorted({s["doing"] for s in here})), times, total / 1e9, len(clock["spot_ns"]),
        spent / 1e9, "".join("\n    " + a["what"] for a in found if a["line"] <= line <= a["last_line"])))
    checks.equal(times, len(clock["spot_ns"]), spot + ": how often")
    checks.expect(abs(total - spent) <= 0.05 * spent, "%s: %d ns, by its own clock %d" % (spot, total, spent))
    checks.expect({s["doing"] for s in here} & DOING.get(spot, {"waiting"}), "%s: what it does: %s" % (
        spot, [(s["doing"], s["line"], s["total_ns"]) for s in here]))


def check_stalls(checks, files, clock, spot):
    report = wall_time_of(files)
    process = report["processes"][0]
    sums(checks, process, clock, spot)
    named(checks, report, clock, spot)
    if spot == "epochs":
        checks.expect(any(a["line"] == line_of("epochs_pause") for a in report["advice"]), "epochs: the pause is reported")


def run(checks, folder, spot, options, words):
    """(traces, what the program's own clock said), or None."""
    where = os.path.join(folder, spot)
    os.makedirs(where)
    done = e2e.gpuprof(["-q", "-o", where, *options], [torch_python.python_with_torch(), PROGRAM, spot, *words],
                       env=dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES=""), timeout=600)
    if not checks.equal(done.returncode, 0, spot + ": " + done.stderr.decode()[-500:]):
        return None
    return e2e.traces(where), json.loads(done.stdout.decode().splitlines()[-1])


def live(checks, folder, spot):
    result = run(checks, folder, spot, [], ["--steps", "600", "--stall", "0.3"])
    if result:
        check_stalls(checks, *result, spot)


def record(checks, folder, spot):
    """Few steps, few samples: a file that a repository can hold. What comes in every sixth or twelfth part of the steps
    is rare only where there are more, and short."""
    often = spot in ("evaluate", "checkpoint")
    result = run(checks, folder, spot, ["--rate", "100" if often else "20", "--no-profile-memory"],
                 ["--steps", "120" if often else "60", "--stall", "0.1" if spot == "epochs" else "1.0", "--batches", "20"])
    if not result:
        return
    with e2e.open_trace(result[0][0]) as file:
        text = recorded.anonymized(file.read(), torch_python.python_with_torch())
    path = os.path.join(RECORDINGS, spot + ".pt.trace.json.gz")
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())
    with open(os.path.join(RECORDINGS, spot + ".json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(result[1]) + "\n")
    check_stalls(checks, [path], result[1], spot)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("spots", nargs="*", default=[])
    options = parser.parse_args()
    checks = e2e.Checks()
    with e2e.Folder("wall") as folder:
        for spot in options.spots or SPOTS:
            if options.live or options.record:
                (live if options.live else record)(checks, folder, spot)
                continue
            with open(os.path.join(RECORDINGS, spot + ".json"), encoding="utf-8") as file:
                clock = json.load(file)
            check_stalls(checks, glob.glob(os.path.join(RECORDINGS, spot + ".pt.trace.json.gz")), clock, spot)
    checks.done()


if __name__ == "__main__":
    main()
