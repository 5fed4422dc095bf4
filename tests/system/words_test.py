"""A person's words are nowhere once the receipt is written: not in rows, dead rows, statistics or the write-ahead log of Postgres,
not in models, sets, scores, logs; whoever looks needs no more than grep."""

import fnmatch
import json
import os
import re
from pathlib import Path

from weirlab import PIPELINE, Lab, assert_clean_audits, query, served

HOLDERS = Path(__file__).resolve().parents[2] / "orchestrator/erasures/holders.def"

# Texts and cities go into fitted vocabularies, classes are what the stream brings, sets are chosen by scores.
WORDS = (PIPELINE
         .replace("label:   {{field: label, classes: [work, spam]}}", "label:   {{field: label, classes: stream}}")
         .replace("{{op: tokenize_hash, ngrams: 2, buckets: 4096}}", "{{op: vocab, size: 4096}}")
         .replace("loss: logistic", "loss: softmax").replace("metrics: [roc_auc, accuracy]", "metrics: [accuracy]")
         .replace("preprocess:\n", "preprocess:\n  on_error: skip\n")
         .replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}",
                  "{{policy: coreset, presample: {{policy: random, ratio: 0.9}}, tail_triggers: all, seed: 7, limit: 150,"
                  " score: [{{method: loss}}]}}"))
PERSON = "canaryperson-7f3a9c51@example.org"
TEXT, CLASS, BROKEN = "canarytextb81e44d2", "canaryclass-c2f7a6e0", "canarybroken-5d90e1b7"
CANARIES = [PERSON, TEXT, CLASS, BROKEN]
LATER, LATER_TEXT = "canarylater-51d0b7aa@example.org", "canarylater9c1e22"


def with_person(records):
    """The person's records are among the first, so that every model has seen them; one of them is no text."""
    for index in range(0, 40, 2):
        records[index] |= {"user": PERSON, "text": f"{TEXT} hello today meeting #{index}"}
    for index in range(1, 20, 2):
        records[index] |= {"user": LATER, "text": f"{LATER_TEXT} hello today #{index}"}
    records[6]["label"] = CLASS
    records[8]["text"] = {BROKEN: BROKEN}
    records[12]["text"] = [BROKEN]
    return records


