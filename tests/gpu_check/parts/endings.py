# SPDX-License-Identifier: Apache-2.0
"""However a program ends: status and output are those of a plain run, and what it launched is in the trace."""

import collections

from context import TRIES
from part import Part, checked_row

ENDINGS = ("return", "exit3", "_exit", "exception", "kill", "abort", "fork", "long")
# What was launched is delivered before nobody can ask for it any more: once a second with some releases of CUPTI.
REST_S, SIMULATED = 2, 0.5
LAUNCHES = 40  # of one kernel; PyTorch has others besides


def run_ending(context, library, how):
    command = context.on_gpu(context.program("endings.py", library, how, SIMULATED if context.simulated else REST_S))
    plain = context.run(command, 40)
    # Whoever is killed can say nothing of records that a busy machine had not delivered yet.
    for _ in range(TRIES if context.simulated and how == "kill" else 1):
        recording = context.record("endings-%s-%s" % (library, how), command)
        result, seen = recording.done, recording.trace()
        names = collections.Counter(one.name for one in seen.of("kernel"))
        kernels = max(names.values(), default=0)
        if kernels == LAUNCHES:
            break
    # The assert ends the context: how many of its records come is CUPTI's affair.
    wanted = LAUNCHES if how != "assert" else None
    same = (result.status, result.out) == (plain.status, plain.out)
    good = same and (wanted is None or kernels == wanted) and not result.hung
    why = "" if same else "a plain run: status %s and %r; here %r" % (plain.status, plain.out[-100:], result.out[-100:])
    return checked_row(how if library == "driver" else "%s, %s" % (how, "PyTorch"), good,
                       "status %s, %s, %d kernels" % (result.status, "same output" if same else "OTHER output", kernels),
                       "status %s, same output%s" % (plain.status, ", %d kernels" % wanted if wanted else ""),
                       why or result.last_lines())


def run(context):
    cases = [("driver", how) for how in ENDINGS]
    if context.lacks("torch") is None:
        cases += [("torch", how) for how in (*ENDINGS[:-1], "assert")]
    yield from context.each(lambda case: run_ending(context, *case), cases)


PART = Part("endings", "return, exit 3, _exit, exception, SIGKILL, abort, fork, a kernel in flight", 75, (), run)
