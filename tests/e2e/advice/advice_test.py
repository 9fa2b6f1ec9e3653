# SPDX-License-Identifier: Apache-2.0
"""Slow spots planted in a training are named by `gpuprof report --advice-only`, each with its own line and its share
of a step as the program's own timers have it; a clean training gets no advice. On the CPU and on the simulated GPU.

usage: advice_test.py [--clean N] [--rare]
  --clean N   only the clean training, N times on each
  --rare      only what goes wrong in few programs, and the same programs without that"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.append(os.path.join(HERE, "..", "torch"))
import e2e  # noqa: E402
import sim  # noqa: E402
import torch_programs  # noqa: E402

RESIDUAL = os.path.join(HERE, "programs", "residual.py")
RARE = os.path.join(HERE, "programs", "rare.py")
RANKS = os.path.join(HERE, "programs", "ranks.py")
GPU_RULES = {"sync-in-loop", "pageable-copy", "tiny-kernels", "gpu-idle", "launch-bound", "fp32-math", "memory-limit",
             "data-parallel"}
# Of the timers' share, or percentage points, whichever is more.
TOLERANCE, POINTS = 0.2, 1.0
# What the spots of programs/ are to be called.
RULES = {"item1": "sync-in-loop", "item2": "sync-in-loop", "item3": "sync-in-loop", "sleep": "host-code",
         "adds": "repeated-work", "clones": "allocation-churn", "passes": "extra-backward", "tiny": "tiny-kernels",
         "pageable": "pageable-copy", "loader": "data-loading", "workers": "loader-workers", "slow": "slow-rank"}
# Of programs/rare.py: the rule, its line, of what it has a share, devices of the simulated GPU.
RARE_SPOTS = {"compile": ("first-step", "forward", "first step", 0), "starve": ("host-starved", "starved", "step", 0),
              "memory": ("memory-limit", "taken", "GPU's memory", 1),
              "parallel": ("data-parallel", "forward", "step", 2)}
ON_CPU = ["--batch", "48", "--steps", "40"]
ON_GPU = ["--device", "cuda", "--batch", "256", "--width", "128", "--steps", "40"]
# With it the GPU, not the host, takes the time of a step.
TIME_SCALE = 4


def line_of(program, spot):
    """Where `# spot: NAME` stands."""
    with open(program, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.rstrip().endswith("# spot: " + spot):
                return number
    raise LookupError("no spot %s in %s" % (spot, program))


class Recorded:
    """One run under gpuprof with default options, what it said of itself, and the advice."""

    def __init__(self, folder, command, gpu=0, time_scale=TIME_SCALE):
        full = dict(os.environ, GPUSIM_QUIET="1", OMP_NUM_THREADS="1")
        if gpu:
            command = [sim.GPUSIM_RUN, "--devices", str(int(gpu)), "--time-scale", str(time_scale), "--", *command]
        else:
            full["CUDA_VISIBLE_DEVICES"] = ""
        os.makedirs(folder)
        self.done = e2e.gpuprof(["-q", "-o", folder], command, env=full, timeout=200)
        self.files = e2e.traces(folder)
        self.timers = self.advice = None
        for line in self.done.stdout.decode().splitlines():
            if line.startswith("{"):
                self.timers = json.loads(line)

    def report(self, *options):
        return subprocess.run([e2e.GPUPROF, "report", "-q", *options, *self.files], capture_output=True, text=True,
                              timeout=120)

    def ask(self, checks, what):
        """The advice; False where there is no run to speak of."""
        good = checks.equal(self.done.returncode, 0, what + ": " + self.done.stderr.decode()[-500:])
        if not good or not checks.expect(self.files, what + ": a trace"):
            return False
        told = self.report("--advice-only", "--json")
        if not checks.equal(told.returncode, 0, what + ": report: " + told.stderr[-500:]):
            return False
        self.advice = json.loads(told.stdout)["advice"]
        return True


def named(checks, run, program, spots, what):
    """Each spot by its rule, on its own line, with the timers' share."""
    for spot, rule, marker in spots:
        line = line_of(program, marker)
        found = [a for a in run.advice if a["rule"] == rule and a["file"] == program and a["line"] == line]
        share = run.timers["share"][spot]
        if not checks.expect(len(found) == 1, "%s: %s on line %d; there is %s" % (
                what, rule, line, [(a["rule"], a["line"]) for a in run.advice])):
            continue
        got = found[0]["share_percent"]
        checks.expect(abs(got - share) <= max(TOLERANCE * share, POINTS),
                      "%s: %s has %.2f %% of a step, by its own timers %.2f %%" % (what, spot, got, share))
        checks.expect(found[0]["change"] and found[0]["figures"], "%s: %s: change and evidence" % (what, spot))
        print("%s: %-8s %-16s line %3d: %6.2f %% of a step, by its own timers %6.2f %%" % (
            what, spot, rule, line, got, share))


