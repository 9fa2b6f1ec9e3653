# SPDX-License-Identifier: Apache-2.0
"""Sessions that were recorded once and are checked since then, so that no result depends on the machine.

Beside a test lies `recorded/NAME/` with its trace files, packed by xz, and told.json, what was known of the run.
They were made by the test itself with --record, on a machine without a GPU; what a file states about that machine (host,
folders, interpreter) is replaced, all else stands as it was written."""

import json
import lzma
import os
import re
import socket
import subprocess

import e2e

# Replaces the folders of this machine in the recorded files.
ROOT = "/recorded"


class Session:
    """A recorded session by its name; its `files` are unpacked into a folder, with the replacements of `instead`."""

    def __init__(self, suite, name, folder, instead=()):
        directory = os.path.join(suite, "recorded", name)
        with open(os.path.join(directory, "told.json"), encoding="utf-8") as file:
            self.metadata = json.load(file)
        self.path = os.path.join(folder, name)
        os.makedirs(self.path, exist_ok=True)
        self.files = []
        for packed in sorted(one for one in os.listdir(directory) if one.endswith(".xz")):
            self.files.append(os.path.join(self.path, packed[:-len(".xz")]))
            with lzma.open(os.path.join(directory, packed)) as source, open(self.files[-1], "wb") as target:
                text = source.read()
                for what, other in instead:
                    text = text.replace(what.encode(), other.encode())
                target.write(text)


def machine_paths(python):
    """[(path on this machine, what replaces it in a recorded trace)], longest first."""
    code = "import os, sys, sysconfig, torch; print(os.path.dirname(os.path.dirname(torch.__file__))); " \
           "print(sys.executable); print(os.path.realpath(sys.executable)); print(sys.base_prefix)"
    site, program, real, prefix = subprocess.run([python, "-c", code], capture_output=True, text=True,
                                                 check=True).stdout.split()
    found = {site: ROOT + "/site-packages", program: ROOT + "/bin/python3", real: ROOT + "/bin/python3", prefix: ROOT,
             e2e.SIMGPU: ROOT + "/simgpu", e2e.BUILD: ROOT + "/build", e2e.SOURCE: ROOT + "/source"}
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def anonymized(text, python):
    """The text with host, folders and interpreter of this machine replaced."""
    for here, there in machine_paths(python):
        text = text.replace(here, there)
    text = re.sub(r'"host(_name)?":"[^"]*"', lambda found: '"host%s":"recorded"' % (found[1] or ""), text)
    return text.replace(socket.gethostname() + "_", "recorded_")


def store(suite, name, paths, metadata, python):
    """Stores the files as `recorded/NAME` beside a test."""
    directory = os.path.join(suite, "recorded", name)
    os.makedirs(directory, exist_ok=True)
    for one in os.listdir(directory):
        os.unlink(os.path.join(directory, one))
    for number, path in enumerate(sorted(paths), 1):
        with e2e.open_trace(path) as file:
            text = anonymized(file.read(), python)
        with lzma.open(os.path.join(directory, "recorded_%d.%d.pt.trace.json.xz" % (number, number)), "wb",
                       preset=9 | lzma.PRESET_EXTREME) as file:
            file.write(text.encode())
    with open(os.path.join(directory, "told.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(metadata, indent=1, sort_keys=True) + "\n")
