"""The part of a batch that a step learns from, where the pipeline says selection.batch_then_sample."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

FACTOR_MAX = 1e6


def choose(wanted: dict[str, Any], scores: Sequence[float], seed: int | str) -> tuple[list[int], list[float]]:
    """Return the samples that are chosen, in ascending order, and the factor of each one's weight.

    `wanted` is task.batch_then_sample; `scores` are the samples' losses, the norms of their gradients, or how unsure the
    model is of each. By loss and gradient norm samples are drawn in proportion, one after the other, and count by
    1 / (n p), so that the weighted mean is that of the batch; by uncertainty the highest are chosen, by 1 each. The same
    arguments choose the same.
    """
    count = max(math.floor(wanted["ratio"] * len(scores) * (1 + 2**-52)), min(len(scores), 1))
    if wanted["score"] == "uncertainty":
        taken = sorted(sorted(range(len(scores)), key=lambda i: -scores[i])[:count])
        return taken, [1.0] * count
    sane = [score if 0 < score < math.inf else 0.0 for score in scores]
    total, draw = math.fsum(sane), random.Random(seed)
    patience = [-math.log(1 - draw.random()) for _ in scores]  # the exponential race of Efraimidis, Spirakis (2006)
    keys = [(0, wait / score) if score > 0 else (1, wait) for wait, score in zip(patience, sane)]
    taken = sorted(sorted(range(len(scores)), key=keys.__getitem__)[:count])
    return taken, [min(total / (len(scores) * sane[i]), FACTOR_MAX) if sane[i] > 0 else 1.0 for i in taken]


def doubt(wanted: dict[str, Any], probabilities: Sequence[float]) -> float:
    """Return how unsure a model is of a sample, from the probabilities of its classes, or of two that of the second."""
    classes = [1 - probabilities[0], probabilities[0]] if len(probabilities) == 1 else list(probabilities)
    if wanted["metric"] == "entropy":
        return -math.fsum(p * math.log(p) for p in classes if p > 0)
    second, best = sorted(classes)[-2:]
    return second - best if wanted["metric"] == "margin" else -best
