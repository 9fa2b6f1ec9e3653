# SPDX-License-Identifier: Apache-2.0
"""tensorflow.ProfilerService of one Python program, by a plain client: each rule of the protocol."""

import time

import e2e
import live
import served

served.reexec_with("grpc", "view", "xprof")

import grpc  # noqa: E402
import profiler_client as rpc  # noqa: E402
from xspace import XSpace  # noqa: E402

CODE = grpc.StatusCode
NAME = "xplane.pb"
ALL = {"host": 2, "device": 1, "python": 1}


def took(call):
    """(seconds, what it returned)."""
    begin = time.monotonic()
    response = call()
    return time.monotonic() - begin, response


def profile(checks, client, _program):
    seconds, response = took(lambda: client.profile_until_nonempty(opts=rpc.options(**ALL, duration_ms=700)))
    checks.equal((list(response.files), response.empty), ([NAME], False), "one process")
    checks.expect(seconds >= 0.7, "0.7 s took %.2f s" % seconds)
    checks.in_time(seconds < 5, "0.7 s took %.2f s" % seconds)
    space = XSpace(response.files[NAME])
    names = space.names()
    checks.expect(any("work" in name for name in names), "Python's functions: %r" % sorted(names)[:20])
    checks.equal(space.gpus(), [], "there is no GPU")


def levels(checks, client, _program):
    response = client.profile(opts=rpc.options(host=0, device=0, python=0, duration_ms=60000))
    checks.equal((response.files, response.empty), ({}, True), "all levels 0")
    response = client.profile_until_nonempty(opts=rpc.options(**{**ALL, "python": 0}, duration_ms=600))
    names = XSpace(response.files[NAME]).names()
    checks.expect(not any("work" in name for name in names), "without Python: %r" % sorted(names)[:20])
    # The levels of options without a version are not meant.
    response = client.profile_until_nonempty(duration_ms=600, opts=rpc.options(version=0, host=0, device=0))
    checks.equal(list(response.files), [NAME], "options without a version")
    response = client.profile_until_nonempty(duration_ms=600)
    checks.equal(list(response.files), [NAME], "no options")


def delay(checks, client, _program):
    for _ in range(20):  # until it had a processor in that time
        begin, start_ns = time.monotonic(), time.time_ns() + 1_200_000_000
        response = client.profile(opts=rpc.options(start_ns=start_ns, duration_ms=900))
        seconds = time.monotonic() - begin
        if not response.empty:
            break
    checks.expect(seconds >= 2.1, "delay and duration: %.2f s" % seconds)
    checks.in_time(seconds < 8, "delay and duration: %.2f s" % seconds)
    begun_ns = XSpace(response.files[NAME]).started_ns()
    # clock: no sooner than it was requested
    checks.expect(begun_ns >= start_ns, "begun %.3f s early" % ((start_ns - begun_ns) / 1e9))
    checks.in_time(begun_ns < start_ns + 1_000_000_000, "begun %.3f s late" % ((begun_ns - start_ns) / 1e9))


def one_at_a_time(checks, client, program):
    call = client.begin(duration_ms=600000, session_id="first")
    checks.expect(live.wait_until_recorded(program.pid), "the first is being recorded")
    live.wait_for_cpu_time(program.pid)
    code, message = rpc.rpc_error(lambda: client.profile(duration_ms=100))
    checks.equal(code, CODE.ALREADY_EXISTS, "a second one: %s" % message)
    code, _ = rpc.rpc_error(lambda: client.terminate("second"))
    checks.equal(code, CODE.NOT_FOUND, "Terminate of another session")
    seconds, response = took(lambda: (client.terminate("first"), rpc.ProfileResponse(call.result()))[1])
    checks.equal(list(response.files), [NAME], "a terminated one answers")
    checks.in_time(seconds < 5, "it ended after %.2f s" % seconds)
    code, _ = rpc.rpc_error(lambda: client.terminate("first"))
    checks.equal(code, CODE.NOT_FOUND, "Terminate of nothing")


