# SPDX-License-Identifier: Apache-2.0
"""Starts attempts, waits for them, and finds what they leave behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "GPUPROF_TORTURE_MARK"
# Processes of gpuprof may take this long to end once the attempt has.
GRACE_S = 15.0


def patience():
    """How much longer than on a quiet machine a limit has to be: 1 to 8, by the load. A planted bug gets none."""
    if os.environ.get("GPUPROF_TORTURE_PLANT"):
        return 1.0
    return min(8.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def marked(mark):
    """{pid: command line} of the processes started for an attempt, however far they went."""
    found, wanted = {}, ("%s=%s" % (MARK, mark)).encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % entry, "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                found[int(entry)] = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            pass  # ended meanwhile, or not ours to look at
    return found


def end(pid):
    """Ends one process of an attempt."""
    for number in (signal.SIGKILL, signal.SIGCONT):
        try:
            os.kill(pid, number)
        except OSError:
            return


def unmount_below(folder):
    with open("/proc/self/mounts", encoding="utf-8") as file:
        points = [line.split()[1] for line in file]
    for point in reversed([p for p in points if p.startswith(folder + "/")]):
        subprocess.run(["umount", "-l", point], capture_output=True)


class Running:
    """An attempt under way."""

    count = 0

    def __init__(self, fault, seed, plant=""):
        Running.count += 1
        self.fault, self.seed = fault, seed
        self.grace_s = 3.0 if plant else GRACE_S * patience()  # what is planted to stay never ends
        self.mark = "%d-%d" % (os.getpid(), Running.count)
        self.folder = tempfile.mkdtemp(prefix="gpuprof-torture-%s-" % fault.key.replace("/", "-").replace(" ", "_"))
        environment = dict(os.environ, **{MARK: self.mark, "GPUPROF_TORTURE_PLANT": plant, "GPUSIM_QUIET": "1"})
        for name in ("PYTHONPATH", "LD_PRELOAD", "GPUPROF_SOCKET"):
            environment.pop(name, None)
        self.began, self.limit_s = time.monotonic(), fault.limit_s * patience()
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, os.path.join(HERE, "attempt.py"), fault.key, str(seed), self.folder],
                env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    def over(self):
        """Whether it has ended; one that hangs is ended."""
        if self.process.poll() is not None:
            return True
        return time.monotonic() - self.began > self.limit_s

    def result(self):
        """{harms, losses, skips, seconds, folder}; its folder is kept where something was wrong."""
        path = os.path.join(self.folder, "result.json")
        if self.process.poll() is None:
            found = {"harms": ["hung: no end after %d s: %s" % (
                self.limit_s, "; ".join(c[:100] for c in marked(self.mark).values()))], "losses": [], "skips": [], "checked": 1}
            self.process.kill()
            self.process.wait()
            self.clear(0.0)
        else:
            try:
                with open(path, encoding="utf-8") as file:
                    found = json.load(file)
            except (OSError, ValueError):
                found = {"harms": ["the attempt died (status %d): see its log" % self.process.returncode], "losses": [],
                         "skips": [], "checked": 1}
            found["harms"] += ["left behind: %d %s" % (pid, line[:160]) for pid, line in self.clear(self.grace_s).items()]
        unmount_below(self.folder)
        found["seconds"] = time.monotonic() - self.began
        found["folder"] = self.folder
        if not found["harms"] and not found["losses"]:
            shutil.rmtree(self.folder, ignore_errors=True)
        return found

    def clear(self, grace_s):
        """Waits until all have ended; ends and returns those that do not."""
        until = time.monotonic() + grace_s
        while (left := marked(self.mark)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            end(pid)
        return left
