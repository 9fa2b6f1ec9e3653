# SPDX-License-Identifier: Apache-2.0
"""The plugin's comparison of the two runs in a folder, as JSON: {runs, total, operators}.

usage: plugin_diff.py FOLDER    (with the Python of .venvs/view)
"""

import os
import sys

from plugin_views import Plugin, print_alone


def first_of(plugin, run):
    worker = plugin.get("/workers", run=run, view="Overview")[0]
    return {"run": run, "worker": worker,
            "span": plugin.get("/spans", run=run, worker=worker)[0]}


def main():
    plugin = Plugin(os.path.abspath(sys.argv[1]))
    runs = sorted(plugin.wait(120))
    base, other = [first_of(plugin, run) for run in runs[:2]]
    found = plugin.get("/diff", **base, **{"exp_" + k: v for k, v in other.items()})
    return {"runs": runs, "diff": found}


if __name__ == "__main__":  # its parsers are spawned: they import this file
    print_alone(main)
