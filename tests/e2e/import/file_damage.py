# SPDX-License-Identifier: Apache-2.0
"""Whole files as real damage leaves them: cut, joined, with holes, in another encoding, rewritten by other tools."""

import copy
import gzip
import json
import re

HUGE = [10**18, 2**63 - 1, 2**63, 2**64, 10**30, -10**30, 10**400]
FIELD = re.compile(rb'"(ts|dur|name|cat|ph|pid|tid|args|id)": ')


def events_of(trace):
    return trace["traceEvents"] if isinstance(trace, dict) else trace


def cut(rng, data, _):
    """A download that stopped."""
    if rng.randrange(2):
        data = gzip.compress(data, 1)
    return data[:rng.randrange(1, len(data))]


def damaged_member(rng, data, _):
    cuts = sorted(rng.randrange(len(data)) for _ in range(rng.randrange(1, 4)))
    parts = [bytearray(gzip.compress(data[a:b], 1)) for a, b in zip([0] + cuts, cuts + [len(data)])]
    part = rng.choice(parts)
    how = rng.randrange(3)
    if how == 0:
        part[rng.randrange(len(part))] ^= 1 << rng.randrange(8)
    elif how == 1:
        del part[rng.randrange(len(part)):]
    else:
        parts.remove(part)
    return b"".join(parts)


def other_encoding(rng, data, _):
    text = data.decode("utf-8", "surrogateescape")
    how = rng.randrange(6)
    if how == 0:
        return b"\xef\xbb\xbf" + data
    if how == 1:
        return text.replace("aten::", "\xe9aten::").encode("latin-1", "replace")
    wide = text.encode(("utf-16", "utf-16-le", "utf-16-be", "utf-32")[how - 2], "replace")
    return gzip.compress(wide, 1) if rng.randrange(3) == 0 else wide


def line_ends(rng, data, _):
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\t\n")))


def joined(rng, data, _):
    one = rng.choice((lambda d: d, lambda d: gzip.compress(d, 1)))
    return one(data) + rng.choice((b"", b"\n", b",")) * (one(data) == data) + one(data)


def no_end(rng, data, _):
    return data.rstrip(b"]} \n") + rng.choice((b"", b"}", b"]", b"}]", b"\n", b",\n", b"}\n]", b"}},"))


def nul_bytes(rng, data, _):
    if rng.randrange(2):
        return data + bytes(rng.randrange(1, 5000))
    at, size = rng.randrange(len(data)), rng.choice((1, 16, 512, 4096))
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size:]


def block(rng, data, _):
    """One is missing, or there twice."""
    at, size = rng.randrange(len(data)), rng.choice((16, 512, 4096))
    return data[:at] + data[at + size:] if rng.randrange(2) else data[:at + size] + data[at:]


def twice(rng, data, _):
    """Names of members."""
    found = list(FIELD.finditer(data))
    for field in sorted(rng.sample(found, min(len(found), rng.choice((1, 5, 50)))), key=lambda f: -f.start()):
        value = rng.choice((b"5", b'"x"', b"null", b"{}", b"1e3", b'"kernel"'))
        data = data[:field.start()] + field.group() + value + b", " + data[field.start():]
    if rng.randrange(4) == 0 and data[:1] == b"{":
        data = b'{"schemaVersion": 1, "deviceProperties": [], ' + data[1:]
    return data


def quoted_numbers(rng, _, trace):
    trace = copy.deepcopy(trace)
    share = rng.choice((0.02, 1))

    def quoted(value):
        if isinstance(value, dict):
            return {k: quoted(v) for k, v in value.items()}
        if isinstance(value, list):
            return [quoted(v) for v in value]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return repr(value) if number and rng.random() < share else value
    if rng.randrange(3) == 0:
        return json.dumps(quoted(trace)).encode()
    events_of(trace)[:] = [quoted(e) for e in events_of(trace)]
    return json.dumps(trace).encode()


def huge_numbers(rng, _, trace):
    trace = copy.deepcopy(trace)
    for event in rng.sample(events_of(trace), min(len(events_of(trace)), rng.choice((1, 3, 30)))):
        if not isinstance(event, dict) or not event:
            continue
        inner = event.get("args") if isinstance(event.get("args"), dict) and event["args"] else event
        where = rng.choice((event, inner))
        where[rng.choice(sorted(where))] = rng.choice(HUGE)
    if isinstance(trace, dict) and rng.randrange(4) == 0:
        trace[rng.choice(sorted(set(trace) - {"traceEvents"}) or ["x"])] = rng.choice(HUGE)
    return json.dumps(trace).encode()


def nested(rng, _, trace):
    trace = copy.deepcopy(trace)
    inside = copy.deepcopy(events_of(trace)[:5])
    for event in rng.sample(events_of(trace), min(len(events_of(trace)), 3)):
        if isinstance(event, dict):
            args = event.get("args") if isinstance(event.get("args"), dict) else {}
            event["args"] = {**args, "traceEvents": inside, "args": {"ts": 5, "traceEvents": []}}
    if isinstance(trace, dict) and rng.randrange(2):
        trace = {"metadata": {"traceEvents": inside}, **trace}
    return json.dumps(trace).encode()


def surrounding_words(rng, data, _):
    word = rng.choice((b"INFO 12:00:01 trace written\n", b"Killed\n", b"<!DOCTYPE html>\n", b"$ cat trace.json\n", b"null", b"0"))
    return word + data if rng.randrange(2) else data + b"\n" + word


def lines(rng, _, trace):
    """An event a line, as tools that stream have them; with or without commas and brackets."""
    between = rng.choice((b"\n", b",\n"))
    text = between.join(json.dumps(e).encode() for e in events_of(trace))
    return rng.choice((b"", b"[\n")) + text + rng.choice((b"", b"\n]", b",\n", b",\n]"))


DAMAGES = (cut, damaged_member, other_encoding, line_ends, joined, no_end, nul_bytes, block, twice, quoted_numbers,
           huge_numbers, nested, surrounding_words, lines)
# Some of their events are gone, or there twice, and no reader can say how many were meant.
UNCERTAIN = (cut, no_end, nul_bytes, block, lines)


def damage(rng, trace):
    """The file's bytes, and how many events may be more or less than before."""
    how = rng.choice(DAMAGES)
    data = how(rng, json.dumps(trace, indent=rng.choice((None, 1))).encode(), trace)
    return data, 2 * len(events_of(trace)) + 1 if how in UNCERTAIN else 0
