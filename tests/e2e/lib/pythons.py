# SPDX-License-Identifier: Apache-2.0
"""The interpreters here whose frames can be read."""

import glob
import os
import sys


def supported_interpreters():
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = sorted(glob.glob(os.path.join(root, "versions", "3.*", "bin", "python3")))
    return [path for path in found if "/3.6." not in path and "/3.7." not in path] or [sys.executable]
