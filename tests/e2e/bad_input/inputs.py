# SPDX-License-Identifier: Apache-2.0
"""Files that are no traces, or no longer, or not yet; and good ones to put beside them."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import e2e

GOOD = b'{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}'
DEVICE = {"deviceProperties": [{"id": 0, "name": "NVIDIA V100", "totalGlobalMem": 1 << 34}]}
ENDLESS = 1 << 38  # bytes; sparse
LOOP = "import time\nend = time.time() + 600\nwhile time.time() < end: sum(range(1000))\n"


def events(count):
    return [{"ph": "X", "cat": "cpu_op", "name": "aten::op%d" % (i % 50), "pid": 1, "tid": 1,
             "ts": i * 10, "dur": 5} for i in range(count)]


def trace(count, **more):
    return json.dumps({"schemaVersion": 1, **more, "traceEvents": events(count)}).encode()


def gpu_trace(**more):
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
              "args": {"device": 0, "context": 1, "stream": 7, "correlation": 3}}
    return json.dumps({"schemaVersion": 1, **DEVICE, **more, "traceEvents": [*events(5), kernel]}).encode()


# Contents that every command refuses; the name is that of the file.
CONTENTS = {
    "empty.json": b"",
    "blank.json": b" \n\t ",
    "text.json": b"hello",
    "cut.json": GOOD[:60],
    "cut-late.json": trace(5000)[:-1],
    "cut.json.gz": gzip.compress(trace(5000))[:-700],
    "cut-head.json.gz": gzip.compress(GOOD)[:12],
    "flipped.json.gz": gzip.compress(trace(50))[:-8] + b"\0\1\2\3\4\5\6\7",
    "not-gzip.json.gz": b"PK\x03\x04" + bytes(100),
    "picture.json": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "nul.json": bytes(4096),
    "foreign.json": b'{"a": [1]}',
    "other-tool.json": b'{"traceEvents":[{"ph":"X","cat":"v8","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}',
    "scalar.json": b'[1, 2, 3]',
    "no-events.json": b'{"traceEvents": []}',
    "events-no-array.json": b'{"traceEvents": 7}',
    "newer.json": b'{"schemaVersion": 9, "traceEvents": []}',
    "deep.json": b'{"traceEvents":[' + b"[" * 200000,
    "deep-value.json": b'{"traceEvents":[], "x":' + b'{"a":' * 100000,
    "two-texts.json": GOOD + GOOD,
    "bad-value.json": GOOD.replace(b'"a"', b'0x1f'),
    "bad-quotes.json": GOOD.replace(b'"a"', b'"a", "cat": "b" c"'),
    "half-utf16.json": '{"traceEvents":[]}'.encode("utf-16"),
    "number.json": GOOD.replace(b'"ts":1', b'"ts":1e999999999999'),
    "late.json": GOOD.replace(b'"ts":1', b'"ts":18000000000000000'),
    "spool.spool": b"GPUPROFS" + bytes(range(256)) * 16,
}


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
    return path


def sparse(path):
    """A text that begins well and is a quarter of a tebibyte of zeros."""
    with open(path, "wb") as file:
        file.write(b'{"traceEvents":[')
        file.truncate(ENDLESS)
    return path


def bad_files(folder):
    """(name, path) of each."""
    for name, content in CONTENTS.items():
        yield name, write(os.path.join(folder, name), content)
    yield "missing", os.path.join(folder, "missing.json")
    yield "long name", os.path.join(folder, "n" * 300 + ".json")
    yield "line break in its name", os.path.join(folder, "a\nb.json")
    yield "endless", sparse(os.path.join(folder, "endless.json"))
    for name in ("nothing-there", "dangling"):
        os.mkdir(os.path.join(folder, name))
    os.symlink("nowhere", os.path.join(folder, "dangling", "a.pt.trace.json"))
    yield "an empty folder", os.path.join(folder, "nothing-there")
    yield "a folder of dangling links", os.path.join(folder, "dangling")
    os.symlink("circle", os.path.join(folder, "circle"))
    yield "a link to itself", os.path.join(folder, "circle")
    os.mkfifo(os.path.join(folder, "pipe"))
    yield "a pipe", os.path.join(folder, "pipe")
    yield "a device", "/dev/zero"


def bad_sessions(folder, spool):
    """(name, path) of sessions that cannot be read, made from one that can."""
    def changed(name, change):
        path = os.path.join(folder, name)
        shutil.copytree(spool, path)
        change(path, os.path.join(path, "session.jsonl"))
        return name, path

    def newer(_, log):
        with open(log, encoding="utf-8") as file:
            first, rest = file.read().split("\n", 1)
        head = json.loads(first)
        key = next(k for k in head if "format" in k or "spool" in k or k == "v" or "version" in k)
        head[key] = 99 if isinstance(head[key], int) else "99"
        write(log, (json.dumps(head) + "\n" + rest).encode())

    yield changed("empty-log", lambda _, log: write(log, b""))
    yield changed("binary-log", lambda _, log: write(log, bytes(range(256)) * 8))
    yield changed("newer-log", newer)
    yield changed("no-log", lambda _, log: os.remove(log))
    yield changed("no-spools", lambda path, _: [os.remove(os.path.join(path, name)) for name in
                                                os.listdir(path) if name.endswith(".spool")])
    yield changed("binary-spools", lambda path, _: [
        write(os.path.join(path, name), os.urandom(5000)) for name in os.listdir(path)
        if name.endswith(".spool")])


def spool_of_killed(folder):
    """The spool folder that a run leaves whose processes all end by SIGKILL."""
    out = os.path.join(folder, "killed")
    os.mkdir(out)
    run = subprocess.Popen([e2e.GPUPROF, "run", "-q", "-o", out, e2e.real_python() or sys.executable,
                            "-c", LOOP], start_new_session=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    spool, deadline = None, time.time() + 300
    while time.time() < deadline:
        time.sleep(0.1)
        spools = [name for name in os.listdir(out) if name.startswith(".gpuprof-spool-")]
        if not spools:
            continue
        spool = os.path.join(out, spools[0])
        if any(name.endswith(".spool") and os.path.getsize(os.path.join(spool, name)) > 20000
               for name in os.listdir(spool)):
            break
    os.kill(int(os.path.basename(spool).split("-")[2]), signal.SIGKILL)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    return spool
