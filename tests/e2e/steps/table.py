# SPDX-License-Identifier: Apache-2.0
"""The programs, how many steps each truly has, and how the steps are to be found."""

import dataclasses


@dataclasses.dataclass
class Program:
    command: str          # script and arguments
    steps: int            # 0: it has none
    source: str = "loop+optimizer"
    tail: int = 0         # steps without operators that may follow
    where: str = ""       # the file whose loop it is; "": the script; "-": any
    timeout: int = 600
    needs: str = ""       # "compiler": of C++
    options: tuple = ()   # of gpuprof


def shape(form, steps, source="loop+optimizer"):
    return Program("shapes.py " + form, steps, source)


TABLE = {
    "plain": Program("plain.py", 30),
    "momentum": Program("plain.py --optimizer momentum --zero first", 30),
    "adamw": Program("plain.py --optimizer adamw", 30),
    "fused": Program("plain.py --optimizer fused", 30),
    "zero-zeros": Program("plain.py --zero zeros", 30),
    "zero-model": Program("plain.py --zero model", 30),
    "zero-manual": Program("plain.py --zero manual", 30),
    "compiled-model": Program("compiled.py model", 20, timeout=600, needs="compiler"),
    "compiled-step": Program("compiled.py step", 20, "loop", timeout=600, needs="compiler"),
    "compiled-optimizer": Program("compiled.py optimizer", 20, "loop", timeout=600,
                                  needs="compiler"),
    "loader": Program("loader.py", 24),
    "loader-workers": Program("loader.py --workers 2", 24),
    "evaluation": Program("loader.py --epochs 3 --evaluate", 36),
    "accumulate-nested": Program("accumulate.py nested", 12),
    "accumulate-flat": Program("accumulate.py flat", 30),
    "accumulate-slowly": Program("accumulate.py slowly", 4),
    "accumulate-map": Program("accumulate.py map", 12),
    "temperature": Program("calibrate.py temperature", 120, "loop"),
    "warm-up": Program("calibrate.py warm-up", 3000, "loop"),
    "gan": Program("adversaries.py 1", 15),
    "critic": Program("adversaries.py 5", 15),
    "critic-slow-start": Program("adversaries.py 5 7", 15),
    "scaler": Program("scaler.py", 27),
    "lbfgs": Program("closures.py lbfgs", 15),
    "lightning-like": Program("closures.py lightning", 15),
    "gradient-hooks": Program("hooks.py gradient", 20),
    "module-hooks": Program("hooks.py modules", 20),
    "checkpoint": Program("hooks.py checkpoint", 20),
    "alternating": shape("alternating", 20),
    "comprehension": shape("comprehension", 20),
    "while-true": shape("while_true", 17),
    "continue": shape("with_continue", 20),
    "nested-functions": shape("nested_functions", 24),
    "generator": shape("generator", 20),
    "recursion": shape("recursion", 20),
    "endless-iterator": shape("endless_iterator", 33),
    "early-break": shape("early_break", 15),
    "exceptions": shape("caught", 20),
    "by-hand": shape("by_hand", 20, "loop"),
    "inference": shape("inference", 20, "loop"),
    "one-operator": shape("one_call_site", 200, "loop"),
    "tokens": shape("tokens", 48, "loop"),
    "generation": Program("generate.py plain", 40, "loop"),
    "generation-module": Program("generate.py module", 40, "loop"),
    "generation-logged": Program("generate.py logged", 40, "loop"),
    "threads": Program("threads.py 40", 40),
    "threads-long": Program("threads.py 3000", 3000),
    "critic-no-stacks": Program("adversaries.py 5", 15, options=("--no-with-stack",)),
    "tokens-no-stacks": Program("shapes.py tokens", 48, "loop",
                                options=("--no-with-stack", "--no-with-modules")),
    "workers-no-stacks": Program("loader.py --workers 2", 24, options=("--no-with-stack",)),
    "user-schedule": Program("user_schedule.py", 20, "user", tail=1),
    "accelerate": Program("packages.py accelerate", 14, where="-"),
    "lightning": Program("packages.py lightning", 18, where="-"),
    "transformers": Program("packages.py transformers", 12, where="-"),
    "stepless-script": Program("stepless.py straight", 0),
    "stepless-recursion": Program("stepless.py recursive", 0),
    "stepless-requests": Program("stepless.py requests", 0),
    "stepless-compiled": Program("stepless.py compiled", 0),
}
