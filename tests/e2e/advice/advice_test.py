# SPDX-License-Identifier: Apache-2.0
"""Slow spots planted in a training are named by `gpuprof report --advice-only`, each with its own line and its share
of a step as the program's own timers have it; a clean training gets no advice. On the CPU and on the simulated GPU.

usage: advice_test.py [--live | --record] [--clean N] [--rare]
Without an option the trainings are those of recorded/, each judged by its own timers.
  --live      new ones, in which the machine is judged, too
  --record    new ones, of which those that are right become those of recorded/
  --clean N   only the clean training, N times on each, live
  --rare      only what goes wrong in few programs, and the same programs without that, live"""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.append(os.path.join(HERE, "..", "torch"))
import e2e  # noqa: E402
import recorded  # noqa: E402
import sim  # noqa: E402
import torch_programs  # noqa: E402

RESIDUAL = os.path.join(HERE, "programs", "residual.py")
KEPT_PROGRAMS = os.path.join(HERE, "recorded", "programs")
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
ON_CPU = ["--batch", "48", "--steps", "16"]
ON_GPU = ["--device", "cuda", "--batch", "256", "--width", "128", "--steps", "16"]
# With it the GPU, not the host, takes the time of a step.
TIME_SCALE = 4


# name: (what is run by Python, devices of the simulated GPU, how its times are stretched)
RUNS = {
    "cpu": ([RESIDUAL, *ON_CPU, "--plant", "syncs,sleep,adds,clones,passes"], 0, TIME_SCALE),
    "loader": ([RESIDUAL, *ON_CPU, "--plant", "loader"], 0, TIME_SCALE),
    "workers": ([RESIDUAL, "--steps", "20", "--plant", "workers", "--pause", "0.4"], 0, TIME_SCALE),
    "ranks": (["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", RANKS, "--slow", "20"], 0,
              TIME_SCALE),
    "gpu": ([RESIDUAL, *ON_GPU, "--plant", "syncs,sleep,adds,clones,passes,tiny"], 1, TIME_SCALE),
    "gpu_fp32": ([RESIDUAL, *ON_GPU, "--plant", "pageable", "--fp32"], 1, TIME_SCALE),
    "clean_cpu": ([RESIDUAL, *ON_CPU, "--batch", "96"], 0, TIME_SCALE),
    "clean_gpu": ([RESIDUAL, *ON_GPU], 1, 8 * TIME_SCALE),
}


