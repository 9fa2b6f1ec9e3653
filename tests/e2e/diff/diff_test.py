# SPDX-License-Identifier: Apache-2.0
"""gpuprof diff on runs of a training on the CPU: what is claimed, conditions, bad input.

usage: diff_test.py [--live | --record]
Without an option the runs are those of recorded/. --live: new ones, which also judge the machine; --record: new ones,
which become those of recorded/ if all of it holds."""

import json
import os
import sys

import recordings
from recordings import e2e

WORK = "planted::work"


def equal_runs(check, runs):
    for before, after in zip(runs, runs[1:]):
        process = recordings.compared(before, after)
        check.equal(recordings.findings(process), [], "claimed of equal runs")
        check.expect(process["before"]["steps"] == 40 and process["times_are_of"] == "step",
                     "steps were found")
    text = recordings.diff(runs[0], runs[1]).stdout.decode()
    check.expect("No significant change." in text, "text says that nothing changed")
    check.expect("steps, " in text and "warm-up step" in text and " left out" in text, "text counts the steps")


def slower_operator(check, before, slow):
    """planted::work does 22 parts where it did 20."""
    process = recordings.compared(before, slow)
    findings = recordings.findings(process)
    check.expect(WORK in findings, "the operator that is 10 %% slower is named: %r" % findings)
    check.expect(set(findings) <= {WORK, "aten::mm"}, "and nothing else: %r" % findings)
    row = next(row for row in process["names"] if row["name"] == WORK)
    check.equal(row["inner_calls"], ["aten::mm 20 → 22"], "why it is slower")
    check.expect(row["total_ns"]["share_before"] > 0.1, "its share of the step is known")
    text = recordings.diff(before, slow).stdout.decode()
    check.expect("operator %s: " % WORK in text.split("Step  ")[0], "text names it at the top")


def pairs(check, runs, slow, again):
    """Two pairs: what both show is claimed; of an equal one nothing is."""
    done = recordings.diff("--json", runs[0], slow, runs[1], again)
    result = json.loads(done.stdout)
    row = next(row for row in result["processes"][0]["names"] if row["name"] == WORK)
    check.equal((len(result["pairs"]), row["significant"], row["shown_by"]), (2, True, 2),
                "two pairs show the slower operator")
    mixed = recordings.diff(runs[0], slow, runs[1], runs[2], "--fail-if", "calls:aten::mm > +5%",
                            "--fail-if", "changes > 0")
    check.equal((mixed.returncode, mixed.stderr), (0, b""), "a condition must hold in every pair")
    text = mixed.stdout.decode()
    check.expect("2 pairs of recordings: " in text and "No significant change." in text and
                 "shown by 1 of 2 pairs" in text, "text says that one pair alone shows it: %r" % text)


def other_program(check, before, more):
    process = recordings.compared(before, more)
    row = next(row for row in process["names"] if row["name"] == "planted::more")
    check.equal((row["presence"], row["significant"]), ("new", True), "an operator that is new")
    check.expect(any("--more" in notice for notice in process["remarks"]),
                 "another command is said")
    gone = recordings.compared(more, before)
    row = next(row for row in gone["names"] if row["name"] == "planted::more")
    check.equal((row["presence"], row["significant"]), ("gone", True), "an operator that is gone")


def conditions(check, before, after, slow):
    def status(*words, files=(before, after)):
        done = recordings.diff(*files, *words)
        return done.returncode, done.stderr.decode()
    check.equal(status("--fail-if", "step_time > +400%"), (0, ""), "a condition that does not hold")
    code, output = status("--fail-if", "step_time > 1us", "--fail-if", "step_time < 1us",
                          "--fail-if", "calls:%s >= 1" % WORK)
    check.equal(code, 1, "conditions that hold")
    check.equal(output.count("holds: "), 2, "each of them is reported: %r" % output)
    check.expect("--fail-if 'step_time > 1us' holds: " in output, "which one is reported")
    code, output = status("--fail-if", "calls:aten::mm > +5%", files=(before, slow))
    check.equal((code, output.count("\n")), (1, 1), "more calls fail")
    check.expect("24 before, 26 after (+8.3 %)" in output, "with both figures: %r" % output)
    for words in (["--fail-if", "steptime > 5%"], ["--fail-if", "step_time > soon"],
                  ["--fail-if", "kernel_time > 5%"], ["--fail-if", "operator:no::such > 5%"],
                  ["--min-change", "much"]):
        code, output = status(*words)
        check.equal((code, output.count("\n")), (2, 1), "refused in one message: %r" % words)
        check.expect(words[0] in output, "the message names it: %r" % output)


def bad_input(check, before, folder):
    text = os.path.join(folder, "text.json")
    with open(text, "w", encoding="utf-8") as file:
        file.write("not a trace")
    os.mkdir(os.path.join(folder, "empty"))
    for words in ([before, text], [before, os.path.join(folder, "empty")],
                  [before, os.path.join(folder, "none")], [before], [before, before, before],
                  [before, before, before, before], [before, before, "--rank", "3"]):
        done = recordings.diff(*words)
        check.equal((done.returncode, done.stdout, done.stderr.count(b"\n")), (2, b"", 1),
                    "refused in one message: %r" % words[1:])


def check_finding(check, paths, folder):
    runs = [paths["run%d" % number] for number in (1, 2, 3)]
    equal_runs(check, runs)
    slower_operator(check, runs[0], paths["slow1"])
    pairs(check, runs, paths["slow1"], paths["slow2"])
    other_program(check, runs[1], paths["more"])
    conditions(check, runs[0], runs[1], paths["slow1"])
    bad_input(check, runs[0], folder)
    same = recordings.compared(runs[0], runs[0])
    check.equal(recordings.findings(same), [], "a run and itself")
    check.expect(json.dumps(same).find("Infinity") < 0, "numbers JSON knows")


def main():
    check = e2e.Checks()
    live = sys.argv[1:] in (["--live"], ["--record"])
    with e2e.Folder("diff") as folder:
        paths = recordings.record_new(folder) if live else recordings.load_recorded(folder)
        check_finding(check, paths, folder)
        if check.failed and live:
            check.too_slow, check.failed = check.failed, 0
        if check.failed or check.too_slow:
            raise SystemExit(check.done())
        if sys.argv[1:] == ["--record"]:
            recordings.keep(paths)
    check.done()


main()
