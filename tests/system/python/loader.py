"""A loop of PyTorch's own: a DataLoader over the dataset, whose position is saved with the weights."""

import os

import torch
import weir.torch
from torch.utils.data import DataLoader

dataset = weir.torch.Dataset()
seen = []
if os.path.exists("checkpoint"):
    saved = torch.load("checkpoint")
    dataset.load_state_dict(saved["position"])
    seen = saved["seen"]
for batch in DataLoader(dataset, batch_size=None):
    (words,), (offsets,) = batch.tensors.values(), batch.offsets.values()
    assert words.dtype == torch.int32 and offsets.dtype == torch.int64 and offsets[-1] == len(words)
    assert batch.ids.dtype == torch.int64 and len(batch.labels) == len(batch.weights) == len(batch.ids)
    seen.append((batch.number, int(batch.ids.sum()), int(words.sum())))
    if len(seen) % 10 == 0:
        position = dataset.state_dict()
        torch.save({"position": position, "seen": seen}, "new")
        os.replace("new", "checkpoint")
        dataset.commit(position)
with open("model", "w") as file:
    file.write("\n".join(map(str, seen)))
dataset.session.finish("model")
