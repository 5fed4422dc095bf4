"""A run, as a training loop sees it."""

from __future__ import annotations

import array
import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from weir import _weir

STANDS_IN = "attach"  # file of a process that waits in a run's directory while another one does the run
KINDS = {"predictions": 1, "scores": 2, "gradients": 3, "embeddings": 4}


class Task(NamedTuple):
    """What the run is to do, and where it may write."""

    run: int
    session: int
    mode: str
    """train, evaluate, predict, score, gradient or embed."""
    pipeline: str
    """Name of the pipeline."""
    file: str
    """Name of its file, for complaints."""
    config: bytes
    """Text of that file."""
    options: Any
    """training.options of that file; None: it has none."""
    directory: str
    """For checkpoints and the model; written by this process alone."""
    start_from: str | None
    """Model to start from, or to use; None: initial weights."""
    seed: int
    label_type: int
    outputs: int
    """Values that the model predicts per sample; 0: as the model has it."""
    reports: bool
    """A training says the scores of each sample."""
    classes: tuple[str, ...]
    """Names of the classes of a label, in order."""
    batch_then_sample: dict[str, Any] | None
    """The part of each batch that a training is to learn from: score, ratio, metric; see weir.choice. None: all of it."""
    epochs_before: int
    """Of a training that this run goes on with, on another set of samples: the model to start from has learnt for so many. 0: it
    begins one."""
    epochs_in_all: int
    """Of that training."""
    capsule: Any
    """The task as the client library has it."""

    @property
    def learns(self) -> bool:
        """True when the run ends with a model."""
        return self.mode == "train"

    def __reduce__(self) -> Any:
        raise _weir.Unsupported("a task cannot be pickled: it belongs to the process that asked for it")


class Info(NamedTuple):
    """The run, as opening it told."""

    run: int
    attempt: int
    """1 for the first session of the run, 2 for the next."""
    rank: int
    ranks: int
    samples: int
    """Of one pass over the set, over all ranks."""
    epochs: int
    batches_per_epoch: int
    batch_samples: int
    """Most samples of a batch, over all ranks."""
    is_deterministic: bool
    """Batches come in the order of their numbers."""
    fitted: bytes | None
    """Fitted state of the operators."""
    label_mean: float
    """Mean of the labels, where the pipeline has the operator scale_label; else 0."""
    label_deviation: float
    """Their deviation, likewise; else 1. Labels of batches are as they are."""


class TensorInfo(NamedTuple):
    """A tensor of all batches of a run, as the operators make it."""

    dtype: str
    shape: tuple[int, ...] | None
    """Of one sample; None: a row has any number of elements."""
    below: int
    """Its integers are from 0 to below - 1, such as rows of an embedding; 0: no bound is known."""
    below_before: int
    """The same of the model that the training starts from, whose numbers keep their meaning; 0: there is none."""


class Holes(NamedTuple):
    """Samples that state() contains without having been delivered, by reason."""

    erased: int
    gone: int
    filtered: int
    failed: int


class Stats(NamedTuple):
    """Work of the session since it was opened."""

    batches: int
    samples: int
    bytes: int
    wait_ns: int
    """Inside next(): the data stall."""
    busy_ns: int
    """Outside of it, from the first batch on."""
    waiting: int
    """Batches ready now."""
    refused: int
    common: int
    """Batches in the newest state that all ranks have committed."""
    digests: int
    """Batches in state() that have a digest."""
    digest: str
    """Of all these together: the sum of their digests as numbers, modulo 2**128, in hexadecimal."""
    digest_ns: int
    """Spent on digests, within busy_ns."""


def task(*, run: int = 0, socket_dir: str | None = None, timeout: float = 60.0) -> Task:
    """Ask the platform what this process is to do, for at most `timeout` seconds.

    `run` and `socket_dir` are the environment's, WEIR_RUN and WEIR_SOCKET_DIR, unless given.
    """
    return _described(_weir.request_task(run, secrets.randbits(63) + 1, socket_dir, max(1, int(timeout * 1000))))


