"""What could not be searched, or still holds what was erased, is told by its path; nothing is called verified until it is mended."""

import json
import shutil
import sys

from weirlab import PIPELINE, Lab, await_that, query, run_tests, served


def first_erased(place, lab, person):
    """An erasure that somebody waits for, which ends with the exit code that says: not verified."""
    done = lab.ask("erase", "request", "--subject", person, "--wait")
    assert done.returncode == 3 and str(place) in done.stderr, (done.returncode, done.stdout, done.stderr)
    assert "FINISHED" not in done.stdout, done.stdout


def assert_unverified(lab, *paths):
    status = json.loads(lab.weir("erase", "status", "1", "--json", expect=3))
    assert status["unverified"] and status["state"] != "FINISHED", status
    verify = json.loads(lab.weir("erase", "verify", "1", "--json", expect=3))
    (wrong,) = [f for f in verify["findings"] if f["verdict"] == "wrong"]
    for path in paths:
        assert str(path) in status["trouble"] and str(path) in wrong["found"], (path, status, wrong)
    lab.weir("erase", "list", expect=3)


def waited_for(lab, is_told):
    """What an answer says once it is about an attempt that was begun late enough."""
    told = []
    await_that(lambda: is_told(told.append(lab.ask("erase", "status", "1", "--wait")) or told[-1]), lambda: told[-1])
    return told[-1]


def test_an_erasure_is_verified_once_everything_could_be_searched_and_nothing_is_left():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE.replace("retrain_now", "keep"))
    lab.run().finish()
    person = lab.records[10]["user"]
    text = next(json.dumps(r) for r in lab.records if r["user"] == person)
    locked = lab.data_dir / "models" / "locked"
    locked.mkdir()
    (locked / "note").write_text(text)
    deep = lab.data_dir / "receipts" / "/".join(["d"] * 100)
    deep.mkdir(parents=True)
    (deep / "note").write_text(f"long ago somebody wrote {text} here")
    with served(lab):  # whoever serves it owns these folders now
        locked.chmod(0)
        first_erased("models/locked: Permission denied", lab, person)
        assert_unverified(lab, "models/locked: Permission denied", (deep / "note").relative_to(lab.data_dir))
        shutil.rmtree(lab.data_dir / "receipts" / "d")
        locked.chmod(0o755)
        assert "models/locked/note" in waited_for(lab, lambda told: "Permission denied" not in told.stdout).stdout
        assert_unverified(lab, "models/locked/note")
        shutil.rmtree(locked)
        done = waited_for(lab, lambda told: told.returncode == 0)
        assert "FINISHED" in done.stdout, done.stdout
        assert "everything holds" in lab.weir("erase", "verify", "1")
    lab.remove()


def test_links_are_named_and_names_cannot_forge_a_line():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE.replace("retrain_now", "keep"))
    lab.run().finish()
    person = lab.records[10]["user"]
    text = next(json.dumps(r) for r in lab.records if r["user"] == person)
    elsewhere, models = lab.folder / "elsewhere", lab.data_dir / "models"
    elsewhere.mkdir(mode=0o755)
    (elsewhere / "note").write_text(text)
    for name, target in (("disk", elsewhere), ("loop", "loop"), ("gone", lab.folder / "gone")):
        (models / name).symlink_to(target)
    forged = models / "note\neverything holds"
    forged.write_text(text)
    with served(lab):
        first_erased("models/disk: it is a link", lab, person)
        assert_unverified(lab, "models/disk: it is a link", "models/loop: it is a link", "models/note?everything holds")
        assert "everything holds" not in lab.weir("erase", "verify", "1", expect=3).splitlines()
        assert "models/gone" not in lab.weir("erase", "status", "1", expect=3)
        for path in (models / "disk", models / "loop", forged):
            path.unlink()
        done = waited_for(lab, lambda told: told.returncode == 0)
        assert "FINISHED" in done.stdout, done.stdout
    lab.remove()


def test_a_sample_whose_file_is_not_what_was_recorded_is_never_called_scrubbed():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE.replace("retrain_now", "keep"))
    lab.run().finish()
    person = lab.records[10]["user"]
    part = lab.data_dir / "storage" / "notes" / "part0.jsonl"
    whole = part.read_bytes()
    part.write_bytes(whole[:-1])
    with served(lab):
        first_erased(part, lab, person)
        assert_unverified(lab, part)
        part.unlink()
        done = waited_for(lab, lambda told: told.returncode == 0)
        assert "FINISHED" in done.stdout, done.stdout
        receipt = lab.weir("erase", "receipt", "1", "--json")
        assert "is gone: nothing of it could be overwritten" in receipt and "part0" not in receipt, receipt
        assert "everything holds" in lab.weir("erase", "verify", "1")
    lab.remove()


def test_what_stands_in_the_database_is_found():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE.replace("retrain_now", "keep"))
    lab.run().finish()
    person = lab.records[10]["user"]
    text = next(json.dumps(r) for r in lab.records if r["user"] == person)
    with served(lab):
        query(lab, f"CREATE TABLE public.leftover AS SELECT '{text}' AS words")
        first_erased("postgres/base/", lab, person)
        assert_unverified(lab, "postgres/base/")
        query(lab, "DROP TABLE public.leftover")
        lab.weir("erase", "verify", "1", expect=3)
    with served(lab):  # the log is cycled again, since nobody remembers that it was
        done = waited_for(lab, lambda told: told.returncode == 0)
        assert "FINISHED" in done.stdout, done.stdout
        assert "everything holds" in lab.weir("erase", "verify", "1")
    lab.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=[f"test_{name}" for name in sys.argv[1:]])
