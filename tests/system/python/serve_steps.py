"""A network whose steps are taken as training.options says; what it computes in is checked."""

import torch
import weir
import weir.torch
from torch import nn

task = weir.task()
options = task.options or {}
autocast = getattr(torch, options["autocast"]) if "autocast" in options else None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.drop = nn.Linear(3, 4), nn.Linear(4, 2), nn.Dropout(options.get("dropout", 0.0))

    def forward(self, x):
        hidden = self.first(x / 100)
        assert hidden.dtype == (autocast or torch.float32), hidden.dtype
        return self.last(self.drop(torch.relu(hidden)))


def schedule(optimizer, steps):
    """By batch it ends with the last step, and refuses one more."""
    if "schedule_by" not in options:
        return torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    print("steps:", steps, flush=True)
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, steps)


def loss(outputs, labels):
    assert outputs.dtype == torch.float32
    return (outputs - labels / 1000).abs() if options.get("loss") != "mean" else (outputs - labels).abs().mean()


weir.torch.serve(
    model=lambda task: Net(),
    loss=loss,
    parameters=lambda model: [{"params": model.first.parameters(), "lr": options.get("lr_first", 0.1)}, {"params": model.last.parameters()}],
    optimizer=lambda groups: torch.optim.SGD(groups, lr=0.1),
    schedule=schedule,
    schedule_by=options.get("schedule_by", "epoch"),
    accumulate=options.get("accumulate", 1),
    clip=options.get("clip"),
    autocast=autocast,
    save_every=0.0,
    task=task,
)
