# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check on the simulated GPU: every part answers, the table and the files are complete, planted faults are
told, and a packed tree runs by itself with an empty environment."""

import json
import os
import shutil
import subprocess
import tarfile

import e2e
import sim

SCRIPT = os.path.join(e2e.SOURCE, "scripts", "gpu-check")
MOST_BYTES = 14 << 20
PATIENCE = ["--patience", "20"]
SIMULATED = "on the simulated GPU"
QUESTIONS = 30
PLANTED = {"hang": "it hung", "break": "planted", "wrong": "the program says"}
NEVER_ENDS = b"sleep\x0086413\x00"  # what the planted part that hangs has started


def check(*words, script=SCRIPT, **keywords):
    return subprocess.run([script, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3 * e2e.PATIENCE_S,
                          **keywords)


def results(folder):
    with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
        return json.load(file)


def part_names():
    return [line.split()[0] for line in check("--list").stdout.splitlines()]


def whole(checks, folder):
    done = check("--simulated", *PATIENCE, "--out", folder)
    checks.equal((done.returncode, done.stderr), (0, ""), "status and stderr: " + done.stdout[-3000:])
    checks.expect("FAILED:" not in done.stdout, "no row failed: " + done.stdout)
    lines = done.stdout.splitlines()
    for line in (lines[0], lines[2], lines[-1]):
        checks.expect(SIMULATED in line, "says where it ran: " + line)
    printed = results(folder)
    checks.equal(printed["simulated"], True, "results.json: simulated")
    names = part_names()
    checks.equal([name for name in names if name != "rows" and not any(row["part"] == name for row in printed["rows"])], [],
                 "parts without a row")
    checks.equal(sorted({row["verdict"] for row in printed["rows"]}), ["not asked", "ok"], "verdicts")
    lacking = [row for row in printed["rows"] if row["verdict"] == "not asked" and not row["why"]]
    checks.equal(lacking, [], "what is not asked says why")
    checks.equal(sum("| rows " in line for line in lines), QUESTIONS, "rows of docs/gpu-checks.md")
    checks.equal(sum(os.path.getsize(path) for path in e2e.written(folder)) < MOST_BYTES, True, "what comes back is small")
    with tarfile.open(os.path.join(folder, "traces.tar")) as tar:
        checks.expect(tar.getnames(), "traces are kept")


def questions(checks):
    """The page and the check have the same rows."""
    with open(os.path.join(e2e.SOURCE, "docs", "gpu-checks.md"), encoding="utf-8") as file:
        numbers = [line.split("|")[1].strip() for line in file if line.startswith("| ") and line.split("|")[1].strip().isdigit()]
    checks.equal(numbers, [str(number) for number in range(1, QUESTIONS + 1)], "rows of docs/gpu-checks.md")


def left_running():
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                found += [entry] * (file.read() == NEVER_ENDS)
        except OSError:
            pass
    return found


def planted(checks, folder):
    done = check("--simulated", "--planted", "--out", folder)
    checks.equal(done.returncode, 1, "planted: status: " + done.stdout + done.stderr)
    rows = [row for row in results(folder)["rows"] if row["verdict"] == "FAILED"]
    checks.equal({row["part"]: why in row["why"] for row in rows for why in [PLANTED.get(row["part"], "")]},
                 dict.fromkeys(PLANTED, True), "planted: %r" % rows)
    checks.equal(left_running(), [], "planted: what the part that hung had started")


def packed(checks, folder):
    if shutil.which("ninja") is None or not os.path.exists(os.path.join(e2e.BUILD, "build.ninja")):
        checks.skip("packing wants a build by ninja")
        return
    tree, out = os.path.join(folder, "tree"), os.path.join(folder, "out")
    done = check("--pack", tree)
    if not checks.equal(done.returncode, 0, "packing: " + done.stdout + done.stderr):
        return
    alone = {"PATH": "/usr/bin:/bin", "HOME": folder}
    done = check("--simulated", *PATIENCE, "--only", "machine,doctor,witness", "--out", out, script=os.path.join(tree, "gpu-check"),
                 env=alone, cwd="/")
    checks.equal((done.returncode, done.stderr), (0, ""), "the packed tree: " + done.stdout)
    output = subprocess.run(["ldd", os.path.join(tree, "bin", "gpuprofd")], env=alone, capture_output=True, text=True, check=True)
    checks.expect(os.path.join(tree, "bin", "..", "lib", "needs", "libstdc++.so.6") in output.stdout,
                  "its libraries are its own: " + output.stdout)
    checks.equal(check("--pack", tree).returncode, 2, "a folder that is there is not packed into")


def main():
    sim.require_build()
    checks = e2e.Checks()
    questions(checks)
    checks.equal(check("--only", "nothing").returncode, 2, "an unknown part is refused")
    for case in (whole, planted, packed):
        with e2e.Folder("gpu-check") as folder:
            case(checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
