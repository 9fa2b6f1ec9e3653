# SPDX-License-Identifier: Apache-2.0
"""What a run of the torture says: progress, harms as they happen, the table at the end."""

import json
import sys
import time

import fault as registry


class Row:
    """One fault's line of the table."""

    def __init__(self, fault):
        self.fault = fault
        self.attempts = self.harmed = self.lost = 0
        self.seconds = 0.0
        self.skipped = ""   # the reason
        self.findings = []

    def add(self, seed, result):
        self.seconds += result["seconds"]
        if result["skips"] and not result["checked"] and not result["harms"] and not result["losses"]:
            self.skipped = self.skipped or "; ".join(result["skips"])
            return
        self.attempts += 1
        self.harmed += bool(result["harms"])
        self.lost += bool(result["losses"])
        if result["harms"] or result["losses"]:
            self.findings.append({"fault": self.fault.key, "seed": seed, "harms": result["harms"],
                                  "losses": result["losses"], "folder": result["folder"]})

    def as_json(self):
        return {"family": self.fault.family, "fault": self.fault.name, "attempts": self.attempts, "harmed": self.harmed,
                "lost": self.lost, "skipped": self.skipped, "seconds": round(self.seconds, 1), "findings": self.findings}


class Progress:
    """One line on a terminal."""

    def __init__(self, faults):
        self.faults, self.next, self.shown = faults, 0.0, False
        self.on = sys.stderr.isatty()

    def show(self, rows, running, left_s):
        if not self.on or time.monotonic() < self.next:
            return
        self.next = time.monotonic() + 0.5
        done = sum(r.attempts for r in rows.values())
        bad = sum(r.harmed + r.lost for r in rows.values())
        sys.stderr.write("\r\033[K%d attempts, %d harmed or lost, %d s left: %s" % (
            done, bad, max(0, left_s), ", ".join(r.fault.key for r in running))[:150])
        sys.stderr.flush()
        self.shown = True

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.shown = False


def print_result(running, result):
    """A harm or a loss, with the way to repeat it."""
    bad = [("harmed", text) for text in result["harms"]] + [("lost", text) for text in result["losses"]]
    for word, text in bad[:6]:
        print("%s: %s: %s" % (word, running.fault.key, text[:700]))
    if bad:
        print("  repeat: scripts/torture --repeat '%s:%d'   kept: %s" % (running.fault.key, running.seed, result["folder"]),
              flush=True)


def counted(rows):
    return (sum(r.attempts for r in rows), sum(r.harmed for r in rows), sum(r.lost for r in rows),
            sum(bool(r.skipped) for r in rows))


def finish(rows, arguments):
    """The table; returns the exit status."""
    width = max(len(r.fault.name) for r in rows)
    print("%-10s %-*s %8s %7s %5s %8s" % ("family", width, "fault", "attempts", "harmed", "lost", "seconds"))
    for r in sorted(rows, key=lambda r: r.fault.family):
        note = "  SKIPPED: " + r.skipped if r.skipped else "" if r.attempts else "  not reached in this time"
        print("%-10s %-*s %8d %7d %5d %8.1f%s" % (r.fault.family, width, r.fault.name, r.attempts, r.harmed, r.lost, r.seconds,
                                                 note))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"seed": arguments.seed, "rows": [r.as_json() for r in rows]}, file, indent=1)
    numbers = counted(rows)
    print("%d attempts, %d harmed, %d lost, %d skipped" % numbers)
    return 0 if numbers[0] + numbers[3] > 0 and numbers[1] == numbers[2] == 0 else 1
