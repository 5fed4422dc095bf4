"""Batches on their way to a GPU, for weir.torch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


class Copies:
    """Copies from pinned memory on a stream of their own, beside the steps that are under way.

    A batch is in pinned memory at once, so that its own is free. What PyTorch pins, and what it holds on the GPU, is used
    again only when the streams that read it have come past.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        reader: Any = torch.cuda.current_stream(self._device)  # record_stream() declares a class that it is not
        with torch.cuda.stream(self._stream):
            copy = tensor.pin_memory().to(self._device, non_blocking=True)
        reader.wait_stream(self._stream)
        copy.record_stream(reader)
        return copy


@functools.cache
def mover(device: torch.device) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what brings a tensor to the device."""
    if device.type == "cuda":
        return Copies(device)
    return functools.partial(torch.Tensor.to, device=device)
