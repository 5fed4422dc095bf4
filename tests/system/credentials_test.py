"""Keys of object stores: a pipeline names what the system file declares, which goes to the hosts it says and no others, and to
storage alone of all processes of the platform."""

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from s3_server import BUCKET, KEY_ID, REGION, SECRET, Store  # noqa: E402
from s3_test import PIPELINE, Bucket, lines  # noqa: E402
from secrets_test import children  # noqa: E402
from weirlab import Run, run_tests  # noqa: E402

DECLARED = PIPELINE.replace("region: %s,", "region: %s, credentials: lab,")
CANARY = "canary-of-the-environment"
NEVER = ("postgres", "selector", "dispatcher", "worker", "trainer")


class Declared(Bucket):
    """A bucket that is read with declared credentials."""

    def __init__(self, store, credentials, every=10**9, pipeline=DECLARED):
        super().__init__(store, every=every, pipeline=pipeline)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            del os.environ[name]
        os.environ.update(LAB_ID=KEY_ID, LAB_SECRET=SECRET, AWS_SESSION_TOKEN=CANARY)
        self.system = self.folder / "system.yaml"
        self.system.write_text(credentials)

    def run(self, data_dir=None):
        return Run(self.pipeline, data_dir or self.data_dir, self.system)


def declaration(host):
    return f'credentials:\n  lab: {{hosts: ["{host}"], key_id_env: LAB_ID, secret_env: LAB_SECRET}}\n'


def host_of(store):
    return store.endpoint.split("://")[1]


class Watch:
    """Of each program of the platform, whether a secret was ever in the environment of one of its processes."""

    def __init__(self, pid):
        self.pid, self.seen, self.over = pid, {}, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        while not self.over.is_set():
            for pid in children(self.pid):
                try:
                    program = Path(os.readlink(f"/proc/{pid}/exe")).name
                    variables = Path(f"/proc/{pid}/environ").read_bytes()
                except OSError:
                    continue
                holds = any(secret.encode() in variables for secret in (KEY_ID, SECRET, CANARY))
                if program != "orchestrator":  # a child that has not become a program yet
                    self.seen[program] = self.seen.get(program, False) or holds
            self.over.wait(0.01)  # leaves the processors to those that are watched

    def end(self):
        self.over.set()
        self.thread.join()
        return self.seen


def test_declared_credentials_are_given_to_storage_alone():
    store = Store()
    store.put("day/a.jsonl", lines(0, 20))
    lab = Declared(store, declaration(host_of(store)), every=20)
    lab.start()
    watch = Watch(lab.started.process.pid)
    lab.await_that(lambda d: d["live"] == 20)
    assert lab.started.wait_until(lambda: lab.started.of("training_finished"))
    seen = watch.end()
    assert seen.pop("storage") is True, seen
    assert all(name in seen for name in NEVER), seen
    assert not any(seen.values()), seen
    lab.end()
    store.close()


def refused(store, credentials, *told, pipeline=DECLARED):
    lab = Declared(store, credentials, pipeline=pipeline)
    run = lab.run().finish(expect=2)
    (error,) = [e["error"] for e in run.of("error")]
    assert "lab.yaml:5:" in error and all(text in error for text in told), error
    assert not lab.data_dir.exists(), "nothing was begun"
    lab.remove()


def test_credentials_that_are_not_declared_are_refused_with_their_place():
    store = Store()
    refused(store, "workers: 1\n", "s3.credentials: found 'lab'", "declares: none")
    refused(store, "workers: 1\n", "s3", "found 'environment'", "declares: none", pipeline=PIPELINE)
    refused(store, declaration(host_of(store)).replace("lab:", "other:"), "found 'lab'", "declares: other")
    refused(store, declaration("s3.example.org"), "'lab' may not be sent to " + store.endpoint)
    for former in ("key_id_env: HOME", "secret_env: HOME", "credentials: /etc/passwd"):
        refused(store, declaration(host_of(store)), "expected the name of credentials",
                pipeline=DECLARED.replace("credentials: lab", former))
    assert store.requests == []
    store.close()


def test_a_platform_whose_system_file_takes_credentials_back_asks_nobody():
    store = Store()
    store.put("day/a.jsonl", lines(0, 20))
    lab = Declared(store, declaration(host_of(store)))
    lab.start().await_that(lambda d: d["live"] == 20)
    lab.started.process.terminate()
    lab.started.finish(expect=None)
    asked = len(store.requests)
    lab.system.write_text(declaration("s3.example.org"))
    run = lab.run().finish(expect=2)
    assert any("may not be sent to" in e["error"] for e in run.of("error")), run.events
    found = lab.dataset()  # a platform without a system file: nothing called lab
    assert "found 'lab'" in found["complaints"][0] and found["live"] == 20, found
    assert len(store.requests) == asked
    lab.remove()
    store.close()


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])
