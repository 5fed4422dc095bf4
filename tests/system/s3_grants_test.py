"""Workers elsewhere read objects themselves, by requests that storage has signed for one range of one version and for two seconds:
the same models, over TLS that a private authority vouches for; what a grant does not get, storage reads."""

import contextlib
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from s3_server import BUCKET, KEY_ID, SECRET, Store  # noqa: E402
from s3_ranges_test import TRAINED  # noqa: E402
from s3_test import Bucket  # noqa: E402
from weirlab import SKIPPED, Stream, assert_clean_audits, await_force, await_that, outcome, run_tests  # noqa: E402
from workers_elsewhere_test import NAMESPACE, nothing, platform, submit, told, working  # noqa: E402

TOKEN = "token/of+a=session"
PIPELINE = TRAINED.replace("name: bucket", "name: lab").replace("region: %s,", "region: %s, credentials: lab,").replace("samples: 8}", "samples: 8, order: deterministic}")
KEEPING = PIPELINE.replace("loss: logistic}", "loss: logistic, epochs: 12}") + "deletion: {{policy: keep}}\n"
LONG = KEEPING.replace("epochs: 12}", "epochs: 300}")  # it goes on while we look
PADDING = 20_000  # of a record: shorter samples are not worth a request of their own


def certificate(of):
    """An authority that nobody knows, which is its own server."""
    files = of / "authority.pem", of / "authority.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=store", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]], check=True, capture_output=True)
    return files


def padded(record):
    return json.dumps({**record, "pad": "p" * PADDING}) + "\n"


class Grants(Bucket):
    """A bucket of a store that speaks TLS, with keys of a session, and the system file that names them."""

    def __init__(self, store, samples, pipeline=PIPELINE, **keys):
        super().__init__(store, every=samples // 2, pipeline=pipeline)
        store.is_watched = lambda: True
        seconds = set()  # of the store, that listings have told: two that end say what time it has
        store.on_listed = lambda _: seconds.add(int(time.time() + store.ahead_s))
        store.on_get = lambda _: await_that(lambda: len(seconds) > 2)
        os.environ.update(LAB_ID=KEY_ID, LAB_SECRET=SECRET, LAB_TOKEN=TOKEN)
        names = {"hosts": ["*"], "key_id_env": "LAB_ID", "secret_env": "LAB_SECRET", "token_env": "LAB_TOKEN", "ca": str(store.ca),
                 **keys}
        self.system_keys = f"credentials: {{lab: {json.dumps(names)}}}\n"

    def serving(self):
        return platform(self, system_keys=self.system_keys)


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="weir-grants-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextlib.contextmanager
def store_of(tmp, samples, files=4):
    store = Store(page=100, tls=certificate(tmp))
    store.ca, store.keys = tmp / "authority.pem", {KEY_ID: (SECRET, TOKEN)}
    store.ca.chmod(0o644)
    stream = Stream(samples, 5)
    records = [stream.record(i) for i in range(samples)]
    size = -(-samples // files)
    for part in range(files):
        store.put(f"day/part {part}+ü.jsonl", "".join(map(padded, records[part * size:(part + 1) * size])))
    store.records = records
    try:
        yield store
    finally:
        store.close()


def made(lab, column="granted"):
    """The outcome of the pipeline where a worker elsewhere makes all batches, and the worker's row, once a beat has told of `column`."""
    with lab.serving(), working(lab, "rosa", *nothing(lab)) as rosa:
        submit(lab)
        events = told(lab)
        row = rosa.await_row(lambda row: column is None or row[column] > 0)
        rosa.end()
    logs = rosa.log.read_text() + "".join(p.read_text(errors="replace") for p in lab.data_dir.glob("**/*.log"))
    assert not any(word in logs for word in (SECRET, TOKEN, urllib.parse.quote(TOKEN, safe=""), "X-Amz-Signature")), logs
    assert_clean_audits(events)
    lab.remove()
    return outcome(events), row


def of_storage(store, samples):
    """The same where storage reads all."""
    wanted, row = made(Grants(store, samples, grants=False), column=None)
    assert store.urls == [] and row["granted"] == row["refused"] == 0, row
    assert len(wanted) == 2 and all("checksum" in of for of in wanted.values()), wanted
    return wanted


def test_models_are_the_same_of_objects_that_a_worker_reads_by_grants_also_where_the_clock_of_the_store_is_off():
    with folder() as tmp, store_of(tmp, 80) as store:
        wanted = of_storage(store, 80)
        for ahead_s in (0, 500, -500):
            store.ahead_s, store.granted = ahead_s, []
            found, row = made(Grants(store, 80))
            assert found == wanted
            assert 0 < row["granted"] <= len(store.granted), row
            assert len(set(store.granted)) > 4, "one is for a sample, not for an object"


REFUSALS = ["403", "500", "hang up", "shifted", "other", "half"]


def test_what_a_grant_does_not_get_storage_reads():
    with folder() as tmp, store_of(tmp, 40) as store:
        wanted = of_storage(store, 40)
        for fault in REFUSALS:
            store.grants_fault, store.granted = fault, []
            found, row = made(Grants(store, 40), column="refused")
            assert found == wanted, fault
            assert row["granted"] == 0 and row["refused"] > 0, (fault, row)


def again(store, url, headers, **others):
    """Status of a request that is like one that was granted, but for these headers."""
    kept = {name: value for name, value in headers.items() if name in ("If-Match", "Range")}
    request = urllib.request.Request(store.endpoint + url, headers={**kept, **others})
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=store.ca)) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def fresh(store, seen):
    """The newest request that was granted, asked again at once: one that is not over by then."""
    return await_that(lambda: len(store.urls) > seen and again(store, *store.urls[-1]) == 206 and store.urls[-1])


