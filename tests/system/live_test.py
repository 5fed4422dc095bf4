"""The live page over HTTP: what the topics say comes as events while it happens, and nothing that people wrote; whoever looks
slowly, from another site or in a crowd does no harm. In a browser, it is drawn, and again after the platform was killed (`browser`)."""

import contextlib
import gzip
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys

from browser import Browser
from weirlab import DEADLINE_S, Lab, await_that, binaries, child, free_ports, peak_bytes, query, run_tests

VIEWERS_MAX = 32  # LIVE_VIEWERS_MAX
TRIGGERS_MAX = 60  # LIVE_TRIGGERS_MAX
LINES_MAX = 200  # LIVE_LINES_MAX
MANY = 10_000  # events
WORDS = "as Jane asked in her letter"


class Served:
    """A platform with a page."""

    def __init__(self, lab, *options):
        with open(lab.folder / "serve.log", "a", encoding="utf-8") as log:
            self.server = child.start([binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir, *(options or ["--page", "127.0.0.1:0"])],
                                      stdout=subprocess.PIPE, stderr=log, text=True)
        self.address = re.fullmatch(r"page at https?://(127\.0\.0\.1:\d+)/\n", self.server.stdout.readline())[1]
        assert "serving" in self.server.stdout.readline()

    def end(self):
        self.server.terminate()
        self.server.communicate(timeout=DEADLINE_S)
        assert self.server.returncode == 0, self.server.returncode


@contextlib.contextmanager
def platform(lab, *options):
    served = Served(lab, *options)
    try:
        yield served
        assert served.server.poll() is None
    finally:
        served.end()


def ask(address, path="/", method="GET", trust=None, **headers):
    """`trust`: the certificate that the page must have."""
    if trust is None:
        connection = http.client.HTTPConnection(address, timeout=DEADLINE_S)
    else:
        connection = http.client.HTTPSConnection(address, timeout=DEADLINE_S, context=ssl.create_default_context(cafile=trust))
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return connection.getresponse()


class Viewer:
    """Somebody who looks: the newest part of each kind, and all lines of events."""

    def __init__(self, address, path="/events", **options):
        self.stream = ask(address, path, **options)
        assert self.stream.status == 200 and self.stream.headers["Content-Type"] == "text/event-stream", self.stream.headers
        self.parts, self.sizes, self.text, self.lines = {}, {}, "", []

    def read(self):
        """Takes the next event."""
        event = {}
        while line := self.stream.readline().decode():
            self.text += line
            if line == "\n" and event.get("data"):
                data = json.loads(event["data"])
                if event["event"] == "line":
                    assert data["number"] == int(event["id"]), event
                    self.lines.append(data)
                    return
                key = (event["event"], data["pipeline"]) if "pipeline" in data else event["event"]
                self.parts[key], self.sizes[key] = data, len(event["data"])
                return
            name, _, value = line.rstrip("\n").partition(": ")
            event[name] = value
        raise AssertionError("the stream has ended")

    def until(self, what):
        while not (found := what(self.parts)):
            self.read()
        return found

    def close(self):
        self.stream.close()


def state_of(parts, name):
    rows = parts.get("status", {}).get("pipelines", [])
    return next((row["state"] for row in rows if row["pipeline"] == name), None)


# ---- what is shown ----

def test_a_pipeline_is_shown_while_it_works(lab, served):
    viewer = Viewer(served.address)
    assert viewer.until(lambda parts: parts.get("status"))["pipelines"] == []
    lab.weir("submit", str(lab.pipeline))
    first = viewer.until(lambda parts: parts.get(("report", "lab"), {}).get("triggers"))
    assert first[0]["trigger"] == 1 and first[0]["reason"] == "100 new samples", first
    viewer.until(lambda parts: state_of(parts, "lab") == "FINISHED")
    report = json.loads(lab.weir("report", "lab", "--json"))
    shown = viewer.until(lambda parts: [t for t in parts[("report", "lab")]["triggers"] if t["state"] == "done"] ==
                         parts[("report", "lab")]["triggers"] and len(parts[("report", "lab")]["triggers"]) == 3 and
                         parts[("report", "lab")]["triggers"][-1].get("evaluations") is not None and
                         parts[("report", "lab")])
    for row, whole in zip(shown["triggers"], report["triggers"], strict=True):
        for name in ("trigger", "state", "reason", "samples_new", "until", "selected", "model"):
            assert row[name] == whole[name], (name, row, whole)
    models = viewer.until(lambda parts: len(parts.get(("models", "lab"), {}).get("models", [])) == 3 and parts[("models", "lab")])
    assert [m["parent"] for m in models["models"]] == [t["parent"] for t in report["triggers"]], models
    plan = viewer.until(lambda parts: parts.get(("plan", "lab")))
    assert "json_text" in [o["operator"] for o in plan["operators"]], plan
    viewer.until(lambda parts: len(parts["workers"]["workers"]) == 2 and parts["workers"]["pool"]["target"] == 2)
    viewer.close()


