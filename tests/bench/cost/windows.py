# SPDX-License-Identifier: Apache-2.0
"""What recording costs a step, from within one process: it runs armed, is captured again and again, and each window is
held against the steps before and behind it. Two processes of one program differ by more than most of what is
measured here; two halves of a second of one process do not."""

import json
import os
import shutil
import signal
import subprocess
import time

import figures

HERE = os.path.dirname(os.path.abspath(__file__))
WINDOW = 0.4  # seconds; as long as the quiet stretches
# What switching on and off does to its own steps is a row of its own.
EDGE_NS = 15_000_000
LONGEST_PEER = 240  # seconds; it is ended then, and what it did until then is taken
# Two processes of one program differ by where their memory came to lie, so a row's pairs come from several.
PROCESSES = 3
# glibc gives a heap that is empty at its top back at the end of each step and takes it again in the next one, or does not: that
# makes the steps of one process up to a third longer than another's, and any recording changes which.
STEADY_HEAP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
               "MALLOC_TOP_PAD_": str(1 << 26)}


class Place:
    """What is measured with: the build, an interpreter with PyTorch, a folder."""

    def __init__(self, build, python, folder):
        self.build, self.python, self.folder = build, python, folder
        self.gpuprof = os.path.join(build, "bin", "gpuprof")
        self.simulator = os.path.join(build, "simgpu", "bin", "gpusim-run")
        beside = os.path.join(os.path.dirname(python), "py-spy")
        self.py_spy = beside if os.path.exists(beside) else shutil.which("py-spy")

    def training(self, model, device, times, *more):
        """Command of the training; on the simulated GPU its host is what limits it."""
        command = [self.python, os.path.join(HERE, "training.py"), model, device, times, *more]
        if device == "cpu":
            return command
        cost = ["--api-cost", "0us"] if model == "launches" else []
        return [self.simulator, "--quiet", "--time-scale", "0.01", *cost, "--"] + command

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self):
        return dict(os.environ, COST_SCRATCH=self.path("counts"), **STEADY_HEAP)


class Program:
    """A training in the background; gone, with its times read, at the end."""

    def __init__(self, place, command, times):
        self.times, self.place = times, place
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL,
                                        env=place.environment())
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the training did not start: " + " ".join(command))
        self.pid = int(line)

    def end(self):
        """What training.py wrote at its end."""
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
        self.process.communicate(timeout=120)
        with open(self.times, encoding="utf-8") as file:
            return json.load(file)


class Captured:
    """The windows of one process, and what was recorded in them."""

    def __init__(self):
        self.windows, self.quiet, self.stops = [], [], []
        self.recorded, self.drops, self.events = {}, {}, 0

    def add(self, told, began_ns, ended_ns):
        for window in told["windows"]:
            self.windows.append((window["start_ns"], window["end_ns"]))
            self.stops.append(ended_ns - window["end_ns"])
        for kind, count in told["events_by_kind"].items():
            self.recorded[kind] = self.recorded.get(kind, 0) + count
        for reason, count in told["drops_by_reason"].items():
            self.drops[reason] = self.drops.get(reason, 0) + count
        self.events += sum(entry["events"] for entry in told["files"])


def capture(place, model, device, options, times):
    """(Captured, what the training wrote) of so many windows."""
    path = place.path("times.json")
    command = [place.gpuprof, "run", "--armed", "--"] + place.training(model, device, path)
    program, captured = Program(place, command, path), Captured()
    summary, output = place.path("summary.json"), place.path("traces")
    try:
        quiet_since = time.monotonic_ns()
        for _ in range(times):
            time.sleep(WINDOW)
            now = time.monotonic_ns()
            captured.quiet.append((quiet_since, now))
            subprocess.run([place.gpuprof, "capture", str(program.pid), "-q", "-f", "-o", output, "--summary-json", summary,
                            "--duration", "%dms" % (WINDOW * 1e3), "--max-overhead", "off", *options],
                           check=True, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            ended = time.monotonic_ns()
            with open(summary, encoding="utf-8") as file:
                captured.add(json.load(file), now, ended)
            subprocess.run(["rm", "-rf", output], check=True)
            quiet_since = ended + 2 * EDGE_NS
        time.sleep(WINDOW)
        captured.quiet.append((quiet_since, time.monotonic_ns()))
    finally:
        written = program.end()
    return captured, written


def ratios(steps, windows, quiet):
    inner = [(start + EDGE_NS, end - EDGE_NS) for start, end in windows]
    return [within / around for within, around in figures.against_neighbours(steps, inner, quiet)]


def peer_windows(place, model, device, peer, times):
    """(Steps, windows, quiet stretches, what was written) of a training that torch.profiler records in turn."""
    path = place.path("times.json")
    program = Program(place, place.training(model, device, path, "--peer", peer, "--windows", str(times), "--libraries",
                                            os.path.join(place.build, "bench")), path)
    try:
        program.process.wait(LONGEST_PEER)
    except subprocess.TimeoutExpired:
        pass
    written = program.end()
    steps = figures.Steps(written["began_ns"], written["breaks"])
    windows = [tuple(window) for window in written["windows"]]
    ends = [end + stop + EDGE_NS for (_, end), stop in zip(windows, written["stop_ns"])]
    quiet = list(zip([written["began_ns"][0]] + ends,
                     [start - EDGE_NS for start, _ in windows] + [written["began_ns"][-1]]))
    return steps, windows, quiet, written
