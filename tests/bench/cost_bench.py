#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost table: what gpuprof costs a program, each row against a baseline of the same run, peers beside it.

usage: cost_bench.py [--only CASE,...] [--pairs N] [--json FILE] [--build FOLDER] [--python PYTHON] [--list]

Cases: dormant, armed, sampling, operators, with_memory, gpu, launches, stop, memory. Each row prints the median and
the middle half of its pairs, how many there were, and what was to be recorded, was, and was dropped. A row misses its
goal also where more than 0.1 % was dropped. Everything about a GPU is on the simulated GPU."""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "cost"))
import processes  # noqa: E402
import recording  # noqa: E402
import windows  # noqa: E402

CASES = {
    "dormant": processes.dormant, "armed": processes.armed, "sampling": recording.sampling,
    "operators": recording.operators, "with_memory": processes.with_memory, "gpu": recording.gpu,
    "launches": recording.launches, "stop": recording.stop, "memory": processes.memory,
}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    with open("/proc/loadavg", encoding="ascii") as file:
        load = " ".join(file.read().split()[:3])
    return {"processor": model, "processors": os.cpu_count(), "kernel": os.uname().release, "load": load,
            "date": datetime.date.today().isoformat()}


def python_with_torch(asked):
    for python in (asked, os.environ.get("GPUPROF_TORCH_PYTHON"),
                   os.path.join(ROOT, ".venvs", "torch", "bin", "python"), shutil.which("python3")):
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--json")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--python")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return
    chosen = options.only.split(",") if options.only else list(CASES)
    unknown = [case for case in chosen if case not in CASES]
    if unknown:
        parser.error("there is no case %s; there are %s" % (unknown[0], ", ".join(CASES)))
    python = python_with_torch(options.python)
    if python is None:
        sys.exit("cost_bench.py: no Python here can import torch; scripts/setup --torch installs one, or give --python")
    here = machine()
    print("machine: %(processor)s, %(processors)s processors, kernel %(kernel)s, load %(load)s, %(date)s" % here)
    rows = []
    with tempfile.TemporaryDirectory(prefix="gpuprof-cost-") as folder:
        place = windows.Place(os.path.abspath(options.build), python, folder)
        for case in chosen:
            print("== " + case, flush=True)
            for row in CASES[case](place, options.pairs):
                rows.append(row)
                print(row.text(), flush=True)
                if options.json:
                    with open(options.json, "w", encoding="utf-8") as file:
                        json.dump(dict(here, rows=[one.as_json() for one in rows]), file, indent=1)


if __name__ == "__main__":
    main()
