# SPDX-License-Identifier: Apache-2.0
"""Traces as other writers make them, built event by event, and what `gpuprof report` states about them."""

import json
import os
import subprocess

import e2e

PID = 4000


def x(category, name, start, length, pid=PID, tid=PID, **args):
    """A complete event; names of arguments have blanks where these have two underscores."""
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length,
             "args": {key.replace("__", " "): value for key, value in args.items()}}
    return dict(event, cat=category) if category else event


def named(kind, pid, name, tid=0):
    key = "labels" if kind == "process_labels" else "name"
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {key: name}}


def arrow(phase, category, number, pid, tid, ts):
    return {"ph": phase, "cat": category, "name": category, "id": number, "pid": pid, "tid": tid, "ts": ts,
            "bp": "e"}


def host(steps=1):
    """Steps of 1 ms with one operator of 300 us each; its External id is the step's + 2."""
    events = []
    for n in range(steps):
        at = 1000 + 1000 * n
        events += [x("user_annotation", "ProfilerStep#%d" % n, at, 1000, External__id=100 * n + 1),
                   x("cpu_op", "aten::mm", at + 10, 300, External__id=100 * n + 2)]
    return events


def save(folder, name, events, **head):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(head, traceEvents=events), file)
    return path


def run(*words):
    return subprocess.run([e2e.GPUPROF, *words], capture_output=True, text=True, timeout=600, check=False,
                          stdin=subprocess.DEVNULL)


class Report:
    """The tables of a file; several processes one after the other."""

    def __init__(self, checks, *paths):
        done = run("report", "--json", *paths)
        checks.equal(done.returncode, 0, "report of %s: %s" % (paths, done.stderr.strip()))
        self.all = json.loads(done.stdout) if done.returncode == 0 else {"processes": []}
        self.processes = self.all["processes"]

    def rows(self, table, process=None):
        of = self.processes if process is None else self.processes[process:process + 1]
        return [row for one in of for row in one["tables"].get(table, [])]

    def row(self, table, name, process=None, key="name"):
        return next((row for row in self.rows(table, process) if row[key] == name), {})

    def step(self, process=0, at=0):
        rows = self.rows("step", process)
        return rows[at] if len(rows) > at else {}

    def messages(self):
        return self.all.get("reading", {}).get("sentences", [])

    def has_message(self, *parts):
        return any(all(part in sentence for part in parts) for sentence in self.messages())

    def file(self):
        files = self.all.get("reading", {}).get("files", [])
        return files[0] if files else {}
