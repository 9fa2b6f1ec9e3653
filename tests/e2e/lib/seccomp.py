# SPDX-License-Identifier: Apache-2.0
"""Denies one system call, as a container's seccomp profile does (x86-64).

    subprocess.run(command, preexec_fn=seccomp.deny(seccomp.PERF_EVENT_OPEN, errno.EPERM))"""

import ctypes
import os
import platform
import struct

PERF_EVENT_OPEN = 298
PTRACE = 101

AUDIT_ARCH_X86_64 = 0xC000003E
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
OFFSET_NR, OFFSET_ARCH = 0, 4


def supported():
    return platform.machine() == "x86_64" and os.path.exists("/proc/sys/kernel/seccomp")


def program(number, error):
    """The filter as bytes of `struct sock_filter[]`."""
    rows = [(LOAD_WORD, 0, 0, OFFSET_ARCH), (JUMP_IF_EQUAL, 0, 3, AUDIT_ARCH_X86_64),
            (LOAD_WORD, 0, 0, OFFSET_NR), (JUMP_IF_EQUAL, 0, 1, number),
            (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("<HBBI", *row) for row in rows), len(rows)


def deny(number, error):
    """A preexec_fn: from then on the call fails with `error`, also in every
    descendant."""
    libc = ctypes.CDLL(None, use_errno=True)  # found before the fork
    text, length = program(number, error)
    rows = ctypes.create_string_buffer(text, len(text))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", length, ctypes.addressof(rows)), 16)

    def install():
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(
                PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")

    install.kept = rows  # the header points into it
    return install
