"""A training whose loss is written down epoch by epoch, from the model alone: the same whatever the number of ranks."""

import sys

import torch
import weir.torch
from torch import nn

torch.set_num_threads(1)
EPOCH = weir.torch._Served.end_epoch


def note(served, session):
    print(f"epoch {served.epoch}: {served.mean_loss():.9f} of {served.samples}", file=sys.stderr, flush=True)
    EPOCH(served, session)


class Words(nn.Module):
    def __init__(self, task):
        super().__init__()
        self.bag, self.last = nn.EmbeddingBag(4096, 8, mode="sum"), nn.Linear(8, 1)

    def forward(self, words, offsets):
        return self.last(torch.tanh(self.bag(words, offsets)))


weir.torch._Served.end_epoch = note
weir.torch.serve(
    model=Words,
    loss=lambda outputs, labels: nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], labels.float(), reduction="none"),
    optimizer=lambda parameters: torch.optim.Adagrad(parameters, lr=0.05),
    schedule=lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999),
    clip=1.0,
    save_every=0.05,
)
