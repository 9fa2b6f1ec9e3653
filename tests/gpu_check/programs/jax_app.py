# SPDX-License-Identifier: Apache-2.0
"""A small training loop of JAX. Says `skip` where JAX uses no GPU."""

import json
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # others use the device beside it

import jax
import jax.numpy as jnp

STEPS = 30


def loss(weights, x, y):
    return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)


@jax.jit
def update(weights, x, y):
    return [w - 0.01 * g for w, g in zip(weights, jax.grad(loss)(weights, x, y))]


def main():
    if jax.default_backend() != "gpu":
        print(json.dumps({"skip": "JAX uses no GPU here"}))
        return
    keys = jax.random.split(jax.random.key(7), 4)
    weights = [jax.random.normal(keys[0], (256, 512)) * 0.05, jax.random.normal(keys[1], (512, 8)) * 0.05]
    x, y = jax.random.normal(keys[2], (512, 256)), jax.random.normal(keys[3], (512, 8))
    for _ in range(STEPS):
        weights = update(weights, x, y)
    jax.block_until_ready(weights)
    print(json.dumps({"steps": STEPS}))


if __name__ == "__main__":
    main()
