# SPDX-License-Identifier: Apache-2.0
"""Whole files as real damage leaves them: what is reported about each, and report, diff and export agree."""

import gzip
import json

import e2e
import judging
import written

OWN = {"gpuprof": {"version": "1", "pid": 10, "window": {"index": 0, "start_ns": 5000000, "duration_ns": 5000000,
                                                         "first_step": 0, "steps": 0, "why": "whole run"}}}


def kernel(ts):
    return written.event("kernel", "gemm", ts, 3, 0, 7, device=0, stream=7, correlation=999)


def sample(phase, name, ts):
    return {"ph": phase, "cat": "cpu_sample", "name": name, "pid": 10, "tid": 100000010, "ts": ts}


def good():
    """Of these something is shown: content, reasons and mendings that JSON tells, part of a message."""
    steps, listed = written.steps(3), json.dumps(written.steps(3))
    plain, packed = written.text(steps).encode(), gzip.compress(written.text(steps).encode())
    own = steps + [kernel(1), kernel(-1), kernel(9000), written.event("cuda_runtime", "cudaFree", 7000, 1)]
    rows = [sample("E", "lost", 1100), sample("B", "f", 1200), sample("E", "f", 1300), sample("B", "g", 1250)]
    hole = plain.replace(b"aten::mm", b"aten" + bytes(4), 1)
    huge = written.text(steps).replace('"cbid": 211', '"cbid": 1' + "0" * 400, 1)
    return {
        "as it was": (plain, {}, {}, ""),
        "packed in pieces": (gzip.compress(plain[:99]) + gzip.compress(b"") + gzip.compress(plain[99:]), {}, {}, ""),
        "a byte order mark and other line ends": (b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"), {}, {}, ""),
        "a list without its end": (listed[:-1].encode(), {}, {"no-end": 1}, "may be truncated"),
        "a hole": (hole, {}, {"nul-byte": 4}, "4 NUL bytes"),
        "zeros at the end": (plain + bytes(700), {}, {"nul-byte": 700}, "700 NUL bytes"),
        "zeros behind the packed text": (packed + bytes(700), {}, {}, ""),
        "a number of 400 digits": (huge.encode(), {}, {"no-number": 1}, "1 word instead of a number"),
        "other times than its window": (json.dumps(written.trace(own, **OWN)).encode(), {"outside-window": 4}, {},
                                        "outside the window that the file states"),
        "samples out of order": (json.dumps(written.trace(steps + rows, **OWN)).encode(), {"half": 1, "out-of-order": 1}, {},
                                 "earlier than the event before it"),
        "a kernel made metadata": (written.text(steps + [{"ph": "M", "cat": "kernel", "name": "gemm", "pid": 0}]).encode(),
                                   {"unknown-kind": 1}, {}, "unknown category or phase"),
        "an arrow of no kind": (written.text(steps + [{"ph": "s", "name": "launch", "id": 1, "pid": 10, "tid": 10, "ts": 1030}])
                                .encode(), {"unknown-kind": 1}, {}, "1 of 'launch'"),
        "traceEvents in args": (written.text(steps + [written.event("cpu_op", "x", 1500, 2, traceEvents=steps)]).encode(), {}, {}, ""),
        "times as texts": (written.text([{**e, "ts": str(e["ts"]), "dur": str(e["dur"])} for e in steps]).encode(), {}, {}, ""),
        "samples alone": (json.dumps(written.trace(rows[1:3], **OWN)).encode(), {}, {}, ""),
    }


def bad():
    """Of these nothing is, and one message says why."""
    plain = written.text(written.steps(3)).encode()
    listed = json.dumps(written.steps(3)).encode()
    packed = gzip.compress(plain)
    member = bytearray(gzip.compress(plain[500:]))
    member[len(member) // 2] ^= 4
    frames = written.text([written.event("python_function", "a.py(1): f", 10, 5)]).encode()
    return {
        "cut": (plain[:len(plain) // 2], "is truncated"),
        "cut, packed": (packed[:len(packed) // 2], "is truncated"),
        "a damaged member": (gzip.compress(plain[:500]) + bytes(member), "cannot be decompressed"),
        "the last member is missing": (gzip.compress(plain[:500]), "is truncated"),
        "no end of the list": (plain.rstrip(b"]} \n") + b"}}", "is truncated"),
        "two, one behind the other": (plain + plain, "a second JSON text follows the trace"),
        "two lists": (listed + b"\n" + listed, "a second JSON text follows the trace"),
        "two, packed": (packed + packed, "a second JSON text follows the trace"),
        "words behind a list": (listed + b"\nKilled\n", "expected the end of the file"),
        "UTF-16": (plain.decode().encode("utf-16"), "UTF-16"),
        "UTF-16 without a mark": (plain.decode().encode("utf-16-le"), "UTF-16"),
        "UTF-16, packed": (gzip.compress(plain.decode().encode("utf-16-be")), "UTF-16"),
        "a page of an error": (b"<!DOCTYPE html><html>404</html>", "it is not JSON"),
        "an event a line": (b"\n".join(json.dumps(e).encode() for e in written.steps(2)), "no traceEvents"),
        "frames alone": (frames, "nothing to show"),
        "arrows alone": (written.text([{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 1, "tid": 1, "ts": 1}]).encode(),
                         "only arrows and marks"),
    }


def main():
    checks = e2e.Checks()
    with e2e.Folder("damaged-files") as folder:
        for label, (content, left_out, repaired, message) in good().items():
            check = judging.ImportCheck(written.save(folder, "x.json", content), content, 0, 1000)
            if not checks.equal(check.status, 0, "%s: %s" % (label, check.stderr)):
                continue
            what, why = check.verdict()
            checks.expect(what in ("shown", "told", "mended"), "%s: %s: %s" % (label, what, why))
            result = json.loads(check.out)
            checks.equal(written.left_out(result), left_out, label + ": left out")
            checks.equal(written.repaired(result), repaired, label + ": mended")
            checks.expect(message in "; ".join(result["reading"]["sentences"]), "%s: %s" % (label, result["reading"]["sentences"]))
            checks.equal(check.compare_commands(folder), "", label + ": the other commands")
        for label, (content, message) in bad().items():
            check = judging.ImportCheck(written.save(folder, "x.json", content), content, 0, 1000)
            checks.equal(check.status, 125, label + ": refused")
            checks.expect(message in check.stderr and check.stderr.count("\n") == 1, "%s: %s" % (label, check.stderr))
            checks.equal(check.compare_commands(folder), "", label + ": the other commands")
    checks.done()


if __name__ == "__main__":
    main()