def test_an_erasure_is_shown_with_its_due_date_and_without_words(lab, served):
    viewer = Viewer(served.address)
    lab.weir("erase", "request", "--subject", lab.records[0]["user"], "--reference", WORDS)
    shown = viewer.until(lambda parts: [e for e in parts.get("erasures", {}).get("erasures", []) if e["finished"]])
    assert len(shown) == 1 and shown[0]["state"] == "FINISHED" and "due" in shown[0] and not shown[0]["overdue"], shown
    told = json.loads(lab.weir("erase", "list", "--json"))["erasures"][0]
    assert told["reference"] == WORDS and {key: told[key] for key in shown[0]} == shown[0], (told, shown)
    assert WORDS not in viewer.text and lab.records[0]["user"] not in viewer.text
    viewer.close()


# ---- the log of events ----

def said(viewer):
    return [line["line"] for line in viewer.lines]


def numbers(viewer):
    return [line["number"] for line in viewer.lines]


def await_lines(viewer, count):
    viewer.until(lambda parts: len(viewer.lines) >= count)


def test_each_event_comes_once_and_who_comes_back_goes_on_where_it_was(lab, served):
    viewer = Viewer(served.address)
    viewer.until(lambda parts: parts.get("erasures"))
    lab.weir("erase", "request", "--subject", lab.records[2]["user"], "--reference", WORDS)
    viewer.until(lambda parts: any(line.startswith("erasure 2: receipt") for line in said(viewer)))
    assert numbers(viewer) == sorted(set(numbers(viewer))), numbers(viewer)
    assert any(line.startswith("trigger 1 at 2002-") for line in said(viewer)) and WORDS not in viewer.text, said(viewer)
    assert {line["of"] for line in viewer.lines} == {None, "lab"}
    middle = viewer.lines[len(viewer.lines) // 2]["number"]
    rest = [number for number in numbers(viewer) if number > middle]
    for path, headers in (("/events", {"Last_Event_ID": str(middle)}), (f"/events?after={middle}", {}),
                          ("/events?after=1", {"Last_Event_ID": str(middle)})):
        again = Viewer(served.address, path, **headers)
        await_lines(again, len(rest))
        assert numbers(again) == rest, (path, numbers(again), rest)
        again.close()
    for nonsense in ("x", "-1", str(10**30), str(viewer.lines[-1]["number"] + 1)):  # of no event of this platform
        again = Viewer(served.address, Last_Event_ID=nonsense)
        await_lines(again, len(viewer.lines))
        assert numbers(again) == numbers(viewer), nonsense
        again.close()
    viewer.close()


# ---- what goes, and what there is much of ----

def test_a_removed_pipeline_goes(lab, served):
    viewer = Viewer(served.address)
    viewer.until(lambda parts: state_of(parts, "lab"))
    lab.weir("remove", "lab")
    viewer.until(lambda parts: "status" in parts and state_of(parts, "lab") is None)
    viewer.close()


def test_ten_thousand_triggers_make_it_no_larger(lab, served):
    """Of a pipeline with a long history, the newest triggers and checks come."""
    lab.weir("submit", str(lab.folder / "long.yaml"))
    viewer = Viewer(served.address)
    viewer.until(lambda parts: state_of(parts, "long") == "FINISHED")
    made = """INSERT INTO orchestrator.trigger (pipeline, number, state, reason, samples_new, until_time, until_id, positions, fired_us, stored_us)
        SELECT p.id, n, 'done', 'trigger ' || n, 1, 0, 0, '', n, n + 1 FROM orchestrator.pipeline p, generate_series(101, 10000) n WHERE p.name = 'long';
        INSERT INTO orchestrator.event (pipeline, erasure, key, at_us, json)
        SELECT p.id, 0, 'made/' || n, 0, '{"event":"trigger_skipped"}' FROM orchestrator.pipeline p, generate_series(101, 10000) n WHERE p.name = 'long';"""
    query(lab, made)
    lab.weir("erase", "request", "--subject", lab.records[1]["user"])  # something happens to all of them
    shown = viewer.until(lambda parts: len(parts.get(("report", "long"), {}).get("triggers", [])) == TRIGGERS_MAX and
                         parts[("report", "long")])["triggers"]
    assert [t["trigger"] for t in shown] == list(range(10001 - TRIGGERS_MAX, 10001)), [t["trigger"] for t in shown]
    viewer.until(lambda parts: parts.get(("models", "long")) and parts.get("erasures"))
    assert sum(viewer.sizes.values()) < 100_000, viewer.sizes
    viewer.close()


def erase_many(lab, count):
    """Erasures, each with three events at least. Returns how many events there are now."""
    names = lab.folder / "many.csv"
    names.write_text("subject\n" + "".join(f"nobody{n}\n" for n in range(count)))
    lab.weir("erase", "request", "--csv", str(names), "--each", "--allow-none")
    await_that(lambda: not query(lab, "SELECT 1 FROM orchestrator.erasure WHERE state <> 'FINISHED' LIMIT 1"), pause_s=1)
    return int(query(lab, "SELECT count(*) FROM orchestrator.event")[0])


def test_a_thousand_events_come_as_the_newest_lines(lab, served):
    """Whoever looks gets those that are kept when they are sent; whoever comes then, two hundred, however many there were."""
    viewer = Viewer(served.address)
    assert erase_many(lab, 400) >= 1200
    newest = int(query(lab, "SELECT max(number) FROM orchestrator.event")[0])
    viewer.until(lambda parts: viewer.lines and numbers(viewer)[-1] == newest)
    assert numbers(viewer) == sorted(set(numbers(viewer)))
    late = Viewer(served.address)
    await_lines(late, LINES_MAX)
    late.until(lambda parts: parts.get("erasures"))
    assert numbers(late) == list(range(newest - LINES_MAX + 1, newest + 1)), numbers(late)
    viewer.close()
    late.close()


# ---- the page ----

def test_the_page_is_small_and_says_what_it_may_do(lab, served):
    packed, plain = ask(served.address, Accept_Encoding="br, gzip;q=0.9"), ask(served.address, Accept_Encoding="gzip;q=0, br")
    assert packed.headers["Content-Encoding"] == "gzip" and plain.headers["Content-Encoding"] is None
    body, text = packed.read(), plain.read()
    assert len(body) <= 50_000 and gzip.decompress(body) == text, len(body)
    for answer in (packed, plain):
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], answer.headers
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Access-Control-Allow-Origin"] is None
    assert b"default-src 'none'" in text and b"connect-src 'self'" in text and b"unsafe" not in text
    assert ask(served.address, method="HEAD").read() == b""


