# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to a Jupyter kernel while cells run: samples and operators name the cell's file and
line, the loop in a cell is the step, interrupting works during and after, a second cell is recorded by
capture and a third by another attach, and the kernel answers to the end.

usage: notebook_test.py"""

import concurrent.futures
import os
import re
import subprocess
import sys
import time

import attached
import e2e
import live
import torch_trace

FILE = "import inspect\nprint(inspect.currentframe().f_code.co_filename)\n"
MODEL = '''import time
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
'''
TRAINING = FILE + '''until = time.monotonic() + 600
while time.monotonic() < until:
    optimizer.zero_grad()
    model(torch.randn(16, 64)).square().mean().backward()
    optimizer.step()
    sum(i * i for i in range(20000))
print("trained")
'''
LOOP_LINE, FORWARD_LINE = 4, 6
FEW_STEPS = 5
ENDLESS = FILE + "while True:\n    sum(i * i for i in range(20000))\n"


def python_with_notebook():
    """(interpreter with PyTorch, ipykernel and nbclient; folder to add to its path or "")."""
    for python in (os.environ.get("GPUPROF_TORCH_PYTHON"),
                   os.path.join(e2e.SOURCE, ".venvs", "torch", "bin", "python"), e2e.real_python()):
        if not python or not os.path.exists(python):
            continue
        version = subprocess.run([python, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
                                 capture_output=True, text=True).stdout.strip()
        more = os.path.join(e2e.SOURCE, ".venvs", "programs", "lib", version, "site-packages")
        for added in ("", more):
            env = dict(os.environ, PYTHONPATH=os.environ.get("PYTHONPATH", "") + os.pathsep + added)
            if subprocess.run([python, "-c", "import torch, ipykernel, nbclient"], env=env,
                              capture_output=True).returncode == 0:
                return python, added
    return e2e.skip("no python here has PyTorch, ipykernel and nbclient (scripts/setup --programs "
                    "installs the last two)")


class Notebook:
    """A kernel with a client, cells of which run in the background."""

    def __init__(self, folder):
        # The client's sockets belong to the thread that opens them.
        self.executor = concurrent.futures.ThreadPoolExecutor(max_workers=1)
        self.executor.submit(self._open, folder).result()
        self.pid = int(self.run("import os\nprint(os.getpid())")[0])

    def _open(self, folder):
        import nbformat
        from jupyter_client import KernelManager
        from jupyter_client.kernelspec import KernelSpec
        from nbclient import NotebookClient
        self.manager = KernelManager(connection_file=os.path.join(folder, "kernel.json"))
        self.manager._kernel_spec = KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="tested", language="python")
        self.new_cell, self.book = nbformat.v4.new_code_cell, nbformat.v4.new_notebook()
        self.client = NotebookClient(self.book, km=self.manager, timeout=600, allow_errors=True)
        self.client.start_new_kernel(stderr=subprocess.DEVNULL)
        self.client.start_new_kernel_client()

    def start(self, text):
        """Begins to run a cell: (the cell, its Future)."""
        cell = self.new_cell(text)
        self.book.cells.append(cell)
        return cell, self.executor.submit(self.client.execute_cell, cell, len(self.book.cells) - 1)

    def run(self, text):
        """What a cell printed and what it raised."""
        return self.finish(self.start(text))

    @staticmethod
    def finish(started):
        cell, future = started
        future.result(e2e.PATIENCE_S)
        printed = "".join(o.get("text", "") for o in cell.outputs if o.output_type == "stream")
        errors = [o for o in cell.outputs if o.output_type == "error"]
        for error in errors:
            print("a cell raised %s: %s" % (error.ename, error.evalue), flush=True)
        return printed, [error.ename for error in errors]

    @staticmethod
    def running(started):
        """The cell's own file, once it runs."""
        cell, _ = started
        attached.wait_until(lambda: cell.outputs)
        time.sleep(0.5)
        return cell.outputs[0]["text"].split()[0]

    def close(self):
        self.executor.submit(self.manager.shutdown_kernel, now=True).result()


def sampled(paths, file):
    """Lines of a cell among sampled frames."""
    lines = set()
    for path in paths:
        for event in e2e.load(path)["traceEvents"]:
            found = re.search(re.escape(file) + r"\((\d+)\)", str(event.get("name")))
            if found and event.get("ph") == "B":
                lines.add(int(found.group(1)))
    return sorted(lines)