def terminated_while_waiting(checks, client, _program):
    start_ns = time.time_ns() + 300_000_000_000
    call = client.begin(opts=rpc.options(start_ns=start_ns, duration_ms=100))
    time.sleep(0.3)
    # The call may not have arrived yet.
    checks.expect(live.wait_for(lambda: rpc.rpc_error(client.terminate)[0] is None), "Terminate of one that waits")
    seconds, response = took(lambda: rpc.ProfileResponse(call.result()))
    checks.equal((response.files, response.empty), ({}, True), "terminated before it began")
    checks.in_time(seconds < 2, "it ended after %.2f s" % seconds)


def cancelled(checks, client, program):
    call = client.begin(duration_ms=600000)
    checks.expect(live.wait_until_recorded(program.pid), "what is to be cancelled is recorded")
    checks.expect(served.leftover_folders(), "it is being recorded")
    call.cancel()
    checks.expect(live.wait_for(lambda: not served.leftover_folders()), "nothing is left of a cancelled one")

    def again():
        code, response = rpc.rpc_error(lambda: client.profile(duration_ms=600))
        return response if code is None and not response.empty else None
    response = live.wait_for(again)
    checks.expect(response and list(response.files) == [NAME], "the next one after a cancelled one")


def deadline(checks, client, program):
    for _ in range(5):
        seconds, (code, response) = took(lambda: rpc.rpc_error(lambda: client.profile(duration_ms=60000, timeout=3.0)))
        if code is not None or not response.empty:  # else it had no processor all the while
            break
    if checks.in_time(code is None, "no answer before the client's deadline: %s" % response):
        checks.equal(list(response.files), [NAME], "longer than the client waits")
        checks.in_time(seconds < 3.0, "answered after %.2f s" % seconds)
    else:
        checks.equal(code, CODE.DEADLINE_EXCEEDED, "longer than the client waits: %s" % response)
        live.wait_until_armed(program.pid)
    code, message = rpc.rpc_error(lambda: client.profile(duration_ms=100, timeout=0.9))
    checks.equal(code, CODE.DEADLINE_EXCEEDED, "less than can be done: %s" % message)


def recorded_by_hand(checks, client, program):
    with e2e.Folder("serve-hand") as folder:
        by_hand = live.Background("capture", program.pid, "-d", "600s", "-o", folder)
        checks.expect(live.wait_until_recorded(program.pid), "a capture by hand")
        code, message = rpc.rpc_error(lambda: client.profile(duration_ms=100))
        checks.equal(code, CODE.ALREADY_EXISTS, "recorded by hand: %s" % message)
        checks.expect(str(program.pid) in (message or ""), "it says whom: %s" % message)
        live.wait_for_cpu_time(program.pid)
        live.cli("stop", program.pid)
        done = by_hand.end()
        checks.equal((done.returncode, len(done.stdout.split())), (0, 1), "the capture by hand: " + done.stderr)
    live.wait_until_armed(program.pid)
    checks.equal(list(client.profile_until_nonempty(duration_ms=600).files), [NAME], "when that is over")


def other_methods(checks, client, _program):
    for name in ("Monitor", "GetSnapshot", "ContinuousProfiling", "StopContinuousProfiling", "Nonsense"):
        code, _ = rpc.rpc_error(lambda: client.method(name)(b"", timeout=e2e.PATIENCE_S))
        checks.equal(code, CODE.UNIMPLEMENTED, name)
    code, message = rpc.rpc_error(lambda: client.profile())
    checks.equal((code, "duration" in message), (CODE.INVALID_ARGUMENT, True), "no duration: %s" % message)


def main():
    checks = e2e.Checks()
    cases = (profile, levels, delay, one_at_a_time, terminated_while_waiting, cancelled, deadline,
             recorded_by_hand, other_methods)
    with served.ServedProgram(live.busy()) as program, rpc.Client(program.address) as client:
        live.wait_until_armed(program.pid)
        for case in cases:
            case(checks, client, program)
        status, out, errors = program.end()
        checks.equal((status, out, errors), (-15, "", ""), "the program")
    checks.equal(served.leftover_folders(), [], "folders left behind")
    checks.done()


if __name__ == "__main__":
    main()
