# SPDX-License-Identifier: Apache-2.0
"""The shells load the completions, and what they offer is what the program knows."""

import os
import re
import shutil
import subprocess

import e2e

BASH = os.path.join(e2e.SOURCE, "docs", "completions", "gpuprof.bash")
ZSH = os.path.join(e2e.SOURCE, "docs", "completions", "_gpuprof")
COMMANDS = ("run", "attach", "capture", "status", "stop", "detach", "serve", "env", "report", "diff", "export",
            "doctor", "help")


def offered(words):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); '
              '_gpuprof 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", BASH] + words, capture_output=True,
                          text=True, timeout=e2e.PATIENCE_S)
    return done.stdout.split()


def options_of(command):
    text = subprocess.run([e2e.GPUPROF, "help", command], capture_output=True, text=True).stdout
    names = set()
    for line in text.splitlines():
        if re.match(r"  (-|    --)", line):
            names.update(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.split(r" {2,}", line.strip())[0]))
    return names


def main():
    checks = e2e.Checks()
    if shutil.which("bash"):
        checks.equal(set(offered(["gpuprof", ""])) - {"--help", "--version"},
                     set(COMMANDS), "commands")
        for command in COMMANDS[:-1]:  # help takes a command
            known = options_of(command)
            checks.expect("--help" in known, "help lists options")
            checks.equal(set(offered(["gpuprof", command, "-"])), known, "options of " + command)
        own = str(os.getpid())
        for command in ("attach", "capture", "status", "stop", "detach"):
            checks.equal(offered(["gpuprof", command, own]), [own], command + " is offered processes")
        checks.equal(offered(["gpuprof", "run", "--sampler", "p"]), ["perf"], "values")
        checks.equal([w for w in offered(["gpuprof", "run", "prog", "--fo"]) if w == "--force"], [],
                     "the program's words are not ours")
    else:
        checks.skip("no bash")
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-n", ZSH], capture_output=True, text=True)
        checks.equal((done.returncode, done.stderr), (0, ""), "zsh reads its file")
    else:
        checks.skip("no zsh")
    checks.done()


if __name__ == "__main__":
    main()
