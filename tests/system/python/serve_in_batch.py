"""A network of six weights that learns from a part of each batch, as the pipeline says. It says what each step learns from."""

import torch
import weir.torch
from torch import nn

CHOOSE = weir.torch._Served.choose


def note(served, batch, losses, outputs):
    chosen, factors = CHOOSE(served, batch, losses, outputs)
    print("step", batch.number, *batch.ids.tolist(), "learns", *batch.ids[chosen].tolist(), flush=True)
    return chosen, factors


def nothing(task):
    layer = nn.Linear(3, 2, bias=False)
    nn.init.zeros_(layer.weight)
    return layer


weir.torch._Served.choose = note
weir.torch.serve(
    model=nothing,
    loss=lambda outputs, labels: (outputs - labels).square().mean(1),
    optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    save_every=0.0,
)
