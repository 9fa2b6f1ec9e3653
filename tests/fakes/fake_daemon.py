#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gpuprofd that misbehaves as FAKE_DAEMON says: what the CLI must survive.

dies         ends before it answers
refuses      answers OpenSession with a failure
old          answers with another wire version
garbage      answers with bytes that are no message
dies-later   answers, then ends while the program runs
nonsense     answers, ends with a summary that is not JSON
good         answers, ends with a small summary in two parts
hangs        answers, then never says anything again and uses no CPU time
busy         works for FAKE_SECONDS without a word before its summary
slow         tells its progress for FAKE_SECONDS before its summary
"""

import json
import os
import socket
import struct
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "lib"))
from wire import MAGIC, MAJOR  # noqa: E402

HEADER = struct.Struct("<IHHII")
OPEN, STARTED, ENDED, END = 64, 65, 66, 67
READY, PROGRESS, SUMMARY, FAILURE = 96, 97, 98, 99


def send(control, kind, body, tail=b"", major=MAJOR):
    control.send(HEADER.pack(MAGIC, major, kind, len(body), len(tail)) + body + tail)


def receive(control):
    packet = control.recv(1 << 16)
    if not packet:
        sys.exit(0)
    _, _, kind, body, _ = HEADER.unpack_from(packet)
    return kind, packet[HEADER.size:HEADER.size + body], packet[HEADER.size + body:]


def open_session(control, how):
    kind, _, options = receive(control)
    assert kind == OPEN and b"output=" in options, (kind, options)
    if how == "refuses":
        send(control, FAILURE, struct.pack("<II", 1, 14), b"no disk space.")
        sys.exit(0)
    if how == "garbage":
        control.send(b"hello")
        time.sleep(5)
    address = b"@gpuprof-fake;session=1f"
    send(control, READY, struct.pack("<QII", 0x1F, os.getpid(), len(address)), address,
         MAJOR + 1 if how == "old" else MAJOR)


def main():
    how = os.environ.get("FAKE_DAEMON", "good")
    if "--version" in sys.argv:
        print("gpuprofd 0.1.0")
        return
    control = socket.socket(fileno=int(sys.argv[sys.argv.index("--control-fd") + 1]))
    if how == "dies":
        return
    open_session(control, how)
    kind, body, _ = receive(control)
    if kind != STARTED:
        return
    if how == "dies-later":
        return
    pid = struct.unpack("<II", body)[0]
    if how == "hangs":
        time.sleep(600)
    kind, body, _ = receive(control)
    assert kind == ENDED, kind
    end = time.monotonic() + float(os.environ.get("FAKE_SECONDS", "0"))
    while how == "busy" and time.monotonic() < end:
        sum(range(10000))
    while how == "slow" and time.monotonic() < end:
        send(control, PROGRESS, struct.pack("<QQII", 1500, 3000, 7, 0), b"writing")
        time.sleep(0.1)
    send(control, PROGRESS, struct.pack("<QQII", 1, 2, 7, 0), b"writing")
    text = json.dumps({"version": "fake", "remarks": ["process %d ended with %d" % (
        pid, struct.unpack("<iI", body)[0])]}).encode()
    if how == "nonsense":
        text = b"{nonsense"
    send(control, SUMMARY, struct.pack("<II", 5, 1), text[:5])
    send(control, SUMMARY, struct.pack("<II", len(text) - 5, 0), text[5:])


if __name__ == "__main__":
    main()
