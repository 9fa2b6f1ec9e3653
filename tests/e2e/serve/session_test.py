# SPDX-License-Identifier: Apache-2.0
"""What surrounds the button: addresses, the program's own course, schedules, several sessions, how all of it ends."""

import os
import signal
import socket
import subprocess
import threading
import time

import e2e
import live
import served

served.reexec_with("grpc", "view", "xprof")

import grpc  # noqa: E402
import profiler_client as rpc  # noqa: E402

TRIES = 10
CODE = grpc.StatusCode
# A launcher that is no Python, and two workers of their own.
PAIR = ["sh", "-c", 'echo $$; "$@" >/dev/null & A=$!; "$@" >/dev/null & trap "kill $A $!" TERM; wait', "sh"]


def profile_result(address, **keywords):
    """The names of the files, or the code of a refusal."""
    with rpc.Client(address) as client:
        code, response = rpc.rpc_error(lambda: client.profile_until_nonempty(**{"duration_ms": 500, **keywords}))
        return code or sorted(response.files)


def refused(checks, folder):
    """One message, status 125, and the program has not begun."""
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    mark = os.path.join(folder, "begun")
    for words, part in [
            (["--serve", str(port)], "another program uses this port"),
            (["--serve", "127.0.0.1"], "expected HOST:PORT"),
            (["--serve", "127.0.0.1:99999"], "expected a number from 1 to 65535"),
            (["--serve", "::1:6009"], "expected HOST:PORT"),
            (["--serve", "no.such.host.invalid:6009"], "cannot resolve"),
            (["--serve", "0.0.0.0:%d" % served.free_port()], "--serve-to-network"),
            (["--serve", "[::]:%d" % served.free_port()], "--serve-to-network"),
            (["--serve", "192.0.2.1:6009", "--serve-to-network"], "does not have this address"),
            (["--serve", str(served.free_port()), "-o", folder], "omit -o")]:
        done = e2e.gpuprof(words, ["touch", mark])
        stderr = done.stderr.decode()
        checks.equal((done.returncode, stderr.count("\n"), part in stderr), (125, 1, True), "%s: %s" % (words, stderr))
    checks.expect(not os.path.exists(mark), "nothing was started")
    taken.close()
    done = live.cli("serve", "--at", str(served.free_port()), "no-such-name")
    checks.equal((done.returncode, "no process is named" in done.stderr), (125, True), "serve: " + done.stderr)


def beyond_loopback(checks, _folder):
    words = ["--serve-to-network", "--serve", "0.0.0.0:%d" % served.free_port()]
    done = e2e.gpuprof(words, ["true"])
    checks.equal((done.returncode, done.stderr), (0, b""), "all addresses, when it is reported")
    try:
        port = served.free_port("::1")
    except OSError:
        return checks.skip("IPv6: not here")
    with live.Program(live.prefix("--serve", "[::1]:%d" % port) + live.busy()) as program:
        live.wait_until_armed(program.pid)
        checks.expect(isinstance(profile_result("[::1]:%d" % port), list), "IPv6 answers")


def unchanged(checks, _folder):
    """Status and output are the program's; nothing is left when it has ended."""
    begin = time.monotonic()
    port = served.free_port()
    done = e2e.gpuprof(["--serve", str(port)], live.busy(0.3))
    checks.equal((done.returncode, done.stdout.split()[-1:], done.stderr), (7, [b"done"], b""), "an idle session")
    checks.in_time(time.monotonic() - begin < 3, "it took %.1f s" % (time.monotonic() - begin))
    socket.create_server(("127.0.0.1", port)).close()  # the port is free
    done = e2e.gpuprof(["--serve", str(port)], ["sh", "-c", "kill -SEGV $$"])
    checks.equal((done.returncode, done.stdout + done.stderr), (-signal.SIGSEGV, b""), "a program that dies")
    done = e2e.gpuprof(["--serve", str(port)], ["/no/such/program"])
    checks.equal(done.returncode, 127, "a program that is not there")
    done = e2e.gpuprof(["--serve", str(port), "-w", "all"], ["sh", "-c", "sleep 0.3 & exit 4"])
    checks.equal((done.returncode, done.stderr), (4, b""), "with -w all")


