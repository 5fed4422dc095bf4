"""Labels in another folder than their samples: only labelled samples are trained on, with the labels they got."""

import json

from weirlab import Lab, PIPELINE, assert_clean_audits, served

WITH_LABELS = PIPELINE.replace(
    "    label:   {{field: label, classes: [work, spam]}}\n    subject: {{field: user}}\n",
    "    label:   {{from: updates, classes: [work, spam]}}\n"
    "    subject: {{field: user}}\n"
    "    key:     {{field: note}}\n"
    "  - name: verdicts\n"
    "    source:  {{path: {data}-verdicts, format: csv, include: \"*.csv\", import: copy}}\n"
    "    time:    {{from: field, field: ts}}\n"
    "    label:   {{field: label, classes: [work, spam]}}\n"
    "    key:     {{field: note}}\n"
    "    updates: notes\n",
)
NOTES = 900


def split(lab):
    """Takes the labels out of the stream: two of three notes have one, in another order; some got a wrong one first."""
    verdicts = lab.folder / "stream-verdicts"
    verdicts.mkdir()
    rows = []
    for path in (lab.folder / "stream").glob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            number = int(record["text"].rsplit("#")[1])
            record["note"] = f"note-{number}"
            label = record.pop("label")
            if number % 3 and number % 7 == 0:
                rows.insert(0, f"{record['ts']},{record['note']},{'spam' if label == 'work' else 'work'}")
            if number % 3:
                rows.append(f"{record['ts']},{record['note']},{label}")
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    (verdicts / "a.csv").write_text("ts,note,label\n" + "\n".join(rows) + "\n")


def main():
    lab = Lab(samples=NOTES, every=150, epochs=1, pipeline=WITH_LABELS)
    labels = {f"note-{i}": record["label"] for i, record in enumerate(lab.records)}
    split(lab)
    run = lab.run().finish()
    assert_clean_audits(run.events)
    labelled = NOTES - len(range(0, NOTES, 3))
    with served(lab):
        datasets = {d["dataset"]: d for d in json.loads(lab.weir("datasets", "--json"))["datasets"]}
        notes = datasets["notes"]
        assert notes["live"] == labelled, notes
        assert notes["ingested"] == notes["live"] + notes["replaced"], notes
        fired = [e for e in run.events if e["event"] == "trigger_fired"]
        assert len(fired) >= labelled // 150, fired

        said = json.loads(lab.weir("predict", "--limit", "1000", "--json"))
        shown = {p["id"]: p["label"] for p in said["predictions"]}
        assert len(shown) > 0 and set(shown.values()) <= {0, 1, "work", "spam"}, said
        right = sum(labels[f"note-{i}"] == "work" for i in range(NOTES) if i % 3)
        if len(shown) == labelled:
            assert sum(v in (0, "work") for v in shown.values()) == right, "a wrong label was kept"

        answer = json.loads(lab.weir("erase", "request", "--key", "note-7", "--wait", "--json"))
        assert answer["samples"] >= 2, answer  # the note, waiting and labelled, and its verdicts
        for path in (lab.data_dir / "storage" / "verdicts").iterdir():
            assert ",note-7," not in path.read_text(), f"{path} still tells what note 7 is"
        (after,) = [d for d in json.loads(lab.weir("datasets", "--json"))["datasets"] if d["dataset"] == "notes"]
        assert after["live"] == labelled - 1, after
    print(labelled, "of", NOTES, "notes were trained on, in", len(fired), "triggers")
    lab.remove()


main()
