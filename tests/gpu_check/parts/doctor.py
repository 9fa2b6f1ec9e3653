# SPDX-License-Identifier: Apache-2.0
"""gpuprof doctor's answer, and what it sees of a small program that it records."""

import json

from part import Part, judged, told

TRIED = "try"
WANTED = ("driver", "CUPTI")  # without either nothing of a GPU is recorded


def run(context):
    done = context.run(context.on_gpu([context.gpuprof, "doctor", "--try", "--json"]), 30)
    try:
        findings = json.loads(done.out)["findings"]
    except (ValueError, KeyError):
        findings = []
    yield judged("runs can be recorded", done.status == 0, "exit status %s" % done.status, "0", done.words())
    for topic in WANTED:
        said = [one for one in findings if one["topic"] == topic]
        good = any(one["health"] == "ok" for one in said)
        # The first is the copy that would be taken.
        sentence = said[0]["sentence"] if said else "nothing said"
        if topic == "CUPTI" and context.lacks("torch") is None:
            yield told(topic, sentence)  # a framework brings its own, of which doctor knows nothing
        else:
            yield judged(topic, good, sentence, "ok", "doctor: %s" % said)
    for one in findings:
        if one["topic"].startswith(TRIED):
            yield judged(one["topic"], one["health"] in ("ok", "limited"), one["sentence"], "seen to work", one["health"])
        elif one["health"] != "ok" and one["topic"] not in WANTED:
            yield told(one["topic"], "%s: %s" % (one["health"], one["sentence"]))


PART = Part("doctor", "what gpuprof doctor says", 40, (), run)
