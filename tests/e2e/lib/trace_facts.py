# SPDX-License-Identifier: Apache-2.0
"""Reads a trace the way a person would check it: counts, links, nesting."""

import collections
import subprocess

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


class Facts:
    """One loaded trace."""

    def __init__(self, trace):
        self.trace = trace
        self.events = trace["traceEvents"]
        complete = [e for e in self.events if e.get("ph") == "X"]
        by_cat = collections.defaultdict(list)
        for event in complete:
            by_cat[event["cat"]].append(event)
        self.by_cat = by_cat
        self.kernels = by_cat["kernel"]
        self.copies = by_cat["gpu_memcpy"]
        self.sets = by_cat["gpu_memset"]
        self.launches = by_cat["runtime"]
        self.ops = by_cat["cpu_op"]
        self.steps = sorted((e for e in by_cat["user_annotation"]
                             if e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])
        self.host_pid = next((e["pid"] for e in self.ops + self.launches), None)

    def kernels_by_name(self):
        return collections.Counter(k["name"] for k in self.kernels)

    def copies_by_kind(self):
        return collections.Counter(c["name"].split()[1] for c in self.copies)

    def step_numbers(self):
        """As the session counts them, from 0; the names of those it found itself count from 1."""
        return [int(s["name"].split("#")[1]) - 1 for s in self.steps]

    def unlinked(self, from_within=False):
        """Kernels whose launch, thread, or range cannot be found: list of messages. `from_within`: the window
        may begin within a range, which nobody has seen begin."""
        launches = {}
        bad = []
        first = min((op["ts"] for op in self.ops), default=0) if from_within else 0
        for launch in self.launches:
            key = launch["args"].get("correlation")
            if key in launches:
                bad.append("two host calls share correlation %s" % key)
            launches[key] = launch
        ranges = {op["args"]["External id"]: op for op in self.ops}
        for kernel in self.kernels:
            launch = launches.get(kernel["args"]["correlation"])
            if launch is None:
                bad.append("no launch for correlation %s" % kernel["args"]["correlation"])
                continue
            op = ranges.get(launch["args"]["External id"])
            if op is None and launch["ts"] < first:
                continue
            if op is None:
                bad.append("no range for External id %s" % launch["args"]["External id"])
                continue
            if op["tid"] != launch["tid"]:
                bad.append("launch and range on different threads")
            if not op["ts"] <= launch["ts"] <= op["ts"] + op["dur"] + 0.001:
                bad.append("launch outside its range")
            if kernel["ts"] < launch["ts"]:
                bad.append("kernel before its launch")
            if kernel["args"].get("External id") != launch["args"]["External id"]:
                bad.append("kernel and launch name different ranges")
        return bad

    def kernels_in_steps(self):
        """Kernels per step number, by the time of their launch."""
        launches = {e["args"]["correlation"]: e for e in self.launches}
        counts = collections.Counter()
        for kernel in self.kernels:
            launch = launches.get(kernel["args"]["correlation"])
            for step in self.steps:
                if launch and step["ts"] <= launch["ts"] < step["ts"] + step["dur"]:
                    counts[int(step["name"].split("#")[1])] += 1
        return counts

    def badly_nested(self):
        """Ranges of one thread that cross."""
        bad = 0
        threads = collections.defaultdict(list)
        for event in self.ops + self.steps:
            threads[event["tid"]].append((event["ts"], -event["dur"], event["ts"] + event["dur"]))
        for rows in threads.values():
            stack = []
            for start, _, end in sorted(rows):
                while stack and stack[-1] <= start:
                    stack.pop()
                if stack and end > stack[-1] + 1e-6:
                    bad += 1
                stack.append(end)
        return bad


def demangle(names):
    """{mangled: demangled} through c++filt."""
    names = list(names)
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                         check=True).stdout.split("\n")
    return dict(zip(names, out))


def parse_results(stdout):
    """What sim_trainer printed: {'steps': n, 'kernel': {name: n}, 'memcpy': {kind: n}, …}."""
    results = {"kernel": {}, "memcpy": {}, "memcpy_bytes": {}}
    for line in stdout.decode().splitlines():
        words = line.split()
        if len(words) < 3 or words[0] != "result":
            continue
        if words[1] == "kernel":
            results["kernel"][words[3]] = int(words[2])
        elif words[1] == "memcpy":
            results["memcpy"][words[2]] = int(words[3])
            results["memcpy_bytes"][words[2]] = int(words[5])
        else:
            results[words[1]] = int(words[2])
    return results
