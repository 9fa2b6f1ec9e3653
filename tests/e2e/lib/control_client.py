# SPDX-License-Identifier: Apache-2.0
"""A client of the daemon's control socket (docs/wire-format.md), for what the command line refuses."""

import os
import socket
import struct
import subprocess
import time

import e2e
from wire import MAGIC, MAJOR

OPEN_SESSION, COMMAND_STARTED, COMMAND_ENDED = 64, 65, 66
SESSION_READY, SUMMARY, FAILURE = 96, 98, 99


class Daemon:
    """A gpuprofd that listens; ends with the block."""

    def __init__(self):
        self.name = "@gpuprof-test-%d-%d" % (os.getpid(), time.monotonic_ns())

    def __enter__(self):
        self.process = subprocess.Popen([e2e.GPUPROFD, "--listen", self.name])
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=e2e.PATIENCE_S)


class Session:
    """One session with options as `key=value`."""

    def __init__(self, daemon, **options):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(e2e.PATIENCE_S)
        end = time.monotonic() + e2e.PATIENCE_S
        while True:
            try:
                self.socket.connect("\0" + daemon.name[1:])
                break
            except OSError:
                if daemon.process.poll() is not None or time.monotonic() > end:
                    raise
            time.sleep(0.01)
        text = "".join("%s=%s\n" % item for item in options.items()).encode()
        self.send(OPEN_SESSION, struct.pack("<II", len(text), 0), text)
        kind, _, tail = self.receive()
        if kind != SESSION_READY:
            raise RuntimeError(tail.decode())
        self.address = tail.decode()

    def send(self, kind, body, tail=b""):
        self.socket.send(struct.pack("<IHHII", MAGIC, MAJOR, kind, len(body), len(tail)) + body + tail)

    def receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("the daemon closed the session")
        _, _, kind, body, tail = struct.unpack("<IHHII", data[:16])
        return kind, data[16:16 + body], data[16 + body:16 + body + tail]

    def start(self, command, library=e2e.LIBRARY, **keywords):
        """The command as `gpuprof run` starts it: preloaded, its own pid in the address."""
        script = 'GPUPROF_SOCKET="$0;pid=$$" LD_PRELOAD="$1" && export GPUPROF_SOCKET LD_PRELOAD ' \
                 '&& shift && exec "$@"'
        process = subprocess.Popen(["sh", "-c", script, self.address, library, *command], **keywords)
        self.send(COMMAND_STARTED, struct.pack("<II", process.pid, 0))
        return process

    def end(self, status):
        """Says that the command has ended; returns the summary's JSON text."""
        self.send(COMMAND_ENDED, struct.pack("<iI", status, 0))
        text = b""
        while True:
            kind, body, tail = self.receive()
            if kind == FAILURE:
                raise RuntimeError(tail.decode())
            if kind == SUMMARY:
                text += tail
                if struct.unpack("<II", body)[1] == 0:
                    return text.decode()
