# SPDX-License-Identifier: Apache-2.0
"""The same training in the forms a loop can have.

usage: shapes.py FORM"""

import itertools
import sys

import torch

import parts
import truth

model = parts.mlp()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
BATCHES = [parts.batch() for _ in range(20)]


def train_on(x, y):
    optimizer.zero_grad()
    loss = parts.loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def on_marked(pair):
    with truth.step:
        return train_on(*pair)


def alternating():
    def even(x, y):
        train_on(x, y)

    def odd(x, y):
        train_on(2 * x, y)

    for i, (x, y) in enumerate(BATCHES):
        with truth.step:
            if i % 2:
                odd(x, y)
            else:
                even(x, y)


def comprehension():
    return [on_marked(pair) for pair in BATCHES]


def while_true():
    done = 0
    while True:
        with truth.step:
            x, y = BATCHES[done]
            train_on(x, y)
            done += 1
            if done == 17:
                break


def with_continue():
    for i, (x, y) in enumerate(BATCHES):
        with truth.step:
            loss = parts.loss_of(model(x), y)
            if i % 5 == 2:
                continue
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def nested_functions():
    def epoch():
        for pair in BATCHES[:6]:
            on_marked(pair)

    def run():
        for _ in range(4):
            epoch()

    run()


def generator():
    def losses():
        for pair in BATCHES:
            with truth.step:
                loss = train_on(*pair)
            yield loss

    return sum(loss.item() for loss in losses())


def recursion():
    def fold(values, depth):
        if depth == 0:
            return model(values)
        return fold(values / 2, depth - 1) + fold(values * 2, depth - 1)

    for x, y in BATCHES:
        with truth.step:
            optimizer.zero_grad()
            loss = parts.loss_of(fold(x, 3), y)
            loss.backward()
            optimizer.step()


def endless_iterator():
    for x, y in itertools.islice(itertools.cycle(BATCHES), 33):
        with truth.step:
            train_on(x, y)


def early_break():
    for _ in range(3):
        for i, pair in enumerate(BATCHES):
            if i == 5:
                break
            on_marked(pair)


def caught():
    """A step that fails is a step."""
    for i, (x, y) in enumerate(BATCHES):
        with truth.step:
            try:
                if i % 6 == 4:
                    model(x[:, :5])
                train_on(x, y)
            except RuntimeError:
                optimizer.zero_grad()


def by_hand():
    """An update without an optimizer."""
    parameters = list(model.parameters())
    for x, y in BATCHES:
        with truth.step:
            loss = parts.loss_of(model(x), y)
            for p, g in zip(parameters, torch.autograd.grad(loss, parameters)):
                p.data.add_(g, alpha=-0.1)


def inference():
    with torch.no_grad():
        for x, _ in BATCHES:
            with truth.step:
                model(x).argmax(1)


def one_call_site():
    """The body is one operator."""
    weight = torch.randn(256, 256) / 16
    x = torch.randn(256, 256)
    for _ in range(200):
        with truth.step:
            x = torch.mm(x, weight)


def tokens():
    """Four requests, each a loop over tokens: the token is the step."""
    embedding = torch.nn.Embedding(50, 16)
    body = parts.Layers()
    with torch.no_grad():
        for _ in range(4):
            token = torch.tensor([1])
            for _ in range(12):
                with truth.step:
                    token = body(embedding(token)).argmax(1)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
