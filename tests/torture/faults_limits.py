# SPDX-License-Identifier: Apache-2.0
"""Family limits: rings, memory, disks and resource limits that are full or nearly so."""

import glob
import json
import os
import re
import subprocess
import threading
import time

import e2e
import faults_test
import memory_test
import sim
import staged
from attempt import PROGRAMS, RATE, Skip, require_files
from fault import add, fault
from memory_group import MemoryGroup

FILES = r"one file:|in the file|samples$|names|left behind|\d+ of \d+ samples"
TRAIN = ["--steps", "200", "--kernels", "100", "--host-ms", "0", "--step-ms", "4"]
# Command, daemon with its threads, and the worker thread in the program.
OUR_TASKS = 6
LIMITS = os.path.join(PROGRAMS, "torture_limits")


def whole(body):
    """A test's function that takes checks and a folder."""
    return lambda attempt: body(attempt, attempt.folder)


for _name, _body in (("memory group: program killed", memory_test.kernel), ("memory group: neighbour grows", memory_test.kernel_gpu),
                     ("address space used up", memory_test.limit), ("address space used up, Python", memory_test.python),
                     ("SIGKILL while it allocates", memory_test.mid_allocation)):
    add("limits", _name, whole(_body), lost=FILES)
add("limits", "disk full", whole(faults_test.disk_full), lost="the sentence", quick=True)


# -- rings -------------------------------------------------------------------------------------------------------------
@fault("limits", "rings full", limit_s=120)
def rings_full(attempt):
    """A storm without pause: every launch is kept or counted as dropped."""
    storm = os.path.join(e2e.SIMGPU, "sim_storm")
    require_files(storm)
    launches = attempt.random.choice([30_000, 60_000, 120_000])
    profiled = attempt.run([sim.GPUSIM_RUN, "--quiet", "--api-cost", "0", "--kernel-time", "500ns", "--", storm, "--launches",
                            str(launches), "--streams", "4"])
    attempt.equal(profiled.status, 0, "status")
    attempt.equal(json.loads(profiled.out or b"{}").get("launched"), launches, "launches of the program")
    attempt.read_traces(profiled.folder)
    kept = profiled.summary.get("events_by_kind", {}).get("kernels", 0)
    dropped = profiled.summary.get("ring_drops_by_kind", {}).get("kernels", 0) + profiled.summary.get("drops_by_reason", {}).get(
        "dropped by CUPTI", 0)
    if kept + dropped != launches:
        attempt.lose("%d kept + %d dropped of %d launches" % (kept, dropped, launches))


# -- disks -------------------------------------------------------------------------------------------------------------
def on_disk(attempt, kib, during=None):
    """The trainer with its output on a small disk: its own end is what it is, and a message says what was kept."""
    small = attempt.path("small")
    with e2e.SmallDisk(small, kib) as mounted:
        if not mounted:
            raise Skip("mounting a small file system is not allowed here")
        watcher = threading.Thread(target=during, args=(small,)) if during else None
        if watcher:
            watcher.start()
        process = sim.run(["-o", os.path.join(small, "out"), "--summary-json", attempt.path("summary.json")], TRAIN)
        if watcher:
            watcher.join()
        stderr = process.stderr.decode()
        attempt.equal(process.returncode, 0, "status: " + stderr[-300:])
        attempt.expect(b"result steps 200" in process.stdout, "the program's output")
        traces = attempt.read_traces(os.path.join(small, "out"), 0)
        spools = glob.glob(os.path.join(small, "out", ".gpuprof-spool-*"))
        print("%d KiB: %d traces, spools %s\n%s" % (kib, len(traces), spools, stderr[-700:]), flush=True)
        reported = any(word in stderr for word in ("No space", "full", "Read-only", "recover", "written"))
        if not traces and not reported:
            attempt.lose("no file and no sentence why: " + stderr[-500:])
        elsewhere(attempt, spools, stderr) if not traces and spools else None


