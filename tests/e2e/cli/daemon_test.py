# SPDX-License-Identifier: Apache-2.0
"""Daemons that misbehave: before the program starts that is status 125, afterwards never."""

import os

import e2e

FAKE = os.path.join(e2e.SOURCE, "tests", "fakes", "fake_daemon.py")


def run(how, folder, *more):
    environment = dict(os.environ, FAKE_DAEMON=how)
    return e2e.gpuprof(["--daemon", FAKE, "-o", os.path.join(folder, "out")] + list(more),
                       ["sh", "-c", "echo ran; sleep 0.3; exit 4"], cwd=folder, env=environment)


def main():
    checks = e2e.Checks()
    with e2e.Folder("daemon") as folder:
        out = os.path.join(folder, "out")
        for how, part in [("dies", "ended without a response"), ("refuses", "no disk space"),
                          ("old", "different versions"), ("garbage", "invalid message")]:
            done = run(how, folder)
            text = done.stderr.decode()
            checks.equal((done.returncode, done.stdout), (125, b""), "%s: nothing was started" % how)
            checks.expect(part in text and text.count("\n") == 1, "%s says %r" % (how, text))
            checks.expect(not os.path.exists(out), "%s: no folder is left" % how)
        done = e2e.gpuprof(["--daemon", "/bin/true", "-o", out], ["sh", "-c", "echo ran"], cwd=folder)
        text = done.stderr.decode()
        checks.equal((done.returncode, done.stdout), (125, b""), "a program that is no gpuprofd")
        checks.expect("'/bin/true' ended without a response" in text and text.count("\n") == 1, text)
        for how, part in [("dies-later", "nothing to recover"), ("nonsense", "cannot read the summary")]:
            done = run(how, folder)
            checks.equal((done.returncode, done.stdout), (4, b"ran\n"), "%s: status" % how)
            checks.expect(part in done.stderr.decode(), "%s says %r" % (how, done.stderr))
            checks.equal(run(how, folder, "--strict").returncode, 125, "%s, strict" % how)
        done = run("good", folder)
        checks.equal((done.returncode, done.stdout), (4, b"ran\n"), "good: status")
        checks.expect("ended with 1024" in done.stderr.decode(), "good says %r" % done.stderr)
        checks.equal(run("good", folder, "--strict").returncode, 4, "good, strict")
        checks.expect("" == run("good", folder, "-q").stderr.decode(), "good and quiet")
    checks.done()


if __name__ == "__main__":
    main()
