# SPDX-License-Identifier: Apache-2.0
"""Family gpu, on the simulated GPU: every awkward behaviour of CUPTI, and other profilers in the program."""

import os
import re
import subprocess
import time

import e2e
import faults_test
import pythons
import sim
import staged
from attempt import Result, Skip, load_json, require_files
from fault import add, fault
from faults_kill import run_e2e_test
from trace_facts import Facts

SCENARIOS = os.path.join(e2e.SOURCE, "tests", "simgpu", "core", "scenarios.hpp")
FUNCTIONS = os.path.join(e2e.SOURCE, "inject", "cupti", "library", "api.hpp")
# Nothing of the GPU is lost by these, so all kernels must be in the file.
LOSSLESS = {"shuffled", "gpu-before-api", "api-late", "gpu-late", "empty-buffer", "complete-on-new-thread",
            "complete-on-app-thread", "complete-two-at-once", "names-freed", "nested-driver", "request-reentered",
            "request-during-exit", "null-buffer-abort", "two-copies", "graph-2000", "abba", "orphan-gpu"}
# Arguments that make the behaviour show in half a second.
ARGUMENTS = {"tsc-clock": [50, 100, 200], "realtime-step": [50, 100, 200], "flush-hangs": [1, 2, 5], "pool-limit": [20, 50],
             "dropped": [1, 7, 50], "zero-times": [2, 10], "end-before-start": [2, 10], "orphan-api": [2, 10],
             "orphan-gpu": [2, 10], "dup-correlation": [2, 10], "unknown-kind": [1, 20], "complete-after-shutdown": [1, 50, 200]}
LAYOUTS = ["11.8", "12.4", "12.9", "13.0", "13.2", "future"]
EXTRAS = [[], ["--devices", "2"], ["--streams", "5"], ["--copies", "3"], ["--helpers", "2"], ["--helpers", "2", "--helpers-late"],
          ["--exit", "_exit"], ["--exit", "exit"]]
CODES = [12, 15, 35, 39, 999]
LOST = "kernels: got|steps are there"


def listed(path, pattern):
    try:
        with open(path, encoding="utf-8") as file:
            return re.findall(pattern, file.read())
    except OSError:
        return []


def scenarios():
    return listed(SCENARIOS, r'\{"([a-z0-9-]+)", \d+,')


def functions():
    return listed(FUNCTIONS, r"X\((cupti\w+)\)")


def with_argument(attempt, name):
    return name + (":%d" % attempt.random.choice(ARGUMENTS[name]) if name in ARGUMENTS else "")


def row(attempt, options, wants_kernels=None, words=()):
    """Ten steps with gpuprof and without: faults_test judges; the program's shape is chosen by chance."""
    require_files(sim.TRAINER, sim.GPUSIM_RUN)
    faults_test.TRAIN = ["--steps", "10", "--kernels", "10", "--host-ms", "5", "--step-ms", "30", *attempt.random.choice(EXTRAS)]
    print(options, faults_test.TRAIN, flush=True)
    out = attempt.path("out")
    faults_test.cupti_row(attempt, out, "row", options, words, wants_kernels)
    attempt.read_traces(out)


def scenario(name):
    def body(attempt):
        layout = attempt.random.choice([[], [], ["--layout", attempt.random.choice(LAYOUTS)]])
        more = ["--preload"] if name == "two-copies" else []
        row(attempt, ["--scenario", with_argument(attempt, name), *layout, *more], True if name in LOSSLESS and not layout else None)
    return body


for _name in scenarios():
    add("gpu", _name, scenario(_name), lost=LOST, quick=_name == "shuffled")


@fault("gpu", "Python ends under a thread that launches")
def ending(attempt):
    work = os.path.join(e2e.BUILD, "ending", "work.so")
    program = os.path.join(e2e.SOURCE, "tests", "e2e", "ending", "programs", "ending.py")
    require_files(work, sim.GPUSIM_RUN)
    python = attempt.random.choice(pythons.supported_interpreters())
    options = attempt.random.choice([[], ["--rate", "0"], ["--rate", "1000"]])
    print(python, options, flush=True)
    attempt.unchanged([sim.GPUSIM_RUN, "--quiet", "--", python, program, work, "launches"], options)


