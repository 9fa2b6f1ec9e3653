# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, how long each step lasts in microseconds by the tables of a real viewer, in the order of the steps.

usage: step_lengths.py FOLDER plugin|hta|xprof    (with the Python of .venvs/view, .venvs/hta, .venvs/xprof)"""

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile

STEP = re.compile(r"(\d+)$")


def in_order(lengths):
    """{label: us} by number."""
    return [lengths[label] for label in sorted(lengths, key=lambda label: int(STEP.search(str(label)).group(1)))]


def plugin(folder):
    """The Overview's table: what its columns say of a step adds up to it."""
    import plugin_views
    viewer_plugin = plugin_views.Plugin(folder)
    found = {}
    for run in viewer_plugin.wait(500):
        for worker in viewer_plugin.get("/workers", run=run, view="Overview"):
            for span in viewer_plugin.get("/spans", run=run, worker=worker):
                response = viewer_plugin.get("/overview", run=run, worker=worker, span=span)
                for row in plugin_views.rows(response["steps"]):
                    found[row["Step"]] = sum(value for name, value in row.items() if name and name != "Step")
    return in_order(found)


def hta(folder):
    """The rows that HTA's parser makes of the steps, which its analyses divide time by."""
    from hta.trace_analysis import TraceAnalysis
    alone = tempfile.mkdtemp(prefix="gpuprof-hta-")  # it writes beside its input
    try:
        for name in os.listdir(folder):
            if ".pt.trace.json" in name:
                shutil.copy(os.path.join(folder, name), alone)
        analysis = TraceAnalysis(trace_dir=alone)
        frame = analysis.t.get_trace(sorted(analysis.t.get_all_traces())[0])
        names = analysis.t.symbol_table.get_sym_table()
        wanted = [number for number, name in enumerate(names) if name.startswith("ProfilerStep")]
        steps = frame[frame["name"].isin(wanted)]
        known = set(analysis.get_profiler_steps())
        found = {names[row["name"]]: float(row["dur"]) for _, row in steps.iterrows()}
        assert {int(STEP.search(name).group(1)) for name in found} <= known | {max(known) + 1}, "steps that HTA leaves out"
        return in_order(found)
    finally:
        shutil.rmtree(alone)


def xprof(folder):
    """The overview's table, without the first step and the last."""
    import xprof_views
    plugin = xprof_views.Plugin(folder)
    found = {}
    for run in plugin.get("/runs"):
        for host in plugin.get("/hosts", run=run, tag="overview_page"):
            response = plugin.get("/data", run=run, tag="overview_page", host=host["hostname"])
            found.update((step, 1000 * ms) for step, ms in xprof_views.overview(response)["steps"].items())
    return in_order(found)


def main():
    with contextlib.redirect_stdout(sys.stderr):
        lengths = {"plugin": plugin, "hta": hta, "xprof": xprof}[sys.argv[2]](os.path.abspath(sys.argv[1]))
    json.dump(lengths, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # the plugin's threads never end


if __name__ == "__main__":  # the plugin's parsers are spawned: they import this file
    main()
