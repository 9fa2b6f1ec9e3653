# SPDX-License-Identifier: Apache-2.0
"""The interpreter that tests run PyTorch with."""

import os
import subprocess

import e2e


def python_with_torch(requested=None):
    """An interpreter that can import torch; ends the test as skipped without one."""
    for python in ([requested] if requested else [
            os.environ.get("GPUPROF_TORCH_PYTHON"),
            os.path.join(e2e.SOURCE, ".venvs", "torch", "bin", "python"), e2e.real_python()]):
        if python and os.path.exists(python) and subprocess.run(
                [python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return python
    return e2e.skip("no python here can import torch (scripts/setup --torch installs one)")
