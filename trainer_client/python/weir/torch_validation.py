"""A validation set inside a run, for weir.torch.serve(): a share of its samples, the same ones in every epoch."""

from __future__ import annotations

import math
from typing import Any

import torch

DRAW_BITS = 24
# Two rounds of the mixer of splitmix64 (Steele, Lea, Flood 2014), as signed numbers.
FACTORS = (-0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15)
SHIFTS = (30, 27)


def rows_of(batch: Any, chosen: torch.Tensor) -> Any:
    """Return the batch of the samples that are chosen."""
    tensors, offsets = {}, {}
    for name, tensor in batch.tensors.items():
        if name not in batch.offsets:
            tensors[name] = tensor[chosen]
            continue
        lengths = batch.offsets[name].diff()
        tensors[name] = tensor[chosen.repeat_interleave(lengths)]
        offsets[name] = torch.cat([lengths.new_zeros(1), lengths[chosen].cumsum(0)])
    labels = None if batch.labels is None else batch.labels[chosen]
    return batch._replace(
        ids=batch.ids[chosen], labels=labels, weights=batch.weights[chosen], tensors=tensors, offsets=offsets
    )


class Validation:
    """Who is held back, how they fare, and the weights under which they fared best."""

    def __init__(self, share: float, seed: int, stop_after: int | None) -> None:
        self.share, self.seed, self.stop_after = share, seed & (2**62 - 1), stop_after
        self.total, self.samples = 0.0, 0  # of the epoch
        self.epoch, self.best_epoch, self.best_loss = 0, 0, math.inf
        self.best: dict[str, torch.Tensor] | None = None

    @property
    def is_over(self) -> bool:
        """True when learning on has not helped for long enough."""
        return self.stop_after is not None and self.best is not None and self.epoch - 1 - self.best_epoch >= self.stop_after

    def split(self, batch: Any) -> tuple[Any, Any]:
        """Return the batch to learn from, and that of those who are held back; None: nobody is."""
        if self.share <= 0:
            return batch, None
        mixed = batch.ids + self.seed
        for factor, shift in zip(FACTORS, SHIFTS):
            mixed = (mixed ^ (mixed >> shift)) * factor
        held = ((mixed >> 31) & (2**DRAW_BITS - 1)) < self.share * 2**DRAW_BITS
        return rows_of(batch, ~held), rows_of(batch, held) if bool(held.any()) else None

    def add(self, losses: torch.Tensor) -> None:
        """Take the losses of some who are held back."""
        self.total += float(losses.sum())
        self.samples += len(losses)

    def end_epoch(self, model: torch.nn.Module) -> float | None:
        """Return the mean loss of the epoch, and keep the weights if it is the best; None: nobody was held back."""
        if self.samples == 0:
            return None
        loss = self.total / self.samples
        if loss < self.best_loss:
            self.best_epoch, self.best_loss = self.epoch, loss
            self.best = {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
        self.total, self.samples, self.epoch = 0.0, 0, self.epoch + 1
        return loss

    def restore_best(self, model: torch.nn.Module) -> None:
        """Give the model the weights under which those who are held back fared best."""
        if self.best is not None:
            model.load_state_dict(self.best)

    def state_dict(self) -> dict[str, Any]:
        names = ("total", "samples", "epoch", "best_epoch", "best_loss", "best")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
