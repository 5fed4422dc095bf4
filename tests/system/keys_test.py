"""Keys: let in until they are revoked, held to their role and their tenant, and told again to every service that was killed. Who
has ordered what is in a log that cannot be rewritten unseen."""

import json
import re
import socket
import stat
import subprocess
import threading
from contextlib import contextmanager, suppress

from weirlab import DEADLINE_S, PIPELINE, Lab, await_that, binaries, child, faulty, free_ports, kill, query, run_tests, serve

LIVE = PIPELINE.replace("name: lab, mode: replay", "name: red, mode: live")
PUSHED = """\
pipeline: {name: rows, mode: live}
dataset:
  name: rows
  source: {push: true, format: csv}
  time:   {from: field, field: ts}
  label:  {field: y, type: int}
trigger:   {policy: amount, samples: 1000000000}
selection: {policy: new_data}
preprocess:
  operators: [{op: csv_fields, columns: [ts, y, note], fields: [ts]}]
  batch: {samples: 8}
training: {model: linear, loss: logistic}
"""
GRID = """\
comparison: mine
base: base.yaml
axes:
  trigger:
    once:  {policy: amount, samples: 10}
    often: {policy: amount, samples: 5}
judge: {evaluation: next_month, metric: accuracy}
"""
SECRET = re.compile(r'secret: "(.*)"')
PUBLIC = re.compile(r'public: "(.*)"')


