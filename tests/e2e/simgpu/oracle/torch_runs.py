# SPDX-License-Identifier: Apache-2.0
"""What tests with PyTorch on the simulated GPU need to know: which interpreter, whether it can be
done here at all, and how a script of the zoo is started."""

import glob
import os
import subprocess

from run import SUITE, WRAP, ZOO, e2e, sim

# PyTorch's own failure after a script's last line ("PyTorch's end" in tests/simgpu/README.md).
BAD_END = "terminate called without an active exception"
# Behind programs whose last act is a backward pass, which is where it happens: time for autograd's thread.
SETTLE = "\nimport time\ntime.sleep(0.2)\n"
SIMULATED_LIBRARIES = ("cudart", "cublas", "cublasLt", "cudnn", "nccl", "nvml", "cupti", "cuda")


def cuda_of(python):
    """CUDA version of an interpreter's PyTorch, without importing it; "" if it has none."""
    question = ("import importlib.util as u, os, re; s = u.find_spec('torch'); "
                "t = open(os.path.join(os.path.dirname(s.origin), 'version.py')).read() if s else ''; "
                "m = re.search(r\"^cuda.*= '([0-9.]+)'\", t, re.M); print(m.group(1) if m else '')")
    done = subprocess.run([python, "-c", question], capture_output=True, text=True)
    return done.stdout.strip()


def torch_python(requested=None):
    """An interpreter whose PyTorch was built for CUDA; ends the test as skipped without one."""
    candidates = [requested] if requested else [
        os.environ.get("GPUPROF_TORCH_PYTHON"),
        os.path.join(e2e.SOURCE, ".venvs", "torch", "bin", "python"), e2e.real_python()]
    for python in candidates:
        if python and os.path.exists(python) and cuda_of(python):
            return python
    return e2e.skip("no python here has a PyTorch built for CUDA")


def require_torch(requested=None):
    """The interpreter, if everything the simulated GPU needs for PyTorch was built."""
    sim.require_build()
    python = torch_python(requested)
    library = os.path.join(os.path.dirname(e2e.SIMGPU), "lib")
    for name in SIMULATED_LIBRARIES:
        if not glob.glob(os.path.join(library, "gpusim_%s.so" % name)):
            e2e.skip("built without a PyTorch wheel: no simulated library for %s" % name)
    return python


def script(python, folder, name, arguments, ranks=0, wrapped=True):
    """Command that runs a script of the zoo, by torchrun if `ranks`, inside torch.profiler if
    `wrapped`."""
    start = [python]
    if ranks:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    path = name if os.path.isabs(name) else os.path.join(ZOO, name)
    return start + ([WRAP, folder] if wrapped else []) + [path, *arguments]


def environment():
    """One thread a process: the machine is shared; caches of compilers stay out of the home."""
    return {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "GPUPROF_TEST_SUITE": SUITE}
