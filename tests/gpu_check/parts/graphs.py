# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: node by node, as wholes, and the steps of a training that is captured and replayed."""

import os

import processes
import traces
from context import ZOO, last_json
from part import Part, checked_row, not_asked, info_row

REPLAYS, NODES, STEPS = 40, 50, 20


def nodes_of(seen):
    return [one for one in seen.of("kernel") if one.args.get("graph node id")]


def by_nodes(context):
    recording = context.record("graphs-node", context.driver("graph", "--steps", REPLAYS, "--nodes", NODES), "--cuda-graph",
                               "node", keep=True)
    seen = recording.trace()
    printed = last_json(recording.done.out).get("counts", {}).get("gpu_check_empty", 0)
    found, (there, work, _) = len(nodes_of(seen)), traces.linked(seen)
    return checked_row("--cuda-graph node", found == printed > 0 and there == work, "%d nodes, linked %d of %d" % (found, there, work),
                 "%d nodes, the program's count" % (REPLAYS * NODES), recording.done.last_lines(), nodes=found)


def as_wholes(context):
    recording = context.record("graphs-graph", context.driver("graph", "--steps", REPLAYS, "--nodes", NODES), "--cuda-graph",
                               "graph")
    seen = recording.trace()
    wholes, (there, work, _) = len(seen.of("kernel")), traces.linked(seen)
    return checked_row("--cuda-graph graph", wholes == REPLAYS and not nodes_of(seen) and there == work,
                 "%d wholes, %d nodes, linked %d of %d" % (wholes, len(nodes_of(seen)), there, work),
                 "%d wholes, 0 nodes" % REPLAYS, recording.done.last_lines(), wholes=wholes)


def made_before(context):
    """A graph that was there before anybody recorded: what its nodes lack is reported."""
    out = context.path("traces", "graphs-before", "files")
    command = [context.gpuprof, "run", "--armed", "--", *context.driver("replaying", "--nodes", NODES)]
    with processes.Program(command) as program:
        done = context.cli("capture", program.pid, "-d", "500ms", "--cuda-graph", "node", "-o", out)
        program.end(20 * context.patience)
    seen = traces.read(traces.paths(out))
    kernels, (there, work, _) = seen.of("kernel"), traces.linked(seen)
    nameless, shapeless = sum(not one.name for one in kernels), sum(not one.args.get("grid") for one in kernels)
    text = "%d kernels, %d of them nodes, %d without a name, %d without a shape, linked %d of %d" % (
        len(kernels), len(nodes_of(seen)), nameless, shapeless, there, work)
    return info_row("made before the window", text + ("" if work else ": " + done.last_lines()), kernels=len(kernels))


def steps(context):
    lacks = context.lacks("torch")
    if lacks:
        return not_asked("steps of a captured training", lacks)
    script = [context.python, os.path.join(ZOO, "cuda_graph.py"), "--steps", str(STEPS)]
    recording = context.record("graphs-training", script, keep=True)
    seen = recording.trace()
    # The first or the last replay may be seen in part only.
    good = STEPS - 2 <= len(seen.steps) <= STEPS and bool(nodes_of(seen))
    return checked_row("steps of a captured training", good, "%d steps, %d nodes" % (len(seen.steps), len(nodes_of(seen))),
                 "%d replays, nodes" % STEPS, recording.done.last_lines(), steps=len(seen.steps))


def run(context):
    yield from context.each(lambda question: question(context), (by_nodes, as_wholes, made_before, steps))


PART = Part("graphs", "CUDA graphs in both modes", 50, (), run)
