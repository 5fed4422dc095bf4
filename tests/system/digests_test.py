"""Digests of batches: the same in either order for any number of workers, through kill -9 of workers and trainers, with lent
memory and over TCP, and as docs/reference/batch-digest.md has others compute them."""

import random
import re
import struct
import threading

from weirlab import Lab, Run, TrainerHunt, assert_clean_audits, run_tests, served

LARGE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: points
    source: {{path: {data}, format: binary, include: "*.bin", record_bytes: 16400, import: copy}}
    time:   {{from: field, offset: 0, type: i64, unit: s}}
    label:  {{offset: 8, type: i64}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, seed: 7}}
preprocess:
  operators:
    - {{op: record_fields, dense: [16, 4096, f32]}}
  batch: {{samples: 128, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{model: linear, loss: squared, epochs: {epochs}, seed: 1}}
"""


def without_evaluation(lab):
    lab.pipeline.write_text(re.sub(r"evaluation: .*\n", "", lab.pipeline.read_text()))
    return lab


def digests(run):
    """Of each training: batches, and all of them together."""
    audits = [e["audit"] for e in sorted(run.of("training_finished"), key=lambda e: e["trigger"])]
    return [(audit["digests"], audit["digest"]) for audit in audits]


def listed(run):
    """Of each training its list, sorted, which adds up to what the audit says."""
    lists = []
    for event in sorted(run.of("training_finished"), key=lambda e: e["trigger"]):
        lines = (run.data_dir / f"digests/{event['run']}-0").read_text().splitlines()
        found = sorted((int(number), int(epoch), digest) for epoch, number, digest in map(str.split, lines))
        assert [number for number, _, _ in found] == list(range(event["audit"]["digests"])), found[:9]
        assert sum(int(digest, 16) for *_, digest in found) % 2**128 == int(event["audit"]["digest"], 16), event
        lists.append(found)
    return lists


def in_order(lab, order):
    path = lab.folder / f"{order}.yaml"
    path.write_text(lab.pipeline.read_text().replace("order: deterministic", f"order: {order}"))
    return path


def test_any_number_of_workers_makes_the_same_batches_in_either_order():
    lab = without_evaluation(Lab(samples=1200, every=600, epochs=3))
    seen = set()
    for order, workers in (("deterministic", 1), ("deterministic", 3), ("relaxed", 2)):
        run = Run(in_order(lab, order), lab.folder / f"{order}{workers}", None, "--digests", "--workers", str(workers)).finish()
        assert_clean_audits(run.events)
        seen.add(tuple(digests(run)))
    (found,) = seen
    assert [count for count, _ in found] == [180, 360] and len(set(found)) == 2, found
    lab.remove()


def kill_workers(run, kills, draw):
    while kills > 0 and run.process.poll() is None:
        threading.Event().wait(draw.uniform(0.02, 0.1))  # where the next kill falls: no condition to wait for
        kills -= run.kill(f"worker-{draw.randint(1, 2)}")


def test_kills_change_no_digest():
    lab = without_evaluation(Lab(samples=2000, every=1000, epochs=15))
    expected = Run(lab.pipeline, lab.folder / "undisturbed", None, "--digests").finish()
    for order in ("deterministic", "relaxed"):
        run = Run(in_order(lab, order), lab.folder / f"{order}-killed", None, "--digests")
        hunt = TrainerHunt(run, [e["run"] for e in expected.of("training_finished")], behind="checkpoint")
        kill_workers(run, 6, random.Random(order))
        run.finish()
        assert_clean_audits(run.events)
        assert hunt.killed, "no trainer was killed behind a checkpoint"
        assert digests(run) == digests(expected), (digests(run), digests(expected))
        assert listed(run) == listed(expected), "the lists, batch by batch"
        assert len(set(digests(run))) == 2, digests(run)
    lab.remove()


def test_where_bytes_lie_and_how_they_travel_is_not_in_a_digest():
    """Batches of 2 MB are written to memory that the trainer lends, but over TCP."""
    lab = Lab(samples=1, every=600, epochs=2, pipeline=LARGE)
    draw = random.Random(3)
    records = [struct.pack("<2q64f", 1_000_000_000 + i, i % 3, *(draw.random() for _ in range(64))) + bytes(4 * 4032) for i in range(600)]
    (lab.folder / "stream/points.bin").write_bytes(b"".join(records))
    text = lab.pipeline.read_text()
    expected = digests(Run(lab.pipeline, lab.folder / "copied", None, "--digests").finish())
    lab.pipeline.write_text(text.replace("import: copy", "import: reference"))
    assert digests(Run(lab.pipeline, lab.folder / "referred", None, "--digests").finish()) == expected
    lab.pipeline.write_text(text.replace("seed: 1}", "seed: 1, digests: true}"))
    system = lab.folder / "tcp.yaml"
    system.write_text('batches: {listen: "tcp://127.0.0.1:*", compress: lz4}\n')
    assert digests(Run(lab.pipeline, lab.folder / "tcp", system).finish()) == expected
    lab.pipeline.write_text(text)
    unasked = Run(lab.pipeline, lab.folder / "unasked").finish()
    assert "digests" not in unasked.of("training_finished")[0]["audit"] and not (unasked.data_dir / "digests").exists()
    lab.remove()


def test_an_erasure_drops_what_was_told_of_batches():
    lab = Lab(samples=300, every=100, epochs=1)
    run = Run(lab.pipeline, lab.data_dir, None, "--digests").finish()
    told = [audit["digest"] for audit in (e["audit"] for e in run.of("training_finished"))]
    told += {e["digest"] for e in run.of("evaluation") if "digest" in e}
    assert len(told) > 3, run.events
    assert listed(run) and any((lab.data_dir / "digests").iterdir()), "lists that are to go"
    with served(lab):
        lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--wait")
    files = [path for path in lab.data_dir.rglob("*") if path.is_file() and not path.is_symlink()]
    kept = [(path, one) for path in files for one in told if one.encode() in (content := path.read_bytes()) or bytes.fromhex(one) in content]
    assert not kept, kept
    assert not any((lab.data_dir / "digests").iterdir()), "lists"
    lab.remove()


run_tests(globals())
