"""A socket beside Postgres's own that sees what passes: which statements each service sends, and how often it waits for an answer."""

import asyncio
import dataclasses
import os
import struct
import threading

STATEMENT, PARSED = b"B", b"P"  # of PostgreSQL's protocol, "Message Formats": Bind and Parse
ENDS = (b"Q", b"S")  # Query and Sync: what is asked is asked, an answer is waited for
ANSWERED = b"Z"  # ReadyForQuery


@dataclasses.dataclass
class Trip:
    """What was sent together, and answered together."""

    service: str
    statements: list
    sent_s: float
    answered_s: float = 0.0


def words(payload):
    return payload.split(b"\0", 2)


class Connection:
    """Messages of one client, out of what passes in both directions."""

    def __init__(self, trips, now_s):
        self.trips, self.now_s = trips, now_s
        self.asked, self.answers = bytearray(), bytearray()
        self.service, self.statements, self.open = "", [], []

    def take_question(self, data):
        self.asked += data
        if not self.service and not self._begin():
            return
        for kind, payload in self._messages(self.asked):
            if kind == b"Q":
                self._note(words(payload)[0].decode())
            elif kind == STATEMENT:
                self._note(words(payload)[1].decode())
            elif kind == PARSED and not words(payload)[0]:  # a text that has no name
                self._note(words(payload)[1].decode())
            if kind in ENDS:
                self.open.append(Trip(self.service, self.statements, self.now_s()))
                self.statements = []

    def _note(self, name):
        if name:
            self.statements.append(name)

    def take_answer(self, data):
        self.answers += data
        for kind, _ in self._messages(self.answers):
            if kind == ANSWERED and self.open:
                trip = self.open.pop(0)
                trip.answered_s = self.now_s()
                self.trips.append(trip)

    def _begin(self):
        """The message that a connection begins with has no kind."""
        if len(self.asked) < 4 or len(self.asked) < (size := struct.unpack_from(">I", self.asked)[0]):
            return False
        pairs = bytes(self.asked[8:size]).split(b"\0")
        self.service = dict(zip(pairs[::2], pairs[1::2])).get(b"application_name", b"?").decode()
        del self.asked[:size]
        return True

    @staticmethod
    def _messages(buffer):
        while len(buffer) >= 5 and len(buffer) > (size := struct.unpack_from(">I", buffer, 1)[0]):
            yield bytes(buffer[:1]), bytes(buffer[5:size + 1])
            del buffer[:size + 1]


class Passage:
    """Stands in `folder` for the Postgres in `server`, as far away as it is told."""

    def __init__(self, folder, server, round_trip_s=0.0):
        self.folder, self.server, self.way_s = folder, server, round_trip_s / 2
        self.trips, self.loop, self.is_up = [], asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()
        self.is_up.wait()

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def _live(self):
        asyncio.set_event_loop(self.loop)
        path = f"{self.folder}/.s.PGSQL.5432"
        self.loop.run_until_complete(asyncio.start_unix_server(self._serve, path))
        os.chmod(path, 0o777)
        self.is_up.set()
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))

    async def _serve(self, reader, writer):
        there, back = await asyncio.open_unix_connection(f"{self.server}/.s.PGSQL.5432")
        connection = Connection(self.trips, self.loop.time)
        await asyncio.gather(self._pass(reader, back, connection.take_question, first=True),
                             self._pass(there, writer, connection.take_answer, first=False))

    async def _pass(self, reader, writer, take, first):
        """Questions are noted as they are sent, answers as they arrive."""
        while data := await reader.read(1 << 16):
            if first:
                take(data)
            self.loop.call_later(self.way_s, self._write, writer, data, None if first else take)
        self.loop.call_later(self.way_s, writer.close)

    @staticmethod
    def _write(writer, data, take):
        writer.write(data)
        if take:
            take(data)
