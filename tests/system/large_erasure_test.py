"""One person's erasure of very many samples, while others go on: a holder renews its lease all the time, somebody pushes, a
live pipeline learns from that, and somebody else is erased. No lease runs out, no batch is made twice, and storage needs little
memory for it; how long the holder waited for answers is told.

large_erasure_test.py [SAMPLES]
"""

import json
import subprocess
import sys
import threading
import time

from weirlab import PIPELINE, Lab, Run, Stream, await_dataset, binaries, child, peak_bytes, push, stop

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
SEED = 1
WAIT_S = 120 + SAMPLES / 1000
PERSON, OTHER, OTHER_EACH = "everywhere@example.org", "sometimes@example.org", 30
PUSHED_EACH = 60
MB = 1 << 20
MEMORY_MAX = 400 * MB + 8 * SAMPLES  # filters and fences of sorted runs grow with the samples
LIVE = "\n".join(line for line in PIPELINE.splitlines() if not line.startswith("evaluation")).replace(
    "name: lab, mode: replay", "name: live, mode: live").replace("name: notes", "name: fresh").replace(
    'path: {data}, format: jsonl, include: "*.jsonl", import: copy', "push: true, format: jsonl") + "\n"


class Crowd:
    """A file of SAMPLES lines, of which two in three are one person's, and one in OTHER_EACH another's."""

    def __init__(self):
        self.lab = Lab(samples=3, every=SAMPLES // 2, epochs=1)
        for part in (self.lab.folder / "stream").iterdir():
            part.unlink()
        stream = Stream(SAMPLES, SEED)
        with (self.lab.folder / "stream" / "all.jsonl").open("w") as file:
            for i in range(SAMPLES):
                record = stream.record(i)
                record["user"] = PERSON if i % 3 else OTHER if i % OTHER_EACH == 0 else record["user"]
                file.write(json.dumps(record) + "\n")
        self.lab.run().finish(deadline_s=WAIT_S)
        self.live = self.lab.folder / "live.yaml"
        self.live.write_text(LIVE.format(data="", every=PUSHED_EACH, epochs=1))
        self.run = Run(self.live, self.lab.data_dir)
        await_dataset(self.run, self.lab, "fresh")
        self.over, self.pushed = threading.Event(), 0

    def begin_asking(self):
        """A holder that stays connected; its input's end is its own."""
        _, folder = (self.lab.data_dir / "lock").read_text().split()
        return child.start([binaries().parent / "tests/bin/asker", f"ipc://{folder}/storage.sock"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def is_noticed(self):
        """All that was pushed is part of a trigger."""
        return sum(e["samples_new"] for e in self.run.of("trigger_fired")) == self.pushed

    def push(self):
        """No faster than the pipeline learns: each of its trainings takes longer than the one before."""
        stream = Stream(10**6, SEED + 1)
        while not self.over.is_set():
            push(self.lab, "".join(json.dumps(stream.record(self.pushed + i)) + "\n" for i in range(PUSHED_EACH)), "fresh")
            self.pushed += PUSHED_EACH
            self.run.wait_until(self.is_noticed)

    def erase(self):
        """The receipts of both, the second one asked for while the first is under way."""
        self.lab.weir("erase", "request", "--subject", PERSON)
        self.lab.weir("erase", "request", "--subject", OTHER)
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            erasures = json.loads(self.lab.weir("erase", "list", "--json"))["erasures"]
            if all(erasure["state"] == "FINISHED" for erasure in erasures):
                return [json.loads(self.lab.weir("erase", "receipt", n, "--json")) for n in ("1", "2")]
            threading.Event().wait(0.1)
        raise AssertionError(self.lab.weir("erase", "list"))

    def storage_peak(self):
        """Returns the most memory that storage has had since it was started."""
        (pid,) = self.run.victims("storage")
        return peak_bytes(pid)

    def audits(self, pipeline):
        rows = json.loads(self.lab.weir("report", "--pipeline", pipeline, "--json"))
        return [t["audit"] for t in rows["triggers"] if t.get("audit")]


def aside(*work):
    threads = [threading.Thread(target=one, daemon=True) for one in work]
    for thread in threads:
        thread.start()
    return threads


def main():
    crowd = Crowd()
    trained = len(crowd.audits("live"))
    asker, threads = crowd.begin_asking(), aside(crowd.push)
    receipt, other = crowd.erase()
    pushed = crowd.pushed  # before the receipts
    told = json.loads(asker.communicate(timeout=WAIT_S)[0])
    crowd.over.set()
    for thread in threads:
        thread.join(WAIT_S)
    crowd.run.wait_until(crowd.is_noticed)
    audits = crowd.audits("live")
    peak = crowd.storage_peak()
    print(f"{receipt['samples']} samples erased; {told['answers']} answers meanwhile, half within {told['median_ms']} ms,"
          f" 99.9 % within {told['most_ms']}, the longest after {told['longest_ms']}, {told['over_100_ms']} after more than 100;"
          f" {pushed} samples pushed, {len(audits) - trained} trainings on them; storage had at most {peak // MB} MB")
    assert receipt["samples"] == SAMPLES - (SAMPLES + 2) // 3, receipt["samples"]
    assert other["samples"] == (SAMPLES + OTHER_EACH - 1) // OTHER_EACH, other["samples"]
    for storage in (receipt["storage"], other["storage"]):
        assert storage["holders_expired"] == 0 and storage["found"] == 0, storage
    assert asker.returncode == 0 and told["answers"] > 3 and pushed > 0 and len(audits) > trained, "others did not go on"
    assert 0 < peak <= MEMORY_MAX, f"storage had {peak // MB} MB"
    for audit in audits:
        assert audit["lost"] == audit["duplicated"] == audit["replayed"] == 0, audit
    assert "everything holds" in crowd.lab.weir("erase", "verify", "--all")
    stop(crowd.run)
    crowd.lab.remove()


if __name__ == "__main__":
    main()
