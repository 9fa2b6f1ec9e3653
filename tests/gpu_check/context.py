# SPDX-License-Identifier: Apache-2.0
"""What the parts are given: where things are, what this machine has, and how to run and record a program."""

import concurrent.futures
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import sys

import processes
import traces

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(HERE, "programs")
ZOO = os.path.join(ROOT, "tests", "e2e", "simgpu", "zoo")
# What a summary says where threads of gpuprof had no processor while the program went on: judged again.
STARVED = re.compile(r"continued before recording began|had not begun to record|did not begin to record|CUPTI was enabled late|"
                     r"final flush did not finish|no CUPTI buffer left|lost because a ring buffer was full")
TRIES = 5
# Of what a summary counts as lost: records, and not what samples, names or stacks lack.
RECORDS_LOST = ("ring full", "no ring left for the thread", "record too long", "dropped by CUPTI", "GPU record with invalid times",
                "GPU record not finished", "CUPTI buffer cut short at a record of unknown kind", "no CUPTI buffer left",
                "ring damaged", "record of unknown kind", "spool could not be written", "record too short",
                "GPU record without a clock")
KEPT_BYTES, KEPT_EACH, KEPT_OTHERS = 12 << 20, 3 << 20, 256 << 10
MODULES = {"jax": "JAX", "cupy": "CuPy", "triton": "Triton"}


@dataclasses.dataclass
class Recording:
    done: processes.Completed
    files: list
    summary: dict

    def trace(self):
        return traces.read(self.files)

    def lost(self):
        """What the summary counts as dropped, on one line."""
        return lost_of(self.summary) or "none"


def lost_of(summary):
    """Records that a summary counts as lost: "" if none."""
    reasons = summary.get("drops_by_reason", {})
    return ", ".join("%d %s" % (reasons[reason], reason) for reason in RECORDS_LOST if reasons.get(reason))


def torch_cuda():
    """CUDA version of the PyTorch here, without importing it; "" if there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return ""
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
            found = re.search(r"^cuda.*= '([0-9.]+)'", file.read(), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def version_of(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


class Context:
    def __init__(self, build, simulated, folder, patience=1.0, times=None):
        self.build, self.simulated, self.folder, self.patience = build, simulated, folder, patience
        self.gpuprof = os.path.join(build, "bin", "gpuprof")
        self.simulator = os.path.join(build, "simgpu", "bin")
        self.python = sys.executable
        self.times = times or (2 if simulated else 10)
        # On a machine with processors to spare programs that nobody times run beside each other.
        self.jobs = 1 if simulated else max(1, min(4, len(os.sched_getaffinity(0)) // 4))

    def lacks(self, need):
        """Why something cannot be asked here; None: it can."""
        if need == "torch":
            return None if torch_cuda() and not self.simulated else "no PyTorch for CUDA"
        if need in MODULES:
            there = importlib.util.find_spec(need) is not None and not self.simulated
            return None if there else "no %s for CUDA" % MODULES[need]
        if need == "attach":
            return self.refuses_attach()
        return None

    def refuses_attach(self):
        try:
            with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
                scope = int(file.read())
        except OSError:
            return None
        return "Yama forbids it here (ptrace_scope %d)" % scope if scope > (2 if os.geteuid() == 0 else 0) else None

    def path(self, *names):
        """Below the working folder, which is there."""
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def on_gpu(self, command, *sim_options):
        """The command as it is started: on the simulated GPU by its launcher."""
        if not self.simulated:
            return command
        return [os.path.join(self.simulator, "gpusim-run"), "--quiet", "--pytorch", "no", "--devices", "1", *sim_options,
                "--", *command]

    def program(self, name, *arguments):
        """A Python program beside this file."""
        return [self.python, os.path.join(PROGRAMS, name), *map(str, arguments)]

    def driver(self, *arguments, sim_options=()):
        return self.on_gpu(self.program("driver_app.py", *arguments), *sim_options)

    def training(self):
        """A training that goes on until SIGTERM and prints its process id first."""
        if self.simulated:
            command = [os.path.join(self.simulator, "sim_trainer"), "--forever", "--step-ms", "10"]
            return ["sh", "-c", 'echo $$; exec "$@"', "sh", *self.on_gpu(command)]
        if self.lacks("torch") is None:
            return self.program("torch_steps.py", "forever")
        return self.driver("forever")

    def run(self, command, limit_s, **keywords):
        return processes.run(command, limit_s * self.patience, **keywords)

    def cli(self, *words, limit_s=30, **keywords):
        return self.run([self.gpuprof, *map(str, words)], limit_s, **keywords)

    def record(self, name, command, *options, limit_s=60, keep=False):
        """`gpuprof run` of a command; on the simulated GPU, whose machine may be busy, again where gpuprof was starved."""
        out, summary = self.path("traces", name, "files"), self.path("traces", name, "summary.json")
        for _ in range(TRIES if self.simulated else 1):
            shutil.rmtree(out, ignore_errors=True)
            done = self.cli("run", "-o", out, "--summary-json", summary, *options, "--", *command, limit_s=limit_s)
            if done.hung or not STARVED.search(done.err):
                break
        self.keep(*traces.paths(out), most=KEPT_EACH if keep else KEPT_OTHERS)
        return Recording(done, traces.paths(out), load_summary(summary))

    def keep(self, *files, most=KEPT_EACH):
        """Puts small traces where they are returned from."""
        for path in files:
            target = self.path("kept", os.path.relpath(path, self.folder).replace(os.sep, "-"))
            there = sum(entry.stat().st_size for entry in os.scandir(os.path.dirname(target)))
            if os.path.getsize(path) <= min(most, KEPT_BYTES - there):
                shutil.copyfile(path, target)

    def each(self, function, items):
        """Results in order, several at a time where the machine allows."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(function, items)


def load_summary(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def last_json(text):
    """The last line of a program's output, as JSON; {} if it is none."""
    try:
        return json.loads(text.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {}
