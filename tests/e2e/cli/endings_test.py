# SPDX-License-Identifier: Apache-2.0
"""Exit status, output and summary of `gpuprof run`, whatever happens to program and daemon."""

import glob
import json
import os
import signal
import subprocess
import sys

import e2e
import live
from spools import daemon_of, filled_spool_of, count_filled_spools

# For so long on a processor, or until a file is there.
SPIN = """
import os, sys, time
until = sys.argv[1]
end = time.thread_time() + (600 if "/" in until else float(until))
while time.thread_time() < end and not os.path.exists(until): sum(range(1000))
print("done"); sys.exit(int(sys.argv[2]))
"""
PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable


def run(arguments, command, **keywords):
    return e2e.gpuprof(arguments, command, **keywords)


def statuses(checks, folder):
    for status in (0, 1, 42, 125, 126, 127, 255):
        done = run(["-q"], ["sh", "-c", "exit %d" % status], cwd=folder)
        checks.equal(done.returncode, status, "exit status %d" % status)
        checks.equal((done.stdout, done.stderr), (b"", b""), "silence with -q")
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGINT):
        done = run(["-q"], ["sh", "-c", "kill -%d $$" % number], cwd=folder)
        checks.equal(done.returncode, -number, "death by signal %d" % number)


def own_failures(checks, folder):
    plain = os.path.join(folder, "plain")
    open(plain, "w").close()
    cases = [
        (["no-such-program"], 127, "not found in PATH"),
        (["/no/such/program"], 127, "no such file"),
        ([plain], 126, "permission denied"),
        ([folder], 126, "it is a folder"),
    ]
    for command, status, part in cases:
        done = run([], command, cwd=folder)
        checks.equal(done.returncode, status, "status for %r" % command)
        checks.expect(part in done.stderr.decode(), "%r says %r" % (command, done.stderr))
        checks.equal(done.stderr.count(b"\n"), 1, "one message for %r" % command)
    for arguments, part in [
            (["--rate", "2000"], "1000"), (["--wait", "5", "--active", "1s"], "counts steps"),
            (["-o", "a%x"], "unknown placeholder %x"), (["-o", "/proc/none"], "output folder"),
            (["--daemon", "/no/such"], "daemon"), (["--summary-json", "/no/such/file"], "cannot write")]:
        marker = os.path.join(folder, "started")
        done = run(arguments, ["touch", marker], cwd=folder)
        checks.equal(done.returncode, 125, "status for %r" % arguments)
        checks.expect(part in done.stderr.decode(), "%r says %r" % (arguments, done.stderr))
        checks.expect(not os.path.exists(marker), "%r is found before the program starts" % arguments)
    checks.expect(not glob.glob(os.path.join(folder, "gpuprof*")), "no folder is left behind")
    for limit, named in (("--stack=110000:110000", b"ulimit -s"), ("--nofile=8:8", b"ulimit -n")):
        words = ["prlimit", limit, e2e.GPUPROF, "run", "--", "touch", marker]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        checks.equal((done.returncode, done.stdout, os.path.exists(marker)), (125, b"", False), "%s for gpuprof" % limit)
        checks.expect(named in done.stderr, "it says which limit: %r" % done.stderr)
    # The longest name that a file can have, and one byte more.
    for size in (255, 256):
        name = "n" * (size - len(".pt.trace.json")) + ".pt.trace.json"
        done = run(["-o", name, "--format", "tensorboard"], [PYTHON, "-c", SPIN, "0.3", "0"], cwd=folder)
        checks.equal((done.returncode, os.path.exists(os.path.join(folder, name))), (0, True) if size == 255 else (125, False),
                     "a name of %d bytes: %r" % (size, done.stderr[-300:]))
    summary = os.path.join("made", "summary.json")
    done = run(["-q", "-o", "made", "--summary-json", summary], ["sleep", "0.3"], cwd=folder)
    checks.equal((done.returncode, done.stderr, os.path.exists(os.path.join(folder, summary))), (0, b"", True),
                 "a summary in the folder that -o makes")


def summary(checks, folder):
    out, saved = os.path.join(folder, "out"), os.path.join(folder, "summary.json")
    done = run(["-o", out, "--summary-json", saved], [PYTHON, "-c", SPIN, "0.7", "7"], cwd=folder)
    text = done.stderr.decode()
    checks.equal(done.returncode, 7, "the program's status")
    checks.equal(done.stdout, b"done\n", "stdout is the program's")
    checks.expect(all(line.startswith("gpuprof: ") for line in text.splitlines()), text)
    files = e2e.traces(out)
    checks.equal(len(files), 1, "files in %s" % out)
    checks.expect(files and os.path.basename(files[0]) in text, "the summary names the file")
    with open(saved) as file:
        data = json.load(file)
    checks.equal(sorted(entry["path"] for entry in data["files"]), e2e.written(out), "the JSON names the files")
    checks.equal(len(data["files"]), len(e2e.ALL_FORMATS) if e2e.FORMAT_OPTION else 1, "a file of each format")
    checks.expect(data["complete"] and data["files"][0]["events"] > 0, "events were recorded")
    checks.expect(not glob.glob(os.path.join(out, ".gpuprof*")), "no spool is left")
    quiet = run(["-q", "-o", out + "2"], [PYTHON, "-c", SPIN, "0.3", "0"], cwd=folder)
    checks.equal(quiet.stderr, b"", "-q is quiet")


