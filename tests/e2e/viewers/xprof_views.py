# SPDX-License-Identifier: Apache-2.0
"""Loads a folder with the real xprof plugin of TensorBoard and prints what its tools say as JSON.

usage: xprof_views.py FOLDER [SCRIPT]    (with the Python of .venvs/xprof)
SCRIPT: says also how much of the time of each row of samples has this file in it.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import shutil
import sys
import tempfile


class Plugin:
    """The plugin's own search for profiles and its request handlers, without a server."""

    def __init__(self, folder):
        from tensorboard.plugins import base_plugin
        from werkzeug.test import Client
        from xprof.profile_plugin_loader import ProfilePluginLoader
        loader, parser = ProfilePluginLoader(), argparse.ArgumentParser()
        loader.define_flags(parser)
        parser.add_argument("--logdir", default=folder)
        plugin = loader.load(base_plugin.TBContext(logdir=folder, flags=parser.parse_args([])))
        self.active = plugin.is_active()
        self.routes = {name: Client(app) for name, app in plugin.get_plugin_apps().items()}

    def get(self, route, **query):
        response = self.routes[route].get(route, query_string=query)
        body = response.get_data()
        if response.status_code != 200:
            raise RuntimeError("%s %s: status %d: %r" % (route, query, response.status_code, body[:300]))
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        return json.loads(body)


def tables(response):
    """Of each table its properties and its rows by the columns' ids."""
    found = []
    for table in response if isinstance(response, list) else [response]:
        if not isinstance(table, dict) or "cols" not in table:
            continue
        ids = [column["id"] for column in table["cols"]]
        rows = [dict(zip(ids, [(cell or {}).get("v") for cell in row["c"]])) for row in table["rows"]]
        found.append((table.get("p") or {}, rows))
    return found


def rows_with(response, column):
    return next((rows for _, rows in tables(response) if rows and column in rows[0]), [])


def timeline(response):
    names, spans = {}, collections.defaultdict(list)
    for event in response["traceEvents"]:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
        elif event.get("ph") == "X":
            spans[event["pid"], event["tid"]].append(event)
    every = [event for row in spans.values() for event in row]
    steps = {}
    for key, row in spans.items():
        if names[key] == "Steps":
            steps[key[0]] = [[e["name"], e["ts"], e["dur"]] for e in sorted(row, key=lambda e: e["ts"])]
    rows = collections.Counter()
    texts = collections.defaultdict(set)
    for key, row in spans.items():
        rows[names[key]] += len(row)
        texts[names[key]].update(event["name"] for event in row)
    return {
        "rows": rows, "steps": list(steps.values()),
        "names": {name: sorted(some)[:400] for name, some in texts.items()},
        "arrows": sum(bool(e.get("bind_id") and e.get("flow_in")) for key, row in spans.items()
                      if names[key].startswith("Stream #") for e in row),
        "first_us": min((e["ts"] for e in every), default=None),
        "last_us": max((e["ts"] + e.get("dur", 0) for e in every), default=None),
    }


def overview(response):
    properties = {}
    for found, _ in tables(response):
        properties.update(found)
    return {
        "steps": {row["stepnum"]: row["stepTimeMs"] for row in rows_with(response, "stepnum")},
        "device_type": properties.get("device_type"), "gpus": properties.get("device_core_count"),
        "messages": [row["message"] for row in rows_with(response, "severity")],
    }


def operators(response):
    keys = ("host_or_device", "type", "operation", "occurrences", "total_self_time",
            "device_total_self_time_percent")
    every = next((rows for _, rows in tables(response) if rows and "host_or_device" in rows[0]), [])
    return [{key: row[key] for key in keys} for row in every]


def kernels(response):
    keys = ("kernel_name", "op_name", "occurrences", "total_duration_us", "is_kernel_using_tensor_core",
            "is_op_tensor_core_eligible")
    return [{key: row[key] for key in keys} for row in rows_with(response, "kernel_name")]


def memory(response):
    return {name: {"peak": int(one["profileSummary"]["peakBytesUsageLifetime"]),
                   "snapshots": len(one.get("memoryProfileSnapshots", [])),
                   "operators": sorted({shot["activityMetadata"].get("tfOpName", "")
                                        for shot in one.get("memoryProfileSnapshots", [])})}
            for name, one in response.get("memoryProfilePerAllocator", {}).items()}


READERS = {"trace_viewer@": timeline, "overview_page": overview, "framework_op_stats": operators,
           "kernel_stats": kernels, "memory_profile": memory}


def profiles(folder):
    plugin = Plugin(folder)
    found = {}
    for run in plugin.get("/runs"):
        tools = plugin.get("/run_tools", run=run)
        hosts = [host["hostname"] for host in plugin.get("/hosts", run=run, tag=tools[0])]
        hosts = hosts or plugin.get("/hosts", run=run, tag="memory_profile")
        found[run] = {"tools": tools, "hosts": {}}
        for path in sorted(glob.glob(os.path.join(folder, "plugins", "profile", run, "*.xplane.pb"))):
            host = os.path.basename(path)[:-len(".xplane.pb")]
            views = found[run]["hosts"][host] = {}
            for tool in tools:
                response = plugin.get("/data", run=run, tag=tool, host=host)
                views[tool] = READERS.get(tool, lambda _: "read")(response)
    return {"active": plugin.active, "runs": found}


def covered(spans):
    total, until = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total / 1e3


def sampled(folder, script):
    """Of each process and row of samples the time in us: all, and that with the script."""
    from xprof.profile_data import ProfileData
    found = {}
    for path in glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.xplane.pb")):
        of_host = found.setdefault(os.path.basename(path)[:-len(".xplane.pb")], {})
        for plane in ProfileData.from_file(path).planes:
            for line in plane.lines if plane.name == "/host:CPU" else []:
                if not line.name.endswith(" samples"):
                    continue
                spans = [(e.name, (e.start_ns, e.start_ns + e.duration_ns)) for e in line.events]
                # Python's clearing up after the script is none of it.
                end = covered(span for name, span in spans if "Py_FinalizeEx" in name)
                of_host[line.name] = [covered(span for _, span in spans) - end,
                                      covered(span for name, span in spans if script in name)]
    return found


def scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    found = {}
    for run in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        accumulator = EventAccumulator(os.path.join(folder, run))
        accumulator.Reload()
        found[run] = {tag: [[event.step, event.value] for event in accumulator.Scalars(tag)]
                      for tag in accumulator.Tags()["scalars"]}
    return found


def main():
    # xprof leaves caches beside what it reads.
    copy = tempfile.mkdtemp(prefix="gpuprof-xprof-")
    out = os.dup(1)
    os.dup2(2, 1)  # its native parts talk
    try:
        shutil.copytree(sys.argv[1], copy, dirs_exist_ok=True)
        found = {"profiles": profiles(copy), "scalars": scalars(os.path.join(copy, "scalars"))}
        if len(sys.argv) > 2:
            found["sampled"] = sampled(copy, sys.argv[2])
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    with os.fdopen(out, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
