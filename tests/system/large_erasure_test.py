"""One person's erasure of very many samples, while others go on: storage is asked all the time, somebody pushes, and a live
pipeline learns from that. No lease runs out, no batch is made twice; how long the longest answer took is told.

large_erasure_test.py [SAMPLES]
"""

import json
import sys
import threading
import time

from weirlab import PIPELINE, Lab, Run, Stream, await_dataset, push, stop

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
SEED = 1
WAIT_S = 120 + SAMPLES / 1000
PERSON = "everywhere@example.org"
PUSHED_EACH = 60
LIVE = "\n".join(line for line in PIPELINE.splitlines() if not line.startswith("evaluation")).replace(
    "name: lab, mode: replay", "name: live, mode: live").replace("name: notes", "name: fresh").replace(
    'path: {data}, format: jsonl, include: "*.jsonl", import: copy', "push: true, format: jsonl") + "\n"


class Crowd:
    """A file of SAMPLES lines, of which two in three are one person's."""

    def __init__(self):
        self.lab = Lab(samples=3, every=SAMPLES // 2, epochs=1)
        for part in (self.lab.folder / "stream").iterdir():
            part.unlink()
        stream = Stream(SAMPLES, SEED)
        with (self.lab.folder / "stream" / "all.jsonl").open("w") as file:
            for i in range(SAMPLES):
                record = stream.record(i)
                record["user"] = PERSON if i % 3 else record["user"]
                file.write(json.dumps(record) + "\n")
        self.lab.run().finish(deadline_s=WAIT_S)
        self.live = self.lab.folder / "live.yaml"
        self.live.write_text(LIVE.format(data="", every=PUSHED_EACH, epochs=1))
        self.run = Run(self.live, self.lab.data_dir)
        await_dataset(self.run, self.lab, "fresh")
        self.over, self.longest_s, self.answers, self.pushed = threading.Event(), 0.0, 0, 0

    def probe(self):
        """Something that storage answers at once, again and again."""
        while not self.over.is_set():
            began = time.monotonic()
            self.lab.weir("datasets", "--json")
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.answers += 1

    def push(self):
        stream = Stream(10**6, SEED + 1)
        while not self.over.is_set():
            push(self.lab, "".join(json.dumps(stream.record(self.pushed + i)) + "\n" for i in range(PUSHED_EACH)), "fresh")
            self.pushed += PUSHED_EACH

    def erase(self):
        """The receipt."""
        self.lab.weir("erase", "request", "--subject", PERSON)
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            (erasure,) = json.loads(self.lab.weir("erase", "list", "--json"))["erasures"]
            if erasure["state"] == "FINISHED":
                return json.loads(self.lab.weir("erase", "receipt", "1", "--json"))
            threading.Event().wait(0.1)
        raise AssertionError(self.lab.weir("erase", "list"))

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
    threads = aside(crowd.probe, crowd.push)
    receipt = crowd.erase()
    crowd.over.set()
    for thread in threads:
        thread.join(WAIT_S)
    crowd.run.wait_until(lambda: sum(e["samples_new"] for e in crowd.run.of("trigger_fired")) == crowd.pushed)
    audits = crowd.audits("live")
    print(f"{receipt['samples']} samples erased; {crowd.answers} answers meanwhile, the longest after"
          f" {crowd.longest_s * 1000:.0f} ms; {crowd.pushed} samples pushed, {len(audits) - trained} trainings on them")
    assert receipt["samples"] == SAMPLES - (SAMPLES + 2) // 3, receipt["samples"]
    assert receipt["storage"]["holders_expired"] == 0, receipt["storage"]
    assert crowd.answers > 3 and crowd.pushed > 0 and len(audits) > trained, "others did not go on"
    for audit in audits:
        assert audit["lost"] == audit["duplicated"] == audit["replayed"] == 0, audit
    assert "everything holds" in crowd.lab.weir("erase", "verify", "--all")
    stop(crowd.run)
    crowd.lab.remove()


if __name__ == "__main__":
    main()
