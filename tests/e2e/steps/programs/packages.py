# SPDX-License-Identifier: Apache-2.0
"""Training loops that live in other people's packages.

usage: packages.py accelerate|lightning|transformers   (ends with 77 where the package is missing)"""

import logging
import sys
import tempfile
import warnings

import torch
from torch.utils.data import DataLoader

import parts
import truth

warnings.filterwarnings("ignore")


class Begins:
    """The marker for callbacks."""

    def begin(self, *_, **__):
        truth.step.__enter__()

    def end(self, *_, **__):
        truth.step.__exit__(None, None, None)


def with_accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = parts.mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(parts.Points(8 * 14), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with truth.step:
            with accelerator.accumulate(model):
                loss = parts.loss_of(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


def with_lightning():
    import lightning
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.body = parts.mlp()

        def training_step(self, batch, _):
            x, y = batch
            return parts.loss_of(self.body(x), y)

        def validation_step(self, batch, _):
            return self.body(batch[0]).sum()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    class Marks(lightning.Callback, Begins):
        on_train_batch_start = Begins.begin
        on_train_batch_end = Begins.end

    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, callbacks=[Marks()],
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, num_sanity_val_steps=2)
    trainer.fit(Model(), DataLoader(parts.Points(8 * 9), batch_size=8),
                DataLoader(parts.Points(8 * 3), batch_size=8))


class Labelled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = parts.mlp()

    def forward(self, x, labels):
        scores = self.body(x)
        return {"loss": parts.loss_of(scores, labels), "logits": scores}


class Named(parts.Points):
    def __getitem__(self, index):
        return {"x": self.points[index], "labels": self.labels[index]}


def with_transformers():
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Marks(TrainerCallback, Begins):
        on_step_begin = Begins.begin
        on_step_end = Begins.end

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, max_steps=12, per_device_train_batch_size=8,
                                      gradient_accumulation_steps=3, use_cpu=True, report_to=[],
                                      save_strategy="no", logging_steps=100, disable_tqdm=True)
        Trainer(Labelled(), arguments, train_dataset=Named(8 * 24), callbacks=[Marks()]).train()


if __name__ == "__main__":
    try:
        globals()["with_" + sys.argv[1]]()
    except ImportError as error:
        print(error)
        sys.exit(77)
