"""A person asks to be forgotten: no batch, no file, no model keeps them, and the receipt says so."""

import contextlib
import hashlib
import json
import os
import pty
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from weirlab import DEADLINE_S, PIPELINE, Lab, assert_clean_audits, await_force, served, stopped


OLD_RECEIPT = Path(__file__).resolve().parent.parent / "data/receipts/version_2.json"


def owned_bytes(data_dir):
    """Every byte of every file Weir owns (Postgres and its log of changes too: they hold no payload)."""
    for path in data_dir.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


def erased_once_the_file_can_be_written():
    """A source by reference that Weir may read and not write: the person who waits is told which file it is."""
    lab = Lab(samples=300, every=300, epochs=1, pipeline=PIPELINE.replace("import: copy", "import: reference"))
    lab.run().finish()
    person = lab.records[10]["user"]
    texts = [r["text"] for r in lab.records if r["user"] == person]
    parts = sorted((lab.folder / "stream").iterdir())
    owner = (lab.data_dir / "postgres").stat().st_uid  # whom Weir runs as; only an owner may keep a file's time
    for part in parts:
        os.chown(part, owner, -1)
    parts[0].chmod(0o444)
    waiting = lab.begin("erase", "request", "--subject", person, "--wait", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    told = next((line for line in waiting.stderr if str(parts[0]) in line), None)
    assert told and "Permission denied" in told and "samples are in force but not overwritten" in told, told
    assert waiting.poll() is None, "it waits on"
    listed = lab.weir("erase", "list")
    assert "waits: " in listed and str(parts[0]) in listed, listed
    parts[0].chmod(0o644)
    output, _ = waiting.communicate(timeout=DEADLINE_S)
    assert waiting.returncode == 0 and "FINISHED" in output and "trouble" not in output, output
    for part in parts:
        content = part.read_text()
        assert not any(text in content for text in texts), f"{part} still holds an erased text"
    for log in lab.data_dir.glob("log/*.log"):
        assert str(parts[0]) not in log.read_text() or "storage" not in log.name, f"{log} names the file"
    print("told:", told.strip())
    lab.remove()


def erased_while_workers_know_where_it_is():
    """Workers keep where whole chunks are, over many epochs: what is erased meanwhile is not in the epochs that follow,
    also when storage is another process by then."""
    lab = Lab(samples=800, every=800, epochs=400, pipeline=PIPELINE.replace("retrain_now", "keep"))
    run = lab.run()
    while run.checkpoint() is None:
        assert run.process.poll() is None, "it was trained before it could be disturbed"
        threading.Event().wait(0.01)  # between two looks
    with stopped(run.victims("trainer")):  # so that it is not done before the erasure is in force
        lab.weir("erase", "request", "--subject", lab.records[10]["user"])
        run.kill("storage")
        await_force(lab, 1)
    (trained,) = run.finish().of("training_finished")
    assert_clean_audits(run.events)
    count = sum(r["user"] == lab.records[10]["user"] for r in lab.records)
    assert 0 < trained["audit"]["erased"] < 400 * count, trained
    print("erased in the midst of it:", trained["audit"])
    lab.remove()


def erasures(lab):
    return json.loads(lab.weir("erase", "list", "--json"))["erasures"]


def answered_on_a_terminal(lab, answer, *options):
    """A request that matches nothing, made by a person who types `answer` (None: Ctrl-C): its exit code and all that was shown."""
    ours, its = pty.openpty()
    request = lab.begin("erase", "request", "--subject", "nobody@example.org", *options, stdin=its, stdout=its, stderr=its)
    os.close(its)
    shown = b""
    while b"[y/N]" not in shown and (some := read_terminal(ours)):
        shown += some
    request.send_signal(signal.SIGINT) if answer is None else os.write(ours, answer)
    while some := read_terminal(ours):
        shown += some
    os.close(ours)
    return request.wait(timeout=DEADLINE_S), shown.decode()


def read_terminal(terminal):
    with contextlib.suppress(OSError):  # EIO: nobody has it open any more
        return os.read(terminal, 4096)
    return b""


def asked_on_a_terminal(lab):
    """Who sits there is asked, and creates nothing by anything but a yes; a script is not asked."""
    before = erasures(lab)
    for no in (b"n\n", b"\n", b"\x04", None):
        code, shown = answered_on_a_terminal(lab, no)
        assert code != 0 and "go on" in shown, (no, code, shown)
    code, shown = answered_on_a_terminal(lab, b"", "--dataset", "noets")
    assert code == 2 and "no dataset 'noets'" in shown and "[y/N]" not in shown, (code, shown)
    code, shown = answered_on_a_terminal(lab, b"", "--json")
    assert code == 1 and "--allow-none" in shown and "[y/N]" not in shown, (code, shown)
    assert erasures(lab) == before, "nothing was created"
    code, shown = answered_on_a_terminal(lab, b"y\n", "--wait")
    assert code == 0 and "FINISHED" in shown, (code, shown)
    (erasure,) = (one for one in erasures(lab) if one not in before)
    assert erasure["samples"] == 0, erasure
    print("asked:", next(line for line in shown.splitlines() if "[y/N]" in line))


def misspelt(lab, person):
    """A name that nobody has is refused, alone or among many, unless it is meant."""
    done = lab.ask("erase", "request", "--subject", person + "x", "--wait")
    assert done.returncode == 1 and "no sample has any of these names" in done.stderr, done
    names = lab.folder / "people.csv"
    names.write_text(f'subject\n"{person}x"\n\n"{person}y"\n')
    answer = json.loads(lab.weir("erase", "request", "--csv", str(names), "--each", "--json", expect=1))
    assert answer["accepted"] == 0, answer
    assert [(r["kind"], r["place"], r["line"]) for r in answer["refused"]] == [("subject", 1, 2), ("subject", 2, 4)], answer
    assert erasures(lab) == [], "nothing was created"
    names.unlink()


def main():
    lab = Lab(samples=800, every=200, epochs=1)
    before = lab.run().finish()
    assert_clean_audits(before.events)
    person = lab.records[10]["user"]  # early in the stream: every model has seen this person
    texts = [r["text"] for r in lab.records if r["user"] == person]
    names = lab.folder / "names.csv"
    names.write_text(f'case,subject\n1,"{person}"\n')
    tainted = {hashlib.sha256(path.read_bytes()).digest() for path in (lab.data_dir / "models").rglob("*") if path.is_file()}
    assert len(tainted) >= 4, "a model of each trigger"
    with served(lab):
        models, receipt = planned_and_erased(lab, person, texts, names)
    for path, content in owned_bytes(lab.data_dir):
        for text in texts:
            assert text.encode() not in content, f"{path} still holds an erased text"
        assert person.encode() not in content, f"{path} names the person"
    with served(lab):
        second = assert_gone(lab, person, texts, models, receipt)
        verified_again_and_again(lab, receipt, second)
        asked_on_a_terminal(lab)
    for path, content in owned_bytes(lab.data_dir):
        assert hashlib.sha256(content).digest() not in tainted, f"{path} is a model that had seen the person"
    lab.remove()


def planned_and_erased(lab, person, texts, names):
    """The models before it, and the receipt."""
    models = json.loads(lab.weir("models", "list", "--json"))["models"]

    plan = json.loads(lab.weir("erase", "plan", "--subject", person, "--json"))
    assert plan["samples"] == len(texts) and plan["bytes"] > sum(len(t) for t in texts), plan
    assert {m["model"] for m in plan["models"] if m["live"]} == {m["model"] for m in models}, plan
    assert erasures(lab) == [], "a plan changes nothing"

    misspelt(lab, person)
    answer = json.loads(lab.weir("erase", "request", "--csv", str(names), "--wait", "--json"))
    names.unlink()
    assert answer["samples"] == len(texts), answer
    receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    assert_says_where(lab, texts, models, receipt)
    print("erased", answer["samples"], "samples;", "receipt", receipt["erasure"])
    return models, receipt


def assert_gone(lab, person, texts, models, receipt):
    """From what is counted, from the models and for whoever asks again; returns the receipt of that."""
    (notes,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
    assert notes["erased"] == len(texts) and notes["live"] == 800 - len(texts), notes
    after = json.loads(lab.weir("models", "list", "--json"))["models"]
    tainted = {m["checksum"] for m in models}
    kept = {m["checksum"] for m in after if m["state"] in ("active", "stored")}
    assert kept and not kept & tainted, "a model that has seen the person is still there"

    plan = json.loads(lab.weir("erase", "plan", "--subject", person, "--json"))
    assert plan["samples"] == 0 and plan["bytes"] == 0, plan
    again = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    assert again["samples"] == 0, again
    second = json.loads(lab.weir("erase", "receipt", str(again["erasure"]), "--json"))
    assert second["previous"] and second["previous"] == receipt["hash"], (receipt, second)
    print("chain holds; nobody is found a second time")
    return second


def assert_says_where(lab, texts, models, receipt):
    """Records and files apart, every kind of place by its name, what of the person was in it and that it is gone."""
    files = [part for part in (lab.folder / "stream").iterdir() if any(text in part.read_text() for text in texts)]
    storage, places = receipt["storage"], {place["place"]: place for place in receipt["places"]}
    assert (storage["records_scrubbed"], storage["files_scrubbed"]) == (len(texts), len(files)), storage
    assert places["files of samples"]["held"] == {"records": len(texts), "files": len(files)}, places
    assert receipt["datasets"] == [{"dataset": "notes", "samples": len(texts)}], receipt["datasets"]
    assert places["database"]["held"] == {"samples": len(texts)} and places["database"]["files"] > 100, places
    assert places["models"]["held"] == {"models": len(models)}, places
    assert places["files of samples"]["files"] >= 3 and places["sealed sets of samples"]["bytes"] > 0, places
    assert all(place["gone"] for place in places.values()) and "logs" in places, places
    assert sum(place["bytes"] for place in places.values()) == storage["bytes_searched"], receipt
    told = lab.weir("erase", "receipt", str(receipt["erasure"]))
    assert f"{len(texts)} records in {len(files)} file" in told and "files of samples" in told and "NOT gone" not in told, told


def digest_of(receipt):
    body = {key: value for key, value in receipt.items() if key not in ("hash", "signature")}
    compact = json.dumps(body, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(compact.encode(), digest_size=32).hexdigest()


def findings(lab, *what, expect=0):
    answer = json.loads(lab.weir("erase", "verify", *what, "--json", expect=expect))
    assert answer["wrong"] == sum(f["verdict"] == "wrong" for f in answer["findings"]), answer
    return {(f["erasure"], f["check"]): f["verdict"] for f in answer["findings"]}


def is_signed(receipt):
    """By another program's lights."""
    with tempfile.TemporaryDirectory() as folder:
        key, text, signature = (Path(folder) / name for name in ("key", "text", "signature"))
        key.write_bytes(bytes.fromhex("302a300506032b6570032100" + receipt["public_key"]))  # RFC 8410
        text.write_text(receipt["hash"])
        signature.write_bytes(bytes.fromhex(receipt["signature"]))
        return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-keyform", "DER", "-rawin",
                               "-in", text, "-sigfile", signature], capture_output=True).returncode == 0


def signed_for_whoever_was_given_them(lab, first, second):
    """Receipts as files, in the hands of somebody who has nothing else."""
    key = lab.weir("erase", "key").strip()
    assert (lab.data_dir / "receipt.key").stat().st_mode & 0o777 == 0o600 and first["public_key"] == key
    given = []
    for receipt in (first, second):
        given.append(str(lab.folder / f"given{receipt['erasure']}.json"))
        Path(given[-1]).write_text(json.dumps(receipt))
        assert shutil.which("openssl") is None or is_signed(receipt), receipt
    nowhere, one, two = {"data_dir": lab.folder / "nowhere"}, first["erasure"], second["erasure"]

    def told(*what, expect=0):
        answer = json.loads(lab.weir("erase", "verify", *what, "--json", expect=expect, **nowhere))
        return {(f["erasure"], f["check"]): f["verdict"] for f in answer["findings"]}

    fine = {(n, c): "fine" for n in (one, two) for c in ("receipt", "signature", "chain")}
    assert told(*given, "--key", key) == fine
    assert told(*given, expect=1) == fine | {(n, "signature"): "wrong" for n in (one, two)}
    assert told(given[1], "--key", key)[two, "chain"] == "note"
    for change in ({"samples": 1}, {"signature": "0" * 128}, {"public_key": "0" * 64}, {"public_key": ""}):
        Path(given[0]).write_text(json.dumps(first | change))
        assert told(*given, "--key", key, expect=1) == {(0, "receipt"): "wrong", (two, "receipt"): "fine",
                                                        (two, "signature"): "fine", (two, "chain"): "note"}, change
    before = json.loads(OLD_RECEIPT.read_text())
    assert before["version"] == 2
    fine = {(before["erasure"], check): "fine" for check in ("receipt", "signature", "chain")}
    assert told(str(OLD_RECEIPT), "--key", before["public_key"]) == fine, "receipts of an older Weir hold"
    assert not nowhere["data_dir"].exists()


def verified_again_and_again(lab, first, second):
    """What receipts say is checked again: the chain, each sample, each model; and a forged one is told from a true one."""
    for receipt in (first, second):
        assert digest_of(receipt) == receipt["hash"], receipt
    good = findings(lab, "--all")
    one, two = first["erasure"], second["erasure"]
    assert good == {(n, c): "fine" for n in (one, two) for c in ("receipt", "signature", "chain", "models", "samples", "scores")}, good
    assert findings(lab, str(two)) == {key: v for key, v in good.items() if key[0] == two}
    assert "everything holds" in lab.weir("erase", "verify", str(one))

    path = lab.data_dir / "receipts" / f"{one}.json"
    true = path.read_text()
    path.write_text(true.replace(f'"samples": {first["samples"]}', f'"samples": {first["samples"] + 1}'))
    assert findings(lab, str(one), expect=3)[one, "receipt"] == "wrong"
    forged = json.loads(path.read_text())
    forged["hash"] = digest_of(forged)  # whole in itself, but not what the database and the next one know
    path.write_text(json.dumps(forged))
    unread = {key: v for key, v in good.items() if key not in ((one, "signature"), (one, "chain"))}
    assert findings(lab, "--all", expect=3) == unread | {(one, "receipt"): "wrong"}
    path.unlink()
    assert "put back a copy" in lab.weir("erase", "verify", str(one), expect=3)
    path.write_text(true)
    assert findings(lab, "--all") == good

    signed_for_whoever_was_given_them(lab, first, second)
    (copy,) = [p for p, content in owned_bytes(lab.data_dir) if p.name == "part0.jsonl"]
    lines = copy.read_bytes()
    returned = json.dumps(lab.records[10]).encode()
    at = sum(len(json.dumps(r)) + 1 for r in lab.records[:10])
    copy.write_bytes(lines[:at] + returned + lines[at + len(returned):])
    assert findings(lab, "--all", expect=3) == good | {(one, "samples"): "wrong"}
    copy.write_bytes(lines)
    lab.weir("erase", "verify", "77", expect=1)
    lab.weir("erase", "verify", expect=2)
    print("verified again; a forged receipt, a lost one and a sample that is back are told")


main()
erased_while_workers_know_where_it_is()
erased_once_the_file_can_be_written()
