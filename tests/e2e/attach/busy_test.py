# SPDX-License-Identifier: Apache-2.0
"""Fresh busy Python programs in a row: the library is loaded into each, and each ends as it would.

usage: busy_test.py [--targets N]"""

import argparse
import os

import attach_lib as lib
import e2e

# Shared machines stop anybody for longer now and then: only many targets tell the difference.
ENOUGH = 50


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--targets", type=int, default=8)
    targets = parser.parse_args().targets
    lib.require_attach()
    checks, pauses, totals = e2e.Checks(), [], []
    python = e2e.real_python()
    for number in range(targets):
        what = "target %d" % number
        with lib.Target([python, lib.HERE + "/busy.py", lib.LONG]) as target:
            checks.equal(target.first, "ready", what)
            done = lib.inject(target.pid)
            if checks.equal(done.get("answer"), 0, "%s: %s" % (what, done)):
                pauses.append(done["pause_ns"])
                totals.append(done["total_ns"])
                checks.expect(lib.loaded(target.pid), what + ": the library is mapped")
            checks.equal(target.finish(0.3), (0, "ok"), what + ": its end")
    checks.equal(len(pauses), targets, "loaded")
    print("%d of %d loaded; pause %s; all of it %s" % (len(pauses), targets, lib.spread_ms(pauses),
                                                       lib.spread_ms(totals)))
    load = os.getloadavg()[0]
    if targets >= ENOUGH and load > os.cpu_count() + 1:
        checks.skip("pauses: others keep this machine busy (load %.1f)" % load)
    elif targets >= ENOUGH:
        checks.expect(lib.percentile(pauses, 0.5) < 3e6, "half of the pauses are below 3 ms")
        checks.expect(lib.percentile(totals, 0.5) < 300e6, "half of all are below 0.3 s")
    checks.done()


main()
