# SPDX-License-Identifier: Apache-2.0
"""Checks gpuprof on the GPU of this machine: asks what docs/gpu-checks.md lists, prints one table, keeps what matters.

    scripts/gpu-check [--only PART,...] [--out FOLDER]
    scripts/gpu-check --simulated
    scripts/gpu-check --pack FOLDER

Runs with the Python that starts it and the PyTorch, JAX, CuPy and Triton that it has. Each part has a limit of its own;
one that hangs is killed with all that it started, and costs the rows that it had not answered. All of it takes five
minutes at most. The table goes to stdout, progress to stderr where that is a terminal. FOLDER then holds table.md,
results.json, gpu-checks.md (rows for docs/gpu-checks.md) and traces.tar, less than 14 MiB together. Exit status: 0 if
no row FAILED, 1 if one did, 2 if nothing could be asked."""

import argparse
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import processes  # noqa: E402
import questions  # noqa: E402
import table  # noqa: E402
from context import ROOT, Context  # noqa: E402
from part import FAILED, SIMULATED, Row, not_asked  # noqa: E402
from parts import all as parts  # noqa: E402

WHOLE_S = 300
LEAST_S = 5  # a part that has less than this left is not begun
LEAVING_S = 3  # daemons write their files after the program's end


def standard_build():
    """Where the programs are: in a packed tree they lie beside the check."""
    packed = os.path.exists(os.path.join(ROOT, "bin", "gpuprof"))
    return os.environ.get("GPUPROF_BUILD") or (ROOT if packed else os.path.join(ROOT, "build", "release"))


def arguments():
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PART,...", help="these parts alone, in their own order")
    parser.add_argument("--out", metavar="FOLDER", default="gpu-check-results", help="where results go [./gpu-check-results]")
    parser.add_argument("--list", action="store_true", help="name the parts, with their limits, and end")
    parser.add_argument("--simulated", action="store_true",
                        help="on the simulated GPU of the tests: that the check itself works")
    parser.add_argument("--times", type=int, help="windows of attach and of capture [10; 2 on the simulated GPU]")
    parser.add_argument("--patience", type=float, default=1, metavar="N", help="every limit N times as long: a busy machine")
    parser.add_argument("--planted", action="store_true", help="run three faults instead, each of which the table must tell")
    parser.add_argument("--build", metavar="FOLDER", default=standard_build(),
                        help="the build folder [$GPUPROF_BUILD, else build/release; in a packed tree the tree]")
    parser.add_argument("--pack", metavar="FOLDER",
                        help="make a tree here that needs neither a build nor an installation elsewhere")
    parser.add_argument("--cupti", metavar="FOLDER", help="with --pack: copies of CUPTI to take along, RELEASE/libcupti.so.N each")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    return parser, options


def chosen(parser, options):
    if options.planted:
        return list(parts.PLANTED), False
    names = [part.name for part in parts.PARTS] + [parts.ROWS]
    requested = options.only.split(",") if options.only else names
    unknown = [name for name in requested if name not in names]
    if unknown:
        parser.error("there is no part %s; there are %s" % (unknown[0], ", ".join(names)))
    return [part for part in parts.PARTS if part.name in requested], parts.ROWS in requested


def context_of(options, folder):
    return Context(options.build, options.simulated, folder, options.patience, options.times)


def run_child(options):
    """A part, in a process of its own: each row a line of JSON as soon as it is known."""
    name, folder = options.child.split(":", 1)
    context, part = context_of(options, folder), parts.by_name(name)
    lacks = next(filter(None, map(context.lacks, part.needs)), None)
    with open(os.path.join(folder, name + ".rows"), "a", encoding="utf-8") as file:
        for row in [not_asked(part.name, lacks)] if lacks else part.run(context):
            row.part = name
            file.write(json.dumps(dataclasses.asdict(row)) + "\n")
            file.flush()


