# SPDX-License-Identifier: Apache-2.0
"""Deterministic scripts for bash, several times each, and checks of this repository."""

import glob
import hashlib
import os
import re
import shutil
import subprocess

from modes import Job
from program import HERE, ROOT, Program, clean_environment

CHECKS = ("check_layers", "check_links", "check_format")
DRIVER = """
for round in $(seq %d); do
  for script in %s; do
    name=$(basename "$script" .bash)
    mkdir -p "w/$name" && cd "w/$name" && rm -rf ./*
    bash "$script" >"../../$name.$round.out" 2>&1
    echo "$name.$round $?"
    cd ../..
  done
done
for check in %s; do "$check" >"$(basename "$check").1.out" 2>&1; echo "$(basename "$check").1 $?"; done
"""


class BashScripts(Program):
    """Traps, job control, pipes, limits, computing."""

    name = "bash-scripts"

    def __init__(self, rounds):
        self.rounds = rounds

    def missing(self):
        return None if shutil.which("bash") and shutil.which("ps") else "no bash or no ps"

    def version(self):
        return subprocess.run(["bash", "-c", "echo bash $BASH_VERSION"], capture_output=True, text=True, check=True).stdout.strip()

    def job(self, work):
        scripts = sorted(glob.glob(os.path.join(HERE, "programs", "*.bash")))
        checks = [os.path.join(ROOT, "scripts", name) for name in CHECKS]
        return Job(["bash", "-c", DRIVER % (self.rounds, " ".join(scripts), " ".join(checks))], work, clean_environment(),
                   attach_s=0.5, between_s=0.1)

    def collect(self, work, outcome):
        for name, status in re.findall(r"^(\w+\.\d+) (\d+)$", outcome.output, re.M):
            with open(os.path.join(work, name + ".out"), "rb") as file:
                output = re.sub(rb"(line \d+:) +\d+ ", rb"\1 PID ", file.read())  # bash: its children's numbers
            outcome.hashes[name] = hashlib.sha256(output).hexdigest()
            outcome.tests[name] = "passed" if status in ("0", "5") else f"status {status}"
