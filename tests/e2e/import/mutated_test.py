# SPDX-License-Identifier: Apache-2.0
"""Changed traces: gpuprof never crashes, and of every event it says what became of it. What it says is held
against Python's own reading of the same bytes.

usage: mutated_test.py [--count N] [--seed N] [--keep FOLDER] [FOLDER of traces]..."""

import argparse
import collections
import glob
import gzip
import json
import os
import random
import subprocess
import sys

import e2e
import mutations
import written

KINDS = ("bytes", "tokens", "events", "gzip")
DEFAULT_COUNT = 160
BLANKS = b" " * 32 + bytes(range(32, 256))
# What viewers draw from what is there already, or what only names rows.
REPEATED_CATEGORIES = {"gpu_user_annotation", "trace", "ac2g", "async", "async_cpu_to_gpu", "async_gpu",
                       "forward_backward", "python"}


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


def python_events(data):
    """The events as Python reads them; None where it does not."""
    try:
        if data[:3] == b"\x1f\x8b\x08":
            data = gzip.decompress(data)
    except (OSError, EOFError, gzip.zlib.error):
        return None
    lists = []

    def members(pairs):
        lists.extend(value for key, value in pairs if key == "traceEvents" and isinstance(value, list))
        return dict(pairs)
    try:
        # Control characters are read as blanks, wherever they stand.
        text = data.translate(BLANKS).decode("utf-8", "surrogateescape")
        trace = json.loads(text.lstrip("\ufeff \t\r\n"), strict=False, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return None
    if isinstance(trace, dict):
        return trace.get("traceEvents") if isinstance(trace.get("traceEvents"), list) else None
    return trace if isinstance(trace, list) else None


def may_repeat(event):
    if not isinstance(event, dict):
        return False
    name, phase = str(event.get("name")), event.get("ph")
    # An arrow that lost its category is known by its name.
    category = event.get("cat", name if phase in ("s", "f") else None)
    return (phase in ("M", "C") or str(category).lower() in REPEATED_CATEGORIES or
            name.startswith("Iteration Start") or name == "Record Window End" or
            str(event.get("cat")).startswith("cpu_to_"))


def read_by_gpuprof(path):
    done = subprocess.run([e2e.GPUPROF, "report", "--json", path], capture_output=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


class Judge:
    """Of one changed file: what is wrong with the answer, or what it was."""

    def __init__(self, answered, data, before, places, is_array):
        self.status, self.out, self.said = answered
        self.events, self.before, self.places = python_events(data), before, places
        self.may_lack_its_end = is_array  # as Chrome's form of a list may

    def verdict(self):
        if self.status < 0 or self.status not in (0, 125):
            return "crash", "status %d: %s" % (self.status, self.said[-300:])
        if self.status == 125:
            good = self.said.startswith("gpuprof: ") and self.said.count("\n") == 1
            return ("refused", self.said) if good else ("bad sentence", self.said)
        answer = json.loads(self.out)
        file = answer["reading"]["files"][0]
        told = sum(n for kinds in file["left_out"].values() for n in kinds.values())
        repeats = sum(file["repeats"].values())
        if file["shown"] + repeats + told != file["events"]:
            return "wrong sum", repr(file)
        if told + sum(file["mended"].values()) > 0 and not answer["reading"]["sentences"]:
            return "no sentence", repr(answer["reading"])
        return self.against_python(answer, file, told, repeats)

    def against_python(self, answer, file, told, repeats):
        if self.events is None:
            if not answer["reading"]["sentences"] and not self.may_lack_its_end:
                return "silence", "Python does not read it, and nothing is said: %r" % file
            # Each changed place may make two events of one, or one of two.
            if abs(file["events"] - self.before) > self.places:
                return "lost", "%d events, %d before" % (file["events"], self.before)
            return "mended", ""
        if file["events"] != len(self.events):
            return "lost", "%d events, Python reads %d" % (file["events"], len(self.events))
        if repeats > sum(may_repeat(e) for e in self.events):
            return "silence", "called repeats: %r" % file["repeats"]
        return self.kernels(answer, file, told)

    def kernels(self, answer, file, told):
        """Each is in a table, or told."""
        there = sum(isinstance(e, dict) and e.get("ph") == "X" and str(e.get("cat")).lower() == "kernel"
                    for e in self.events)
        before = sum(int(words.split()[0]) for process in answer["processes"] for words in process["missing"]
                     if "launched before the window" in words)
        shown = sum(process["events"].get(key, 0) for process in answer["processes"] for key in ("kernels", "graph runs"))
        apart = sum(kinds.get(k, 0) for kinds in file["left_out"].values() for k in kinds
                    if k.lower() in ("kernel", "graph"))
        if shown + apart + before < there:
            return "lost", "%d kernels, %d shown and %d told" % (there, shown, apart)
        return ("told" if told else "mended" if file["mended"] else "shown"), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--count", type=int, default=DEFAULT_COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    checks, table, reasons = e2e.Checks(), collections.Counter(), collections.Counter()
    files = sources(options.folders)
    with e2e.Folder("mutated") as folder:
        for number in range(options.count):
            rng = random.Random("%d/%d" % (options.seed, number))
            name, trace = files[number % len(files)]
            kind = KINDS[number // len(files) % len(KINDS)]
            part = piece(rng, trace)
            data, places = mutations.mutate(rng, kind, part)
            path = written.save(folder, "changed.json", data)
            is_array = isinstance(part, list)
            judge = Judge(read_by_gpuprof(path), data, len(part if is_array else part["traceEvents"]), places, is_array)
            what, why = judge.verdict()
            table[kind, what] += 1
            if what == "refused":
                reasons[kind, "Python reads it" if judge.events is not None else "Python neither",
                        reason_of(why, path)] += 1
            good = what in ("refused", "shown", "told", "mended")
            if not checks.expect(good, "%d, %s of %s: %s: %s" % (number, kind, name, what, why[:400])) and options.keep:
                written.save(options.keep, "%d.json" % number, data)
    show(table, reasons, files, options)
    checks.done()


def reason_of(sentence, path):
    words = sentence.replace(path, "").replace("gpuprof:", "").split("around")[0].split(" at line")[0].split(" at byte")[0]
    return "".join(c for c in words if not c.isdigit())[:90].strip()


def show(table, reasons, files, options):
    outcomes = ("shown", "told", "mended", "refused", "crash", "lost", "silence", "wrong sum", "no sentence", "bad sentence")
    print("%d changed traces of %d files (seed %d)" % (options.count, len(files), options.seed))
    print("%-8s" % "" + "".join("%13s" % what for what in outcomes))
    for kind in KINDS:
        print("%-8s" % kind + "".join("%13d" % table[kind, what] for what in outcomes))
    if options.count > DEFAULT_COUNT:
        for (kind, python, reason), count in sorted(reasons.items(), key=lambda item: -item[1])[:40]:
            print("%6d refused, %s, %s: %s" % (count, kind, python, reason))


if __name__ == "__main__":
    main()
