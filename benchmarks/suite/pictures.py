"""A network of two hidden layers for pictures of one size, in NumPy: a program for `training.program` (docs/guides/python.md).

Learns by SGD with momentum, at a rate that falls along half a cosine; half of the pictures of a step are mirrored, and what is said of a
picture is the mean of it and of its mirror image. Options: `hidden` (numbers of units), `rate`, `momentum`, `decay`, `mirror`. Answers the modes train, evaluate, predict and score.
"""

import math

import numpy as np
import weir

CLASSES = 10


class Network:
    def __init__(self, arrays):
        self.arrays = arrays
        self.speeds = [np.zeros_like(a) for a in arrays]

    @classmethod
    def drawn(cls, widths, seed):
        """By He et al., "Delving deep into rectifiers", 2015."""
        draw = np.random.default_rng(seed)
        arrays = []
        for wide, narrow in zip(widths, widths[1:]):
            arrays.append((draw.standard_normal((wide, narrow)) * math.sqrt(2 / wide)).astype(np.float32))
            arrays.append(np.zeros(narrow, np.float32))
        return cls(arrays)

    @classmethod
    def read(cls, path):
        with np.load(path) as file:
            return cls([file[f"a{i}"] for i in range(len(file.files))])

    def write(self, path):
        with open(path, "wb") as file:
            np.savez(file, **{f"a{i}": a for i, a in enumerate(self.arrays)})

    def layers(self):
        return list(zip(self.arrays[::2], self.arrays[1::2]))

    def activations(self, pixels):
        """Of each layer what it is fed, and at the end the probabilities."""
        found = [pixels]
        for weights, bias in self.layers()[:-1]:
            found.append(np.maximum(found[-1] @ weights + bias, 0))
        weights, bias = self.layers()[-1]
        scores = found[-1] @ weights + bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return found, scores / scores.sum(axis=1, keepdims=True)

    def step(self, pixels, labels, weights_of, options, rate):
        """Learns from a batch; returns its mean loss."""
        fed, chances = self.activations(pixels)
        rows = np.arange(len(labels))
        loss = -np.log(np.maximum(chances[rows, labels], 1e-12))
        slope = chances.copy()
        slope[rows, labels] -= 1
        slope *= (weights_of / len(labels))[:, None]
        slopes = []
        for at, (weights, _) in reversed(list(enumerate(self.layers()))):
            slopes += [slope.sum(axis=0), fed[at].T @ slope]
            if at > 0:
                slope = (slope @ weights.T) * (fed[at] > 0)
        for array, speed, gradient in zip(self.arrays, self.speeds, reversed(slopes)):
            speed *= options["momentum"]
            speed -= rate * (gradient + options["decay"] * array)
            array += speed
        return float(loss.mean())


def pixels_of(batch):
    (tensor,) = batch.tensors.values()
    return np.asarray(tensor, np.float32).reshape(len(batch), -1) / 128 - 0.5


def mirrored(pixels, chosen):
    """Square pictures, of which the chosen ones are turned the other way round."""
    side = math.isqrt(pixels.shape[1])
    pictures = pixels.reshape(-1, side, side).copy()
    pictures[chosen] = pictures[chosen, :, ::-1]
    return pictures.reshape(pixels.shape)


def half(count, seed):
    return np.random.default_rng(seed).random(count) < 0.5


def learn(session, task, options):
    network, loss, total = None, 0.0, session.info.epochs * session.info.batches_per_epoch
    if task.start_from is not None:
        network = Network.read(task.start_from)
    for batch in session:
        pixels, labels = pixels_of(batch), np.asarray(batch.labels)
        if network is None:
            network = Network.drawn([pixels.shape[1], *options["hidden"], CLASSES], task.seed)
        rate = options["rate"] * (1 + math.cos(math.pi * min(1, batch.number / total))) / 2
        if options["mirror"]:
            pixels = mirrored(pixels, half(len(pixels), [task.seed, batch.number]))
        loss = network.step(pixels, labels, np.asarray(batch.weights), options, rate)
        session.step()
    if network is not None:
        network.write("model")
    session.finish("model" if network is not None else None, loss)


def chances_of(network, pixels, options):
    _, chances = network.activations(pixels)
    if options["mirror"]:
        chances = (chances + network.activations(mirrored(pixels, np.ones(len(pixels), bool)))[1]) / 2
    return chances


def answer(session, task, options):
    network = Network.read(task.start_from)
    for batch in session:
        chances = chances_of(network, pixels_of(batch), options)
        if task.mode == "score":
            chosen = chances[np.arange(len(batch)), np.asarray(batch.labels)]
            slopes = chances.copy()
            slopes[np.arange(len(batch)), np.asarray(batch.labels)] -= 1
            session.output(batch, "scores", np.stack([-np.log(np.maximum(chosen, 1e-12)), np.linalg.norm(slopes, axis=1)], axis=1))
        else:
            session.output(batch, "predictions", chances)
        session.step()
    session.finish()


def main():
    options = {"hidden": [512, 256], "rate": 0.1, "momentum": 0.9, "decay": 1e-4, "mirror": True}
    for task in weir.tasks():
        with weir.Session(task=task) as session:
            (learn if task.learns else answer)(session, task, options | (task.options or {}))


main()
