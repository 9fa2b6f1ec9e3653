# SPDX-License-Identifier: Apache-2.0
"""All real programs."""

import cpython
from bash_scripts import BashScripts
from git_clone import GitClone
from project_build import ProjectBuild
from python_packages import NumpyTests, PipInstall, TorchOperators


def programs(amount, modules=None):
    """Every Program, in the order they are run. `amount`: quick, standard or all. `modules`: of CPython's tests."""
    found = [GitClone(3 if amount == "quick" else 8), BashScripts(2 if amount == "quick" else 8), PipInstall(), ProjectBuild(amount),
             NumpyTests(amount), TorchOperators(amount)]
    pythons = cpython.interpreters()
    if amount == "quick":
        # The distribution's, and the newest: the oldest and the newest way to walk its frames are tested elsewhere.
        pythons = [row for row in pythons if row[0].endswith("-system")] + pythons[-1:]
    return found + [cpython.CPython(name, path, modules.split(",") if modules else amount) for name, path in pythons]
