"""/metrics of a real platform: the text is what Prometheus reads, the figures are those that `weir` tells, counters never go
back whoever dies, and no client does any harm, however it behaves. Addresses that others could reach are refused."""

import contextlib
import datetime
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request

from weirlab import DEADLINE_S, Lab, Run, await_that, binaries, child, kill, peak_bytes, stop, stopped, victims

CLIENTS_MAX = 64  # HTTP_CLIENTS_MAX
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")


def labels_of(text):
    """The labels between braces, which are nothing but labels."""
    found = list(LABEL.finditer(text))
    assert "".join(one[0] for one in found) == text and not text.endswith(","), text
    names = [one[1] for one in found]
    assert len(set(names)) == len(names), text
    return frozenset((one[1], re.sub(r"\\(.)", lambda c: {"n": "\n"}.get(c[1], c[1]), one[2])) for one in found)


def parse(text):
    """{(name, labels): value} of a page in the text format 0.0.4, and {name: type}; as strict as its definition allows."""
    assert text.endswith("\n"), text[-100:]
    helps, types, values, last = {}, {}, {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            told = {"HELP": helps, "TYPE": types}[word]
            assert name not in told, f"{word} of {name} twice"
            told[name], last = rest, name
            continue
        name, labels, number = SAMPLE.fullmatch(line).groups()
        assert name == last and name in types and helps[name], f"{line}: not below its HELP and TYPE"
        key = name, labels_of(labels or "")
        assert key not in values, f"{line}: twice"
        values[key] = float(number)
    assert set(helps) == set(types) == {name for name, _ in values}, set(types) ^ {name for name, _ in values}
    for name, kind in types.items():
        assert kind in ("counter", "gauge") and (kind == "counter") == name.endswith("_total"), (name, kind)
    return values, types


class Page:
    """What a platform tells now."""

    def __init__(self, url):
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers
            self.text = answer.read().decode()
        self.values, self.types = parse(self.text)

    def get(self, name, **labels):
        return self.values.get((name, frozenset(labels.items())))

    def counters(self):
        return {key: value for key, value in self.values.items() if self.types[key[0]] == "counter"}


@contextlib.contextmanager
def served(lab):
    """A platform with /metrics, and the address of that."""
    server = child.start([binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir, "--metrics", "127.0.0.1:0"],
                         stdout=subprocess.PIPE, text=True)
    url = re.fullmatch(r"metrics at (http://127\.0\.0\.1:\d+/metrics)\n", server.stdout.readline())[1]
    try:
        assert "serving" in server.stdout.readline()
        yield server, url
        assert server.poll() is None
    finally:
        server.terminate()
        server.communicate(timeout=DEADLINE_S)
    assert server.returncode == 0, server.returncode


def finish(lab, name="lab"):
    watcher = lab.begin("watch", name, "--json", stdout=subprocess.PIPE)
    out, _ = watcher.communicate(timeout=DEADLINE_S)
    assert json.loads(out.splitlines()[-1])["event"] == "pipeline_finished", out[-500:]
    return [json.loads(line) for line in out.splitlines()]


def address(url):
    host, port = url.split("/")[2].split(":")
    return host, int(port)


# ---- what it says ----

def assert_as_told(lab, url, events):
    """The figures agree with what `weir` tells."""
    page, status = Page(url), json.loads(lab.weir("status", "--json"))
    pipeline = status["pipelines"][0]
    assert status["metrics"] == url.split("/")[2], status["metrics"]
    told = {
        "weir_triggers_total": pipeline["triggers"],
        "weir_triggers_skipped_total": pipeline["skipped"],
        "weir_triggers_open": 0,
        "weir_models_stored": pipeline["models"],
        "weir_runs_in_flight": 0,
        "weir_worker_cpu_seconds_total": pipeline["cost"]["worker_cpu_seconds"],
        "weir_read_bytes_total": pipeline["cost"]["bytes_read"],
        "weir_sent_bytes_total": pipeline["cost"]["bytes_sent"],
        "weir_samples_failed_total": 0,
        "weir_run_retries_total": 0,
        "weir_evaluations_total": len({(e["model"], e["name"], *e["interval"].values()) for e in events if e["event"] == "evaluation"}),
    }
    for name, value in told.items():
        found = page.get(name, pipeline="lab")
        assert found is not None and abs(found - value) < 1e-5, (name, found, value)
    assert page.get("weir_pipeline_state", pipeline="lab", state="FINISHED") == 1
    for service in ("orchestrator", "storage", "selector", "dispatcher"):
        assert page.get("weir_service_strangers_total", service=service) == 0, service
        assert page.get("weir_service_messages_turned_away_total", service=service) is not None, service
    trained = [e for e in events if e["event"] == "training_finished"]
    assert page.get("weir_samples_delivered_total", pipeline="lab") >= sum(e["samples"] for e in trained) > 0
    assert page.get("weir_batches_delivered_total", pipeline="lab") > 0
    assert page.get("weir_runs_total", pipeline="lab", state="done") >= len(trained)
    assert page.get("weir_runs_total", pipeline="lab", state="failed") == 0
    stalled = [value for (name, _), value in page.values.items() if name == "weir_data_stall_seconds_total"]
    assert sum(stalled) + page.get("weir_trainer_busy_seconds_total", pipeline="lab") > 0
    for name, value in {"slots": "weir_trainer_slots", "busy": "weir_trainer_slots_busy", "waiting": "weir_runs_waiting"}.items():
        assert page.get(value) == status["trainers"][name], (name, status["trainers"])
    dataset = json.loads(lab.weir("datasets", "--json"))["datasets"][0]
    for state in ("live", "erased", "removed", "replaced"):
        assert page.get("weir_dataset_samples", dataset="notes", state=state) == dataset[state], state
    for state in ("quarantined", "duplicate", "blocked"):
        assert page.get("weir_dataset_refused_records", dataset="notes", state=state) == dataset[state], state
    assert page.get("weir_dataset_bytes", dataset="notes") == dataset["bytes"]
    workers = json.loads(lab.weir("workers", "--json"))["workers"]
    assert page.get("weir_workers", place="pool") == len(workers) == 2
    assert all(page.get("weir_service_up", service=name) == 1 for name in ("orchestrator", "storage", "selector", "dispatcher"))
    assert page.get("weir_service_processes", service="postgres") == 1
    assert page.get("weir_metrics_left_out") == 0
    assert page.get("weir_build_info", version=version()) == 1


def version():
    return subprocess.run([binaries() / "orchestrator", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def assert_promtool_agrees(url):
    if shutil.which("promtool") is None:
        print("promtool is not here (package prometheus): its opinion is not asked", flush=True)
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=Page(url).text, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def assert_erasures_are_told(lab, url):
    """One that cannot come into force is counted, with its age; its receipt as well."""
    with stopped(victims(lab.data_dir, "storage")):
        assert Page(url).get("weir_erasures_open") == 0  # Postgres still tells
    erasure = json.loads(lab.weir("erase", "request", "--subject", lab.records[0]["user"], "--json"))
    assert erasure["matched"] > 0, erasure
    await_that(lambda: Page(url).get("weir_erasures_finished_total") == 1)
    page = Page(url)
    for name in ("open", "not_in_force", "overdue", "troubled"):
        assert page.get(f"weir_erasures_{name}") == 0, name
    assert page.get("weir_erasure_oldest_open_seconds") == page.get("weir_erasure_oldest_not_in_force_seconds") == 0
    assert page.get("weir_dataset_samples", dataset="notes", state="erased") == erasure["matched"]


def assert_feeds_are_told(lab, url):
    """How far the readers of a pipeline that goes on are: as `weir feed` tells, and further behind while one stands still."""
    lab.weir("submit", str(lab.folder / "alive.yaml"))

    def lag(service, what="changes"):
        return Page(url).get(f"weir_feed_lag_{what}", dataset="notes", pipeline="alive", service=service)

    def pending():
        return Page(url).get("weir_trigger_pending_samples", pipeline="alive")

    def agrees():
        told = {c["consumer"]: c["behind"] for c in json.loads(lab.weir("feed", "list", "notes", "--json"))["consumers"]}
        return told.get("selector/alive") == lag("selector") == 0 and told.get("orchestrator:alive") == lag("orchestrator") == 0

    await_that(agrees, lambda: Page(url).text)
    assert lag("selector", "seconds") == 0
    await_that(lambda: pending() == 0, lambda: Page(url).text)
    with stopped(victims(lab.data_dir, "selector")):
        records = [dict(lab.records[0], text=f"late {i}") for i in range(10)]
        (lab.folder / "stream/late.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
        await_that(lambda: lag("selector") > 0 and lag("selector", "seconds") > 0 and lag("orchestrator") == 0, lambda: Page(url).text)
        await_that(lambda: pending() == len(records), lambda: Page(url).text)
    await_that(lambda: lag("selector") == lag("selector", "seconds") == 0, lambda: Page(url).text)
    lab.weir("remove", "alive")
    await_that(lambda: not any(("pipeline", "alive") in labels for _, labels in Page(url).values), lambda: Page(url).text)


# ---- who dies ----

def assert_never_back(before, after):
    for key, value in before.counters().items():
        assert after.values.get(key, value) >= value, (key, value, after.values[key])
    of_a_process = ("weir_service_cpu_seconds_total", "weir_service_messages_turned_away_total", "weir_service_strangers_total")
    lost = {key for key in before.counters() if key not in after.values and key[0] not in of_a_process}
    assert not lost, lost


def assert_counters_outlive_a_worker(lab, url):
    """Of a training that goes on over deaths of workers."""
    pages, killed = [Page(url)], 0
    lab.weir("submit", str(lab.folder / "long.yaml"))

    def is_over():
        nonlocal killed
        pages.append(Page(url))
        delivered = pages[-1].get("weir_samples_delivered_total", pipeline="long") or 0
        if killed < 3 and delivered > 0:
            killed += kill(lab.data_dir, "worker-1")
        return pages[-1].get("weir_pipeline_state", pipeline="long", state="FINISHED")

    await_that(is_over, pause_s=0.3)
    for before, after in zip(pages, pages[1:], strict=False):
        assert_never_back(before, after)
    assert killed > 0
    await_that(lambda: Page(url).get("weir_service_restarts_total", service="worker") == killed,
               lambda: Page(url).text)
    cost = next(p for p in json.loads(lab.weir("status", "--json"))["pipelines"] if p["pipeline"] == "long")["cost"]
    last = Page(url)
    # What a worker read ahead for a job is told by its last beat, which may come behind the audit of the job.
    assert last.get("weir_read_bytes_total", pipeline="long") >= cost["bytes_read"] > 0, (last.text, cost)


def assert_silence_is_told(lab, url):
    """Who does not answer is down, and not ready; the page comes all the same, with what was known."""
    before = Page(url)
    with stopped(victims(lab.data_dir, "dispatcher")):
        silent = await_that(lambda: (page := Page(url)).get("weir_service_up", service="dispatcher") == 0 and page)
        assert silent.get("weir_service_up", service="storage") == 1
        assert silent.get("weir_workers", place="pool") == before.get("weir_workers", place="pool")
        assert silent.get("weir_metrics_age_seconds", service="dispatcher") > 1
        with contextlib.suppress(urllib.error.HTTPError):
            raise AssertionError(urllib.request.urlopen(url.replace("metrics", "readyz"), timeout=DEADLINE_S).read())
        assert urllib.request.urlopen(url.replace("metrics", "healthz"), timeout=DEADLINE_S).read() == b"ok\n"

    def ready():
        try:
            return urllib.request.urlopen(url.replace("metrics", "readyz"), timeout=DEADLINE_S).read() == b"ready\n"
        except urllib.error.HTTPError as err:
            assert err.code == 503 and err.read(), err
            return False

    await_that(ready)


# ---- clients ----

def say(url, text):
    """The whole answer to these bytes, after which the connection is closed."""
    with socket.create_connection(address(url), timeout=DEADLINE_S) as client:
        client.sendall(text)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece
        return answer


def assert_words_are_understood(url):
    """Methods, versions and paths; nonsense."""
    connection = http.client.HTTPConnection(*address(url), timeout=DEADLINE_S)
    connection.request("HEAD", "/metrics")
    head = connection.getresponse()
    assert head.status == 200 and int(head.headers["Content-Length"]) > 1000 and head.read() == b"", head.status
    for method, path, status in (("POST", "/metrics", 405), ("DELETE", "/metrics", 405), ("GET", "/", 404),
                                 ("GET", "/metrics/", 404), ("GET", "/../metrics", 404), ("GET", "/healthz?a=b", 200)):
        connection = http.client.HTTPConnection(*address(url), timeout=DEADLINE_S)
        connection.request(method, path, body=b"x" * 100_000 if method == "POST" else None)
        assert (answer := connection.getresponse()).status == status and answer.read(), (method, path, answer.status)
    old = say(url, b"GET /metrics HTTP/1.0\r\n\r\n")
    assert old.startswith(b"HTTP/1.") and b" 200 " in old.split(b"\r\n")[0], old[:100]
    parse(old.split(b"\r\n\r\n", 1)[1].decode())
    for nonsense in (b"\0" * 1000, b"GET\r\n\r\n", b"\x16\x03\x01" + bytes(range(256)), b"GET /metrics HTTP/9.9\r\n\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):
        assert b" 200 " not in say(url, nonsense).split(b"\r\n")[0], nonsense
    long = say(url, b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + b"X-Long: " + b"y" * 1_000_000 + b"\r\n\r\n")
    assert b" 200 " not in long.split(b"\r\n")[0], long[:100]


def descriptors(server):
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def assert_crowds_do_no_harm(lab, server, url):
    """Connections that say nothing, that never read, and that never end: the platform answers people meanwhile, takes no more
    descriptors than it promised and little memory, and serves the page again as soon as they are gone."""
    few, peak = descriptors(server), peak_bytes(server.pid)
    crowd = []
    for number in range(10_000):
        client = socket.socket()
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.connect(address(url))
        crowd.append(client)
        with contextlib.suppress(OSError):
            if number % 3 == 1:
                client.send(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")  # and does not read
            elif number % 3 == 2:
                client.send(b"GET /metrics HTTP/1.1\r\nX-")  # and goes on
        if number % 1000 == 999:
            for client in crowd[-999::3]:
                with contextlib.suppress(OSError):
                    client.send(b"y")
            assert json.loads(lab.weir("status", "--json"))["metrics"]
            assert descriptors(server) <= few + CLIENTS_MAX + 20, (few, descriptors(server))
    grown = peak_bytes(server.pid) - peak
    assert grown < 64 << 20, grown
    for client in crowd:
        client.close()
    await_that(lambda: answers(url))


def answers(url):
    try:
        with urllib.request.urlopen(url.replace("metrics", "healthz"), timeout=2) as answer:
            return answer.read() == b"ok\n"
    except (OSError, http.client.HTTPException):
        return False


def assert_the_slow_make_room(url):
    """Clients that send a byte now and then hold all there is; they are not given for ever: others come in."""
    slow = [socket.create_connection(address(url), timeout=DEADLINE_S) for _ in range(CLIENTS_MAX)]
    for client in slow:
        client.sendall(b"GET /metrics HTTP/1.1\r\nX-")

    def trickle():
        for client in slow:
            with contextlib.suppress(OSError):
                client.send(b"y")
        return answers(url)

    await_that(trickle)
    for client in slow:
        client.close()


# ---- where it listens ----

def assert_addresses_are_refused(lab):
    wrong = {"0.0.0.0:9464": "other hosts", ":9464": "other hosts", "*:9464": "other hosts", "192.0.2.1:9464": "other hosts",
             "[::]:9464": "other hosts", "[2001:db8::1]:80": "other hosts", "9464": "expected ADDRESS:PORT",
             "127.0.0.1": "expected ADDRESS:PORT", "127.0.0.1:70000": "expected ADDRESS:PORT", "example.org:80": "expected ADDRESS:PORT",
             "::1:9464": "expected ADDRESS:PORT", "127.0.0.1:": "expected ADDRESS:PORT", "127.0.0.1:94x": "expected ADDRESS:PORT"}
    for text, word in wrong.items():
        done = child.run([binaries() / "orchestrator", "serve", "--data-dir", lab.folder / "other", "--metrics", text],
                         capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 2 and word in done.stderr and len(done.stderr.splitlines()) == 1, (text, done)
        system = lab.folder / "system.yaml"
        system.write_text(f'metrics: {{listen: "{text}"}}\n')
        done = child.run([binaries() / "orchestrator", "--check-system", system], capture_output=True, text=True)
        assert done.returncode == 2 and f"{system}:1:" in done.stderr and word in done.stderr, (text, done)
    assert not (lab.folder / "other").exists()


def assert_a_taken_port_is_told(lab, url):
    done = child.run([binaries() / "orchestrator", "serve", "--data-dir", lab.folder / "other", "--metrics", url.split("/")[2]],
                     capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 1 and "Address already in use" in done.stderr and url.split("/")[2] in done.stderr, done
    assert not (lab.folder / "other").exists()


def assert_run_serves_as_well(lab):
    """By the system file, and on the other family of addresses."""
    system = lab.folder / "system.yaml"
    system.write_text('metrics: {listen: "[::1]:0"}\n')
    run = Run(lab.folder / "long.yaml", lab.folder / "second", system)
    run.wait_for(1)
    told = json.loads(lab.weir("status", "--json", data_dir=run.data_dir))["metrics"]
    assert Page(f"http://{told}/metrics").get("weir_service_up", service="orchestrator") == 1
    stop(run)


def main():
    began = datetime.datetime.now(datetime.timezone.utc)
    lab = Lab(samples=900, every=300, epochs=2)
    text = lab.pipeline.read_text()
    (lab.folder / "long.yaml").write_text(text.replace("name: lab,", "name: long,").replace("epochs: 2", "epochs: 40"))
    (lab.folder / "alive.yaml").write_text(text.replace("name: lab, mode: replay", "name: alive, mode: live"))
    assert_addresses_are_refused(lab)
    with served(lab) as (server, url):
        assert_a_taken_port_is_told(lab, url)
        lab.weir("submit", str(lab.pipeline))
        assert_as_told(lab, url, finish(lab))
        assert_promtool_agrees(url)
        assert_words_are_understood(url)
        assert_crowds_do_no_harm(lab, server, url)
        assert_the_slow_make_room(url)
        assert_counters_outlive_a_worker(lab, url)
        assert_silence_is_told(lab, url)
        assert_feeds_are_told(lab, url)
        assert_erasures_are_told(lab, url)
        assert_promtool_agrees(url)
    assert_run_serves_as_well(lab)
    print(f"done in {datetime.datetime.now(datetime.timezone.utc) - began}", flush=True)
    lab.remove()


if __name__ == "__main__":
    main()
