# SPDX-License-Identifier: Apache-2.0
"""Trainings whose steps are timed from inside, for the measurements beside this file.

usage: training.py MODEL DEVICE TIMES [--steps N] [--peer PROFILER --windows N | --whole PROFILER]

MODEL: mlp, conv, transformer, launches (100 additions in place). Runs until SIGTERM, or N steps. At the end
TIMES holds, as JSON, when each step began (`began_ns`, CLOCK_MONOTONIC, one more than steps), and what torch.profiler
counts in one step (`operators`, `kernels`, `memory`). With --peer the program switches torch.profiler on
and off by itself, 0.2 s each, and `windows` says when it was on, `stop_ns` how long each stop took. What no recording can
do without is a peer, too: `callback` is a callback of PyTorch's that does nothing, `signals-HZ` a perf event and a
handler that does nothing; both come from the libraries in --libraries."""

import argparse
import array
import contextlib
import ctypes
import json
import os
import signal
import time

import torch

WARM = 30
PHASE_NS = 200_000_000  # of torch.profiler, whose stop takes many times as long
LAUNCHES = 100
PEERS = {
    "device": lambda on_gpu: {"activities": [torch.profiler.ProfilerActivity.CUDA]},
    "names": lambda on_gpu: {"activities": activities(on_gpu)},
    "all": lambda on_gpu: {"activities": activities(on_gpu), "record_shapes": True, "with_stack": True,
                           "with_modules": True, "profile_memory": True},
}


def activities(on_gpu):
    kinds = torch.profiler.ProfilerActivity
    return [kinds.CPU, kinds.CUDA] if on_gpu else [kinds.CPU]


class EmptyCallback:
    """Called by PyTorch for each operator, and does nothing."""

    def __init__(self, folder):
        self.library = ctypes.CDLL(os.path.join(folder, "liboperators_harness.so"))
        self.library.operators_on(2, 0)  # finds PyTorch's functions
        self.library.operators_off()

    def start(self):
        self.library.operators_empty(1, 0)

    def stop(self):
        self.library.operators_empty(0, 0)


class EmptySignals:
    """A perf event's signals to this thread, and a handler that does nothing."""

    def __init__(self, folder, rate_hz):
        self.library, self.rate_hz = ctypes.CDLL(os.path.join(folder, "libtrigger_harness.so")), rate_hz

    def start(self):
        if self.library.trigger_start(self.rate_hz) != 0:
            raise OSError("perf events are not allowed here")

    def stop(self):
        self.library.trigger_stop()


def maker_of(name, on_gpu, folder):
    """What makes the next one that is switched on and off."""
    if name == "callback":
        empty = EmptyCallback(folder)
        return lambda: empty
    if name is not None and name.startswith("signals-"):
        signals = EmptySignals(folder, int(name.split("-")[1]))
        return lambda: signals
    return lambda: torch.profiler.profile(**PEERS[name](on_gpu))


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(width, width, 3, padding=1), torch.nn.BatchNorm2d(width), torch.nn.ReLU(),
            torch.nn.Conv2d(width, width, 3, padding=1), torch.nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu(x + self.body(x))


def network(name):
    """(model, inputs, targets, optimizer's class) of a training."""
    if name == "mlp":
        model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
        return model, torch.randn(8, 32), torch.randint(0, 4, (8,)), torch.optim.SGD
    if name == "conv":
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), Residual(16), torch.nn.MaxPool2d(2),
                                    Residual(16), torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 16, 10))
        return model, torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,)), torch.optim.SGD
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0.1)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Flatten(),
                                torch.nn.Linear(32 * 256, 10))
    return model, torch.randn(4, 32, 256), torch.randint(0, 10, (4,)), torch.optim.Adam


def step_of(name, device):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if name == "launches":
        value = torch.zeros(8, device=device)

        def launch():
            for _ in range(LAUNCHES):
                value.add_(1)
        return launch
    model, inputs, targets, kind = network(name)
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    optimizer = kind(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    return step


class Peer:
    """Something else that records, on and off in turn."""

    def __init__(self, name, make, count):
        self.name, self.make, self.count = name, make, count
        self.over = False  # so many windows, and off again for as long as before each
        self.windows, self.stop_ns = [], []
        self.profiler, self.since = None, time.monotonic_ns()

    def look(self, now):
        """Between two steps; True where something was switched."""
        if self.name is None or now - self.since < PHASE_NS:
            return False
        self.over = self.profiler is None and len(self.stop_ns) == self.count
        if self.over:
            return False
        if self.profiler is None:
            self.profiler = self.make()
            self.profiler.start()
        else:
            began = time.monotonic_ns()
            self.windows.append((self.since, began))
            self.profiler.stop()
            self.stop_ns.append(time.monotonic_ns() - began)
            self.profiler = None
        self.since = time.monotonic_ns()
        return True


def scratch():
    return "%s.%d" % (os.environ.get("COST_SCRATCH", "/tmp/gpuprof-cost"), os.getpid())


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024


def counts_of(step, on_gpu):
    """What one step consists of, by torch.profiler."""
    with torch.profiler.profile(activities=activities(on_gpu), profile_memory=True) as profiler:
        step()
    profiler.export_chrome_trace(scratch())
    with open(scratch(), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    os.unlink(scratch())
    kinds = [event.get("cat") for event in events]
    return {"operators": kinds.count("cpu_op") + kinds.count("user_annotation"),
            "kernels": sum(kinds.count(kind) for kind in ("kernel", "gpu_memcpy", "gpu_memset")),
            "memory": sum(event.get("name") == "[memory]" for event in events)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("device")
    parser.add_argument("times")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--peer", help=", ".join(PEERS) + ", callback or signals-HZ")
    parser.add_argument("--libraries", help="folder of the libraries that do nothing")
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--whole", choices=sorted(PEERS), help="torch.profiler around all steps, exported")
    options = parser.parse_args()
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    step = step_of(options.model, options.device)
    on_gpu = options.device != "cpu"
    for _ in range(WARM):
        step()
    print(os.getpid(), flush=True)
    whole = torch.profiler.profile(**PEERS[options.whole](on_gpu)) if options.whole else None
    if whole:
        whole.start()
    began = array.array("q")
    breaks = []  # steps before which something was switched
    peer = Peer(options.peer, maker_of(options.peer, on_gpu, options.libraries), options.windows)
    most = options.steps or float("inf")
    while not ended and len(began) < most and not peer.over:
        began.append(time.monotonic_ns())
        step()
        if peer.look(time.monotonic_ns()):
            breaks.append(len(began))
    began.append(time.monotonic_ns())
    if whole:
        whole.stop()
        whole.export_chrome_trace(scratch())
        os.unlink(scratch())
    peak = peak_bytes()
    counts = {}
    with contextlib.suppress(RuntimeError):
        counts = counts_of(step, on_gpu)
    with open(options.times, "w", encoding="utf-8") as file:
        json.dump(dict(counts, began_ns=began.tolist(), breaks=breaks, windows=peer.windows,
                       stop_ns=peer.stop_ns, peak_bytes=peak), file)


main()
