"""What a platform cannot do without: the secret of its hashes and the key of its receipts. And forged receipts."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from weirlab import Lab, faulty, served

LOST = {"secret": "no data subject, key or erased record of this store can be found",
        "receipt.key": "start once with --new-receipt-key"}


def digest_of(receipt):
    body = {key: value for key, value in receipt.items() if key not in ("hash", "signature")}
    compact = json.dumps(body, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(compact.encode(), digest_size=32).hexdigest()


def hashed_again(receipt):
    return receipt | {"hash": digest_of(receipt)}


def without(receipt, *names):
    return {key: value for key, value in receipt.items() if key not in names}


def listing(folder):
    """Every file below, and when it was changed."""
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in Path(folder).rglob("*")}


def erased(lab, person):
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    return json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))


class Verifier:
    """Somebody who was given receipts as files, and has nothing else."""

    def __init__(self, lab, folder):
        self.lab, self.folder = lab, folder
        folder.mkdir()

    def put(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    def verify(self, *words, expect=0, data_dir=None):
        before = listing(self.folder)
        nowhere = self.folder / "nowhere"
        done = self.lab.ask("erase", "verify", *map(str, words), data_dir=data_dir or nowhere)
        assert done.returncode == expect, (words, done.returncode, done.stdout, done.stderr)
        assert listing(self.folder) == before, "verifying has written something"
        assert len(done.stderr.splitlines()) == (1 if expect else 0), done.stderr
        return done.stderr if expect else done.stdout


def forged(verifier, key, one, two):
    """Every way to make a receipt that the platform did not sign; each ends with 1 and the file's name."""
    text = json.dumps(one)
    stripped = without(one, "signature", "public_key") | {"samples": 99}
    forgeries = {
        "altered": one | {"samples": 99},
        "altered and hashed again": hashed_again(one | {"samples": 99}),
        "no signature": without(one, "signature"),
        "empty signature": one | {"signature": ""},
        "no key": hashed_again(without(one, "public_key")),
        "empty key": hashed_again(one | {"public_key": ""}),
        "neither": hashed_again(stripped),
        "neither, empty": hashed_again(one | {"public_key": ""}) | {"signature": ""},
        "neither, of an older version": hashed_again(stripped | {"version": 1}),
        "another key": hashed_again(one | {"public_key": "0" * 64}),
        "a longer hash": one | {"hash": one["hash"] + "0"},
        "a longer key": one | {"public_key": one["public_key"] + "00"},
        "signature of another": one | {"signature": two["signature"]},
        "a number that is none": text.replace('"samples": ', '"samples": NaN, "x": ', 1).encode(),
        "a name twice": (text[:-1] + ', "samples": 99}').encode(),
        "truncated": text[:-40].encode(),
        "something after a zero": text.encode() + b"\0 and more",
        "something after it": text.encode() + b"{}",
        "huge": b" " * (2 << 20) + text.encode(),
        "deep": b"[" * 100000,
        "empty": b"",
        "a list": b"[]",
        "no text": os.urandom(1000),
    }
    for name, content in forgeries.items():
        path = verifier.put("forged.json", content)
        line = verifier.verify(path, "--key", key, expect=1)
        assert str(path) in line, (name, line)
        path.unlink()
    assert "unsigned" in verifier.verify(verifier.put("neither.json", hashed_again(stripped)), "--key", key, expect=1)
    assert "is missing" in verifier.verify(verifier.put("half.json", without(one, "signature")), "--key", key, expect=1)
    for path, problem in ((verifier.folder, "expected a regular file"), (verifier.folder / "gone.json", "cannot open")):
        assert problem in verifier.verify(path, "--key", key, expect=1)
    print("forgeries that did not pass:", len(forgeries) + 4)


