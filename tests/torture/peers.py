# SPDX-License-Identifier: Apache-2.0
"""A stranger at a socket of gpuprof's.

usage: peers.py ADDRESS WAY SECONDS SEED   WAY: see WAYS; prints what came back, once each"""

import array
import os
import random
import socket
import struct
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "lib"))
from wire import MAGIC, MAJOR  # noqa: E402

HEADER = struct.Struct("<IHHII")
JOIN = 129  # kJoinRequest


def connected(address):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(2)
    one.connect("\0" + address[1:] if address.startswith("@") else address)
    return one


def message(kind, body, tail=b"", major=MAJOR, lie=0):
    return HEADER.pack(MAGIC, major, kind, len(body) + lie, len(tail)) + body + tail


def first_response(one, data):
    """What comes back for one message; it may be there before it is sent, and the connection closed."""
    try:
        one.send(data)
    except OSError:
        pass
    try:
        return one.recv(4096)
    except ConnectionResetError:  # reported once; what was said before it is still there
        return one.recv(4096)


def garbage(address, rng):
    with connected(address) as one:
        if rng.random() < 0.5:
            return first_response(one, rng.randbytes(rng.randint(1, 3000)))
        for _ in range(20):
            one.send(rng.randbytes(rng.randint(1, 3000)))
        return one.recv(4096)


def oversize(address, rng):
    """As large as a packet of the kernel's gets, and lengths beyond it."""
    with connected(address) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        one.send(message(rng.randint(0, 128), bytes(rng.choice([70_000, 120_000, 200_000]))))
        one.send(message(rng.randint(0, 128), b"abc", lie=1 << 30))
        return one.recv(4096)


def half(address, rng):
    """The beginning of a message, then nothing, or the end of the connection."""
    with connected(address) as one:
        whole = message(rng.choice([1, 2, 3, 64, 65]), bytes(64), b"x" * 20)
        one.send(whole[:rng.randint(1, len(whole) - 1)])
        if rng.random() < 0.5:
            time.sleep(0.2)
        return one.recv(4096) if rng.random() < 0.5 else b""


def mixed(address, rng):
    """Well-formed messages of random kinds with random bodies, but none that a control socket obeys: a user may have his own
    program join a daemon that does not answer, and detached then."""
    def one_message():
        return message(rng.choice([kind for kind in range(131) if kind != JOIN]), rng.randbytes(rng.choice([0, 8, 40, 200])), rng.randbytes(10),
                       major=rng.choice([MAJOR, MAJOR, 0, 65535]))
    with connected(address) as one:
        if rng.random() < 0.5:
            return first_response(one, one_message())
        for _ in range(30):
            one.send(one_message())
        return one.recv(4096)


def descriptors(address, rng):
    """250 open files with each packet."""
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(250)]
    try:
        with connected(address) as one:
            for _ in range(20):
                one.sendmsg([message(rng.randint(1, 70), bytes(64))],
                            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
            return one.recv(4096)
    finally:
        for fd in files:
            os.close(fd)


def crowd(address, _chance):
    """Connections that say nothing and stay."""
    held = []
    try:
        for _ in range(900):
            held.append(connected(address))
    except OSError:
        pass
    time.sleep(0.3)
    for one in held:
        one.close()
    return b"%d" % len(held)


ANSWERED, LEAST = ("garbage", "mixed"), 20
WAYS = {f.__name__: f for f in (garbage, oversize, half, mixed, descriptors, crowd)}


def main():
    address, way, seconds, rng = sys.argv[1], sys.argv[2], float(sys.argv[3]), random.Random(int(sys.argv[4]))
    end, outcomes, tries, responses = time.monotonic() + seconds, set(), 0, 0
    # Where there is little time for it: until there is an answer, or after many tries none.
    while time.monotonic() < end or way in ANSWERED and responses == 0 and tries < LEAST:
        try:
            response = WAYS[way](address, rng)
            responses += 1
            outcomes.add("answered %r" % response[16:200])
        except OSError as error:
            outcomes.add(type(error).__name__ + (": " + (error.strerror or "")))
            time.sleep(0.002)
        tries += 1
    print("%d tries: %s" % (tries, "; ".join(sorted(outcomes)[:8])))


if __name__ == "__main__":
    main()
