# SPDX-License-Identifier: Apache-2.0
"""Loads a folder with the real TensorBoard plugin, in one process, and prints its views as JSON.

usage: plugin_views.py FOLDER [SECONDS]    (with the Python of .venvs/view)
"""

import gzip
import json
import os
import sys
import time
import traceback


class Plugin:
    """The plugin's own loader and request handlers, without a server."""

    def __init__(self, folder):
        from tensorboard.plugins import base_plugin
        from torch_tb_profiler.plugin import TorchProfilerPlugin
        from werkzeug.test import Client
        plugin = TorchProfilerPlugin(base_plugin.TBContext(logdir=folder))
        self.routes = {name: Client(app) for name, app in plugin.get_plugin_apps().items()}

    def get(self, route, **query):
        response = self.routes[route].get(route, query_string=query)
        if response.status_code != 200:
            raise RuntimeError("%s %s: status %d: %r" % (route, query, response.status_code,
                                                         response.get_data()[:300]))
        body = response.get_data()
        if response.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return json.loads(body, parse_constant=not_json)

    def wait(self, seconds):
        """Names of the runs once everything is loaded."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = self.get("/runs")
            if state["runs"] and not state["loading"]:
                return state["runs"]
            time.sleep(0.2)
        raise RuntimeError("nothing was loaded within %d s" % seconds)


def not_json(word):
    raise ValueError("%s: a browser refuses it" % word)


def rows(table):
    # Tool-tip columns have no name.
    names = [column.get("name") if isinstance(column, dict) else column
             for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def overview(plugin, key):
    response = plugin.get("/overview", **key)
    return {
        "steps": [{k: v for k, v in row.items() if k} for row in rows(response["steps"])],
        "average_step": response["performance"][0]["value"],
        "gpus": [[g["title"], g["value"]]
                 for g in (response.get("gpu_metrics") or {"data": []})["data"]],
        "advice": response["recommendations"],
    }


def modules_of(rows):
    """{name: rows of what is inside} of the Module view's tree."""
    return {row["name"]: modules_of(row["children"]) for row in rows}


def distributed(plugin, run):
    """What the Distributed view states about each span of a run."""
    found = {}
    for worker in plugin.get("/workers", run=run, view="Distributed"):
        for span in plugin.get("/spans", run=run, worker=worker):
            key = {"run": run, "worker": worker, "span": span}
            found[span] = {name: plugin.get("/distributed/" + name, **key)
                           for name in ("overlap", "waittime", "commops")}
    return found


def worker_views(plugin, run, worker, span):
    key = {"run": run, "worker": worker, "span": span}
    views = plugin.get("/views", run=run)
    found = {"views": views, "overview": overview(plugin, key)}
    table = plugin.get("/operation/table", group_by="Operation", **key)["data"]
    found["operators"] = {row["name"]: row for row in table}
    for name, row in found["operators"].items():
        if row.get("has_call_stack"):
            stacks = plugin.get("/operation/stack", op_name=name, group_by="Operation", **key)
            row["stacks"] = [entry["call_stack"] for entry in stacks["data"]]
    if "Kernel" in views:
        kernels = plugin.get("/kernel/table", group_by="Kernel", **key)["data"]
        owners = plugin.get("/kernel/table", group_by="KernelNameAndOpName", **key)["data"]
        found["kernels"] = rows(kernels)
        found["matrix_units"] = dict(plugin.get("/kernel/tc_pie", **key)["total"]["rows"])
        found["owners"] = [[row["Name"], row["Operator"]] for row in rows(owners)]
        found["owner_rows"] = rows(owners)
    if "Memory" in views:
        curve = plugin.get("/memory_curve", **key)
        found["memory"] = {device: len(rows) for device, rows in curve["rows"].items()}
    if "Module" in views:
        found["modules"] = modules_of(plugin.get("/module", **key)["data"])
    trace = plugin.get("/trace", **key)
    counters = {e["name"] for e in trace["traceEvents"] if e.get("ph") == "C"}
    found["trace"] = {"events": len(trace["traceEvents"]), "counters": sorted(counters)}
    return found


def main():
    plugin = Plugin(os.path.abspath(sys.argv[1]))
    result = {}
    for run in plugin.wait(float(sys.argv[2]) if len(sys.argv) > 2 else 120):
        workers = result[run] = {}
        for worker in plugin.get("/workers", run=run, view="Overview"):
            for span in plugin.get("/spans", run=run, worker=worker):
                workers["%s/%s" % (worker, span)] = worker_views(plugin, run, worker, span)
        if any("Distributed" in worker["views"] for worker in workers.values()):
            distributed_info = distributed(plugin, run)
            for worker in workers.values():
                worker["distributed"] = distributed_info
    return result


def print_alone(response):
    """Prints what answer() returns as JSON; ends the process with the plugin's scanning threads, which
    never end."""
    try:
        json.dump(response(), sys.stdout)
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":  # its parsers are spawned: they import this file
    print_alone(main)