def check_training(checks, what, recording, file):
    """Operators and samples name the cell, its loop is the step."""
    if not checks.equal((recording.status, len(recording.paths)), (0, 1), what + ": " + recording.stderr):
        return
    trace = torch_trace.read_gpuprof(recording.paths)
    forward = [op for op in trace.operators if op.name == "aten::linear" or op.name == "aten::addmm"]
    named = sum("%s(%d)" % (file, FORWARD_LINE) in op.args.get("Call stack", "") for op in forward)
    lines = sampled(recording.paths, file)
    steps = {step.args.get("where") for step in trace.steps}
    print("%s: %d of %d operators of the model name line %d of the cell, samples name its lines %s, %d steps: "
          "%s" % (what, named, len(forward), FORWARD_LINE, lines, len(trace.steps), steps), flush=True)
    checks.expect(forward and named >= 0.95 * len(forward), what + ": operators name the cell")
    checks.expect(set(lines) & set(range(LOOP_LINE, LOOP_LINE + 5)), what + ": samples name the cell")
    checks.equal((len(trace.steps) > FEW_STEPS, steps), (True, {"%s:%d" % (file, LOOP_LINE)}), what + ": its loop")


def interrupt(checks, what, notebook, cell):
    began = time.monotonic()
    notebook.manager.interrupt_kernel()
    _, raised = notebook.finish(cell)
    print("%s: interrupted after %.0f ms: %s" % (what, 1000 * (time.monotonic() - began), raised), flush=True)
    checks.equal(raised, ["KeyboardInterrupt"], what + ": the cell was interrupted")
    checks.equal(notebook.run("print(6 * 7)"), ("42\n", []), what + ": the kernel answers")


def spans(checks, notebook, folder):
    """Three cells: attach --stay, capture, and attach again."""
    pid = str(notebook.pid)
    for what, words in (("attach --stay", ["attach", "--stay", pid]), ("capture", ["capture", pid]),
                        ("attach again", ["attach", pid])):
        if what == "attach again":
            checks.equal(attached.cli("detach", pid).status, 0, "detach")
            checks.equal(notebook.run("print(1 + 1)"), ("2\n", []), "the kernel answers after detach")
        cell = notebook.start(TRAINING)
        file = notebook.running(cell)
        recording = attached.record_until(lambda one: len(torch_trace.read_gpuprof(one.paths).steps) > FEW_STEPS, 1.5, words,
                                          os.path.join(folder, what.replace(" ", "-")))
        interrupt(checks, what, notebook, cell)
        check_training(checks, what, recording, file)


def interrupted(checks, notebook, folder):
    """An interrupt while we record ends the cell, not the recording."""
    cell = notebook.start(ENDLESS)
    file = notebook.running(cell)
    command = attached.recording_for(2, ["attach"], notebook.pid, os.path.join(folder, "interrupted"))
    live.let_run(notebook.pid, 0.5, 0.1)
    interrupt(checks, "during", notebook, cell)
    recording = command.finish()
    checks.equal((recording.status, len(recording.paths)), (0, 1), "interrupted: " + recording.stderr)
    checks.expect(sampled(recording.paths, file), "interrupted: samples name the cell")
    cell = notebook.start(ENDLESS)
    notebook.running(cell)
    interrupt(checks, "after", notebook, cell)


def main():
    if os.environ.get("GPUPROF_TEST_NOTEBOOK") is None:
        attached.require_attach()
        python, more = python_with_notebook()
        path = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH"), more) if p)
        os.execve(python, [python, os.path.abspath(__file__), *sys.argv[1:]], attached.environment(
            GPUPROF_TEST_NOTEBOOK="1", PYTHONPATH=path, CUDA_VISIBLE_DEVICES=""))
    checks = e2e.Checks()
    with e2e.Folder("attach-notebook") as folder:
        notebook = Notebook(folder)
        try:
            checks.equal(notebook.run(MODEL), ("", []), "the model")
            spans(checks, notebook, folder)
            interrupted(checks, notebook, folder)
            checks.equal(notebook.run("print(model(torch.zeros(1, 64)).shape)")[1], [], "what a cell made is there")
        finally:
            notebook.close()
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
