"""More people than there once could be erasures ask to be erased, each for himself; the orchestrator and storage are
killed meanwhile. All get their receipts, which form one chain; models are replaced in few batches, not once for everybody.

usage: crowd_test.py [PEOPLE]
"""
import json
import subprocess
import sys
import time

from weirlab import Lab, kill, serve

PEOPLE = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
DEADLINE_S = 240 + PEOPLE / 4


def await_all(lab):
    deadline = time.monotonic() + DEADLINE_S
    while True:
        left = json.loads(lab.weir("status", "--json"))["erasures_open_count"]
        if left == 0:
            return json.loads(lab.weir("erase", "list", "--json"))
        assert time.monotonic() < deadline, f"{left} of {PEOPLE} erasures are open"
        time.sleep(0.5)


def main():
    lab = Lab(samples=600, every=200, epochs=1)
    lab.run().finish()
    known = sorted({r["user"] for r in lab.records})[:20]
    people = known + [f"nobody-{i}@example.org" for i in range(PEOPLE - len(known))]
    names = lab.folder / "people.csv"
    names.write_text("subject\n" + "".join(f'"{name}"\n' for name in people))
    server = serve(lab)
    began = time.monotonic()
    accepted = json.loads(lab.weir("erase", "request", "--csv", str(names), "--each", "--allow-none", "--json"))
    names.unlink()
    print(f"{accepted['accepted']} accepted, {PEOPLE / (time.monotonic() - began):.0f} a second")
    assert accepted["accepted"] == PEOPLE and accepted["refused"] == [], accepted

    kill(lab.data_dir, "storage")
    server.kill()
    server.wait()
    server = serve(lab)
    listed = await_all(lab)
    assert server.poll() is None
    assert len(listed["erasures"]) + listed["left_out"] == PEOPLE, listed["left_out"]
    (notes,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
    erased = notes["erased"]
    assert erased == sum(r["user"] in known for r in lab.records), erased
    replaced = [m for m in json.loads(lab.weir("models", "list", "--json"))["models"] if m["state"] == "replaced"]
    print(f"{erased} samples erased, {len(replaced)} models replaced")
    # Three models; twice at most, should the kill have cut the crowd in two.
    assert len(replaced) <= 6, "models are replaced once for all"
    verifying = lab.begin("erase", "verify", "--all", "--json", stdout=subprocess.PIPE)
    verified = json.loads(verifying.communicate(timeout=DEADLINE_S)[0])  # of 100,000, that takes minutes
    assert verified["wrong"] == 0 and verified["erasures"] == PEOPLE and not verified["findings"], verified
    assert verified["fine"] == 6 * PEOPLE, verified  # receipt, signature, chain, models, samples, scores
    server.terminate()
    assert server.wait() == 0
    lab.remove()


if __name__ == "__main__":
    main()