def quiet_failures(checks, folder):
    limited = ["sh", "-c", "ulimit -f 1; exec \"$@\"", "sh", e2e.GPUPROF, "run",
               *e2e.FORMAT_OPTION]
    for arguments, status in [(["-q"], 7), (["-q", "--strict"], 125)]:
        done = subprocess.run(limited + arguments + ["-o", os.path.join(folder, "limited"), PYTHON,
                                                     "-c", SPIN, "0.3", "7"],
                              cwd=folder, capture_output=True, timeout=e2e.PATIENCE_S)
        text = done.stderr.decode()
        checks.equal((done.returncode, done.stdout), (status, b"done\n"), "a limit on file sizes")
        checks.expect("failed: " in text and "ulimit -f" in text, "-q tells failures: %r" % text)
        checks.expect("missing" not in text and "open with" not in text, "and no more: %r" % text)
    loser = [e2e.GPUPROF, "run", *e2e.FORMAT_OPTION, "-q", "-o",
             os.path.join(folder, "one.pt.trace.json"), PYTHON, "-c", SPIN]
    over = os.path.join(folder, "over")
    running = [subprocess.Popen(loser + [over, "0"], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
               for _ in range(2)]
    live.wait_for(lambda: count_filled_spools(folder) == 2)  # each has found the name free
    open(over, "w").close()
    stderrs = [process.communicate(timeout=e2e.PATIENCE_S)[1].decode() for process in running]
    checks.equal(sorted("recover with" in text for text in stderrs), [False, True],
                 "the loser of two runs says so: %r" % stderrs)


def little_memory(checks, folder):
    """Where ours does not find the memory it needs, the status is the program's, and a message says what is missing."""
    if e2e.sanitized():
        return checks.skip("a limit of memory: an instrumented command needs more to start")
    code = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 4"
    for kib in range(8 << 10, 13 << 10, 512):
        out = os.path.join(folder, "data-%d" % kib)
        done = subprocess.run(["prlimit", "--data=%d" % (kib << 10), e2e.GPUPROF, "run", "-q", *e2e.FORMAT_OPTION, "-o", out,
                               "sh", "-c", code], cwd=folder, capture_output=True, timeout=e2e.PATIENCE_S)
        text = done.stderr.decode()
        checks.equal((done.returncode, done.stdout), (4, b""), "a limit of %d KiB on memory: %r" % (kib, text))
        checks.expect(e2e.traces(out) or "failed: " in text, "%d KiB: a file or a message: %r" % (kib, text))
        checks.expect(all(line.startswith("gpuprof: ") for line in text.splitlines()), "messages of gpuprof: %r" % text)
        checks.equal(glob.glob(os.path.join(out, "*.part")), [], "%d KiB: half a file" % kib)


def no_reader(checks, folder):
    reader, writer = os.pipe()
    os.close(reader)
    done = run([], ["sh", "-c", "exit 7"], cwd=folder, stderr=writer)
    checks.equal(done.returncode, 7, "the program's status although nobody reads stderr")
    os.close(writer)
    grep = ["grep", "SigIgn", "/proc/self/status"]
    plain = subprocess.run(grep, capture_output=True, timeout=e2e.PATIENCE_S)
    checks.equal(run(["-q"], grep, cwd=folder).stdout, plain.stdout, "signals the program ignores")
    done = run(["-q"], ["sh", "-c", "kill -PIPE $$"], cwd=folder)
    checks.equal(done.returncode, -signal.SIGPIPE, "death by SIGPIPE")


def no_reader_yet(checks, folder):
    """Who starts a program and reads its stderr only after its end: a pipe that the program has nearly filled."""
    full = [PYTHON, "-c", "import os, time\nos.write(2, bytes(65500))\nwhile time.thread_time() < 0.3: sum(range(1000))\nraise SystemExit(6)"]
    child = subprocess.Popen([e2e.GPUPROF, "run", *e2e.FORMAT_OPTION, "-o", folder + "/unread", *full], stderr=subprocess.PIPE)
    try:
        checks.equal(child.wait(timeout=e2e.PATIENCE_S), 6, "the program's status although its pipe is full")
    except subprocess.TimeoutExpired:
        checks.expect(False, "it waits for a reader")
    child.kill()
    child.stderr.close()
    checks.expect(e2e.traces(folder + "/unread"), "and a trace")


def summary_to_a_pipe(checks, folder):
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    done = run(["-q", "--summary-json", pipe], ["sh", "-c", "exit 6"], cwd=folder, timeout=e2e.PATIENCE_S)
    checks.equal(done.returncode, 6, "the program's status")
    checks.expect(b"no process reads the pipe" in done.stderr, "and a message: %r" % done.stderr)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    done = run(["-q", "--summary-json", pipe], ["sh", "-c", "sleep 0.2; exit 6"], cwd=folder, timeout=e2e.PATIENCE_S)
    checks.equal((done.returncode, done.stderr), (6, b""), "somebody reads")
    checks.equal(json.loads(reader.communicate(timeout=e2e.PATIENCE_S)[0])["nothing"], False, "what is read there")


def existing_file(checks, folder):
    name = os.path.join(folder, "fixed.pt.trace.json")
    open(name, "w").close()
    done = run(["-o", name], [PYTHON, "-c", SPIN, "0.3", "0"], cwd=folder)
    checks.equal(done.returncode, 125, "a file in the way")
    checks.equal(done.stdout, b"", "the program did not start")
    done = run(["-f", "-o", name], [PYTHON, "-c", SPIN, "0.3", "0"], cwd=folder)
    checks.equal(done.returncode, 0, "-f overwrites")
    checks.expect(os.path.getsize(name) > 0, "the file was written: %r" % done.stderr)
    nowhere = os.path.join(folder, "link.pt.trace.json")
    os.symlink("/no/such/place", nowhere)
    done = run(["-f", "-o", nowhere], [PYTHON, "-c", SPIN, "0.3", "0"], cwd=folder)
    checks.equal((done.returncode, done.stdout), (125, b""), "a link that leads nowhere: %r" % done.stderr)


def killed_daemon(checks, folder):
    for strict in (False, True):
        out = os.path.join(folder, "killed-%d" % strict)
        arguments = ["-o", out] + (["--strict"] if strict else [])
        over = os.path.join(folder, "over-%d" % strict)
        process = subprocess.Popen(
            [e2e.GPUPROF, "run"] + e2e.FORMAT_OPTION + arguments + [PYTHON, "-c", SPIN, over, "5"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        spool = filled_spool_of(out)
        if not checks.expect(spool, "a spool while the program runs"):
            process.kill()
            return
        os.kill(daemon_of(spool), signal.SIGKILL)
        open(over, "w").close()
        output, errors = process.communicate(timeout=e2e.PATIENCE_S)
        checks.equal(output, b"done\n", "the program does not notice")
        checks.equal(process.returncode, 125 if strict else 5, "status, strict=%s" % strict)
        checks.equal(len(e2e.traces(out)), 1, "recovered: %s" % errors.decode())
        checks.expect("recovered" in errors.decode(), errors.decode())
        again = subprocess.run([e2e.GPUPROF, "export", "-q", "-o", out + "-again", spool],
                               capture_output=True, timeout=e2e.PATIENCE_S)
        checks.equal(again.returncode, 0, "export of the spool: %r" % again.stderr)
        checks.equal(sorted(again.stdout.decode().split()), e2e.written(out + "-again"), "paths on stdout")


def unprofiled(checks, folder):
    source = os.path.join(folder, "main.c")
    with open(source, "w") as file:
        file.write("#include <stdio.h>\nint main(void) { puts(\"ran\"); return 9; }\n")
    for flag, word in [("-static", "statically linked"), ("-fsanitize=address", "sanitizer")]:
        program = os.path.join(folder, "main" + flag[:4])
        if subprocess.run(["cc", source, "-o", program, flag], capture_output=True).returncode:
            checks.skip("the compiler cannot build with " + flag)
            continue
        done = run([], [program], cwd=folder)
        checks.equal((done.returncode, done.stdout), (9, b"ran\n"), "%s runs as ever" % flag)
        checks.expect("ran unprofiled" in done.stderr.decode() and word in done.stderr.decode(),
                      "%s says why: %s" % (flag, done.stderr.decode()))
        shell = run(["-q"], ["sh", "-c", program + "; exit $?"], cwd=folder)
        checks.equal((shell.returncode, shell.stderr), (9, b""), "%s as a child, no message" % flag)


def main():
    checks = e2e.Checks()
    for case in (statuses, own_failures, summary, quiet_failures, little_memory, no_reader, no_reader_yet,
                 summary_to_a_pipe, existing_file,
                 killed_daemon, unprofiled):
        with e2e.Folder("endings") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
