# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors and lists of every odd kind."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def plain(value):
            return value.inner if isinstance(value, Wrapper) else value
        return func(*(plain(a) for a in args), **(kwargs or {}))


def symbolic():
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
    environment = ShapeEnv()
    with FakeTensorMode(shape_env=environment) as mode:
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
        fake = mode.from_tensor(torch.ones(5, 3), symbolic_context=context)
        return (fake + fake).sum(0).shape


def quantised():
    x = torch.quantize_per_tensor(torch.randn(4, 4), 0.1, 10, torch.quint8)
    return x.dequantize().shape


def nested():
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    return (x * 2).is_nested, (jagged * 2).is_nested


def sparse():
    x = torch.eye(5).to_sparse()
    return torch.sparse.mm(x, torch.ones(5, 2)).sum().item(), torch.eye(3).to_sparse_csr().layout


def quiet(what):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's prototypes
        return what()


def main():
    for what in (nested, sparse, quantised, symbolic):
        print(what.__name__, quiet(what))
    print((torch.ones(3, 4, device="meta") @ torch.ones(4, 5, device="meta")).shape)
    with FakeTensorMode():
        print((torch.ones(3, 4) @ torch.ones(4, 5)).shape)
    print(type(torch.ones(3).as_subclass(Tagged) + 1).__name__)
    print(torch.add(Wrapper(torch.ones(2, 2)), 1).sum().item())
    print(torch.tensor(3.0).add(1).item(), torch.ones([1, 2, 1, 2, 1, 2, 1]).sum().item())
    print(torch.empty(0).sum().item(), torch.empty(0, 3).t().shape)
    print(torch.cat([torch.ones(1)] * 1000).sum().item(), torch.stack([torch.ones(2)]).shape)
    print(len(torch._foreach_add([torch.ones(2)] * 1000, 1.0)))
    x = torch.ones(10)
    print(x[[1, 2, 3]].shape, x[None, :, None].shape, x[torch.tensor([], dtype=torch.long)].shape)
    print(torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), None).shape)  # undefined
    print(torch.zeros(2, dtype=torch.complex64).abs().sum().item(),
          torch.zeros(2, dtype=torch.bfloat16).add(1).dtype, torch.zeros(2).bool().any().item())
    print(torch.view_as_real(torch.ones(2, dtype=torch.complex64).conj().resolve_conj()).shape)
    print(torch.ones(2, 3).expand(4, 2, 3).as_strided((2, 2), (1, 1)).sum().item())
    for _ in range(100):
        quiet(nested), quiet(sparse), quiet(quantised)
    print("end")


if __name__ == "__main__":
    main()
