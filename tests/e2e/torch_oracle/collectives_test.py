# SPDX-License-Identifier: Apache-2.0
"""What torch.profiler and we say of the collectives of one and the same run: two ranks on the
simulated GPU.

usage: collectives_test.py [--only nccl,nccl-legacy,sharded] [--keep FOLDER]"""

import argparse
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "simgpu", "oracle"))
import e2e  # noqa: E402
import sim  # noqa: E402
import torch_runs  # noqa: E402
import torch_trace  # noqa: E402

RANKS = 2
COLLECTIVES = os.path.join(HERE, "programs", "collectives.py")
PROGRAMS = {"nccl": [COLLECTIVES, "nccl"], "nccl-legacy": [COLLECTIVES, "nccl-legacy"],
            "sharded": [os.path.join(torch_runs.ZOO, "fsdp2.py"), "--steps", "4"]}
MESSAGE = ("In msg nelems", "Out msg nelems", "dtype")
KEYS = ("Collective name", "Seq", "Rank", "Group size", "In split size", "Out split size",
        "Global rank start", "Global rank stride", "Process Group Name",
        "Process Group Description", "Process Group Ranks")
NAMES = {"nccl": {"all_reduce", "broadcast", "barrier"}, "sharded": {"allGatherSingleImpl", "reduceScatterSingleImpl"},
         "nccl-legacy": {"allreduce", "_allgather_base", "barrier"}}


def has_backend(python, name):
    done = subprocess.run([python, "-c", "import importlib.util as u, os; "
                           "print(os.path.dirname(u.find_spec('torch').origin))"],
                          capture_output=True, text=True, check=True)
    path = os.path.join(done.stdout.strip(), "distributed", "distributed_c10d.py")
    with open(path, encoding="utf-8") as file:
        return '"%s"' % name in file.read()


def start(python, program, folder):
    command = [sim.GPUSIM_RUN, "--cupti", "per-client", "--quiet", "--devices", str(RANKS), "--",
               python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS),
               os.path.join(HERE, "wrap.py"), folder, "shapes", *program]
    return e2e.gpuprof(["-f", "-o", os.path.join(folder, "out"), "--span-size", "100000000"], command,
                       env=dict(os.environ, **torch_runs.environment()), timeout=600)


def records(trace):
    return [o.args for o in trace.operators if o.name == "record_param_comms"]


def listing(rows, of_lists):
    """Multiset of what must agree."""
    found = collections.Counter()
    for args in rows:
        keys = KEYS if args.get("Collective name") in of_lists else KEYS + MESSAGE
        found[tuple(args.get(key) for key in keys)] += 1
    return found


def check(checks, name, python, folder):
    done = start(python, PROGRAMS[name], folder)
    if not checks.equal(done.returncode, 0, "%s: %s" % (name, done.stderr.decode()[-1500:])):
        return
    trace_of_rank = {e2e.load(path)["distributedInfo"]["rank"]: path
                     for path in e2e.traces(os.path.join(folder, "out"))}
    checks.equal(sorted(trace_of_rank), list(range(RANKS)), name + ": ranks")
    for rank in range(RANKS):
        with open(os.path.join(folder, str(rank), "window.json"), encoding="utf-8") as file:
            ahead = json.load(file)["ahead_ns"]
        reference = records(torch_trace.read_kineto(os.path.join(folder, str(rank), "kineto.json"), ahead))
        recorded = records(torch_trace.read_gpuprof([trace_of_rank[rank]]))
        checks.expect(NAMES[name] <= {args["Collective name"] for args in reference},
                      "%s: torch.profiler saw %d collectives" % (name, len(reference)))
        # Of lists of lists of tensors, sizes are not recorded.
        of_lists = {"reduce_scatter"} if name == "nccl-legacy" else set()
        a, b = listing(reference, of_lists), listing(recorded, of_lists)
        checks.expect(a == b, "%s, rank %d:\n    torch.profiler alone %s\n    gpuprof alone %s"
                      % (name, rank, list((a - b).items())[:4], list((b - a).items())[:4]))
        print("%s, rank %d: %d collectives" % (name, rank, len(reference)), flush=True)
        by_sequence = {(args["Process Group Name"], args["Seq"], args["Collective name"]): args
                       for args in reference}
        for args in recorded:
            same = by_sequence.get((args["Process Group Name"], args["Seq"], args["Collective name"]))
            if same and "Is asynchronized op" in args:
                checks.equal(args["Is asynchronized op"], same["Is asynchronized op"],
                             "%s: %s is asynchronous" % (name, args["Collective name"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--keep", help="leave all traces in this folder")
    wanted = parser.parse_args()
    python = torch_runs.require_torch()
    checks = e2e.Checks()
    with e2e.Folder("torch-collectives") as folder:
        for name in wanted.only.split(","):
            if name == "nccl-legacy" and not has_backend(python, name):
                checks.skip("this PyTorch has one backend for NCCL")
                continue
            directory = os.path.join(wanted.keep or folder, name)
            os.makedirs(directory, exist_ok=True)
            check(checks, name, python, directory)
        if checks.failed and not wanted.keep:
            raise SystemExit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
