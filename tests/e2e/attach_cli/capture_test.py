# SPDX-License-Identifier: Apache-2.0
"""`run --armed`, `env`, `run --name`, `capture`, `status`: processes that wait to be recorded."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import e2e
import live
import windows

MOST_MS = 100  # from the command to the first event
TRIES = 5      # the machine may be busy with something else


def paths_of(done):
    return done.stdout.split()


def armed_costs_nothing(checks, folder):
    with live.Program(live.prefix("--armed", "--name", "job") + live.busy(), cwd=folder) as program:
        row = live.wait_until_armed(program.pid)
        if not checks.expect(row, "an armed program is found by status"):
            return
        checks.equal((row["name"], row["in_session"], row["daemon_pid"], row["attached"]),
                     ("job", False, 0, False), "what status states about it")
        checks.expect("python" in row["can_record"] and "native" in row["can_record"],
                      "what it can record: %r" % row["can_record"])
        checks.equal(len(live.control_socket_files(program.pid)), 1, "its control socket")
        before = live.status()[program.pid]["worker_cpu_ns"]
        time.sleep(1)
        cost = live.status()[program.pid]["worker_cpu_ns"] - before
        checks.in_time(cost < 2_000_000, "a second of waiting costs %d ns" % cost)
        table = live.cli("status").stdout
        # Programs of other tests may be listed, too.
        rows = [line for line in table.splitlines() if line.split()[0] == str(program.pid)]
        checks.equal(len(rows), 1, "a row of its own: " + table)
        checks.expect(any(line.split()[:3] == [str(program.pid), "job", "armed"] for line in table.splitlines()), table)
        status, out, errors = program.end()
        checks.equal((status, out, errors), (-15, "", ""), "the armed program ends as ever")
    checks.expect(program.pid not in live.status(), "status knows that it has ended")
    checks.equal(live.control_socket_files(program.pid), [], "and has removed what it could not remove itself")
    ended = subprocess.run(live.prefix("--armed") + live.busy(0.3), capture_output=True, timeout=e2e.PATIENCE_S)
    checks.equal((ended.returncode, live.control_socket_files(int(ended.stdout.split()[0]))), (7, []),
                 "a program that ends by itself leaves none")


def two_in_a_row(checks, folder):
    out = os.path.join(folder, "two")
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        for number in (1, 2):
            done = windows.cli("capture", program.pid, "-d", "400ms", "-o", out, "-v")
            paths = paths_of(done)
            checks.equal((done.returncode, len(paths)), (0, 1), "capture %d: %s" % (number, done.stderr))
            if len(paths) != 1:
                return
            checks.expect(live.sample_count(paths[0]) > 0, "capture %d has stacks" % number)
            length = live.duration_seconds(paths[0])
            checks.expect(length > 0.39, "capture %d is %.3f s long" % (number, length))
            checks.in_time(length < 0.8, "capture %d is %.3f s long" % (number, length))
            checks.expect("1 window" in done.stderr and "open with" in done.stderr, done.stderr)
        checks.equal(len(e2e.traces(out)), 2, "files of two captures in one folder")
        row = live.wait_until_armed(program.pid)
        checks.expect(row and not row["in_session"], "armed again: %r" % row)
        checks.equal([name for name in live.threads(program.pid) if name != "gpuprof"], ["python3"],
                     "threads afterwards")
        checks.expect(program.process.poll() is None, "the program goes on")


def worker_cpu_ns(checks, what, words, folder):
    """CPU time of the worker thread in one recording."""
    path = os.path.join(folder, "summary.json")
    done = live.cli(*words, "-r", "1000", "-f", "-o", os.path.join(folder, "cost"), "--summary-json", path)
    checks.equal((done.returncode, len(paths_of(done))), (0, 1), what + ": " + done.stderr)
    with open(path, encoding="utf-8") as file:
        return json.load(file)["overhead"]["worker_cpu_ns"]


def costs_are_of_one_capture(checks, folder):
    """Not of all that the process has seen."""
    for what, prefix, first in (("run --armed", live.prefix("--armed"), ["capture"]),
                                ("attach --stay", [], ["attach", "--stay"])):
        with live.Program(prefix + live.busy()) as program:
            if prefix:
                live.wait_until_armed(program.pid)
            long_ns = worker_cpu_ns(checks, what + ", 2 s", [*first, program.pid, "-d", "2s"], folder)
            live.wait_until_armed(program.pid)
            short_ns = worker_cpu_ns(checks, what + ", 0.2 s", ["capture", program.pid, "-d", "200ms"], folder)
            live.wait_until_armed(program.pid)
            all_ns = live.status()[program.pid]["worker_cpu_ns"]
        print("%s: CPU time of the worker thread in a capture of 2 s %.1f ms, in one of 0.2 s after it %.1f ms" % (
            what, long_ns / 1e6, short_ns / 1e6))
        # One that counted from the process's start would count the first one twice.
        checks.expect(0 < short_ns and long_ns + short_ns <= all_ns,
                      "%s: worker_cpu_ns %d, then %d, of %d in all" % (what, long_ns, short_ns, all_ns))


def first_event(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        took_ms = []
        for number in range(TRIES):
            begin_ns = time.monotonic_ns()
            done = live.cli("capture", program.pid, "-d", "300ms", "-r", "1000", "-q",
                            "-o", os.path.join(folder, str(number)))
            first_ns = live.first_event_ns(paths_of(done)[0]) if done.returncode == 0 else None
            if first_ns:
                took_ms.append((first_ns - begin_ns) / 1e6)
            if took_ms and min(took_ms) < MOST_MS:
                break
        checks.expect(took_ms, "a capture has events")
        checks.in_time(took_ms and min(took_ms) < MOST_MS, "ms from command to first event: %r" % took_ms)
        print("ms from the command to the first event: %s" % ", ".join("%.0f" % one for one in took_ms))


def several_windows(checks, folder):
    out = os.path.join(folder, "several")
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        done = windows.cli("capture", "-p", program.pid, "--wait", "100ms", "--active", "150ms", "--repeat", "3",
                           "-o", out, files=3)
        checks.equal((done.returncode, len(paths_of(done))), (0, 3), "three windows: " + done.stderr)
        done = windows.cli("capture", program.pid, "--active", "200ms", "-o", out + "-one")
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "one window unless told otherwise: " + done.stderr)


def only_one_at_a_time(checks, folder):
    with live.Program(live.prefix("--armed") + live.busy()) as program:
        live.wait_until_armed(program.pid)
        first = live.Background("capture", program.pid, "-d", "600s", "-o", os.path.join(folder, "first"))
        row = live.wait_until_recorded(program.pid)
        checks.expect(row and row["in_session"] and row["daemon_pid"] > 0, "it is being recorded: %r" % row)
        for words in (["capture", program.pid], ["attach", program.pid]):
            second = live.cli(*words, "-o", os.path.join(folder, "second"))
            checks.equal((second.returncode, second.stdout), (125, ""), "%s is refused" % words[0])
            checks.expect("is already being recorded" in second.stderr and "gpuprof stop" in second.stderr
                          and second.stderr.count("\n") == 1, second.stderr)
        checks.expect(not os.path.exists(os.path.join(folder, "second")), "no folder of the refused one")
        live.cli("stop", program.pid)
        done = first.end()
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "the first is not disturbed: " + done.stderr)


def after_a_schedule(checks, folder):
    for length in ("300ms", "6s", "60s"):
        if after_a_window_of(length, checks, folder):
            return
    checks.expect(False, "the run's own window")


def after_a_window_of(length, checks, folder):
    """False: nobody ran in it."""
    out, own = os.path.join(folder, "capture"), os.path.join(folder, "run-" + length)
    with live.Program(live.prefix("--name", "job-1", "-d", length, "-o", own) + live.busy()) as program:
        # One trace file means that the schedule has ended.
        if not live.wait_for(lambda: e2e.traces(own), 120):
            return False
        row = live.wait_until_armed(program.pid)
        checks.expect(row and row["name"] == "job-1", "found by status: %r" % row)
        done = windows.cli("capture", "job-1", "-d", "300ms", "-o", out)
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "capture of a run's process: " + done.stderr)
        done = windows.cli("attach", program.pid, "-d", "300ms", "-o", out + "-attach")
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "attach needs no ptrace there: " + done.stderr)
        checks.expect("stopped one thread" not in done.stderr, done.stderr)
        checks.expect(live.status().get(program.pid), "and leaves the library where `run` brought it")
        status, stdout, errors = program.let_end()
        checks.equal((status, stdout), (7, "done\n"), "the run ends as its program")
        checks.expect("1 trace file in " + own in errors, "and with its own file: " + errors)
        checks.equal(len(e2e.traces(own)), 1, "which nobody else wrote to")
    return True


def by_name(checks, folder):
    with live.Program(live.prefix("--armed", "--name", "left") + live.busy()) as left, \
            live.Program(live.prefix("--armed", "--name", "right") + live.busy()) as right:
        live.wait_until_armed(left.pid), live.wait_until_armed(right.pid)
        for words, wanted in ((["right"], 1), (["left", right.pid], 2)):
            done = windows.cli("capture", *words, "-d", "250ms", "-o", os.path.join(folder, str(words[0])),
                               files=wanted)
            checks.equal((done.returncode, len(paths_of(done))), (0, wanted), "%r: %s" % (words, done.stderr))
        done = live.cli("capture", "middle")
        checks.expect(done.returncode == 125 and "no process is named 'middle'" in done.stderr, done.stderr)


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    live.wait_for(lambda: live.thread_states(pid) == {"T"})
    try:
        yield "it is stopped; resume it first: kill -CONT %d" % pid
    finally:
        os.kill(pid, signal.SIGCONT)


def silent_processes(checks, folder):
    """Who does not answer may have the name that was requested."""
    with live.Program(live.prefix("--armed", "--name", "silent") + live.busy()) as silent, \
            live.Program(live.prefix("--armed", "--name", "speaks") + live.busy()) as speaks:
        live.wait_until_armed(silent.pid), live.wait_until_armed(speaks.pid)
        with stopped(silent.pid) as message:
            for command in ("capture", "status", "stop"):
                done = live.cli(command, "silent")
                checks.equal((done.returncode, done.stdout, done.stderr.count("\n")), (125, "", 1), command)
                checks.expect("no process is named 'silent', unless it is one that does not respond: process"
                              in done.stderr, done.stderr)
            done = windows.cli("capture", "speaks", "-d", "250ms", "-o", os.path.join(folder, "speaks"))
            checks.equal((done.returncode, len(paths_of(done))), (0, 1), "one that answers: " + done.stderr)
            for done in (done, live.cli("status", "speaks")):
                messages = [line for line in done.stderr.splitlines() if line.endswith(message)]
                checks.expect(len(messages) == 1 and "note: skipped a process that may have the name: process" in messages[0],
                              done.stderr)
        done = windows.cli("capture", "silent", "-d", "250ms", "-o", os.path.join(folder, "silent"))
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "once it goes on: " + done.stderr)


def from_variables(checks, folder):
    pairs = dict(line.split("=", 1) for line in live.cli("env", "--name", "image").stdout.splitlines())
    checks.expect(pairs.get("LD_PRELOAD", "").endswith("libgpuprof_inject.so"), "env: %r" % pairs)
    checks.equal(json.loads(live.cli("env", "--json", "--name", "image").stdout), pairs, "env --json")
    with live.Program(live.busy(), env=dict(os.environ, **pairs)) as program:
        row = live.wait_until_armed(program.pid)
        checks.equal(row and row["name"], "image", "a program started with the variables is found by status")
        done = windows.cli("capture", "image", "-d", "250ms", "-o", os.path.join(folder, "image"))
        checks.equal((done.returncode, len(paths_of(done))), (0, 1), "and recorded: " + done.stderr)
    script = 'eval "$(%s env --shell --name shell)" && exec "$1" -c "$0" 600' % e2e.GPUPROF
    with live.Program(["sh", "-c", script, live.BUSY, live.PYTHON], env=dict(os.environ, LD_PRELOAD="libm.so.6")) as program:
        row = live.wait_until_armed(program.pid)
        checks.equal(row and row["name"], "shell", "and one of a shell that evaluated --shell")
        with open("/proc/%d/environ" % program.pid, "rb") as file:
            checks.expect(b"libgpuprof_inject.so:libm.so.6\0" in file.read(), "what was preloaded stays, behind ours")
    other = "/opt/tool/libother.so"
    done = live.cli("env", "--shell", env=dict(os.environ, CUDA_INJECTION64_PATH=other))
    checks.expect("CUDA_INJECTION64_PATH names another tool's library (%s). gpuprof leaves it in place" % other in done.stderr,
                  done.stderr)
    checks.expect("export CUDA_INJECTION64_PATH" not in done.stdout and "export NVTX_INJECTION64_PATH" in done.stdout
                  and done.returncode == 0, "another tool's variable: " + done.stdout)


def all_armed_processes(checks, folder):
    """In a namespace of its own: --all would take other people's."""
    prefix = live.isolated_prefix()
    if prefix is None:
        return checks.skip("--all is tried in namespaces of its own, which needs root and unshare(1)")
    done = subprocess.run(prefix + [sys.executable, os.path.abspath(__file__), "--alone", folder], text=True,
                          capture_output=True, timeout=2 * e2e.PATIENCE_S)
    checks.equal(done.returncode, 0, "--all: " + done.stdout + done.stderr)


