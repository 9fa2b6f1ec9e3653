# SPDX-License-Identifier: Apache-2.0
"""A kernel of the program's own and copies by CuPy; says how often it launched its kernel."""

import json

import cupy

LAUNCHES, COPIES = 50, 10
SOURCE = 'extern "C" __global__ void gpu_check_cupy(float* x) { x[threadIdx.x] += 1.0f; }'


def main():
    kernel = cupy.RawKernel(SOURCE, "gpu_check_cupy")
    value = cupy.zeros(32, dtype=cupy.float32)
    for number in range(LAUNCHES):
        kernel((1,), (32,), (value,))
        if number % (LAUNCHES // COPIES) == 0:
            cupy.asnumpy(value)
    cupy.cuda.Device().synchronize()
    print(json.dumps({"counts": {"gpu_check_cupy": LAUNCHES, "DtoH": COPIES}}))


if __name__ == "__main__":
    main()
