# SPDX-License-Identifier: Apache-2.0
"""A small training loop of JAX: nothing in it knows of profilers."""

import jax
import jax.numpy as jnp


def predict(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jax.jit
def update(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)


def main():
    key = jax.random.split(jax.random.key(7), 4)
    params = {"w1": jax.random.normal(key[0], (256, 1024)) * 0.05, "b1": jnp.zeros(1024),
              "w2": jax.random.normal(key[1], (1024, 8)) * 0.05, "b2": jnp.zeros(8)}
    x, y = jax.random.normal(key[2], (2048, 256)), jax.random.normal(key[3], (2048, 8))
    before = float(loss(params, x, y))
    for _ in range(150):
        params = update(params, x, y)
        jax.block_until_ready(params)
    print("smaller", float(loss(params, x, y)) < before)


if __name__ == "__main__":
    main()
