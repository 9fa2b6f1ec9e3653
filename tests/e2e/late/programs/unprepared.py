# SPDX-License-Identifier: Apache-2.0
"""Starts a program that was not prepared for us, out of one that is: what `gpuprof run` and the
launcher of the simulated GPU put into the environment stays, the library does not.

usage: unprepared.py PROGRAM [ARGUMENT…]"""

import os
import subprocess
import sys

OURS = "libgpuprof_inject.so"


def main():
    env = dict(os.environ)
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        if OURS in env.get(name, ""):
            del env[name]
    preloads = [p for p in env.get("LD_PRELOAD", "").replace(" ", ":").split(":") if p]
    env["LD_PRELOAD"] = ":".join(p for p in preloads if OURS not in p)
    sys.exit(subprocess.run(sys.argv[1:], env=env).returncode)


if __name__ == "__main__":
    main()
