"""Weir feeds a training loop: the batches of one run, each exactly once, and none that holds an erased sample.

    import weir

    with weir.Session() as session:
        for batch in session:
            step(batch.tensors, batch.labels)
        save("model")
        session.finish(model="model")

The program is started by the platform (docs/guides/python.md). weir.torch is for PyTorch.
"""

from weir._weir import (
    Batch,
    Denied,
    Error,
    Internal,
    Invalid,
    Limit,
    NotFound,
    Restart,
    Stale,
    Tensor,
    Timeout,
    Unavailable,
    Unsupported,
)
from weir import choice, unanswered
from weir.attach import attach
from weir.session import Session, Task, state_batches, task, tasks

__all__ = [
    "Batch",
    "Denied",
    "Error",
    "Internal",
    "Invalid",
    "Limit",
    "NotFound",
    "Restart",
    "Session",
    "Stale",
    "Task",
    "Tensor",
    "Timeout",
    "Unavailable",
    "Unsupported",
    "attach",
    "choice",
    "state_batches",
    "task",
    "tasks",
]

unanswered.end_so()
