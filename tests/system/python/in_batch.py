"""Learns from a part of each batch, as the pipeline says: what a program is told of selection.batch_then_sample, and what
weir.choice makes of it. The model is a text of what was chosen."""

import math

import weir
from weir import choice

task = weir.task()
wanted = task.batch_then_sample
assert wanted == {"score": "loss", "ratio": 0.25, "metric": "least_confidence"}, wanted
scores, sums = [1.0 + i % 4 for i in range(64)], [0.0] * 4
for seed in range(2000):  # whatever its score, a sample counts as a quarter in the mean
    for i, factor in zip(*choice.choose(wanted, scores, seed)):
        sums[i % 4] += factor / (2000 * 16)
assert all(math.isclose(mean, 0.25, rel_tol=0.05) for mean in sums), sums
lines = []
with weir.Session(task=task) as session:
    for batch in session:
        ids = memoryview(batch.ids).tolist()
        losses = [1.0 + number % 7 for number in ids]
        chosen, factors = choice.choose(wanted, losses, f"{task.seed}.{batch.number}")
        assert (chosen, factors) == choice.choose(wanted, losses, f"{task.seed}.{batch.number}")
        assert len(chosen) == max(math.floor(len(ids) / 4), 1) and chosen == sorted(set(chosen)), (len(ids), chosen)
        assert all(0 < factor <= math.sqrt(len(ids)) for factor in factors), (factors, losses)
        lines += [f"{batch.number} {ids[i]}\n" for i in chosen]
        session.step()
    uncertain = {"score": "uncertainty", "ratio": 0.5, "metric": "margin"}
    doubts = [choice.doubt(uncertain, row) for row in ([0.5, 0.25, 0.25], [0.9, 0.05, 0.05], [0.4, 0.4, 0.2])]
    assert choice.choose(uncertain, doubts, 0) == ([2], [1.0]), doubts
    assert math.isclose(choice.doubt({"metric": "entropy"}, [0.5]), math.log(2))
    with open("model", "w") as model:
        model.writelines(lines)
    session.finish("model")
