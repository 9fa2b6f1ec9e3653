# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/gpu-checks.md, answered from what the parts found."""

import dataclasses
import datetime

from part import FAILED, NOT_ASKED, OK, SIMULATED, Row


@dataclasses.dataclass
class Question:
    """`answered`: (part, row; "" for all of the part's). `open`: what of the question nothing here asks."""
    answered: list
    open: str = ""


# By number; a text says why nothing here answers.
QUESTIONS = {
    1: Question([("capture", "copies of the library")], "how often InitializeInjection is called, other drivers"),
    2: Question([("witness", "mlp"), ("own_profiler", "its session during ours")], "the result codes"),
    3: Question([("cupti", "")], "releases that were not carried"),
    4: Question([("cupti", "CUPTI 13.3"), ("cupti", "CUPTI 13.4")]),
    5: Question([("own_profiler", "")], "old sessions, which subscribe"),
    6: Question([("witness", ""), ("capture", "times"), ("attach", "times")]),
    7: Question([("order", "all traces")]),
    8: Question([("storm", "64 threads"), ("storm", "64 threads, drops")], "quiet threads, the driver's sanitizer"),
    9: Question([("cost", "")], "a replayed decode loop"),
    10: Question([("memory", "")], "attributes 0, 2 and 6"),
    11: Question([("capture", "times")], "1000 windows"),
    12: Question([("endings", "long")], "how often"),
    13: Question([("endings", "return"), ("endings", "_exit"), ("endings", "return, PyTorch"), ("endings", "_exit, PyTorch"),
                  ("endings", "assert, PyTorch")], "a live process group"),
    14: Question([("endings", "fork"), ("endings", "fork, PyTorch"), ("witness", "mlp")], "a fork before cuInit"),
    15: Question([], "one machine of each kind"),
    16: Question([], "nsys, ncu, cuda-gdb or DCGM beside it"),
    17: Question([("graphs", "made before the window")], "copies"),
    18: Question([("order", "all traces")], "an hour"),
    19: Question([], "attributes beside nvidia-smi -q, and MIG"),
    20: Question([("attach", "")], "names of streams, memory"),
    21: Question([("witness", "")], "streams"),
    22: Question([], "a truth log of the simulated GPU beside a trace"),
    23: Question([("storm", "")]),
    24: Question([("clocks", one + ", after a session") for one in ("kernels", "between the program's own times",
                                                                    "as long as between its events")]
                 + [("own_profiler", "ours, in order")]),
    25: Question([], "tests/e2e/torch_oracle"),
    26: Question([], "tests/e2e/torch_oracle"),
    27: Question([("witness", "NCCL of one rank")], "two ranks"),
    28: Question([("graphs", "steps of a captured training"), ("witness", "Triton")], "owners, torch.compile"),
    29: Question([("attach", "")], "mappings and memory, 20 times"),
    30: Question([("attach", "times"), ("attach", "the program's end")], "strace"),
}


def belongs(row, wanted):
    """`times`: the row of so many windows, whatever their number."""
    part, name = wanted
    return row.part == part and (not name or row.name == name or name == "times" and " times " in row.name
                                 or name.startswith("CUPTI 13.") and row.name.startswith(name))


def answer(number, rows):
    """(verdict, rows that answer, why)."""
    question = QUESTIONS[number]
    found = [row for row in rows if any(belongs(row, one) for one in question.answered)]
    answering = [row for row in found if row.verdict != NOT_ASKED and (row.expected or row.figures)]
    if not answering:
        unanswered = sorted({"the part %s did not run" % part for part, _ in question.answered
                             if not any(row.part == part for row in rows)})
        reasons = [row.why for row in found] + ["; ".join(unanswered), question.open, "no copy of it here"]
        return NOT_ASKED, [], next(filter(None, reasons))
    bad = [row for row in answering if row.verdict == FAILED]
    if bad:
        return FAILED, answering, "; ".join("%s, %s" % (row.part, row.name) for row in bad)
    left = sorted({row.name for row in found if row.verdict == NOT_ASKED})
    return OK, answering, ", ".join(left + [question.open] * bool(question.open))


def as_rows(rows):
    for number in QUESTIONS:
        verdict, answering, why = answer(number, rows)
        parts = sorted({row.part for row in answering})
        text = "answered by " + ", ".join(parts) if answering else ""
        yield Row("row %d" % number, text, "", verdict, "not asked: " + why if verdict == OK and why else why, "rows")


def machine_text(rows, simulated):
    """GPU, driver and the CUPTI that was taken, as the parts told them."""
    figures = {}
    for row in rows:
        figures.update({name: value for name, value in row.figures.items() if value})
    words = [figures.get("gpu") or "GPU unknown",
             "driver %s (CUDA %s)" % (figures.get("driver") or "unknown", figures.get("cuda") or "unknown"),
             "CUPTI " + (figures.get("cupti") or "unknown")]
    return ", ".join(words) + (", " + SIMULATED if simulated else "")


def markdown(rows, simulated):
    """Ready to be pasted into docs/gpu-checks.md."""
    date = datetime.date.today().isoformat()
    lines = ["Run on %s: %s." % (date, machine_text(rows, simulated)), "", "| # | state | result | not asked |",
             "|---|---|---|---|"]
    for number in QUESTIONS:
        verdict, answering, why = answer(number, rows)
        summary = "; ".join("%s, %s: %s%s" % (row.part, row.name, row.result, " (%s)" % row.why if row.why else "") for row in answering)
        state = "not run on a GPU" if verdict == NOT_ASKED or simulated else "%s, %s" % (verdict, date)
        cells = (summary, "" if verdict == FAILED else why)
        lines.append("| %d | %s | %s |" % (number, state, " | ".join(" ".join(text.replace("|", "/").split()) for text in cells)))
    return "\n".join(lines)
