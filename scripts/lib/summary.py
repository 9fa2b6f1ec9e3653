#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what scripts/test ran and prints the table, the failures and the last line.

usage: summary.py FOLDER, which holds own.tsv (name, state, seconds), NAME.junit from ctest and
NAME.cases/TEST.xml where a test program reported its own cases.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

STATES = ("passed", "failed", "skipped")
FAILURE = r"FAILED|Failure$|ERROR: |WARNING: ThreadSanitizer|Traceback|[Tt]imeout"
MOST_LINES, LAST_LINES, MOST_COLUMNS = 32, 16, 300
# ctest's words for a test in its JUnit file.
CTEST = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}


def cases(path):
    """[(case, state)] of a GoogleTest (or JUnit) result file; empty if it cannot be read."""
    try:
        tree = xml.parse(path)
    except (OSError, xml.ParseError):
        return []
    found = []
    for case in tree.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            state = "failed"
        elif case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed") \
                or case.get("status") == "notrun":
            state = "skipped"
        else:
            state = "passed"
        found.append((f"{case.get('classname', '')}.{case.get('name')}", state))
    return found


def output_lines(test):
    """What a failed test printed about it: the lines that name a failure and what follows each, and its last."""
    output = [line.rstrip() for line in (test.findtext("system-out") or "").splitlines() if line.strip()]
    found = {i + k for i, line in enumerate(output) if re.search(FAILURE, line) for k in range(4)}
    # The last lines too: a Python program names its error there.
    last = range(max(0, len(output) - LAST_LINES), len(output))
    first = [i for i in sorted(found) if i < last.start][:MOST_LINES - len(last)]
    return [output[i][:MOST_COLUMNS] for i in [*first, *last]]


def group(junit, failures):
    """(rows, seconds) of one ctest run: rows are (test, state). `failures`: {test: what it printed}."""
    rows, seconds = [], 0.0
    for test in xml.parse(junit).iter("testcase"):
        name = test.get("name")
        seconds += float(test.get("time") or 0)
        state = CTEST.get(test.get("status"), "failed")
        # A test that could not be started also reads "notrun".
        skipped = test.find("skipped")
        if state == "skipped" and skipped is not None and \
                "unable to find executable" in (skipped.get("message") or "").lower():
            state = "failed"
        if state == "failed":
            failures[name] = output_lines(test)
        inner = cases(junit.with_suffix(".cases") / f"{name}.xml")
        if state == "skipped" or not inner:
            rows.append((name, state))
            continue
        rows += [(f"{name}: {case}", result) for case, result in inner]
        if state == "failed" and not any(result == "failed" for _, result in inner):
            rows.append((name, "failed"))  # it crashed, or ran out of time
    return rows, seconds


def main():
    folder = pathlib.Path(sys.argv[1])
    groups, failures = [], {}
    own = folder / "own.tsv"
    if own.exists():
        lines = [line.split("\t") for line in own.read_text().splitlines()]
        groups.append(("checks", [(name, state) for name, state, _ in lines],
                       sum(int(seconds) for *_, seconds in lines)))
    for junit in sorted(folder.glob("*.junit")):
        groups.append((junit.stem, *group(junit, failures)))

    print(f"\n{'':12}{'passed':>8}{'failed':>8}{'skipped':>8}{'seconds':>9}")
    total = dict.fromkeys(STATES, 0)
    for name, rows, seconds in groups:
        count = {state: sum(result == state for _, result in rows) for state in STATES}
        print(f"{name:12}" + "".join(f"{count[state]:8}" for state in STATES) + f"{seconds:9.0f}")
        for state in STATES:
            total[state] += count[state]
    for wanted in ("skipped", "failed"):
        for name, rows, _ in groups:
            for test, state in rows:
                if state == wanted:
                    print(f"{wanted}: {name}: {test}")
    for test, lines in failures.items():
        print(f"{test} said:", *lines, sep="\n    ")
    print(f"logs: {folder}")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
