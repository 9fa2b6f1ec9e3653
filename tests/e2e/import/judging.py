# SPDX-License-Identifier: Apache-2.0
"""What gpuprof states about a changed trace, held against Python's own reading of the same bytes."""

import gzip
import json
import os
import shutil
import subprocess

import e2e

BLANKS = b" " * 32 + bytes(range(32, 256))
# What viewers draw from what is there already, or what only names rows.
DRAWN_AGAIN = {"gpu_user_annotation", "trace", "external_correlation", "python"}
ARROWS = {"ac2g", "async", "async_cpu_to_gpu", "async_gpu", "forward_backward", "hosttodevice", "async_task_queue"}
ROWS = ("process_", "thread_", "num_cpus", "trace_buffer_overflowed")

CALLS = {"runtime", "cuda_runtime", "cuda_driver", "inner_call"}
HOST = {"cpu_op", "operator", "user_annotation"}
WORK = {"kernel", "concurrent_kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset"}
# By class: categories, tables that show them, words they are reported by besides.
CLASSES = {"work": (WORK, ("kernels", "graph runs", "memory copies", "memory sets"), {"graph"}),
           "calls": (CALLS, ("API calls",), {"runtime call"}),
           "operators": (HOST, ("operators", "ranges", "start/end ranges"), {"operator", "range", "step"}),
           "waits": ({"cuda_sync"}, ("synchronisations",), {"synchronization"}),
           "costs": ({"overhead"}, ("overhead records",), set()),
           "memory": ({"cpu_instant_event"}, ("memory records",), {"[memory]", "memory"})}
COMPARED = ("operators", "ranges", "start/end ranges", "kernels", "graph runs", "memory copies", "memory sets", "steps",
            "synchronisations")
# Sentences of the report that count events of a class.
MISSING = {"work": "launched before the window", "memory": "neither the host nor CUDA"}


def unpacked(data):
    try:
        return gzip.decompress(data) if data[:3] == b"\x1f\x8b\x08" else data
    except (OSError, EOFError, gzip.zlib.error):
        return None


def python_events(data):
    """The events as Python reads them; None where it does not."""
    data = unpacked(data)
    if data is None:
        return None
    try:
        # Control characters are read as blanks, wherever they stand.
        text = data.translate(BLANKS).decode("utf-8", "surrogateescape")
        trace = json.loads(text.lstrip("\ufeff \t\r\n"), strict=False)
    except (ValueError, RecursionError):
        return None
    if isinstance(trace, dict):
        return trace.get("traceEvents") if isinstance(trace.get("traceEvents"), list) else None
    return trace if isinstance(trace, list) else None


def may_repeat(event):
    if not isinstance(event, dict):
        return False
    name, phase, category = str(event.get("name", "")), event.get("ph"), event.get("cat")
    category = category.lower() if isinstance(category, str) else ""
    if phase == "M":
        return name == "" or name.startswith(ROWS)
    if phase in ("s", "f", "t"):
        # An arrow that lost its category is known by its name.
        known = category or name.lower()
        return known in ARROWS or known in DRAWN_AGAIN or known.startswith("cpu_to_")
    if phase in ("i", "I", "R") and name.startswith(("Iteration Start", "Record Window End")):
        return True
    return category in DRAWN_AGAIN or category == "async_task_queue"


def marks_again(events):
    """Marks of a step that another mark of its process and number may be, too."""
    marks = [(str(e.get("pid")), e.get("name")) for e in events
             if isinstance(e, dict) and e.get("ph") == "X" and str(e.get("name")).startswith("ProfilerStep#")]
    return len(marks) - len(set(marks))


def class_of(event):
    if not isinstance(event, dict):
        return None
    category = str(event.get("cat")).lower()
    if event.get("ph") in ("i", "I", "R"):
        return "memory" if event.get("name") == "[memory]" else None
    if event.get("ph") != "X":
        return None
    args = event.get("args") if isinstance(event.get("args"), dict) else {}
    # Steps that gpuprof found are no ranges of the program.
    if str(event.get("name")).startswith("ProfilerStep#") and args.get("source") not in (None, "user"):
        return None
    return next((one for one, (categories, _, _) in CLASSES.items() if category in categories and one != "memory"), None)


