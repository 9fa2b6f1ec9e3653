# SPDX-License-Identifier: Apache-2.0
"""Small programs end, print and fail exactly as without gpuprof.

usage: unchanged_test.py [--only REGEX] [--rate HZ] [--torch] [--below] [--part K/N]
(--torch: PyTorch on the simulated GPU; --below: each is started by a shell, and has no reason to wake but its
work; --part: every Nth of them)"""

import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import e2e  # noqa: E402
import gpu_cases  # noqa: E402
from cases import cases  # noqa: E402

HEX = re.compile(rb"0x[0-9a-fA-F]+")
NUMBER = re.compile(rb"\b\d{2,7}\b")


def run(argv, options, prefix=(), env_extra=None):
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    env.update(options.get("env", {}))
    env.update(env_extra or {})
    return subprocess.run(list(prefix) + argv, input=options.get("stdin", b""), env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)


def same(a, b, profiled):
    """Equal, where only what already differs between two plain runs may differ: addresses, ids."""
    if profiled == b:
        return True
    if a == b:
        return False
    for pattern in (HEX, NUMBER):
        a, b, profiled = (pattern.sub(b"#", text) for text in (a, b, profiled))
        if a == b:
            return profiled == a
    return False


# Waits for it, so that no shell takes its own place.
BELOW = ["sh", "-c", '"$@"; exit $?', "sh"]


def check(checks, name, argv, options, folder, rate):
    plain = Plain(argv, options)
    recorded = [*e2e.FORMAT_OPTION, "-o", os.path.join(folder, name), "-r", str(rate)]
    for how in [recorded, ["--armed"]] if options.get("armed") else [recorded]:
        compare(checks, name if how is recorded else name + " --armed", plain,
                run(argv, options, [e2e.GPUPROF, "run", "-q", *how, "--"]))


class Plain:
    """What the program does without gpuprof. Most differ between two runs in nothing: the second is made where requested."""

    def __init__(self, argv, options):
        self.again = lambda: run(argv, options)
        self.first = self.again()
        self.second = None

    def output(self, stream):
        if self.second is None:
            self.second = self.again()
        return getattr(self.first, stream), getattr(self.second, stream)


def compare(checks, name, plain, profiled):
    good = True
    if profiled.returncode != plain.first.returncode:
        good = False
        print("  status %d, without gpuprof %d" % (profiled.returncode, plain.first.returncode))
    for stream in ("stdout", "stderr"):
        plain_text, c = getattr(plain.first, stream), getattr(profiled, stream)
        if plain_text != c and not same(*plain.output(stream), c):
            good = False
            print("  %s\n   with:    %r\n   without: %r" % (stream, c[-600:], plain_text[-600:]))
    checks.expect(good, name)
    if good:
        print("ok: " + name)


def chosen(folder, torch):
    if not torch:
        yield from cases(folder)
        yield from gpu_cases.cases()
        return
    python = gpu_cases.torch_python()
    if python is None:
        e2e.skip("no PyTorch with CUDA, or no simulated libraries built for it")
    yield from gpu_cases.torch_cases(python, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--below", action="store_true")
    parser.add_argument("--part", default="1/1")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    checks = e2e.Checks()
    with e2e.Folder("unchanged") as folder:
        for name, argv, options in list(chosen(folder, arguments.torch))[part - 1::parts]:
            if not re.search(arguments.only, name):
                continue
            if options.get("needs") and not os.path.exists(options["needs"]):
                checks.skip(name + ": this machine has no " + options["needs"])
                continue
            if options.get("script"):
                path = os.path.join(folder, name + ".py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(options["script"])
                argv = [argv[0], path]
            if arguments.below:
                argv = [*BELOW, *argv]
            try:
                check(checks, name, argv, options, folder, arguments.rate)
            except subprocess.TimeoutExpired as late:
                checks.expect(False, "%s: still running after %d s" % (name, late.timeout))
    checks.done()


if __name__ == "__main__":
    main()
