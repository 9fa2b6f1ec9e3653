# SPDX-License-Identifier: Apache-2.0
"""What the program sees of itself with and without gpuprof; odd install paths; nesting."""

import json
import os
import shutil
import subprocess
import sys

import e2e

PYTHON = e2e.real_python("/usr/bin/python3") or sys.executable

LOOK = """
import json, os, resource, signal, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
first = os.open("/dev/null", os.O_RDONLY); os.close(first)
stat = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
children = open("/proc/self/task/%d/children" % os.getpid()).read()
look = {
  "blocked": status["SigBlk"].strip(), "ignored": status["SigIgn"].strip(),
  "umask": status["Umask"].strip(), "group_is_ppid": None,
  "limits": [resource.getrlimit(n) for n in range(16)], "first": first,
  "cwd": os.getcwd(), "argv": sys.argv, "tty": stat[4], "session": stat[3], "nice": os.nice(0),
  "children": children, "stdin": os.readlink("/proc/self/fd/0"),
  "env": {k: v for k, v in os.environ.items() if k not in
          ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GPUPROF_SOCKET",
           "ASAN_OPTIONS", "PPID", "_")},
}
print(json.dumps(look, sort_keys=True))
"""


def unchanged(checks, folder):
    command = [PYTHON, "-c", LOOK, "a b", "", "--", "-o"]
    # Odd on purpose: a blocked signal, ignored ones, a limit, an open descriptor 3 less.
    shell = ("trap '' HUP USR2; umask 027; ulimit -c 0; ulimit -n 777; exec \"$@\"")
    for prefix in ([], ["sh", "-c", shell, "sh"]):
        plain = subprocess.run(prefix + command, cwd=folder, capture_output=True, timeout=600,
                               stdin=subprocess.DEVNULL)
        under = subprocess.run(prefix + [e2e.GPUPROF, "run", "-q", "--"] + command, cwd=folder,
                               capture_output=True, timeout=600, stdin=subprocess.DEVNULL)
        checks.equal(under.stderr, b"", "no word on stderr")
        a, b = json.loads(plain.stdout), json.loads(under.stdout)
        for key in a:
            checks.equal(b[key], a[key], "the program's %s" % key)


def closed_descriptors(checks, folder):
    code = "ls /proc/self/fd | tr '\\n' ' ' >>\"$1\""
    seen = []
    for prefix in ("", "%s run " % e2e.GPUPROF):
        out = os.path.join(folder, "fds")
        if os.path.exists(out):
            os.remove(out)
        done = subprocess.run(["sh", "-c", prefix + "sh -c '%s' sh %s <&- 2>&-" %
                               (code.replace("'", "'\\''"), out)], cwd=folder,
                              capture_output=True, timeout=600)
        checks.equal((done.stdout, done.stderr), (b"", b""), "nothing is written")
        with open(out) as file:
            seen.append(file.read())
    checks.equal(seen[1], seen[0], "closed standard descriptors stay closed")


def no_path(checks, folder):
    environment = {key: value for key, value in os.environ.items() if key != "PATH"}
    done = e2e.gpuprof(["-q"], ["true"], cwd=folder, env=environment)
    checks.equal(done.returncode, 0, "a program is found without PATH")


def preloads_stay(checks, folder):
    environment = dict(os.environ, LD_PRELOAD="libm.so.6 libdl.so.2", ASAN_OPTIONS="x=1")
    code = "import os; print(os.environ['LD_PRELOAD'], os.environ['ASAN_OPTIONS'])"
    done = e2e.gpuprof(["-q"], [PYTHON, "-c", code], cwd=folder, env=environment)
    preload, asan = done.stdout.decode().split()
    first, *rest = preload.split(":")
    checks.expect(first.endswith("libgpuprof_inject.so"), "ours comes first: " + preload)
    checks.equal(rest, ["libm.so.6", "libdl.so.2"], "theirs stay")
    checks.equal(asan, "x=1:verify_asan_link_order=0", "ASAN_OPTIONS are appended to")


def odd_paths(checks, folder):
    root = os.path.join(folder, "a b:c")
    os.makedirs(os.path.join(root, "bin"))
    for name in ("gpuprof", "gpuprofd"):
        shutil.copy2(os.path.join(e2e.BUILD, "bin", name), os.path.join(root, "bin"))
    os.makedirs(os.path.join(root, "lib"))
    shutil.copy2(e2e.LIBRARY, os.path.join(root, "lib"))
    shutil.copytree(os.path.join(e2e.BUILD, "lib", "gpuprof"), os.path.join(root, "lib", "gpuprof"),
                    symlinks=True)
    out = os.path.join(folder, "out dir")
    code = ("import os,time; print(os.environ['LD_PRELOAD'])\nend = time.thread_time() + 0.6\n"
            "while time.thread_time() < end: sum(range(1000))")
    environment = dict(os.environ, TMPDIR=folder)
    environment.pop("XDG_RUNTIME_DIR", None)
    done = subprocess.run([os.path.join(root, "bin", "gpuprof"), "run", "-o", out, PYTHON, "-c", code],
                          capture_output=True, timeout=600, env=environment)
    word = done.stdout.decode().strip()
    checks.expect(" " not in word and "b:c" not in word, "LD_PRELOAD has no blank or colon: " + word)
    checks.equal(len(e2e.traces(out)), 1, "recorded from an odd path: %s" % done.stderr.decode())
    checks.expect(not [n for n in os.listdir(folder) if n.startswith("gpuprof-link")], "link removed")


def nested(checks, folder):
    outer, inner = os.path.join(folder, "outer"), os.path.join(folder, "inner")
    code = "import time\nend = time.thread_time() + 0.8\nwhile time.thread_time() < end: sum(range(1000))"
    done = e2e.gpuprof(["-o", outer],
                       [e2e.GPUPROF, "run", "-o", inner, PYTHON, "-c", code + "\nraise SystemExit(6)"],
                       cwd=folder)
    checks.equal(done.returncode, 6, "the inner program's status comes through")
    checks.expect("inside another gpuprof session" in done.stderr.decode(), done.stderr.decode())
    checks.equal(len(e2e.traces(inner)), 1, "the inner session has the program")


def thirty_two(checks, folder):
    source, program = os.path.join(folder, "main.c"), os.path.join(folder, "main32")
    with open(source, "w") as file:
        file.write("int main(void) { return 8; }\n")
    built = subprocess.run(["cc", "-m32", source, "-o", program], capture_output=True).returncode
    empty = os.path.join(e2e.BUILD, "lib", "gpuprof", "lib32", "libgpuprof_inject.so")
    if built or subprocess.run([program], capture_output=True).returncode != 8:
        checks.skip("32-bit programs cannot be built and run here")
        return
    if not os.path.exists(empty):
        checks.skip("the empty 32-bit library was not built")
        return
    done = e2e.gpuprof(["-q"], ["sh", "-c", program + "; exit $?"], cwd=folder)
    checks.equal((done.returncode, done.stderr), (8, b""), "a 32-bit child, no loader message")
    done = e2e.gpuprof([], [program], cwd=folder)
    checks.equal(done.returncode, 8, "a 32-bit command")
    checks.expect("32-bit" in done.stderr.decode() and "ld.so" not in done.stderr.decode(),
                  "it is reported: " + done.stderr.decode())


def main():
    checks = e2e.Checks()
    for case in (unchanged, closed_descriptors, no_path, preloads_stay, odd_paths, nested, thirty_two):
        with e2e.Folder("surroundings") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
