"""The part of a batch that a step learns from, where the pipeline says selection.batch_then_sample."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any


def choose(wanted: dict[str, Any], scores: Sequence[float], seed: int | str) -> tuple[list[int], list[float]]:
    """Return the samples that are chosen, in ascending order, and the factor of each one's weight.

    `wanted` is task.batch_then_sample; `scores` are the samples' losses, the norms of their gradients, or how unsure the
    model is of each. By loss and gradient norm samples are drawn in proportion, one after the other, and count by what
    makes up for it, at most by the square root of their number; by uncertainty the highest are chosen, by 1 each. The
    same arguments choose the same.
    """
    count = max(math.floor(wanted["ratio"] * len(scores) * (1 + 2**-52)), min(len(scores), 1))
    if wanted["score"] == "uncertainty":
        taken = sorted(sorted(range(len(scores)), key=lambda i: -scores[i])[:count])
        return taken, [1.0] * count
    # The exponential race of Efraimidis and Spirakis (2006); who has no score starts when all others are through.
    sane, draw = [score if 0 < score < math.inf else 0.0 for score in scores], random.Random(seed)
    patience = [-math.log(1 - draw.random()) for _ in scores]
    arrivals = [(0, wait / score) if score > 0 else (1, wait) for wait, score in zip(patience, sane)]
    order = sorted(range(len(scores)), key=arrivals.__getitem__)
    taken, closing = sorted(order[:count]), arrivals[order[count]] if count < len(scores) else (2, 0.0)
    return taken, [_factor(sane[i], closing, count / len(scores), math.sqrt(len(scores))) for i in taken]


def _factor(score: float, closing: tuple[int, float], share: float, most: float) -> float:
    """Return share / π, π being the chance to arrive before the race was closed (Cohen, Kaplan 2007), at most `most`."""
    late, arrival = closing
    own = 0 if score > 0 else 1
    chance = 1.0 if own < late else -math.expm1(-arrival * (score if score > 0 else 1.0))
    return min(share / chance, most) if chance > 0 else most


def doubt(wanted: dict[str, Any], probabilities: Sequence[float]) -> float:
    """Return how unsure a model is of a sample, from the probabilities of its classes, or of two that of the second."""
    classes = [1 - probabilities[0], probabilities[0]] if len(probabilities) == 1 else list(probabilities)
    if wanted["metric"] == "entropy":
        return -math.fsum(p * math.log(p) for p in classes if p > 0)
    second, best = sorted(classes)[-2:]
    return second - best if wanted["metric"] == "margin" else -best
