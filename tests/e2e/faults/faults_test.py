# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around CUPTI, disks and processes: one sentence, the program's status, nothing lost.

usage: faults_test.py [--only NAME]"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import sim  # noqa: E402
from trace_facts import Facts, parse_results  # noqa: E402

TRAIN = ["--steps", "10", "--kernels", "10", "--host-ms", "5", "--step-ms", "30"]

# name, arguments of gpusim-run, words the summary must say, whether kernels are in the file
CUPTI_ROWS = [
    ("cupti-missing", ["--no-cupti"], ["CUPTI"], False),
    ("cupti-too-new", ["--errors", "cuptiSubscribe:*:15,cuptiSubscribe_v2:*:15"], ["no GPU events"], False),
    ("cupti-symbol-missing", ["--missing", "cuptiActivityGetNextRecord"],
     ["no GPU events"], False),
    ("cupti-11.8", ["--layout", "11.8"], [], True),
    ("cupti-future", ["--layout", "future"], [], True),
    ("unknown-kind", ["--layout", "future", "--scenario", "unknown-kind"], [], None),
    ("slot-taken", ["--slot-taken", "nsys"], ["nsys"], False),
    ("zero-times", ["--scenario", "zero-times"], [], None),
    ("flush-hangs", ["--scenario", "flush-hangs"], [], None),
    ("dropped", ["--scenario", "dropped:7"], ["dropped by CUPTI: 7"], None),
    ("shuffled", ["--scenario", "shuffled"], [], True),
    ("null-buffers-refused", ["--layout", "12.4", "--scenario", "null-buffer-abort"], [], True),
]


def cupti_row(checks, out, name, sim_args, words, wants_kernels):
    plain = sim.run_plain(TRAIN, sim_args)
    # Of a flush that hangs the summary says the same as of one that has no processor.
    record = sim.run_whole if name != "flush-hangs" else lambda to, words, *more: sim.run(["-o", to, *words], *more)
    result = record(out, ["--step", "nvtx:step"], TRAIN, sim_args)
    errors = result.stderr.decode()
    before = checks.failed
    checks.equal(result.returncode, plain.returncode, name + ": status")
    checks.equal(result.stdout, plain.stdout, name + ": stdout")
    for word in words:
        checks.expect(word in errors, "%s: the summary says %r" % (name, word))
    facts = [Facts(e2e.load(p)) for p in e2e.traces(out)]
    kernels = sum(len(f.kernels) for f in facts)
    steps = sum(len(f.steps) for f in facts)
    checks.equal(steps, 10, name + ": steps are there whatever CUPTI does")
    if wants_kernels is True:
        checks.equal(kernels, parse_results(plain.stdout)["kernels"], name + ": kernels")
    if wants_kernels is False:
        checks.equal(kernels, 0, name + ": kernels")
    missing = [line for line in errors.splitlines() if "missing" in line or "drops" in line]
    print("%s: status %d, %d kernels\n  %s" % (name, result.returncode, kernels, "\n  ".join(missing)))
    if checks.failed != before:
        print(errors)


def disk_full(checks, folder):
    """The disk is full: the program goes on, the sentence says what was kept where."""
    small = os.path.join(folder, "small")
    with e2e.SmallDisk(small, 256) as mounted:
        if not mounted:
            return checks.skip("disk-full: mounting a small file system is not allowed here")
        arguments = ["--steps", "400", "--kernels", "200", "--host-ms", "0"]
        result = sim.run(["-o", os.path.join(small, "out"), "--step", "nvtx:step"], arguments)
        errors = result.stderr.decode()
        checks.equal(result.returncode, 0, "disk-full: the program's status")
        checks.expect(b"result steps 400" in result.stdout, "disk-full: the program's output")
        checks.expect("No space" in errors or "full" in errors, "disk-full: the sentence: " + errors[-500:])
        print("disk-full: %s" % [line for line in errors.splitlines() if "space" in line][:2])


def target_segv(checks, folder):
    program = os.path.join(e2e.BUILD, "unchanged", "crash")
    result = e2e.gpuprof(["-o", folder], [program])
    checks.equal(result.returncode, -signal.SIGSEGV, "segv: status")
    checks.expect(e2e.traces(folder), "segv: a file")
    print("segv: %s" % result.stderr.decode().splitlines()[:1])


def out_of_memory(checks, folder):
    """RLIMIT_AS stands for the kernel's out-of-memory end: allocation fails, python says so."""
    code = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n" \
           "x = []\nwhile True: x.append(bytearray(1 << 24))\n"
    result = e2e.gpuprof(["-o", folder], [e2e.real_python(), "-c", code])
    checks.equal(result.returncode, 1, "memory: status")
    checks.expect(b"MemoryError" in result.stderr, "memory: python's own message")


def two_at_once(checks, folder):
    env = dict(os.environ, GPUSIM_QUIET="1")
    running = [subprocess.Popen([e2e.GPUPROF, "run", *e2e.FORMAT_OPTION, "-o", os.path.join(folder, str(i)), "--",
                                 *sim.simulated(TRAIN)], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) for i in range(2)]
    for i, process in enumerate(running):
        process.communicate(timeout=600)
        checks.equal(process.returncode, 0, "two: status of %d" % i)
        checks.equal(len(e2e.traces(os.path.join(folder, str(i)))), 1, "two: file of %d" % i)


def main():
    sim.require_build()
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    checks = e2e.Checks()
    for name, sim_args, words, wants in CUPTI_ROWS:
        if only in ("", name):
            with e2e.Folder("faults") as folder:
                cupti_row(checks, os.path.join(folder, "out"), name, sim_args, words, wants)
    for body in (disk_full, target_segv, out_of_memory, two_at_once):
        if only in ("", body.__name__):
            with e2e.Folder("faults") as folder:
                body(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
