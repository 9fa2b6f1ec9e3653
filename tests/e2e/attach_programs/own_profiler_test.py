# SPDX-License-Identifier: Apache-2.0
"""gpuprof attach to a training that uses torch.profiler itself, before, around, inside, across and after
its sessions: each of these holds everything that ran in it, our windows go on, and both say who had the
GPU's records.

usage: own_profiler_test.py [--device cpu|cuda] [--keep FOLDER]
cuda: on the simulated GPU, CUPTI as the real one is: one set of callbacks for all."""

import argparse
import collections
import json
import os
import shutil
import sys
import time

import attached
import e2e
import live
import torch_runs
import torch_trace

SENTENCE = "the program's own CUPTI profiler"
INSIDE_S = 1.0  # each session lasts this long at least
BACK_S = 3.0  # two seconds after its last call we take up again


class Profiled(attached.Program):
    """The program, told by words when to profile itself."""

    def __init__(self, python, folder, device):
        self.folder = folder
        command = [python, os.path.join(attached.PROGRAMS, "profiled.py"), folder, "--device", device]
        env = attached.environment(**({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}))
        super().__init__(command if device == "cpu" else attached.on_gpu(command), folder, "profiled",
                         env=env, talk=True)

    def send(self, word):
        before = self.text().count(word)
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()
        if not attached.wait_until(lambda: self.text().count(word) > before or self.ended()):
            raise RuntimeError("nothing happened after %r:\n%s" % (word, self.errors()))

    def session(self, seconds=INSIDE_S):
        """One session of its own, from begin to end."""
        self.send("profile")
        time.sleep(seconds)
        self.send("train")

    def finish(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.close()
        return self.wait()


def events_of(path):
    """{category: events}, {operator: events} of a trace of torch.profiler's."""
    with open(path, encoding="utf-8", errors="replace") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    return (collections.Counter(e.get("cat") for e in events),
            collections.Counter(e["name"] for e in events if e.get("cat") == "cpu_op"))


def situations(program, folder, device):
    """Every way two profilers can meet; a Recording of each, by name. One session of its own per turn."""
    words = ["attach", str(program.pid)]

    def start_recording(name):  # its window is open
        command = attached.Command([*words, "-d", "600s"], os.path.join(folder, name))
        attached.wait_until(lambda: attached.is_recorded(program.pid) or command.ended())
        return command

    def stopped(command):
        attached.wait_until(lambda: attached.cli("stop", str(program.pid)).status == 0 or command.ended())
        return command.finish()

    def short(name):
        def enough(recording):
            trace = torch_trace.read_gpuprof(recording.paths)
            return trace.kernels if name == "after" and device != "cpu" else trace.operators
        return attached.record_until(enough, 0.5, words, os.path.join(folder, name))

    done = {}
    program.session()  # 1: nobody else
    program.send("profile")  # 2: ours inside
    done["inside"] = short("inside")
    program.send("train")
    command = start_recording("around")  # 3: ours around
    live.let_run(program.pid, INSIDE_S, 0.1)  # else its session begins before a kernel is ours
    program.session()
    live.let_run(program.pid, INSIDE_S, 0.1)
    done["around"] = stopped(command)
    command = start_recording("before")  # 4: ours ends inside
    live.let_run(program.pid, INSIDE_S, 0.1)
    program.send("profile")
    live.let_run(program.pid, INSIDE_S / 2, 0.1)
    done["before"] = stopped(command)
    time.sleep(INSIDE_S)
    program.send("train")
    program.send("profile")  # 5: ours begins inside
    command = start_recording("behind")
    program.send("train")
    live.let_run(program.pid, BACK_S, 0.1)
    done["behind"] = stopped(command)
    program.session()  # 6: nobody any more
    done["after"] = short("after")
    return done


def check_sessions(checks, program, device):
    """Of each step torch.profiler has what it has of a step where nobody else records."""
    with open(os.path.join(program.folder, "sessions.json"), encoding="utf-8") as file:
        steps = json.load(file)
    checks.equal(len(steps), 6, "sessions")
    for number, count in enumerate(steps, 1):
        kinds, names = events_of(os.path.join(program.folder, "session.%d.json" % number))
        kernels = kinds["kernel"] / count
        print("its session %d: %d steps, %d aten::addmm, %d kernels (%.2f a step), %d launches" % (
            number, count, names["aten::addmm"], kinds["kernel"], kernels, kinds["cuda_runtime"]), flush=True)
        checks.equal(names["aten::addmm"], 2 * count, "session %d: forward passes" % number)
        if number == 1:
            a_step = kinds["kernel"] / count
            checks.equal(a_step > 0 and a_step == int(a_step), device != "cpu", "kernels of a step: %s" % a_step)
        checks.equal(kinds["kernel"], a_step * count, "session %d: kernels" % number)


def check_ours(checks, done, device):
    for name, recording in done.items():
        if not checks.equal((recording.status, len(recording.paths)), (0, 1), name + ": " + recording.stderr):
            continue
        trace = torch_trace.read_gpuprof(recording.paths)
        passes = sum(op.name == "aten::addmm" for op in trace.operators)
        reported = SENTENCE in recording.messages()
        print("ours, %s: %d forward passes, %d kernels; its profiler is %s" % (
            name, passes // 2, len(trace.kernels), "told" if reported else "not told"), flush=True)
        checks.expect(passes > 0, name + ": recorded operators: %d" % passes)
        if device == "cpu":
            continue
        checks.equal(reported, name != "after", "%s: who had the GPU is reported: %s" % (name, recording.messages()))
        stated = trace.heads[0]
        checks.equal(SENTENCE in " ".join(stated["missing"] + stated["notices"] + stated["remarks"]),
                     name != "after", name + ": also in the trace")
        if name != "inside":
            checks.expect(trace.kernels, name + ": recorded kernels outside of its session")


def run(checks, python, folder, device):
    with Profiled(python, folder, device) as program:
        done = situations(program, folder, device)
        status = program.finish()
    checks.equal((status, "rror" in program.errors()), (0, False), "its end: " + program.errors()[-1500:])
    check_sessions(checks, program, device)
    check_ours(checks, done, device)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--keep")
    options = parser.parse_args()
    attached.require_attach()
    python = torch_runs.require_torch() if options.device == "cuda" else torch_runs.torch_python()
    checks = e2e.Checks()
    with e2e.Folder("attach-own-profiler") as folder:
        if options.keep:
            shutil.rmtree(options.keep, ignore_errors=True)
            os.makedirs(options.keep)
        run(checks, python, options.keep or folder, options.device)
        if checks.failed:
            sys.exit(checks.done())
    checks.done()


if __name__ == "__main__":
    main()