def elsewhere(attempt, spools, stderr):
    """What a full disk holds is no trace yet: export writes one elsewhere, from what came that far."""
    done = subprocess.run([e2e.GPUPROF, "export", spools[0], "-o", attempt.path("again")], capture_output=True, text=True,
                          timeout=60 * staged.patience())
    if done.returncode == 0:
        attempt.read_traces(attempt.path("again"))
    else:
        attempt.expect(done.stderr.strip() != "", "export says why not")
        print("export: %s" % done.stderr[-300:], flush=True)


@fault("limits", "ENOSPC in the middle of a file")
def no_space(attempt):
    on_disk(attempt, attempt.random.choice([8, 32, 64, 128, 256, 400, 600, 900, 1400]))


@fault("limits", "disk full for a while")
def full_for_a_while(attempt):
    def fill(folder):
        time.sleep(attempt.random.uniform(0.1, 0.6))
        filler = os.path.join(folder, "filler")
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(bytes(4096))
                    file.flush()
            except OSError:
                pass
        time.sleep(0.3)
        os.remove(filler)
    on_disk(attempt, 4096, fill)


@fault("limits", "output becomes read-only")
def read_only_later(attempt):
    def remount(folder):
        time.sleep(attempt.random.uniform(0.1, 0.8))
        # Forced where a file is open for writing, as the kernel does after a fault of the device.
        done = subprocess.run(["mount", "-o", "remount,ro", folder], capture_output=True)
        if done.returncode != 0:
            print("not remounted: %s" % done.stderr.decode().strip(), flush=True)
            for path in glob.glob(os.path.join(folder, "**"), recursive=True):
                subprocess.run(["chattr", "+i", path], capture_output=True)
    on_disk(attempt, 4096, remount)


@fault("limits", "output read-only from the start", quick=True)
def read_only(attempt):
    folder = attempt.path("ro")
    with e2e.SmallDisk(folder, 256) as mounted:
        if not mounted:
            raise Skip("mounting a small file system is not allowed here")
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        done = attempt.execute([e2e.GPUPROF, "run", "-o", os.path.join(folder, "out"), "--", "sh", "-c", "echo started"])
        attempt.equal((done.status, done.out), (125, b""), "refused before the program starts")
        attempt.expect(b"gpuprof" in done.err and b"Read-only" in done.err, "it says why: %r" % done.err)


# -- resource limits ---------------------------------------------------------------------------------------------------
def limited(attempt, what, value, words, least=0, options=RATE):
    """A program that runs into a limit itself and tells how: the same under gpuprof."""
    command = ["prlimit", "--%s=%d:%d" % (what, value, value), *words]
    profiled = attempt.run(command, options)
    attempt.check_same_as_plain(profiled, command)
    attempt.read_traces(profiled.folder, least)


def edge(name, what, low, high):
    """The program takes so much that next to nothing is left: `torture_limits NAME` prints what it got."""
    def body(attempt):
        require_files(LIMITS)
        limited(attempt, what, attempt.random.randint(low, high), [LIMITS, name])
    return body


add("limits", "RLIMIT_NOFILE at the edge", edge("files", "nofile", 4, 24), quick=True)
# The library itself, its thread's stack and the program are some 14 MiB.
add("limits", "RLIMIT_AS at the edge", edge("address-space", "as", 32 << 20, 400 << 20))
add("limits", "RLIMIT_DATA at the edge", edge("address-space", "data", 32 << 20, 400 << 20))
add("limits", "RLIMIT_MEMLOCK at the edge", edge("locked", "memlock", 0, 1 << 20))
add("limits", "RLIMIT_FSIZE at the edge", edge("file-size", "fsize", 0, 1 << 20))
add("limits", "RLIMIT_STACK small", edge("files", "stack", 64 << 10, 256 << 10))


