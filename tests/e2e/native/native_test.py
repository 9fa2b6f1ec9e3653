# SPDX-License-Identifier: Apache-2.0
"""Programs that are no Python and use no GPU, started by a shell, a script or a launcher: each that works has
a place in the summary, its functions are named, and it does not notice.

usage: native_test.py [--only REGEX]"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402

PROGRAMS = os.path.join(e2e.BUILD, "native")
WORKER, SERVER, HOST, QUIET, REGISTERED, AGAIN = (os.path.join(PROGRAMS, name) for name in ("worker", "server", "host", "quiet", "registered", "again"))
STATIC = os.path.join(e2e.BUILD, "unchanged", "static_hello")
HOT_LOOP = "import time\ndef hot_loop():\n  e = time.thread_time() + 1\n  while time.thread_time() < e: sum(range(1000))\nhot_loop()\n"
RUST = """
use std::{process, thread};
extern "C" { fn clock() -> i64; }
#[inline(never)] fn hot_rust() -> f64 {
    let mut s = 0.0;
    while unsafe { clock() } < 2_000_000 { for i in 0..100_000 { s += (i as f64).sqrt(); } }
    s
}
fn main() {
    let all: Vec<_> = (0..2).map(|_| thread::spawn(hot_rust)).collect();
    let sum: f64 = all.into_iter().map(|t| t.join().unwrap()).sum();
    process::exit(if sum > 0.0 { 7 } else { 1 });
}
"""
GO = """
package main
%(c)s
import ("os"; "sync"; "syscall")
type node struct{ left, right *node }
//go:noinline
func grow(n int) int { var room [64]int; if n > 0 { room[n%%64] = grow(n - 1) }; return room[n%%64] + 1 }
//go:noinline
func fault(p *int) (r int) { defer func() { if recover() != nil { r = 3 } }(); return *p }
func tree(deep int) *node { if deep == 0 { return &node{} }; return &node{tree(deep - 1), tree(deep - 1)} }
func cpu() (us int64) {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano()/1000 + used.Stime.Nano()/1000
}
//go:noinline
func hotGo() float64 {
	s := 0.0
	for cpu() < 2000000 { for i := 0; i < 1000000; i++ { s += float64(i) * 0.5 } }
	return s
}
func main() {
	var all sync.WaitGroup
	sum := make([]float64, 4)
	for k := range sum {
		all.Add(1)
		go func(k int) {
			for i := 0; i < 3; i++ { sum[k] += float64(grow(3000)); tree(10) }
			sum[k] += float64(fault(nil))
			sum[k] += hotGo()
			all.Done()
		}(k)
	}
	all.Wait()
	if sum[0]+sum[3]+float64(%(call)s) > 0 { os.Exit(7) }
}
"""
FORTRAN = """
program hot
  real(8) :: now, total
  now = 0
  total = 0
  do while (now < 1)
    total = total + hot_fortran(100000, total)
    call cpu_time(now)
  end do
  if (total > 0) call exit(7)
contains
  real(8) function hot_fortran(n, begin)
    integer, intent(in) :: n
    real(8), intent(in) :: begin
    integer :: i
    hot_fortran = begin * 1e-9
    do i = 1, n
      hot_fortran = hot_fortran + sqrt(real(i, 8))
    end do
  end function