@fault("gpu", "several scenarios at once", lost=LOST)
def several(attempt):
    # A CUPTI that hangs in the program's own calls, or is not found, is by itself.
    names = [n for n in scenarios() if n not in ("wrong-soname", "two-copies", "disable-hangs", "fork-flush-hangs")]
    chosen = attempt.random.sample(names, attempt.random.randint(2, 4))
    row(attempt, ["--scenario", ",".join(with_argument(attempt, n) for n in chosen)])


@fault("gpu", "calls fail: 12, 15, 35, 39, 999", lost=LOST)
def errors(attempt):
    rows = ["%s:%s:%d" % (attempt.random.choice(functions()), attempt.random.choice(["1", "2", "3", "1+", "2+", "*"]),
                          attempt.random.choice(CODES)) for _ in range(attempt.random.choice([1, 1, 2]))]
    row(attempt, ["--errors", ",".join(rows)])


@fault("gpu", "symbols missing", lost=LOST)
def missing(attempt):
    row(attempt, ["--missing", ",".join(attempt.random.sample(functions(), attempt.random.choice([1, 1, 3])))])


@fault("gpu", "releases of CUPTI", lost=LOST)
def layouts(attempt):
    row(attempt, ["--layout", attempt.random.choice(LAYOUTS)], True)


@fault("gpu", "correlation ids wrap", lost=LOST)
def wraps(attempt):
    row(attempt, ["--correlation-start", str(2 ** 32 - attempt.random.randint(1, 300))])


@fault("gpu", "64 threads", lost=LOST)
def threads(attempt):
    """Each with a buffer of its own, a quarter full."""
    arguments = ["--steps", "10", "--kernels", "6", "--host-ms", "1", "--step-ms", "30", "--threads", "64"]
    plain, profiled = sim.run_plain(arguments), sim.run(["-o", attempt.path("out")], arguments)
    attempt.equal((profiled.returncode, profiled.stdout), (plain.returncode, plain.stdout), "status and output")
    traces = [Facts(t) for t in attempt.read_traces(attempt.path("out"))]
    got, wanted = sum(len(f.kernels) for f in traces), int(re.search(rb"result kernels (\d+)", plain.stdout)[1])
    if got != wanted and not any(t.trace["gpuprof"]["dropped"] for t in traces):
        attempt.lose("%d of %d kernels, and nothing is said to be dropped" % (got, wanted))


