# SPDX-License-Identifier: Apache-2.0
"""Times that do not belong are set aside and reported; the rest is as if they were not there. The same of
files in a folder that are no traces, and of traces of PyTorch's older profiler."""

import base64
import gzip
import json
import os
import re

import e2e
import written
from written import event, report, row, save, steps, text

NOW = 1615207264504000
UPTIME = 7_200_000_000  # two hours, as of a clock that counts from the start of the machine


def kernels(count, ts, dur=0):
    return [event("kernel", "broken", ts, dur, pid=0, tid=7, device=0, context=1, stream=7, correlation=500 + i)
            for i in range(count)]


def figures(result):
    process = result["processes"][0]
    return (process.get("duration_ns"), [s["time_ns"] for s in process["tables"].get("step", [])],
            process["tables"]["gpu"][0]["utilisation_percent"] if process["tables"].get("gpu") else None)


def times(checks, folder):
    for begin in (NOW, UPTIME, 5_500_000_000_000):
        good = steps(5, begin)
        clean = figures(report(checks, "clean", save(folder, "clean.json", text(good))))
        calls = [event("cuda_runtime", "cudaLaunchKernel", begin + 40 + i / 10, 0.05, correlation=500 + i)
                 for i in range(50)]
        year = 31_557_600_000_000
        table = {"zero, as many as good ones": (kernels(50, 0), 50), "zero with a length": (kernels(3, 0, 5), 3),
                 "years ahead": (kernels(2, begin + 5 * year, 10), 2),
                 "a length of years": (kernels(1, begin + 100, begin + year), 1),
                 "begin zero, end now": ([event("cpu_op", "a", 0, begin)], 1),
                 "all of them": (kernels(9, 0) + kernels(2, begin + 40 * year, 1) + kernels(1, begin, 9 * year), 12)}
        if begin != UPTIME:
            table["1970"] = ([event("cpu_op", "a", year // 1000, 5)], 1)
        if begin == NOW:
            table["below zero"] = (kernels(2, -1) + kernels(2, -4_000_000), 4)
        for label, (bad, count) in table.items():
            result = report(checks, label, save(folder, "bad.json", text(bad[:1] + good + bad[1:])))
            checks.equal(figures(result), clean, "%d, %s: as if they were not there" % (begin, label))
            checks.equal(written.left_out(result), {"far-time": count}, "%d, %s: reported" % (begin, label))
            written.check_sums(checks, label, result)
        with_calls = report(checks, "calls", save(folder, "calls.json", text(kernels(50, 0) + good + calls)))
        checks.equal(figures(with_calls), clean, "%d: with their launches" % begin)


def unusual_but_right(checks, folder):
    """What is far by the length of a pause, or counts from its own begin, belongs."""
    hour = 3_600_000_000
    for label, events in (("from zero", steps(3, 0)), ("from below zero", steps(3, -500)),
                          ("an hour's pause", steps(3, NOW) + steps(2, NOW + 5 * hour)),
                          ("all at zero", kernels(3, 0, 5))):
        result = report(checks, label, save(folder, "right.json", text(events)))
        checks.equal(written.left_out(result), {}, label + ": nothing is left out")


def overflowing(checks, folder):
    for label, word in (("2^64", "18446744073709551616"), ("1e300", "1e300"), ("-2^63", "-9223372036854775808")):
        for key in ("ts", "dur"):
            lost = json.dumps(event("cpu_op", "lost", 1, 1)).replace('"%s": 1' % key, '"%s": %s' % (key, word))
            good = text(steps(3, NOW)).rstrip("]}\n ") + "}}, " + lost + "]}"
            result = report(checks, label, save(folder, "over.json", good))
            checks.equal(sum(written.left_out(result).values()), 1, "%s %s: reported" % (key, label))
            checks.equal(len(result["processes"][0]["tables"].get("step", [])), 3, "%s %s: steps" % (key, label))


def reported_by_all_commands(checks, folder):
    bad = save(folder, "bad.json", text(kernels(50, 0) + steps(5, NOW)))
    good = save(folder, "good.json", text(steps(5, NOW)))
    part = "50 events of %s are skipped (time far from the rest): 50 of 'kernel'" % bad
    flat = lambda stderr: re.sub(r"\s+", " ", stderr)
    for words in (["report", bad], ["diff", bad, good], ["diff", good, bad]):
        status, out, _ = written.run(*words)
        checks.equal((status, part in flat(out)), (0, True), "%s: %s" % (words[0], out[-600:]))
    for words in (["report", "--by", "kernel", bad], ["report", "--csv", bad], ["report", "--advice-only", bad]):
        status, _, stderr = written.run(*words)
        checks.equal((status, part in stderr), (0, True), "%s: stderr: %s" % (words[1:2], stderr))
    for words in (["report", "--json", bad], ["report", "--json", "--by", "kernel", bad],
                  ["report", "--json", "--advice-only", bad]):
        reading = json.loads(written.run(*words)[1]).get("reading", {"files": [{}]})
        checks.equal((reading.get("files") or [{}])[0].get("left_out"), {"far-time": {"kernel": 50}}, " ".join(words[:-1]))
    pairs = json.loads(written.run("diff", "--json", good, bad)[1])["pairs"]
    checks.equal((pairs[0].get("after_reading") or {"files": [{}]})["files"][0].get("left_out"),
                 {"far-time": {"kernel": 50}}, "diff --json")
    for form in e2e.ALL_FORMATS:
        status, _, stderr = written.run("export", bad, "-o", os.path.join(folder, "out-" + form), "--format", form)
        checks.equal((status, part in flat(stderr)), (0, True), "export to %s: %s" % (form, stderr))
    for words in (["report", "--html", "page.html", bad], ["diff", "--html", "page.html", "-f", good, bad]):
        words[2] = os.path.join(folder, words[2])
        checks.equal(written.run(*words)[0], 0, "%s --html" % words[0])
        with open(words[2], encoding="utf-8") as page:
            data = re.search(r'<script type="([^"]*)" id="data">([^<]*)</script>', page.read())
        stderr = data[2] if data and "json" in data[1] else gzip.decompress(base64.b64decode(data[2])).decode() if data else ""
        checks.expect("time far from the rest" in stderr, "the page of %s says it: %r" % (words[0], data and data[1]))


def no_events_left(checks, folder):
    """A trace of which nothing is left is no success, and says why."""
    lost = [event("cpu_op", "a", "x", 5), event("cpu_op", "b", 1e300, 5)]
    frames = [event("python_function", "a.py(1): f", 10, 5), event("cpu_op", "b", None, 5)]
    for label, events, part in (("no time", lost, "2 of 'cpu_op'"), ("frames alone", frames, "1 of 'cpu_op'"),
                                ("of another tool", [event("v8", "a", 1, 5)], "1 of 'v8'")):
        path = save(folder, "none.json", text(events))
        table = [(["report", path], 125), (["diff", path, path], 2)]
        if label != "frames alone":  # these are stacks, and a file of them can be written
            table.append((["export", path, "-o", os.path.join(folder, "none")], 125))
        for words, wanted in table:
            status, out, stderr = written.run(*words)
            checks.equal((status, out, stderr.count("\n")), (wanted, "", 1), "%s: %s: %s" % (label, words[0], stderr))
            checks.expect(part in stderr, "%s: %s says why: %s" % (label, words[0], stderr))


def folders(checks, folder):
    rank = lambda r: text(steps(3, NOW + 7 * r), distributedInfo={"backend": "nccl", "rank": r, "world_size": 2})
    others = {"config.json": '{"model": "x"}', "execution_trace_rank0.json": '{"schema": "1.1.1-chakra.0.0.4", "nodes": []}',
              "rank0.stats.json": "[1, 2, 3]", "empty.json": "", "notes.json": "just words", "lines.json": '{"a": 1}\n{"a": 2}\n',
              "broken.json": '{"a": 1 2}', "events.json": '{"traceEvents": []}',
              "other.json": '{"traceEvents": [{"ph": "X", "cat": "v8", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}'}
    for pattern in ("rank%d.pt.trace.json", "rank%d.json"):
        directory = os.path.join(folder, pattern.replace("%d", "s"))
        for r in range(2):
            save(directory, pattern % r, rank(r))
        for name, content in others.items():
            save(directory, name, content)
        result = report(checks, pattern, directory)
        checks.equal([p.get("rank") for p in result["processes"]], [0, 1], pattern + ": ranks")
        listed = sorted(os.path.basename(one["path"]) for one in result.get("reading", {}).get("no_traces", []))
        checks.equal(listed, sorted(others), pattern + ": reported")
        checks.equal(len([s for s in result.get("reading", {}).get("sentences", []) if "not read as traces" in s]), 1, "in one line")
        out = written.run("report", directory)[1]
        checks.expect("config.json" in out and "execution_trace_rank0.json" in out, "the text names them: " + out[-700:])
    alone = os.path.join(folder, "alone")
    for name in ("config.json", "execution_trace_rank0.json"):
        path = save(alone, name, others[name])
        checks.equal(written.run("report", path)[0], 125, name + ": by name it is an error")
    checks.equal(written.run("report", alone)[0], 125, "a folder without any trace")
    cut = save(alone, "rank9.json", rank(1)[:-40])
    status, _, stderr = written.run("report", alone)
    checks.equal((status, cut in stderr and "is truncated" in stderr), (125, True), "a rank that is cut: " + stderr)


def legacy(checks, folder):
    """As `torch.autograd.profiler` writes them: rows in place of categories, names as they are."""
    cpu = ('{"name": "%s", "ph": "X", "ts": %s, "dur": %s, "tid": 1, "pid": "CPU functions", "args": {}}')
    link = ('{"name": "%s", "ph": "%s", "ts": %s, "tid": %s, "pid": "%s functions", "id": %s, "cat": "cpu_to_cuda", "args": {}}')
    gpu = ('{"name": "%s", "ph": "X", "ts": %s, "dur": %s, "tid": 0, "pid": "CUDA functions", "args": {}}')
    host = [cpu % ("linear", 10.5, 100), cpu % ("addmm", 20.25, 50.5), cpu % ("relu", 130, 7)]
    both = []
    for i, (name, ts) in enumerate((("linear", 10.5), ("addmm", 20.25), ("relu", 130))):
        both += [host[i], link % (name, "s", ts, 1, "CPU", i), link % (name, "f", ts + 40, 0, "CUDA", i),
                 gpu % (name, ts + 40, 30)]
    for label, content in (("CPU", "[" + ", ".join(host) + "]"), ("C++", ("[\n" + ",\n".join(host) + "\n]\n").replace("functions", "Functions")),
                           ("with CUDA", "[" + ", ".join(both) + "]")):
        result = report(checks, label, save(folder, "legacy.json", content))
        checks.equal([row(result, "operator", n).get("count") for n in ("linear", "addmm", "relu")], [1, 1, 1], label)
        checks.equal(row(result, "operator", "linear").get("self_cpu_time_total_ns"), 49500, label + ": nesting")
        written.check_sums(checks, label, result)
        checks.equal(written.left_out(result), {}, label + ": nothing is left out")
    checks.equal(sum(r["count"] for r in result["processes"][0]["tables"].get("kernel-name", [])), 3, "times on the GPU")
    checks.equal(row(result, "operator", "relu").get("self_device_time_total_ns"), 30000, "are their operators'")
    quoted = "[" + ", ".join(host).replace('"relu"', '"my "own" relu"') + "]"
    checks.equal(row(report(checks, "quotes", save(folder, "legacy.json", quoted)), "operator", 'my "own" relu').get("count"), 1,
                 "names are written as they are")
    without_end = report(checks, "cut", save(folder, "legacy.json.gz", gzip.compress(("[" + ", ".join(host)).encode())))
    checks.equal(row(without_end, "operator", "relu").get("count"), 1, "the list may lack its end")


def main():
    checks = e2e.Checks()
    for body in (times, unusual_but_right, overflowing, reported_by_all_commands, no_events_left, folders, legacy):
        with e2e.Folder("times") as folder:
            body(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
