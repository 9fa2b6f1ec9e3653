# SPDX-License-Identifier: Apache-2.0
"""What a real program is to the harness: how to start it, and what it gave."""

import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
HERE = os.path.dirname(os.path.abspath(__file__))


def clean_environment(**more):
    """The environment of all programs: that of this process without what would change what they do."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PYTHON", "GIT_", "GPUPROF_", "CMAKE_", "PIP_", "BASH"))
           and name not in ("LD_PRELOAD", "MAKEFLAGS", "OLDPWD", "_")}
    env.update(LC_ALL="C.UTF-8", **more)
    return env


class Program:
    """One real program. A subclass says how it is started in an empty folder, and reads what it gave."""

    name = ""
    modes = ("run", "attach")

    def missing(self):
        """Why it cannot be run here, or None."""
        return None

    def version(self):
        """What was run, for the table."""
        return ""

    def prepare(self, scratch):
        """Once before all runs; `scratch` stays until the end."""

    def job(self, work):
        """The Job, in the empty folder `work`, whose path is the same for every run."""
        raise NotImplementedError

    def collect(self, work, outcome):
        """Fills `outcome.tests` and `outcome.hashes` from `work` and `outcome.output`."""
        raise NotImplementedError

    def narrowed(self, names):
        """A program of less that still has the tests of these names, for a second look; or None."""
        del names
