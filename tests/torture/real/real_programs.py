#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs give the same under gpuprof as without it: lists of passed tests, hashes of outputs.

Each is run plain twice (what differs between the two is flaky and listed), then under `gpuprof run --rate 1000`, then
plain with `gpuprof attach` in its middle. What differs there is looked at again, alone, with and without: a difference
that plain runs show, too, joins the flaky ones. Exit status 1 if any other difference is left.

What must differ stands in inherent.py with its reason; results are kept in docs/real-programs.md."""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import inherent  # noqa: E402
import modes  # noqa: E402
from modes import e2e  # noqa: E402
from outcome import differences, flaky  # noqa: E402
from registry import programs  # noqa: E402

MOST_LINES = 20
LOOKS = 3  # times that a difference is looked at again


class Runner:
    """Runs programs in folders whose paths are the same for each run."""

    def __init__(self, folder, wanted):
        self.folder, self.wanted = folder, wanted
        self.number = 0

    def once(self, program, mode):
        """One run; returns its Outcome."""
        work = os.path.join(self.folder, "w")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        self.number += 1
        output_folder = os.path.join(self.folder, f"ours{self.number}")
        outcome = modes.run(program.job(work), output_folder, mode)
        program.collect(work, outcome)
        keep(os.path.join(self.folder, f"{program.name}.{mode}.{self.number}.said"), outcome.output)
        outcome.output = outcome.output[-4000:]
        shutil.rmtree(output_folder, ignore_errors=True)
        return outcome

    def program(self, program):
        """All modes of one program: a row for the table."""
        program.prepare(os.path.join(self.folder, "kept"))
        plain = [self.once(program, "plain") for _ in range(2)]
        row = {"name": program.name, "version": program.version(), "plain": plain, "modes": {}}
        row["flaky"] = sorted(set().union(*flaky(*plain)))
        for mode in self.wanted:
            profiled = self.once(program, mode)
            found = differences(*plain, profiled)
            row["modes"][mode] = {"outcome": profiled, **self.compare_outcomes(program, mode, found)}
        return row

    def compare_outcomes(self, program, mode, found):
        """{"real", "flaky", "once", "inherent"}: the differences, by what a second look says."""
        result = {"real": [], "flaky": [], "once": [], "inherent": []}
        left = []
        for one in found:
            reason = inherent.why(program.name, mode, one.name)
            (result["inherent"] if reason else left).append((one, reason))
        left = [one for one, _ in left]
        less = program.narrowed([one.name for one in left if one.what == "test"]) if left else None
        if less is None:
            result["real"] = left
            return result
        plain = [self.once(less, "plain") for _ in range(LOOKS)]
        profiled = [self.once(less, mode) for _ in range(LOOKS)]
        for one in left:
            a = [str(run.tests.get(one.name, "not there")) for run in plain]
            b = [str(run.tests.get(one.name, "not there")) for run in profiled]
            usual = one.without
            kind = "flaky" if set(a) != {usual} else "real" if set(b) != {usual} or one.what != "test" else "once"
            result[kind].append(one)
        return result


def keep(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def describe(row):
    """One program's result in lines."""
    plain = row["plain"]
    base = sum(run.wall_s for run in plain) / len(plain)
    yield f"== {row['name']} ({row['version']})"
    for title, run in ((("plain", plain[0]), ("plain again", plain[1]))
                       + tuple((mode, part["outcome"]) for mode, part in row["modes"].items())):
        passed, failed, skipped = run.counts()
        more = ""
        if title in row["modes"]:
            part = row["modes"][title]
            left = {kind: len(part[kind]) for kind in ("real", "once", "flaky", "inherent")}
            more = f", {run.wall_s / base:.2f} of plain, {run.samples} samples" + \
                (f", {run.attached} attached, {sum(run.refused.values())} refused" if title == "attach" else "") + \
                f"; different: {left['real']}" + "".join(
                    f", {text} {left[kind]}" for kind, text in (("once", "seen once"), ("flaky", "flaky after all"),
                                                                ("inherent", "inherent")) if left[kind])
        yield (f"   {title:12} {len(run.tests):6} tests: {passed} passed, {failed} failed, {skipped} skipped; "
               f"status {run.status}; {run.wall_s:.1f} s{more}")
        if run.trouble:
            yield f"      TROUBLE: {run.trouble}"
        for message, times in sorted(run.refused.items()):
            yield f"      refused {times} times: {message}"
    steady = set(plain[0].hashes) - set(row["flaky"])
    if plain[0].hashes:
        for mode, part in row["modes"].items():
            same = sum(part["outcome"].hashes.get(name) == plain[0].hashes[name] for name in steady)
            yield f"   outputs under {mode}: {same} of {len(steady)} identical, {len(plain[0].hashes) - len(steady)} not deterministic"
    yield from listed("flaky (differs between plain runs)", row["flaky"])
    for mode, part in row["modes"].items():
        yield from listed(f"DIFFERENT under {mode}", part["real"])
        yield from listed(f"seen once under {mode}, not in {LOOKS} more runs with and {LOOKS} without", part["once"])
        yield from listed(f"flaky after all, first seen under {mode}", part["flaky"])
        for one, reason in part["inherent"]:
            yield f"   inherent under {mode}: {one.name}: {reason}"


