# SPDX-License-Identifier: Apache-2.0
"""A compiled function whose sizes are not known while it is traced, and tensors of unusual kinds.

usage: dynamic.py dynamic [--device cpu|cuda]"""

import argparse
import warnings

import torch

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def grows(x):
    rows = x.shape[0]
    y = x.reshape(-1, rows)
    z = torch.zeros(rows + 1, 2, device=x.device) + torch.full((1, 2), rows * 0.5, device=x.device)
    return y.sum() + z.sum() + x.narrow(0, 0, rows // 2).sum()


def unusual(x):
    nested = torch.nested.nested_tensor([x, x[:1]])
    nested.clone() + 1
    x.to_sparse().coalesce()
    x.to_sparse_csr().to_dense()
    torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).dequantize()
    torch.ones(2, 3, device="meta") + 1
    torch.zeros(0, 3, device=x.device) * 2
    torch.zeros(0, 0, device=x.device).sum()
    torch.ones(2, 1, 1, 1, 1, 1, 2, device=x.device).sum(3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    unusual(torch.ones(2, 3, device=device))
    compiled = torch.compile(grows, backend="aot_eager", dynamic=True)
    for rows in (4, 6, 8):
        compiled(torch.ones(rows, 3, device=device))


if __name__ == "__main__":
    main()
