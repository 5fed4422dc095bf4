"""A network with a validation set; it says which samples it learns from, and which are held back. From an epoch on it does
badly on those."""

import torch
import weir
import weir.torch
from torch import nn

task = weir.task()
options = task.options
made = []


def make(task):
    made.append(nn.Linear(3, 2))
    return made[0]


def inputs(batch):
    print("train" if made[0].training else "eval", batch.epoch, *batch.ids.tolist(), flush=True)
    is_strange = not made[0].training and batch.epoch >= options.get("worse_from", 100)
    return (batch.tensors["dense"] / 100 * (1000 if is_strange else 1),)


weir.torch.serve(
    model=make,
    loss=lambda outputs, labels: (outputs - labels / 1000).abs(),
    optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.01),
    schedule=lambda optimizer: torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0),
    schedule_by="epoch",
    inputs=inputs,
    validation=options["validation"],
    stop_after=options.get("stop_after"),
    save_every=0.0,
    task=task,
)