def tasks(*, run: int = 0, socket_dir: str | None = None, timeout: float = 60.0) -> Iterator[Task]:
    """Yield task(), and then, as each is finished, the next one that the platform has for this process.

    The pipeline's training.keep_warm says how long to wait for one. Each begins with an empty directory, and is to be
    done from its files and its seed alone: make model and optimizer anew, and set the seed.
    """
    current: Task | None = task(run=run, socket_dir=socket_dir, timeout=timeout)
    while current is not None:
        yield current
        answer = _weir.request_next(current.capsule, socket_dir)
        current = _described(answer) if answer is not None else None


def _described(answer: dict[str, Any]) -> Task:
    answer["options"] = json.loads(answer["options"])
    answer["batch_then_sample"] = json.loads(answer["batch_then_sample"])
    return Task(**answer)


_request_task = task  # Session() has a parameter of that name


def state_batches(state: bytes) -> int:
    """Return the number of batches that a state contains; 0 when these bytes are none."""
    return _weir.state_batches(state)


class Epoch:
    """One pass over the set: the iterator over its batches. A loop may be left early; the next epoch begins there."""

    def __init__(self, session: Session, number: int) -> None:
        self.number = number
        """From 0."""
        self._session = session

    def __len__(self) -> int:
        """Batches of the whole pass; those that would be nothing but holes do not come."""
        return self._session.info.batches_per_epoch

    def __iter__(self) -> Iterator[_weir.Batch]:
        return self

    def __next__(self) -> _weir.Batch:
        batch = self._session._next_of(self.number)
        if batch is None:
            raise StopIteration
        return batch


