# SPDX-License-Identifier: Apache-2.0
"""Family hostile: peers that lie, flood or are somebody else; files that are there already; process ids used again."""

import importlib.util
import os
import subprocess
import sys

import e2e
import hostile_test
import kill_test
import live
import sim
import staged
from attempt import E2E, HERE, Skip, load_json, require_files
from fault import add, fault
from faults_kill import run_e2e_test
from trace_facts import Facts, parse_results

NOBODY = 65534
REACH = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
FAKE_DAEMON = os.path.join(e2e.SOURCE, "tests", "fakes", "fake_daemon.py")
TRAIN = ["--steps", "100", "--kernels", "20", "--host-ms", "1", "--step-ms", "15"]
PEERS = os.path.join(HERE, "peers.py")
WAYS = ("random", "lengths", "racing", "flood", "control", "packets")
LOST = "the trainer's kernels|the trainer's steps|the trainer's links"


def as_nobody():
    """Words in front of a command of another user's; skips where nobody can be somebody else."""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    if subprocess.run([*REACH, "test", "-r", PEERS], capture_output=True).returncode != 0:
        raise Skip("another user cannot read the tests")
    return REACH


# -- a session with an honest program and a stranger -------------------------------------------------------------------
def run_beside(attempt, intruder, check_summary=None):
    """The trainer under gpuprof while intruder(pid, address) runs: all of it is in the trace."""
    out, summary = attempt.path("out"), attempt.path("summary.json")
    with open(attempt.path("stdout"), "wb") as stdout, open(attempt.path("stderr"), "wb") as stderr:
        process = subprocess.Popen([e2e.GPUPROF, "run", "-o", out, "--summary-json", summary, "--step", "nvtx:step", "--",
                                    *sim.simulated(TRAIN)], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
    target = kill_test.wait_for(lambda: kill_test.trainer_of(process), 60)
    if target is None:
        process.kill()
        return attempt.harm("the program never began")
    intruder(target, address_of(target))
    status = process.wait(timeout=60 * staged.patience())
    attempt.equal(status, 0, "the program's status")
    results = parse_results(kill_test.read(attempt.folder, "stdout"))
    facts = [Facts(t) for t in attempt.read_traces(out)]
    attempt.equal(sum(len(f.kernels) for f in facts), results.get("kernels"), "the trainer's kernels")
    attempt.equal(sum(len(f.steps) for f in facts), results.get("steps"), "the trainer's steps")
    summary = load_json(summary)
    attempt.expect(summary.get("complete"), "the daemon ended by itself: %s" % summary.get("failures"))
    errors = kill_test.read(attempt.folder, "stderr").decode()
    print(errors, flush=True)
    if check_summary:
        check_summary(summary, errors)


def address_of(target):
    """Where the session's daemon listens, as its program was reported."""
    with open("/proc/%d/environ" % target, "rb") as file:
        for row in file.read().split(b"\0"):
            if row.startswith(b"GPUPROF_SOCKET="):
                return row.partition(b"=")[2].decode().split(";")[0]
    raise RuntimeError("no address in the program's environment")


def peers(attempt, way, prefix=()):
    def intruder(_target, address):
        done = subprocess.run([*prefix, sys.executable, PEERS, address, way, "0.8", str(attempt.seed)], capture_output=True, text=True,
                              timeout=40 * staged.patience())
        print("%s at %s: %s %s" % (way, address, done.stdout, done.stderr), flush=True)
        attempt.equal(done.returncode, 0, "the stranger itself")
        if way in ("garbage", "mixed"):
            attempt.expect("answered b'" in done.stdout, "the daemon says why it refuses: " + done.stdout[-300:])
    return intruder


def refused(attempt):
    def check_summary(summary, errors):
        attempt.expect(summary.get("peers_refused", 0) > 0, "the daemon counts whom it refused: %s" % summary.get("peers_refused"))
        attempt.expect("refus" in errors or "another user" in errors or "user %d" % NOBODY in errors, "the summary says so: " + errors[-700:])
    return check_summary


for _way in ("garbage", "oversize", "half", "mixed", "descriptors", "crowd"):
    add("hostile", {"half": "half messages", "mixed": "messages of random kinds", "descriptors": "floods of descriptors",
                    "crowd": "connections that stay"}.get(_way, _way),
        lambda attempt, way=_way: run_beside(attempt, peers(attempt, way)), lost=LOST, quick=_way == "garbage")
    add("hostile", "another user: " + _way,
        lambda attempt, way=_way: run_beside(attempt, peers(attempt, way, as_nobody()), refused(attempt)), lost=LOST)


def damaged(ways):
    """A process of the session damages the memory that the daemon reads."""
    def body(attempt):
        require_files(hostile_test.SCRIBBLER)
        done, watch = hostile_test.session(attempt.folder, 2, attempt.seed % 100000, ways)
        watch.join(timeout=10)
        summary = load_json(attempt.path("summary.json"))
        names = {p["pid"]: os.path.basename(p["exe"]) for p in summary["processes"]}
        facts = [Facts(e2e.load(f["path"])) for f in summary["files"] if names[f["pid"]] == "sim_trainer"]
        hostile_test.check_trainer(attempt, done, facts, 2)
        hostile_test.check_daemon(attempt, summary, watch)
        attempt.expect(summary["drops_by_reason"] or ways in ("control", "packets", "flood"), "damage is counted: %s" % ways)
    return body


for _way in WAYS:
    add("hostile", "memory of a ring buffer: " + _way, damaged(_way), lost=LOST)


# -- the control socket of a program ---------------------------------------------------------------------------------------------
@fault("hostile", "strangers at a program's control socket")
def control_socket(attempt):
    with live.Program(live.prefix("--armed") + live.busy(30)) as program:
        live.wait_until_armed(program.pid)
        control_sockets = live.control_socket_files(program.pid)
        if not attempt.expect(control_sockets, "it has a control socket"):
            return
        for way in attempt.random.sample(["garbage", "oversize", "half", "mixed", "descriptors", "crowd"], 3):
            done = subprocess.run([sys.executable, PEERS, control_sockets[0], way, "0.5", str(attempt.seed)], capture_output=True, text=True,
                                  timeout=40 * staged.patience())
            print(way, done.stdout, done.stderr, flush=True)
        attempt.expect(program.process.poll() is None, "the program runs")
        done = live.cli("capture", program.pid, "-d", "300ms", "-o", attempt.path("out"))
        attempt.equal(done.returncode, 0, "it is recorded afterwards: " + done.stderr)
        attempt.read_traces(attempt.path("out"))


# -- files that are there already --------------------------------------------------------------------------------------
def victim(attempt):
    path = attempt.path("victim")
    with open(path, "w", encoding="utf-8") as file:
        file.write("precious\n")
    return path


def untouched(attempt, path):
    with open(path, encoding="utf-8") as file:
        attempt.equal(file.read(), "precious\n", "what a link led to is as it was")


WORK = [live.PYTHON, "-c", "for i in range(6_000_000): pass\nprint('end')"]


@fault("hostile", "links where files are written", quick=True)
def links(attempt):
    precious, out = victim(attempt), attempt.path("out")
    os.mkdir(out)
    name = os.path.join(out, "fixed.pt.trace.json.gz")
    os.symlink(precious, name)
    done = attempt.execute([e2e.GPUPROF, "run", "-o", name, "--", *WORK])
    attempt.equal((done.status, done.out), (125, b""), "a file in the way: refused before the program")
    untouched(attempt, precious)
    # The same with --force, and links at every name it may use on the way.
    pid = os.getpid()
    for number in range(pid, pid + 600):
        os.symlink(precious, "%s.%d-1.part" % (name, number))
    done = attempt.execute([e2e.GPUPROF, "run", "-f", "-o", name, "--", *WORK])
    attempt.equal((done.status, done.out), (0, b"end\n"), "with --force: %r" % done.err[-300:])
    untouched(attempt, precious)
    print(done.err.decode(), flush=True)
    if os.path.islink(name):
        attempt.expect(b"gpuprof" in done.err, "no file and no sentence")
    else:
        attempt.read_traces(out)


CONTROL_FOLDERS = {
    "a link": 'mkdir /tmp/elsewhere; ln -s /tmp/elsewhere "$d"',
    "a file": 'echo precious >"$d"',
    "another user's": 'mkdir -m 777 "$d"; chown 65534:65534 "$d"',
    "open to everyone": 'mkdir -m 777 "$d"; chmod 777 "$d"',
    "full of links": 'mkdir -m 700 "$d"; i=1; while [ $i -lt 900 ]; do ln -s /tmp/nothing "$d/$i-0.door"; i=$((i+1)); done',
}


def in_private_tmp(attempt, script):
    """A shell in a /tmp of its own, where build, tests and the attempt's folder are as ever."""
    keep = [p for p in (e2e.BUILD, e2e.SOURCE, attempt.folder) if p.startswith("/tmp/")]
    binds = "".join('mkdir -p "%s" && mount --bind "/mnt%s" "%s" && ' % (p, p[4:], p) for p in keep)
    whole = "mount --bind /tmp /mnt && mount -t tmpfs -o mode=1777 tmpfs /tmp && %s umount -l /mnt && d=%s && { %s; }" % (
        binds, live.CONTROL_FOLDER, script)
    return ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", whole]


def control_socket_folder(attempt, how):
    if subprocess.run(in_private_tmp(attempt, "true"), capture_output=True).returncode != 0:
        raise Skip("no mount namespace of one's own here")
    out = attempt.path("out")
    script = '%s; "%s" run -q -r 1000 -o "%s" -- "$@"; s=$?; ls -lnA "$d" "$d"/ /tmp/elsewhere >&2 2>/dev/null; exit $s' % (
        CONTROL_FOLDERS[how], e2e.GPUPROF, out)
    done = attempt.execute([*in_private_tmp(attempt, script), "sh", *WORK])
    print(how, done, flush=True)
    attempt.equal((done.status, done.out), (0, b"end\n"), "the program: %r" % done.err[-300:])
    attempt.read_traces(out)


for _how in CONTROL_FOLDERS:
    add("hostile", "folder of the control sockets: " + _how, lambda attempt, how=_how: control_socket_folder(attempt, how))


# -- process ids -------------------------------------------------------------------------------------------------------
AGAIN = """
"$@" & first=$!
wait $first
n=0
while [ $n -lt 50 ]; do
  echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
  "$@" & second=$!
  wait $second
  [ $second = $first ] && break
  n=$((n + 1))
done
echo same $((second == first)) >&2
"""


@fault("hostile", "process id used again")
def again(attempt):
    """Two trainers in turn with one process id, in a namespace of process ids."""
    prefix = ["unshare", "-p", "-f", "--mount-proc"]
    if subprocess.run([*prefix, "sh", "-c", "echo 100 >/proc/sys/kernel/ns_last_pid"], capture_output=True).returncode != 0:
        raise Skip("no namespace of process ids of one's own here")
    train = sim.simulated(["--steps", "10", "--kernels", "20", "--step-ms", "10"])
    profiled = attempt.run(["sh", "-c", AGAIN, "sh", *train], ["--step", "nvtx:step"], prefix)
    print(profiled.err, profiled.summary.get("missing"), flush=True)
    attempt.equal(profiled.status, 0, "status")
    if b"same 1" not in profiled.err:
        raise Skip("the kernel gave no process id twice")
    kernels = sum(len(Facts(t).kernels) for t in attempt.read_traces(profiled.folder, 2))
    runs = profiled.out.count(b"result steps 10")
    if kernels != runs * 200:
        attempt.lose("%d kernels of %d runs in the files, 200 each" % (kernels, runs))


def e2e_module(suite, name):
    """A module of the end-to-end tests whose name another suite has too."""
    spec = importlib.util.spec_from_file_location("%s_%s" % (suite, name), os.path.join(E2E, suite, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@fault("hostile", "control socket of a dead process")
def stale(attempt):
    e2e_module("attach_cli", "endings_test").stale_control_socket(attempt, attempt.folder)


# -- daemons and viewers that are not what they should be --------------------------------------------------------------
@fault("hostile", "daemon that lies", quick=True)
def lies(attempt):
    how, wanted = attempt.random.choice([("dies", 125), ("refuses", 125), ("old", 125), ("garbage", 125), ("dies-later", 4),
                                         ("nonsense", 4)])
    done = attempt.execute([e2e.GPUPROF, "run", "--daemon", FAKE_DAEMON, "-o", attempt.path("out"), "sh", "-c", "sleep 0.2; exit 4"],
                           env={"FAKE_DAEMON": how})
    attempt.equal(done.status, wanted, "daemon that %s: %r" % (how, done.err))
    attempt.expect(b"gpuprof" in done.err, "it is said")


add("hostile", "strangers at the port of --serve", run_e2e_test("serve", "hostile_test.py", lost="trace"), limit_s=240)
