# SPDX-License-Identifier: Apache-2.0
"""What a daemon has stored so far of a running recording."""

import glob
import os
import time

from e2e import PATIENCE_S

# Of files of records with a few stacks: their heads and what a process states about itself are less.
FILLED_BYTES = 12000


def spool_of(out):
    """The spool below an output folder once it is there with a file of records; None: it never comes."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for found in glob.glob(os.path.join(out, ".gpuprof-spool-*", "*.spool")):
            return os.path.dirname(found)
        time.sleep(0.02)
    return None


def stored_bytes(spool):
    return sum(os.path.getsize(path) for path in glob.glob(os.path.join(spool, "*.spool")))


def filled_spool_of(out):
    """The same once there is something in it."""
    spool, end = spool_of(out), time.monotonic() + PATIENCE_S
    while spool and stored_bytes(spool) < FILLED_BYTES and time.monotonic() < end:
        time.sleep(0.02)
    return spool


def count_filled_spools(out):
    """How many processes have something in a spool below an output folder."""
    return sum(os.path.getsize(path) >= FILLED_BYTES
               for path in glob.glob(os.path.join(out, ".gpuprof-spool-*", "*.spool")))


def daemon_of(spool):
    """The process that writes it."""
    return int(os.path.basename(spool).split("-")[2])