def all_armed_processes_in_namespace(checks, folder):
    done = live.cli("capture", "--all")
    checks.expect(done.returncode == 125 and "none of your processes has the gpuprof library" in done.stderr, done.stderr)
    with live.Program(live.prefix("--armed") + live.busy()) as left, \
            live.Program(live.prefix("--armed") + live.busy()) as right:
        pids = {left.pid, right.pid}
        for pid in pids:
            live.wait_until_armed(pid)
        checks.equal(set(live.status()), pids, "status lists nothing else")
        checks.expect("none of your processes is being recorded" in live.cli("stop", "--all").stderr, "stop --all of none")
        done = windows.cli("capture", "--all", "--all-processes", "-d", "250ms", "-o", os.path.join(folder, "all"),
                           files=2)
        heads = [live.head(path) for path in paths_of(done)]
        checks.equal((done.returncode, {head["pid"] for head in heads}), (0, pids), "--all: " + done.stderr)
        checks.equal(len({head["window"]["start_ns"] for head in heads}), 1, "their windows are one span")
        with stopped(left.pid) as message:
            done = windows.cli("capture", "-q", "--all", "-d", "250ms", "-o", os.path.join(folder, "others"))
            checks.equal((done.returncode, [live.head(path)["pid"] for path in paths_of(done)]), (125, [right.pid]),
                         "one does not answer: " + done.stderr)
            for done in (done, live.cli("stop", "--all")):
                checks.equal(done.returncode, 125, "it counts")
                checks.expect(message in done.stderr and done.stderr.count("\n") == 1, done.stderr)
        first = live.Background("capture", left.pid, "-d", "600s", "-o", os.path.join(folder, "first"))
        live.wait_until_recorded(left.pid)
        done = windows.cli("capture", "--all", "-d", "250ms", "-o", os.path.join(folder, "rest"))
        checks.equal([live.head(path)["pid"] for path in paths_of(done)], [right.pid], "what is free: " + done.stderr)
        checks.expect("process %d is already being recorded" % left.pid in done.stderr, done.stderr)
        done = live.cli("stop", "--all")
        checks.equal((done.returncode, done.stderr), (0, ""), "stop --all ends what there is")
        checks.equal(first.end().returncode, 0, "the one that was stopped")
        checks.equal(live.cli("detach", "--all").returncode, 0, "detach --all")
        checks.equal(live.status(), {}, "status lists nothing afterwards")
        checks.expect(left.process.poll() is None and right.process.poll() is None, "both go on")


def main():
    checks = e2e.Checks()
    if sys.argv[1:2] == ["--alone"]:
        all_armed_processes_in_namespace(checks, sys.argv[2])
        checks.done()
    for case in (armed_costs_nothing, two_in_a_row, costs_are_of_one_capture, first_event, several_windows,
                 only_one_at_a_time, after_a_schedule, by_name, silent_processes, all_armed_processes, from_variables):
        with e2e.Folder("capture") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
