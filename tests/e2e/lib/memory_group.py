# SPDX-License-Identifier: Apache-2.0
"""A new memory cgroup (version 1 or 2), where this machine permits it."""

import os
import time

LIMIT, SWAP, EVENTS = range(3)
V1 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control")
V2 = ("memory.max", "memory.swap.max", "memory.events")


def current_cgroup():
    """Folder of the cgroup this process is in, and its files' names; or None."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            rows = [line.strip().split(":", 2) for line in file]
    except OSError:
        return None
    for _, controllers, path in rows:
        if "memory" in controllers.split(","):
            # In a container the path is the host's; what is mounted here may begin lower.
            for folder in ("/sys/fs/cgroup/memory" + path, "/sys/fs/cgroup/memory"):
                if os.path.isdir(folder):
                    return folder, V1
    for _, controllers, path in rows:
        folder = "/sys/fs/cgroup" + path
        if controllers == "" and os.path.exists(os.path.join(folder, "cgroup.controllers")):
            return folder, V2
    return None


class MemoryGroup:
    """As a context: the group, or None where none can be made. Gone afterwards."""

    def __init__(self, name, limit_bytes):
        self.name, self.limit = "%s-%d" % (name, os.getpid()), limit_bytes

    def __enter__(self):
        self.path = None
        found = current_cgroup()
        if found is None:
            return None
        parent, self.files = found
        path = os.path.join(parent, self.name)
        try:
            os.mkdir(path)
            self.path = path
            self.write(LIMIT, str(self.limit))
        except OSError:
            self.__exit__()
            return None
        try:
            self.write(SWAP, str(self.limit) if self.files is V1 else "0")
        except OSError:
            pass  # no swap accounting: then nothing is swapped either, or the kill comes later
        return self

    def write(self, which, text):
        with open(os.path.join(self.path, self.files[which]), "w", encoding="utf-8") as file:
            file.write(text)

    def shell(self):
        """Shell words that put the shell itself into the group."""
        return "echo 0 >'%s/cgroup.procs'" % self.path

    def oom_kills(self):
        """How many processes the kernel has killed here for want of memory."""
        with open(os.path.join(self.path, self.files[EVENTS]), encoding="utf-8") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))

    def __exit__(self, *_):
        for _ in range(100):
            if self.path is None:
                return
            try:
                os.rmdir(self.path)
                self.path = None
            except OSError:
                time.sleep(0.05)  # a process of it is still ending
