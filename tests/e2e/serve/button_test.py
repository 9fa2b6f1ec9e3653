# SPDX-License-Identifier: Apache-2.0
"""xprof's own client and the route behind TensorBoard's "Capture profile" press the button of a Python program and of two
processes on the simulated GPU; xprof opens what comes of it."""

import glob
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import e2e
import live
import served
import sim
from xspace import XSpace

served.reexec_with("xprof", "xprof")

from xprof.convert import _pywrap_profiler_plugin as client  # noqa: E402
from xprof.convert import raw_to_tool_data  # noqa: E402

LEVELS = {"host_tracer_level": 2, "device_tracer_level": 1, "python_tracer_level": 1}
PAIR = 'echo $$; "$@" >/dev/null & A=$!; "$@" >/dev/null & B=$!; trap "kill $A $B" TERM; wait'


def pair():
    return ["sh", "-c", PAIR, "sh", *sim.simulated(["--forever", "--step-ms", "10"])]


def opens(checks, path, gpu, what):
    """xprof lists its tools for a file and converts it."""
    with open(path, "rb") as file:
        space = XSpace(file.read())
    tools = raw_to_tool_data.xspace_to_tool_names([path])
    checks.expect({"trace_viewer@", "overview_page"} <= set(tools), "%s: tools %r" % (what, tools))
    checks.equal("kernel_stats" in tools, gpu, what + ": kernel_stats")
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], "trace_viewer", {"trace_viewer_options": {}})
    events = [event for event in json.loads(data)["traceEvents"] if event.get("ph") == "X"]
    checks.expect(len(events) > 5, "%s: %d events in the trace viewer" % (what, len(events)))
    checks.equal(space.gpus(), ["/device:GPU:0"] if gpu else [], what + ": GPUs")
    kernels = [event for name in space.gpus() for event in space.planes[name].events()]
    checks.expect(kernels or not gpu, "%s: %d kernels" % (what, len(kernels)))


def files_of(folder):
    """{name: path} of the one session in a folder for xprof."""
    paths = glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.xplane.pb"))
    return {os.path.basename(path): path for path in paths}


def check_files(checks, folder, cpu, gpu, what):
    found = files_of(folder)
    of_gpu = [name for name in found if name.startswith("127.0.0.1_%d." % gpu.port)]
    alone = "127.0.0.1_%d.xplane.pb" % cpu.port
    checks.equal((len(found), len(of_gpu), alone in found), (3, 2, True), "%s: %s" % (what, sorted(found)))
    for name, path in sorted(found.items()):
        opens(checks, path, name in of_gpu, "%s %s" % (what, name))


# A program may have no processor for the first of them.
LENGTHS_MS = (1000, 6000, 36000)


def enough(folder):
    """Whether each of the three had a processor, and more of it than for a glance."""
    found = files_of(folder).values()
    spaces = [XSpace(pathlib.Path(path).read_bytes()) for path in found]
    return len(spaces) == 3 and all(sum(len(plane.events()) for plane in one.planes.values()) > 20 for one in spaces)


def pressed(address, folder, length_ms, **more):
    """What xprof's client says against it."""
    try:
        client.trace(address, folder, "", True, length_ms, 1, {**LEVELS, **more})
    except Exception as failure:  # of a type of its own in each version
        return str(failure)
    return None


def by_client(checks, folder, cpu, gpu):
    both = "%s,%s" % (cpu.address, gpu.address)
    for length_ms in LENGTHS_MS:
        out = "%s-%d" % (folder, length_ms)
        begin = time.monotonic()
        response = pressed(both, out, length_ms, delay_ms=500)
        seconds = time.monotonic() - begin
        if enough(out):
            break
    checks.equal(response, None, "client")
    checks.expect(seconds >= 1.5, "it took %.1f s" % seconds)
    checks.in_time(seconds < 20, "it took %.1f s" % seconds)
    check_files(checks, out, cpu, gpu, "client")


def busy(checks, folder, cpu):
    """No trace, and no file, while somebody else records the program."""
    with e2e.Folder("serve-hand") as out:
        by_hand = live.Background("capture", cpu.pid, "-d", "600s", "-o", out)
        live.wait_until_recorded(cpu.pid)
        response = pressed(cpu.address, folder, 700)
        checks.expect(response and "No trace event" in response, "busy: %s" % response)
        checks.equal(files_of(folder), {}, "busy: files")
        live.cli("stop", cpu.pid)
        by_hand.end()
    live.wait_until_armed(cpu.pid)
    for length_ms in LENGTHS_MS:
        response = pressed(cpu.address, folder, length_ms)
        if response is None:
            break
    checks.equal(response, None, "when that is over")


class Viewer:
    """TensorBoard with xprof's plugin, on a folder."""

    def __init__(self, folder):
        self.port = served.free_port()
        self.log = open(os.path.join(folder, "tensorboard.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port",
                                         str(self.port), "--load_fast=false"], stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": ""})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def get(self, route, **query):
        url = "http://127.0.0.1:%d/data/plugin/profile/%s?%s" % (self.port, route, urllib.parse.urlencode(query))
        with urllib.request.urlopen(url, timeout=e2e.PATIENCE_S) as reply:
            data = reply.read()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()

    def up(self):
        def request():
            try:
                return self.get("runs")
            except OSError:
                return None
        return live.wait_for(request)


def by_route(checks, folder, cpu, gpu):
    for length_ms in LENGTHS_MS:
        out = "%s-%d" % (folder, length_ms)
        os.mkdir(out)
        with Viewer(out) as viewer:
            if not checks.expect(viewer.up(), "TensorBoard answers"):
                return
            response = viewer.get("capture_profile", service_addr="%s,%s" % (cpu.address, gpu.address), is_tpu_name="false",
                                  duration=length_ms, num_retry=3, worker_list="", host_tracer_level=2,
                                  device_tracer_level=1, python_tracer_level=1, delay=0)
            if enough(out) or length_ms == LENGTHS_MS[-1]:
                return check_route(checks, out, cpu, gpu, viewer, response)


def check_route(checks, folder, cpu, gpu, viewer, response):
    """What the button reported, and what TensorBoard shows of it."""
    checks.expect(re.search("success", response, re.I), "the button says: " + response)
    check_files(checks, folder, cpu, gpu, "route")
    runs = json.loads(viewer.get("runs"))
    checks.equal(len(runs), 1, "runs: %r" % runs)
    tools = viewer.get("run_tools", run=runs[0])
    checks.expect("trace_viewer" in tools, "its tools: " + tools)
    hosts = json.loads(viewer.get("hosts", run=runs[0], tag="trace_viewer@"))
    checks.expect(len(hosts) >= 3, "its hosts: %r" % hosts)


def main():
    sim.require_build()
    checks = e2e.Checks()
    env = dict(os.environ, GPUSIM_QUIET="1")
    name = "pair-%d" % os.getpid()
    with e2e.Folder("serve-button") as folder, served.ServedProgram(live.busy()) as cpu, \
            served.ServedProgram(pair(), "--name", name, env=env) as gpu:
        live.wait_until_armed(cpu.pid)
        live.wait_for(lambda: sum("cuda" in row["can_record"] for row in served.armed_processes(name)) >= 2)
        by_client(checks, os.path.join(folder, "client"), cpu, gpu)
        by_route(checks, os.path.join(folder, "route"), cpu, gpu)
        busy(checks, os.path.join(folder, "busy"), cpu)
        for program in (cpu, gpu):
            program.end()
    checks.equal(served.leftover_folders(), [], "folders left behind")
    checks.done()


if __name__ == "__main__":
    main()
