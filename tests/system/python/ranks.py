"""A training in several processes that step together: each step mixes what every rank was handed into the weights of all, as
a collective operation does. So the model tells which batches each rank consumed, and in which order."""

import hashlib
import math
import os
import pickle
import socket
import struct
import sys

import weir

RANK, RANKS = int(os.environ["WEIR_RANK"]), int(os.environ["WEIR_RANKS"])
SAVE_EVERY = 5


class Others:
    """The other ranks, over the port that Weir has found: rank 0 listens."""

    def __init__(self):
        assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == (str(RANK), str(RANKS)) and os.environ["LOCAL_RANK"] == str(RANK)
        place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        self.sockets = {}
        if RANK == 0:
            with socket.create_server(place) as server:
                while len(self.sockets) < RANKS - 1:
                    peer, _ = server.accept()
                    self.sockets[self.read(peer)[0]] = peer
        else:
            while not self.sockets:
                try:
                    self.sockets[0] = socket.create_connection(place)
                except ConnectionRefusedError:
                    continue  # it does not listen yet
            self.sockets[0].sendall(bytes([RANK]).ljust(32))

    @staticmethod
    def read(peer):
        found = b""
        while len(found) < 32:
            more = peer.recv(32 - len(found))
            if not more:
                sys.exit("a rank is gone")
            found += more
        return found

    def add(self, samples, weight, longest):
        """Returns what all ranks say, added up in their order, and the longest row of all."""
        mine = struct.pack("<QdQ8x", samples, weight, longest)
        if RANK > 0:
            self.sockets[0].sendall(mine)
            return struct.unpack("<QdQ8x", self.read(self.sockets[0]))
        said = [struct.unpack("<QdQ8x", one) for one in [mine] + [self.read(self.sockets[rank]) for rank in range(1, RANKS)]]
        of_each = list(zip(*said))
        total = (sum(of_each[0]), sum(of_each[1]), max(of_each[2]))
        for peer in self.sockets.values():
            peer.sendall(struct.pack("<QdQ8x", *total))
        return total

    def mix(self, mine):
        """Returns the hash of what all ranks say, in their order."""
        if RANK > 0:
            self.sockets[0].sendall(mine)
            return self.read(self.sockets[0])
        said = [mine] + [self.read(self.sockets[rank]) for rank in range(1, RANKS)]
        mixed = hashlib.sha256(b"".join(said)).digest()
        for peer in self.sockets.values():
            peer.sendall(mixed)
        return mixed


def saved(most=None):
    """The newest checkpoint of at most so many batches; of two, because another rank may lack the last one."""
    found = []
    for name in ("even", "odd"):
        if os.path.exists(f"{name}-{RANK}"):
            with open(f"{name}-{RANK}", "rb") as file:
                found.append(pickle.load(file))
    fitting = [one for one in found if most is None or weir.state_batches(one[0]) <= most]
    return max(fitting, key=lambda one: weir.state_batches(one[0]), default=(None, b"\0" * 32, 0))


def save(session, weights, samples, steps):
    state = session.state()
    with open(f"new-{RANK}", "wb") as file:
        pickle.dump((state, weights, samples), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"new-{RANK}", f"{'odd' if steps // SAVE_EVERY % 2 else 'even'}-{RANK}")
    session.commit(state)


def open_session(task):
    """Returns a session from the newest state that all ranks have, with its weights."""
    most = None
    while True:
        state, weights, samples = saved(most)
        try:
            return weir.Session(state, task=task), weights, samples
        except weir.Restart as restart:
            most = restart.batches


def longest_row(batch):
    offsets = [list(memoryview(tensor.offsets)) for tensor in batch.tensors.values() if tensor.offsets is not None]
    return max((end - begin for each in offsets for begin, end in zip(each, each[1:])), default=0)


def train(task, others):
    session, weights, samples = open_session(task)
    with session:
        for batch in session:
            ids = bytes(memoryview(batch.ids).cast("B"))
            total = others.add(len(batch), math.fsum(memoryview(batch.weights)), longest_row(batch))
            assert total == (batch.global_samples, batch.global_weight, batch.global_longest), (total, batch.number)
            if task.reports and len(batch):
                session.output(batch, "scores", [[float(batch.number), float(RANK)]] * len(batch))
            weights = others.mix(hashlib.sha256(weights + struct.pack("<QQ", batch.number, len(batch)) + ids).digest())
            samples += len(batch)
            batch.release()
            session.step()
            if (batch.number + 1) % SAVE_EVERY == 0:
                save(session, weights, samples, batch.number + 1)
            session.metric("rank", RANK)
        if RANK == 0:
            with open("model", "w") as model:
                model.write(weights.hex())
        session.finish("model" if RANK == 0 else None, loss=float(samples))


def use(task):
    assert (RANK, RANKS) == (0, 1), "one process uses a model"
    with weir.Session(task=task) as session:
        for batch in session:
            session.output(batch, "predictions", [[0.5]] * len(batch))
        session.finish()


task = weir.task()
if task.learns:
    train(task, Others())
else:
    use(task)
