"""A trainer whose model is every byte of its batches, in order: what batches_dump.c writes too."""

import struct

import numpy as np
import weir


def look(tensor):
    """Returns the bytes, seen in three ways that are one memory."""
    seen, same = np.asarray(tensor), np.from_dlpack(tensor)
    assert seen.ctypes.data == same.ctypes.data and not seen.flags.writeable and seen.dtype == tensor.dtype
    assert seen.shape == same.shape == tensor.shape and len(tensor) == len(seen) and seen.nbytes == tensor.nbytes
    assert seen.tobytes() == memoryview(tensor).tobytes() == same.tobytes() == bytes(tensor)
    return seen.tobytes()


def dump(batch, file):
    file.write(struct.pack("<4Q", batch.number, batch.epoch, len(batch), batch.holes))
    file.write(look(batch.ids) + look(batch.labels) + look(batch.weights))
    for name, tensor in batch.tensors.items():
        file.write(name.encode() + b"\0" + struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape))
        file.write((look(tensor.offsets) if tensor.offsets is not None else b"") + look(tensor))


with weir.Session() as session, open("model", "wb") as model:
    for batch in session:
        dump(batch, model)
    model.flush()
    session.finish("model")
