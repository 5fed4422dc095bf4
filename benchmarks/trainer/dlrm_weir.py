"""The network as a program of Weir: says how many samples it took a second from the first step to the last, and its stall."""

import time

from dlrm import Trainer  # before all that loads OpenBLAS

import torch
import weir.torch

dataset = weir.torch.Dataset()
trainer = Trainer()
samples = 0
for batch in dataset:
    if samples == 0:
        began, before = time.monotonic(), dataset.session.stats().wait_ns
    trainer.step(*batch.tensors.values(), batch.labels, batch.weights)
    samples += len(batch.ids)
    del batch
    ended, waited = time.monotonic(), dataset.session.stats().wait_ns
dataset.session.metric("samples_per_second", samples / (ended - began))
dataset.session.metric("stall", max((waited - before) / 1e9 / (ended - began), 1e-6))
torch.save(trainer.model.state_dict(), "model")
dataset.finish("model")
