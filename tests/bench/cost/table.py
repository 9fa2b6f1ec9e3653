#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the cost table of docs/overhead.md from what `cost_bench.py --json` wrote: a row of ours with its peers beside it.

usage: table.py FILE.json..."""

import json
import sys

PEER = "  beside it: "


def figure(row):
    if row["median"] is None:
        return row["note"] or "nothing measured"
    form = "%.3f (%.3f to %.3f)" if row["unit"] == "x" else "%.4g (%.4g to %.4g) " + row["unit"]
    return form % (row["median"], row["lower_quartile"], row["upper_quartile"])


def records(row):
    if row["recorded"] is None:
        return ""
    return "%s of %s, %s" % tuple("{:,}".format(row[key] or 0) for key in ("recorded", "expected", "dropped"))


def lines(rows):
    """Markdown rows; a peer stands in the last cell of the row before it."""
    out = []
    for row in rows:
        if row["case"].startswith(PEER):
            peer = row["case"][len(PEER):].split(",")[0] + " " + figure(row)
            out[-1][-1] = (out[-1][-1] + "; " if out[-1][-1] else "") + peer
            continue
        measured = figure(row)
        if row["verdict"].startswith("MISSED"):
            measured = "**" + measured + "**" + row["verdict"][len("MISSED"):]
        out.append([row["case"] + (" (" + row["note"] + ")" if row["note"] and row["median"] is not None else ""),
                    row["goal"], measured, str(row["pairs"]), records(row), ""])
    return out


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| case | goal | median (middle half) | pairs | recorded of expected, dropped | beside it |")
    print("|---|---|---|---|---|---|")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for line in lines(json.load(file)["rows"]):
                print("| " + " | ".join(line) + " |")


main()
