"""Predictions in every layout that an array can have: the first and the last number of each sample."""

import numpy as np
import weir

with weir.Session() as session:
    for batch in session:
        (tensor,) = batch.tensors.values()
        if session.task.learns:
            continue
        first_and_last = np.asarray(tensor)[:, ::2]
        wide = np.asfortranarray(first_and_last.astype(np.float64))
        layouts = (first_and_last, wide, first_and_last.tolist(), np.ascontiguousarray(first_and_last))
        session.output(batch, "predictions", layouts[batch.number % len(layouts)])
    if session.task.learns:
        open("model", "w").close()
    session.finish("model" if session.task.learns else None)
