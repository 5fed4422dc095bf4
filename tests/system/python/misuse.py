"""Everything that a program must not do with a session is refused in words; what it may do just so is done."""

import os
import pickle
import signal
import struct
import threading
import time

import numpy as np
import weir

HELD_MAX = 64


def refused(kind, words, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        assert words in str(error), error
        assert not isinstance(error, weir.Error) or type(error).status == error.status
        return
    raise AssertionError(f"not refused: {words}")


def in_a_child(check):
    child = os.fork()
    if child == 0:
        try:
            check()
            os._exit(0)
        except BaseException as error:
            print("in the child:", repr(error), flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def check_release(session):
    batch = next(session)
    tensor, number = batch.ids, batch.number
    view = np.asarray(batch.ids)
    before = view.tobytes()
    assert batch.release() is False and batch.released and batch.number == number
    refused(weir.Invalid, f"batch {number} was released", getattr, batch, "tensors")
    refused(weir.Invalid, "was released", memoryview, tensor)
    refused(weir.Invalid, "was released", tensor.__dlpack__)
    refused(weir.Invalid, "was released", session.output, batch, "scores", [[0.0, 0.0]])
    held = session.stats().batches
    next(session)
    assert view.tobytes() == before  # its memory is still there
    del view
    assert session.stats().batches == held + 2, (session.stats(), held)  # with its last view, and the one that nobody held
    assert next(session).release() is True


def check_views_outlive(session):
    batch = next(session)
    plain, shared = np.asarray(batch.weights), np.from_dlpack(batch.weights)
    capsule, versioned = batch.ids.__dlpack__(), batch.ids.__dlpack__(max_version=(1, 1))
    assert '"dltensor"' in repr(capsule) and '"dltensor_versioned"' in repr(versioned)
    held = session.stats().batches
    del batch, plain, capsule
    assert session.stats().batches == held and shared.sum() > 0
    del shared
    assert session.stats().batches == held
    del versioned
    assert session.stats().batches == held + 1


def check_read_only(session):
    batch = next(session)
    refused(ValueError, "read-only", np.asarray(batch.ids).__setitem__, 0, 1)
    refused(TypeError, "read-write", struct.pack_into, "q", batch.ids, 0, 1)
    refused(BufferError, "not copied", lambda: batch.ids.__dlpack__(copy=True))
    refused(BufferError, "not copied", lambda: batch.ids.__dlpack__(dl_device=(2, 0)))
    refused(TypeError, "cannot create", type(batch))


def check_processes(session):
    batch = next(session)
    tensor = batch.ids
    for thing in (session, session.task, batch, tensor, session._client):
        refused(weir.Unsupported, "cannot be pickled", pickle.dumps, thing)

    def child():
        words = "a forked child cannot use it"
        refused(weir.Unsupported, words, next, session)
        refused(weir.Unsupported, words, getattr, session, "stopping")
        refused(weir.Unsupported, words, getattr, batch, "labels")
        refused(weir.Unsupported, words, memoryview, tensor)
        refused(weir.Unsupported, words, batch.release)

    in_a_child(child)
    assert len(batch.ids) == len(batch)


def check_outputs(session):
    batch = next(session)
    rows = np.zeros((len(batch), 2), np.float32)
    refused(weir.Invalid, "expected predictions, scores", session.output, batch, "answers", rows)
    refused(weir.Invalid, "mode train expects WEIR_OUTPUT_SCORES", session.output, batch, "predictions", rows)
    refused(weir.Invalid, "expected float32 or float64", session.output, batch, "scores", rows.astype(int))
    refused(weir.Invalid, "a row for each", session.output, batch, "scores", rows[1:])
    refused(weir.Invalid, "a row for each", session.output, batch, "scores", rows[None])
    refused(weir.Invalid, "found 1 numbers per sample, expected 2", session.output, batch, "scores", rows[:, 0].copy())
    refused(weir.Invalid, "differ in length", session.output, batch, "scores", [[1.0, 2.0], [1.0]])
    session.output(batch, "scores", np.asfortranarray(rows))
    refused(TypeError, "weir.Batch", session.output, object(), "scores", rows)
    session.output(batch, "scores", rows)
    session.output(batch, "scores", rows.astype(float))
    session.output(batch, "scores", rows.tolist())


def check_order(session):
    batch = next(session)
    refused(weir.Invalid, f"not consumed yet: batch {batch.number}", session.state)
    session.step()
    assert weir.state_batches(session.state()) == batch.number + 1
    held = [next(session) for _ in range(HELD_MAX - 1)]
    refused(weir.Limit, "batches are in hand", next, session)
    del held[:]
    refused(weir.Invalid, "found no model 'nothing'", session.finish, "nothing")


def check_waits(session):
    """The test stops the workers: what waits here is interrupted, and another thread runs and is told to take turns."""
    interrupted = []

    def watch():
        while not interrupted:
            since = waits[0]
            if since is not None and time.monotonic() - since > 1:
                refused(weir.Invalid, "take turns", lambda: [session._client.stats() for _ in range(1000)])
                interrupted.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    waits = [None]
    watcher = threading.Thread(target=watch)
    watcher.start()
    open("stop-the-workers", "x").close()
    while not os.path.exists("stop-the-workers.done"):
        time.sleep(0.01)
    try:
        while True:
            waits[0] = time.monotonic()
            if session.next() is None:
                raise AssertionError("it never waited")
    except KeyboardInterrupt:
        assert time.monotonic() - interrupted[0] < 1
    watcher.join()
    refused(weir.Timeout, "no batch within", session.next, 0.0)
    open("go-on", "x").close()


task = weir.task()
assert task.reports and task.classes == ("work", "spam") and task.options is None
session = weir.Session(task=task, prefetch_bytes=4096)
for check in (check_release, check_views_outlive, check_read_only, check_processes, check_outputs, check_order, check_waits):
    check(session)
    session.step()
for batch in session:
    session.output(batch, "scores", np.ones((len(batch), 2)))
with open("model", "w") as file:
    file.write("well used")
session.finish("model")
session.close()
refused(weir.Invalid, "the session is closed", session.state)
assert batch.ids.shape == (len(batch),)  # the connection stays for it
print("all is refused")
