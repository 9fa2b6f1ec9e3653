# SPDX-License-Identifier: Apache-2.0
"""Unmodified PyTorch scripts on the simulated GPU under gpuprof and torch.profiler at once; what the
simulator, PyTorch's profiler and we say happened is compared record by record.

usage: oracle_test.py [--only NAME[,NAME]] [--runs N] [--keep FOLDER] [--python PATH] [--list]"""

import argparse
import dataclasses
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle"))
import run as runner  # noqa: E402
import torch_runs  # noqa: E402
from compare import Comparison  # noqa: E402
from run import e2e  # noqa: E402


@dataclasses.dataclass
class Case:
    script: str
    steps: int
    ranks: int = 0
    devices: int = 2


ZOO = {
    "mlp": Case("mlp.py", 20),
    "resnet_amp": Case("resnet_amp.py", 12),
    "transformer_sdpa": Case("transformer_sdpa.py", 12),
    "lstm": Case("lstm.py", 15),
    "cuda_graph": Case("cuda_graph.py", 20),
    "compile": Case("compile.py", 8),
    "data_parallel": Case("data_parallel.py", 10),
    "ddp2": Case("ddp.py", 10, ranks=2),
    "ddp8": Case("ddp.py", 6, ranks=8, devices=8),
    "fsdp2": Case("fsdp2.py", 6, ranks=2),
    "inference": Case("inference.py", 12),
    "straggler": Case("straggler.py", 20, ranks=4, devices=4),
}


def start(python, name, folder):
    case = ZOO[name]
    command = torch_runs.script(python, folder, case.script, ["--steps", str(case.steps)],
                                case.ranks)
    return runner.execute(folder, command,
                          ["--cupti", "per-client", "--devices", str(case.devices)],
                          env=torch_runs.environment(), timeout=600)


def comparisons(run, pid):
    """Comparisons of one process: ours with the whole run, PyTorch's with its session."""
    whole, _ = runner.reference_of(run, pid)
    results = []
    if pid in run.recorded:
        results.append(Comparison(whole, runner.recorded_of(run, pid), fit=False))
    if pid in run.kineto:
        part, outside = runner.reference_of(run, pid, run.windows[pid])
        results.append(Comparison(part, runner.kineto_of(run, pid), fit=True, foreign=outside,
                                  handles=True))
    return whole, results


def check_process(checks, name, run, pid):
    whole, results = comparisons(run, pid)
    label = "%s %d" % (name, pid)
    if not whole.ops:  # a launcher that only counted the devices
        return checks.expect(not results or not results[0].recorded.ops,
                             label + ": no GPU events of a process without any")
    checks.equal([r.recorded.name for r in results], ["ours", "kineto"], label + ": sources")
    for result in results:
        print("%-16s %s" % (name, result.summary()), flush=True)
        for difference in result.failures():
            checks.expect(False, "%s: %s" % (label, difference))
        checks.expect(result.reference.count("kernel"), label + ": the reference log holds kernels")
        checks.expect(not result.found.total(), "%s: %s agrees with the reference log"
                      % (label, result.recorded.name))
    return None


def check(checks, python, name, folder):
    run = start(python, name, folder)
    if run.status and torch_runs.BAD_END in run.stderr:
        print("%s: once more, since PyTorch said: %s" % (name, torch_runs.BAD_END))
        run = start(python, name, os.path.join(folder, "again"))
    if not checks.equal(run.status, 0, "%s: %s" % (name, run.explain())):
        return
    checks.equal(len(run.kineto), max(1, ZOO[name].ranks), name + ": traces of torch.profiler")
    # torchrun itself counts the devices and works on none: it is a counter in the summary.
    checks.equal(sorted(run.recorded), sorted(run.kineto), name + ": traces of gpuprof, one a rank")
    for pid in sorted(run.reference):
        check_process(checks, name, run, pid)
    for pid in set(run.recorded) - set(run.reference):
        checks.expect(False, "%s: a trace of process %d, which used no GPU" % (name, pid))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="these scripts, separated by commas")
    parser.add_argument("--runs", type=int, default=1, help="run each script so often")
    parser.add_argument("--keep", help="leave all logs and traces in this folder")
    parser.add_argument("--python", help="the interpreter with PyTorch")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    return parser.parse_args()


def main():
    wanted = arguments()
    names = wanted.only.split(",") if wanted.only else list(ZOO)
    unknown = [name for name in names if name not in ZOO]
    if wanted.list or unknown:
        print("\n".join(ZOO) if wanted.list else "no script named %s; there are: %s"
              % (", ".join(unknown), ", ".join(ZOO)))
        sys.exit(0 if wanted.list else 2)
    python = torch_runs.require_torch(wanted.python)
    checks = e2e.Checks()
    with e2e.Folder("oracle") as folder:
        for turn in range(wanted.runs):
            for name in names:
                check(checks, python, name,
                      os.path.join(wanted.keep or folder, "%s.%d" % (name, turn)))
        if checks.failed:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