def verified_by_keys_that_were_given(lab, verifier, one, two):
    key = lab.weir("erase", "key").strip()
    first, second = verifier.put("1.json", one), verifier.put("2.json", two)
    linked = verifier.folder / "linked.json"
    linked.symlink_to(second)
    keys = verifier.put("keys.txt", f"{'1' * 64}\n{key}\n".encode())
    for words in (["--key", key], ["--key", key.upper()], ["--key", keys], ["--key", "2" * 64, "--key", key]):
        told = verifier.verify(first, linked, *words)
        assert "everything holds" in told and "note" not in told, told
    assert "everything holds" in verifier.verify(first, second, data_dir=lab.data_dir), "the platform's own keys"
    assert "none of the 0 known" in verifier.verify(first, second, expect=1), "without a key nothing passes"
    assert "none of the 1 known" in verifier.verify(first, "--key", "2" * 64, expect=1)
    assert "neither 64 hexadecimal" in verifier.verify(first, "--key", "2" * 63, expect=1)
    assert "expected a key" in verifier.verify(first, "--key", first, expect=2)
    forged(verifier, key, one, two)
    unsigned = verifier.put("old.json", hashed_again(without(one, "signature", "public_key") | {"version": 1}))
    told = verifier.verify(unsigned, "--key", key, "--accept-unsigned")
    assert "note   erasure" in told and "unsigned" in told, told
    # another platform's history beside ours
    assert "follow the same receipt" in verifier.verify(
        verifier.put("a.json", hashed_again(without(one, "signature", "public_key") | {"samples": 3})),
        verifier.put("b.json", hashed_again(without(one, "signature", "public_key") | {"samples": 4})),
        "--accept-unsigned", expect=1)
    return key


def refused_without(lab, name):
    """Gone, or another one: nothing starts, nothing is made in its place, and one line says what to do."""
    path, aside = lab.data_dir / name, lab.folder / "aside"
    true = path.read_bytes()
    for change in ("missing", "another"):
        shutil.copy2(path, aside)
        path.unlink()
        if change == "another":
            path.write_bytes(os.urandom(32))
            path.chmod(0o644)
        done = lab.ask("erase", "request", "--subject", "somebody@example.org", "--wait")
        assert done.returncode == 1 and str(path) in done.stderr, (name, change, done.stderr)
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert LOST[name] in done.stderr, done.stderr
        assert change != "missing" or not path.exists(), "a new one was made in silence"
        print(f"{name}, {change}:", done.stderr.strip())
        shutil.copy2(aside, path)
        shutil.chown(path, lab.data_dir.stat().st_uid)
    assert path.read_bytes() == true
    lab.weir("status")


def named_where_nobody_looks_on(lab):
    """Names of people from a file or standard input: command lines can be read by everybody."""
    person = lab.records[15]["user"]
    names = lab.folder / "names.txt"
    names.write_text(f"\n{person}\r\n")

    def planned(*words, **options):
        plan = json.loads(lab.ask("erase", "plan", *words, "--json", **options).stdout)
        return plan["samples"], plan["bytes"], plan["models"]

    plan = planned("--subject", person)
    assert plan[0] > 0 and planned("--subject-file", names) == plan
    assert planned("--subject-file", "-", input=f"{person}\n") == plan
    for content, problem in ((b"a\n\0b\n", "names.txt:2: expected a subject"), (b"\n", "found 0"), (b"\xff", "names.txt:1:")):
        names.write_bytes(content)
        done = lab.ask("erase", "plan", "--subject-file", names)
        assert done.returncode == 2 and problem in done.stderr, done
    names.unlink()