class Elsewhere(Lab):
    """A platform that listens to whoever has a key, on loopback."""

    def __init__(self):
        super().__init__(samples=20, every=1000, pipeline=LIVE)
        self.address = f"tcp://127.0.0.1:{free_ports()}"
        self.seen = 0

    def serve(self):
        return serve(self, "--listen", self.address)

    def pass_of(self, name):
        return self.folder / f"{name}.key"

    def new(self, role, name, *options):
        return self.weir("keys", "new", role, name, "-o", self.pass_of(name), *options)

    def by(self, name, *words):
        """A command under a key, that has ended in whatever way."""
        return child.run([binaries() / "weir", "--key", self.pass_of(name), *words], capture_output=True, text=True,
                         timeout=DEADLINE_S)

    def begin(self, name, *words, **options):
        return child.start([binaries() / "weir", "--key", self.pass_of(name), *words], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, **options)

    def end(self, server):
        server.terminate()
        server.communicate(timeout=DEADLINE_S)
        self.remove()

    def told(self, name, *words):
        done = self.by(name, *words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refused(self, name, *words):
        done = self.by(name, *words)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def all_have_noted(self):
        services = json.loads(self.weir("keys", "list", "--json"))["services"]
        return all(service["noted"] for service in services)

    def audit(self):
        return json.loads(self.weir("audit", "--json"))["records"]

    def verified(self, expect):
        return json.loads(self.weir("audit", "--verify", "--json", expect=expect))


@contextmanager
def elsewhere():
    lab = Elsewhere()
    server = lab.serve()
    try:
        yield lab
    finally:
        lab.end(server)


def test_a_key_is_let_in_until_it_is_revoked_and_a_service_that_was_killed_hears_of_it_again():
    with elsewhere() as lab:
        shown = lab.new("viewer", "ben") + lab.new("viewer", "rosa")
        for name in ("ben", "rosa"):
            text = lab.pass_of(name).read_text()
            assert stat.S_IMODE(lab.pass_of(name).stat().st_mode) == 0o600
            assert SECRET.search(text)[1] not in shown
            assert lab.told(name, "status")["pipelines"] == []
        await_that(lab.all_have_noted)
        assert kill(lab.data_dir, "storage")
        answer = json.loads(lab.weir("keys", "revoke", "ben", "--json"))
        assert {service["service"] for service in answer["services"]} == {"storage", "selector", "dispatcher"}
        await_that(lab.all_have_noted)
        assert "revoked" in lab.refused("ben", "status")
        assert lab.told("rosa", "status")["pipelines"] == []
        public = PUBLIC.search(lab.pass_of("ben").read_text())[1]
        again = lab.ask("keys", "allow", "viewer", "ben", public)
        assert again.returncode == 1 and "revoked" in again.stderr, again


@contextmanager
def relay(address, connections):
    """The address of somebody who passes on what is said to `address` and back, and lists the connections."""
    to = ("127.0.0.1", int(address.rpartition(":")[2]))

    def pass_on(source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def take_up(listener):
        with suppress(OSError):
            while True:
                near, far = listener.accept()[0], socket.create_connection(to)
                connections.append(near)
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=pass_on, args=ends, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=take_up, args=(listener,), daemon=True).start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_a_command_from_elsewhere_takes_one_connection_however_often_it_asks_the_same():
    with elsewhere() as lab:
        lab.new("operator", "ben")
        await_that(lab.all_have_noted)
        connections = []
        with relay(lab.address, connections) as address:
            assert lab.told("ben", "--endpoint", address, "status")["pipelines"] == []
            assert len(connections) == 1, connections
            assert lab.by("ben", "--endpoint", address, "submit", str(lab.pipeline)).returncode == 0
            connections.clear()
            watcher = lab.begin("ben", "--endpoint", address, "watch", "red", "--json")
            assert '"event"' in watcher.stdout.readline()
            lab.weir("pause", "red", "--wait")
            assert any('"pipeline_paused"' in line for line in watcher.stdout)
            watcher.terminate()
            watcher.communicate(timeout=DEADLINE_S)
            assert len(connections) == 1, connections


def test_a_key_that_is_rotated_has_another_pair_and_the_old_one_ends():
    with elsewhere() as lab:
        lab.new("viewer", "ben")
        old = lab.pass_of("ben").rename(lab.folder / "old.key")
        lab.weir("keys", "rotate", "ben", "-o", lab.pass_of("ben"))
        assert lab.told("ben", "status")["pipelines"] == []
        assert "revoked" in lab.refused(old.stem, "status")
        printed = lab.weir("keys", "rotate", "ben", "-o", "-")
        assert SECRET.search(printed) and "revoked" in lab.refused("ben", "status")


def test_erasing_is_for_privacy_keys_and_those_are_made_on_the_host():
    with elsewhere() as lab:
        for role in ("operator", "submitter", "viewer", "privacy", "worker", "trainer"):
            lab.new(role, role)
        for role in ("operator", "submitter", "viewer"):
            assert f"key '{role}' is of role {role}" in lab.refused(role, "erase", "request", "--subject", "x", "--allow-none")
        for role in ("worker", "trainer"):
            assert f"is not for a {role} to send" in lab.refused(role, "status")
        assert "on the platform's own host" in lab.refused("operator", "keys", "new", "privacy", "evil", "-o",
                                                           lab.folder / "evil.key")
        assert not (lab.folder / "evil.key").exists()
        erased = lab.told("privacy", "erase", "request", "--subject", "someone@example.org", "--allow-none")
        log = json.dumps(lab.audit())
        assert erased["erasure"] == 1 and '"erasure": 1' in log and "someone" not in log


def test_a_tenant_sees_and_orders_its_own_pipelines_alone():
    with elsewhere() as lab:
        lab.new("submitter", "rosa", "--tenant", "red")
        lab.new("viewer", "rob", "--tenant", "red")
        lab.new("submitter", "ben", "--tenant", "blue")
        lab.new("operator", "olga")
        assert lab.told("rosa", "submit", lab.pipeline)["tenant"] == "red"
        for name, seen in (("rosa", ["red"]), ("rob", ["red"]), ("olga", ["red"]), ("ben", [])):
            assert [one["pipeline"] for one in lab.told(name, "list")["pipelines"]] == seen, name
            assert [one["pipeline"] for one in lab.told(name, "status")["pipelines"]] == seen, name
        await_that(lambda: lab.told("rosa", "datasets")["datasets"])
        assert lab.told("ben", "datasets")["datasets"] == []
        for words in (("pause", "red"), ("report", "--pipeline", "red"), ("stop", "red"), ("remove", "red")):
            assert "there is none" in lab.refused("ben", *words), words
        assert "give it another name" in lab.refused("ben", "submit", lab.pipeline)
        other = lab.folder / "other.yaml"
        other.write_text(lab.pipeline.read_text().replace("name: red", "name: blue"))
        assert "dataset notes is not tenant blue's" in lab.refused("ben", "submit", other)
        assert "about the whole platform" in lab.refused("rosa", "cache")
        assert lab.told("rosa", "pause", "red")["pipeline"] == "red"


def test_a_tenant_compares_with_pipelines_of_its_own():
    with elsewhere() as lab:
        lab.new("submitter", "rosa", "--tenant", "red")
        lab.new("submitter", "ben", "--tenant", "blue")
        grid = lab.folder / "grid.yaml"
        grid.write_text(GRID)
        (lab.folder / "base.yaml").write_text(lab.pipeline.read_text().replace("mode: live", "mode: replay"))
        answer = lab.told("rosa", "compare", grid)
        assert answer["state"] == "done" and answer["progress"]["done"] == 2, answer["progress"]
        pipelines = sorted(cell["pipeline"] for cell in answer["cells"])
        for name, seen in (("rosa", pipelines), ("ben", [])):
            assert sorted(one["pipeline"] for one in lab.told(name, "list")["pipelines"]) == seen, name
        assert [one["comparison"] for one in lab.told("rosa", "comparisons")["comparisons"]] == ["mine"]
        assert lab.told("ben", "comparisons")["comparisons"] == []
        for words in (("comparison", "mine"), ("comparison", "remove", "mine")):
            assert "there is none" in lab.refused("ben", *words), words


def test_a_tenant_pushes_to_its_own_datasets_alone():
    with elsewhere() as lab:
        lab.new("submitter", "rosa", "--tenant", "red")
        lab.new("submitter", "ben", "--tenant", "blue")
        rows, pipeline = lab.folder / "rows.csv", lab.folder / "rows.yaml"
        rows.write_text("ts,y,note\n2002-01-01T00:00:00Z,1,first\n2002-01-02T00:00:00Z,0,second\n")
        pipeline.write_text(PUSHED)
        lab.told("rosa", "submit", pipeline)
        await_that(lambda: lab.told("rosa", "datasets")["datasets"])
        assert lab.told("rosa", "push", "rows", rows)["samples"] == 2
        assert "there is none" in lab.refused("ben", "push", "rows", rows)


def test_a_log_that_was_rewritten_is_found_out():
    with elsewhere() as lab:
        for name in ("ben", "rosa", "olga"):
            lab.new("viewer", name)
        assert "is of role viewer" in lab.refused("ben", "cache", "drop")
        whole = lab.verified(0)
        assert whole["records"] == whole["newest"] == len(lab.audit()) == 7
        assert [record["outcome"] for record in lab.audit() if record.get("who") == "ben"] == ["refused"]
        query(lab, "CREATE TABLE orchestrator.kept AS SELECT * FROM orchestrator.audit")
        for forgery, found in (
                ("UPDATE orchestrator.audit SET record = replace(record, '\"ben\"', '\"eve\"') WHERE number = 1", {1}),
                ("DELETE FROM orchestrator.audit WHERE number = 4", {5}),
                ("UPDATE orchestrator.audit SET record = (SELECT record FROM orchestrator.kept WHERE number = 2) "
                 "WHERE number = 4", {4, 5}),
                ("DELETE FROM orchestrator.audit WHERE number = 7", {7})):
            query(lab, forgery)
            wrong = lab.verified(1)
            assert {one["record"] for one in wrong["wrong"]} == found, (forgery, wrong)
            query(lab, "TRUNCATE orchestrator.audit; INSERT INTO orchestrator.audit SELECT * FROM orchestrator.kept")
        assert lab.verified(0)["hash"] == whole["hash"]
        query(lab, "DROP TABLE orchestrator.kept")


def test_what_is_submitted_while_the_platform_is_killed_is_there_once():
    lab = Elsewhere()
    rows = lab.folder / "rows.yaml"
    rows.write_text(PUSHED)
    server = lab.serve()
    lab.new("operator", "rosa")
    server.kill()
    server.wait()
    with faulty("orchestrator.commit=!2"):  # the first is of the audit log
        dying = lab.serve()
    submitting = lab.begin("rosa", "submit", rows)
    dying.communicate(timeout=DEADLINE_S)
    assert dying.returncode < 0
    server = lab.serve()
    _, complaint = submitting.communicate(timeout=DEADLINE_S)
    assert submitting.returncode == 0, complaint
    assert [p["pipeline"] for p in lab.told("rosa", "status")["pipelines"]] == ["rows"]
    lab.end(server)


def test_what_is_pushed_while_the_platform_is_killed_is_there_once():
    def live():
        return sum(d["live"] for d in lab.told("rosa", "datasets")["datasets"] if d["dataset"] == "rows")

    lab, half = Elsewhere(), 20000
    (lab.folder / "rows.yaml").write_text(PUSHED)
    server = lab.serve()
    lab.new("operator", "rosa")
    lab.told("rosa", "submit", lab.folder / "rows.yaml")
    await_that(lambda: any(d["dataset"] == "rows" for d in lab.told("rosa", "datasets")["datasets"]))
    lines = [f"{1009843200 + i},{i % 2},note\n" for i in range(2 * half)]
    pushing = lab.begin("rosa", "push", "rows", "--json", stdin=subprocess.PIPE)
    pushing.stdin.write("ts,y,note\n" + "".join(lines[:half]))
    pushing.stdin.flush()
    await_that(lambda: live() > 0)
    server.kill()
    server.wait()
    server = lab.serve()
    told, complaint = pushing.communicate("".join(lines[half:]), timeout=DEADLINE_S)
    assert pushing.returncode == 0, complaint
    assert json.loads(told)["samples"] == live() == 2 * half, (told, live())
    lab.end(server)


def test_a_platform_that_is_killed_at_a_change_of_keys_has_made_it_or_has_not():
    for point in ("keys.change", "keys.changed"):
        lab = Elsewhere()
        with faulty(f"{point}=!1"):
            dying = lab.serve()
        made = lab.ask("keys", "new", "viewer", "ben", "-o", lab.pass_of("ben"))
        dying.communicate(timeout=DEADLINE_S)
        assert dying.returncode < 0 and made.returncode != 0, made
        server = lab.serve()
        try:
            listed = [key["name"] for key in json.loads(lab.weir("keys", "list", "--json"))["keys"]]
            assert listed == (["ben"] if point == "keys.changed" else []), point
            assert lab.verified(0)["records"] == 1
            if lab.pass_of("ben").exists():
                works = lab.by("ben", "status")
                assert (works.returncode == 0) == bool(listed), works
        finally:
            server.terminate()
            server.communicate(timeout=DEADLINE_S)
            lab.remove()


if __name__ == "__main__":
    run_tests(globals())
