# SPDX-License-Identifier: Apache-2.0
"""Strangers at the port: paths, texts, sizes and floods cost nothing but their own answers; the program does not notice."""

import os
import socket
import threading

import e2e
import live
import served

served.reexec_with("grpc", "view", "xprof")

import grpc  # noqa: E402
import profiler_client as rpc  # noqa: E402

CODE = grpc.StatusCode


def files_below(folder):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names)


def paths(checks, program, folder):
    """Folders and names from the network are no folders and names."""
    traversal = "../../../../../.." + folder
    before = files_below(folder)
    for place in (folder, traversal, folder + "/\n\x01%s%n" + "x" * 5000, "$(touch %s/pwned)" % folder):
        more = rpc.field(5, place) + rpc.field(7, place + ":1") + rpc.field(
            8, rpc.field(1, place) + rpc.field(2, rpc.field(2, "json") + rpc.field(3, 1)))
        options = rpc.options(duration_ms=600) + rpc.field(10, place)
        with rpc.Client(program.address) as client:
            response = client.profile_until_nonempty(opts=options, session_id=place[:100], more=more)
        checks.equal([name.count("/") for name in response.files], [0], "an answer as always, for %r" % place[:40])
    checks.equal(files_below(folder), before, "nothing was written where the request said")


def nonsense(checks, program, _folder):
    with rpc.Client(program.address) as client:
        call = client.method("Profile")
        for body, code in [(b"\xff" * 100, None), (b"\x0a", None), (rpc.request(duration_ms=2 ** 63), CODE.INVALID_ARGUMENT),
                           (rpc.request(opts=rpc.options(start_ns=2 ** 64 - 1, duration_ms=5)), CODE.INVALID_ARGUMENT),
                           (rpc.request(more=rpc.field(6, b"\xff\xfe\x00" * 30)), CODE.INTERNAL),
                           (rpc.request(more=rpc.field(6, "x" * (8 << 20))), CODE.RESOURCE_EXHAUSTED)]:
            got, message = rpc.rpc_error(lambda: call(body, timeout=e2e.PATIENCE_S))
            checks.expect(got is not None and code in (None, got), "%r: %s %s" % (body[:20], got, message))
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000):
        with socket.create_connection(("127.0.0.1", program.port), e2e.PATIENCE_S) as one:
            try:
                one.sendall(text)
                one.recv(1000)
            except OSError:
                pass


def flood(checks, program, _folder):
    """More connections than it has descriptors, and as many calls at once."""
    connections = []
    for _ in range(300):
        connections.append(socket.create_connection(("127.0.0.1", program.port), e2e.PATIENCE_S))
    codes = []

    def request():
        for _ in range(5):  # gRPC gives up a connection that has no processor for 20 s
            with rpc.Client(program.address) as client:
                code = rpc.rpc_error(lambda: client.profile(duration_ms=700))[0]
            if code != CODE.UNAVAILABLE:
                break
        codes.append(code)
    threads = [threading.Thread(target=request) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    checks.expect(codes.count(None) >= 1, "one of them is served: %r" % codes)
    checks.expect(set(codes) <= {None, CODE.ALREADY_EXISTS, CODE.RESOURCE_EXHAUSTED},
                  "the others are reported: %r" % set(codes))
    for one in connections:
        one.close()


def main():
    checks = e2e.Checks()
    with e2e.Folder("serve-hostile") as folder, served.ServedProgram(live.busy()) as program:
        live.wait_until_armed(program.pid)
        helper = served.helper_of(program.process.pid)
        for case in (paths, nonsense, flood):
            case(checks, program, folder)
        live.wait_until_armed(program.pid)
        with rpc.Client(program.address) as client:
            checks.equal(len(client.profile_until_nonempty(duration_ms=600).files), 1, "it answers as before")
        checks.equal(served.helper_of(program.process.pid), helper, "it is the same helper")
        with open("/proc/%d/status" % helper, encoding="utf-8") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        checks.expect(peak < 200_000, "its memory: %d kB" % peak)
        checks.equal(program.end(), (-15, "", ""), "the program")
    checks.equal(served.leftover_folders(), [], "folders left behind")
    checks.done()


if __name__ == "__main__":
    main()