def held(checks, _folder):
    """A client that stays connected and says nothing."""
    with served.ServedProgram(live.busy()) as program:
        live.wait_until_armed(program.pid)
        children = [int(pid) for pid in subprocess.run(
            ["pgrep", "-P", str(program.process.pid)], capture_output=True).stdout.split()]
        host, port = program.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=e2e.PATIENCE_S):
            checks.equal(program.let_end()[0], 7, "its status")
            # Whoever was told to end may still want for a processor.
            live.wait_for(lambda: not any(live.thread_states(pid) - {"Z"} for pid in children), live.DETACH_TIMEOUT_S)
            checks.equal([pid for pid in children if live.thread_states(pid) - {"Z"}], [], "nobody is left behind")


# What a program can see of how it was started; numbers that differ from run to run are left out.
SEEN = r"""
for fd in /proc/self/fd/*; do echo ${fd##*/}; done
env | sed -E 's/pid=[0-9]+/pid=N/' | grep -vE '^(_|SHLVL)=' | sort
ulimit -a; umask; cat /proc/self/oom_score_adj
exec grep -E '^Sig(Blk|Ign)|NoNewPrivs' /proc/self/status
"""


def surroundings(checks, _folder):
    """Those of --armed, but for nothing."""
    seen = [e2e.gpuprof(words, ["bash", "-c", SEEN]).stdout.decode().splitlines()
            for words in (["--armed"], ["--serve", str(served.free_port())])]
    checks.equal(sorted(set(seen[0]) ^ set(seen[1])), [], "what the program sees otherwise")
    checks.expect(len(seen[0]) > 20, "it sees something: %r" % seen[0])


def short_processes(checks, _folder):
    """Processes that begin and end all the while cost no answer."""
    spawner = ("import os, subprocess, sys, time\nprint(os.getpid(), flush=True)\nend = time.monotonic() + 600\n"
               "while time.monotonic() < end: subprocess.run([sys.executable, '-c', 'import time; time.sleep(0.03)'])\n")
    with served.ServedProgram([live.PYTHON, "-c", spawner]) as program:
        live.wait_until_armed(program.pid)
        found = [profile_result(program.address, opts=rpc.options(duration_ms=400, python=1)) for _ in range(4)]
        checks.expect(all(isinstance(one, list) for one in found), "answers: %r" % found)


def execs(checks, _folder):
    """A process that has become another program since it was found is looked for again."""
    shell = ("n=$1; [ $n -lt 2000 ] || echo $$; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; "
             'exec sh -c "$SHELL_TEXT" sh $((n - 1))')
    with served.ServedProgram(["env", "SHELL_TEXT=" + shell, "sh", "-c", shell, "sh", "2000"]) as program, \
            rpc.Client(program.address) as client:
        refusals = [str(rpc.rpc_error(lambda: client.profile(opts=rpc.options(duration_ms=100)))[1]) for _ in range(10)]
    # To record one that is another program every 30 ms may fail, in other words.
    checks.expect(not any("not respond on its control socket" in one or "closed its control socket" in one for one in refusals), "said: %r" % refusals)


def stopped_in_time(client, helper, pid):
    """The call of a recording, and its gpuprof, which stands still and has not told the process to record; None, None
    where it was always too late."""
    for _ in range(TRIES):
        call = client.begin(duration_ms=600000)
        capture = live.wait_for(lambda: served.capture_of(helper))
        os.kill(capture, signal.SIGSTOP)
        # Answered by the process after whatever it was told before.
        if live.status().get(pid, {}).get("state") == "armed":
            return call, capture
        os.kill(capture, signal.SIGCONT)
        rpc.rpc_error(client.terminate)
        rpc.rpc_error(call.result)
        live.wait_until_armed(pid)
    return None, None


