# SPDX-License-Identifier: Apache-2.0
"""Sessions that were recorded once and are judged ever since, so that no verdict depends on the machine.

Beside a test lies `recorded/NAME/` with its trace files, packed by xz, and told.json, what was known of the run.
They were made by the test itself with --record, on a machine without a GPU; what a file says of that machine (host,
folders, interpreter) is replaced, all else stands as it was written."""

import json
import lzma
import os
import re
import socket
import subprocess

import e2e

# Where the recorded programs are said to lie.
ROOT = "/recorded"


class Session:
    """What was recorded under a name; `files` are laid into a folder, with `instead` of what they say."""

    def __init__(self, suite, name, folder, instead=()):
        place = os.path.join(suite, "recorded", name)
        with open(os.path.join(place, "told.json"), encoding="utf-8") as file:
            self.told = json.load(file)
        self.path = os.path.join(folder, name)
        os.makedirs(self.path, exist_ok=True)
        self.files = []
        for packed in sorted(one for one in os.listdir(place) if one.endswith(".xz")):
            self.files.append(os.path.join(self.path, packed[:-len(".xz")]))
            with lzma.open(os.path.join(place, packed)) as source, open(self.files[-1], "wb") as target:
                text = source.read()
                for what, other in instead:
                    text = text.replace(what.encode(), other.encode())
                target.write(text)


def places(python):
    """[(what a trace calls something of this machine, what the recorded one calls it)], longest first."""
    code = "import os, sys, sysconfig, torch; print(os.path.dirname(os.path.dirname(torch.__file__))); " \
           "print(sys.executable); print(os.path.realpath(sys.executable)); print(sys.base_prefix)"
    site, program, real, prefix = subprocess.run([python, "-c", code], capture_output=True, text=True,
                                                 check=True).stdout.split()
    found = {site: ROOT + "/site-packages", program: ROOT + "/bin/python3", real: ROOT + "/bin/python3", prefix: ROOT,
             e2e.SIMGPU: ROOT + "/simgpu", e2e.BUILD: ROOT + "/build", e2e.SOURCE: ROOT + "/source"}
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def told_here(text, python):
    """The text without what it says of this machine."""
    for here, there in places(python):
        text = text.replace(here, there)
    text = re.sub(r'"host(_name)?":"[^"]*"', lambda found: '"host%s":"recorded"' % (found[1] or ""), text)
    return text.replace(socket.gethostname() + "_", "recorded_")


def store(suite, name, paths, told, python):
    """The files as `recorded/NAME` beside a test."""
    place = os.path.join(suite, "recorded", name)
    os.makedirs(place, exist_ok=True)
    for one in os.listdir(place):
        os.unlink(os.path.join(place, one))
    for number, path in enumerate(sorted(paths), 1):
        with e2e.opened(path) as file:
            text = told_here(file.read(), python)
        with lzma.open(os.path.join(place, "recorded_%d.%d.pt.trace.json.xz" % (number, number)), "wb",
                       preset=9 | lzma.PRESET_EXTREME) as file:
            file.write(text.encode())
    with open(os.path.join(place, "told.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(told, indent=1, sort_keys=True) + "\n")
