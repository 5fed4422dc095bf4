"""PyTorch over weir: batches as torch tensors, a Dataset, and serve(), which answers every mode of a run."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import torch
from torch.utils.data import IterableDataset, get_worker_info

import weir
from weir import choice
from weir.session import Info
from weir.torch_cuda import mover
from weir.torch_ranks import Ranks
from weir.torch_steps import Steps
from weir.torch_validation import Validation

LABELS_CLASS = 3  # of weir/client.h
NO_SCALE = (0.0, 1.0)  # mean and deviation of labels without the operator scale_label


class Batch(NamedTuple):
    """One batch as tensors. Unless copied, they are the memory of the batch: read-only, and kept while one is alive."""

    number: int
    epoch: int
    ids: torch.Tensor
    labels: torch.Tensor | None
    weights: torch.Tensor
    tensors: dict[str, torch.Tensor]
    offsets: dict[str, torch.Tensor]
    """Of the ragged tensors: where each sample begins, and where the last one ends."""
    global_samples: int = 0
    """Of the batch over all ranks, of which this is a slice."""
    global_weight: float = 0.0
    global_longest: int = 0
    """Elements of the longest row of a ragged tensor, over all ranks."""

    def padded(self, name: str, value: float = 0) -> torch.Tensor:
        """Return a ragged tensor as a rectangle filled up with `value`: samples, by the longest row of all ranks."""
        values, lengths = self.tensors[name], self.offsets[name].diff()
        rectangle = values.new_full((len(lengths), self.global_longest, *values.shape[1:]), value)
        is_there = torch.arange(self.global_longest, device=lengths.device) < lengths.unsqueeze(1)
        rectangle[is_there] = values
        return rectangle


class _Named(dict[str, torch.Tensor]):
    """The tensors of a batch, which says their names when another one is asked for."""

    def __missing__(self, name: str) -> torch.Tensor:
        raise KeyError(f"no tensor {name}: the operators make {', '.join(self)}")


def as_tensor(tensor: weir.Tensor) -> torch.Tensor:
    """Return a torch tensor of the same memory; of uint32, which older versions do not have, a copy as int64."""
    if tensor.dtype != "uint32":
        return torch.from_dlpack(tensor.__dlpack__())  # the capsule at once: half of the time
    if tensor.nbytes == 0:
        return torch.empty(tensor.shape, dtype=torch.int64)
    content: Any = tensor  # a buffer, which checkers of types cannot see before Python 3.12
    signed = torch.frombuffer(bytearray(memoryview(content).cast("B")), dtype=torch.int32)
    return (signed.to(torch.int64) & 0xFFFFFFFF).reshape(tensor.shape)


def as_batch(batch: weir.Batch, device: torch.device | str | None = None) -> Batch:
    """Return the batch as tensors, copied where `device` is another one than the CPU: to a GPU on a stream that this one waits for.

    Labels that are numbers come in the default type of PyTorch, float32, as a model's outputs do.
    """

    move = None if device is None else mover(torch.device(device))

    def moved(tensor: weir.Tensor) -> torch.Tensor:
        return as_tensor(tensor) if move is None else move(as_tensor(tensor))

    tensors, labels = batch.tensors, batch.labels
    numbers = None if labels is None else moved(labels)
    if numbers is not None and numbers.dtype == torch.float64:
        numbers = numbers.to(torch.get_default_dtype())
    return Batch(
        batch.number,
        batch.epoch,
        moved(batch.ids),
        numbers,
        moved(batch.weights),
        _Named((name, moved(tensor)) for name, tensor in tensors.items()),
        {name: moved(offsets) for name, tensor in tensors.items() if (offsets := tensor.offsets) is not None},
        batch.global_samples,
        batch.global_weight,
        batch.global_longest,
    )


class Dataset(IterableDataset):
    """The batches of the run that this process was started for; DataLoader(dataset, batch_size=None) takes them too.

    The session is opened by the first use and takes the options of weir.Session. Weir reads ahead by itself, and a
    session belongs to its process: num_workers stays 0.
    """

    def __init__(self, *, device: torch.device | str | None = None, **options: Any) -> None:
        self.device = device
        self._state: bytes | None = options.pop("state", None)
        self._options = options
        self._session: weir.Session | None = None
        self._newest: weir.Batch | None = None

    @property
    def session(self) -> weir.Session:
        """The open session."""
        if get_worker_info() is not None:
            raise weir.Unsupported("a worker of a DataLoader cannot use the session: num_workers=0 (Weir reads ahead by itself)")
        if self._session is None:
            self._session = weir.Session(self._state, **self._options)
        return self._session

    def __len__(self) -> int:
        """Batches of the session, over all epochs; those that would be nothing but holes do not come."""
        return len(self.session)

    def __iter__(self) -> Iterator[Batch]:
        return self._shown(self.session)

    def _shown(self, batches: Iterator[weir.Batch]) -> Iterator[Batch]:
        while True:
            self._newest = None  # waits without holding a batch: an erasure may go on
            self._newest = next(batches, None)
            if self._newest is None:
                return
            yield as_batch(self._newest, self.device)

    def epochs(self) -> Iterator[Iterator[Batch]]:
        """Iterate over the epochs that are left, each an iterator over its batches; see weir.Session.epochs()."""
        for epoch in self.session.epochs():
            yield self._shown(epoch)

    def step(self) -> None:
        """Say that all batches handed out so far are in the weights."""
        self.session.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the position, to be saved with the weights; it says step(), unless gradients are accumulated."""
        if not self.session.accumulate:
            self.session.step()
        return {"weir": self.session.state().hex()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a position, before anything else is asked of the dataset."""
        if self._session is not None:
            raise weir.Invalid("load_state_dict: the session is open already: load the state before the first batch")
        self._state = bytes.fromhex(state["weir"])

    def commit(self, state: dict[str, Any]) -> None:
        """State that weights containing this position are durable."""
        self.session.commit(bytes.fromhex(state["weir"]))

    def output(self, kind: str, rows: torch.Tensor) -> None:
        """Say what the model makes of the newest batch; see weir.Session.output()."""
        if self._newest is None:
            raise weir.Invalid("output: no batch has come yet")
        self.session.output(self._newest, kind, _array(rows))

    def finish(self, model: str | None = None, loss: float = 0.0) -> None:
        """End the run; see weir.Session.finish()."""
        self._newest = None
        self.session.finish(model, loss)


def save(content: Any, path: str) -> None:
    """Do as torch.save(), durable and whole in the same instant: after a crash the file is the old one or the new one."""
    with open(f"{path}.new", "wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def seed(number: int) -> None:
    """Seed what programs draw from: random, NumPy where it is in use, and PyTorch."""
    random.seed(number)
    torch.manual_seed(number & (2**63 - 1))
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(number & (2**32 - 1))


def random_states() -> dict[str, Any]:
    """Return the states of what seed() seeds, to be saved with the weights."""
    states: dict[str, Any] = {"python": json.dumps(random.getstate()), "torch": torch.get_rng_state()}
    if (numpy := sys.modules.get("numpy")) is not None:
        kind, words, *rest = numpy.random.get_state()
        states["numpy"] = json.dumps([kind, words.tolist(), *rest])
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def set_random_states(states: dict[str, Any]) -> None:
    """Go on drawing where random_states() was called."""
    version, numbers, gauss = json.loads(states["python"])
    random.setstate((version, tuple(numbers), gauss))
    torch.set_rng_state(states["torch"].cpu())
    if "numpy" in states and (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.set_state(json.loads(states["numpy"]))
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([state.cpu() for state in states["cuda"]])


# ---- serve ----


def default_inputs(batch: Batch) -> tuple[torch.Tensor, ...]:
    """Return the tensors in order; a ragged one as values and the offsets that nn.EmbeddingBag takes."""
    inputs: list[torch.Tensor] = []
    for name, tensor in batch.tensors.items():
        inputs.append(tensor)
        if name in batch.offsets:
            inputs.append(batch.offsets[name][:-1])
    return tuple(inputs)


def default_predictions(task: weir.Task, outputs: torch.Tensor) -> torch.Tensor:
    """Return probabilities where labels are classes (of two, the second one's), else the outputs."""
    rows = outputs.reshape(len(outputs), -1)
    if task.label_type != LABELS_CLASS:
        return rows
    if rows.shape[1] == 1:
        return torch.sigmoid(rows)
    likely = torch.softmax(rows, 1)
    return likely[:, 1:] if rows.shape[1] == 2 else likely


class _Served:
    """What serve() works on."""

    def __init__(self, task: weir.Task, options: dict[str, Any]) -> None:
        self.task = task
        self.device = _device(options["device"])
        self.loss: Callable[..., torch.Tensor] = options["loss"]
        self.inputs = options["inputs"] or default_inputs
        self.predictions = options["predictions"] or default_predictions
        self.embed = options["embed"]
        self.save_every_s: float = options["save_every"]
        self.autocast: torch.dtype | None = options["autocast"]
        seed(task.seed)
        self.ranks = Ranks(task, self.device)
        self.model = _made(options["model"], torch.nn.Module, task).to(self.device)
        steps = task.learns and options["optimizer"] is not None
        self.steps = Steps(self.model, options, self.device, self.ranks.count) if steps else None
        self.shared = self.ranks.shared(self.model) if steps else self.model
        if self.ranks.rank > 0:
            seed(task.seed + self.ranks.rank)  # equal weights, but chance of its own
        self.validation = Validation(options["validation"], task.seed, options["stop_after"])
        if self.validation.share > 0 and task.reports:
            raise weir.Unsupported("training.report_losses: expected no validation=, whose samples have no loss of a step")
        self.state: bytes | None = None
        self.scale = NO_SCALE
        self.samples, self.total, self.epoch = 0, 0.0, 0  # of the epoch: for its mean loss
        self.saved = time.monotonic()

    def load(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return what an earlier life of this rank saved, and rank 0's, which has the weights; None: there was none."""
        name = self._newest_checkpoint()
        if name is None:
            return None
        mine = torch.load(name, map_location=self.device)
        self.state = bytes.fromhex(mine["weir"])
        if self.ranks.rank == 0:
            return mine, mine
        return mine, torch.load(f"checkpoint-0-{_step_of(name)}", map_location=self.device)

    def begin(self, info: Info, saved: tuple[dict[str, Any], dict[str, Any]] | None) -> None:
        """Go on from what was saved, or else from the model to start from."""
        self.scale = (info.label_mean, info.label_deviation)
        if self.steps is not None:
            self.steps.schedule_for(info.epochs, info.batches_per_epoch)
        if saved is not None:
            mine, common = saved
            for name, part in self._parts().items():
                part.load_state_dict(common[name])
            self.validation.load_state_dict(mine["validation"])
            self.samples, self.total, self.epoch = mine["loss"]
            set_random_states(mine["random"])
        elif self.task.start_from is not None:
            self.model.load_state_dict(torch.load(self.task.start_from, map_location=self.device))

    def _parts(self) -> dict[str, Any]:
        """What all ranks have in common."""
        return {"model": self.model, **(self.steps.parts() if self.steps is not None else {})}

    def _newest_checkpoint(self) -> str | None:
        """Return the file that this rank goes on from; several go on from the newest step that each of them has."""
        if not self.task.learns:
            return None
        if self.ranks.count == 1:
            return "checkpoint" if os.path.exists("checkpoint") else None
        step = self.ranks.newest_common([_step_of(name) for name in self._own_checkpoints()])
        return None if step is None else f"checkpoint-{self.ranks.rank}-{step}"

    def _own_checkpoints(self) -> list[str]:
        mine = f"checkpoint-{self.ranks.rank}-"
        return [name for name in os.listdir() if name.startswith(mine) and not name.endswith(".new")]

    def save(self, session: weir.Session) -> None:
        """Make weights, random states and position durable in the same instant; of several ranks, rank 0 the weights."""
        self.state = session.state()
        parts = self._parts() if self.ranks.rank == 0 else {}
        content = {name: part.state_dict() for name, part in parts.items()}
        content.update(validation=self.validation.state_dict(), random=random_states(), weir=self.state.hex())
        content.update(loss=(self.samples, self.total, self.epoch))
        if self.ranks.count == 1:
            save(content, "checkpoint")
        else:
            self._save_as_rank(content, f"checkpoint-{self.ranks.rank}-{weir.state_batches(self.state)}")
        session.commit(self.state)
        self.saved = time.monotonic()

    def _save_as_rank(self, content: dict[str, Any], name: str) -> None:
        """Keep earlier steps until every rank has this one."""
        save(content, name)
        self.ranks.sum(0)
        for old in self._own_checkpoints():
            if old != name:
                os.remove(old)

    def forward(self, batch: Batch) -> Any:
        """Return what the model returns: a tensor, or several."""
        model = self.shared if self.model.training else self.model
        with _complaints_of("inputs()", batch.tensors):
            inputs = self.inputs(batch)
        with _complaints_of("the model", inputs):
            if self.autocast is None:
                return _called(model, inputs)
            with torch.autocast(self.device.type, self.autocast):
                outputs = _called(model, inputs)
            return _floats(outputs)

    def scaled(self, labels: torch.Tensor | None) -> torch.Tensor | None:
        """Return the labels that the model learns: with the operator scale_label those of mean 0 and deviation 1."""
        mean, deviation = self.scale
        return labels if labels is None or self.scale == NO_SCALE else (labels - mean) / deviation

    def losses(self, outputs: Any, batch: Batch) -> torch.Tensor:
        labels = self.scaled(batch.labels)
        with _complaints_of("the loss", (outputs, labels)):
            found = self.loss(outputs, labels)
        samples = len(batch.ids)
        if found.shape[:1] != (samples,):
            raise weir.Invalid(f"loss: expected one of each of {samples} samples, found {_shape(found)}: use reduction='none'")
        if found.shape == (samples, samples) and samples > 1 and labels is not None and labels.dim() == 1:
            raise weir.Invalid(f"loss: found {_shape(found)}, every output with every label: given {_described((outputs, labels))}: "
                               "make the shapes equal, with squeeze(1)")  # fmt: skip
        return found if found.dim() == 1 else found.flatten(1).mean(1)

    def learn(self, session: weir.Session, raw: weir.Batch, batch: Batch) -> tuple[bool, bool]:
        """Return whether to save, and whether to stop then: as any rank wants it. The ranks meet here."""
        mine = self.learn_from(session, raw, batch)
        stops = session.stopping
        saves = stops or time.monotonic() - self.saved >= self.save_every_s
        weight, samples, total, saving, stopping = self.ranks.sum(*mine, saves, stops)
        if self.validation.share == 0 and self.task.batch_then_sample is None:  # all of the batch was learnt from
            weight, samples = batch.global_weight, batch.global_samples
        if self.steps is not None and samples > 0:
            self.steps.added(weight)
        self.samples += int(samples)
        self.total += total
        return saving > 0, stopping > 0

    def learn_from(self, session: weir.Session, raw: weir.Batch, batch: Batch) -> tuple[float, int, float]:
        """Return the weight of what was learnt from, its samples, and the sum of their losses."""
        nothing = (0.0, 0, 0.0)
        if batch.epoch > self.epoch:  # in relaxed order some of the one before are still to come
            self.end_epoch(session)
            if self.validation.is_over:  # the rest is passed over
                return nothing
            self.samples, self.total, self.epoch = 0, 0.0, batch.epoch
        batch, held = self.validation.split(batch)
        if held is not None:
            self.validate(held)
        if len(batch.ids) == 0 and self.ranks.count == 1:
            return nothing
        outputs = self.forward(batch)
        # An empty slice has no labels, and joins all the same.
        losses = self.losses(outputs, batch) if len(batch.ids) > 0 else torch.cat([one.flatten() for one in _tensors(outputs)])
        if self.task.reports and len(batch.ids) > 0:
            session.output(raw, "scores", _array(_scores(losses, outputs)))
        total = float(losses.detach().sum())
        if not math.isfinite(total):
            raise weir.Invalid(f"loss: found {total}, expected a number: batch {batch.number}, epoch {batch.epoch}, {_described(outputs)}: "
                               "a smaller learning rate, clip=, or a look at what comes in (standardize)")  # fmt: skip
        weights = batch.weights
        if self.task.batch_then_sample is not None and len(batch.ids) > 0:
            chosen, factors = self.choose(batch, losses, outputs)
            losses, weights = losses[chosen], weights[chosen] * factors
        if self.steps is not None:
            self.steps.add(losses, weights)
        return float(weights.sum()), len(batch.ids), total

    def choose(self, batch: Batch, losses: torch.Tensor, outputs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the samples of the batch that the step learns from, and the factors of their weights."""
        wanted: dict[str, Any] = self.task.batch_then_sample or {}
        if wanted["score"] == "uncertainty":
            rows = self.predicted(outputs).reshape(len(batch.ids), -1)
            scores = [choice.doubt(wanted, row) for row in rows.tolist()]
        elif wanted["score"] == "grad_norm":
            scores = _by_outputs(losses, outputs).norm(dim=1).tolist()
        else:
            scores = losses.tolist()
        seed = f"{self.task.seed}.{batch.number}.{self.ranks.rank}"
        chosen, factors = choice.choose(wanted, scores, seed)
        return torch.tensor(chosen, device=losses.device), torch.tensor(factors, dtype=torch.float32, device=losses.device)

    def validate(self, held: Batch) -> None:
        self.model.eval()
        with torch.no_grad():
            self.validation.add(self.losses(self.forward(held), held))
        self.model.train()

    def end_epoch(self, session: weir.Session) -> None:
        """Say how the epoch went, to who waits for a plateau as well."""
        if self.validation.is_over:
            return
        total, samples = self.ranks.sum(self.validation.total, self.validation.samples)
        self.validation.total, self.validation.samples = total, int(samples)
        loss = self.validation.end_epoch(self.model)
        if loss is not None:
            session.metric("validation_loss", loss)
            session.metric("best_epoch", self.validation.best_epoch)
        if self.steps is not None:
            self.steps.end_epoch(self.mean_loss() if loss is None else loss)
            if self.validation.is_over:
                self.steps.drop()

    @property
    def is_between_steps(self) -> bool:
        """True when every batch so far is in the weights."""
        return self.steps is None or self.steps.waiting == 0

    def mean_loss(self) -> float:
        return self.total / max(self.samples, 1)

    def use(self, session: weir.Session, raw: weir.Batch, batch: Batch) -> None:
        kind, answer = self.answers()[self.task.mode]
        session.output(raw, kind, _array(answer(batch)))

    def answers(self) -> dict[str, tuple[str, Callable[[Batch], torch.Tensor]]]:
        predict = ("predictions", self.predict)
        return {
            "evaluate": predict,
            "predict": predict,
            "score": ("scores", self.score),
            "gradient": ("gradients", self.gradient),
            "embed": ("embeddings", self.embedding),
        }

    def predict(self, batch: Batch) -> torch.Tensor:
        with torch.no_grad():
            outputs = self.forward(batch)
        mean, deviation = self.scale
        return self.predicted(outputs) * deviation + mean

    def predicted(self, outputs: Any) -> torch.Tensor:
        """Return what predictions() makes of outputs; labels that are scaled stay so."""
        with torch.no_grad(), _complaints_of("predictions()", outputs):
            return self.predictions(self.task, outputs)

    def score(self, batch: Batch) -> torch.Tensor:
        outputs = self.forward(batch)
        return _scores(self.losses(outputs, batch), outputs)

    def gradient(self, batch: Batch) -> torch.Tensor:
        outputs = self.forward(batch)
        return _by_outputs(self.losses(outputs, batch), outputs)

    def embedding(self, batch: Batch) -> torch.Tensor:
        if self.embed is None:
            raise weir.Unsupported("mode embed: give serve(embed=…), or do not declare the mode")
        with torch.no_grad():
            return _called(self.embed, self.inputs(batch), self.model).reshape(len(batch.ids), -1)

    def run(self, session: weir.Session) -> bool:
        """Return True when it is finished, False when it is paused."""
        learns = self.task.learns
        self.model.train(learns)
        while (raw := session.next()) is not None:
            batch = as_batch(raw, self.device)
            if learns:
                saves, stops = self.learn(session, raw, batch)
            else:
                self.use(session, raw, batch)
                saves, stops = False, session.stopping
            del batch
            raw.release()
            session.metric("loss", self.mean_loss())
            if not self.is_between_steps:
                continue
            session.step()
            if saves:
                self.save(session)
            if stops:  # the run is paused: it comes again
                return False
        self.finish(session)
        return True

    def finish(self, session: weir.Session) -> None:
        if self.steps is not None:
            self.steps.end()
        if self.task.learns:
            self.end_epoch(session)
            self.validation.restore_best(self.model)
        session.step()
        (learnt,) = self.ranks.sum(self.state is not None or session.stats().samples > 0)
        made = self.task.learns and learnt > 0 and self.ranks.rank == 0
        if made:
            save(self.model.state_dict(), "model")
        session.finish("model" if made else None, self.mean_loss())
        self.ranks.end()


def serve(
    model: Any,
    loss: Callable[[Any, Any], torch.Tensor],
    optimizer: Any = None,
    *,
    parameters: Callable[[Any], Any] | None = None,
    schedule: Callable[..., Any] | None = None,
    schedule_by: Literal["batch", "epoch"] = "batch",
    accumulate: int = 1,
    clip: float | None = None,
    autocast: torch.dtype | None = None,
    inputs: Callable[[Batch], Any] | None = None,
    predictions: Callable[[weir.Task, Any], torch.Tensor] | None = None,
    embed: Callable[..., torch.Tensor] | None = None,
    device: torch.device | str = "auto",
    validation: float = 0.0,
    stop_after: int | None = None,
    save_every: float = 60.0,
    task: weir.Task | None = None,
) -> None:
    """Do the run that this process was started for, whatever its mode, and those that follow, and return when there is
    none, or it is paused.

    `model` is a function of the task, called after the seed is set, so that a life that begins again begins with the
    same weights; a module works too where the program seeds, for one run: it is not new for the next. `loss(outputs, labels)` returns a loss for each sample
    (reduction="none"). `optimizer` is a function of the parameters, or of the groups that `parameters` makes of the
    model. `schedule` is a function of the optimizer, or of the optimizer and the number of steps of the run; it steps with the
    optimizer, or with each epoch, and one that waits for a plateau is told the mean loss of the epoch.

    One step takes the gradients of `accumulate` batches, by the mean over all their samples, and cuts their norm to
    `clip`. `autocast` is the type that the model computes in, torch.bfloat16 for example: outputs and losses stay
    float32.

    `validation` is the share of the samples that no step is taken on: drawn by their ids, the same in each epoch. Their
    mean loss in an epoch is the metric validation_loss, what a plateau is seen by, and decides which epoch's weights
    are the model. After `stop_after` epochs without a better one the rest is passed over.

    `device` "auto" is the first GPU that the run was given, else the CPU. `inputs` makes of a batch
    what the model is called with, a tensor, several in order, or a dict of them by name: by default its tensors. `predictions`
    makes of outputs what is evaluated; `embed(model, *inputs)` where a sample lies. The gradient of a sample is that
    of its loss by the outputs. With the operator scale_label the loss is given labels of mean 0 and deviation 1, and
    predictions are in the units of the labels again.

    Several ranks (training.ranks) train one model: DistributedDataParallel over nccl on GPUs, over gloo elsewhere. A
    step is by the mean over the samples of all ranks, as one process would take it.

    Every `save_every` seconds a checkpoint keeps model, optimizer, schedule, random states and position.
    """
    options = dict(locals())
    if accumulate < 1 or schedule_by not in ("batch", "epoch"):
        raise weir.Invalid(f"serve: expected accumulate from 1 and schedule_by batch or epoch, found {accumulate}, '{schedule_by}'")
    if task is not None:
        _serve(task, options)
        return
    tasks = weir.tasks()
    for task in tasks:
        if not _serve(task, options) or not _begins_anew(options):
            break


def _serve(task: weir.Task, options: dict[str, Any]) -> bool:
    """Return True when the run is finished."""
    served = _Served(task, options)
    saved = served.load()
    with weir.Session(served.state, task=task, accumulate=True) as session:
        served.begin(session.info, saved)
        del saved
        return served.run(session)


def _begins_anew(options: dict[str, Any]) -> bool:
    """Return True when nothing that has learnt is left over for the next run."""
    return not isinstance(options["model"], torch.nn.Module) and not isinstance(options["optimizer"], torch.optim.Optimizer)


def _device(name: torch.device | str) -> torch.device:
    return torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")


def _step_of(name: str) -> int:
    return int(name.rpartition("-")[2])


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


@contextlib.contextmanager
def _complaints_of(what: str, given: Any) -> Iterator[None]:
    """Name the types and shapes that were given with what goes wrong: most programs that fail at first fail there."""
    try:
        yield
    except Exception as error:
        raise weir.Invalid(f"{what}, given {_described(given)}: {type(error).__name__}: {error}") from error


def _described(thing: Any) -> str:
    if isinstance(thing, torch.Tensor):
        return f"{str(thing.dtype).removeprefix('torch.')} {_shape(thing)}"
    if isinstance(thing, dict):
        return ", ".join(f"{name} {_described(part)}" for name, part in thing.items())
    return ", ".join(map(_described, thing)) if isinstance(thing, (tuple, list)) else str(thing)


def _called(function: Callable[..., Any], inputs: Any, *first: Any) -> Any:
    """Call it with one tensor, with several in order, or with a dict of them by name."""
    if isinstance(inputs, dict):
        return function(*first, **inputs)
    return function(*first, *(inputs if isinstance(inputs, (tuple, list)) else (inputs,)))


def _tensors(outputs: Any) -> list[torch.Tensor]:
    """Return all tensors that a model returned."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    parts = outputs.values() if isinstance(outputs, dict) else outputs
    return [tensor for part in parts for tensor in _tensors(part)]


def _floats(outputs: Any) -> Any:
    """Return what a model returned, in float32."""
    if isinstance(outputs, torch.Tensor):
        return outputs.float()
    if isinstance(outputs, dict):
        return {name: _floats(part) for name, part in outputs.items()}
    return tuple(map(_floats, outputs))


def _made(thing: Any, kind: type, *arguments: Any) -> Any:
    return thing if isinstance(thing, kind) else thing(*arguments)


def _by_outputs(losses: torch.Tensor, outputs: Any) -> torch.Tensor:
    """Return the gradient of each sample's loss by its outputs."""
    tensors = [tensor for tensor in _tensors(outputs) if tensor.requires_grad]
    gradients = torch.autograd.grad(losses.sum(), tensors, retain_graph=True)
    return torch.cat([gradient.reshape(len(losses), -1) for gradient in gradients], 1)


def _scores(losses: torch.Tensor, outputs: Any) -> torch.Tensor:
    return torch.stack([losses.detach(), _by_outputs(losses, outputs).norm(dim=1)], 1)


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()
