# SPDX-License-Identifier: Apache-2.0
"""Unedited programs of Keras and JAX on the CPU, recorded: they end and print as without gpuprof, nine of
ten stacks of the main thread reach the script's own lines (imports go deeper than stacks are taken), xprof opens the files, and what is missing is reported."""

import os
import subprocess
import sys

import e2e

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "viewers"))
import viewers  # noqa: E402

ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2", "OMP_NUM_THREADS": "2"}


def plain(command):
    return subprocess.run(command, env=dict(os.environ, **ENVIRONMENT), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)


def check(checks, python, name, folder):
    script, output = os.path.join(HERE, name + ".py"), os.path.join(folder, name)
    wanted = plain([python, script])
    checks.equal(wanted.returncode, 0, "%s runs by itself: %s" % (name, wanted.stderr[-300:]))
    done = e2e.gpuprof(["--format", "tensorboard,xplane", "-o", output], [python, script],
                       env=dict(os.environ, **ENVIRONMENT), timeout=600)
    checks.equal((done.returncode, done.stdout), (wanted.returncode, wanted.stdout), name + ": status and stdout")
    summary = done.stderr.decode(errors="replace")
    checks.expect("missing: no operators" in summary, "%s: the missing operators are named: %s"
                  % (name, summary[-600:]))
    found = viewers.xprof(output, script)
    checks.equal(len(found["profiles"]["runs"]), 1, name + ": sessions")
    for session in found["profiles"]["runs"].values():
        for host, views in session["hosts"].items():
            checks.expect({"trace_viewer@", "overview_page"} <= set(views), "%s: tools" % name)
            main = "/%s samples" % host.split("_")[-1]
            sampled = [one for row, one in found["sampled"][host].items() if row.endswith(main)]
            checks.equal(len(sampled), 1, "%s: a row of samples of the main thread" % name)
            for all_us, script_us in sampled:
                checks.expect(script_us >= 0.9 * all_us, "%s: the script is in %.1f of %.1f ms of the main thread"
                              % (name, script_us / 1e3, all_us / 1e3))
            messages = views["overview_page"]["messages"]
            checks.expect(any("no operators" in text for text in messages), "%s: messages %r" % (name, messages))


def main():
    viewers.require_viewer("xprof")
    python = viewers.python_of("frameworks")
    if python is None:
        e2e.skip("no TensorFlow and JAX under .venvs: run scripts/setup --frameworks")
    checks = e2e.Checks()
    with e2e.Folder("frameworks") as folder:
        for name in ("keras_fit", "jax_loop"):
            check(checks, python, name, folder)
    checks.done()


if __name__ == "__main__":
    main()
