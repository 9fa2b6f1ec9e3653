# SPDX-License-Identifier: Apache-2.0
"""Checks a speedscope file by the rules of its format and prints sums as JSON.

usage: speedscope_views.py FILE    (with the Python of .venvs/formats)

Prints {profiles: {name: {weight, leaves: {frame: weight}}}}. What a schema cannot say is checked behind
it: as many weights as samples, frames that are there, weights that add up to the end.
"""

import collections
import json
import sys

import fastjsonschema

NUMBER = {"type": "number"}
UNITS = ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]
FRAME = {"type": "object", "required": ["name"],
         "properties": {"name": {"type": "string"}, "file": {"type": "string"}, "line": NUMBER, "col": NUMBER}}
SAMPLED = {"type": "object",
           "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
           "properties": {"type": {"enum": ["sampled"]}, "name": {"type": "string"}, "unit": {"enum": UNITS},
                          "startValue": NUMBER, "endValue": NUMBER,
                          "samples": {"type": "array", "items": {"type": "array", "items": NUMBER}},
                          "weights": {"type": "array", "items": NUMBER}}}
SCHEMA = {"type": "object", "required": ["$schema", "profiles", "shared"],
          "properties": {"$schema": {"enum": ["https://www.speedscope.app/file-format-schema.json"]},
                         "shared": {"type": "object", "required": ["frames"],
                                    "properties": {"frames": {"type": "array", "items": FRAME}}},
                         "profiles": {"type": "array", "items": SAMPLED},
                         "name": {"type": "string"}, "exporter": {"type": "string"},
                         "activeProfileIndex": NUMBER}}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        shown = json.load(file)
    fastjsonschema.validate(SCHEMA, shown)
    frames = [frame["name"] for frame in shown["shared"]["frames"]]
    found = {}
    for profile in shown["profiles"]:
        if len(profile["samples"]) != len(profile["weights"]):
            raise ValueError("%s: samples and weights" % profile["name"])
        if sum(profile["weights"]) != profile["endValue"] - profile["startValue"]:
            raise ValueError("%s: weights do not add up" % profile["name"])
        leaves = collections.Counter()
        for stack, weight in zip(profile["samples"], profile["weights"]):
            if min(stack) < 0:
                raise ValueError("%s: frame %d" % (profile["name"], min(stack)))
            leaves[[frames[index] for index in stack][-1]] += weight
        found[profile["name"]] = {"weight": sum(profile["weights"]), "leaves": leaves}
    json.dump({"profiles": found}, sys.stdout)


if __name__ == "__main__":
    main()
