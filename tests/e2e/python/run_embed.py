#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the embedding test with every shared libpython of pyenv's folder.

usage: run_embed.py EMBED_TEST
"""
import glob
import os
import pathlib
import subprocess
import sys


def main():
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    failed = 0
    for minor in range(8, 15):
        libraries = glob.glob(f"{root}/versions/3.{minor}.*/lib/libpython3.{minor}.so.1.0")
        if not libraries:
            print(f"SKIPPED: no shared libpython3.{minor} here")
        for library in sorted(libraries):
            home = pathlib.Path(library).parent.parent
            result = subprocess.run([sys.argv[1], library, home], capture_output=True, text=True)
            print(f"{library}: {'passed' if result.returncode == 0 else 'FAILED'}", flush=True)
            if result.returncode != 0:
                print(result.stdout[-3000:], result.stderr[-1000:])
                failed += 1
    print(f"run_embed: {failed} failed" if failed else "run_embed: ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
