# SPDX-License-Identifier: Apache-2.0
"""Changed traces: gpuprof never crashes, and of every event it says what became of it. What it says is held
against Python's own reading of the same bytes.

usage: mutated_test.py [--count N] [--seed N] [--workers N] [--whole] [--keep FOLDER] [FOLDER of traces]..."""

import argparse
import collections
import glob
import gzip
import json
import multiprocessing
import os
import random

import e2e
import judging
import mutations
import written

KINDS = ("bytes", "tokens", "events", "gzip", "files")
DEFAULT_COUNT = 200
# Of so many files one is given to the other commands as well.
OTHERS_EVERY = 13
GOOD = ("refused", "shown", "told", "mended")
WORK = {}  # of a worker: what it works on


def sources(folders):
    """(name, trace): real files where folders are given, else those of the tests and some made here."""
    found = []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**", "*.json*"), recursive=True)):
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
                found.append((os.path.basename(path), json.loads(file.read())))
    if not found:
        for path in glob.glob(os.path.join(e2e.SOURCE, "tests", "golden", "tensorboard", "*.json")):
            with open(path, "rb") as file:
                found.append((os.path.basename(path), json.loads(file.read())))
        found.append(("steps", written.trace(written.steps(30, 1615207264504000))))
        found.append(("array", written.steps(10)))
    return found


def piece(rng, trace):
    """As much of it as is changed and read quickly, with the whole head."""
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    size = rng.choice((20, 60, 200, 500))
    at = rng.randrange(max(1, len(events) - size))
    kept = events[at:at + size]
    return {**trace, "traceEvents": kept} if isinstance(trace, dict) else kept


def pool_of(options, files, folder):
    def begin():
        WORK.update(options=options, files=files, folder=folder)
    return multiprocessing.get_context("fork").Pool(options.workers, begin)


def attempt(number):
    """Number, kind, file, verdict, why, whether Python reads it, and the bytes where they are to be kept."""
    options, files, folder = WORK["options"], WORK["files"], WORK["folder"]
    rng = random.Random("%d/%d" % (options.seed, number))
    name, trace = files[number % len(files)]
    kind = KINDS[number // len(files) % len(KINDS)]
    part = trace if options.whole else piece(rng, trace)
    data, changes = mutations.mutate(rng, kind, part)
    path = written.save(folder, "%d/changed.json" % number, data)
    check = judging.ImportCheck(path, data, len(part if isinstance(part, list) else part["traceEvents"]), changes)
    what, why = check.verdict()
    if what in GOOD and number % OTHERS_EVERY == 0:
        differs = check.compare_commands(os.path.dirname(path))
        what, why = ("disagree", differs) if differs else (what, why)
    os.unlink(path)
    return number, kind, name, what, why.replace(path, "FILE"), check.events is not None, data if what not in GOOD else b""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--count", type=int, default=DEFAULT_COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="whole files, not pieces of some hundred events")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    checks, table, reasons = e2e.Checks(), collections.Counter(), collections.Counter()
    files = sources(options.folders)
    with e2e.Folder("mutated") as folder, pool_of(options, files, folder) as pool:
        for number, kind, name, what, why, python, data in pool.imap(attempt, range(options.count), chunksize=8):
            table[kind, what] += 1
            if what == "refused":
                reasons[kind, "Python reads it" if python else "Python neither", reason_of(why)] += 1
            good = checks.expect(what in GOOD, "%d, %s of %s: %s: %s" % (number, kind, name, what, why[:400]))
            if not good and options.keep:
                written.save(options.keep, "%d.json" % number, data)
    show(table, reasons, files, options)
    checks.done()


def reason_of(message):
    words = message.replace("FILE", "").replace("gpuprof:", "").split("around")[0].split(" at line")[0].split(" at byte")[0]
    return "".join(c for c in words if not c.isdigit())[:90].strip()


def show(table, reasons, files, options):
    outcomes = ("shown", "told", "mended", "refused", "crash", "lost", "silence", "wrong sum", "no sentence", "bad sentence", "disagree")
    print("%d changed traces of %d files (seed %d)" % (options.count, len(files), options.seed))
    print("%-8s" % "" + "".join("%13s" % what for what in outcomes))
    for kind in KINDS:
        print("%-8s" % kind + "".join("%13d" % table[kind, what] for what in outcomes))
    if options.count > DEFAULT_COUNT:
        for (kind, python, reason), count in sorted(reasons.items(), key=lambda item: -item[1])[:40]:
            print("%6d refused, %s, %s: %s" % (count, kind, python, reason))


if __name__ == "__main__":
    main()