def listed(title, names):
    if names:
        yield f"   {title}: {len(names)}"
        yield from (f"      {name}" for name in names[:MOST_LINES])
        if len(names) > MOST_LINES:
            yield f"      and {len(names) - MOST_LINES} more"


def harmed(row):
    """Whether anything of it is otherwise than without gpuprof."""
    return any(part["real"] or part["outcome"].trouble for part in row["modes"].values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME]", default="")
    parser.add_argument("--list", action="store_true", help="name the programs, and what each lacks here")
    parser.add_argument("--mode", default="run,attach", help="run, attach or both (the default)")
    parser.add_argument("--json", metavar="FILE", help="write everything to FILE")
    parser.add_argument("--quick", dest="amount", action="store_const", const="quick", default="standard",
                        help="a few minutes: fewer programs with fewer tests")
    parser.add_argument("--all", dest="amount", action="store_const", const="all", help="every test of every suite: hours")
    parser.add_argument("--modules", metavar="NAME[,NAME]", help="these of CPython's test modules instead")
    parser.add_argument("--keep", metavar="FOLDER", help="keep what the programs printed")
    arguments = parser.parse_args()
    chosen = [p for p in programs(arguments.amount, arguments.modules) if not arguments.only or p.name in arguments.only.split(",")]
    if not chosen:
        sys.exit(f"no program of that name: {arguments.only} (try --list)")
    if arguments.list:
        for program in chosen:
            print(program.name, "SKIPPED: " + reason if (reason := program.missing()) else "")
        return 0
    sys.exit(go(arguments, chosen))


def go(arguments, chosen):
    """Runs and prints everything; returns the exit status."""
    for path in (e2e.GPUPROF, e2e.GPUPROFD, e2e.LIBRARY):
        if not os.path.exists(path):
            e2e.skip("not built: " + path)
    print(f"gpuprof {e2e.GPUPROF}; {platform.platform()}; {os.cpu_count()} processors; {time.strftime('%Y-%m-%d')}", flush=True)
    folder = arguments.keep or tempfile.mkdtemp(prefix="rp-")
    os.makedirs(os.path.join(folder, "kept"), exist_ok=True)
    rows, skipped = [], []
    runner = Runner(folder, [mode for mode in arguments.mode.split(",") if mode])
    for program in chosen:
        if reason := program.missing():
            skipped.append({"name": program.name, "reason": reason})
            print(f"== {program.name}\n   SKIPPED: {reason}", flush=True)
            continue
        rows.append(runner.program(program))
        print(*describe(rows[-1]), sep="\n", flush=True)
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump({"programs": rows, "skipped": skipped}, file, default=vars, indent=1)
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    bad = sum(map(harmed, rows))
    print(f"{len(rows) - bad} passed, {bad} failed, {len(skipped)} skipped")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    main()