def line_of(program, spot):
    """Where `# spot: NAME` stands."""
    with open(program, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.rstrip().endswith("# spot: " + spot):
                return number
    raise LookupError("no spot %s in %s" % (spot, program))


class NewRun:
    """The advice on a run, and what the program printed about itself."""

    def report(self, *options):
        return subprocess.run([e2e.GPUPROF, "report", "-q", *options, *self.files], capture_output=True, text=True,
                              timeout=e2e.PATIENCE_S)

    def load_advice(self, checks, what):
        """The advice; False where there is no run to speak of."""
        if not checks.expect(self.files, what + ": a trace"):
            return False
        result = self.report("--advice-only", "--json")
        if not checks.equal(result.returncode, 0, what + ": report: " + result.stderr[-500:]):
            return False
        self.advice = json.loads(result.stdout)["advice"]
        return True

    def share_of(self, spot):
        """By the program's own timers, of the steps that the report speaks of: without those that warm up."""
        if "share_from" not in self.timers:
            return self.timers["share"][spot]
        steps = json.loads(self.report("--json").stdout)["processes"][0]["step_summary"]
        return self.timers["share_from"][steps["warm_up"]][spot]

    def line_of(self, program, spot):
        return line_of(program, spot)

    def path_in_trace(self, program):
        """What the trace calls a program."""
        return program


class RecordedRun(NewRun):
    """A run of recorded/. Of a stack, the text of the program says which line of several it was, if the file is older:
    recorded/programs holds the programs as they were."""

    def __init__(self, name, folder):
        self.programs = os.path.join(folder, "programs")
        if not os.path.exists(self.programs):
            shutil.copytree(KEPT_PROGRAMS, self.programs)
            for program in os.listdir(self.programs):
                os.utime(os.path.join(self.programs, program), (1, 1))
        session = recorded.Session(HERE, name, folder, [(os.path.dirname(RESIDUAL).replace(
            e2e.SOURCE, recorded.ROOT + "/source"), self.programs)])
        self.files, self.timers, self.lines = session.files, session.metadata["timers"], session.metadata["lines"]

    def line_of(self, program, spot):
        return self.lines[spot]

    def path_in_trace(self, program):
        return os.path.join(self.programs, os.path.basename(program))


class Recorded(NewRun):
    """One run under gpuprof with default options."""

    def __init__(self, folder, command, gpu=0, time_scale=TIME_SCALE):
        full = dict(os.environ, GPUSIM_QUIET="1", OMP_NUM_THREADS="1")
        if gpu:
            command = [sim.GPUSIM_RUN, "--devices", str(int(gpu)), "--time-scale", str(time_scale), "--", *command]
        else:
            full["CUDA_VISIBLE_DEVICES"] = ""
        os.makedirs(folder)
        self.done = e2e.gpuprof(["-q", "-o", folder], command, env=full, timeout=e2e.PATIENCE_S)
        self.files = e2e.traces(folder)
        self.timers = self.advice = None
        for line in self.done.stdout.decode().splitlines():
            if line.startswith("{"):
                self.timers = json.loads(line)

    def load_advice(self, checks, what):
        good = checks.equal(self.done.returncode, 0, what + ": " + self.done.stderr.decode()[-500:])
        return good and super().load_advice(checks, what)

    def keep(self, name, python):
        """As one of recorded/."""
        lines = {}
        for program in (RESIDUAL, RANKS):
            with open(program, encoding="utf-8") as file:
                lines.update((line.split("# spot: ")[1].strip(), number) for number, line in enumerate(file, 1)
                             if "# spot: " in line)
        recorded.store(HERE, name, self.files, {"timers": self.timers, "lines": lines}, python)
        for program in (RESIDUAL, RANKS):
            os.makedirs(KEPT_PROGRAMS, exist_ok=True)
            shutil.copy(program, KEPT_PROGRAMS)


def named(checks, run, program, spots, what):
    """Each spot by its rule, on its own line, with the timers' share."""
    for spot, rule, marker in spots:
        line = run.line_of(program, marker)
        found = [a for a in run.advice
                 if (a["rule"], a["file"], a["line"]) == (rule, run.path_in_trace(program), line)]
        share = run.share_of(spot)
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


def cpu(checks, run):
    named(checks, run, RESIDUAL, spots_of("sleep", "adds", "clones", "passes"), "cpu")
    silent_on_cpu(checks, run, "cpu")
    fails(checks, run)


def loader(checks, run):
    named(checks, run, RESIDUAL, [("loader", "data-loading", "batches")], "loader")
    silent_on_cpu(checks, run, "loader")


def workers(checks, run):
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


def gpu(checks, run):
    named(checks, run, RESIDUAL, spots_of("item1", "item2", "item3", "sleep", "adds", "clones", "passes", "tiny"),
          "simulated GPU")


def gpu_fp32(checks, run):
    named(checks, run, RESIDUAL, spots_of("pageable"), "simulated GPU, fp32")
    products = [a for a in run.advice if a["rule"] == "fp32-math"]
    convolutions = {run.line_of(RESIDUAL, "first"), run.line_of(RESIDUAL, "second")}
    checks.expect(len(products) == 1 and products[0]["line"] in convolutions,
                  "fp32: products are named with a convolution's line: %s" % products)


def ranks(checks, run):
    named(checks, run, RANKS, spots_of("slow"), "ranks")
    silent_on_cpu(checks, run, "ranks")
    checks.equal([a["rank"] for a in run.advice if a["rule"] == "slow-rank"], [1], "ranks: which one")


def clean_cpu(checks, run):
    checks.equal([(a["rule"], a["line"], round(a["share_percent"], 2)) for a in run.advice], [], "clean")


def clean_gpu(checks, run):
    """With bf16 and a GPU that is busy; its times are stretched, so that other programs of this machine do not make it
    wait."""
    clean_cpu(checks, run)
    share = json.loads(run.report("--by", "gpu", "--json").stdout)["processes"][0]["rows"][0]["utilisation_percent"]
    print("clean: the GPU is busy for %.1f %% of a step" % share)
    checks.expect(share > 60, "clean: the GPU is busy for %.1f %% of a step" % share)


def rare(checks, python, folder, has_gpu):
    """Each spot with its rule, line and share; without the spot that rule is silent."""
    e2e.raise_priority()  # starved by threads of its own, not by other programs
    for spot, (rule, marker, of, devices) in RARE_SPOTS.items():
        if devices and not has_gpu:
            continue
        run = Recorded(os.path.join(folder, spot), [python, RARE, spot], devices, 1)
        if not run.load_advice(checks, spot):
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
        if run.load_advice(checks, spot + ", clean"):
            checks.equal([a for a in run.advice if a["rule"] == rule], [], spot + ", clean")


JUDGES = {check_run.__name__: check_run for check_run in (cpu, loader, workers, ranks, clean_cpu, gpu, gpu_fp32, clean_gpu)}


def check_run(checks, name, run):
    """Whether all of it is right."""
    before = checks.failed
    if run.load_advice(checks, name):
        JUDGES[name](checks, run)
    return checks.failed == before


def gpu_here(python):
    return os.path.exists(sim.GPUSIM_RUN) and subprocess.run(
        [sim.GPUSIM_RUN, "--quiet", "--devices", "1", "--", python, "-c", "import torch; torch.zeros(1).cuda()"],
        capture_output=True).returncode == 0


def live(checks, options, folder):
    """New runs. What they have wrong may be the machine's doing."""
    python = torch_programs.python_with_torch()
    has_gpu = gpu_here(python)
    names = [name for name in options.only.split(",") if has_gpu or not RUNS[name][1]]
    if options.clean:
        names = options.clean * [name for name in names if name.startswith("clean")]
    if options.rare:
        rare(checks, python, folder, has_gpu)
        names = []
    for number, name in enumerate(names):
        words, devices, time_scale = RUNS[name]
        if "16" in words and not options.record:
            words = [*words, "--steps", "40"]  # shares of more
        run = Recorded(os.path.join(folder, str(number)), [python, *words], devices, time_scale)
        if check_run(checks, name, run) and options.record:
            run.keep(name, python)
    if not has_gpu:
        checks.skip("the simulated GPU: not built for a PyTorch of this interpreter")
    checks.too_slow, checks.failed = checks.failed, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clean", type=int, default=0)
    for name in ("--rare", "--live", "--record"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--only", default=",".join(RUNS), help="of --live and --record: " + ", ".join(RUNS))
    options = parser.parse_args()
    checks = e2e.Checks()
    with e2e.Folder("advice") as folder:
        if options.rare or options.clean or options.live or options.record:
            live(checks, options, folder)
        else:
            for name in RUNS:
                check_run(checks, name, RecordedRun(name, folder))
    checks.done()


if __name__ == "__main__":
    main()
