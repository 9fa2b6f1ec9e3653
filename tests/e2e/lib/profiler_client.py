# SPDX-License-Identifier: Apache-2.0
"""tensorflow.ProfilerService as a plain client sees it: messages by hand, calls by grpcio."""

import grpc

from e2e import PATIENCE_S
from proto_bytes import field, fields

SERVICE = "/tensorflow.ProfilerService/"
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def options(version=1, device_type=0, host=2, device=1, python=0, start_ns=0, duration_ms=0):
    """ProfileOptions."""
    return b"".join(field(number, value) for number, value in
                    [(5, version), (6, device_type), (2, host), (3, device), (4, python), (8, start_ns),
                     (9, duration_ms)] if value)


def request(duration_ms=0, opts=None, session_id="", more=b""):
    """ProfileRequest."""
    out = field(1, duration_ms) + field(2, 1000000) + field(3, "trace_viewer") + field(3, "xplane.pb")
    if opts is not None:
        out += field(4, opts)
    return out + (field(6, session_id) if session_id else b"") + more


class ProfileResponse:
    """A ProfileResponse."""

    def __init__(self, data):
        self.files, self.empty = {}, False
        for number, value in fields(data):
            if number == 6:
                inner = dict(fields(value))
                self.files[inner[1].decode()] = inner.get(2, b"")
            elif number == 7:
                self.empty = bool(value)


class Client:
    """A channel to a server at host:port."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=UNLIMITED + [("grpc.enable_http_proxy", 0)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def method(self, name):
        return self.channel.unary_unary(SERVICE + name)

    def profile(self, timeout=PATIENCE_S, **keywords):
        """An Answer, or grpc.RpcError."""
        return ProfileResponse(self.method("Profile")(request(**keywords), timeout=timeout))

    def profile_until_nonempty(self, **keywords):
        """profile(), again while the response is empty because the program got no processor."""
        for _ in range(20):
            response = self.profile(**keywords)
            if not response.empty:
                break
        return response

    def begin(self, timeout=2 * PATIENCE_S, **keywords):
        """A call in progress: .result() gives the bytes, .cancel() ends it."""
        return self.method("Profile").future(request(**keywords), timeout=timeout)

    def terminate(self, session_id=""):
        return self.method("Terminate")(field(1, session_id) if session_id else b"", timeout=PATIENCE_S)


def rpc_error(call):
    """(code, message) of a call that fails; (None, answer) of one that does not."""
    try:
        return None, call()
    except grpc.RpcError as failure:
        return failure.code(), failure.details()
