# SPDX-License-Identifier: Apache-2.0
"""Reads a pprof file by pprof's own description of its messages and prints sums as JSON.

usage: pprof_views.py FILE    (with the Python of .venvs/formats)

Prints {types, default, samples, totals: {type: sum}, leaves: {function: {type: sum}}, labels: {key: [value]}}.
Fails where pprof's reader would: numbers of texts, functions or locations that are not there, or there twice.
"""

import ast
import collections
import gzip
import importlib.util
import json
import os
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def profile_class():
    """From the description in the package austin: its own code is for older protobuf."""
    package = os.path.dirname(importlib.util.find_spec("austin").origin)
    with open(os.path.join(package, "format", "pprof", "profile_pb2.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = next(word.value.value for node in ast.walk(tree) if isinstance(node, ast.Call)
                 for word in node.keywords if word.arg == "serialized_pb")
    described = descriptor_pb2.FileDescriptorProto.FromString(found)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(described.package + ".Profile"))


def by_id(things):
    found = {thing.id: thing for thing in things}
    if len(found) != len(things) or 0 in found:
        raise ValueError("a number is there twice, or is 0")
    return found


def main():
    with gzip.open(sys.argv[1]) as file:
        profile = profile_class().FromString(file.read())
    texts = list(profile.string_table)
    if texts[0] != "" or len(set(texts)) != len(texts):
        raise ValueError("table of texts")
    functions, locations = by_id(profile.function), by_id(profile.location)
    types = [texts[one.type] for one in profile.sample_type]
    totals = collections.Counter()
    leaves = collections.defaultdict(collections.Counter)
    labels = collections.defaultdict(set)
    for sample in profile.sample:
        if len(sample.value) != len(types):
            raise ValueError("a sample with %d values" % len(sample.value))
        names = [texts[functions[line.function_id].name]
                 for number in sample.location_id for line in locations[number].line]
        for name, value in zip(types, sample.value):
            totals[name] += value
            leaves[names[0]][name] += value
        for label in sample.label:
            labels[texts[label.key]].add(texts[label.str] if label.str else label.num)
    json.dump({"types": types, "default": texts[profile.default_sample_type],
               "samples": len(profile.sample), "totals": totals, "leaves": leaves,
               "labels": {key: sorted(values) for key, values in labels.items()}}, sys.stdout)


if __name__ == "__main__":
    main()