end program
"""
MPI = """
#include <mpi.h>
#include <cmath>
#include <ctime>
__attribute__((noinline)) double hot_rank(std::clock_t seconds) {
  const std::clock_t end = std::clock() + seconds * CLOCKS_PER_SEC;
  double sum = 0;
  while (std::clock() < end) for (int i = 0; i < 100000; ++i) sum += std::sqrt(i);
  return sum;
}
int main(int count, char** words) {
  MPI_Init(&count, &words);
  double sum = hot_rank(1), all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all > 0 ? 0 : 1;
}
"""


class Run:
    """One run: summary, and of each process with a file the share of its CPU time whose stacks hold a name."""

    def __init__(self, folder, command, *options, **keywords):
        out, summary = os.path.join(folder, "out"), os.path.join(folder, "summary.json")
        shutil.rmtree(out, ignore_errors=True)
        done = e2e.gpuprof(["-q", "-f", "--rate", "250", "--format", "folded", "-o", out, "--summary-json", summary,
                            *options], command, **keywords)
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        with open(summary, encoding="utf-8") as file:
            self.summary = json.load(file)
        self.processes = self.summary["processes"]
        self.stacks = [open(path, encoding="utf-8").read().splitlines() for path in e2e.written(out)]

    def named(self, name):
        return [p for p in self.processes if os.path.basename(p["exe"]) == name]

    def shares(self, name):
        shares = []
        for lines in self.stacks:
            # Of what runs: how long others wait for it is the machine's.
            weights = [(int(line.rsplit(" ", 1)[1]), name in line) for line in lines if line.startswith("CPU;")]
            shares.append(sum(w for w, has in weights if has) / max(1, sum(w for w, _ in weights)))
        return sorted(shares)


SPAWNED = "import os, sys; sys.exit(os.waitstatus_to_exitcode(os.waitpid(%s, 0)[1]))"


def below_shell(*command):
    """A shell that waits, so that it does not become the program."""
    return ["sh", "-c", '"$@"; exit $?', "sh", *command]


def has_one_file(checks, run, name, what, status=7):
    checks.equal(run.status, status, what + ": status")
    checks.equal(len(run.stacks), 1, what + ": one file")
    checks.expect(run.shares(name)[-1:] >= [0.5], "%s: %s in its stacks: %s" % (what, name, run.shares(name)))


def workers(checks, folder):
    """The same program, wherever it works, and whoever started it."""
    python = e2e.real_python()
    for how in ("main", "threads", "late", "asks"):
        has_one_file(checks, Run(folder, below_shell(WORKER, how, "1")), "hot_native", "C++ below sh, " + how)
    has_one_file(checks, Run(folder, [python, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
                                      WORKER, "threads", "1"]), "hot_native", "C++ below Python")
    has_one_file(checks, Run(folder, ["sh", "-c", "echo 1 | xargs %s main; exit $?" % WORKER]), "hot_native",
                 "C++ below xargs", 123)
    # The C library starts these with the two signals ignored that it keeps for itself.
    for how, start in (("posix_spawn", SPAWNED % "os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)"),
                       ("system", "import os, shlex, sys; sys.exit(os.waitstatus_to_exitcode(os.system(shlex.join(sys.argv[1:]))))")):
        has_one_file(checks, Run(folder, [python, "-c", start, WORKER, "threads", "1"]), "hot_native", "C++ by " + how)
        has_one_file(checks, Run(folder, [python, "-c", start, *below_shell(WORKER, "main", "1")]), "hot_native",
                     "C++ below a shell by " + how)
    if shutil.which("make"):
        with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
            file.write("all:\n\t@%s main 1\n" % WORKER)
        has_one_file(checks, Run(folder, ["make", "-s", "-C", folder]), "hot_native", "C++ by make", 2)
    run = Run(folder, below_shell(WORKER, "main", "1"), "--all-processes")
    checks.equal(len(run.stacks), 2, "--all-processes: a file for the shell and for the program")
    checks.expect(run.shares("hot_native")[-1] >= 0.5, "--all-processes: its function is named")


def forks(checks, folder):
    """Children without an exec: of a server, and a shell's own."""
    run = Run(folder, below_shell(SERVER, "3", "1.0"), "--all-processes")
    checks.equal(run.stdout, b"6\n", "a server's output")
    found = run.named("server")
    checks.expect(len(found) >= 3, "each of its workers is seen: %d" % len(found))
    checks.expect([s >= 0.5 for s in run.shares("hot_worker")].count(True) == 3,
                  "a file for each worker with its function: %s" % run.shares("hot_worker"))
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo $i"
    run = Run(folder, ["bash", "-c", "(%s); true" % loop], "--all-processes")
    checks.equal((run.stdout, len(run.named("bash"))), (b"300000\n", 2), "a shell's own child that works is seen")
    run = Run(folder, ["sh", "-c", "for i in $(seq 200); do /bin/true; (:); done"])
    checks.equal(len(run.processes), 1, "children that do next to nothing are not")


def embedded(checks, folder):
    """A Python that comes by dlopen."""
    versions = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = sorted(glob.glob(versions + "/versions/*/lib/libpython3.*.so.1.0") +
                   glob.glob("/usr/lib/x86_64-linux-gnu/libpython3*.so.1.0"))
    if not found:
        return checks.skip("no libpython3.*.so on this machine")
    for library in found[:1] + found[-1:]:
        home = os.path.dirname(os.path.dirname(library))
        env = dict(os.environ, **({"PYTHONHOME": home} if "versions" in home else {}))
        has_one_file(checks, Run(folder, below_shell(HOST, library, HOT_LOOP), env=env), "hot_loop",
                     "an embedding host below sh, " + os.path.basename(library), 0)