def write(folder, records, files=3):
    size = -(-len(records) // files)
    for part in range(files):
        lines = [json.dumps(r) for r in records[part * size:(part + 1) * size]]
        (folder / f"part{part}.jsonl").write_text("\n".join(lines) + "\n")


def whole_files(lab):
    """Every file of the platform, its cluster included wherever that lies."""
    outside = [location.read_text().strip() for location in lab.data_dir.glob("postgres.location")]
    for folder in [str(lab.data_dir), *outside]:
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield path


def places_of(lab, words):
    """File and word of everything that is found, whatever the case."""
    found = set()
    for path in whole_files(lab):
        with open(path, "rb") as file:
            content = file.read().lower()
        found |= {(path, word) for word in words if word.lower().encode() in content}
    return sorted(found)


TABLES = """SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema')"""


def assert_registered(lab):
    """Each table, and each file, is in the one list of holders."""
    text = HOLDERS.read_text()
    tables = {".".join(found) for found in re.findall(r"^TABLE\((\w+), +(\w+),", text, flags=re.MULTILINE)}
    patterns = re.findall(r'^FILES\("([^"]+)",', text, flags=re.MULTILINE)
    there = set(query(lab, TABLES))
    assert there and not there - tables, f"not in {HOLDERS.name}: {sorted(there - tables)}"
    files = [os.path.relpath(path, lab.data_dir) for path in whole_files(lab)]
    unknown = [f for f in files if not f.startswith("..") and not any(fnmatch.fnmatch(f, p) for p in patterns)]
    assert files and not unknown, f"not in {HOLDERS.name}: {unknown}"
    sealed = {".".join(found) for found in re.findall(r"^TABLE\((\w+), +(\w+), +\w+, +SEALED", text, flags=re.MULTILINE)}
    counted = set(query(lab, "SELECT schemaname || '.' || substr(sequencename, 12) FROM pg_sequences"
                             " WHERE sequencename LIKE 'changes\\_of\\_%'"))
    counted = {re.sub(r"_(small|\d+)$", "", name) for name in counted}  # partitions count for themselves
    assert counted == sealed - {"storage.chunk"}, counted ^ sealed  # whose partitions are known one by one
    print(len(there), "tables and", len(files), "files are registered")


def files_of_tables(lab):
    """Returns the file of each table or partition that is sealed, and the number of its changes: rewriting gives it another
    file."""
    rows = query(lab, "SELECT s.schemaname || '.' || c.relname || ',' || c.relfilenode || ',' || coalesce(s.last_value, 0)"
                      " FROM pg_sequences s JOIN pg_class c ON 'changes_of_' || c.relname = s.sequencename"
                      " AND c.relnamespace = s.schemaname::regnamespace AND c.relkind = 'r'")
    return {name: (file, changes) for name, file, changes in (row.split(",") for row in rows)}


def add_run_of_another_dataset(lab):
    """A partition of sorted runs as storage makes it for a large run, which lies beside the one that the erasure is about."""
    query(lab, "CREATE TABLE storage.run_segment_777777 PARTITION OF storage.run_segment FOR VALUES IN (777777)")
    query(lab, "CREATE SEQUENCE storage.changes_of_run_segment_777777 OWNED BY storage.run_segment_777777.run")
    query(lab, "INSERT INTO storage.run_segment VALUES (777777, 0, 'x')")


def another_erasure_rewrites_what_it_has_touched(lab):
    add_run_of_another_dataset(lab)
    before = files_of_tables(lab)
    answer = json.loads(lab.weir("erase", "request", "--subject", LATER, "--wait", "--json"))
    assert answer["samples"] == 10, answer
    left = places_of(lab, [LATER, LATER_TEXT])
    assert not left, f"after the receipt of the later one: {left}"
    after = files_of_tables(lab)
    rewritten = {name for name in after if after[name][0] != before[name][0]}
    untouched = {name for name in after if after[name][1] == before[name][1]}
    print("rewritten:", *sorted(rewritten), "- left as they are:", *sorted(untouched))
    assert {"storage.object", "storage.owed", "storage.run_segment_777777"} <= untouched, untouched
    assert "storage.run_segment_small" in rewritten, rewritten
    assert not rewritten & untouched, rewritten & untouched
    assert {"preprocess.job", "orchestrator.run"} <= rewritten, rewritten


def the_log_is_cycled(lab):
    """Nothing of the write-ahead log is older than the newest rewriting of a table."""
    (old,) = query(lab, "SELECT count(*) FROM pg_ls_waldir() WHERE name < pg_walfile_name("
                        "(SELECT redo_lsn FROM pg_control_checkpoint()))")
    assert old == "0", f"{old} segments are kept"


def no_word_of_an_erased_person_is_left_in_any_file():
    lab = Lab(samples=900, every=300, epochs=1, pipeline=WORDS)
    write(lab.folder / "stream", with_person(lab.records))
    run = lab.run().finish()
    assert_clean_audits(run.events)
    assert run.of("scoring_finished") and run.of("evaluation"), "what was to be tried did not happen"
    before = places_of(lab, CANARIES)
    assert {word for _, word in before} == set(CANARIES), f"only {before} of the words were taken in"
    assert any(word == TEXT and "/base/" in path for path, word in before), "no table has held a word of a text"
    with served(lab):
        answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
        assert answer["samples"] == 20, answer
        left = places_of(lab, CANARIES)
        assert not left, f"after the receipt: {left}"
        assert_registered(lab)
        the_log_is_cycled(lab)
        another_erasure_rewrites_what_it_has_touched(lab)
    left = places_of(lab, CANARIES)
    assert not left, f"after the receipt, stopped: {left}"
    receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    assert receipt["storage"]["found"] == 0, receipt
    print("nothing of", len(CANARIES), "words is left in", sum(1 for _ in whole_files(lab)), "files")
    lab.remove()


if __name__ == "__main__":
    no_word_of_an_erased_person_is_left_in_any_file()
