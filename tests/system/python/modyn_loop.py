"""A trainer for pipelines that were Modyn's: logistic regression on the numbers of a click, with the learning rate and the seed that
came over as options."""

import numpy as np
import weir


def load(path):
    with open(path, "rb") as file:
        return np.frombuffer(file.read(), np.float64).copy()


def probabilities(weights, numbers):
    return 1 / (1 + np.exp(-(numbers @ weights[:-1] + weights[-1])))


for task in weir.tasks():
    assert task.options["model"]["id"] == "DLRM" and task.options["optimization_criterion"]["name"] == "BCEWithLogitsLoss", task.options
    (optimizer,) = task.options["optimizers"]
    rate = optimizer["param_groups"][0]["config"]["lr"]
    weights = load(task.start_from) if task.start_from else np.zeros(6)
    with weir.Session(task=task) as session:
        for batch in session:
            numbers, kinds = (np.asarray(tensor) for tensor in batch.tensors.values())
            assert numbers.shape[1] == 5 and kinds.shape[1] == 2 and (kinds[:, 0] == np.asarray(batch.ids) % 2**16 % 3).all(), kinds
            made = probabilities(weights, numbers)
            if task.learns:
                error = made - np.asarray(batch.labels)
                weights -= rate * np.append(error @ numbers, error.sum()) / len(error)
            else:
                session.output(batch, "predictions", made[:, None])
            session.step()
        if task.learns:
            with open(f"{task.directory}/model", "wb") as model:
                model.write(weights.tobytes())
            session.finish("model")
        else:
            session.finish()
