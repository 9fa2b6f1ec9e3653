# SPDX-License-Identifier: Apache-2.0
"""Makes two functions of machine code at run time, the outer of which calls the inner, which calls strlen.

usage: own_code.py frame-pointer|no-map|foreign-map|no-frame SECONDS   (of CPU time)

frame-pointer: both keep a frame pointer, and the file for perf names them. no-map: there is no such file. foreign-map:
another user wrote it. no-frame: the inner one keeps none, and uses the register for something else."""
import ctypes
import mmap
import os
import sys
import time

kind = sys.argv[1]
print(os.getpid())
libc = ctypes.CDLL(None)
text = ctypes.create_string_buffer(b"x" * (8 << 20))
strlen = ctypes.cast(libc.strlen, ctypes.c_void_p).value

# push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov $FUNCTION,%rax; call *%rax; test %rax,%rax; leave; ret
# (The test is there so that the rest is more than the end of a function.)
WITH_FRAME = (bytes.fromhex("55 48 89 e5 48 83 ec 20 48 b8"), bytes.fromhex("ff d0 48 85 c0 c9 c3"))
# sub $40,%rsp; movabs $FUNCTION,%rax; mov $5,%ebp (saved in the frame); call *%rax; test %rax,%rax; mov 32(%rsp),%rbp;
# add $40,%rsp; ret
WITHOUT = (bytes.fromhex("48 83 ec 28 48 89 6c 24 20 bd 05 00 00 00 48 b8"),
           bytes.fromhex("ff d0 48 85 c0 48 8b 6c 24 20 48 83 c4 28 c3"))

memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))


def make(at, shape, function):
    code = shape[0] + function.to_bytes(8, "little") + shape[1]
    memory[at:at + len(code)] = code
    return base + at, len(code)


inner, inner_bytes = make(256, WITHOUT if kind == "no-frame" else WITH_FRAME, strlen)
outer, outer_bytes = make(0, WITH_FRAME, inner)
path = "/tmp/perf-%d.map" % os.getpid()
if kind != "no-map":
    with open(path, "w") as file:
        file.write("%x %x made_outer\n%x %x made_inner\n" % (outer, outer_bytes, inner, inner_bytes))
    if kind == "foreign-map":
        os.chown(path, 65534, 65534)

call = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(outer)


def calls_it():
    end = time.thread_time() + float(sys.argv[2])
    while time.thread_time() < end:
        assert call(ctypes.addressof(text)) == 8 << 20


calls_it()
