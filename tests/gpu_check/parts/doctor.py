# SPDX-License-Identifier: Apache-2.0
"""gpuprof doctor's answer, and what it sees of a small program that it records."""

import json

from part import Part, checked_row, info_row

TRIED = "try"
WANTED = ("driver", "CUPTI")  # without either nothing of a GPU is recorded


def run(context):
    done = context.run(context.on_gpu([context.gpuprof, "doctor", "--try", "--json"]), 30)
    try:
        findings = json.loads(done.out)["findings"]
    except (ValueError, KeyError):
        findings = []
    yield checked_row("runs can be recorded", done.status == 0, "exit status %s" % done.status, "0", done.last_lines())
    for topic in WANTED:
        matching = [one for one in findings if one["topic"] == topic]
        good = any(one["health"] == "ok" for one in matching)
        # The first is the copy that would be taken.
        sentence = matching[0]["sentence"] if matching else "nothing said"
        if topic == "CUPTI" and context.lacks("torch") is None:
            yield info_row(topic, sentence)  # a framework brings its own, of which doctor knows nothing
        else:
            yield checked_row(topic, good, sentence, "ok", "doctor: %s" % matching)
    for one in findings:
        if one["topic"].startswith(TRIED):
            yield checked_row(one["topic"], one["health"] in ("ok", "limited"), one["sentence"], "seen to work", one["health"])
        elif one["health"] != "ok" and one["topic"] not in WANTED:
            yield info_row(one["topic"], "%s: %s" % (one["health"], one["sentence"]))


PART = Part("doctor", "what gpuprof doctor says", 40, (), run)
