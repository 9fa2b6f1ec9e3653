# SPDX-License-Identifier: Apache-2.0
"""`gpuprof export TRACE...`: our own files become the same files again; what is no trace is refused
in one message, with nothing written."""

import collections
import gzip
import json
import os
import subprocess
import sys

import e2e

DETAILS = ("Input Dims", "Call stack", "Sequence number", "Module", "domain", "device", "stream",
           "correlation", "grid", "block", "registers per thread", "shared memory",
           "est. achieved occupancy %", "bytes", "Bytes", "Addr", "cbid", "source", "where")


def export(*words):
    return subprocess.run([e2e.GPUPROF, "export", *words], capture_output=True, text=True, timeout=600,
                          check=False)


def events(trace):
    """All but samples, whose last stretch before a gap is drawn by how much it weighs."""
    base = trace["baseTimeNanoseconds"]
    return collections.Counter(
        (e["ph"], e.get("cat"), e["name"], e["pid"], e["tid"], base + round(e["ts"] * 1000),
         round(e.get("dur", 0) * 1000), *(json.dumps(e.get("args", {}).get(key)) for key in DETAILS))
        for e in trace["traceEvents"] if e["ph"] != "M" and not e.get("cat", "").startswith("cpu_sample"))


def scripted(folder, *form):
    out = os.path.join(folder, "scripted" + "".join(form))
    subprocess.run([os.path.join(e2e.BUILD, "bin", "write_scripted"), out, *form], check=True,
                   capture_output=True, timeout=600)
    return out


def same_again(checks, folder):
    source = scripted(folder)
    out = os.path.join(folder, "again")
    done = export(source, "-o", out)
    checks.equal(done.returncode, 0, "export of a folder: " + done.stderr)
    before, after = e2e.traces(source), e2e.traces(out)
    checks.equal([os.path.basename(p) for p in after], [os.path.basename(p) for p in before], "names")
    for one, other in zip(before, after):
        one, other = e2e.load(one), e2e.load(other)
        checks.equal(events(other), events(one), "events")
        for key in ("deviceProperties", "distributedInfo", "host_name", "baseTimeNanoseconds"):
            checks.equal(other.get(key), one.get(key), key)
        for key in ("pid", "ppid", "program", "command", "window", "dropped", "facts", "missing",
                    "remarks"):
            checks.equal(other["gpuprof"].get(key), one["gpuprof"].get(key), key)


def other_formats(checks, folder):
    source = scripted(folder, "kineto")
    out = os.path.join(folder, "from-kineto")
    done = export(source, "-o", out, "--format", "tensorboard,kineto")
    checks.equal(done.returncode, 0, "export of HTA's layout: " + done.stderr)
    checks.equal(len(e2e.traces(out)), 2, "TensorBoard's files")
    span = os.path.join(out, "kineto", "span_0001")
    for one, other in zip(e2e.traces(os.path.join(source, "kineto", "span_0001")), e2e.traces(span)):
        kernels = [[e["name"] for e in e2e.load(path)["traceEvents"] if e.get("cat") == "kernel"]
                   for path in (one, other)]
        checks.equal(sorted(kernels[1]), sorted(kernels[0]), "kernels")


def refused(checks, folder):
    good = b'{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}'
    bad = {"empty.json": b"", "text.json": b"hello", "cut.json": good[:60],
           "cut.json.gz": gzip.compress(good)[:40], "foreign.json": b'{"a": [1]}',
           "nogzip.json.gz": b"PK\x03\x04", "newer.json": b'{"schemaVersion": 9, "traceEvents": []}',
           "deep.json": b'{"traceEvents":[' + b"[" * 100000, "none.json": None}
    for name, content in bad.items():
        path, out = os.path.join(folder, name), os.path.join(folder, "out-" + name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        done = export(path, "-o", out)
        checks.expect(done.returncode != 0, name + ": status")
        checks.equal(done.stdout, "", name + ": stdout")
        lines = done.stderr.strip().split("\n")
        checks.expect(len(lines) == 1 and path in lines[0], "%s: %s" % (name, done.stderr))
        checks.expect(not os.path.isdir(out) or not os.listdir(out), name + ": something was written")
    with open(os.path.join(folder, "good.json"), "wb") as file:
        file.write(good)
    done = export(os.path.join(folder, "good.json"))
    checks.expect(done.returncode != 0 and "-o" in done.stderr, "without -o: " + done.stderr)


def main():
    checks = e2e.Checks()
    with e2e.Folder("import") as folder:
        os.environ["TMPDIR"] = os.path.join(folder, "tmp")
        os.mkdir(os.environ["TMPDIR"])
        same_again(checks, folder)
        other_formats(checks, folder)
        refused(checks, folder)
        checks.equal(os.listdir(os.environ["TMPDIR"]), [], "what is left in TMPDIR")
    checks.done()


if __name__ == "__main__":
    sys.exit(main())
