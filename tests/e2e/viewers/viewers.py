# SPDX-License-Identifier: Apache-2.0
"""Runs the real viewers, each with the Python it was installed for."""

import json
import os
import shutil
import subprocess
import tempfile

import e2e

HERE = os.path.dirname(os.path.abspath(__file__))
VENVS = os.environ.get("GPUPROF_VENVS") or os.path.join(e2e.SOURCE, ".venvs")


def python_of(name):
    path = os.path.join(VENVS, name, "bin", "python")
    return path if os.path.exists(path) else None


def run_view(venv, script, folder, *more):
    """The script's JSON, or None where its environment is not installed."""
    python = python_of(venv)
    if python is None:
        return None
    # Files, not pipes: a helper process that outlives the viewer would keep a pipe open.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as log:
        status = subprocess.run([python, os.path.join(HERE, script), folder, *more], stdout=out,
                                stderr=log, timeout=600,
                                env={**os.environ, "PYTHONPATH": ""}).returncode
        out.seek(0)
        log.seek(0)
        if status != 0:
            raise RuntimeError("%s failed:\n%s" % (script, log.read()[-4000:]))
        return json.loads(out.read())


def plugin(folder):
    return run_view("view", "plugin_views.py", folder)


def diff(folder):
    """The plugin's comparison of a folder's two runs."""
    return run_view("view", "plugin_diff.py", folder)


def hta(folder, *more):
    return run_view("hta", "hta_views.py", folder, *more)


def xprof(folder, *more):
    """What xprof's tools say of a folder's profiles, and the curves in it."""
    return run_view("xprof", "xprof_views.py", folder, *more)


def step_lengths(viewer, folder):
    """Of "plugin", "hta" or "xprof": how long its tables say each step is, in microseconds."""
    return run_view("view" if viewer == "plugin" else viewer, "step_lengths.py", folder, viewer)


def perfetto(trace, **queries):
    """{name: rows} of SQL in Perfetto's trace processor, and "losses": what it could not import."""
    node = shutil.which("node") or shutil.which("nodejs")
    recent = "process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)"
    if node is None or subprocess.run([node, "-e", recent]).returncode != 0:
        return None
    return run_view("formats", "perfetto_views.py", trace, *("%s=%s" % pair for pair in queries.items()))


def pprof(path):
    return run_view("formats", "pprof_views.py", path)


def speedscope(path):
    return run_view("formats", "speedscope_views.py", path)


def require_viewer(*names):
    """Skips the test unless one of the environments is there."""
    if not any(python_of(name) for name in names):
        e2e.skip("no viewer is installed under %s: run scripts/setup --viewers" % VENVS)
