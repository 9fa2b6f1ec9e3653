# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to servers while requests run: threads of C++ on the simulated GPU, a worker of a
prefork server whose master nobody touches, and all of it with --children. All requests are answered,
the traces load, and afterwards each process has the descriptors and threads it had.

usage: servers_test.py [--only native,prefork,children,gunicorn]"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

import attached
import e2e
import sim
import trace_facts
from requests_loop import Client

SERVER = os.path.join(e2e.SIMGPU, "sim_server")
THREADS = 4
LATE_NS = 500_000_000  # 20 ms are promised; a busy machine takes longer
GUNICORN_APP = '''
import os
def app(environ, start_response):
    body = b"%d %d\\n" % (os.getpid(), sum(i * i for i in range(4000)))
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
'''


def unchanged(checks, what, pid, before):
    """Threads and descriptors are those from before."""
    after = attached.quiet_footprint(pid, before)
    print("%s: before: %s\n%s: after:  %s" % (what, before.row(), what, after.row()), flush=True)
    checks.equal(after.threads, before.threads, what + ": threads")
    checks.equal(after.descriptors, before.descriptors, what + ": descriptors")


def launches(path):
    """{correlation: time} of the kernel launches in the simulator's own log."""
    with open(path, "rb") as file:
        rows = [json.loads(line) for line in file.read().replace(b"\0", b"").splitlines() if line.strip()]
    return {r["corr"]: r["start"] for r in rows
            if r.get("t") == "api" and r["name"].startswith("cuLaunchKernel")}


def threads_and_streams(facts):
    """How many launched, and on how many."""
    return (len({e["tid"] for e in facts.launches if e["name"].startswith("cuLaunchKernel")}),
            len({k["args"]["stream"] for k in facts.kernels}))


