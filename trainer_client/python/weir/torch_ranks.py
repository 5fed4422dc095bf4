"""Ranks of a training, for weir.torch.serve(): gradients by DistributedDataParallel, and what all ranks know of a step."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import weir


class Ranks:
    """The processes that train together, by the environment that Weir gives them; of a run of one, that one."""

    def __init__(self, task: weir.Task, device: torch.device) -> None:
        self.count = int(os.environ.get("WEIR_RANKS", "1")) if task.learns else 1
        self.rank = int(os.environ.get("WEIR_RANK", "0")) if self.count > 1 else 0
        self._device = device
        if self.count == 1:
            return
        if os.environ.get("MASTER_ADDR", "").startswith("127."):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the name of this host may lead elsewhere
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        self._words = dist.new_group(backend="gloo")  # what is no gradient is small, and on the CPU

    def shared(self, model: torch.nn.Module) -> torch.nn.Module:
        """Return what to call in place of the model: each backward() makes gradients the mean over the ranks."""
        if self.count == 1 or not any(parameter.requires_grad for parameter in model.parameters()):
            return model
        devices = [self._device] if self._device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=devices, find_unused_parameters=True)

    def sum(self, *numbers: float) -> tuple[float, ...]:
        """Return the sums over all ranks; they meet here."""
        if self.count == 1:
            return numbers
        sums = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(sums, group=self._words)
        return tuple(sums.tolist())

    def newest_common(self, steps: list[int]) -> int | None:
        """Return the newest of the steps that every rank names; None: there is none."""
        said: list[Any] = [None] * self.count
        dist.all_gather_object(said, steps, group=self._words)
        return max(set(said[0]).intersection(*said[1:]), default=None)

    def end(self) -> None:
        if self.count > 1:
            dist.destroy_process_group()
