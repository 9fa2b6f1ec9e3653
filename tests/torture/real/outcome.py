# SPDX-License-Identifier: Apache-2.0
"""What one run of a program gave, and what differs between runs.

A test's state is a word: passed, failed, skipped, or what else the program states about it (crashed, timed out).
Two plain runs say what is steady: only that is compared."""

import collections
import dataclasses
import hashlib
import os

COUNTED = ("passed", "failed", "skipped")


@dataclasses.dataclass
class Outcome:
    """One run. `tests`: {test: state}; `hashes`: {name of an output: digest}."""
    tests: dict = dataclasses.field(default_factory=dict)
    hashes: dict = dataclasses.field(default_factory=dict)
    status: int = 0        # as subprocess gives it: negative for a signal
    wall_s: float = 0.0
    output: str = ""       # the end of what it printed, for a person
    samples: int = 0       # recorded by gpuprof
    attached: int = 0      # times that an attach recorded
    refused: dict = dataclasses.field(default_factory=dict)  # {message: times}
    trouble: str = ""      # ours: gpuprof itself failed

    def counts(self):
        """(passed, failed, skipped); what is none of these counts as failed."""
        states = collections.Counter(state if state in COUNTED else "failed" for state in self.tests.values())
        return tuple(states[name] for name in COUNTED)


@dataclasses.dataclass
class Difference:
    """A test, output or exit status that is not what it is without gpuprof."""
    what: str     # "test", "output" or "status"
    name: str
    without: str
    within: str

    def __str__(self):
        return f"{self.what} {self.name}: {self.within}, without gpuprof {self.without}"


def flaky(first, second):
    """Names of tests and of outputs that differ between two plain runs: (set, set)."""
    return tuple({name for name in {**a, **b} if a.get(name) != b.get(name)}
                 for a, b in ((first.tests, second.tests), (first.hashes, second.hashes)))


def differences(plain, again, profiled):
    """How `profiled` differs from both plain runs."""
    flaky_tests, flaky_hashes = flaky(plain, again)
    found = []
    for what, a, c, unsteady in (("test", plain.tests, profiled.tests, flaky_tests),
                                 ("output", plain.hashes, profiled.hashes, flaky_hashes)):
        found += [Difference(what, name, str(a.get(name, "not there")), str(c.get(name, "not there")))
                  for name in sorted((set(a) | set(c)) - unsteady)
                  if a.get(name) != c.get(name)]
    # A suite with flaky tests has a flaky status.
    if plain.status == again.status != profiled.status and not any(d.what == "test" for d in found) \
            and not flaky_tests:
        found.append(Difference("status", "exit", str(plain.status), str(profiled.status)))
    return found


def tree_hash(folder, leave_out=(), file_bytes=None):
    """Digest of all names, kinds, modes and contents below `folder`.

    @param leave_out   Names of files and folders that do not count.
    @param file_bytes  path -> bytes that stand for a file, where not all of it counts."""
    digest = hashlib.sha256()
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in leave_out)
        for name in sorted(files + folders):
            path = os.path.join(where, name)
            if name in leave_out:
                continue
            digest.update(f"{os.path.relpath(path, folder)} {os.lstat(path).st_mode:o}\n".encode())
            if os.path.islink(path):
                digest.update(os.readlink(path).encode())
            elif os.path.isfile(path):
                digest.update(hashlib.sha256(file_bytes(path) if file_bytes else read(path)).digest())
    return digest.hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()
