# SPDX-License-Identifier: Apache-2.0
"""Whatever way the fakes came into a process, its trace and the summary say that the GPU is
simulated, and stderr says so once; nothing says so about a program that has no GPU.

usage: labels_test.py [--torch]    (with PyTorch, in both orders of gpuprof and gpusim-run)
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys

import e2e
import sim

SENTENCE = "the GPU is simulated"
LINE = "simulated GPU in use"
TRAIN = ["--steps", "10", "--kernels", "5", "--host-ms", "5", "--step-ms", "20"]
KILLED = ["--progress", "--kernels", "5", "--host-ms", "2", "--step-ms", "5"]
LONGER = (1, 10, 100)  # our processes may get no processor for as long as the shortest takes
ON_GPU = "import torch; x = torch.ones(64, 64, device='cuda'); (x @ x).sum().item()"


def record(folder, name, command, wrapper=()):
    """Runs `[wrapper] gpuprof run -- command`; (stderr, summary, traces)."""
    output, summary = os.path.join(folder, name), os.path.join(folder, name + ".json")
    env = {key: value for key, value in os.environ.items() if key != "GPUSIM_QUIET"}
    done = subprocess.run([*wrapper, e2e.GPUPROF, "run", "-o", output, "--summary-json", summary, "--", *command],
                          env=env, capture_output=True, text=True, timeout=600)
    expected = {}
    if os.path.exists(summary):
        with open(summary, encoding="utf-8") as file:
            expected = json.load(file)
    return done, expected, [e2e.load(path) for path in e2e.traces(output)]


def gpu_labels(trace):
    return [event["args"]["labels"] for event in trace["traceEvents"]
            if event["name"] == "process_labels" and event["args"]["labels"].startswith("GPU")]


def check_marked(checks, what, recorded, lines=1):
    done, expected, traces = recorded
    checks.equal(done.returncode, 0, what + ": exit status: " + done.stderr[-600:])
    checks.expect(SENTENCE in done.stderr, what + ": the summary says it: " + done.stderr[-600:])
    checks.equal(expected.get("simulated"), True, what + ": --summary-json")
    checks.equal(done.stderr.count(LINE), lines, what + ": lines at first device use")
    checks.expect(traces, what + ": there is a trace")
    for trace in traces:
        checks.equal(trace.get("simulated"), True, what + ": top level of the trace")
        checks.equal(trace["gpuprof"].get("simulated"), True, what + ": our part of the trace")
        for device in trace.get("deviceProperties", []):
            checks.expect(device["name"].startswith("Simulated GPU"), what + ": " + device["name"])
        for label in gpu_labels(trace):
            checks.expect(label.endswith("(simulated)"), what + ": row " + label)


def check_unmarked(checks, what, recorded):
    done, expected, traces = recorded
    checks.equal(done.returncode, 0, what + ": exit status: " + done.stderr[-600:])
    checks.expect("simulated" not in done.stderr, what + ": " + done.stderr)
    checks.equal(expected.get("simulated"), False, what + ": --summary-json")
    for trace in traces:
        checks.expect("simulated" not in trace and "simulated" not in trace["gpuprof"], what + ": trace")


def check_trainer(checks, folder):
    routes = {"library path": [], "preload": ["--preload"], "CUDA 11.8": ["--layout", "11.8"],
              "no CUPTI": ["--no-cupti"]}
    for name, options in routes.items():
        check_marked(checks, name, record(folder, name.replace(" ", "-"), sim.simulated(TRAIN, options)))
    check_marked(checks, "quiet", record(folder, "quiet", sim.simulated(TRAIN, ["--quiet"])), lines=0)
    check_marked(checks, "gpusim-run outside",
                 record(folder, "outside", [sim.TRAINER, *TRAIN], wrapper=[sim.GPUSIM_RUN, "--"]))
    check_recovered(checks, folder)
    check_doctor(checks)
    busy = [e2e.real_python(), "-c", "import time\nend = time.time() + 0.5\nwhile time.time() < end: pass"]
    check_unmarked(checks, "no GPU", record(folder, "none", busy))


def check_doctor(checks):
    done = subprocess.run([sim.GPUSIM_RUN, "--", e2e.GPUPROF, "doctor"], capture_output=True,
                          text=True, timeout=600)
    lines = [line for line in done.stdout.splitlines() if " driver " in line or " CUPTI " in line]
    checks.expect(any("simulated GPU with CUDA" in line for line in lines), "doctor: driver: " + done.stdout)
    checks.expect(any("(simulated)" in line for line in lines), "doctor: CUPTI: " + done.stdout)
    placeholders = [line for line in lines if "cannot use" in line and "/gpusim-" in line]
    checks.equal(placeholders, [], "doctor: no word about the placeholders")


def killed_session(output, expected, times):
    """What is reported about a session whose daemon is killed in the middle, and a copy of its spool, if there is one."""
    steps = ["--steps", str(300 * times)]
    program = subprocess.Popen(
        [e2e.GPUPROF, "run", "-o", output, "--summary-json", expected, "--", *sim.simulated([*steps, *KILLED])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # By step 50 the daemon has read of the devices.
    for line in program.stdout:
        words = line.split()
        if words[:1] == ["progress"] and int(words[words.index("steps") + 1]) >= 50 * times:
            break
    spool = kill_daemon(program.pid, output)
    kept = output + "-kept"
    if spool:
        shutil.copytree(spool, kept)
    _, stderr = program.communicate(timeout=600)
    return stderr, kept if spool else None


def check_recovered(checks, folder):
    """A session whose daemon was killed, and then `gpuprof export` of what it left."""
    for times in LONGER:
        output = os.path.join(folder, "killed%d" % times)
        expected = output + ".json"
        stderr, kept = killed_session(output, expected, times)
        if kept and SENTENCE in stderr:
            break
    checks.expect(SENTENCE in stderr, "killed daemon: the summary says it: " + stderr[-600:])
    if checks.expect(os.path.exists(expected), "killed daemon: --summary-json"):
        with open(expected, encoding="utf-8") as file:
            checks.equal(json.load(file)["simulated"], True, "killed daemon: --summary-json")
    if checks.expect(kept, "killed daemon: its spool"):
        done = subprocess.run([e2e.GPUPROF, "export", kept, "-o", os.path.join(folder, "exported")],
                              capture_output=True, text=True, timeout=600)
        checks.equal(done.returncode, 0, "export: " + done.stderr[-600:])
        checks.expect(SENTENCE in done.stderr, "export: the summary says it: " + done.stderr[-600:])


def kill_daemon(cli, output):
    """Kills the daemon that the command line `cli` started; the path of its spool."""
    for pid in map(int, open("/proc/%d/task/%d/children" % (cli, cli), encoding="utf-8").read().split()):
        with open("/proc/%d/comm" % pid, encoding="utf-8") as file:
            if file.read().strip() == "gpuprofd":
                os.kill(pid, signal.SIGKILL)
    return next(iter(glob.glob(os.path.join(output, ".gpuprof-spool*"))), None)


def check_torch(checks, folder):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
    import torch_runs
    command = [torch_runs.require_torch(), "-c", ON_GPU]
    check_marked(checks, "PyTorch", record(folder, "inside", [sim.GPUSIM_RUN, "--", *command]))
    check_marked(checks, "PyTorch, gpusim-run outside",
                 record(folder, "outside", command, wrapper=[sim.GPUSIM_RUN, "--"]))


def main():
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("labels") as folder:
        (check_torch if "--torch" in sys.argv else check_trainer)(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
