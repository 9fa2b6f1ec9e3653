# SPDX-License-Identifier: Apache-2.0
"""Windows counted in steps of a PyTorch training that runs already: captured, attached to, refused between
windows of somebody's schedule."""

import os
import subprocess

import e2e
import live
import torch_trace

# Steps take 20 ms and more; the first ones are over before it says that it runs.
TRAINING = """
import os, time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.ones(8, 64)).sum().backward()
        optimizer.step()
        if step == 5:
            print(os.getpid(), flush=True)
        time.sleep(0.02)
train(100000)
"""
WINDOW = ("--active", "3")


def torch_python():
    for python in (os.environ.get("GPUPROF_TORCH_PYTHON"),
                   os.path.join(e2e.SOURCE, ".venvs", "torch", "bin", "python"), e2e.real_python()):
        if python and os.path.exists(python) and subprocess.run(
                [python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


def whole_steps(checks, path, what):
    trace = torch_trace.read_gpuprof([path])
    checks.equal(len(trace.steps), 3, what + ": steps")
    for before, after in zip(trace.steps, trace.steps[1:]):
        checks.equal(after.label, before.label + 1, what + ": consecutive")
    for step in trace.steps:
        inside = [op for op in trace.operators if step.start <= op.start and op.end <= step.end]
        names = {op.name for op in inside}
        checks.expect({"aten::linear", "aten::sum"} <= names and any("Optimizer.step" in name for name in names),
                      "%s: step %d is whole: %r" % (what, step.label, sorted(names)[:20]))


def captured(checks, folder, python):
    with live.Program(live.prefix("--armed") + [python, "-c", TRAINING]) as program:
        live.wait_until_armed(program.pid)
        for number in (1, 2):
            done = live.cli("capture", program.pid, *WINDOW, "-o", os.path.join(folder, "capture-%d" % number))
            paths = done.stdout.split()
            if checks.equal((done.returncode, len(paths)), (0, 1), "capture %d: %s" % (number, done.stderr)):
                whole_steps(checks, paths[0], "capture %d" % number)
        row = live.wait_until_armed(program.pid)
        checks.expect(row and "torch" in row["can_record"], "status knows of PyTorch: %r" % row)


def attached(checks, folder, python):
    with live.Program([python, "-c", TRAINING]) as program:
        before = live.threads(program.pid), live.descriptors(program.pid)
        done = live.cli("attach", program.pid, *WINDOW, "-o", os.path.join(folder, "attach"))
        paths = done.stdout.split()
        if checks.equal((done.returncode, len(paths)), (0, 1), "attach: " + done.stderr):
            whole_steps(checks, paths[0], "attach")
            checks.expect("PyTorch's memory on the CPU is not recorded" in done.stderr, done.stderr)
        live.check_detached(checks, program.pid, before, "after attach")
        status, out, errors = program.end()
        checks.equal((status, out, errors), (-15, "", ""), "PyTorch says nothing of us")


def between_windows(checks, folder, python):
    """A run that waits for its next window is not taken from whoever started it."""
    out = os.path.join(folder, "run")
    schedule = ["--wait", "100000", *WINDOW]
    with live.Program(live.prefix("-o", out, *schedule) + [python, "-c", TRAINING]) as program:
        row = live.wait_for(lambda: (live.status().get(program.pid) or {}).get("state") == "counting")
        checks.expect(row, "it counts steps: %r" % live.status().get(program.pid))
        for command in ("capture", "attach"):
            done = live.cli(command, program.pid, *WINDOW, cwd=folder)
            checks.expect(done.returncode == 125 and "is already being recorded" in done.stderr, done.stderr)
        row = live.status()[program.pid]
        checks.equal((row["state"], row["in_session"]), ("counting", True), "it goes on counting")
        checks.expect(row["steps"] > 0, "steps: %r" % row)


def main():
    python = torch_python()
    if python is None:
        e2e.skip("no python here can import torch (scripts/setup --torch installs one)")
    checks = e2e.Checks()
    for case in (captured, attached, between_windows):
        with e2e.Folder("attach-steps") as folder:
            case(checks, folder, python)
    checks.done()


if __name__ == "__main__":
    main()
