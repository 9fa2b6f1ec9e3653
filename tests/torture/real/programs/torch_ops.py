# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own sample inputs of every operator, and prints a digest of all outputs and gradients.

usage: torch_ops.py [FROM] [STEP] [NAME...]     (every STEP-th operator from number FROM, or those named)"""

import hashlib
import random
import signal
import sys
import types

# Not installed with PyTorch; only its own tests' classes use it.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=object))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

MOST_SAMPLES = 12
SECONDS = 20  # for one operator


def seed():
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)


def fold(digest, value):
    """Feeds a value, or whatever it is made of, into the digest."""
    if isinstance(value, torch.Tensor):
        digest.update(f"{value.dtype}{tuple(value.shape)}{value.layout}".encode())
        if value.layout != torch.strided:
            value = value.to_dense()
        value = value.detach().resolve_conj().resolve_neg()
        if value._is_zerotensor():  # has no memory
            value = torch.zeros(value.shape, dtype=value.dtype)
        value = torch.empty(value.shape, dtype=value.dtype).copy_(value)  # a tensor of one element may have any strides
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.dim() and value.numel() else
                      repr(value.tolist()).encode())
    elif isinstance(value, (list, tuple)):
        digest.update(f"{len(value)}".encode())
        for part in value:
            fold(digest, part)
    else:
        digest.update(repr(value).encode())


def dtype_of(op):
    wanted = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
    supported = op.supported_dtypes("cpu")
    return next((dtype for dtype in wanted if dtype in supported), None)


def tensors(value):
    parts = value if isinstance(value, (list, tuple)) else (value,)
    return [p for p in parts if isinstance(p, torch.Tensor) and p.requires_grad]


def run(op, dtype):
    """Digest of the outputs and gradients of the first samples."""
    digest = hashlib.sha256()
    backward = op.supports_autograd and dtype.is_floating_point
    for count, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=backward)):
        if count == MOST_SAMPLES:
            break
        seed()
        result = op(sample.input, *sample.args, **sample.kwargs)
        fold(digest, result)
        outputs = [t for t in tensors(result) if t.dtype.is_floating_point and t.layout == torch.strided]
        if outputs:
            sum(t.sum() for t in outputs).backward()
            fold(digest, [t.grad for t in tensors(sample.input) if t.grad is not None])
    return digest.hexdigest()


def too_long(number, frame):
    raise TimeoutError(f"longer than {SECONDS} s")


def main():
    start, step, names = int((sys.argv[1:] or ["0"])[0]), int((sys.argv[2:] or ["1"])[0]), sys.argv[3:]
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True, warn_only=True)  # memory that nobody writes is filled, too
    signal.signal(signal.SIGALRM, too_long)
    ops = sorted(op_db, key=lambda op: (op.name, op.variant_test_name))
    for op in ops[start::step]:
        name = ".".join(filter(None, (op.name, op.variant_test_name)))
        dtype = dtype_of(op)
        if names and name not in names or dtype is None:
            continue
        seed()
        signal.alarm(SECONDS)
        try:
            outcome = "passed " + run(op, dtype)
        except TimeoutError:
            outcome = "skipped (slow)"
        except Exception as error:  # whatever it is: it must be the same in each mode
            outcome = "failed " + type(error).__name__
        signal.alarm(0)
        print("OP", name, str(dtype)[6:], outcome, flush=True)


if __name__ == "__main__":
    main()
