"""A program for every mode. Dropout: its random numbers are in the checkpoint."""

import torch
import weir.torch
from torch import nn


class Words(nn.Module):
    def __init__(self, task):
        super().__init__()
        self.bag, self.drop, self.last = nn.EmbeddingBag(4096, 8, mode="sum"), nn.Dropout(0.2), nn.Linear(8, 1)

    def forward(self, words, offsets):
        return self.last(self.drop(self.bag(words, offsets)))


weir.torch.serve(
    model=Words,
    loss=lambda outputs, labels: nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], labels.double().float(), reduction="none"),
    optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.02),
    schedule=lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999),
    embed=lambda model, words, offsets: model.bag(words, offsets),
    save_every=0.02,
)
