# SPDX-License-Identifier: Apache-2.0
"""Text that known writers damaged is read as they meant it, and reported; what has no certain reading is
refused with its place."""

import gzip
import json
import re
import struct
import zlib

import e2e
import written
from written import event, report, row, save, steps, text


def same_figures(checks, label, result, clean):
    for table, name, key in (("operator", "aten::mm", "cpu_time_total_ns"), ("operator", "aten::mm", "count"),
                             ("kernel-name", "gemm", "total_ns")):
        checks.equal(row(result, table, name).get(key), row(clean, table, name).get(key),
                     "%s: %s of %s" % (label, key, name))
    checks.equal([s["time_ns"] for s in result["processes"][0]["tables"].get("step", [])],
                 [s["time_ns"] for s in clean["processes"][0]["tables"].get("step", [])], label + ": steps")
    written.check_sums(checks, label, result)


def with_frame(name):
    """The name is put in as it is."""
    return text(steps(2) + [event("python_function", "@@", 1005, 300, **{"Python id": 1})]).replace("@@", name)


def clean_report(checks, folder):
    return report(checks, "clean", save(folder, "clean.json", with_frame("train.py(3): main")))


def backslashes(checks, folder):
    clean = clean_report(checks, folder)
    for raw in (r"torch\cuda\__init__.py(219): _lazy_init", r"C:\users\me\train.py(3): main",
                r"D:\xyz\0net.py(1): f", r"\\server\share\x.py(2): g", "D:\\data\\", r"C:\Users\Zo\u00\x.py(1): f"):
        result = report(checks, raw, save(folder, "raw.json", with_frame(raw)))
        same_figures(checks, raw, result, clean)
        checks.expect(written.repaired(result).get("backslash", 0) > 0, "%s: reported: %s" % (raw, result.get("reading")))
    accidental = r"lib\network\train.py(1): f"
    result = report(checks, accidental, save(folder, "raw.json", with_frame(accidental)))
    checks.equal(written.repaired(result).get("backslash"), 2, accidental)
    checks.expect(any(r["line"] == r"lib\network\train.py:1" for r in result["processes"][0]["tables"].get("line", [])),
                  "a path is as it was: " + accidental)
    in_head = text(steps(2), traceName="@@").replace("@@", r"C:\tmp\worker\0.json")
    same_figures(checks, "in the head", report(checks, "in the head", save(folder, "h.json", in_head)), clean)


def quotes(checks, folder):
    clean = clean_report(checks, folder)
    names = ['say "hi"', '{"device": "cpu", "dtype": "float32"}(12): run', '"', 'f("a", "b", c)(1): g',
             '"whole"', 'a "b", "c": d "e"']
    for name in names:
        path = save(folder, "q.json", with_frame(name))
        result = report(checks, name, path)
        same_figures(checks, name, result, clean)
        checks.equal(written.repaired(result), {"quote": 1}, name)
    text_report = " ".join(written.run("report", path)[1].split())
    checks.expect("1 string with unescaped quotes" in text_report, "the text says it: " + text_report[-400:])
    operator = text(steps(2)).replace('"name": "aten::mm"', '"name": "my "own" mm"')
    checks.equal(row(report(checks, "name", save(folder, "q.json", operator)), "operator", 'my "own" mm').get("count"),
                 2, "an operator's name keeps its quotes")
    for value in ('""allreduce""', '"a "b" c"', '["", "say "x" y", "3"]', '["sum", "of "all""]'):
        args = text(steps(2)).replace('"cbid": 211', '"cbid": 211, "kind": ' + value)
        result = report(checks, value, save(folder, "q.json", args))
        same_figures(checks, value, result, clean)
        checks.expect(written.repaired(result).get("quote") in (1, 2), "%s: reported: %s" % (value, written.repaired(result)))


def uncertain(checks, folder):
    """More than one reading: where, what, who."""
    for name, what in (('a", "cat": "b" c', "a quote is not possible here"), ('x", "args": {}", "y', "")):
        bad = text(steps(2)).replace('"name": "aten::mm"', '"name": "%s"' % name, 1)
        path = save(folder, "bad.json", bad)
        status, out, stderr = written.run("report", path)
        checks.equal((status, out), (125, ""), name + ": refused")
        line = bad[:bad.index(name)].count("\n") + 1
        found = re.search(r"at line (\d+), column (\d+) \(byte \d+\), around `(.*)`: ", stderr)
        checks.expect(found and abs(int(found[1]) - line) <= 8, "%s: line %d: %s" % (name, line, stderr))
        checks.expect(found and 20 <= len(found[3]) <= 42, name + ": what is around: " + stderr)
        checks.expect(what in stderr and "torch.profiler" in stderr and stderr.count("\n") == 1, name + ": " + stderr)


