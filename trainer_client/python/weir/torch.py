"""PyTorch over weir: batches as torch tensors, a Dataset, and serve(), which answers every mode of a run."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.utils.data import IterableDataset, get_worker_info

import weir

LABELS_CLASS = 3  # of weir/client.h


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


def as_tensor(tensor: weir.Tensor) -> torch.Tensor:
    """Return a torch tensor of the same memory; of uint32, which older versions do not have, a copy as int64."""
    if tensor.dtype == "uint32":
        return torch.tensor(memoryview(tensor).tolist(), dtype=torch.int64).reshape(tensor.shape)
    return torch.from_dlpack(tensor)


def as_batch(batch: weir.Batch, device: torch.device | str | None = None) -> Batch:
    """Return the batch as tensors, copied where `device` is another one than the CPU."""

    def moved(tensor: weir.Tensor) -> torch.Tensor:
        return as_tensor(tensor) if device is None else as_tensor(tensor).to(device)

    tensors = batch.tensors
    return Batch(
        batch.number,
        batch.epoch,
        moved(batch.ids),
        None if batch.labels is None else moved(batch.labels),
        moved(batch.weights),
        {name: moved(tensor) for name, tensor in tensors.items()},
        {name: moved(tensor.offsets) for name, tensor in tensors.items() if tensor.offsets is not None},
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

    @property
    def session(self) -> weir.Session:
        """The open session."""
        if get_worker_info() is not None:
            raise weir.Unsupported("a worker of a DataLoader cannot use the session: num_workers=0 (Weir reads ahead by itself)")
        if self._session is None:
            self._session = weir.Session(self._state, **self._options)
        return self._session

    def __iter__(self) -> Iterator[Batch]:
        session = self.session
        while (batch := session.next()) is not None:
            yield as_batch(batch, self.device)

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
        self.device = torch.device(options["device"])
        self.loss: Callable[..., torch.Tensor] = options["loss"]
        self.inputs = options["inputs"] or default_inputs
        self.predictions = options["predictions"] or default_predictions
        self.embed = options["embed"]
        self.save_every_s: float = options["save_every"]
        _seed(task.seed)
        self.model = _made(options["model"], torch.nn.Module, task).to(self.device)
        self.optimizer = None
        if task.learns and options["optimizer"] is not None:
            self.optimizer = _made(options["optimizer"], torch.optim.Optimizer, self.model.parameters())
        self.schedule = options["schedule"](self.optimizer) if task.learns and options["schedule"] is not None else None
        self.state: bytes | None = None
        self.samples, self.total, self.epoch = 0, 0.0, 0  # of the epoch: for its mean loss
        self.saved = time.monotonic()

    def restore(self) -> None:
        """Take what an earlier life saved, or the model to start from."""
        if self.task.learns and os.path.exists("checkpoint"):
            saved = torch.load("checkpoint", map_location=self.device)
            for name, part in self._parts().items():
                part.load_state_dict(saved[name])
            _set_random(saved["random"])
            self.state = bytes.fromhex(saved["weir"])
            self.samples, self.total, self.epoch = saved["loss"]
        elif self.task.start_from is not None:
            self.model.load_state_dict(torch.load(self.task.start_from, map_location=self.device))

    def _parts(self) -> dict[str, Any]:
        parts = {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}
        return {name: part for name, part in parts.items() if part is not None}

    def save(self, session: weir.Session) -> None:
        """Make weights, random states and position durable in the same instant."""
        self.state = session.state()
        content = {name: part.state_dict() for name, part in self._parts().items()}
        content.update(random=_random(), weir=self.state.hex(), loss=(self.samples, self.total, self.epoch))
        _write("checkpoint", content)
        session.commit(self.state)
        self.saved = time.monotonic()

    def forward(self, batch: Batch) -> torch.Tensor:
        return self.model(*self.inputs(batch))

    def losses(self, outputs: torch.Tensor, batch: Batch) -> torch.Tensor:
        return self.loss(outputs, batch.labels).reshape(len(batch.ids), -1).mean(1)

    def learn(self, session: weir.Session, raw: weir.Batch, batch: Batch) -> None:
        outputs = self.forward(batch)
        losses = self.losses(outputs, batch)
        if self.task.reports:
            session.output(raw, "scores", _array(_scores(losses, outputs)))
        if self.optimizer is not None:
            self.optimizer.zero_grad(set_to_none=True)
            ((losses * batch.weights).sum() / batch.weights.sum()).backward()
            self.optimizer.step()
            if self.schedule is not None:
                self.schedule.step()
        if batch.epoch != self.epoch:
            self.samples, self.total, self.epoch = 0, 0.0, batch.epoch
        self.samples += len(raw)
        self.total += float(losses.detach().sum())

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
            return self.predictions(self.task, self.forward(batch))

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
            return self.embed(self.model, *self.inputs(batch)).reshape(len(batch.ids), -1)

    def run(self, session: weir.Session) -> None:
        learns = self.task.learns
        self.model.train(learns)
        while (raw := session.next()) is not None:
            batch = as_batch(raw, self.device)
            (self.learn if learns else self.use)(session, raw, batch)
            session.step()
            del batch
            raw.release()
            session.metric("loss", self.mean_loss())
            if learns and (session.stopping or time.monotonic() - self.saved >= self.save_every_s):
                self.save(session)
            if session.stopping:  # the run is paused: it comes again
                return
        self.finish(session)

    def finish(self, session: weir.Session) -> None:
        made = self.task.learns and (self.state is not None or session.stats().samples > 0)
        if made:
            _write("model", self.model.state_dict())
        session.finish("model" if made else None, self.mean_loss())


def serve(
    model: Any,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    optimizer: Any = None,
    *,
    schedule: Callable[[torch.optim.Optimizer], Any] | None = None,
    inputs: Callable[[Batch], tuple[torch.Tensor, ...]] | None = None,
    predictions: Callable[[weir.Task, torch.Tensor], torch.Tensor] | None = None,
    embed: Callable[..., torch.Tensor] | None = None,
    device: torch.device | str = "cpu",
    save_every: float = 60.0,
    task: weir.Task | None = None,
) -> None:
    """Do the run that this process was started for, whatever its mode, and return when it is over, or paused.

    `model` is a function of the task, called after the seed is set, so that a life that begins again begins with the
    same weights; a module works too where the program seeds. `loss(outputs, labels)` returns a loss for each sample
    (reduction="none"). `optimizer` is a function of the parameters. `schedule` is a function of the optimizer, stepped
    after each batch. `inputs` makes of a batch what the model is called with: by default its tensors. `predictions`
    makes of outputs what is evaluated; `embed(model, *inputs)` where a sample lies. The gradient of a sample is that
    of its loss by the outputs.

    Every `save_every` seconds a checkpoint keeps model, optimizer, schedule, random states and position.
    """
    options = {
        "model": model, "loss": loss, "optimizer": optimizer, "schedule": schedule, "inputs": inputs,
        "predictions": predictions, "embed": embed, "device": device, "save_every": save_every,
    }  # fmt: skip
    task = task if task is not None else weir.task()
    served = _Served(task, options)
    served.restore()
    with weir.Session(served.state, task=task) as session:
        served.run(session)


def _made(thing: Any, kind: type, *arguments: Any) -> Any:
    return thing if isinstance(thing, kind) else thing(*arguments)


def _by_outputs(losses: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    """Return the gradient of each sample's loss by its outputs."""
    (gradient,) = torch.autograd.grad(losses.sum(), outputs, retain_graph=True)
    return gradient.reshape(len(outputs), -1)


def _scores(losses: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    return torch.stack([losses.detach(), _by_outputs(losses, outputs).norm(dim=1)], 1)


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed & (2**63 - 1))


def _random() -> dict[str, Any]:
    states = {"python": json.dumps(random.getstate()), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def _set_random(states: dict[str, Any]) -> None:
    version, numbers, gauss = json.loads(states["python"])
    random.setstate((version, tuple(numbers), gauss))
    torch.set_rng_state(states["torch"].cpu())
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([state.cpu() for state in states["cuda"]])


def _write(path: str, content: Any) -> None:
    """Make the file durable in one instant."""
    with open("new", "wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace("new", path)