def execs_during_capture(checks, folder):
    """It goes on as another program between being found and being recorded."""
    go = os.path.join(folder, "go")
    first = "import os, sys, time\nprint(os.getpid(), flush=True)\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n" \
        "os.execv(sys.argv[2], sys.argv[2:])"
    with served.ServedProgram([live.PYTHON, "-c", first, go] + live.busy()) as program, rpc.Client(program.address) as client:
        live.wait_until_armed(program.pid)
        helper = served.helper_of(program.process.pid)
        before = live.command_line(program.pid)
        call, capture = stopped_in_time(client, helper, program.pid)
        if call is None:
            return checks.skip("becomes another: it was recorded before its gpuprof was stopped")
        with open(go, "w", encoding="utf-8"):
            pass
        live.wait_for(lambda: live.command_line(program.pid) != before)
        os.kill(capture, signal.SIGCONT)
        checks.expect(live.wait_until_recorded(program.pid), "becomes another: it is recorded")
        live.wait_for_cpu_time(program.pid)
        rpc.rpc_error(client.terminate)
        checks.equal(rpc.rpc_error(lambda: len(rpc.ProfileResponse(call.result()).files)), (None, 1), "becomes another: its file")
    return None


def ends_in_between(checks, _folder):
    """The program's end and its last answer."""
    with served.ServedProgram(live.busy()) as program, rpc.Client(program.address) as client:
        live.wait_until_armed(program.pid)
        call = client.begin(duration_ms=600000)
        checks.expect(live.wait_until_recorded(program.pid), "it is recorded")
        live.wait_for_cpu_time(program.pid)
        status = program.let_end()[0]
        checks.equal(len(rpc.ProfileResponse(call.result()).files), 1, "an answer with what there was")
        checks.equal(status, 7, "its status")


def nothing_to_record(checks, _folder):
    with served.ServedProgram(["sh", "-c", "echo $$; exec sleep 600"]) as program, rpc.Client(program.address) as client:
        live.wait_for(lambda: live.command_line(program.pid).startswith("sleep"))
        response = client.profile(opts=rpc.options(host=1, device=1, duration_ms=300))
        checks.equal((response.files, response.empty), ({}, True), "a program that has nothing to record")


def killed(checks, _folder):
    """Either of ours may die: the program goes on, and what depends on it ends."""
    with served.ServedProgram(live.busy()) as program, rpc.Client(program.address) as client:
        live.wait_until_armed(program.pid)
        call = client.begin(duration_ms=600000)
        checks.expect(live.wait_until_recorded(program.pid), "it is recorded")
        os.kill(served.helper_of(program.process.pid), signal.SIGKILL)
        checks.equal(rpc.rpc_error(call.result)[0], CODE.UNAVAILABLE, "the helper is killed")
        checks.expect(live.wait_until_armed(program.pid), "the program is released")
        status, out, errors = program.let_end()
        checks.equal((status, "done" in out), (7, True), "the program went on")
        checks.expect("signal 9 (SIGKILL) killed gpuprof-serve" in errors and errors.count("\n") == 1, "it is reported: " + errors)
    with served.ServedProgram(live.busy()) as program:
        checks.expect(live.wait_for(lambda: not served.leftover_folders()), "the next one cleans up")
        live.wait_until_armed(program.pid)
        helper = served.helper_of(program.process.pid)
        with rpc.Client(program.address) as client:
            call = client.begin(duration_ms=600000)
            checks.expect(live.wait_until_recorded(program.pid), "it is recorded")
            live.wait_for_cpu_time(program.pid)
            # Writing the files takes longer than a connection that says nothing is waited for.
            writer = served.capture_of(helper)
            os.kill(writer, signal.SIGSTOP)
            program.process.kill()
            threading.Timer(2.5, os.kill, (writer, signal.SIGCONT)).start()
            checks.equal(rpc.rpc_error(lambda: len(rpc.ProfileResponse(call.result()).files)), (None, 1), "gpuprof is killed: answer")
        checks.expect(live.wait_for(lambda: not os.path.exists("/proc/%d" % helper) or
                                    live.thread_states(helper) <= {"Z"}), "gpuprof is killed: its helper ends")


