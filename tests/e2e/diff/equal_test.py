# SPDX-License-Identifier: Apache-2.0
"""Equal runs of one training, twenty pairs: nothing is claimed of any.

usage: equal_test.py [--pairs N]"""

import argparse

import recordings
from recordings import e2e


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=20)
    pairs = parser.parse_args().pairs
    check = e2e.Checks()
    with e2e.Folder("diff-equal") as folder:
        for i in range(pairs):
            before = recordings.record(folder, "before%d" % i)
            after = recordings.record(folder, "after%d" % i)
            process = recordings.compared(before, after)
            step = process["metrics"]["step_time"]
            print("pair %d: step %.2f ms and %.2f ms, all operators x%.2f, seen once %r" %
                  (i, step["before"] / 1e6, step["after"] / 1e6, process["common_host"]["factor"],
                   recordings.findings(process, "seen_once")), flush=True)
            check.equal(recordings.findings(process), [], "claimed of equal runs, pair %d" % i)
        if check.failed:
            raise RuntimeError("kept for a look")
    check.done()


main()
