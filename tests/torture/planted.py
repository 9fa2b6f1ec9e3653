# SPDX-License-Identifier: Apache-2.0
"""Bugs that gpuprof does not have, planted one at a time: a torture that misses one is worth nothing."""

import dataclasses
import shutil
import time

import fault as registry
import staged

HARMED, LOST, EITHER = ["harms"], ["losses"], ["harms", "losses"]


@dataclasses.dataclass
class Plant:
    fault: str
    plant: str      # what planted/gpuprof or programs/plant.cpp does
    counts_as: list
    what: str
    quick: bool = True


PLANTS = [
    Plant("kill/files survive a kill in mid-window", "truncate", LOST, "a daemon that leaves half a file"),
    Plant("kill/target at: many records", "empty", LOST, "the file of a killed program is not there", quick=False),
    Plant("kill/attacher at random", "hang-of-program", HARMED, "the program stays stopped after an attach", quick=False),
    Plant("limits/RLIMIT_NOFILE at the edge", "descriptor", HARMED, "a descriptor of the program's is taken", quick=False),
    Plant("limits/RLIMIT_FSIZE at the edge", "status", HARMED, "another exit status"),
    Plant("processes/SIGPROF by itimer", "signal", HARMED, "a signal that the program waits for is eaten"),
    Plant("processes/SIGPROF by itimer", "errno", HARMED, "errno changes under the program", quick=False),
    Plant("processes/posix_spawn", "left", HARMED, "a process is left behind", quick=False),
    Plant("processes/posix_spawn", "output", HARMED, "a line on the program's stderr", quick=False),
    Plant("processes/posix_spawn", "slow", HARMED, "the program is slowed beyond the bound", quick=False),
    Plant("processes/posix_spawn", "hang", HARMED, "the program hangs", quick=False),
    Plant("loader/held up in its load", "early", HARMED, "a function is called while its library is being loaded"),
    Plant("gpu/shuffled", "killed", HARMED, "the program is killed"),
    Plant("gpu/shuffled", "empty", LOST, "no trace although one is due", quick=False),
    Plant("hostile/garbage", "daemon", EITHER, "a daemon that dies of a stranger", quick=False),
    Plant("hostile/links where files are written", "follow", HARMED, "a link is written through"),
]


def caught(one, faults, seed):
    """Stages it; (whether it counted as it must, the message)."""
    running = staged.Running(faults[one.fault], seed, one.plant)
    while not running.over():
        time.sleep(0.02)
    result = running.result()
    messages = [sentence for kind in one.counts_as for sentence in result[kind]]
    if messages:
        shutil.rmtree(result["folder"], ignore_errors=True)
    if result["skips"] and not messages:
        return None, result["skips"][0]
    return bool(messages), messages[0] if messages else "counted: %d harms, %d losses; %s" % (
        len(result["harms"]), len(result["losses"]), result["folder"])


def main(arguments):
    faults, missed, families = registry.all_faults(), 0, set()
    words = [w for w in arguments.only.split(",") if w]
    for one in PLANTS:
        family = one.fault.split("/")[0]
        if words and not (family in words or one.fault in words or "quick" in words and one.quick):
            continue
        good, messages = caught(one, faults, arguments.seed)
        word = "SKIPPED" if good is None else "caught" if good else "NOT CAUGHT"
        print("%-10s %-42s %s: %s: %s" % (family, one.fault.split("/")[1], word, one.what, messages.replace("\n", " ")[:160]), flush=True)
        missed += good is False
        families.update([family] if good else [])
    for family in registry.FAMILIES:
        if family not in families and not words and family not in registry.ON_REQUEST:
            print("%s: nothing planted was caught" % family)
            missed += 1
    print("%d planted bugs missed" % missed)
    return 1 if missed else 0