def spots_of(*names):
    return [(name, RULES[name], name) for name in names]


def silent_on_cpu(checks, run, what):
    rules = {a["rule"] for a in run.advice}
    checks.expect(not rules & GPU_RULES, "%s: no advice on a GPU without one: %s" % (what, rules & GPU_RULES))


def on_cpu(checks, python, folder):
    run = Recorded(os.path.join(folder, "cpu"), [python, RESIDUAL, *ON_CPU, "--plant", "syncs,sleep,adds,clones,passes"])
    if run.ask(checks, "cpu"):
        named(checks, run, RESIDUAL, spots_of("sleep", "adds", "clones", "passes"), "cpu")
        silent_on_cpu(checks, run, "cpu")
        fails(checks, run)
    run = Recorded(os.path.join(folder, "loader"), [python, RESIDUAL, *ON_CPU, "--plant", "loader"])
    if run.ask(checks, "loader"):
        named(checks, run, RESIDUAL, [("loader", "data-loading", "batches")], "loader")
        silent_on_cpu(checks, run, "loader")
    run = Recorded(os.path.join(folder, "workers"), [python, RESIDUAL, "--steps", "20", "--plant", "workers", "--pause",
                                                           "0.4"])
    if run.ask(checks, "workers"):
        named(checks, run, RESIDUAL, [("loader", "loader-workers", "batches")], "workers")


def fails(checks, run):
    """--fail-on, for programs that watch over others."""
    checks.equal(run.report("--advice-only", "--fail-on", "sync-in-loop,slow-rank").returncode, 0, "fail-on: not given")
    given = run.report("--advice-only", "--fail-on", "slow-rank,host-code")
    checks.equal(given.returncode, 1, "fail-on: given")
    checks.expect("host-code" in given.stderr, "fail-on: it is named: " + given.stderr)
    checks.equal(run.report("--fail-on", "any").returncode, 1, "fail-on: any")
    unknown = run.report("--fail-on", "host-cod")
    checks.expect(unknown.returncode == 125 and "did you mean host-code" in unknown.stderr, "fail-on: " + unknown.stderr)


def on_gpu(checks, python, folder):
    line = [python, RESIDUAL, *ON_GPU]
    run = Recorded(os.path.join(folder, "gpu"), [*line, "--plant", "syncs,sleep,adds,clones,passes,tiny"], True)
    if run.ask(checks, "simulated GPU"):
        named(checks, run, RESIDUAL,
              spots_of("item1", "item2", "item3", "sleep", "adds", "clones", "passes", "tiny"), "simulated GPU")
    run = Recorded(os.path.join(folder, "gpu_fp32"), [*line, "--plant", "pageable", "--fp32"], True)
    if run.ask(checks, "simulated GPU, fp32"):
        named(checks, run, RESIDUAL, spots_of("pageable"), "simulated GPU, fp32")
        products = [a for a in run.advice if a["rule"] == "fp32-math"]
        convolutions = {line_of(RESIDUAL, "first"), line_of(RESIDUAL, "second")}
        checks.expect(len(products) == 1 and products[0]["line"] in convolutions,
                      "fp32: products are named with a convolution's line: %s" % products)


