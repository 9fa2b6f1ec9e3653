# SPDX-License-Identifier: Apache-2.0
"""The list of faults: every family file adds its own with `@fault`."""

import dataclasses
import importlib

FAMILIES = ("kill", "limits", "processes", "loader", "gpu", "hostile", "programs")
# Hours of work: only if requested by name.
ON_REQUEST = ("programs",)


@dataclasses.dataclass
class Fault:
    family: str
    name: str
    body: object          # called with an Attempt
    limit_s: float        # an attempt that takes longer hangs
    lost: str             # failed expectations whose message matches are lost traces, all others harm
    quick: bool           # among those of a short round

    @property
    def key(self):
        return self.family + "/" + self.name


_faults = {}


def add(family, name, body, limit_s=90.0, lost="", quick=False):
    made = Fault(family, name, body, limit_s, lost, quick)
    if made.key in _faults:
        raise ValueError("two faults are called " + made.key)
    _faults[made.key] = made


def fault(family, name, **more):
    """Decorator of a function that stages a fault once: `body(attempt)`."""
    def register(body):
        add(family, name, body, **more)
        return body
    return register


def all_faults():
    """{key: Fault} of all families, in their order."""
    for family in FAMILIES:
        importlib.import_module("faults_" + family)
    return _faults