def with_a_schedule(checks, folder):
    for seconds in (1.5, 6, 24, 96):  # a busy machine may need as long to look and to ask
        out = os.path.join(folder, "scheduled-%g" % seconds)
        with served.ServedProgram(live.busy(), "-d", "%gs" % seconds, "-o", out) as program:
            seen = live.wait_until_recorded(program.pid, seconds)
            during_recording = profile_result(program.address)
            if seen is None or during_recording != CODE.ALREADY_EXISTS:
                continue
            checks.expect(live.wait_until_armed(program.pid), "the schedule is over")
            checks.equal(len(profile_result(program.address)), 1, "after it")
            status, _, errors = program.end()
            checks.equal((status, len(e2e.traces(out))), (-15, 1), "the file of the schedule: " + errors)
            return
    checks.expect(False, "while the schedule goes on: %r" % (during_recording,))


def two_sessions(checks, _folder):
    """Each serves its own processes, also at the same time."""
    with served.ServedProgram(live.busy(), "--name", "twin") as one, served.ServedProgram(live.busy(), "--name", "twin") as two:
        for program in (one, two):
            live.wait_until_armed(program.pid)
        with rpc.Client(one.address) as first, rpc.Client(two.address) as second:
            for times in (1, 6, 36):  # each needs a processor in that time
                calls = [client.begin(duration_ms=2000 * times) for client in (first, second)]
                counts = [len(rpc.ProfileResponse(call.result()).files) for call in calls]
                if counts == [1, 1]:
                    break
        checks.equal(counts, [1, 1], "two at once")


def processes_of_a_session(checks, _folder):
    name = "pair-%d" % os.getpid()
    with served.ServedProgram(PAIR + live.busy(), "-w", "all", "--name", name) as program:
        live.wait_for(lambda: len(served.armed_processes(name)) >= 2)
        checks.equal(len(profile_result(program.address)), 1, "no GPU: the busiest one, as under run")
        program.end()


def by_name(checks, _folder):
    port = served.free_port()
    env = dict(os.environ)
    words = subprocess.run([e2e.GPUPROF, "env", "--name", "waits", "--json"], capture_output=True, text=True).stdout
    env.update(__import__("json").loads(words))
    with live.Program(live.busy(), env=env) as one, live.Program(live.busy(), env=env) as two:
        for program in (one, two):
            live.wait_until_armed(program.pid)
        serve = live.Background("serve", "--at", str(port), "waits")
        checks.expect("serving" in serve.process.stderr.readline(), "serve says where")
        checks.equal(len(profile_result("127.0.0.1:%d" % port)), 2, "a file for each that was named")
        second = live.cli("serve", "--at", str(port), "waits")
        checks.equal((second.returncode, "another program uses this port" in second.stderr), (125, True), second.stderr)
        os.kill(serve.pid, signal.SIGINT)
        checks.equal(serve.end().returncode, 0, "Ctrl-C ends it")


def main():
    checks = e2e.Checks()
    cases = (refused, beyond_loopback, unchanged, held, surroundings, short_processes, execs, execs_during_capture,
             ends_in_between, nothing_to_record, killed,
             with_a_schedule, two_sessions, processes_of_a_session, by_name)
    with e2e.Folder("serve-session") as folder:
        for case in cases:
            case(checks, folder)
    checks.equal(served.leftover_folders(), [], "folders left behind")
    checks.done()


if __name__ == "__main__":
    main()