@fault("limits", "RLIMIT_NPROC at the edge")
def processes(attempt):
    """Counted for a user: an ordinary one, whom nobody else here is."""
    require_files(LIMITS)
    if os.geteuid() != 0:
        raise Skip("only root can become a user who has no other process")
    user = attempt.random.randint(200_000, 60_000_000)
    reach = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    if subprocess.run([*reach, "test", "-r", e2e.LIBRARY], capture_output=True).returncode != 0:
        raise Skip("another user cannot read the build")
    out = attempt.path("out")
    os.chmod(attempt.folder, 0o755)
    os.mkdir(out)
    os.chown(out, user, user)
    most = attempt.random.randint(4, 14)
    command = ["prlimit", "--nproc=%d:%d" % (most, most), *reach, e2e.GPUPROF, "run", "-q", "-o", out, "--", LIMITS, "threads", "3"]
    profiled = attempt.execute(command)
    print(most, profiled, flush=True)
    if profiled.status == 125:
        return attempt.expect(b"gpuprof" in profiled.err and most < 4 + OUR_TASKS, "room for %d, not started: %r" % (most, profiled.err))
    # The kernel counts a user's tasks together: what we run for that user is room that the program has not.
    least = max(0, min(3, most - 1 - OUR_TASKS))
    stderr = re.fullmatch(rb"threads (\d) of 3\n", profiled.out)
    attempt.expect(profiled.status == 0 and stderr and int(stderr[1]) >= least, "room for %d: %s" % (most, profiled))


@fault("limits", "gpuprof itself is limited")
def ourselves(attempt):
    """What the program inherits is its own; what we cannot do under it is reported, before or after."""
    what, value = attempt.random.choice([("nofile", attempt.random.randint(3, 40)), ("as", attempt.random.randint(16, 600) << 20),
                                         ("data", attempt.random.randint(7 << 10, 16 << 10) << 10),
                                         ("fsize", attempt.random.choice([0, 4096, 100_000])),
                                         ("memlock", 0), ("stack", attempt.random.randint(64, 512) << 10)])
    words = ["prlimit", "--%s=%d:%d" % (what, value, value)]
    program = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo end $i; exit 3"]
    alone = attempt.execute([*words, *program])
    profiled = attempt.execute([*words, e2e.GPUPROF, "run", "-o", attempt.path("out"), "--", *program])
    print("%s %d: %s" % (what, value, profiled), flush=True)
    if profiled.status == 125 or profiled.status == 127 and b"shared" in profiled.err:
        attempt.expect(profiled.err.strip() and not profiled.out, "refused with a sentence, and nothing begun: %r" % profiled.err)
    elif b"gpuprof" not in profiled.err and profiled.status in (1, -6, -11, 127):
        attempt.expect(b"end 20000" not in profiled.out, "%s=%d: the loader refuses us: %s %r" % (what, value, profiled.status, profiled.err))
    else:
        attempt.equal((profiled.status, profiled.out), (alone.status, alone.out), "%s=%d: status and output: %r" % (what, value,
                                                                                                        profiled.err[-400:]))


@fault("limits", "memory group with little room", limit_s=120)
def little_room(attempt):
    """Only the program is in the group: it gets what it needs alone and the 64 MiB that we may take."""
    require_files(LIMITS)
    need_mib = attempt.random.choice([16, 64, 128])
    with MemoryGroup("gpuprof-torture", (need_mib + 24 + 64) << 20) as group:
        if group is None:
            raise Skip("no memory cgroup can be made here")
        profiled = attempt.run(["sh", "-c", group.shell() + ' && exec "$@"', "sh", LIMITS, "resident", str(need_mib)], RATE)
        attempt.equal((profiled.status, profiled.out), (0, b"resident %d MiB\n" % need_mib), "the program: %r" % profiled.err)
        attempt.equal(group.oom_kills(), 0, "killed for want of memory")
        attempt.read_traces(profiled.folder)


@fault("limits", "everything in one memory group", limit_s=120)
def one_group(attempt):
    """Command, daemon and program share a container's memory."""
    with MemoryGroup("gpuprof-torture", 192 << 20) as group:
        if group is None:
            raise Skip("no memory cgroup can be made here")
        out = attempt.path("out")
        profiled = attempt.execute(["sh", "-c", group.shell() + ' && exec "$@"', "sh", e2e.GPUPROF, "run", "-q", "-o", out, "--",
                                    *sim.simulated(TRAIN)])
        attempt.equal(profiled.status, 0, "status: %r" % profiled.err[-300:])
        attempt.equal(group.oom_kills(), 0, "killed for want of memory")
        attempt.read_traces(out)

