# SPDX-License-Identifier: Apache-2.0
"""The plugin's comparison of the two runs in a folder, as JSON: {runs, total, operators}.

usage: plugin_diff.py FOLDER    (with the Python of .venvs/view)
"""

import json
import os
import sys
import traceback

from plugin_views import Plugin


def first_of(plugin, run):
    worker = plugin.get("/workers", run=run, view="Overview")[0]
    return {"run": run, "worker": worker,
            "span": plugin.get("/spans", run=run, worker=worker)[0]}


def main():
    plugin = Plugin(os.path.abspath(sys.argv[1]))
    runs = sorted(plugin.wait(120))
    base, other = [first_of(plugin, run) for run in runs[:2]]
    found = plugin.get("/diff", **base, **{"exp_" + k: v for k, v in other.items()})
    json.dump({"runs": runs, "diff": found}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":  # its parsers are spawned: they import this file
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
