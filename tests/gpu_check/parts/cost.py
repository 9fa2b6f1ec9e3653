# SPDX-License-Identifier: Apache-2.0
"""What recording costs a step, within one process: it is captured for a moment again and again, torch.profiler has its
turn in the same process, and each window is held against the steps before and behind it."""

import os
import statistics
import subprocess
import sys
import time

import processes
from context import ROOT, lost_of, load_summary
from part import OK, Part, Row, checked_row, info_row

sys.path.insert(0, os.path.join(ROOT, "tests", "bench", "cost"))
import figures  # noqa: E402

WINDOW_S = 0.4
EDGE_NS = 15_000_000  # what switching does to its own steps is not the cost of recording
ROUNDS, SIMULATED = 6, 1
SECONDS = 40  # the round that is under way then is the last one
NOISE = 0.1  # two windows of one process differ by as much
NAMES = ["--no-record-shapes", "--no-with-stack", "--no-with-modules", "--no-profile-memory"]
MODES = {"kernels": ["-t", "cuda", "--no-with-stack"], "operators": ["-t", "cuda,torch", *NAMES], "everything": []}
CALLED = {"kernels": "kernels", "operators": "+ operators", "everything": "everything"}
PEER = "torch.profiler"


class Turns:
    """One process, its windows in turn with quiet stretches between."""

    def __init__(self, context, torch):
        self.context, self.file, self.torch = context, context.path("cost", "steps.json"), torch
        program = "torch_steps.py" if torch else "driver_steps.py"
        command = [context.gpuprof, "run", "--armed", "--", *context.on_gpu(context.program(program, "timed", self.file))]
        self.program = processes.Program(command, stdin=subprocess.PIPE)
        self.turns, self.quiet, self.since, self.trouble = [], [], time.monotonic_ns(), ""

    def rest(self):
        time.sleep(WINDOW_S)
        self.quiet.append((self.since, time.monotonic_ns()))

    def profiled_window(self, mode):
        self.rest()
        summary = self.context.path("cost", "summary.json")
        done = self.context.cli("capture", self.program.pid, "-q", "-f", "-o", self.context.path("cost", "traces", ""),
                                "--summary-json", summary, "-d", "%dms" % (WINDOW_S * 1e3), "--max-overhead", "off", *MODES[mode])
        results = load_summary(summary)
        for window in results.get("windows", [])[:1]:
            self.turns.append(((mode, "gpuprof"), (window["start_ns"], window["end_ns"]), lost_of(results)))
        self.trouble = self.trouble or (done.last_lines() if done.status else "")
        self.over(bool(results.get("windows")))

    def peer(self, mode):
        self.rest()
        self.program.process.stdin.write("profile %s %g\n" % (mode, WINDOW_S))
        self.program.process.stdin.flush()
        self.program.process.stdout.readline()
        self.turns.append(((mode, PEER), None, ""))  # the program knows when
        self.over(True)

    def over(self, counted):
        self.since = time.monotonic_ns() + 2 * EDGE_NS
        if not counted:
            self.quiet.pop()

    def ratios(self, written):
        """{(mode, who): ratios of steps within to those around}."""
        steps = figures.Steps(written["began_ns"], written["breaks"])
        own, found = iter(written["windows"]), {}
        for number, (who, window, _) in enumerate(self.turns):
            start, end = window or next(own)
            inner = [(start + EDGE_NS, end - EDGE_NS)]
            for within, around in figures.against_neighbours(steps, inner, self.quiet[number:number + 2]):
                found.setdefault(who, []).append(within / around)
        return found, steps


def spread(ratios):
    if len(ratios) < 2:
        return "%.3f" % ratios[0] if ratios else "none"
    low, middle, high = statistics.quantiles(ratios, n=4)
    return "%.3f (%.3f to %.3f) of %d windows" % (middle, low, high, len(ratios))


def row(mode, ratios, simulated):
    own_ratios, peer = ratios.get((mode, "gpuprof"), []), ratios.get((mode, PEER), [])
    text = spread(own_ratios) + ("; torch.profiler %s" % spread(peer) if peer else "")
    if simulated:
        return Row(CALLED[mode], "recorded: %d; times are not measured" % len(own_ratios), "not judged", OK)
    if not own_ratios:
        return checked_row(CALLED[mode], False, text, "steps in a window and around it")
    if not peer:
        return info_row(CALLED[mode], text, ratio=statistics.median(own_ratios))
    middle, other = statistics.median(own_ratios), statistics.median(peer)
    return checked_row(CALLED[mode], middle <= other + NOISE, text, "no more than torch.profiler and %g" % NOISE, ratio=middle,
                       peer=other)


def take_turns(context, turns):
    end = time.monotonic() + SECONDS * context.patience
    for _ in range(SIMULATED if context.simulated else ROUNDS):
        if time.monotonic() > end:
            break
        for mode in MODES:
            turns.profiled_window(mode)
            if turns.torch:
                turns.peer(mode)
            if not turns.program.alive():
                return
    turns.rest()


def run(context):
    torch = context.lacks("torch") is None
    turns = Turns(context, torch)
    with turns.program as program:
        take_turns(context, turns)
        program.end(20 * context.patience)
    written = load_summary(turns.file)
    if not written or turns.trouble:
        yield checked_row("one process", False, "no times" if not written else "a capture failed", "times of its steps", turns.trouble)
        return
    ratios, steps = turns.ratios(written)
    if not context.simulated:
        lengths = [end - start for start, end in zip(steps.began, steps.began[1:])]
        yield info_row("a step alone", "%.3f ms in the middle of %d; %s" % (
            statistics.median(lengths) / 1e6, len(lengths), "PyTorch" if torch else "100 launches of the driver API"))
    for mode in MODES if torch or context.simulated else ("kernels", "everything"):
        yield row(mode, ratios, context.simulated)
    lost = [drops for _, _, drops in turns.turns if drops]
    yield checked_row("drops in these windows", not lost or context.simulated, "; ".join(lost) or "none",
                      "none" if not context.simulated else "not judged")
    if written["stop_ns"]:
        yield info_row("torch.profiler's stops", "%.2f s in the middle" % (statistics.median(written["stop_ns"]) / 1e9))


PART = Part("cost", "a step recorded and not recorded, in turn, in one process", 75, (), run)
