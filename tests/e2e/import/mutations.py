# SPDX-License-Identifier: Apache-2.0
"""Traces changed at random: in their bytes, their tokens, their events, their packing, as whole files."""

import copy
import gzip
import json
import re
import struct
import zlib

import file_damage

NUMBERS = ["0", "-1", "1e300", "18446744073709551615", "-9223372036854775808", "9e18", "0.0005", "3,5", "nan", "inf",
           "-nan(ind)", "1.#INF", "null", "true", '"12"', '"x"', "[]", "{}", "+5", "", "00", "0x1f", "1615207264504000"]
TEXTS = ['""', '"say "hi""', r'"C:\users\x.py(1): f"', r'"a\qb"', '"\\ud800"', '"tab\tnew\nline"', "null", "7", "[1]",
         '""twice""', '"' + "x" * 3000 + '"', '"kernel"', '"cpu_op"', '"python_function"', '"a kind of tomorrow"', '"X"',
         '"é\x7f"', "{}", '"open', "'single'"]
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|[\[\]{},:]')
TIMES = [0, -1, 1, 1e15, 4e15, 1e300, -1e18, 1615207264504000, "5", None, 2**63, 0.25]


def some_bytes(rng, data):
    """Changed, and how many places were."""
    data, changes = bytearray(data), rng.choice((1, 1, 1, 2, 4, 8))
    for _ in range(changes):
        at = rng.randrange(len(data))
        how = rng.randrange(4)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at] = rng.choice(b'"\\,:{}[]0 \n\xff')
        elif how == 2:
            del data[at]
        else:
            data.insert(at, rng.choice(b'"\\,:{}[]9e-\x00'))
    return bytes(data), changes


def a_token(rng, data):
    text = data.decode("utf-8", "surrogateescape")
    tokens = list(TOKEN.finditer(text))
    token = rng.choice(tokens)
    word = token.group()
    if word[0] == '"':
        new = rng.choice(TEXTS)
    elif word[0] in "[]{},:":
        new = rng.choice(("", word + word, " ", ","))
    else:
        new = rng.choice(NUMBERS)
    return (text[:token.start()] + new + text[token.end():]).encode("utf-8", "surrogateescape"), 1


def other_events(rng, trace):
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(events))
        how = rng.randrange(10)
        one = events[at]
        if how == 0:
            del events[at]
            if not events:
                events.append({})
        elif how == 1:
            events.insert(rng.randrange(len(events) + 1), copy.deepcopy(one))
        elif how == 2:
            events[at] = rng.choice((7, None, "text", [1, [2]], {}, {"ph": "Z"}, True))
        elif how == 3:
            rng.shuffle(events)
        elif isinstance(one, dict) and one:
            keys = ("ts", "dur", "ph", "cat", "pid", "tid", "name")
            if how in (4, 5):
                one["ts"] = rng.choice(TIMES)
            elif how == 6:
                one["dur"] = rng.choice(TIMES)
            elif how == 7:
                one.pop(rng.choice(sorted(one)))
            elif how == 8:
                one[rng.choice(keys)] = rng.choice(("B", "E", "b", "e", "s", "f", "C", "M", "i", "X", 5, None, "fwdbwd", "1"))
            elif isinstance(one.get("args"), dict) and one["args"]:
                one["args"][rng.choice(sorted(one["args"]))] = rng.choice((None, -1, "x", 2**70, [], {}, 1.5))


def member(data, flags=0, extra=b""):
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    return (b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + extra + body +
            struct.pack("<II", zlib.crc32(data), len(data) & 0xffffffff))


def packed(rng, data):
    """Another packing of the same text, or a damaged one; and whether the text is whole."""
    how = rng.randrange(7)
    if how == 0:
        cuts = sorted(rng.randrange(len(data)) for _ in range(rng.randrange(1, 9)))
        parts = [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)])]
        return b"".join(gzip.compress(part, 1) for part in parts), True
    if how == 1:
        return gzip.compress(b"") * rng.randrange(1, 50) + gzip.compress(data, 1) + gzip.compress(b""), True
    if how == 2:
        size = rng.randrange(65536)
        return member(data, 4, struct.pack("<H", size) + bytes(size)), True
    if how == 3:
        return gzip.compress(data, 1) + rng.choice((bytes(99), b"rest", b"\x1f\x8b")), True
    whole = bytearray(gzip.compress(data, 1))
    if how == 4:
        return bytes(whole[:rng.randrange(1, len(whole))]), False
    at = rng.randrange(len(whole))
    if how == 5:
        whole[at] ^= 1 << rng.randrange(8)
    else:
        del whole[at]
    return bytes(whole), False


def mutate(rng, kind, trace):
    """The file's bytes; how many places of its text were changed, 0 where it is JSON as before."""
    if kind == "events":
        trace = copy.deepcopy(trace)
        other_events(rng, trace)
        return json.dumps(trace).encode(), 0
    if kind == "files":
        return file_damage.damage(rng, trace)
    data = json.dumps(trace, indent=rng.choice((None, 1))).encode()
    if kind == "bytes":
        return some_bytes(rng, data)
    if kind == "tokens":
        return a_token(rng, data)
    return packed(rng, data)[0], 0
