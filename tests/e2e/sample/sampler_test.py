#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that a sampler disturbs easily, with the sampler alone preloaded (probe.cpp).

usage: sampler_test.py [CASE...]   GPUPROF_STRESS_SECONDS sets the length of the stress (5); without a case
those that judge by no clock
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["GPUPROF_BUILD"])
HERE = pathlib.Path(__file__).resolve().parent
SECONDS = int(os.environ.get("GPUPROF_STRESS_SECONDS", "5"))


def program(name):
    return str(BUILD / "bin" / f"sampler_{name}")


def run(command, trigger=None, variant="", timeout=600):
    """Exit status (negative: signal, None: had to be killed), output, what the probe counted."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GPUPROF_", "LD_PRELOAD"))}
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report")
        if trigger:
            env["GPUPROF_PROBE"] = f"{trigger}:{report}"
            env["LD_PRELOAD"] = str(BUILD / "lib" / f"libgpuprof_sampler_probe{variant}.so")
        try:
            done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=timeout)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = None, (late.stdout or b"").decode()
        text = report.read_text() if report.exists() else ""
    return status, output, {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", text)}


def plugins():
    return [str(BUILD / "lib" / f"libsampler_plugin_{n}.so") for n in range(1, 6)]


def stress():
    """Everything at once, every thread signalled 2000 times a second by the clock."""
    for seconds in (SECONDS, 6 * SECONDS):  # longer where a busy machine has begun late to sample
        command = [program("stress"), str(seconds), *plugins()]
        status, output, counted = run(command, "wall:2000", "_stress", seconds + 300)
        print(output.splitlines()[-2:], counted)
        if status != 0 or counted.get("taken"):
            break
    assert status == 0, f"status {status}"
    assert counted["taken"] > 0, "no sample"
    assert counted["corrupt"] == 0


def stress_negative_control():
    """The same with libc's dl_iterate_phdr in the handler hangs: the stress can tell."""
    for _ in range(3):
        status, output, _ = run([program("stress"), "30", *plugins()], "wall:2000", "_negative", 45)
        print("status", status, output.splitlines()[-1:])
        if status in (None, 3):
            return
    raise AssertionError("three runs without a hang")


def no_eintr():
    """No call of a C or a Python program comes back early."""
    commands = [program("eintr"), "20", "20"], [sys.executable, str(HERE / "eintr.py"), "20", "20"]
    rows = [(command, trigger) for trigger in ("perf:100", "perf:1000", "cpu-timer:1000") for command in commands]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # they sleep nearly all the time
        results = list(pool.map(lambda row: run(*row), rows))
    for (_, trigger), (status, output, counted) in zip(rows, results):
        print(trigger, " ".join(output.split("\n")), "samples", counted.get("taken"))
        if counted.get("sampler") == 0:
            print("SKIPPED:", trigger, "is not allowed here")
            continue
        assert status == 0, f"{trigger}: EINTR"
        assert counted["taken"] > 0, f"{trigger}: never sampled"


def rate_of(hz):
    """Of one run: samples a second of CPU time by asked ones, and their weights by CPU time; None without perf events."""
    status, output, counted = run([program("busy"), "5"], f"perf:{hz}")
    assert status == 0
    if counted["sampler"] == 0:
        return None
    cpu = float(re.search(r"main_cpu=([\d.]+)", output)[1])
    given = counted["main_samples"] / cpu
    print(f"perf asked {hz} got {given:.1f} weights {counted['main_weight_ms']} ms of {cpu * 1000:.0f}")
    return given / hz, counted["main_weight_ms"] / (cpu * 1000)


def rate():
    """A busy thread gets the rate requested, within 5 %; its weights are its CPU time."""
    for hz in (100, 250, 1000):
        # A host that is short of processors takes ours away, and a sample with it, for whole seconds.
        for attempt in range(3):
            shares = rate_of(hz)
            if shares is None:
                print("SKIPPED: perf events are not allowed here")
                return
            if all(abs(share - 1) < 0.05 for share in shares):
                break
        assert abs(shares[0] - 1) < 0.05
        assert abs(shares[1] - 1) < 0.05


def effective_rate():
    """Where the kernel caps the rate, the cap is what Stats say."""
    _, output, counted = run([program("busy"), "3"], "cpu-timer:1000")
    stated = counted["rate_mhz"] / 1000
    cpu = float(re.search(r"main_cpu=([\d.]+)", output)[1])
    print(f"cpu-timer stated {stated} got {counted['main_samples'] / cpu:.1f}")
    # Such a timer ends at the first tick after its time: of a thread that runs in short pieces they are as chance has it.
    expected = stated * cpu
    assert counted["main_samples"] <= expected * 1.05 + 4 * expected**0.5


def crashes():
    """A program that faults looks the same with and without the sampler."""
    _, listing, _ = run([program("crash")])
    for way in listing.split():
        plain = run([program("crash"), way])
        watched = run([program("crash"), way], "perf:1000")
        # Addresses and process ids differ from run to run.
        outputs = [re.sub(r"addr \S+", "addr", output) for _, output, _ in (plain, watched)]
        print(way, plain[0], watched[0])
        assert plain[0] == watched[0], way
        assert outputs[0] == outputs[1], way


def idle():
    """Fifty sleeping threads cost less than 1 % of a core at 100 Hz."""
    _, plain, _ = run([program("busy"), "-10", "50"])
    _, watched, counted = run([program("busy"), "-10", "50"], "perf:100")
    cost = [float(re.search(r"process_cpu=([\d.]+)", text)[1]) for text in (plain, watched)]
    print(plain.strip(), "|", watched.strip(), counted)
    assert cost[1] - cost[0] < 0.1


CASES = [stress, no_eintr, effective_rate, crashes]
# A hang is one only on a machine that is not stopped by others; the others compare with processor time.
OF_TIME = [stress_negative_control, rate, idle]


def main():
    wanted = set(sys.argv[1:])
    failed = []
    for case in CASES + OF_TIME:
        if case.__name__ not in wanted if wanted else case in OF_TIME:
            continue
        print(f"== {case.__name__}: {case.__doc__.splitlines()[0]}", flush=True)
        try:
            case()
        except AssertionError as problem:
            print("FAILED:", problem)
            failed.append(case.__name__)
    print("failed:", failed) if failed else print("ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