def rows_in(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [Row(**json.loads(line)) for line in file if line.endswith("\n")]
    except OSError:
        return []


def kept_in(folder):
    """What goes into traces.tar."""
    kept = os.path.join(folder, "kept")
    os.makedirs(kept, exist_ok=True)
    return kept


def run_part(part, options, folder, left_s):
    """Its rows; a part that hangs or breaks has one more."""
    limit = min(part.limit_s * options.patience, left_s)
    command = [sys.executable, os.path.abspath(__file__), "--child", "%s:%s" % (part.name, folder), "--build", options.build,
               "--patience", str(options.patience)]
    command += ["--simulated"] * options.simulated + (["--times", str(options.times)] if options.times else [])
    log_path = os.path.join(folder, part.name + ".log")
    with open(log_path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
            below = processes.below(process.pid)
            processes.kill(below + [process.pid])
            process.wait()
    processes.clear(LEAVING_S if status is None or status else 0.5)
    rows = rows_in(os.path.join(folder, part.name + ".rows"))
    if status is None and limit == left_s:
        rows.append(Row("the rest", verdict="not asked", why="the five minutes were over", part=part.name))
    elif status is None:
        shutil.copy(log_path, os.path.join(kept_in(folder), part.name + ".log"))
        rows.append(Row("the part", "did not end within %g s: killed, and %d that it had started" % (limit, len(below)), "an end", FAILED,
                        "it hung", part.name))
    elif status:
        shutil.copy(log_path, os.path.join(kept_in(folder), part.name + ".log"))
        with open(log_path, encoding="utf-8", errors="replace") as log:
            last_lines = log.read().strip().splitlines()[-1:] or ["no word"]
        rows.append(Row("the part", "ended with status %d" % status, "0", FAILED, last_lines[0][:300], part.name))
    return rows


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


def run_parts(chosen_parts, options, folder):
    began, rows = time.monotonic(), []
    for number, part in enumerate(chosen_parts, 1):
        left = WHOLE_S * options.patience - (time.monotonic() - began)
        progress("%d of %d: %s, %.0f s left" % (number, len(chosen_parts), part.name, left))
        if left < LEAST_S:
            rows.append(Row("all", verdict="not asked", why="the five minutes were over", part=part.name))
            continue
        rows += run_part(part, options, folder, left)
        yield rows, time.monotonic() - began
    progress("")
    yield rows, time.monotonic() - began


def write(out, folder, options, rows, text, seconds):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "table.md"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"simulated": options.simulated, "date": time.strftime("%Y-%m-%d"), "seconds": round(seconds, 1),
                   "machine": questions.machine_text(rows, options.simulated),
                   "rows": [dataclasses.asdict(row) for row in rows]}, file, indent=1)
    with open(os.path.join(out, "gpu-checks.md"), "w", encoding="utf-8") as file:
        file.write(questions.markdown(rows, options.simulated) + "\n")
    with tarfile.open(os.path.join(out, "traces.tar"), "w") as tar:
        for name in sorted(os.listdir(kept_in(folder))):
            tar.add(os.path.join(kept_in(folder), name), name)


def report(rows, seconds, options, with_rows):
    """All that is printed."""
    title = "# gpuprof's check %s" % (SIMULATED + ": nothing here was measured" if options.simulated else "on a GPU")
    answers = list(questions.as_rows(rows)) if with_rows else []
    text = [title, "", *table.lines(rows + answers, options.simulated), ""]
    if with_rows:
        text += ["## For docs/gpu-checks.md" + (" (%s: not to be pasted)" % SIMULATED if options.simulated else ""), "",
                 questions.markdown(rows, options.simulated), ""]
    return "\n".join(text + [table.last_line(rows, seconds, options.simulated), ""])


def check(parser, options):
    chosen_parts, with_rows = chosen(parser, options)
    for path in [os.path.join(options.build, "bin", "gpuprof")] + \
            [os.path.join(options.build, "simgpu", "bin", "gpusim-run")] * options.simulated:
        if not os.path.exists(path):
            print("gpu-check: not built: %s (scripts/build, or --build FOLDER)" % path, file=sys.stderr)
            return 2
    # Where it is ended early, all that it started goes with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    processes.adopt_orphans()
    folder = tempfile.mkdtemp(prefix="gpuprof-check-")
    try:
        # After each part: whoever ends all of this early has what was asked until then.
        for rows, seconds in run_parts(chosen_parts, options, folder):
            text = report(rows, seconds, options, with_rows)
            write(os.path.abspath(options.out), folder, options, rows, text, seconds)
    finally:
        processes.clear(0)
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(text)
    return 1 if any(row.verdict == FAILED for row in rows) else 0


def main():
    parser, options = arguments()
    if options.child:
        return run_child(options)
    if options.list:
        for part in parts.PARTS:
            print("%-13s %4d s  %s" % (part.name, part.limit_s, part.about))
        print("%-13s         %s" % (parts.ROWS, parts.ROWS_ABOUT))
        return 0
    if options.pack:
        import pack
        return pack.pack(options.build, os.path.abspath(options.pack), options.cupti)
    return check(parser, options)


if __name__ == "__main__":
    sys.exit(main())
