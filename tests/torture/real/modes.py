# SPDX-License-Identifier: Apache-2.0
"""Runs a command plain, under `gpuprof run`, or with `gpuprof attach` while it works.

Promises: the command is started alike in each mode: own session, stdin empty, output to one file."""

import collections
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "lib"))
import e2e  # noqa: E402
from outcome import Outcome  # noqa: E402

RATE_HZ = "1000"
SHORT_S = 0.2


@dataclasses.dataclass
class Job:
    """A command to run. `env` stands for the whole environment."""
    argv: list
    cwd: str
    env: dict
    timeout_s: float = 600
    attach_s: float = 2.0   # length of every other recording by attach; those between are short
    between_s: float = 1.0  # from one attach to the next


def run(job, folder, mode):
    """Runs `job` once; `folder` is empty and for what gpuprof writes. Returns an Outcome without tests."""
    os.makedirs(folder, exist_ok=True)
    output_path = os.path.join(folder, "said")
    summary = os.path.join(folder, "summary.json")
    prefix = [e2e.GPUPROF, "run", "--rate", RATE_HZ, "-q", "--summary-json", summary, "-o",
              os.path.join(folder, "traces"), "--"] if mode == "run" else []
    outcome = Outcome()
    began = time.monotonic()
    with open(output_path, "wb") as output:
        process = subprocess.Popen(prefix + job.argv, cwd=job.cwd, env=job.env, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            if mode == "attach":
                Attacher(job, folder, outcome).until_ends(process, began)
            outcome.status = process.wait(max(1.0, job.timeout_s - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            outcome.status = end(process)
            outcome.trouble = f"still running after {job.timeout_s:.0f} s"
    outcome.wall_s = time.monotonic() - began
    with open(output_path, "rb") as output:
        outcome.output = output.read().decode("utf-8", "replace")
    if mode == "run":
        outcome.samples = samples(summary, outcome)
    return outcome


def end(process):
    """Ends a command that does not end, with its descendants, from the bottom."""
    for pid in reversed([process.pid, *descendants(process.pid)]):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return process.wait()


def samples(summary, outcome):
    """Stack samples that a summary reports; none, or no summary, is trouble of gpuprof."""
    try:
        with open(summary, encoding="utf-8") as file:
            results = json.load(file)
    except (OSError, ValueError) as error:
        outcome.trouble = f"no summary: {error}"
        return 0
    return counted(results)


def counted(results):
    """Samples in a summary of gpuprof's."""
    return results.get("overhead", {}).get("samples", 0)


def processes():
    """{pid: (parent, CPU time in ticks)} of all there are."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            found[int(name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    return found


def descendants(root, table=None):
    """Processes below `root`, parents before children."""
    table = processes() if table is None else table
    children = collections.defaultdict(list)
    for pid, (parent, _) in table.items():
        children[parent].append(pid)
    found, rest = [], [root]
    while rest:
        rest[:0] = children[(pid := rest.pop())]
        found.append(pid)
    return found[1:]


class Attacher:
    """Attaches to the busiest process of a command, again and again; each fourth time to the command itself."""

    def __init__(self, job, folder, outcome):
        self.job, self.folder, self.outcome = job, folder, outcome
        self.turn = 0
        self.before = {}

    def until_ends(self, process, began):
        pause = min(0.3, self.job.between_s)
        while not self.ended(process, pause):
            if time.monotonic() - began > self.job.timeout_s:
                raise subprocess.TimeoutExpired(self.job.argv, self.job.timeout_s)
            pid = self.pick(process.pid)
            pause = self.job.between_s if self.attach(pid, process) else min(0.3, self.job.between_s)

    @staticmethod
    def ended(process, pause):
        try:
            process.wait(pause)
            return True
        except subprocess.TimeoutExpired:
            return False

    def pick(self, root):
        table = processes()
        below = [pid for pid in descendants(root, table) if pid in table]
        used = {pid: table[pid][1] - self.before.get(pid, 0) for pid in below}
        self.before = {pid: row[1] for pid, row in table.items()}
        if not below or self.turn % 4 == 3:
            return root
        return max(used, key=used.get)

    def attach(self, pid, process):
        """Records `pid` once. A refusal in a message is no harm and is counted; returns whether it recorded."""
        self.turn += 1
        length_s = self.job.attach_s if self.turn % 2 else min(SHORT_S, self.job.attach_s)
        summary = os.path.join(self.folder, "attach.json")
        argv = [e2e.GPUPROF, "attach", "--rate", RATE_HZ, "-q", "-d", f"{length_s:g}s", "-f",
                "--summary-json", summary, "-o", os.path.join(self.folder, "attached"), str(pid)]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  timeout=self.job.attach_s + 120)
        except subprocess.TimeoutExpired:
            self.outcome.trouble = f"attach to {pid} did not end"
            return False
        if done.returncode == 0:
            self.outcome.attached += 1
            self.outcome.samples += samples(summary, self.outcome)
            return True
        message = (done.stderr.strip().splitlines() or ["nothing said"])[0].replace(str(pid), "PID")
        self.outcome.refused[message] = self.outcome.refused.get(message, 0) + 1
        if done.returncode != 125 and process.poll() is None:
            self.outcome.trouble = f"attach ended with {done.returncode}: {message}"
        return False
