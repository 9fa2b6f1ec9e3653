# SPDX-License-Identifier: Apache-2.0
"""Family loader: a library arrives by dlopen, in all the ways there are, while everything of gpuprof is active."""

import glob
import os
import shutil

import e2e
from attempt import PROGRAMS, Skip, require_files
from fault import add, fault

ARRIVALS = os.path.join(e2e.BUILD, "arrivals")
STAGES = ("resolver", "descriptor", "constructor", "thread", "lazy")
PROGRAM = os.path.join(PROGRAMS, "torture_arrive")
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
# Long enough that it is looked for and sampled, with a module that is a library itself.
CODE = """
import math, threading, time
def loop(end):
    while time.time() < end: sum(math.sqrt(i) for i in range(1000))
def both():
    end = time.time() + %s
    other = threading.Thread(target=loop, args=(end,)); other.start(); loop(end); other.join()
both()
print('python', 6 * 7, flush=True)
"""


def options(attempt):
    return ["--rate", attempt.random.choice(["0", "100", "1000", "1000"])]


def staged(*stages):
    found = [os.path.join(ARRIVALS, stage, name) for stage in stages for name in ("libcupti.so.12", "libcuda.so.1")]
    require_files(PROGRAM, *found)
    return found


def python_library(version):
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    name = "libpython%s*.so.1.0" % version
    for folder in (os.path.join(root, "versions", version + ".*", "lib"), "/usr/lib/*-linux-gnu", "/usr/lib64"):
        for path in sorted(glob.glob(os.path.join(folder, name))):
            return path
    raise Skip("no shared libpython%s here" % version)


def home_of(library):
    """Where its own modules are, for an interpreter without a program."""
    return os.path.dirname(os.path.dirname(library))


def unchanged(attempt, how, words, env=None):
    """Without a sample there is no trace to be due."""
    chosen = options(attempt)
    attempt.unchanged([PROGRAM, how, *words], chosen, least=0, env=env or {})


def opened(how, stages=STAGES):
    def body(attempt):
        few = attempt.random.sample(stages, min(2, len(stages)))
        unchanged(attempt, how, staged(*few))
    return body


for _how, _name in {"main": "in the main thread", "threads": "in several threads", "deepbind": "RTLD_DEEPBIND",
                    "closed": "closed at once", "turns": "50 in turn"}.items():
    add("loader", _name, opened(_how, ("lazy",) if _how in ("closed", "turns") else STAGES), quick=_how == "closed")
# What each namespace brings along is another C library: one that holds up a thread waits for that one's.
add("loader", "dlmopen", opened("namespace", ("resolver", "constructor", "lazy")))


@fault("loader", "50 different ones in turn")
def many(attempt):
    (model, _) = staged("lazy")
    copies = [shutil.copy(model, attempt.path("lib%d.so" % n)) for n in range(50)]
    unchanged(attempt, "turns", copies)


@fault("loader", "held up in its load", quick=True)
def held_up(attempt):
    """The one that a call too early meets for certain."""
    library, _ = staged("resolver")
    unchanged(attempt, "main", [library])


@fault("loader", "dlopen that fails")
def failing(attempt):
    library = os.path.join(PROGRAMS, "libtorture_arrive_missing.so")
    require_files(PROGRAM, library)
    unchanged(attempt, "failing", [library])


@fault("loader", "dlopen in a constructor")
def nested(attempt):
    library = os.path.join(PROGRAMS, "libtorture_arrive_nested.so")
    require_files(library)
    inner = staged(*attempt.random.sample(STAGES[:3], 2))
    unchanged(attempt, "main", [library], env={"TORTURE_NESTED": ":".join(inner)})


def python(version):
    def body(attempt):
        require_files(PROGRAM)
        library = python_library(version)
        how = attempt.random.choice(["python", "python", "python-thread", "python-deepbind", "python-again"])
        code = CODE % attempt.random.choice(["0.05", "0.15", "0.3"])
        unchanged(attempt, how, [library, code], env={"PYTHONHOME": home_of(library)})
    return body


for _version in VERSIONS:
    add("loader", "libpython" + _version, python(_version))


@fault("loader", "libpython closed at once")
def python_closed(attempt):
    require_files(PROGRAM)
    unchanged(attempt, "closed", [python_library(attempt.random.choice(VERSIONS[1:6]))])


@fault("loader", "libpython in a constructor")
def python_nested(attempt):
    library = os.path.join(PROGRAMS, "libtorture_arrive_nested.so")
    require_files(PROGRAM, library)
    inner = python_library(attempt.random.choice(VERSIONS[1:6]))
    unchanged(attempt, "main", [library], env={"TORTURE_NESTED": inner})