def on_ranks(checks, python, folder):
    line = [python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", RANKS, "--slow", "20"]
    run = Recorded(os.path.join(folder, "ranks"), line)
    if not run.ask(checks, "ranks"):
        return
    named(checks, run, RANKS, spots_of("slow"), "ranks")
    silent_on_cpu(checks, run, "ranks")
    checks.equal([a["rank"] for a in run.advice if a["rule"] == "slow-rank"], [1], "ranks: which one")


def rare(checks, python, folder, has_gpu):
    """Each spot with its rule, line and share; without the spot that rule is silent."""
    e2e.hurry()  # starved by threads of its own, not by other programs
    for spot, (rule, marker, of, devices) in RARE_SPOTS.items():
        if devices and not has_gpu:
            continue
        run = Recorded(os.path.join(folder, spot), [python, RARE, spot], devices, 1)
        if not run.ask(checks, spot):
            continue
        found = [a for a in run.advice if a["rule"] == rule]
        line, share = line_of(RARE, marker), run.timers["share"]["spot"]
        if checks.equal([(a["file"], a["line"], a["of"]) for a in found], [(RARE, line, of)], spot):
            got = found[0]["share_percent"]
            checks.expect(abs(got - share) <= TOLERANCE * share, "%s: %.2f %%, by its own timers %.2f %%"
                          % (spot, got, share))
            print("%s: %s line %d: %.2f %% of the %s, by its own timers %.2f %%" % (spot, rule, line, got, of, share))
        if spot == "compile":
            checks.equal([a["rule"] for a in run.advice], [rule], "compile: what compiles is no code of the program's")
        run = Recorded(os.path.join(folder, spot + "_clean"), [python, RARE, spot, "--clean"], devices, 1)
        if run.ask(checks, spot + ", clean"):
            checks.equal([a for a in run.advice if a["rule"] == rule], [], spot + ", clean")


def clean(checks, python, folder, gpu, number):
    """No advice. On the simulated GPU with bf16 and a GPU that is busy; its times are stretched, so that other
    programs of this machine do not make it wait."""
    what = "clean %s %d" % ("simulated GPU" if gpu else "cpu", number)
    options = [*ON_GPU, "--steps", "16"] if gpu else [*ON_CPU, "--batch", "96", "--steps", "20"]
    run = Recorded(os.path.join(folder, what.replace(" ", "_")), [python, RESIDUAL, *options], gpu,
                   8 * TIME_SCALE)
    if not run.ask(checks, what):
        return
    checks.equal([(a["rule"], a["line"], round(a["share_percent"], 2)) for a in run.advice], [], what)
    if gpu:
        share = json.loads(run.report("--by", "gpu", "--json").stdout)["processes"][0]["rows"][0]["utilisation_percent"]
        print("%s: the GPU is busy for %.1f %% of a step" % (what, share))
        checks.expect(share > 60, "%s: busy for %.1f %% of a step" % (what, share))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clean", type=int, default=0)
    parser.add_argument("--rare", action="store_true")
    options = parser.parse_args()
    checks = e2e.Checks()
    python = torch_programs.python_with_torch()
    has_gpu = os.path.exists(sim.GPUSIM_RUN) and subprocess.run(
        [sim.GPUSIM_RUN, "--quiet", "--devices", "1", "--", python, "-c", "import torch; torch.zeros(1).cuda()"],
        capture_output=True).returncode == 0
    with e2e.Folder("advice") as folder:
        if options.rare:
            rare(checks, python, folder, has_gpu)
        elif not options.clean:
            on_cpu(checks, python, folder)
            on_ranks(checks, python, folder)
            if has_gpu:
                on_gpu(checks, python, folder)
        for number in range(1, 1 if options.rare else (options.clean or 1) + 1):
            clean(checks, python, folder, False, number)
            if has_gpu:
                clean(checks, python, folder, True, number)
        if not has_gpu:
            checks.skip("the simulated GPU: not built for a PyTorch of this interpreter")
    checks.done()


if __name__ == "__main__":
    main()
