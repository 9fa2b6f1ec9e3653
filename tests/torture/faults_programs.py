# SPDX-License-Identifier: Apache-2.0
"""Family programs, only where requested: real programs and their own tests, unchanged (tests/torture/real)."""

import os
import subprocess
import sys

from attempt import HERE, Skip
from fault import fault

SCRIPT = os.path.join(HERE, "real", "real_programs.py")


@fault("programs", "real programs", limit_s=6 * 3600)
def real(attempt):
    if not os.path.exists(SCRIPT):
        raise Skip("tests/torture/real is not here")
    done = subprocess.run([sys.executable, SCRIPT], stdout=subprocess.PIPE, text=True)
    print(done.stdout, flush=True)
    attempt.equal(done.returncode, 0, "real_programs.py: " + done.stdout[-1000:])