def test_a_grant_is_for_one_object_one_version_one_range_and_two_seconds():
    with folder() as tmp, store_of(tmp, 40) as store:
        lab = Grants(store, 40, LONG)
        with lab.serving(), working(lab, "rosa", *nothing(lab)):
            submit(lab)
            url, headers = fresh(store, 0)
            assert "X-Amz-Expires=2&" in url and "X-Amz-SignedHeaders=host%3Bif-match%3Brange&" in url, url
            first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", headers["Range"]).groups()
            other = url.replace("part%200", "part%201") if "part%200" in url else re.sub(r"part%20\d", "part%200", url)
            assert again(store, url, headers, Range=f"bytes={first}-{int(last) + 1}") == 403
            assert again(store, url, headers, Range=f"bytes={int(first) - 1}-{last}") == 403
            assert again(store, other, headers) == 403
            assert again(store, url, headers, **{"If-Match": "*"}) == 403
            assert again(store, url.replace("Expires=2&", "Expires=3&"), headers) == 403
            assert again(store, url.replace(f"/{BUCKET}/", f"/{BUCKET}/../{BUCKET}/"), headers) == 403
            url, headers = fresh(store, 0)
            store.ahead_s += 2.001  # seconds later
            assert again(store, url, headers) == 403
        lab.remove()


def theirs(store, person):
    """Keys and ranges of the records of a person, by what the bucket held first."""
    found = set()
    for key, versions in store.first.items():
        at = 0
        for line in versions.splitlines(keepends=True):
            if json.loads(line)["user"] == person:
                found.add((key, at, at + len(line)))
            at += len(line)
    return found


def test_nothing_is_granted_of_who_is_erased():
    with folder() as tmp, store_of(tmp, 80) as store:
        store.first = {key: found["body"] for key, found in store.objects.items()}
        person = store.records[3]["user"]
        hers = theirs(store, person)
        lab = Grants(store, 80, KEEPING)

        def are_hers(granted):
            ranges = [(key, *map(int, text.removeprefix("bytes=").split("-"))) for key, text in granted]
            return [r for r in ranges if any(key == r[0] and first <= r[1] < last for key, first, last in hers)]

        with lab.serving(), working(lab, "rosa", *nothing(lab)) as rosa:
            submit(lab)
            await_that(lambda: are_hers(store.granted))
            asked = json.loads(lab.weir("erase", "request", "--subject", person, "--json"))
            await_force(lab, asked["erasure"])
            before = len(store.granted)
            events = told(lab)
            assert not are_hers(store.granted[before:])
            assert len(store.granted) > before and rosa.row()["granted"] > 0, rosa.row()
            assert sum(e["audit"]["erased"] for e in events if e["event"] == "training_finished") > 0
        lab.remove()


if __name__ == "__main__":
    if subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0:
        sys.exit(SKIPPED)
    run_tests(globals(), wanted=sys.argv[1:])
