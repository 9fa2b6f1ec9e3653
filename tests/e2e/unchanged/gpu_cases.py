# SPDX-License-Identifier: Apache-2.0
"""Programs on the simulated GPU that must not notice gpuprof: C++ ones, and PyTorch where it is there."""

import os
import sys

import e2e

RUN = [os.path.join(e2e.SIMGPU, "gpusim-run"), "--quiet"]
TRAINER = os.path.join(e2e.SIMGPU, "sim_trainer")
SMALL = ["--steps", "6", "--kernels", "12", "--host-ms", "1"]
WIDE = SMALL + ["--threads", "3", "--devices", "2", "--graph-nodes", "4", "--streams", "3"]

MODEL = r"""
import os, signal, sys, threading, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
def steps(n):
    for i in range(n):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("step", n, tuple(loss.shape), loss.device, flush=True)
steps(5)
"""

# How PyTorch programs end: name, what follows the training.
ENDINGS = {
    "return": "steps(5)\n",
    "exception": "raise RuntimeError('as asked')\n",
    "os-exit": "os._exit(7)\n",
    "exit-in-thread": "t = threading.Thread(target=lambda: sys.exit(5)); t.start(); t.join(); steps(2)\n",
    "sigterm": "os.kill(os.getpid(), signal.SIGTERM)\nsteps(1)\n",
    "keyboard-interrupt": "os.kill(os.getpid(), signal.SIGINT)\nsteps(1)\n",
    "pending-work": "for i in range(200): model(torch.randn(64, 64, device='cuda'))\nos._exit(0)\n",
    "fork-without-exec": """
pid = os.fork()
if pid == 0:
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        print("child:", str(error).splitlines()[0], flush=True)
    os._exit(3)
print("child ended with", os.waitpid(pid, 0)[1] >> 8)
steps(3)
""",
    "out-of-memory": """
try:
    torch.empty(1 << 50, device="cuda")
except torch.OutOfMemoryError as error:
    print("no memory:", "out of memory" in str(error))
steps(2)
""",
    "spawn": "",
}

# The ranks print in turn: nothing else orders them, and the first to fail ends the others.
SPAWN = r"""
import sys, time, torch, torch.multiprocessing as mp
def work(rank, printed):
    torch.cuda.set_device(rank)
    x = torch.randn(64, 64, device="cuda")
    for i in range(20): x = x @ x
    torch.cuda.synchronize()
    if rank == 1: printed.wait()
    print("rank", rank, x.device, flush=True)
    if rank == 1: sys.exit(4)
    printed.set()
    time.sleep(60)  # until it is terminated, as the other one has failed
if __name__ == "__main__":
    try:
        mp.spawn(work, (mp.get_context("spawn").Event(),), nprocs=2, join=True)
    except Exception as error:
        print(type(error).__name__)
"""

# A rank ends by an exception while the process group lives.
GROUP = r"""
import os, sys, torch, torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(1000, device="cuda")
for i in range(5): dist.all_reduce(x)
torch.cuda.synchronize()
print("reduced", flush=True)
raise ValueError("as asked, with a live process group")
"""


def simulated(arguments, options=()):
    return RUN + list(options) + ["--"] + list(arguments)


def cases():
    """Yields (name, argv, options) of the C++ programs."""
    for how in ("return", "exit", "_exit", "abort", "kill", "exception"):
        yield "gpu-" + how, simulated([TRAINER] + WIDE + ["--exit", how]), {"needs": TRAINER}
    yield "gpu-helpers", simulated([TRAINER] + SMALL + ["--helpers", "3"]), {"needs": TRAINER}
    yield "gpu-forks-late", simulated([TRAINER] + SMALL + ["--helpers", "3", "--helpers-late"]), {
        "needs": TRAINER}
    yield "gpu-no-sync", simulated([TRAINER] + SMALL + ["--no-sync", "--exit", "_exit"]), {
        "needs": TRAINER}
    yield "gpu-own-profiler", simulated(
        [TRAINER] + SMALL + ["--profile-from", "2", "--profile-until", "4"], ["--preload"]), {
            "needs": TRAINER}
    yield "gpu-slot-taken", simulated([TRAINER] + SMALL, ["--slot-taken", "another"]), {
        "needs": TRAINER}
    yield "gpu-stub-driver", simulated([TRAINER] + SMALL, ["--stub"]), {"needs": TRAINER}
    for scenario in ("flush-hangs", "complete-on-app-thread", "names-freed", "tsc-clock:1", "abba"):
        yield "gpu-" + scenario.partition(":")[0], simulated(
            [TRAINER] + SMALL, ["--scenario", scenario]), {"needs": TRAINER}


def torch_cases(python, scratch):
    """Yields (name, argv, options) of PyTorch programs, run by `python`."""
    for name, ending in ENDINGS.items():
        path = os.path.join(scratch, "torch_%s.py" % name)
        with open(path, "w", encoding="utf-8") as script:
            script.write(SPAWN if name == "spawn" else MODEL + ending)
        yield "torch-" + name, simulated([python, path]), {}
    path = os.path.join(scratch, "torch_group.py")
    with open(path, "w", encoding="utf-8") as script:
        script.write(GROUP)
    # One rank: the launcher's own report of the failure names times and ports.
    yield "torch-group-exception", simulated([python, path]), {
        "env": {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": "29517"}}


def torch_python():
    """An interpreter whose PyTorch the fakes were built for, or None."""
    found = os.environ.get("GPUPROF_TORCH_PYTHON") or os.path.join(
        e2e.SOURCE, ".venvs", "torch", "bin", "python")
    fake = os.path.join(e2e.BUILD, "simgpu", "lib", "gpusim_cudnn.so")
    return found if os.path.exists(found) and os.path.exists(fake) else None


if __name__ == "__main__":
    sys.exit("this file is used by unchanged_test.py")