# -- other profilers ---------------------------------------------------------------------------------------------------
def own_profiler(attempt, length):
    begin = attempt.random.randint(0, length // 2)
    words = ["--profile-from", str(begin), "--profile-until", str(attempt.random.randint(begin + 1, length))]
    return words + attempt.random.choice([[], ["--profile-keeps-kernels"]])


@fault("gpu", "foreign subscriber before us", lost=LOST)
def before(attempt):
    row(attempt, ["--slot-taken", "Nsight Test"], False, ["Nsight Test"])


@fault("gpu", "foreign subscriber during")
def during(attempt):
    """A client of CUPTI that subscribes while we record hears of every kernel it hears of alone."""
    client = os.path.join(e2e.SIMGPU, "sim_client")
    require_files(client)
    words = [sim.GPUSIM_RUN, "--quiet", *attempt.random.choice([[], ["--preload"]]), "--", client]
    profiled, plain = attempt.run(words), attempt.execute(words)
    attempt.equal(profiled.status, plain.status, "status")
    kernel_counts = [len(re.findall(rb"^kernel ", ran.out, re.MULTILINE)) for ran in (profiled, plain)]
    attempt.equal(kernel_counts[0], kernel_counts[1], "kernels that it hears of")
    attempt.expect(kernel_counts[1] > 0, "it hears of kernels without us")
    attempt.read_traces(profiled.folder)


@fault("gpu", "own profiler before, during, after", lost="records")
def own(attempt):
    words = sim.simulated(["--steps", "20", "--kernels", "12", "--step-ms", "20", *own_profiler(attempt, 20)], ["--quiet", "--preload"])
    attempt.unchanged(words)


OWN_RECORDS = rb"result own_profiler_kernels \d+\n"


def own_session(steps, layout="13.2"):
    """A program of three seconds that profiles itself in these steps; it finds CUPTI by dlsym."""
    return sim.simulated(["--steps", "200", "--kernels", "12", "--step-ms", "15", "--profile-from", str(steps[0]), "--profile-until",
                          str(steps[1])], ["--quiet", "--layout", layout])


@fault("gpu", "own profiler before and while attached")
def own_attached(attempt):
    """Its session is over when we come, or goes on: since CUDA 13.2 CUPTI tells of it."""
    attach_to(attempt, own_session(attempt.random.choice([(0, 5), (2, 10), (5, 190), (5, 200)])), 0.4)


@fault("gpu", "own profiler by dlsym begins while attached")
def own_begins(attempt):
    """Without a preload nobody stands between it and CUPTI: it is handed buffers that were ours, and
    loses records where our window ends within its session. The program does what it does."""
    attach_to(attempt, own_session((100, 150)), 1.0, ignore=OWN_RECORDS)


@fault("gpu", "own profiler by dlsym while attached before 13.2")
def own_unseen(attempt):
    """CUPTI does not tell of its session."""
    steps = attempt.random.choice([(5, 190), (60, 120)])
    attach_to(attempt, own_session(steps, "12.9"), 0.8, ignore=OWN_RECORDS)


def attach_to(attempt, words, after_s=None, ignore=None):
    """`ignore`: lines of its output that may differ."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(after_s or attempt.random.uniform(0.2, 1.5))
    summary, out = attempt.path("summary.json"), attempt.path("out")
    command = attempt.execute([e2e.GPUPROF, "attach", str(process.pid), "-d", "700ms", "-o", out, "--summary-json", summary], limit_s=40,
                              what="gpuprof attach")
    print(command.status, command.err.decode()[-800:], flush=True)
    try:
        stdout, stderr = process.communicate(timeout=40 * staged.patience())
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return attempt.harm("the program hangs after an attach")
    attempt.check_same_as_plain(Result(process.returncode, stdout, stderr, time.monotonic() - began), words, ignore=ignore)
    attempt.read_traces(out, len(load_json(summary).get("files", [])) or int(command.status == 0))


@fault("gpu", "a scenario, attached")
def scenario_attached(attempt):
    name = attempt.random.choice([n for n in scenarios() if n not in ("wrong-soname", "two-copies")])
    print("scenario: " + name, flush=True)
    attach_to(attempt, sim.simulated(["--steps", "150", "--kernels", "12", "--step-ms", "15"],
                                     ["--quiet", "--scenario", with_argument(attempt, name)]))


add("gpu", "graphs of 2,000 nodes", run_e2e_test("simgpu", "graphs_test.py", lost="nodes|slice"), limit_s=200)


def with_torch(suite, script, *words, cases=()):
    """A test that needs PyTorch's CUDA wheel; one of its cases by chance."""
    def body(attempt):
        if not os.environ.get("GPUPROF_TORCH_PYTHON"):
            raise Skip("no PyTorch (GPUPROF_TORCH_PYTHON names a Python that has one)")
        require_files(os.path.join(e2e.BUILD, "simgpu", "lib", "gpusim_cudnn.so"))
        chosen = ["--only", attempt.random.choice(cases)] if cases else []
        print(chosen, flush=True)
        run_e2e_test(suite, script, *words, *chosen, lost="miss|trace")(attempt)
    return body


add("gpu", "torch.profiler inside", with_torch("simgpu", "conflicts_test.py", cases=["twice", "teardown", "slot taken"]),
    limit_s=300)
add("gpu", "torch.profiler inside, attached", with_torch("attach_programs", "own_profiler_test.py", "--device", "cuda"), limit_s=300)
add("gpu", "torch.profiler inside, CPU only", with_torch("torch", "own_profiler_test.py"), limit_s=300)
