"""Says the bytes of each sample as a framework sees them, by its id: numbers, label and weight, epoch by epoch."""

import sys

import numpy as np
import weir

if "torch" in sys.argv:
    import weir.torch

    dataset = weir.torch.Dataset()
    session, epochs = dataset.session, dataset.epochs()
else:
    session = weir.Session()
    epochs = session.epochs()
epoch_count = 0
with open("model", "w") as model:
    for number, epoch in enumerate(epochs):
        if "torch" not in sys.argv:
            assert epoch.number == number and len(epoch) == session.info.batches_per_epoch
        count = 0
        for batch in epoch:
            assert batch.epoch == number
            (tensor,) = batch.tensors.values()
            for row in zip(*map(np.asarray, (batch.ids, tensor, batch.labels, batch.weights))):
                print(number, row[0], *(part.tobytes().hex() for part in row[1:]), file=model)
            count += 1
        assert count == session.info.batches_per_epoch, count
        epoch_count += 1
assert len(session) == epoch_count * session.info.batches_per_epoch and epoch_count == session.info.epochs
session.finish("model")
