# SPDX-License-Identifier: Apache-2.0
"""git clone of this repository."""

import hashlib
import os
import shlex
import subprocess

from modes import Job
from outcome import tree_hash
from program import ROOT, Program, clean_environment


class GitClone(Program):
    """git clones this repository several times over its own protocol, and checks what it got."""

    name = "git-clone"

    def __init__(self, clones):
        self.clones = clones

    def missing(self):
        done = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, check=False)
        return None if done.returncode == 0 else "this is no clone, or there is no git"

    def version(self):
        return subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def prepare(self, scratch):
        # Of its own: somebody may commit between two runs.
        self.origin = os.path.join(scratch, "origin.git")
        if not os.path.exists(self.origin):
            subprocess.run(["git", "clone", "--quiet", "--bare", "--single-branch", ROOT, self.origin], check=True,
                           stdin=subprocess.DEVNULL)

    def job(self, work):
        clone = f"git clone --no-local --quiet {shlex.quote('file://' + self.origin)} clone"
        # The last clone is the command itself, which is sampled whatever it is.
        script = (f"for i in $(seq {self.clones - 1}); do {clone}$i || exit; git -C clone$i fsck --full || exit; done; "
                  f"exec {clone}{self.clones}")
        return Job(["sh", "-c", script], work, clean_environment(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory",
                                                                 GIT_CONFIG_VALUE_0="*"),
                   attach_s=0.5, between_s=0.2)

    def collect(self, work, outcome):
        for number in range(1, self.clones + 1):
            clone = os.path.join(work, f"clone{number}")
            outcome.tests[f"clone{number}"] = "passed" if os.path.exists(os.path.join(clone, "README.md")) else "failed"
            outcome.hashes[f"tree of clone{number}"] = tree_hash(clone, {".git"})
            # The index and the logs hold times; a pack, what several threads agreed on.
            for what, command in (("objects", ["cat-file", "--batch-all-objects", "--batch-check"]),
                                  ("branches", ["show-ref"]), ("status", ["status", "--porcelain"]), ("fsck", ["fsck", "--full"])):
                done = subprocess.run(["git", "-C", clone, *command], capture_output=True, check=False)
                outcome.hashes[f"{what} of clone{number}"] = hashlib.sha256(done.stdout + done.stderr).hexdigest()
        outcome.hashes["printed"] = hashlib.sha256(outcome.output.encode()).hexdigest()
