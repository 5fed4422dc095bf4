"""Steps of an optimizer, for weir.torch.serve()."""

from __future__ import annotations

import inspect
from typing import Any

import torch


class Steps:
    """Steps of the optimizer, each by the gradients of one batch or several."""

    def __init__(self, model: torch.nn.Module, options: dict[str, Any], device: torch.device, ranks: int = 1) -> None:
        self.ranks = ranks
        self.parameters = list(model.parameters())
        groups = options["parameters"](model) if options["parameters"] is not None else model.parameters()
        made = options["optimizer"]
        self.optimizer = made if isinstance(made, torch.optim.Optimizer) else made(groups)
        self._make_schedule, self.schedule = options["schedule"], None
        self.is_by_epoch = options["schedule_by"] == "epoch"
        self.clip, self.accumulate = options["clip"], options["accumulate"]
        is_half = options["autocast"] is torch.float16 and device.type == "cuda"
        self.scaler = torch.cuda.amp.GradScaler() if is_half else None
        self.waiting, self.weight = 0, 0.0  # batches and their weights that no step has taken

    def schedule_for(self, epochs: int, batches_per_epoch: int) -> None:
        """Make the schedule, which may want to know how many steps there are."""
        if self._make_schedule is None:
            return
        steps = epochs if self.is_by_epoch else -(-epochs * batches_per_epoch // self.accumulate)
        wanted = [one for one in inspect.signature(self._make_schedule).parameters.values() if one.default is one.empty]
        self.schedule = self._make_schedule(self.optimizer, *([steps] if len(wanted) > 1 else []))

    def parts(self) -> dict[str, Any]:
        parts = {"optimizer": self.optimizer, "schedule": self.schedule, "scaler": self.scaler}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def divides_later(self) -> bool:
        """True when the weight of a step is known only after its first gradients."""
        return self.accumulate > 1 or self.ranks > 1

    def add(self, losses: torch.Tensor, weights: torch.Tensor) -> None:
        """Add the gradients of a batch, or of this rank's slice of it."""
        loss = (losses * weights).sum()
        if not self.divides_later:
            loss = loss / weights.sum()
        (self.scaler.scale(loss) if self.scaler is not None else loss).backward()

    def added(self, weight: float) -> None:
        """Count a batch, of that weight over all ranks; with the last of several, step by the mean over all samples."""
        self.weight += weight
        self.waiting += 1
        if self.waiting == self.accumulate:
            self._step()

    def _step(self) -> None:
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        if self.divides_later:
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter.grad /= self.weight / self.ranks  # it is the mean over the ranks
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.drop()
        if self.schedule is not None and not self.is_by_epoch:
            self.schedule.step()

    def end_epoch(self, loss: float) -> None:
        if self.schedule is None or not self.is_by_epoch:
            return
        if isinstance(self.schedule, torch.optim.lr_scheduler.ReduceLROnPlateau):
            self.schedule.step(loss)
        else:
            self.schedule.step()

    def drop(self) -> None:
        """Forget the gradients that are left over."""
        self.optimizer.zero_grad(set_to_none=True)
        self.waiting, self.weight = 0, 0.0

    def end(self) -> None:
        """Step by the gradients that are left over."""
        if self.waiting > 0:
            self._step()