def run(*words):
    done = subprocess.run([e2e.GPUPROF, *words], capture_output=True, timeout=600, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


class ImportCheck:
    """Of one changed file: what is wrong with the answer, or what it was."""

    def __init__(self, path, data, before, changes):
        self.path = path
        self.status, self.out, self.stderr = run("report", "--json", path)
        self.events, self.before, self.changes = python_events(data), before, changes
        self.holes = b"\0" in (unpacked(data) or b"")

    def verdict(self):
        if self.status not in (0, 125):
            return "crash", "status %d: %s" % (self.status, self.stderr[-300:])
        if self.status == 125:
            good = self.stderr.startswith("gpuprof: ") and self.stderr.count("\n") == 1
            if good and self.events is not None and " is damaged" in self.stderr:
                return "lost", "Python reads it: " + self.stderr
            return ("refused", self.stderr) if good else ("bad sentence", self.stderr)
        report = json.loads(self.out)
        file = report["reading"]["files"][0]
        counted = sum(n for kinds in file["left_out"].values() for n in kinds.values())
        repeats = sum(file["repeats"].values())
        if file["shown"] + repeats + counted != file["events"]:
            return "wrong sum", repr(file)
        if (counted + sum(file["mended"].values()) > 0 or self.holes) and not report["reading"]["sentences"]:
            return "no sentence", repr(report["reading"])
        return self.compare_with_python(report, file, counted, repeats)

    def compare_with_python(self, report, file, counted, repeats):
        if self.events is None:
            if not report["reading"]["sentences"]:
                return "silence", "Python does not read it, and nothing is said: %r" % file
            # Each changed place may make two events of one, or one of two.
            if abs(file["events"] - self.before) > self.changes:
                return "lost", "%d events, %d before" % (file["events"], self.before)
            return "mended", ""
        if file["events"] != len(self.events):
            return "lost", "%d events, Python reads %d" % (file["events"], len(self.events))
        if repeats > sum(may_repeat(e) for e in self.events) + marks_again(self.events):
            return "silence", "called repeats: %r" % file["repeats"]
        return self.classes(report, file, counted)

    def classes(self, report, file, counted):
        """Each event is in a table, or reported."""
        for one, (categories, tables, words) in CLASSES.items():
            there = sum(class_of(e) == one for e in self.events)
            shown = sum(process["events"].get(table, 0) for process in report["processes"] for table in tables)
            apart = sum(n for kinds in file["left_out"].values() for kind, n in kinds.items()
                        if kind.lower() in categories or kind.lower() in words)
            stated = sum(int(words.split()[0]) for process in report["processes"] for words in process["missing"]
                         if one in MISSING and MISSING[one] in words)
            again = min(marks_again(self.events), sum(n for kind, n in file["repeats"].items() if kind.lower() in categories))
            if shown + apart + stated + again < there:
                return "lost", "%d of %s, %d shown and %d told" % (there, one, shown, apart + stated + again)
        return ("told" if counted else "mended" if file["mended"] else "shown"), ""

    def compare_commands(self, folder):
        """What the other commands say of the same file; "": the same."""
        out = os.path.join(folder, "out")
        try:
            exported = run("export", self.path, "-o", out)
            files = os.listdir(out) if os.path.isdir(out) else []
        finally:
            shutil.rmtree(out, ignore_errors=True)
        compared = run("diff", self.path, self.path, "--json")
        if self.status == 125:
            if exported[0] != 125 or compared[0] != 2 or files:
                return "refused by report, export %d (%r), diff %d" % (exported[0], files, compared[0])
            return "" if exported[2] == self.stderr else "report: %s; export: %s" % (self.stderr, exported[2])
        comparable = any(process["events"].get(table) for process in json.loads(self.out)["processes"]
                         for table in COMPARED)
        if not comparable and compared[0] == 2 and "there is nothing to compare" in compared[2]:
            compared = None
        if exported[0] != 0 or (compared and compared[0] != 0) or not files:
            return "read by report, export %d (%s), diff %d (%s)" % (exported[0], exported[2], compared[0], compared[2])
        text = run("report", self.path)[1].decode(errors="replace")
        table = run("report", "--by", "operator", self.path)
        pairs = json.loads(compared[1])["pairs"] if compared else []
        for sentence in json.loads(self.out)["reading"]["sentences"]:
            # Text breaks lines and shows what no terminal may get as something else.
            if " ".join(sentence.split())[:40] not in " ".join(text.split()):
                return "not in the text: " + sentence
            if sentence[:60] not in exported[2] or (table[0] == 0 and sentence[:60] not in table[2]):
                return "not on stderr: " + sentence
            for side in ("before_reading", "after_reading"):
                if pairs and not any(sentence in pair[side]["sentences"] for pair in pairs):
                    return "not in the comparison: " + sentence
        return ""
