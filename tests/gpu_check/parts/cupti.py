# SPDX-License-Identifier: Apache-2.0
"""Copies of CUPTI of several releases, each in a folder of its own below `cupti/`: all counts right with each."""

import glob
import os

import traces
from context import ROOT, last_json
from part import Part, checked_row, not_asked
from parts.witness import EXPECTED, against_program, totals

LAYOUTS = ("11.8", "12.4", "13.0")


def row(name, recording, wanted=None):
    seen = recording.trace()
    counts = last_json(recording.done.out).get("counts", {})
    bad = against_program(seen, counts) if counts else ["the program told nothing: " + recording.done.last_lines()]
    there, work, amid = traces.linked(seen)
    if amid:
        bad.append("%d without a call" % amid)
    path = seen.fact("cupti_path")
    if wanted and os.path.realpath(path) != os.path.realpath(wanted):
        bad.append("taken was %s" % (path or "none"))
    text = "%s, API %s, linked %d of %d" % (totals(seen), seen.fact("cupti_version") or "unknown", there, work)
    return checked_row(name, not bad, text, EXPECTED.split(", 0 before")[0], "; ".join(bad))


def copies():
    """{release: library}: the folder's name says which."""
    found = sorted(glob.glob(os.path.join(ROOT, "cupti", "*", "libcupti.so.*")), reverse=True)
    return {os.path.basename(os.path.dirname(path)): path for path in found}


def by_layout(context, layout):
    command = context.driver("work", "--steps", 10, sim_options=("--layout", layout))
    return row("layout " + layout, context.record("cupti-" + layout, command))


def by_copy(context, release, path):
    # Only for the program: what looks for CUPTI is the library in it.
    command = ["env", "LD_LIBRARY_PATH=" + os.path.dirname(path), *context.driver("work", "--steps", 20)]
    return row("CUPTI " + release, context.record("cupti-" + release, command), path)


def run(context):
    if context.simulated:
        yield from context.each(lambda layout: by_layout(context, layout), LAYOUTS)
        return
    found = copies()
    if not found:
        yield not_asked("releases", "no copies in the folder cupti")
    yield from context.each(lambda release: by_copy(context, release, found[release]), found)


PART = Part("cupti", "copies of CUPTI of several releases", 40, (), run)