def test_others_are_refused_in_words(lab, served):
    port = served.address.split(":")[1]
    for name in ("localhost", "127.0.0.1", "127.9.9.9", "[::1]"):
        assert ask(served.address, Host=f"{name}:{port}").status == 200, name
    for name in ("evil.example", "127.0.0.1.evil.example", "[::2]", "localhost.", ""):
        answer = ask(served.address, Host=name)
        assert answer.status == 403 and b"127.0.0.1" in answer.read(), name
    for site in ("cross-site", "same-site"):
        answer = ask(served.address, "/events", Sec_Fetch_Site=site)
        assert answer.status == 403 and answer.read(), site
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
        done = child.run([binaries() / "orchestrator", "serve", "--data-dir", lab.folder / "other", "--page", address],
                         capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 2 and "page.certificate" in done.stderr and not (lab.folder / "other").exists(), done
    for method, path, status in (("POST", "/", 405), ("PUT", "/events", 405), ("OPTIONS", "/", 405), ("GET", "/x", 404),
                                 ("GET", "/../etc/passwd", 404), ("GET", "/events/", 404)):
        answer = ask(served.address, path, method)
        assert answer.status == status and answer.read(), (method, path, answer.status)


# ---- clients ----

def test_who_does_not_read_costs_little(lab, served):
    """Viewers with tiny buffers who read nothing, while another sees all that happens."""
    peak = peak_bytes(served.server.pid)
    idle = []
    for _ in range(20):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.connect(("127.0.0.1", int(served.address.split(":")[1])))
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        idle.append(client)
    viewer = Viewer(served.address)
    lab.weir("submit", str(lab.folder / "again.yaml"))
    viewer.until(lambda parts: state_of(parts, "again") == "FINISHED")
    viewer.close()
    assert peak_bytes(served.server.pid) - peak < 32 << 20
    for client in idle:
        client.close()


def test_no_more_look_than_may_and_others_hear_why(lab, served):
    viewers = []
    while (answer := ask(served.address, "/events")).status == 200:
        viewers.append(answer)
        assert len(viewers) <= VIEWERS_MAX
    assert b"close one" in answer.read()
    assert ask(served.address).status == 200
    for viewer in viewers:
        assert viewer.readline().startswith(b"retry:")
        viewer.close()
    await_that(lambda: ask(served.address, "/events").status == 200)


def write_pipelines(lab):
    text = lab.pipeline.read_text()
    for name in ("long", "again"):
        (lab.folder / f"{name}.yaml").write_text(text.replace("name: lab,", f"name: {name},"))


# ---- for those elsewhere ----

def hand_over(lab, *files):
    """Started as root, the platform runs as another user."""
    for file in files:
        os.chown(file, lab.data_dir.stat().st_uid, -1)


def make_certificate(lab):
    """A system file whose page is encrypted, and the certificate."""
    certificate, key, system = (lab.folder / name for name in ("page.pem", "page.key", "page.yaml"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=weir", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    system.write_text(f'page: {{listen: "127.0.0.1:0", certificate: {certificate}, key: {key}}}\n')
    return system, certificate, key


def make_other_key(lab):
    file = lab.folder / "other.key"
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", file],
                   check=True, capture_output=True)
    return file.read_bytes()


def assert_a_key_that_others_read_is_refused(lab, system, key):
    key.chmod(0o640)
    done = child.run([binaries() / "orchestrator", "serve", "--data-dir", lab.folder / "other", "--system", system],
                     capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 1 and "others may read the key" in done.stderr, done
    key.chmod(0o600)


def secure_test_only_who_has_a_token_looks(lab, served, trust):
    """Over HTTPS, by a header or a cookie; whoever is let in no longer sees nothing more."""
    told = json.loads(lab.weir("tokens", "new", "wall", "--json"))
    token = told["token"]
    assert told["page"] == f"https://{served.address}/" and re.fullmatch("[0-9a-f]{64}", token), told
    again = lab.ask("tokens", "new", "wall")
    assert again.returncode != 0 and "is let in already" in again.stderr, again
    for headers in ({}, {"Authorization": "Bearer " + "0" * 64}, {"Authorization": token}, {"Cookie": f"weir={token}"}):
        for path in ("/events", "/login"):
            answer = ask(served.address, path, trust=trust, **headers)
            assert answer.status == 401 and b"weir tokens new" in answer.read() and answer.headers["Set-Cookie"] is None, headers
    welcome = ask(served.address, "/login", trust=trust, Authorization=f"Bearer {token}")
    cookie = welcome.headers["Set-Cookie"]
    assert welcome.status == 200 and all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=Strict")), cookie
    viewers = [Viewer(served.address, trust=trust, Authorization=f"Bearer {token}"),
               Viewer(served.address, trust=trust, Cookie=cookie.split(";")[0])]
    for viewer in viewers:
        viewer.until(lambda parts: parts.get("status"))
    assert [t["name"] for t in json.loads(lab.weir("tokens", "list", "--json"))["tokens"]] == ["wall"]
    lab.weir("tokens", "revoke", "wall")
    for viewer in viewers:
        while viewer.stream.readline():
            pass  # until it ends
    assert ask(served.address, "/events", trust=trust, Authorization=f"Bearer {token}").status == 401
    kept = "".join(query(lab, "SELECT * FROM orchestrator.page_token; SELECT * FROM orchestrator.audit"))
    assert "wall" in kept and token not in kept


def submit_as(lab, tenant):
    """A pipeline of a tenant, with a dataset of its own."""
    key, file = lab.folder / f"{tenant}.key", lab.folder / f"{tenant}.yaml"
    file.write_text(lab.pipeline.read_text().replace("name: lab,", f"name: {tenant}-mails,").replace("name: notes", f"name: {tenant}-notes"))
    lab.weir("keys", "new", "submitter", f"{tenant}-person", "--tenant", tenant, "-o", str(key))
    done = child.run([binaries() / "weir", "--key", key, "submit", file], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done


def token_of(lab, name, *options):
    return {"Authorization": "Bearer " + json.loads(lab.weir("tokens", "new", name, *options, "--json"))["token"]}


def secure_test_a_tenant_sees_its_own_and_nothing_of_others(lab, served, trust):
    tenants = ("crimson", "azure")
    looks = {tenant: token_of(lab, f"{tenant}-wall", "--tenant", tenant) for tenant in tenants} | {"": token_of(lab, "wall")}
    for words in (("crimson-wall", "--tenant", "azure"), ("other", "--tenant", "no/tenant")):
        assert lab.ask("tokens", "new", *words).returncode != 0, words
    listed = json.loads(lab.weir("tokens", "list", "--json"))["tokens"]
    assert {t["name"]: t["tenant"] for t in listed} == {"crimson-wall": "crimson", "azure-wall": "azure", "wall": ""}, listed
    assert re.search(r"crimson-wall +crimson +20", lab.weir("tokens", "list"))
    viewers = {tenant: Viewer(served.address, trust=trust, **headers) for tenant, headers in looks.items()}
    for tenant in tenants:
        submit_as(lab, tenant)
        lab.weir("watch", f"{tenant}-mails")
        lab.weir("erase", "request", "--subject", lab.records[0]["user"], "--dataset", f"{tenant}-notes", "--wait")
    lab.weir("erase", "request", "--subject", lab.records[1]["user"], "--wait")  # of all datasets
    for seen, viewer in viewers.items():
        own = [tenant for tenant in tenants if seen in ("", tenant)]
        for tenant in own:
            name = f"{tenant}-mails"
            viewer.until(lambda parts, name=name: parts.get(("models", name), {}).get("models") and parts.get(("plan", name)) and
                         parts.get(("report", name), {}).get("triggers"))
            viewer.until(lambda parts, name=name, viewer=viewer: any(line["line"].startswith(f"pipeline {name} finished") for line in viewer.lines))
        viewer.until(lambda parts, own=own: [e for e in parts["erasures"]["erasures"] if e["dataset"] == f"{own[-1]}-notes" and e["finished"]])
        names = {row["pipeline"] for row in viewer.parts["status"]["pipelines"]}
        assert names == {f"{tenant}-mails" for tenant in own} or (seen == "" and names >= {"azure-mails", "crimson-mails"}), names
        assert all(word not in viewer.text for word in set(tenants) - set(own)), seen
    viewers[""].until(lambda parts: parts["erasures"]["erasures"][-1]["dataset"] == "")
    for tenant in tenants:
        parts = viewers[tenant].parts
        assert [e["dataset"] for e in parts["erasures"]["erasures"]] == [f"{tenant}-notes"] and parts["erasures"]["left_out"] == 0, parts
        assert parts["workers"]["workers"] == [] and not parts["workers"]["pool"] and "trainers" not in parts["status"], parts
        assert all(line["of"] == f"{tenant}-mails" for line in viewers[tenant].lines), viewers[tenant].lines
    for viewer in viewers.values():
        viewer.close()


def may_come(served, trust):
    try:
        return ask(served.address, trust=trust).status == 200
    except ssl.SSLError:
        return False


def log_of(lab):
    return (lab.folder / "serve.log").read_text()


def secure_test_a_renewed_certificate_is_taken_up_and_streams_go_on(lab, served, trust):
    """One that cannot be used is not, and the log says so."""
    viewer = Viewer(served.address, trust=trust, **token_of(lab, "steady"))
    old = lab.folder / "old.pem"
    for renewal in range(5):
        old.write_bytes(trust.read_bytes())
        _, _, key = make_certificate(lab)
        hand_over(lab, trust, key)
        await_that(lambda: may_come(served, trust))
        assert not may_come(served, old), renewal
    viewer.parts.clear()
    viewer.until(lambda parts: "beat" in parts)  # it is the stream that began under the first one
    good, kept = trust.read_bytes(), key.read_bytes()
    for certificate, private, words in ((b"no certificate", kept, "expected a certificate and its key"),
                                        (good, make_other_key(lab), "expected a certificate and its key"),
                                        (None, kept, "page.pem")):
        count = log_of(lab).count("the page keeps its certificate")
        key.write_bytes(private)
        trust.unlink()
        if certificate is not None:
            trust.write_bytes(certificate)
            hand_over(lab, trust)
        await_that(lambda count=count: log_of(lab).count("the page keeps its certificate") == count + 1, lambda: log_of(lab)[-2000:])
        newest = [line for line in log_of(lab).splitlines() if "the page keeps its certificate" in line][-1]
        assert words in newest, newest
        old.write_bytes(good)
        assert may_come(served, old), words
    make_certificate(lab)
    hand_over(lab, trust, key)
    await_that(lambda: may_come(served, trust))
    assert not may_come(served, old)
    viewer.close()


def secure_test_nothing_is_said_in_the_clear(lab, served, trust):
    with socket.create_connection(("127.0.0.1", int(served.address.split(":")[1])), timeout=DEADLINE_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP/1" not in client.recv(1000)


def serve_elsewhere(lab):
    system, certificate, key = make_certificate(lab)
    assert_a_key_that_others_read_is_refused(lab, system, key)
    with platform(lab, "--system", system, "--listen", f"tcp://127.0.0.1:{free_ports()}") as served:
        run_tests(globals(), lab, served, certificate, prefix="secure_test_")


# ---- in a browser ----

def marks(browser, view):
    return sorted(browser.ask(f"[...document.querySelectorAll('[data-view={view}] [data-value]')].map(m => +m.dataset.value)"))


def text_of(browser):
    return browser.ask("document.body?.innerText ?? ''")


def assert_it_fits(browser):
    for width in (360, 900, 1600):
        browser.resize(width)
        await_that(lambda: browser.ask("document.documentElement.scrollWidth <= innerWidth"),
                   lambda: browser.ask("`${document.documentElement.scrollWidth} of ${innerWidth}`"))


def assert_it_is_drawn_and_stays_as_it_was_left(lab, browser):
    """What the topics say, drawn; what somebody has opened stays open when all of it is drawn again."""
    whole = lab.pipeline.read_text()
    lab.pipeline.write_text(re.sub("(?m)^evaluation:.*$", "", whole))
    lab.weir("submit", str(lab.pipeline))
    lab.weir("watch", "lab")
    await_that(lambda: marks(browser, "costs"), lambda: text_of(browser))
    assert not marks(browser, "matrix")
    browser.ask("document.querySelector('[data-view=costs] summary').click()")
    lab.pipeline.write_text(whole)
    lab.weir("apply", str(lab.pipeline))
    lab.weir("evaluate", "lab")  # whose figures come before that of the costs
    triggers = json.loads(lab.weir("report", "lab", "--json"))["triggers"]
    wanted = sorted(e["value"] for t in triggers for e in t["evaluations"] if e["metric"] == "accuracy" and e["value"] != "undefined")
    await_that(lambda: marks(browser, "matrix") == wanted, lambda: (marks(browser, "matrix"), wanted))
    await_that(lambda: len(triggers) == browser.ask("document.querySelectorAll('[data-view=costs] details[open] tbody tr').length"),
               lambda: text_of(browser))
    assert all(t["reason"] in text_of(browser) for t in triggers)


def assert_an_erasure_is_due(lab, browser):
    lab.weir("erase", "request", "--subject", lab.records[0]["user"], "--reference", WORDS)
    await_that(lambda: "the receipt is written" in text_of(browser), lambda: text_of(browser))
    due = json.loads(lab.weir("erase", "list", "--json"))["erasures"][0]["due"]
    assert due[:10] in text_of(browser) and WORDS not in text_of(browser), text_of(browser)


LOGGED = "[...document.querySelectorAll('.log li')].map(line => +line.dataset.number)"


def assert_the_log_keeps_up(lab, browser):
    """Ten thousand events: the newest lines are there, each once, and the page is no heavier."""
    assert erase_many(lab, MANY // 3) >= MANY
    newest = int(query(lab, "SELECT max(number) FROM orchestrator.event")[0])
    await_that(lambda: browser.ask(LOGGED)[0] == newest, lambda: browser.ask(LOGGED)[:5])
    shown = browser.ask(LOGGED)
    assert len(shown) == LINES_MAX and shown == sorted(set(shown), reverse=True), shown
    assert re.search(r"erasure \d+: receipt", browser.ask("document.querySelector('.log li').textContent"))
    browser.order("Performance.enable")
    measured = {m["name"]: m["value"] for m in browser.order("Performance.getMetrics")["metrics"]}
    assert measured["Nodes"] < 50_000 and measured["JSHeapUsedSize"] < 64 << 20, measured


def assert_the_log_goes_on(lab, browser):
    """After the platform was killed: new lines above those that were there."""
    before = browser.ask(LOGGED)
    await_that(lambda: browser.ask(LOGGED)[0] > before[0], lambda: (browser.ask(LOGGED)[:3], before[:3]))
    after = browser.ask(LOGGED)
    assert len(after) == LINES_MAX and after == sorted(set(after), reverse=True) and before[0] in after, (before[:3], after[:9])


def assert_a_token_opens_it(lab):
    system, _, _ = make_certificate(lab)
    browser, served = Browser("--ignore-certificate-errors"), Served(lab, "--system", system)
    try:
        browser.open(f"https://{served.address}/")
        await_that(lambda: browser.ask("document.activeElement?.id") == "token", lambda: text_of(browser))
        for token, words in (("0" * 64, "This token is not let in"), (json.loads(lab.weir("tokens", "new", "me", "--json"))["token"], "Pipelines")):
            browser.ask(f"document.getElementById('token').value = '{token}'; document.querySelector('#entrance button').click()")
            await_that(lambda words=words: words in text_of(browser), lambda: text_of(browser))
        assert browser.ask("document.cookie") == "" and token not in browser.ask("document.documentElement.outerHTML")
        lab.weir("tokens", "revoke", "me")
        await_that(lambda: browser.ask("document.activeElement?.id") == "token" and "Pipelines" not in text_of(browser),
                   lambda: text_of(browser))
    finally:
        browser.close()
        served.end()


def browse(lab):
    browser, served = Browser(), Served(lab)
    try:
        browser.open(f"http://{served.address}/")
        await_that(lambda: "no pipeline yet" in text_of(browser), lambda: text_of(browser))
        assert_it_is_drawn_and_stays_as_it_was_left(lab, browser)
        assert_an_erasure_is_due(lab, browser)
        assert_the_log_keeps_up(lab, browser)
        assert_it_fits(browser)
        served.server.kill()
        served.server.communicate(timeout=DEADLINE_S)
        await_that(lambda: "No connection to the platform since" in text_of(browser), lambda: text_of(browser))
        served = Served(lab, "--page", served.address)
        lab.weir("remove", "lab")
        assert_the_log_goes_on(lab, browser)
        await_that(lambda: "Connected." in text_of(browser) and "no pipeline yet" in text_of(browser), lambda: text_of(browser))
    finally:
        browser.close()
        served.end()
    assert_a_token_opens_it(lab)


def main():
    lab = Lab(samples=300, every=100, epochs=1)
    write_pipelines(lab)
    try:
        if sys.argv[1:] == ["browser"]:
            browse(lab)
            return
        with platform(lab) as served:
            run_tests(globals(), lab, served, wanted=sys.argv[1:])
        serve_elsewhere(lab)
    finally:
        lab.remove()


if __name__ == "__main__":
    main()
