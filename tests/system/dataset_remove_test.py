"""A dataset that is removed: refused while something depends on it, then gone without a trace, whatever is killed meanwhile."""

import hashlib
import json

from weirlab import (DEADLINE_S, Lab, assert_clean_audits, await_that, faulty, kill_all, outcome, query, run_tests, serve, served,
                     starts, victims)

TABLES = """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attname = 'dataset'
    AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'storage'::regnamespace
    AND c.relname <> 'erasure'"""


def datasets(lab):
    return {d["dataset"]: d for d in json.loads(lab.weir("datasets", "--json"))["datasets"]}


def left_in_tables(lab, number):
    """Which tables of storage still have a row of the dataset."""
    counts = {table: query(lab, f"SELECT count(*) FROM storage.{table} WHERE dataset = {number}")[0] for table in query(lab, TABLES)}
    assert len(counts) > 10, counts
    return [table for table, count in counts.items() if count != "0"]


def partitions(lab):
    return query(lab, "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND relname LIKE 'chunk_%'")


def own_files(lab):
    """Of datasets; the store's own begin with a dot, and so does a folder that is on its way out."""
    return sorted(p.name for p in (lab.data_dir / "storage").iterdir() if p.name != ".home")


def sources(lab):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (lab.folder / "stream").iterdir()}


def refused(lab, *words):
    done = lab.ask(*words)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    return done.stderr


def erased(lab):
    person = lab.records[0]["user"]
    return str(json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))["erasure"])


def test_a_dataset_stays_while_something_depends_on_it(lab):
    lab.run().finish()
    with served(lab):
        said = refused(lab, "datasets", "remove", "notes")
        assert "it is used by pipeline lab; models lab-1, lab-2, lab-3: weir remove PIPELINE" in said, said
        assert "weir datasets lists those there are" in refused(lab, "datasets", "remove", "letters")
        lab.erasure = erased(lab)
        lab.weir("remove", "lab")
        assert datasets(lab)["notes"]["ingested"] == len(lab.records)


def await_count(what, count):
    await_that(lambda: what() >= count, what, pause_s=0.2)


def kill_platform(lab, server):
    server.kill()
    server.communicate(timeout=DEADLINE_S)
    kill_all([pid for name in ("storage", "postgres") for pid in victims(lab.data_dir, name)])


def test_a_death_before_the_database_knows_leaves_the_dataset_whole(lab):
    with faulty("removal.aside=!1"):
        server, before = serve(lab), starts(lab.data_dir, "storage")
        waiting = lab.begin("datasets", "remove", "notes")
        await_count(lambda: starts(lab.data_dir, "storage"), before + 1)
        kill_platform(lab, server)
    waiting.kill()
    waiting.wait(DEADLINE_S)
    with served(lab):
        assert datasets(lab)["notes"]["live"] > 0 and own_files(lab) == ["notes"], own_files(lab)
        assert "nothing is wrong" in lab.weir("doctor", "--deep")


def test_a_death_after_it_knows_completes_the_removal(lab):
    before = sources(lab)
    with faulty("removal.forgotten=!1"), served(lab):
        assert left_in_tables(lab, 1) and partitions(lab)
        said = lab.weir("datasets", "remove", "notes")
        assert f"dataset notes is removed: {len(lab.records)} samples" in said, said
        assert not datasets(lab) and not own_files(lab) and not partitions(lab), (datasets(lab), own_files(lab))
        assert not left_in_tables(lab, 1)
        assert "no dataset yet" in lab.weir("datasets") and "there is none" in refused(lab, "datasets", "remove", "notes")
        assert sources(lab) == before, "the source was touched"
        assert "everything holds" in lab.weir("erase", "verify", lab.erasure)
        assert "nothing is wrong" in lab.weir("doctor")


def test_its_name_is_free_its_number_is_not_given_again_and_who_is_erased_stays_out(lab):
    run = lab.run().finish()
    assert_clean_audits(run.events)
    assert len(outcome(run.events)) == 2, run.events
    with served(lab):
        notes, person = datasets(lab)["notes"], lab.records[0]["user"]
        kept_out = sum(record["user"] == person for record in lab.records)
        assert notes["number"] == 2 and notes["blocked"] == kept_out > 0, notes
        assert notes["ingested"] == len(lab.records) - kept_out, notes
        ids = [p["id"] for p in json.loads(lab.weir("predict", "--limit", "3", "--json"))["predictions"]]
        assert {int(i) >> 44 for i in ids} == {2}, ids


def test_what_is_only_referred_to_and_what_was_pushed_go_as_well(lab):
    with served(lab):
        for name, source in (("referred", f"{{path: {lab.folder / 'stream'}, format: jsonl, on_erase: scrub}}"),
                             ("pushed", "{push: true, format: jsonl, on_erase: scrub}")):
            file = lab.folder / f"{name}.yaml"
            text = lab.pipeline.read_text().replace("name: lab, mode: replay", f"name: {name}, mode: live").replace("name: notes", f"name: {name}")
            lines = [line if "source:" not in line else f"    source:  {source}" for line in text.splitlines()]
            file.write_text("\n".join(lines) + "\n")
            lab.weir("submit", str(file))
        await_count(lambda: datasets(lab).get("referred", {"ingested": 0})["ingested"], 1)
        done = lab.ask("push", "pushed", str(lab.folder / "stream" / "part0.jsonl"))
        assert done.returncode == 0, done
        before = sources(lab)
        assert "pipeline pushed" in refused(lab, "datasets", "remove", "pushed")
        for name in ("referred", "pushed"):
            number = datasets(lab)[name]["number"]
            lab.weir("remove", name)
            lab.weir("datasets", "remove", name)
            assert not left_in_tables(lab, number)
        assert own_files(lab) == ["notes"] and sources(lab) == before
        assert "nothing is wrong" in lab.weir("doctor", "--deep")


def main():
    lab = Lab(samples=600, every=200, epochs=1)
    lab.erasure = ""
    run_tests(globals(), lab)
    lab.remove()


main()
