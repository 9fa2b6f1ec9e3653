# SPDX-License-Identifier: Apache-2.0
"""A transformer encoder over an embedding, fused AdamW."""

import argparse

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, words=1000, width=128, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    steps = parser.parse_args().steps
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(0, 1000, (8, 65), device="cuda")
    for step in range(steps):
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print("step %d loss %.4f" % (step, loss.item()), flush=True)
    query = torch.randn(2, 4, 64, 32, device="cuda", dtype=torch.float16)
    print("attention", tuple(nn.functional.scaled_dot_product_attention(query, query, query).shape))


if __name__ == "__main__":
    main()
