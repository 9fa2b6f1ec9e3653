# SPDX-License-Identifier: Apache-2.0
"""gpuprof doctor --try: what arrived of what a small program did, without a GPU and on the simulated one."""

import errno
import json
import os
import re
import shutil
import subprocess

import e2e
import seccomp
import sim


def tried(*prefix, denied=None):
    """Exit status, and health and sentence of each thing that was tried; `denied`: a system call."""
    keywords = {} if denied is None else {"preexec_fn": seccomp.deny(denied, errno.EPERM)}
    done = subprocess.run([*prefix, e2e.GPUPROF, "doctor", "--try", "--json"], capture_output=True, timeout=e2e.PATIENCE_S,
                          text=True, env=dict(os.environ, GPUSIM_QUIET="1"), **keywords)
    rows = {one["topic"]: (one["health"], one["sentence"]) for one in json.loads(done.stdout)["findings"]
            if one["topic"].startswith("try")}
    return done.returncode, rows


def counts_in(message):
    return [(int(got), int(wanted)) for got, wanted in re.findall(r"(\d+) of (\d+)", message)]


def here(checks):
    status, rows = tried(sim.GPUSIM_RUN, "--no-driver", "--pytorch", "no", "--")
    checks.equal(sorted(rows), ["try: GPU", "try: PyTorch", "try: attach", "try: stacks"], "what is tried")
    checks.equal((status, rows["try: GPU"]), (0, ("ok", "no GPU is used: libcuda.so.1 cannot be loaded")), "without a GPU")
    checks.expect(not re.match("0 samples", rows["try: stacks"][1]), "stacks: %r" % (rows["try: stacks"],))


def simulated(checks):
    status, rows = tried(sim.GPUSIM_RUN, "--pytorch", "no", "--")
    checks.equal(status, 0, "simulated: status; %r" % rows)
    counts = counts_in(rows["try: GPU"][1])
    checks.expect(len(counts) == 3 and all(got == wanted > 0 for got, wanted in counts), "work: %r" % (rows["try: GPU"],))
    for topic in ("try: GPU", "try: calls", "try: attach"):
        checks.expect(rows[topic][1].endswith("(on a simulated GPU)"), "%s says so: %r" % (topic, rows[topic]))


def silent(checks):
    for scenario, topic, message in (("deaf-api", "try: calls", "CUPTI delivers no records of CUDA API calls"),
                                     ("deaf-kernels", "try: GPU", "CUPTI delivers no records of kernels")):
        status, rows = tried(sim.GPUSIM_RUN, "--pytorch", "no", "--scenario", scenario, "--")
        checks.equal((status, rows[topic][0]), (1, "missing"), scenario)
        checks.expect(message in rows[topic][1], "%s: %r" % (scenario, rows[topic]))


def refused(checks):
    """A driver that is there and cannot be used is no machine without a GPU."""
    status, rows = tried(sim.GPUSIM_RUN, "--pytorch", "no", "--stub", "--")
    checks.equal((status, rows["try: GPU"]), (1, ("missing", "the GPU cannot be used: the driver cannot be initialised (cuInit)")),
                 "a stub of the driver")
    status, rows = tried(sim.GPUSIM_RUN, "--pytorch", "no", "--devices", "0", "--")
    checks.equal((status, rows["try: GPU"]), (0, ("ok", "no GPU is used: the driver finds no device")), "a driver without a device")


def below_a_filter(checks):
    """As in a container: what the filter denies is reported, and what works in spite of it is seen to work."""
    if not seccomp.supported():
        return checks.skip("no seccomp filters here")
    prefix = (sim.GPUSIM_RUN, "--no-driver", "--pytorch", "no", "--")
    status, rows = tried(*prefix, denied=seccomp.PERF_EVENT_OPEN)
    checks.equal((status, rows["try: attach"][0]), (0, "limited"), "without perf: %r" % rows)
    checks.expect(not re.match("0 samples", rows["try: stacks"][1]), "without perf, stacks: %r" % rows)
    checks.expect("--ignore-seccomp" in rows["try: attach"][1], "what attach needs: %r" % rows)
    status, rows = tried(*prefix, denied=seccomp.PTRACE)
    checks.equal((status, rows["try: attach"][0]), (1, "missing"), "without ptrace: %r" % rows)
    checks.expect("give it the capability SYS_PTRACE" in rows["try: attach"][1] and "\\x0a" not in rows["try: attach"][1],
                  "without ptrace: %r" % rows)
    return None


def without_a_program(checks):
    """Our own file is missing: reported, and nothing else is hurt."""
    with e2e.Folder("doctor-try") as folder:
        os.makedirs(os.path.join(folder, "bin"))
        for name in ("gpuprof", "gpuprofd"):
            shutil.copy(os.path.join(e2e.BUILD, "bin", name), os.path.join(folder, "bin", name))
        os.symlink(os.path.join(e2e.BUILD, "lib"), os.path.join(folder, "lib"))
        done = subprocess.run([os.path.join(folder, "bin", "gpuprof"), "doctor", "--try"], capture_output=True, text=True,
                              timeout=e2e.PATIENCE_S)
        checks.equal(done.returncode, 1, "status without gpuprof-try")
        checks.expect("gpuprof-try; reinstall gpuprof" in done.stdout, done.stdout)


def main():
    sim.require_build()
    checks = e2e.Checks()
    here(checks)
    simulated(checks)
    silent(checks)
    refused(checks)
    below_a_filter(checks)
    without_a_program(checks)
    checks.done()


if __name__ == "__main__":
    main()
