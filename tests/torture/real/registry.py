# SPDX-License-Identifier: Apache-2.0
"""All real programs."""

import cpython
from git_clone import GitClone


def programs(amount):
    """Every Program, in the order they are run. `amount`: quick, standard or all."""
    found = [GitClone()]
    pythons = cpython.interpreters()
    if amount == "quick":
        # The distribution's, and the newest: the oldest and the newest way to walk its frames are tested elsewhere.
        pythons = [row for row in pythons if row[0].endswith("-system")] + pythons[-1:]
    return found + [cpython.CPython(name, path, amount) for name, path in pythons]