class Session:
    """An open run, and the iterator over its batches.

    `state` is what state() returned when the weights were saved; None: the beginning. `task` is what weir.task()
    returned; None: it is asked for.

    A batch is consumed, that is, in the weights, once step() says so, or the next next() does. With `accumulate`
    next() says nothing: step() says it of all batches since the last one, whose gradients make one step.
    """

    def __init__(
        self,
        state: bytes | None = None,
        *,
        task: Task | None = None,
        accumulate: bool = False,
        rank: int = 0,
        ranks: int = 0,
        prefetch_bytes: int = 0,
        socket_dir: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        self.task = task if task is not None else _request_task(socket_dir=socket_dir, timeout=timeout)
        self.accumulate = accumulate
        self._pending: list[int] = []  # numbers of the batches that are not consumed
        self._ahead: _weir.Batch | None = None  # the first batch of an epoch that has not begun
        self._ended = -1  # the newest epoch whose last batch was handed out
        self._client = _weir.Client(
            self.task.capsule, socket_dir, max(1, int(timeout * 1000)), state, rank, ranks, prefetch_bytes
        )
        self.info = Info(**self._client.info())
        told = self._client.tensors()
        self.tensors = {name: TensorInfo(dtype, shape, below, before) for name, dtype, shape, below, before in told}
        """Tensors that batches will have, by name, before there is one."""
        self._begun = state_batches(state) if state is not None else 0

    def __len__(self) -> int:
        """Batches of the session, over all epochs; those that would be nothing but holes do not come."""
        return self.info.epochs * self.info.batches_per_epoch - self._begun

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[_weir.Batch]:
        return self

    def __next__(self) -> _weir.Batch:
        batch = self.next()
        if batch is None:
            raise StopIteration
        return batch

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise _weir.Unsupported(
            "a session cannot be pickled: it belongs to the process that opened it (with a DataLoader: num_workers=0)"
        )

    def next(self, timeout: float | None = None) -> _weir.Batch | None:
        """Wait for the next batch, at most `timeout` seconds (None: for ever), and return it; None: the end.

        Raise Timeout when there is none yet.
        """
        batch = self._peek(timeout)
        self._ahead = None
        if batch is not None:
            self._pending.append(batch.number)
        return batch

    def epochs(self) -> Iterator[Epoch]:
        """Iterate over the epochs that are left, each an iterator over its batches.

        In relaxed order the last batches of an epoch may come within the next one.
        """
        while (batch := self._peek(None)) is not None:
            yield Epoch(self, batch.epoch)

    def _peek(self, timeout: float | None) -> _weir.Batch | None:
        """Wait for the next batch, which is not handed out yet."""
        if not self.accumulate:
            self.step()
        if self._ahead is None:
            self._ahead = self._client.next(-1 if timeout is None else int(timeout * 1000))
        return self._ahead

    def _next_of(self, epoch: int) -> _weir.Batch | None:
        """Return the next batch, unless it is of a later epoch; nothing is held in between where the last one is known."""
        if self._ended >= epoch:
            if not self.accumulate:
                self.step()
            return None
        batch = self._peek(None)
        if batch is None or batch.epoch > epoch:
            return None
        if self.info.is_deterministic and batch.number + 1 == (epoch + 1) * self.info.batches_per_epoch:
            self._ended = epoch
        return self.next()

    def step(self) -> None:
        """Say that all batches handed out so far are in the weights: the next state() contains them."""
        while self._pending:
            self._client.consumed(self._pending[0])
            del self._pending[0]

    def state(self) -> bytes:
        """Return the state that contains every batch consumed so far, to be saved with the weights, in one file.

        Raise Invalid while a batch is handed out and not consumed: nobody could say whether the weights contain it.
        """
        if self._pending:
            numbers = ", ".join(map(str, self._pending))
            raise _weir.Invalid(f"state: not consumed yet: batch {numbers}: say step() once the weights contain it")
        return self._client.state()

    def commit(self, state: bytes, timeout: float | None = None) -> None:
        """State that weights containing `state` are durable, and wait until that is recorded."""
        self._client.commit(state, -1 if timeout is None else int(timeout * 1000))

    def output(self, batch: _weir.Batch, kind: str, values: Any) -> None:
        """Say what the model makes of a batch, before it is released.

        `kind` is predictions, scores, gradients or embeddings, as the mode asks for; `values` has a row for each of
        its samples: an array of float32 or float64 (any object with the buffer protocol), or a list.
        """
        if kind not in KINDS:
            raise _weir.Invalid(f"outputs: expected {', '.join(KINDS)}, found '{kind}'")
        self._client.output(batch, KINDS[kind], _rows(values) if isinstance(values, (list, tuple)) else values)

    def name_outputs(self, names: Iterable[str]) -> None:
        """Name the numbers of output(): what a trigger of drift calls those that have moved."""
        self._client.output_names(tuple(names))

    def element_name(self, tensor: str, index: int) -> str | None:
        """Return the name of a number of a dense tensor, the column of the table or the field of the record that it is.

        None where the operators know none.
        """
        return self._client.element_name(tensor, index)

    def metric(self, name: str, value: float) -> None:
        """Say how the run goes, in a number of any name; `loss` is what people are shown first."""
        self._client.metric(name, value)

    def finish(self, model: str | None = None, loss: float = 0.0) -> None:
        """End the run: hand over its outputs, or the model, a file in task.directory.

        Needs the end of the batches. `model` is None where there was nothing to learn from; see holes().
        Interrupted by Ctrl-C, the session is closed.
        """
        self._client.finish(model, loss)
        with contextlib.suppress(OSError):
            os.remove(os.path.join(self.task.directory, STANDS_IN))

    @property
    def stopping(self) -> bool:
        """True when the platform wants the loop to pause: save, commit, leave."""
        return self._client.stopping()

    @property
    def restarting(self) -> bool:
        """True when the ranks begin again, as next() will say."""
        return self._client.restarting()

    def stats(self) -> Stats:
        """Return what the session has done so far."""
        return Stats(**self._client.stats())

    def holes(self) -> Holes:
        """Return how many samples were not delivered, and why."""
        return Holes(**self._client.holes())

    def close(self) -> None:
        """End the session. The connection stays while views of its batches are alive."""
        self._client.close()


def _rows(values: Sequence[Any]) -> memoryview:
    """Return a list of numbers, or of equally long lists of numbers, as an array of float32."""
    if not values or not isinstance(values[0], (list, tuple)):
        return memoryview(array.array("f", values))
    width = len(values[0])
    if any(len(row) != width for row in values):
        raise _weir.Invalid("outputs: the rows differ in length")
    flat = array.array("f", [number for row in values for number in row])
    return memoryview(flat).cast("B").cast("f", (len(values), width)) if width else memoryview(flat)
