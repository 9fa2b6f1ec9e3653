# SPDX-License-Identifier: Apache-2.0
"""Windows of running processes, on machines that let a program rest for as long as a short window lasts."""

import re

import live

# How much longer a window is tried in which nothing ran that could be recorded.
LENGTH_FACTORS = (1, 6, 36)
NOTHING = "no trace file was written"


def lengthened(words, times):
    """The words with each length of a window so many times as long."""
    words = [str(word) for word in words]
    for place in range(1, len(words)):
        length = re.fullmatch(r"(\d+)(ms|s)", words[place])
        if length and words[place - 1] in ("-d", "--active", "--wait"):
            words[place] = "%d%s" % (times * int(length[1]), length[2])
    return words


def cli(*words, files=1, **keywords):
    """live.cli(); again with longer windows while there are fewer files. `again`: it was more than once."""
    for times in LENGTH_FACTORS:
        done = live.cli(*lengthened(words, times), **keywords)
        if len(done.stdout.split()) >= files or (done.returncode != 0 and NOTHING not in done.stderr):
            break
    done.again = times != 1
    return done
