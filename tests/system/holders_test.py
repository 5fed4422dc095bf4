"""Some fifteen hundred processes that hold samples beside a platform which trains: all of them are waited for before an
erasure is in force, those that are killed only until their leases are over, and nobody is refused."""

import json
import os
import subprocess
import threading
from pathlib import Path

from weirlab import Lab, await_that, child, serve

HOLDERS, FRAIL = 1500, 15
ROOM_ONCE = 1024  # of storage, whatever there was to hold


class Crowd:
    """One process of holders, each with a connection of its own."""

    def __init__(self, storage, count):
        self.count, self.holding, self.holds, self.refused, self.words = count, 0, 0, 0, ""
        self.process = child.start([Path(os.environ["WEIR_TEST_BIN_DIR"]) / "crowd", f"ipc://{storage}", str(count)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            holding, self.holds, self.refused, self.words = line.rstrip("\n").split(" ", 3)
            self.holding = int(holding)

    def told(self):
        return f"{self.holding} of {self.count} hold; refused {self.refused} times: {self.words}"

    def await_all(self):
        """Until nearly all hold at once: this machine may be busy."""
        await_that(lambda: self.holding >= 0.95 * self.count, self.told)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, "the crowd has ended before"
        self.reader.join()
        assert self.refused == "0", self.told()


def main():
    lab = Lab(samples=600, every=200, epochs=1)
    lab.run().finish()
    person = lab.records[10]["user"]
    server = serve(lab)
    storage = (lab.data_dir / "lock").read_text().split("\n")[1] + "/storage.sock"
    crowd, frail = Crowd(storage, HOLDERS - FRAIL), Crowd(storage, FRAIL)
    crowd.await_all()
    frail.await_all()
    frail.kill()
    lab.weir("erase", "request", "--subject", person, "--wait")  # models that have seen it are replaced meanwhile
    (erased,) = json.loads(lab.weir("erase", "list", "--json"))["erasures"]
    receipt = json.loads(lab.weir("erase", "receipt", str(erased["erasure"]), "--json"))
    print(crowd.told())
    answered, expired = receipt["storage"]["holders_answered"], receipt["storage"]["holders_expired"]
    assert ROOM_ONCE < answered <= HOLDERS and answered + expired <= HOLDERS + FRAIL, (answered, expired)
    replaced = [m for m in json.loads(lab.weir("models", "list", "--json"))["models"] if m["state"] == "replaced"]
    assert replaced, "trainers among them had samples to use"
    crowd.await_all()
    crowd.end()
    verified = json.loads(lab.weir("erase", "verify", "--all", "--json"))
    assert verified["wrong"] == 0 and verified["findings"], verified  # each says what was looked at
    server.terminate()
    assert server.wait() == 0
    lab.remove()


if __name__ == "__main__":
    main()