def swept_after_a_killed_dry_run(lab):
    """What a dry run has copied goes with the next start, unless a process holds it, or it was made a moment ago."""
    folder = lab.folder / "tmp"
    for name in ("weir-scratch-old", "weir-scratch-held", "weir-scratch-young", "else"):
        (folder / name / "storage").mkdir(parents=True)
        (folder / name / "storage/copy").write_text("somebody's data")
        if "young" not in name:
            os.utime(folder / name, (1e9, 1e9))
    held = os.open(folder / "weir-scratch-held", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.environ["TMPDIR"] = str(folder)
    lab.run_with()
    del os.environ["TMPDIR"]
    os.close(held)
    assert sorted(p.name for p in folder.iterdir()) == ["else", "weir-scratch-held", "weir-scratch-young"]


def renewed_once_it_is_lost(lab, verifier, key, one):
    """Receipts that the lost key signed stay valid; later ones are signed by the new one."""
    renewed = json.loads(lab.weir("erase", "key", "--json"))
    assert renewed["public_keys"] == [renewed["public_key"], key] and renewed["public_key"] != key, renewed
    three = erased(lab, lab.records[30]["user"])
    assert three["public_key"] == renewed["public_key"]
    assert "everything holds" in lab.weir("erase", "verify", "--all")
    both = verifier.put("1.json", one), verifier.put("3.json", three)
    assert "everything holds" in verifier.verify(*both, data_dir=lab.data_dir)
    assert "none of the 1 known" in verifier.verify(*both, "--key", key, expect=1)


def stopped_between_the_key_and_its_check():
    """kill -9 after a key was drawn and before anything was recorded of it: the next start takes that key."""
    lab = SealedLab(samples=100, every=100, epochs=1)
    with faulty("key_file.drawn=!1"):
        killed = lab.run().finish(expect=None)
        assert killed.process.returncode == -9, killed.process.returncode
        drawn = (lab.data_dir / "receipt.key.new").read_bytes()
        lab.run().finish()
    assert (lab.data_dir / "receipt.key").read_bytes() == drawn
    assert not (lab.data_dir / "receipt.key.new").exists() and not (lab.data_dir / "secret.new").exists()
    lab.remove()


def drawn_once_however_often_the_start_is_tried():
    """The start fails twice after the new key is recorded, and is tried again: one order, one more key."""
    lab = SealedLab(samples=100, every=100, epochs=1)
    with served(lab):
        assert len(lab.weir("erase", "key").split()) == 1
    with faulty("orchestrator.open=1,orchestrator.open=2"), served(lab, "--new-receipt-key"):
        pass
    with served(lab):
        keys = (lab.data_dir / "receipts" / "keys").read_text().split()
    assert len(keys) == 2 and len(set(keys)) == 2, keys
    lab.remove()


def a_start_that_never_begins_says_why():
    """The orchestrator cannot be opened, and patience is over: one line, and everything is down again."""
    lab = SealedLab(samples=100, every=100, epochs=1)
    with faulty("local.impatient=1,orchestrator.open=1"):
        failed = lab.run().finish(expect=None)
    said = "".join(failed.stderr)
    assert failed.process.returncode == 1 and "fault orchestrator.open" in said + repr(failed.events), (said, failed.events)
    lab.run().finish()
    lab.remove()


def sql(lab, text):
    subprocess.run(["psql", "-h", lab.data_dir / "run/db", "-U", "weir", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, "weir"], check=True,
                   capture_output=True)


def of_the_log(receipt):
    return [remark for remark in receipt["storage"]["outside_reach"] if "write-ahead log" in remark]


def said_where_the_log_is_held():
    """A replication slot keeps old segments of the log: the receipt says that they stay. Once it is dropped, nothing is said."""
    lab = SealedLab(samples=200, every=200, epochs=1)
    lab.run().finish()
    with served(lab):
        sql(lab, "SELECT pg_create_physical_replication_slot('replica', true)")
        (remark,) = of_the_log(erased(lab, lab.records[10]["user"]))
        assert "a replication slot" in remark and "stay" in remark, remark
        sql(lab, "SELECT pg_drop_replication_slot('replica')")
        assert of_the_log(erased(lab, lab.records[20]["user"])) == []
    lab.remove()


class SealedLab(Lab):
    def run_with(self, *options):
        """One run of the finished pipeline, with options."""
        import child
        from weirlab import binaries
        done = child.run([binaries() / "orchestrator", "run", self.pipeline, "--data-dir", self.data_dir, *options],
                         capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def main():
    lab = SealedLab(samples=200, every=200, epochs=1)
    lab.run().finish()
    verifier = Verifier(lab, lab.folder / "verifier")
    with served(lab):
        one, two = erased(lab, lab.records[10]["user"]), erased(lab, lab.records[20]["user"])
        key = verified_by_keys_that_were_given(lab, verifier, one, two)
    for name in LOST:
        refused_without(lab, name)
    with served(lab):
        named_where_nobody_looks_on(lab)
    swept_after_a_killed_dry_run(lab)
    (lab.data_dir / "receipt.key").unlink()
    lab.run_with("--new-receipt-key")
    with served(lab):
        renewed_once_it_is_lost(lab, verifier, key, one)
    lab.remove()
    stopped_between_the_key_and_its_check()
    drawn_once_however_often_the_start_is_tried()
    a_start_that_never_begins_says_why()
    said_where_the_log_is_held()


main()
