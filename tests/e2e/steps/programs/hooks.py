# SPDX-License-Identifier: Apache-2.0
"""Code that PyTorch calls in the middle of a step.

usage: hooks.py gradient|modules|checkpoint
  gradient    one optimizer a parameter, each run by the backward pass
  modules     forward and backward hooks of the program's own that compute
  checkpoint  activations computed again during the backward pass"""

import sys

import torch
from torch.utils.checkpoint import checkpoint

import parts
import truth


def in_gradient_hooks(model):
    own = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def update(parameter):
        own[parameter].step()
        own[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)


def with_module_hooks(model):
    seen = []
    for layer in model.layers:
        layer.register_forward_hook(lambda m, i, o: seen.append(o.detach().abs().mean()))
        layer.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].norm()))


class Checkpointed(parts.Layers):
    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(lambda v, f=layer: torch.relu(f(v)), x, use_reentrant=False)
        return self.head(x)


def main():
    what = sys.argv[1]
    model = Checkpointed() if what == "checkpoint" else parts.Layers()
    optimizer = None
    if what == "gradient":
        in_gradient_hooks(model)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if what == "modules":
        with_module_hooks(model)
    x, y = parts.batch()
    for _ in range(20):
        with truth.step:
            if optimizer is not None:
                optimizer.zero_grad()
            loss = parts.loss_of(model(x), y)
            loss.backward()
            if optimizer is not None:
                optimizer.step()


if __name__ == "__main__":
    main()
