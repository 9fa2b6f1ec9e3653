# SPDX-License-Identifier: Apache-2.0
"""The one table: part, row, result, expected, verdict."""

import collections

from part import FAILED, NOT_ASKED, OK, SIMULATED


def cell(text):
    return " ".join(str(text).split()).replace("|", "/")


def verdict(row):
    return row.verdict + (": " + cell(row.why) if row.why else "")


def lines(rows, simulated):
    head = ["part", "row", "result" + (" " + SIMULATED if simulated else ""), "expected", "verdict"]
    body = [[row.part, row.name, row.result, row.expected, verdict(row)] for row in rows]
    cells = [[cell(text) for text in line] for line in [head] + body]
    widths = [max(len(line[column]) for line in cells) for column in (0, 1)]
    for number, (part, name, *others) in enumerate(cells):
        yield "| %-*s | %-*s | %s |" % (widths[0], part, widths[1], name, " | ".join(others))
        if number == 0:
            yield "|---|---|---|---|---|"


def last_line(rows, seconds, simulated):
    counts = collections.Counter(row.verdict for row in rows)
    return "%d ok, %d FAILED, %d not asked, in %.0f s%s" % (
        counts[OK], counts[FAILED], counts[NOT_ASKED], seconds, ", " + SIMULATED if simulated else "")
