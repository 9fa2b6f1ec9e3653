#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads traces through the TensorBoard PyTorch plugin's own loader and prints the views found.

usage: show_views.py FOLDER    (with the Python of .venvs/view)

Fails if a file of the folder is not listed: the plugin only logs what it cannot read.
"""

import gzip
import json
import os
import pathlib
import signal
import sys
import time

PATIENCE_S = 300


def get(routes, route, **query):
    answer = routes[route].get(route, query_string=query)
    if answer.status_code != 200:
        raise RuntimeError(f"{route} answers {answer.status_code}")
    body = answer.get_data()
    if answer.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return json.loads(body)


def wait_for_runs(routes):
    """The plugin scans in the background; right after its start it lists nothing and is idle."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        state = get(routes, "/runs")
        if state["runs"] and not state["loading"]:
            return state["runs"]
        time.sleep(0.2)
    return []


def show_kernels(routes, key):
    table = get(routes, "/kernel/table", group_by="Kernel", **key)["data"]
    names = [column["name"] if isinstance(column, dict) else column for column in table["columns"]]
    rows = [dict(zip(names, row)) for row in table["rows"]]
    calls = sum(row["Calls"] for row in rows)
    print(f"    {calls} calls of {len(rows)} kernels, most time in:")
    rows.sort(key=lambda row: -row["Total Duration (us)"])
    for row in rows[:3]:
        print(f"      {row['Total Duration (us)'] / 1e3:.1f} ms in {row['Calls']} calls of {row['Name'][:90]}")


def show_trace(routes, key):
    events = get(routes, "/trace", **key)["traceEvents"]
    on_gpu = sum(event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for event in events)
    print(f"    {len(events)} events, {on_gpu} of them on a GPU")


def show(folder):
    from tensorboard.plugins import base_plugin
    from torch_tb_profiler.plugin import TorchProfilerPlugin
    from werkzeug.test import Client

    files = sorted(folder.glob("*.pt.trace.json*"))
    if not files:
        print(f"no *.pt.trace.json[.gz] in {folder}")
        return 1
    plugin = TorchProfilerPlugin(base_plugin.TBContext(logdir=str(folder)))
    routes = {name: Client(app) for name, app in plugin.get_plugin_apps().items()}
    listed = 0
    for run in wait_for_runs(routes):
        for view in get(routes, "/views", run=run):
            view = view if isinstance(view, str) else view["name"]
            workers = get(routes, "/workers", run=run, view=view)
            print(f"  view {view}: {', '.join(workers)}")
            details = {"Kernel": show_kernels, "Trace": show_trace}.get(view)
            for worker in workers if details else []:
                for span in get(routes, "/spans", run=run, worker=worker) or [""]:
                    details(routes, {"run": run, "worker": worker, "span": span})
            if view == "Overview":
                for worker in workers:
                    spans = get(routes, "/spans", run=run, worker=worker) or [""]
                    listed += len(spans)
                    for span in spans:
                        page = get(routes, "/overview", run=run, worker=worker, span=span)
                        steps = len(page.get("steps", {}).get("rows", []))
                        print(f"    {worker} span {span or '1'}: {steps} steps shown")
    print(f"  {listed} of {len(files)} files loaded")
    return 0 if listed == len(files) else 1


def end_children():
    """The plugin's helper processes outlive it and would keep our output open."""
    for task in pathlib.Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            os.kill(int(child), signal.SIGKILL)


if __name__ == "__main__":  # the plugin starts processes that import this file
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if "--help" in sys.argv or "-h" in sys.argv else 2)
    try:
        status = show(pathlib.Path(sys.argv[1]).resolve())
    except Exception as problem:  # whatever the plugin raises is the answer
        print(f"the plugin failed: {type(problem).__name__}: {problem}")
        status = 1
    sys.stdout.flush()
    end_children()
    os._exit(status)  # its scanning threads never end
