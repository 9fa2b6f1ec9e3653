# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/gpu-checks.md, answered from what the parts found."""

import datetime

from part import FAILED, NOT_ASKED, OK, SIMULATED, Row

# Of each row: (part, row or the beginning of its name) that answer it; or why nothing here does.
ANSWERS = {
    1: [("capture", "copies of our library")],
    2: [("witness", "mlp"), ("own_profiler", "its session")],
    3: [("cupti", "")],
    4: [("cupti", "CUPTI 13.3"), ("cupti", "CUPTI 13.4")],
    5: [("own_profiler", "")],
    6: [("witness", ""), ("capture", "")],
    7: [("order", "all traces")],
    8: "64 threads under load, beside the driver's own sanitizer",
    9: [("cost", "")],
    10: [("memory", "")],
    11: [("capture", "")],
    12: "an exit in the middle of a long kernel",
    13: [("endings", "return"), ("endings", "_exit"), ("endings", "assert")],
    14: [("endings", "fork")],
    15: "one machine of each kind",
    16: "nsys, ncu, cuda-gdb or DCGM beside it",
    17: "a graph instantiated before the window",
    18: [("order", "all traces")],
    19: "attributes beside nvidia-smi -q, and MIG",
    20: [("attach", "")],
    21: [("witness", "")],
    22: "a truth log of the simulated GPU beside a trace",
    23: [("storm", "")],
    24: [("own_profiler", "ours, in order"), ("clocks", "")],
    25: "tests/e2e/torch_oracle",
    26: "tests/e2e/torch_oracle",
    27: [("witness", "NCCL of one rank")],
    28: [("graphs", "steps of a captured training"), ("witness", "Triton")],
    29: [("attach", "")],
    30: [("attach", "")],
}


def belongs(row, wanted):
    part, name = wanted
    return row.part == part and (row.name == name or not name or name.startswith("CUPTI") and row.name.startswith(name))


def answer(number, rows):
    """(verdict, text) of one row."""
    wanted = ANSWERS[number]
    if isinstance(wanted, str):
        return NOT_ASKED, wanted
    found = [row for row in rows if any(belongs(row, one) for one in wanted)]
    asked = [row for row in found if row.verdict != NOT_ASKED]
    if not asked:
        return NOT_ASKED, found[0].why if found else "the part %s did not run" % wanted[0][0]
    bad = [row for row in asked if row.verdict == FAILED]
    if bad:
        return FAILED, "; ".join("%s, %s: %s" % (row.part, row.name, row.why or row.result) for row in bad)
    left_out = sorted({row.name for row in found if row.verdict == NOT_ASKED})
    text = "; ".join("%s: %s" % (row.name, row.result) for row in asked if row.expected)
    return OK, text + ("; not asked: " + ", ".join(left_out) if left_out else "")


def as_rows(rows):
    for number in ANSWERS:
        verdict, text = answer(number, rows)
        why = "" if verdict == OK else text
        yield Row("row %d" % number, text if verdict == OK else "", "", verdict, why, "rows")


def machine_words(rows, simulated):
    """GPU, driver and CUPTI, as the machine and gpuprof doctor told them."""
    figures = {}
    for row in rows:
        figures.update(row.figures if row.part in ("machine", "doctor") else {})
    words = [figures.get("gpu") or "GPU unknown"]
    words.append("driver %s (CUDA %s)" % (figures.get("driver") or "unknown", figures.get("cuda") or "unknown"))
    words.append("CUPTI " + (figures.get("cupti") or "unknown"))
    return ", ".join(words) + (", " + SIMULATED if simulated else "")


def markdown(rows, simulated):
    """Ready to be pasted into docs/gpu-checks.md."""
    date, where = datetime.date.today().isoformat(), machine_words(rows, simulated)
    lines = ["Run on %s: %s." % (date, where), "", "| # | state | result |", "|---|---|---|"]
    for number in ANSWERS:
        verdict, text = answer(number, rows)
        lines.append("| %d | %s, %s | %s |" % (number, verdict, date, text.replace("|", "/")))
    return "\n".join(lines)