def decimal_commas(checks, folder):
    events = steps(3)
    for e in events:
        e["ts"] += 0.125
        e["dur"] += 0.5
    clean = report(checks, "clean", save(folder, "clean.json", text(events)))
    good = text(events)
    for label, pattern in (("ts and dur", r'("(?:ts|dur)": \d+)\.'), ("dur alone", r'("dur": \d+)\.'),
                           ("ts alone", r'("ts": \d+)\.')):
        bad, changes = re.subn(pattern, r"\1,", good)
        result = report(checks, label, save(folder, "comma.json", bad))
        same_figures(checks, label, result, clean)
        checks.equal(written.repaired(result), {"decimal-comma": changes}, label)
    packed = re.sub(r'("(?:ts|dur)": \d+)\.', r"\1,", json.dumps(written.trace(events), separators=(",", ": ")))
    same_figures(checks, "one line", report(checks, "one line", save(folder, "c.json", packed)), clean)
    blank = good.replace('"ts": 1000.125', '"ts": 1000, 125')
    checks.equal(written.run("report", save(folder, "blank.json", blank))[0], 125, "a blank is no decimal comma")


def no_numbers(checks, folder):
    copy = event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1300, 0, pid=0, tid=7, device=0, context=1,
                 stream=7, correlation=99, bytes=200, **{"memory bandwidth (GB/s)": "@@"})
    good = json.dumps(written.trace(steps(1) + [copy]))
    for word in ("inf", "-inf", "+inf", "nan", "-nan", "+NaN", "Infinity", "-Infinity", "NaN", "-nan(ind)", "nan(snan)",
                 "nan(0x8000000000000)", "1.#INF", "-1.#IND", "1.#QNAN0", "-1.#IND00", "N/A", "None", "undefined", ""):
        result = report(checks, word, save(folder, "word.json", good.replace('"@@"', word)))
        checks.equal(row(result, "memcpy", copy["name"]).get("bytes", 200), 200, "%r: bytes" % word)
        checks.equal(sum(r["count"] for r in result["processes"][0]["tables"].get("memcpy", [])), 1, "%r: copies" % word)
        written.check_sums(checks, word, result)
    timeless = json.dumps(written.trace(steps(2) + [event("cpu_op", "lost", "@@", 5)]))
    result = report(checks, "ts", save(folder, "word.json", timeless.replace('"@@"', "-nan(ind)")))
    checks.equal(written.left_out(result), {"no-time": 1}, "an event whose time is no number")


def commas(checks, folder):
    clean = report(checks, "clean", save(folder, "clean.json", text(steps(2))))
    good = json.dumps(written.trace(steps(2)))
    for label, bad in (("too many in an event", good.replace('"cbid": 211', '"cbid": 211,')),
                       ("too few between events", good.replace("}}, {", "}} {", 1)),
                       ("two between events", good.replace("}}, {", "}},, {", 1)),
                       ("too many at the end", good[:-2] + ",]}"),
                       ("too few in an event", good.replace(', "cat": "kernel"', ' "cat": "kernel"', 1))):
        result = report(checks, label, save(folder, "c.json", bad))
        same_figures(checks, label, result, clean)
        checks.expect(written.repaired(result).get("comma", 0) >= 1, label + ": reported")


def member(data, flags=0, extra=b""):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    return (b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + extra + body +
            struct.pack("<II", zlib.crc32(data), len(data) & 0xffffffff))


def gzip_shapes(checks, folder):
    clean = report(checks, "clean", save(folder, "clean.json", text(steps(2))))
    data = text(steps(2)).encode()
    blanks = b" \t\r\n" * 5000
    shapes = {"empty first": gzip.compress(b"") * 300 + gzip.compress(data), "empty last": gzip.compress(data) + gzip.compress(b"") * 9,
              "empty between": gzip.compress(data[:99]) + gzip.compress(b"") + gzip.compress(data[99:]),
              "long extra field": member(data, 4, struct.pack("<H", 60000) + bytes(60000)),
              "long name and comment": member(data, 24, b"n" * 9000 + b"\0" + b"c" * 9000 + b"\0"),
              "blanks first": blanks + data, "blanks first, packed": gzip.compress(blanks + data),
              "blanks in a member of their own": gzip.compress(blanks) + gzip.compress(data),
              "byte order mark": b"\xef\xbb\xbf" + data, "padding": gzip.compress(data) + bytes(700)}
    for label, content in shapes.items():
        same_figures(checks, label, report(checks, label, save(folder, "shape.json.gz", content)), clean)
    result = report(checks, "rest", save(folder, "rest.json.gz", gzip.compress(data) + b"more than that"))
    checks.expect(any("14 bytes after the gzip data" in s for s in result.get("reading", {}).get("sentences", [])),
                  "what lies behind is reported")
    for label, content in (("cut", gzip.compress(data)[:-300]), ("cut member", gzip.compress(data[:99]) + gzip.compress(data[99:])[:-30]),
                           ("zstd", b"\x28\xb5\x2f\xfd" + data), ("UTF-16", data.decode().encode("utf-16"))):
        status, _, stderr = written.run("report", save(folder, "no.json.gz", content))
        checks.equal((status, stderr.count("\n")), (125, 1), "%s: refused: %s" % (label, stderr))


def main():
    checks = e2e.Checks()
    for body in (backslashes, quotes, uncertain, decimal_commas, no_numbers, commas, gzip_shapes):
        with e2e.Folder("damaged") as folder:
            body(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