def frozen(checks, folder):
    """A program that unpacks its Python, loads it and starts itself again (PyInstaller)."""
    maker = os.environ.get("PYINSTALLER") or shutil.which("pyinstaller")
    if maker is None:
        return checks.skip("no PyInstaller ($PYINSTALLER or pyinstaller)")
    source = os.path.join(folder, "frozen.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write(HOT_LOOP + "import sys; sys.exit(7)\n")
    subprocess.run([maker, "-F", "--log-level", "ERROR", source], check=True, cwd=folder, capture_output=True)
    has_one_file(checks, Run(folder, below_shell(os.path.join(folder, "dist", "frozen"))), "hot_loop", "PyInstaller below sh")


def rust(checks, folder):
    compiler = shutil.which("rustc") or os.path.expanduser("~/.cargo/bin/rustc")
    source, program = os.path.join(folder, "hot.rs"), os.path.join(folder, "hot_rust_program")
    with open(source, "w", encoding="utf-8") as file:
        file.write(RUST)
    try:
        subprocess.run([compiler, "-O", "-g", source, "-o", program], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return checks.skip("no Rust compiler (rustc) that works")
    has_one_file(checks, Run(folder, below_shell(program)), "hot_rust", "Rust below sh")


def go(checks, folder):
    """Goroutines on stacks of a few KiB; without cgo its threads are none of the C library's, and only blocked ones are seen."""
    compiler = shutil.which("go")
    if compiler is None:
        return checks.skip("no Go compiler (golang-go)")
    source = os.path.join(folder, "hot.go")
    for how, c, call in (("with cgo", '/*\nstatic int one(void) { return 1; }\n*/\nimport "C"', "C.one()"), ("without cgo", "", "1")):
        program = os.path.join(folder, "hot_go_" + how.replace(" ", "_"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(GO % {"c": c, "call": call})
        env = dict(os.environ, CGO_ENABLED="1" if c else "0", GOCACHE=os.path.join(folder, "cache"), GO111MODULE="off")
        mode = [] if c else ["-buildmode=pie"]
        made = subprocess.run([compiler, "build", *mode, "-o", program, source], env=env, capture_output=True)
        if made.returncode != 0:
            return checks.skip("a Go compiler that does not work: %s" % made.stderr[-200:])
        for options in (["--sampler", "cpu-timer"], ["--rate", "1000"]):
            run = Run(folder, below_shell(program), *options)
            if c:
                has_one_file(checks, run, "main.hotGo", "Go below sh %s" % options)
                hot = [line for lines in run.stacks for line in lines if line.startswith("CPU;") and "hotGo" in line]
                lost = [line for line in hot if "main.main.func" not in line]
                # Where a goroutine is being preempted a stack may end, and says so.
                checks.expect(all("(incomplete stack)" in line for line in lost), "Go: stacks end without a word: %s" % lost[:3])
                checks.expect(sum(int(line.rsplit(" ", 1)[1]) for line in lost) <= 0.1 * sum(int(line.rsplit(" ", 1)[1]) for line in hot),
                              "Go: stacks reach the goroutine's begin: not %s" % lost[:3])
            else:
                checks.equal((run.status, run.stderr.count(b"fatal error")), (7, 0), "Go without cgo below sh: unchanged")
        run = Run(folder, [program])
        checks.equal(run.status, 7, "Go %s, by itself" % how)


def fortran(checks, folder):
    compiler = shutil.which("gfortran")
    source, program = os.path.join(folder, "work.f90"), os.path.join(folder, "work_of_fortran")
    if compiler is None:
        return checks.skip("no Fortran compiler (gfortran)")
    with open(source, "w", encoding="utf-8") as file:
        file.write(FORTRAN)
    subprocess.run([compiler, "-O2", "-g", "-fno-inline", source, "-o", program], check=True)
    has_one_file(checks, Run(folder, below_shell(program)), "hot_fortran", "Fortran below sh")


def ranks(checks, folder):
    """Every rank of a job has a file, since they share the work; its launcher has none."""
    compiler, launcher = shutil.which("mpicxx"), shutil.which("mpirun")
    source, program = os.path.join(folder, "rank.cpp"), os.path.join(folder, "rank")
    if compiler is None or launcher is None:
        return checks.skip("no MPI (openmpi-bin, libopenmpi-dev)")
    with open(source, "w", encoding="utf-8") as file:
        file.write(MPI)
    subprocess.run([compiler, "-O2", "-g", source, "-o", program], check=True)
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    run = Run(folder, [launcher, *root, "--oversubscribe", "-n", "4", program])
    checks.equal(run.status, 0, "mpirun: status")
    checks.equal(len(run.stacks), 4, "mpirun: a file for each rank")
    checks.expect(run.shares("hot_rank")[:1] >= [0.3], "mpirun: hot_rank in each: %s" % run.shares("hot_rank"))
    checks.equal([p["role"] for p in run.named("orterun") + run.named("mpirun")][:1], ["launcher"], "mpirun: its role")


def whole_share(lines, is_whole):
    """Of the time of these lines."""
    weights = [(int(line.rsplit(" ", 1)[1]), is_whole(line)) for line in lines]
    return sum(w for w, whole in weights if whole) / max(1, sum(w for w, _ in weights))


def run_until(good, seconds, run):
    """The first run that is good; each is longer: the list of mappings is read when the first sample needs it, on a
    busy machine well behind it."""
    for times in (1, 8, 50):
        done = run("%g" % (times * seconds))
        if good(done):
            break
    return done


def reaches_main(run):
    """Whether most stacks of the first generated code are whole."""
    def is_whole(line):
        frames = line.rsplit(" ", 1)[0].split(";")
        return (frames[-2:] == ["[generated code]"] * 2 and "(incomplete stack)" not in frames
                and "call_generated" in frames[-3] and "main" in frames[-4])
    made = [line for lines in run.stacks for line in lines if line.startswith("CPU;registered")]
    return whole_share(made, is_whole) >= 0.8


def registered(checks, folder):
    """Code made at run time whose unwind tables are registered; and no word of them when they are gone."""
    for how in ("deregister", "forget"):
        for below in (list, lambda words: below_shell(*words)):
            run = run_until(reaches_main, 1, lambda seconds: Run(folder, below([REGISTERED, seconds, how])))
            checks.equal((run.status, run.stdout), (7, b"done\n"), "tables, %s: the program" % how)
            checks.equal(len(run.stacks), 1, "tables, %s: one file" % how)
            rows = [(line.rsplit(" ", 1)[0].split(";")[1:], int(line.rsplit(" ", 1)[1]))
                    for lines in run.stacks for line in lines if line.startswith("CPU;")]
            other = [row for row in rows if row[0][0].startswith("other")]
            checks.expect(reaches_main(run), "tables, %s: stacks reach main: %s" % (how, rows))
            checks.expect(other and not any("call_generated" in frame for frames, _ in other for frame in frames),
                          "tables, %s: none of them is used when it has gone: %s" % (how, other))
            # Met at its first or its last instruction the caller is known without a table.
            checks.expect(any("(incomplete stack)" in frames for frames, _ in other)
                          and all("(incomplete stack)" in frames or "[generated code]" not in frames
                                  or "call_other" in frames[frames.index("[generated code]") - 1]
                                  for frames, _ in other),
                          "tables, %s: what is not known is reported: %s" % (how, other))


def again(checks, folder):
    """Code of a file that somebody else than the loader has mapped once more."""
    def lines(run):
        return [line for stacks in run.stacks for line in stacks if "hot_again" in line]

    def is_good(run):
        return whole_share(lines(run), lambda one: ";again!main;" in one and "(incomplete stack)" not in one) >= 0.8

    run = run_until(is_good, 1.5, lambda seconds: Run(folder, below_shell(AGAIN, seconds)))
    has_one_file(checks, run, "hot_again", "mapped again")
    checks.expect(is_good(run), "mapped again: stacks reach main: %s" % lines(run))


def unchanged(checks, folder):
    """What a program sees of its signals, timers and sleeping calls is what it sees without gpuprof."""
    plain = [subprocess.run(below_shell(QUIET), capture_output=True, timeout=e2e.PATIENCE_S) for _ in range(2)]
    checks.equal(plain[0].stdout, plain[1].stdout, "the program says the same each time")
    for how in (["-q", "--rate", "1000", "-o", os.path.join(folder, "q")], ["--armed"]):
        result = e2e.gpuprof(how, below_shell(QUIET))
        checks.equal((result.returncode, result.stdout), (plain[0].returncode, plain[0].stdout),
                     "a native child is unchanged, %s" % how[0])
    # The signal of our timer, sent by somebody: ends the program, or nothing where it began with it ignored.
    sent = ["sh", "-c", "kill -32 $$; exit 5"]
    for start, ended in ((["sh", "-c", '"$@"; exit $?', "sh"], 160),
                         ([e2e.real_python(), "-c", SPAWNED % "os.posix_spawn('/bin/sh', sys.argv[1:], os.environ)"], 5)):
        for under in ([], ["-q", "-f", "-o", os.path.join(folder, "q")]):
            words = [*start, *sent]
            done = e2e.gpuprof(under, words) if under else subprocess.run(words, timeout=e2e.PATIENCE_S)
            checks.equal(done.returncode, ended, "signal 32, sent, %s gpuprof" % ("with" if under else "without"))


def main():
    if not os.path.exists(e2e.GPUPROF):
        e2e.skip("not built: " + e2e.GPUPROF)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    checks = e2e.Checks()
    with e2e.Folder("native") as folder:
        for part in (workers, forks, embedded, frozen, rust, go, fortran, ranks, registered, again, unchanged):
            if re.search(only, part.__name__):
                part(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
