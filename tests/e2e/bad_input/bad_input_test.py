# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an input, a word or a place is reported in one message, and nothing is left behind.

usage: bad_input_test.py [--only NAME]"""

import glob
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

import e2e
import inputs

FORMATS = e2e.ALL_FORMATS
FAILED, NOT_COMPARED = 125, 2  # exit status; the second is diff's


class WorkFolder:
    """A folder for one try: what lies in it, and in its TMPDIR, before and after."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "place")
        self.tmp = os.path.join(folder, "tmp")
        for path in (self.path, self.tmp):
            os.makedirs(path, exist_ok=True)

    def all(self):
        return sorted(os.path.join(root, name) for top in (self.path, self.tmp)
                      for root, folders, files in os.walk(top) for name in folders + files)


def run(work_folder, words, **keywords):
    env = dict(os.environ, TMPDIR=work_folder.tmp)
    env.update(keywords.pop("env", {}))
    keywords.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([e2e.GPUPROF, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          cwd=work_folder.path, timeout=e2e.PATIENCE_S, env=env, **keywords)


def without_progress(printed):
    """The output, without the one line that tells after 15 s, on a busy machine, what is still done."""
    return "".join(line for line in printed.splitlines(True) if not line.startswith("gpuprof: still "))


def check_refused(checks, work_folder, name, words, part="", status=FAILED, **keywords):
    """Runs it: one line on stderr that holds `part`, and all else as it was."""
    before = work_folder.all()
    done = run(work_folder, words, **keywords)
    printed = without_progress(done.stderr.decode(errors="replace"))
    label = "%s: gpuprof %s" % (name, " ".join(words)[:150])
    checks.equal(done.returncode, status, label + ": status; " + printed[:300])
    checks.equal(done.stdout or b"", b"", label + ": stdout")
    good = printed.startswith("gpuprof: ") and printed.count("\n") == 1 and printed.endswith("\n")
    checks.expect(good and part in printed, "%s: one line with %r: %r" % (label, part, printed[:500]))
    checks.expect(not any(ord(c) < 32 for c in printed[:-1]), label + ": no control characters")
    checks.equal(work_folder.all(), before, label + ": what lies there")


def commands(path, good):
    """Every way to read a file or folder: words and exit status."""
    yield ["report", path], FAILED
    yield ["report", "--html", "page.html", path], FAILED
    yield ["diff", path, good], NOT_COMPARED
    yield ["diff", good, path], NOT_COMPARED
    yield ["export", path, "-o", "out", "--format", "tensorboard,sqlite,xplane"], FAILED


def files(checks, folder, work_folder):
    good = inputs.write(os.path.join(folder, "good.json"), inputs.trace(50))
    bad = os.path.join(folder, "bad")
    os.mkdir(bad)
    for name, path in inputs.bad_files(bad):
        part = os.path.basename(path).replace("\n", "\\x0a")
        for words, status in commands(path, good):
            check_refused(checks, work_folder, name, words, part, status)
    if os.getuid() != 0:
        closed = inputs.write(os.path.join(bad, "closed.json"), inputs.GOOD)
        os.chmod(closed, 0)
        for words, status in commands(closed, good):
            check_refused(checks, work_folder, "closed", words, "owner", status)


def sessions(checks, folder, work_folder):
    spool = inputs.spool_of_killed(folder)
    good = inputs.write(os.path.join(folder, "good.json"), inputs.trace(50))
    for name, path in inputs.bad_sessions(folder, spool):
        for words, status in commands(path, good):
            check_refused(checks, work_folder, name, words, name, status)
    check_refused(checks, work_folder, "a session and a trace", ["report", spool, good], "name it alone")
    limits(checks, work_folder, spool)


def limits(checks, work_folder, spool):
    """A session's own spool needs no room but the output's."""
    def no_files_grow():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for name in FORMATS:
        check_refused(checks, work_folder, "ulimit -f", ["export", spool, "-o", "out", "--format", name], "ulimit -f",
                      preexec_fn=no_files_grow)
    check_refused(checks, work_folder, "ulimit -f", ["report", "--html", "page.html", spool], "ulimit -f",
                  preexec_fn=no_files_grow)


def mixed(checks, folder, work_folder):
    real = inputs.write(os.path.join(folder, "real_1.1.pt.trace.json"), inputs.gpu_trace())
    simulated = inputs.write(os.path.join(folder, "sim_2.1.pt.trace.json"),
                             inputs.gpu_trace(simulated=True))
    for words in (["report", real, simulated], ["report", "--html", "page.html", simulated, real],
                  ["export", real, simulated, "-o", "out"], ["report", folder]):
        check_refused(checks, work_folder, "simulated with real", words, "simulated")
    check_refused(checks, work_folder, "simulated with real", ["diff", real, simulated], "simulated", NOT_COMPARED)


def words(checks, folder, work_folder):
    good = inputs.write(os.path.join(folder, "good.json"), inputs.trace(50))
    table = [
        (["report"], "report needs"), (["report", "--by", "kernels", good], "did you mean"),
        (["report", "--by", "x\ny", good], ""), (["report", "--sort-by", "speed", good], "keys are"),
        (["report", "--by", "line", "--sort-by", "speed", good], "speed"),
        (["report", "--columns", "", good], ""), (["report", "--columns", "name,speed", good], "speed"),
        (["report", "--fail-on", "speeed", good], "no rule"), (["report", "--step", "9-1", good], "ends"),
        (["report", "--row-limit", "x", good], "--row-limit"), (["report", "--rank", "7", good], "rank"),
        (["report", "--group-by-stack", "-1", good], "--group-by-stack"),
        (["report", "--html", "page.html", "--csv", good], "--html"),
        (["report", "--by", "line", "--sort-by", "saples", good], "did you mean samples?"),
        (["report", "--columns", "nmae", good], "did you mean name?"),
        (["report", "--row-limit", "-1", good], "'-1'"), (["report", "--step", "-1", good], "'-1'"),
        (["report", "--by", "kernel", "--group-by-stack", "2", good], "group operators"),
        (["report", "--html", "page.html", "--fail-on", "any", good], "--fail-on"),
        (["report", "--html", "page.html", "--advice-only", good], "--advice-only"),
        (["report", "--html", good, "-f", good], "name another"),
        (["report", "-"], "-"), (["export", good, "-o", "out", "--format", "sqltie"], "did you mean sqlite?"),
        (["report", "--nothing", good], "--nothing"), (["export"], "export needs"),
        (["export", good], "-o"), (["export", good, "-o", "out", "--format", "sqlit"], "sqlite"),
        (["export", good, "-o", "out", "--format", ""], "--format"),
        (["export", good, "-o", "out", "--format", "csv,"], "--format"),
        (["export", good, "-o", "out", "--format", "csv,csv,x\x1b[31m"], "--format"),
        (["export", good, "-o", "a%x"], "%x"), (["export", good, "-o", "%q{NO_SUCH}"], "NO_SUCH"),
        (["run", "--format", "nope", "--", "true"], "nope"),
        (["run", "--format", "", "--", "true"], "--format"),
        (["run", "--serve", "nowhere:x", "--", "true"], "--serve"),
        (["run", "--serve", "0.0.0.0:7777", "--", "true"], "--serve-to-network"),
    ]
    for arguments, part in table:
        check_refused(checks, work_folder, "words", arguments, part)
    for arguments, part in [(["diff", good], "in pairs"), (["diff", good, good, good], "in pairs"),
                            (["diff", good, good, "--fail-if", "speed > 5%"], "speed"),
                            (["diff", good, good, "--fail-if", "step_time >"], "step_time"),
                            (["diff", good, good, "--rank", "7"], "rank"),
                            (["diff", good, good, "--html", good, "-f"], "name another"),
                            (["diff", good, good, "--min-change", "x"], "--min-change")]:
        check_refused(checks, work_folder, "words", arguments, part, NOT_COMPARED)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        check_refused(checks, work_folder, "port taken", ["run", "--serve", address, "--", "true"], address)


def places(checks, folder, work_folder):
    good = inputs.write(os.path.join(folder, "good.json"), inputs.trace(50))
    blocking_file = inputs.write(os.path.join(work_folder.path, "file"), b"mine")
    os.mkdir(os.path.join(work_folder.path, "folder.csv"))
    table = [(["export", good, "-o", "/proc/none"], "-o"), (["export", good, "-o", blocking_file], "-o"),
             (["export", good, "-o", blocking_file + "/below"], "-o"),
             (["export", good, "-o", "folder.csv", "--format", "csv"], "folder"),
             (["export", good, "-o", "n" * 300], "-o"),
             (["export", good, "-o", "n" * 252 + ".csv", "--format", "csv"], "at most 255 are possible"),
             (["report", "--html", "/proc/none.html", good], "none.html"),
             (["report", "--html", blocking_file, good], "--force"),
             (["report", "--html", "no/such/page.html", good], "folder"),
             (["report", "--html", "folder.csv", good], "folder"),
             (["report", "--html", "n" * 300, good], "long")]
    for arguments, part in table:
        check_refused(checks, work_folder, "place", arguments, part)
    checks.equal(open(blocking_file, "rb").read(), b"mine", "the file in the way")
    existing(checks, work_folder, good)
    special(checks, work_folder, good)
    for tmp in ("/proc/none", os.path.join(folder, "none"), blocking_file):
        check_refused(checks, work_folder, "TMPDIR", ["report", good], "TMPDIR", env={"TMPDIR": tmp})


def windows(checks, folder, work_folder):
    """Of several windows those before the one that fails are written, and told."""
    paths = []
    for number in (0, 1):
        events = [dict(event, ts=event["ts"] + number * 1e6) for event in inputs.events(50)]
        paths.append(inputs.write(os.path.join(folder, "window%d.json" % number), json.dumps(
            {"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": events}).encode()))
    words = ["export", *paths, "-o", "spans", "--format", "csv"]
    both = run(work_folder, words).stdout.decode().split()
    checks.equal(len(both), 2, "windows: a file each: %s" % both)
    os.remove(both[0])
    again = run(work_folder, words)
    printed = again.stderr.decode()
    checks.equal((again.returncode, again.stdout.decode().split()), (FAILED, both[:1]), "windows: " + printed)
    checks.expect("failed: cannot write %s" % both[1] in printed and "; window 2 of 2 and any later windows were not written" in printed,
                  "windows: what failed: " + printed)
    checks.equal([os.path.exists(path) for path in both], [True, True], "windows: files")


def many_processes(checks, folder, work_folder):
    """Of more processes than there may be open files."""
    events = [dict(event, pid=1 + i) for i, event in enumerate(inputs.events(200))]
    path = inputs.write(os.path.join(folder, "processes.json"),
                        json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    if e2e.sanitized():
        return checks.skip("ulimit -n: UBSan makes a pipe to see whether memory is there")
    check_refused(checks, work_folder, "ulimit -n", ["report", path], "ulimit -n", preexec_fn=few_files)


def special(checks, work_folder, good):
    """No device, pipe or socket becomes a file, also with -f."""
    os.mkfifo(os.path.join(work_folder.path, "pipe.csv"))
    os.symlink("pipe.csv", os.path.join(work_folder.path, "link.csv"))
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.join(work_folder.path, "socket.csv"))
    kinds = {name: os.lstat(os.path.join(work_folder.path, name)).st_mode
             for name in ("pipe.csv", "link.csv", "socket.csv")}
    for name in kinds:
        for more in ([], ["-f"]):
            check_refused(checks, work_folder, "special", ["export", good, "-o", name, "--format", "csv", *more], name)
            check_refused(checks, work_folder, "special", ["report", "--html", name, *more, good], "never replaced")
    checks.equal({name: os.lstat(os.path.join(work_folder.path, name)).st_mode for name in kinds}, kinds,
                 "special files")
    server.close()


def existing(checks, work_folder, good):
    out = ["export", good, "-o", "again"]
    for name in FORMATS:
        checks.equal(run(work_folder, [*out, "--format", name]).returncode, 0, name)
    before = {path: os.stat(path).st_mtime_ns for path in work_folder.all() if os.path.isfile(path)}
    for name in FORMATS:
        check_refused(checks, work_folder, "existing", [*out, "--format", name], "-f")
    check_refused(checks, work_folder, "the last exists", [*out[:-1], "again", "--format", ",".join(FORMATS)], "-f")
    checks.equal({path: os.stat(path).st_mtime_ns for path in before}, before, "files that exist")


def full_disk(checks, folder, work_folder):
    good = inputs.write(os.path.join(folder, "good.json"), inputs.trace(50))
    with e2e.SmallDisk(os.path.join(folder, "small"), 64) as small:
        if not small:
            return checks.skip("mounting a small file system is not allowed here")
        try:
            inputs.write(os.path.join(small, "filler"), bytes(1 << 20))
        except OSError:
            pass
        before = sorted(glob.glob(small + "/**", recursive=True, include_hidden=True)
                        if sys.version_info >= (3, 11) else os.listdir(small))
        for name in FORMATS:
            check_refused(checks, work_folder, "full", ["export", good, "-o", small + "/out", "--format", name], "space")
        check_refused(checks, work_folder, "full", ["report", "--html", small + "/page.html", good], "space")
        check_refused(checks, work_folder, "full", ["report", good], "TMPDIR", env={"TMPDIR": small})
        after = sorted(glob.glob(small + "/**", recursive=True, include_hidden=True)
                       if sys.version_info >= (3, 11) else os.listdir(small))
        checks.equal(after, before, "what lies on the full disk")
    for arguments, status in ((["report", good], FAILED), (["diff", good, good], NOT_COMPARED)):
        with open("/dev/full", "wb") as full:
            check_refused(checks, work_folder, "full stdout", arguments, "space", status, stdout=full)


def gone_reader(checks, folder, work_folder):
    """As `gpuprof report IN | head -1`: no word."""
    good = inputs.write(os.path.join(folder, "good.json"), inputs.trace(50))
    for arguments in (["report", good], ["report", "--json", good], ["diff", good, good],
                      ["export", good, "-o", "gone"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = run(work_folder, [*arguments, "-q"], stdout=writer, restore_signals=True)
        os.close(writer)
        checks.equal((done.returncode, done.stderr), (-signal.SIGPIPE, b""), "no reader: %s" % arguments)
    checks.equal(os.listdir(work_folder.tmp), [], "no reader: TMPDIR")


def names(checks, folder, work_folder):
    """A terminal obeys nothing that a file says; JSON and CSV keep it."""
    name = "a\x1b[31m\x07\x00\n\u009bz"
    path = inputs.write(os.path.join(folder, "names.json"), inputs.trace(3, host_name=name).replace(
        b'"aten::op1"', json.dumps(name).encode()))
    for arguments in (["report", path], ["report", "--by", "operator", path], ["diff", path, path]):
        done = run(work_folder, arguments)
        printed = done.stdout.decode()
        checks.equal(done.returncode, 0, "names: %s: %s" % (arguments, done.stderr))
        checks.equal({c for c in printed if ord(c) < 32 or 127 <= ord(c) < 160}, {"\n"}, "names: controls")
        checks.expect("[31m" in printed, "names: the rest of it is printed")
    done = run(work_folder, ["export", path, "-o", "out\x1b[31m\u009b", "--format", "csv,xplane"])
    printed = done.stderr.decode()
    checks.equal((done.returncode, {c for c in printed if ord(c) < 32 or 127 <= ord(c) < 160}), (0, {"\n"}),
                 "names: what export says: %r" % printed)
    made = [os.path.basename(path) for path in work_folder.all() if path.endswith((".csv", ".pb"))]
    checks.expect(len(made) == 2 and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in "".join(made)),
                  "names: of files: %r" % made)
    rows = json.loads(run(work_folder, ["report", "--json", "--by", "operator", path]).stdout)
    checks.expect(name in [row["name"] for row in rows["processes"][0]["rows"]], "names: JSON has it")


TRIES = 5


def interrupted_at(work_folder, words, number, there):
    """Sends the signal as soon as there() says so."""
    process = subprocess.Popen([e2e.GPUPROF, *words], cwd=work_folder.path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, TMPDIR=work_folder.tmp))
    deadline = time.time() + e2e.PATIENCE_S
    while not there() and process.poll() is None and time.time() < deadline:
        time.sleep(0.002)
    in_time = process.poll() is None
    process.send_signal(number)
    printed = process.communicate(timeout=e2e.PATIENCE_S)
    return tuple(without_progress(text.decode(errors="replace")) for text in printed), process.returncode, in_time


def interrupted(checks, folder, work_folder):
    big = inputs.write(os.path.join(folder, "big.json"), inputs.trace(150_000))
    parts = lambda: glob.glob(work_folder.path + "/**/*.part", recursive=True)
    export = ["export", big, "-o", "out/of/these", "--format", "sqlite,xplane,csv,perfetto"]
    table = [(words, number, lambda: os.listdir(work_folder.tmp)) for number in (signal.SIGINT, signal.SIGTERM)
             for words in (["report", big], ["report", "--html", "page.html", big], ["diff", big, big])]
    table += [(export, number, there) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
              for there in (lambda: os.listdir(work_folder.tmp), parts)]
    for arguments, number, there in table:
        before = work_folder.all()
        label = "%s during %s" % (signal.Signals(number).name, arguments[:2])
        for _ in range(TRIES):  # it may have ended before this test had a processor
            printed, status, in_time = interrupted_at(work_folder, arguments, number, there)
            if in_time:
                break
            for path in set(work_folder.all()) - set(before):
                os.remove(path)
        if not in_time:
            checks.skip(label + ": it was over each time")
            continue
        checks.equal((status, printed), (-number, ("", "")), label)
        checks.equal(work_folder.all(), before, label + ": what lies there")


def main():
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    checks = e2e.Checks()
    for body in (words, files, sessions, mixed, places, windows, many_processes, full_disk, gone_reader, names,
                 interrupted):
        if only in ("", body.__name__):
            with e2e.Folder("bad-input") as folder:
                begun = time.time()
                body(checks, folder, WorkFolder(folder))
                print("%s: %.1f s" % (body.__name__, time.time() - begun), flush=True)
    checks.done()


if __name__ == "__main__":
    main()