def native(checks, folder):
    """Threads of C++ without any Python."""
    truth = os.path.join(folder, "truth.jsonl")
    command = attached.on_gpu([SERVER, "--threads", str(THREADS)], "--truth", truth)
    with attached.Program(command, folder, "native") as program:
        before = attached.footprint(program.pid)
        recordings = [attached.record_until(
            lambda one: threads_and_streams(trace_facts.Facts(e2e.load(one.paths[0]))) == (THREADS, THREADS), 1,
            ["attach", str(program.pid)], os.path.join(folder, "native-%d" % i)) for i in range(2)]
        unchanged(checks, "native", program.pid, before)
        status = program.end()
    count = [int(n) for n in re.findall(r"answered (\d+)", program.text())]
    checks.equal((status, "errors 0" in program.text(), program.errors()), (0, True, ""), "native: its end")
    checks.expect(len(count) == THREADS and min(count) > 0, "native: requests %s" % count)
    print("native: %d requests in all" % sum(count), flush=True)
    launched = launches(truth)
    for recording in recordings:
        if not checks.equal((recording.status, len(recording.paths)), (0, 1), "native: " + recording.stderr):
            continue
        trace = e2e.load(recording.paths[0])
        facts = trace_facts.Facts(trace)
        window = trace["gpuprof"]["window"]
        start, end = window["start_ns"], window["start_ns"] + window["duration_ns"]
        found = {k["args"]["correlation"] for k in facts.kernels}
        inside = {corr: at for corr, at in launched.items() if start <= at < end}
        first = min((at for corr, at in inside.items() if corr in found), default=end)
        # A window without a warm-up begins when everything is switched on.
        wanted = {corr for corr, at in inside.items() if at >= first}
        rows, streams = threads_and_streams(facts)
        print("native: of %d launches from %.1f ms after the window's start on, %d are in the trace, from %d "
              "threads on %d streams" % (len(wanted), (first - start) / 1e6, len(wanted & found), rows, streams),
              flush=True)
        checks.expect(wanted and wanted <= found, "native: %d launches are missing" % (
            len(wanted - found)))
        checks.in_time(first - start < LATE_NS, "native: %d ms late" % ((first - start) // 10**6))
        checks.equal((rows, streams), (THREADS, THREADS), "native: threads and streams")


class Prefork:
    """The server and its workers."""

    def __init__(self, folder, name, workers=3):
        self.program = attached.Program([sys.executable, os.path.join(attached.PROGRAMS, "prefork.py"),
                                         str(workers)], folder, name)
        output = self.program.text()
        self.port = int(re.search(r"port (\d+)", output).group(1))
        self.workers = [int(pid) for pid in re.search(r"workers (.*)", output).group(1).split()]

    def end(self):
        """Exit status, requests that the workers say they have answered."""
        status = self.program.end()
        return status, sum(int(n) for n in re.findall(r"answered (\d+)", self.program.text()))


def check_client(checks, what, client, answered_by_workers):
    print("%s: %d requests asked, %d answered by %d workers (they say %s), %d errors" % (
        what, client.request_count, client.total(), len(client.answered), answered_by_workers, len(client.errors)), flush=True)
    checks.equal((client.errors, client.total()), ([], client.request_count), what + ": every request is answered")
    if answered_by_workers is not None:
        checks.equal(answered_by_workers, client.request_count, what + ": what the workers answered")


def frames_of_workers(recording):
    """(sampled frames of the worker's Python, all of them)."""
    names = [e["name"] for e in e2e.load(recording.paths[0])["traceEvents"] if e.get("ph") == "B"]
    return sum("prefork.py(" in name for name in names), len(names)


def prefork(checks, folder):
    """One worker of several."""
    server = Prefork(folder, "prefork")
    with server.program:
        worker, master = server.workers[0], server.program.pid
        before = {pid: attached.footprint(pid) for pid in (master, *server.workers)}
        with Client(server.port) as client:
            attached.wait_until(lambda: client.total() > 50)
            recordings = [attached.record_until(lambda one: frames_of_workers(one)[0] > 0, 1, ["attach", str(worker)],
                                                os.path.join(folder, "prefork-%d" % i)) for i in range(2)]
            count = client.total()
            attached.wait_until(lambda: client.answered[str(worker)] > 0)
            checks.expect(attached.wait_until(lambda: client.total() > count + 50),
                          "prefork: it goes on answering")
        checks.expect(client.answered[str(worker)] > 0, "prefork: the recorded worker answers")
        unchanged(checks, "prefork, worker", worker, before[worker])
        for pid in (master, *server.workers[1:]):
            now = attached.footprint(pid)
            # How many mappings there are is its own affair: it answers all the time.
            checks.equal((now.library_mappings, now.threads), (0, before[pid].threads), "prefork: %d is untouched" % pid)
        status, answered_by_workers = server.end()
    checks.equal((status, server.program.errors()), (0, ""), "prefork: its end")
    check_client(checks, "prefork", client, answered_by_workers)
    for recording in recordings:
        if not checks.equal((recording.status, len(recording.paths)), (0, 1), "prefork: " + recording.stderr):
            continue
        found, of = frames_of_workers(recording)
        checks.expect(found > 0, "prefork: no frame of the worker's Python among %d" % of)
        print("prefork: %d sampled frames of the worker's Python" % found, flush=True)


def children(checks, folder):
    """The master and everything below it."""
    server = Prefork(folder, "children")
    with server.program:
        master = server.program.pid
        before = {pid: attached.footprint(pid) for pid in (master, *server.workers)}
        with Client(server.port) as client:
            attached.wait_until(lambda: client.total() > 50)
            words = ["attach", str(master), "--children"]
            recording = attached.record_until(lambda _: True, 1, [*words, "--all-processes"],
                                              os.path.join(folder, "children"))
            if "--all-processes" in recording.stderr and recording.status != 0:
                recording = attached.record_until(lambda _: True, 1, words, os.path.join(folder, "children"))
            count = client.total()
            attached.wait_until(lambda: client.total() > count + 50)
        for pid in (master, *server.workers):
            unchanged(checks, "children, %s" % ("master" if pid == master else "worker"), pid, before[pid])
        status, answered_by_workers = server.end()
    checks.equal((status, server.program.errors()), (0, ""), "children: its end")
    check_client(checks, "children", client, answered_by_workers)
    traced = {row["pid"] for row in recording.summary.get("processes", [])}
    files = {row["pid"] for row in recording.summary.get("files", [])}
    print("children: processes %d, files %d" % (len(traced), len(files)), flush=True)
    checks.equal(recording.status, 0, "children: " + recording.stderr)
    checks.expect({master, *server.workers} <= traced, "children: processes %s of %s" % (
        traced, [master, *server.workers]))
    for path in recording.paths:
        e2e.load(path)


def python_with_gunicorn():
    for python in (os.environ.get("GPUPROF_TORCH_PYTHON"),
                   os.path.join(e2e.SOURCE, ".venvs", "programs", "bin", "python"), e2e.real_python()):
        if python and os.path.exists(python) and subprocess.run(
                [python, "-c", "import gunicorn"], capture_output=True).returncode == 0:
            return python
    return None


def gunicorn(checks, folder):
    """The real one."""
    python = python_with_gunicorn()
    if python is None:
        checks.skip("gunicorn: no python here has it (scripts/setup --programs installs one)")
        return
    with open(os.path.join(folder, "wsgi.py"), "w", encoding="utf-8") as file:
        file.write(GUNICORN_APP)
    command = [python, "-m", "gunicorn", "--chdir", folder, "-w", "2", "-b", "127.0.0.1:0", "wsgi:app"]
    with attached.Program(command, folder, "gunicorn", ready=None) as program:
        attached.wait_until(lambda: program.errors().count("Booting worker") == 2)
        port = int(re.search(r"127\.0\.0\.1:(\d+)", program.errors()).group(1))
        workers = [int(pid) for pid in re.findall(r"Booting worker with pid: (\d+)", program.errors())]
        with Client(port) as client:
            attached.wait_until(lambda: client.total() > 50)
            before = attached.footprint(workers[0])
            recording = attached.record_until(lambda _: True, 1, ["attach", str(workers[0])],
                                              os.path.join(folder, "gunicorn"))
            count = client.total()
            attached.wait_until(lambda: client.total() > count + 50)
        time.sleep(0.2)
        after = attached.quiet_footprint(workers[0], before)
        checks.equal(after.threads, before.threads, "gunicorn: threads of the worker")
        checks.equal((recording.status, len(recording.paths)), (0, 1), "gunicorn: " + recording.stderr)
        booted = program.errors().count("Booting worker")
        status = program.end()
    checks.equal((status, booted), (0, 2), "gunicorn: its end, workers it had to start")
    check_client(checks, "gunicorn", client, None)


CASES = {f.__name__: f for f in (native, prefork, children, gunicorn)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CASES))
    wanted = parser.parse_args().only.split(",")
    attached.require_attach()
    sim.require_build()
    checks = e2e.Checks()
    with e2e.Folder("attach-servers") as folder:
        for name in wanted:
            CASES[name](checks, folder)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
