# SPDX-License-Identifier: Apache-2.0
"""As much of the CUDA driver API as the programs beside this file need, by ctypes: it is there wherever a driver is,
and counts what it was asked for."""

import collections
import ctypes

# Compiled by the driver. `spin` lasts so many clocks; the simulated GPU reads neither.
PTX = """
.version 6.4
.target sm_%s
.address_size 64
.visible .entry gpu_check_empty() { ret; }
.visible .entry gpu_check_spin(.param .u64 clocks)
{
  .reg .pred %%p<2>;
  .reg .u64 %%rd<4>;
  ld.param.u64 %%rd1, [clocks];
  mov.u64 %%rd2, %%clock64;
again:
  mov.u64 %%rd3, %%clock64;
  sub.u64 %%rd3, %%rd3, %%rd2;
  setp.lt.u64 %%p1, %%rd3, %%rd1;
  @%%p1 bra again;
  ret;
}
"""
TARGETS = ("75", "70")  # the first that the driver takes
KERNELS = ("gpu_check_empty", "gpu_check_spin")
RELAXED = 2  # a capture that other threads do not end


class Driver:
    """A context on the first device. `counts`: what was launched, by what a trace calls it."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.counts = collections.Counter()
        self.call("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.join()
        module = self.module()
        self.kernels = {}
        for name in KERNELS:
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            self.kernels[name] = function

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError("%s gave %d" % (name, status))

    def join(self):
        """The calling thread uses this context."""
        self.call("cuCtxSetCurrent", self.context)

    def module(self):
        for target in TARGETS:
            module = ctypes.c_void_p()
            image = ctypes.c_char_p((PTX % target).encode())
            if self.library.cuModuleLoadData(ctypes.byref(module), image) == 0:
                return module
        raise RuntimeError("the driver compiles none of the kernels")

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def wait(self, stream=None):
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            self.call("cuStreamSynchronize", stream)

    def launcher(self, name, stream, clocks=None):
        """A function that launches it; made once, since ctypes takes longer to prepare a call than to make it."""
        parameters = None
        if clocks is not None:
            value = ctypes.c_uint64(clocks)
            parameters = (ctypes.c_void_p * 1)(ctypes.addressof(value))
            parameters.kept = value
        launch, one = self.library.cuLaunchKernel, ctypes.c_uint(1)
        words = (self.kernels[name], one, one, one, ctypes.c_uint(32), one, one, ctypes.c_uint(0), stream, parameters, None)
        return lambda: launch(*words)

    def launch(self, name, stream, clocks=None):
        if self.launcher(name, stream, clocks)():
            raise RuntimeError("a launch was refused")
        self.counts[name] += 1

    def memory(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def copy_in(self, device, host, stream):
        self.call("cuMemcpyHtoDAsync_v2", device, host, ctypes.c_size_t(len(host)), stream)
        self.counts["HtoD"] += 1

    def copy_out(self, host, device, stream):
        self.call("cuMemcpyDtoHAsync_v2", host, device, ctypes.c_size_t(len(host)), stream)
        self.counts["DtoH"] += 1

    def set(self, device, size, stream):
        self.call("cuMemsetD8Async", device, ctypes.c_ubyte(1), ctypes.c_size_t(size), stream)
        self.counts["set"] += 1

    def graph(self, stream, nodes):
        """A graph of so many empty kernels, ready to be launched."""
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        launch = self.launcher("gpu_check_empty", stream)
        self.call("cuStreamBeginCapture_v2", stream, RELAXED)
        for _ in range(nodes):
            launch()
        self.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        return ready

    def event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def elapsed_ns(self, first, second):
        ms = ctypes.c_float()
        name = "cuEventElapsedTime_v2" if hasattr(self.library, "cuEventElapsedTime_v2") else "cuEventElapsedTime"
        self.call(name, ctypes.byref(ms), first, second)
        return ms.value * 1e6

    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value
