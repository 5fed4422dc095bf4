"""More people than there once could be erasures ask to be erased, each for himself; the orchestrator and storage are killed
meanwhile. All come into force, and models are replaced in few batches: once for each batch, not once for everybody.

usage: crowd_test.py [PEOPLE] [--finish]    with --finish, until every receipt is written
"""
import json
import sys
import time

from weirlab import Lab, kill, serve, served

PEOPLE = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
GOAL = "finished" if "--finish" in sys.argv else "models_replaced"
DEADLINE_S = 240 + PEOPLE / 4


def await_all(lab):
    deadline = time.monotonic() + DEADLINE_S
    while True:
        listed = json.loads(lab.weir("erase", "list", "--json"))
        left = sum(not e[GOAL] for e in listed["erasures"])
        if left == 0:
            return listed
        assert time.monotonic() < deadline, f"{left} of {PEOPLE} erasures are not {GOAL}"
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
    accepted = json.loads(lab.weir("erase", "request", "--csv", str(names), "--each", "--json"))
    names.unlink()
    print(f"{accepted['accepted']} accepted, {PEOPLE / (time.monotonic() - began):.0f} a second")
    assert accepted["accepted"] == PEOPLE and accepted["refused"] == [], accepted

    kill(lab.data_dir, "storage")
    server.kill()
    server.communicate()
    with served(lab):
        listed = await_all(lab)
    assert len(listed["erasures"]) + listed["left_out"] == PEOPLE, listed["left_out"]
    erased = sum(e["samples"] for e in listed["erasures"])
    assert erased == sum(r["user"] in known for r in lab.records), erased
    replaced = [m for m in json.loads(lab.weir("models", "list", "--json"))["models"] if m["state"] == "replaced"]
    print(f"{erased} samples erased, {len(replaced)} models replaced")
    assert len(replaced) < 3 * len(known), "models are replaced in batches"
    lab.remove()


if __name__ == "__main__":
    main()
