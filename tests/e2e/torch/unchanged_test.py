# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs say and return the same under gpuprof, while windows open and close all the time.

usage: unchanged_test.py [--only NAME,…]"""

import argparse
import sys

import e2e
import torch_programs as programs

CASES = {
    "warnings": ["warnings_and_status.py"],
    "fork workers": ["workers.py", "fork"],
    "spawn workers": ["workers.py", "spawn"],
    "forkserver workers": ["workers.py", "forkserver"],
    "odd tensors": ["odd_tensors.py"],
    "ranges": ["ranges.py", "300"],
    "killed": ["killed.py", "300"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES))
    python = programs.python_with_torch()
    checks = e2e.Checks()
    with e2e.Folder("torch-unchanged") as folder:
        for name in parser.parse_args().only.split(","):
            line = programs.command(python, *CASES[name])
            without = programs.run_plain(line)
            profiled = programs.run_profiled(["-f", "-o", folder, *programs.MANY_WINDOWS], line)
            good = checks.equal(profiled.returncode, without.returncode, name + ": status")
            good &= checks.equal(profiled.stdout, without.stdout, name + ": stdout")
            good &= checks.equal(programs.parse_pairs(profiled.stderr), programs.parse_pairs(without.stderr),
                                 name + ": stderr")
            print("%s: %s (status %d, %d + %d bytes)" % (
                name, "equal" if good else "DIFFERENT", profiled.returncode, len(profiled.stdout),
                len(profiled.stderr)), flush=True)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
