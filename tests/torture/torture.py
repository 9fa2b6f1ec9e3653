# SPDX-License-Identifier: Apache-2.0
"""Stages faults around profiled programs and counts who was harmed.

usage: torture.py [--minutes N | --rounds N] [--only NAME[,NAME]] [--seed N] [--jobs N] [--json FILE]
       torture.py --list | --planted | --repeat FAMILY/FAULT:SEED [--times N]

NAME: a family, a fault, or FAMILY/FAULT; `quick` for the fast ones. docs/torture.md says what harm is."""

import argparse
import os
import random
import sys
import time

import attempt  # noqa: F401: sets where the tests' helpers are found
import e2e
import fault as registry
import planted
import report
import staged


def named(faults, word):
    """Those of a family, a name or FAMILY/NAME, by key."""
    return {f.key: f for f in faults.values() if word in (f.name, f.key, f.family) or word == "quick" and f.quick}


def chosen(only):
    """Faults by the words of --only; ends the program at a word that names none."""
    faults = registry.all_faults()
    if not only:
        return [f for f in faults.values() if f.family not in registry.ON_REQUEST]
    found = named(faults, only)  # some have a comma in their name
    for word in [] if found else only.split(","):
        hits = named(faults, word)
        if not hits:
            sys.exit("torture: nothing is called %r (--list names everything)" % word)
        found.update(hits)
    return list(found.values())


class Rounds:
    """Chooses what is next so that each fault gets the same share of the time."""

    def __init__(self, faults, seed):
        self.random = random.Random(seed)
        self.rows = {f.key: report.Row(f) for f in faults}
        self.waiting = list(self.rows)
        self.random.shuffle(self.waiting)
        self.busy = set()

    def next(self, again, in_turn):
        """A fault, or None where nothing is to be started now. in_turn: each as often as the others, however long it takes."""
        if in_turn and again and not self.waiting:
            self.waiting = [k for k, r in self.rows.items() if not r.skipped]
            self.random.shuffle(self.waiting)
        if self.waiting:
            return self.start(self.waiting.pop())
        free = [r for k, r in self.rows.items() if k not in self.busy and not r.skipped]
        if not again or not free:
            return None
        least = min(r.seconds for r in free)
        return self.start(self.random.choice([r for r in free if r.seconds <= least + 0.5]).fault.key)

    def start(self, key):
        self.busy.add(key)
        return self.rows[key].fault

    def done(self, running, result):
        self.busy.discard(running.fault.key)
        self.rows[running.fault.key].add(running.seed, result)


def torture(faults, arguments):
    """Runs until the time or the rounds are over; returns the rows."""
    rounds = Rounds(faults, arguments.seed)
    until = time.monotonic() + arguments.minutes * 60
    progress, running, begun = report.Progress(len(faults)), [], 0
    while True:
        while len(running) < arguments.jobs:
            more = begun < arguments.rounds * len(faults) if arguments.rounds else time.monotonic() < until
            wanted = rounds.next(more, bool(arguments.rounds)) if more or begun < len(faults) and not arguments.minutes else None
            if wanted is None:
                break
            running.append(staged.Running(wanted, rounds.random.randrange(1 << 31)))
            begun += 1
        if not running:
            break
        for one in [r for r in running if r.over()]:
            running.remove(one)
            result = one.result()
            rounds.done(one, result)
            progress.clear()
            report.print_result(one, result)
        progress.show(rounds.rows, running, until - time.monotonic())
        time.sleep(0.02)
    progress.clear()
    return list(rounds.rows.values())


def repeat(text, times):
    key, _, seed = text.rpartition(":")
    faults = registry.all_faults()
    if key not in faults or not seed.isdigit():
        sys.exit("torture: --repeat takes FAMILY/FAULT:SEED as printed beside a harm")
    row = report.Row(faults[key])
    for _ in range(times):
        one = staged.Running(row.fault, int(seed))
        while not one.over():
            time.sleep(0.02)
        result = one.result()
        row.add(one.seed, result)
        report.print_result(one, result)
    return [row]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--repeat")
    parser.add_argument("--times", type=int, default=1)
    arguments = parser.parse_args()
    everything = arguments.list and not arguments.only
    faults = list(registry.all_faults().values()) if everything else [] if arguments.planted else chosen(arguments.only)
    for word in ("minutes", "rounds", "jobs", "times"):
        if getattr(arguments, word) < (word in ("jobs", "times")):
            parser.error("--%s %g is too small" % (word, getattr(arguments, word)))
    if arguments.list:
        print("\n".join(f.key for f in faults))
        return 0
    for path in (e2e.GPUPROF, e2e.GPUPROFD, e2e.LIBRARY):
        if not os.path.exists(path):
            sys.exit("torture: not built: %s (GPUPROF_BUILD names the build folder)" % path)
    if arguments.planted:
        return planted.main(arguments)
    if arguments.repeat:
        return report.finish(repeat(arguments.repeat, arguments.times), arguments)
    if not arguments.minutes and not arguments.rounds:
        arguments.minutes = 5.0
    print("torture: seed %d, %d faults, %s" % (arguments.seed, len(faults), "%d rounds" % arguments.rounds
                                               if arguments.rounds else "%g minutes" % arguments.minutes), flush=True)
    return report.finish(torture(faults, arguments), arguments)


if __name__ == "__main__":
    sys.exit(main())
