"""Microseconds, in the median, from asking for a batch that is ready to giving it back: with its five arrays as tensors of PyTorch,
and with one. Batches are taken in bursts, which begin when all of one are ready. handing.c is the same loop in C."""

import statistics
import time

import weir.torch

BURST = 16
all_us, one_us = [], []
with weir.Session() as session:
    for number in range(len(session)):
        while number % BURST == 0 and session.stats().waiting < min(BURST, len(session) - number):
            time.sleep(0.0002)
        began = time.perf_counter_ns()
        raw = session.next()
        if number % 2 == 0:
            batch = weir.torch.as_batch(raw)
        else:
            batch = weir.torch.as_tensor(raw.tensors["dense"])
        session.step()
        del batch
        raw.release()
        (one_us if number % 2 else all_us).append((time.perf_counter_ns() - began) / 1000)
    session.next()  # the end
    session.metric("all", statistics.median(all_us))
    session.metric("one", statistics.median(one_us))
    open("model", "w").close()
    session.finish("model")
